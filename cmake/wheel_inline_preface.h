/* SPDX-License-Identifier: MIT */
/*
 * wheel_inline.h - the wheel of wheel.h as a single header, without a library
 *
 * It has the calls of wheel.h, with the same contract, which follows below. All
 * functions are static, so that the compiler can put an add, a remove, an
 * extension and an empty advance into your code, without a call. Nothing has to
 * be linked. You may copy this file into your project.
 *
 *   When     Take this header if your program adds or removes so many entries
 *            that the call of a function matters. Take wheel.h and the library
 *            if your program should get a newer wheel without being compiled
 *            again.
 *   Include  Include it before wheel.h and tickwheel.h, or instead of them. If
 *            it comes first, they may follow in the same file, and tickwheel.h
 *            then declares all but the wheel.
 *   Sharing  Each file that includes this header has its own copy of the code.
 *            Such files may pass wheels and entries to each other if all of
 *            them have the same version of the header. Do not pass a wheel or
 *            an entry between a file with this header and one with the library:
 *            the two may be of different versions.
 *   Names    All names begin with tkw_, TKW_ or TICKWHEEL_. Names with two
 *            underscores, as in tkw__add, are private: your program must not
 *            use them.
 *   Asserts  The code has assertions, which NDEBUG turns off. They find faults
 *            of the wheel and of your use of it, and make each call slower.
 *   Needs    gcc or clang, with C11 or later, or C++11 or later. Of the C
 *            library it needs what assert() calls, memset() and memcpy().
 *
 * The file is generated from the sources of the library, in this order: wheel.h
 * is the public part, then come bits.h, bitset.h, hint.h, links.h, config.h,
 * engine.h, hierarchical.c, hashed.c, check.c and wheel.c. Where a comment
 * names one of them, it means that part of this file.
 */
#ifndef TICKWHEEL_WHEEL_INLINE_H
#define TICKWHEEL_WHEEL_INLINE_H

#ifdef TICKWHEEL_WHEEL_H
#error "include tickwheel/wheel_inline.h before tickwheel.h and tickwheel/wheel.h"
#endif
/* wheel.h declares nothing more after this. */
#define TICKWHEEL_WHEEL_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The code below is C, whose casts and null pointers are not those of C++. A
 * program that is compiled with warnings about them gets none for this file. */
#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wuseless-cast"
#endif
#endif
