/* SPDX-License-Identifier: MIT */
/*
 * vclock.h - the virtual clock of the event loops that we race.
 *
 * An event loop cannot be told the time. It asks the system. So the benchmark
 * defines clock_gettime() itself. While the virtual clock is on, this returns
 * the tick that was set. The benchmark also replaces the calls by which a loop
 * waits and wakes itself: epoll_wait(), epoll_pwait(), timerfd_create(), and
 * the write() to an eventfd. Otherwise the loops would pay for system calls
 * that the wheel does not make, but only how timers are kept is compared.
 *
 * At tick t the clock shows t ms and a half. Then a loop that rounds, or that
 * fires only what is due strictly before now, is exact to the tick.
 */
#ifndef TKW_VCLOCK_H
#define TKW_VCLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void bench_vclock_on(uint64_t tick);
void bench_vclock_set(uint64_t tick);
void bench_vclock_off(void);

/*
 * Returns the processor time that this thread has used, by the real clock. Wall
 * time would include the time in which other programs ran. The timed loops
 * never wait, so nothing is left out.
 */
uint64_t bench_cpu_ns(void);

/* Returns the time between two readings, without the time of a reading itself,
 * which is a system call. */
uint64_t bench_cpu_between(uint64_t start, uint64_t end);

#ifdef __cplusplus
}
#endif

#endif /* TKW_VCLOCK_H */
