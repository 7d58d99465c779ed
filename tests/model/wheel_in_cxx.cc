/* SPDX-License-Identifier: MIT */
/*
 * wheel_in_cxx.cc - the functions of wheel_inline.h, compiled as C++, for tests
 * that are written in C and link with them instead of the library.
 */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Without these words, the functions are in the object, and C can call them. */
extern "C" {
#define static
#define inline
#include "tickwheel/wheel_inline.h"
}
