/* SPDX-License-Identifier: MIT */
/* clock.h - what time it is, and an alarm for one sleeper. */
#ifndef TKW_OS_CLOCK_H
#define TKW_OS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds of CLOCK_MONOTONIC, or of CLOCK_BOOTTIME. */
int64_t tkw__clock_now(bool boottime);

/* The same as of the last tick of the kernel, some milliseconds ago at most,
 * and for next to nothing. Only good to see whether time has passed. */
int64_t tkw__clock_coarse(void);

/*
 * An alarm rings at a time; one thread waits for it, others may set it anew
 * meanwhile, one at a time. A timerfd: setting it to an earlier time takes the
 * setter a system call and wakes nobody, it knows CLOCK_BOOTTIME, and it has no
 * slack, unlike a futex or a condition variable.
 */
struct tkw__alarm {
	int fd;
};

/* Return  0, or -errno of timerfd_create(). */
int tkw__alarm_init(struct tkw__alarm *a, bool boottime);
void tkw__alarm_fini(struct tkw__alarm *a);

/* Ring at a time of the clock, or (relative) after a time; at once if that has
 * passed; INT64_MAX: never. */
void tkw__alarm_set(struct tkw__alarm *a, int64_t ns, bool relative);

/* Sleep until it rings. */
void tkw__alarm_wait(struct tkw__alarm *a);

#endif /* TKW_OS_CLOCK_H */
