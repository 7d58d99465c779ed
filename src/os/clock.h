/* SPDX-License-Identifier: MIT */
/* clock.h - reads the clock. */
#ifndef TKW_OS_CLOCK_H
#define TKW_OS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* The time of CLOCK_MONOTONIC, or of CLOCK_BOOTTIME, in nanoseconds. */
int64_t tkw__clock_now(bool boottime);

/* The time of CLOCK_REALTIME, in microseconds since 1970. */
int64_t tkw__clock_wall_us(void);

/* The time of CLOCK_MONOTONIC at the last tick of the kernel, which is a few
 * milliseconds ago at most. It is very cheap to read. Use it only to see
 * whether time has passed. */
int64_t tkw__clock_coarse(void);

#endif /* TKW_OS_CLOCK_H */
