/* SPDX-License-Identifier: MIT */
/*
 * vclock.h - the virtual clock of the event loops that we race.
 *
 * They have no way to be told the time: they ask the system. So the benchmark
 * defines clock_gettime() itself, and while the virtual clock is on it answers
 * with the tick that was set. It answers the system calls by which a loop waits
 * and wakes itself as well (epoll_wait, epoll_pwait, timerfd_create, the write
 * to an eventfd): what is compared is how timers are kept, and the wheel has no
 * loop to pay for.
 *
 * At tick t the clock says t ms and a half: then a loop that rounds, or that
 * fires only what lies strictly before now, is exact to the tick.
 */
#ifndef TKW_VCLOCK_H
#define TKW_VCLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void tkw__vclock_on(uint64_t tick);
void tkw__vclock_set(uint64_t tick);
void tkw__vclock_off(void);

/* The real monotonic clock, on or off. */
uint64_t tkw__real_ns(void);

#ifdef __cplusplus
}
#endif

#endif /* TKW_VCLOCK_H */
