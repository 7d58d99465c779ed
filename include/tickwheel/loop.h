/* SPDX-License-Identifier: MIT */
/*
 * loop.h - a timer in an event loop: no thread of its own, but a file
 * descriptor to poll.
 *
 * Make a timer with the drive TKW_DRIVE_LOOP, poll its fd for reading, and call
 * tkw_loop_run() when it is readable. Everything else is as for any timer: any
 * thread may schedule and cancel, and what is scheduled earlier than all the
 * rest makes the fd readable in time.
 *
 *   Cost     The fd is set anew (a system call) only when the earliest deadline
 *            becomes earlier, and by the run after it was readable. Pushing
 *            timeouts back costs no system call. The loop is woken for nothing
 *            once for a deadline that was pushed back or cancelled, and at
 *            most once for each ring of the wheel on the way to a far one
 *            (with the hashed engine, once in each round of its ring).
 *   Polling  Level-triggered or edge-triggered, by select, poll, epoll,
 *            io_uring, or any library that takes an fd: the folder adapters has
 *            libuv, libevent, libev and plain epoll. The fd is not to be read,
 *            set or closed; it is the timer's, until tkw_timer_destroy(). Take
 *            it out of the loop before.
 *   Threads  One thread at a time runs the timer, usually that of the loop.
 */
#ifndef TICKWHEEL_LOOP_H
#define TICKWHEEL_LOOP_H

#include <stdint.h>

#include <tickwheel/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The file descriptor. It is readable when tkw_loop_run() has something to do,
 * until that has been called; not any more when the timer is stopped.
 *
 * Return  the fd; -EINVAL: NULL, or not this drive; -EPERM: the timer belongs
 *         to the parent of a fork.
 */
int tkw_loop_fd(struct tkw_timer *t);

/*
 * Fire, on the calling thread, what is due by the timer's clock, in order. What
 * a task schedules waits for a later run, so that a run ends.
 *
 * most    so many timeouts at most; <= 0: all that are due. If more are due the
 *         fd stays readable, and the next run goes on where this one stopped.
 *         It ends there, and what has come to be due since is for the run after
 *         it: the fd stays readable for that, too.
 * next_ns
 *         when the next run is needed, as in tkw_timer_turn(): written on
 *         success, may be NULL. The fd says the same.
 * Return  how many tasks ran, INT_MAX at most, without those that were given to
 *         an executor; -EINVAL: NULL, or not this drive; -EBUSY: another thread
 *         is in a run; -EDEADLK: called from a task, an on-cancel callback or a
 *         visitor of this timer; -ESHUTDOWN; -EPERM.
 */
int tkw_loop_run(struct tkw_timer *t, int most, int64_t *next_ns);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_LOOP_H */
