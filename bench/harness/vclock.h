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

void bench_vclock_on(uint64_t tick);
void bench_vclock_set(uint64_t tick);
void bench_vclock_off(void);

/*
 * The processor time that this thread has used, from the real clock. Not the
 * time on the wall: on a machine with other work to do a sample would count
 * that too, and the timed loops never wait for anything.
 */
uint64_t bench_cpu_ns(void);

/* From one reading to another, less what a reading takes: it is a system call.
 */
uint64_t bench_cpu_between(uint64_t start, uint64_t end);

#ifdef __cplusplus
}
#endif

#endif /* TKW_VCLOCK_H */
