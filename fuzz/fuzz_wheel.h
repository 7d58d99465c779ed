/* SPDX-License-Identifier: MIT */
/* fuzz_wheel.h - the fuzz target, called by libFuzzer or by replay.c. */
#ifndef FUZZ_WHEEL_H
#define FUZZ_WHEEL_H

#include <stddef.h>
#include <stdint.h>

/* The name is libFuzzer's. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* FUZZ_WHEEL_H */
