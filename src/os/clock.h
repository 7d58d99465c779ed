/* SPDX-License-Identifier: MIT */
/* clock.h - what time it is. */
#ifndef TKW_OS_CLOCK_H
#define TKW_OS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds of CLOCK_MONOTONIC, or of CLOCK_BOOTTIME. */
int64_t tkw__clock_now(bool boottime);

/* The same as of the last tick of the kernel, some milliseconds ago at most,
 * and for next to nothing. Only good to see whether time has passed. */
int64_t tkw__clock_coarse(void);

#endif /* TKW_OS_CLOCK_H */
