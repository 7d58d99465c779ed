/* SPDX-License-Identifier: MIT */
/*
 * group.h - cancel or push back many timeouts in one call
 *
 * Timeouts often belong together: those of a connection, of a session, or of a
 * tenant. If they are scheduled in a group, one call cancels all of them, or
 * pushes them back. A group that is shut down refuses new timeouts, so nothing
 * is scheduled for a connection that is being closed.
 *
 *   Member   A timeout is in one group at most: the one in which it was
 *            scheduled. It is an ordinary timeout of the timer: its id works
 *            with all calls of timer.h. It leaves the group when its task
 *            begins, or when it is cancelled, dropped or handed over. The
 *            group reuses its memory when its task or on-cancel callback has
 *            returned.
 *   Promise  As without a group, a timeout either fires once, or its on-cancel
 *            callback is called once. When tkw_group_cancel() has
 *            returned, the task of each timeout that was in the group before
 *            the call has begun, or will never run.
 *   Threads  Any thread may make any call, even inside a callback, but not in a
 *            signal handler. No lock is held while a callback runs. A call for
 *            the whole group holds its lock for a few microseconds at a time,
 *            so that other threads need not wait for the whole call.
 *   Life     Destroy the group before the timer. If the timer is stopped, the
 *            timeouts of its groups are handed over like all others.
 *   Fork     In a child of fork(), a group of the parent does nothing, and
 *            calls return -EPERM. There, tkw_group_destroy() frees the memory
 *            and calls no callback. Call it before tkw_timer_destroy().
 *
 * A call that fails changes nothing and writes no result, unless its
 * description says otherwise.
 *
 * Errors, the same in every call of this header:
 *   -EINVAL     an argument is not valid, or is NULL where NULL is not allowed
 *   -ENOMEM     there is not enough memory, or no thread can be created
 *   -EAGAIN     max_pending timeouts of the group, or of the timer, are pending
 *               already
 *   -ESHUTDOWN  the group is shut down, or the timer is stopped
 *   -EPERM      the group or its timer belongs to the parent of a fork
 *   -EBADF      the timer's file descriptor was closed; see Fds in timer.h
 */
#ifndef TICKWHEEL_GROUP_H
#define TICKWHEEL_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tkw_group;

/* The settings of a group. timer is required. In all other fields, zero means
 * the default. */
struct tkw_group_config {
	/* sizeof(struct tkw_group_config). 0 means the size of the struct in
	 * version 0.2. */
	size_t size;
	struct tkw_timer *timer;
	/* How many timeouts of the group may be pending. 0 or less means no
	 * limit besides that of the timer. */
	int64_t max_pending;
};

/*
 * Creates a group without timeouts.
 *
 * The call starts no thread. A group with up to four timeouts takes less than
 * 500 bytes of memory.
 *
 * out  Receives the group. Destroy it with tkw_group_destroy().
 * cfg  The settings. They are copied.
 *
 * Returns 0, or
 *   -EINVAL  an argument or timer is NULL, or cfg has a size or fields that
 *            this library does not know
 *   -ENOMEM, -EPERM
 *            as listed at the top
 */
int tkw_group_create(struct tkw_group **out,
		     const struct tkw_group_config *cfg);

/*
 * Schedules a timeout in a group.
 *
 * The calls work like tkw_timer_schedule() and tkw_timer_schedule_at().
 *
 * task         What to call. It is copied.
 * delay_ns     The delay from now.
 * deadline_ns  The deadline, on the timer's clock.
 * id           Receives the id of the timeout, before its task can begin. May
 *              be NULL.
 *
 * Returns 0, or
 *   -EINVAL  g or task is NULL, or the task has no fn
 *   -ENOMEM, -EAGAIN, -ESHUTDOWN, -EPERM, -EBADF
 *            as listed at the top
 */
int tkw_group_schedule(struct tkw_group *g, const struct tkw_task *task,
		       int64_t delay_ns, struct tkw_timeout_id *id);
int tkw_group_schedule_at(struct tkw_group *g, const struct tkw_task *task,
			  int64_t deadline_ns, struct tkw_timeout_id *id);

/*
 * Cancels all timeouts of a group. The group accepts new timeouts afterwards.
 *
 * The on-cancel callbacks are called inside this call, after all timeouts are
 * cancelled. A timeout whose task has begun is not in the group any more, so a
 * task may make this call for its own group. A timeout that is scheduled in the
 * group during the call may be cancelled or not.
 *
 * Returns how many timeouts this call has cancelled, at most INT_MAX, or
 *   -EINVAL  g is NULL
 *   -EPERM   as listed at the top
 */
int tkw_group_cancel(struct tkw_group *g);

/*
 * Gives all timeouts of a group the same new deadline, or a deadline that is
 * later by the same time.
 *
 * tkw_group_reschedule() suits idle timeouts. tkw_group_extend() suits a pause,
 * after which everything goes on as before. tkw_group_extend() does not change
 * a timeout whose deadline is TKW_NEVER_NS.
 *
 * If the call returns an error, some timeouts may already have their new
 * deadline.
 *
 * delay_ns  The new delay from now, as in tkw_timer_reschedule().
 * by_ns     The time that is added to each deadline. Must not be negative.
 *
 * Returns how many timeouts have their new deadline, at most INT_MAX, or
 *   -EINVAL  g is NULL, or by_ns is negative
 *   -ESHUTDOWN
 *            the timer is being stopped. A group that is shut down has no
 *            timeouts, so the call returns 0 for it
 *   -EPERM, -EBADF
 *            as listed at the top
 */
int tkw_group_reschedule(struct tkw_group *g, int64_t delay_ns);
int tkw_group_extend(struct tkw_group *g, int64_t by_ns);

/* Returns the number of pending timeouts in a group; 0 if g is NULL or in a
 * forked child. */
uint64_t tkw_group_count(struct tkw_group *g);

/*
 * Shuts a group down: it refuses new timeouts, and all its timeouts are
 * cancelled, as by tkw_group_cancel().
 *
 * The call does not wait for tasks that are running.
 *
 * Returns 0, even if the group was shut down before, or
 *   -EINVAL  g is NULL
 *   -EPERM   as listed at the top
 */
int tkw_group_shutdown(struct tkw_group *g);

/*
 * Shuts a group down, unless that is done already, and frees it.
 *
 * The call waits until no task and no on-cancel callback of a timeout of the
 * group is running. Then you may free what they use. Do not hold a lock that
 * one of them takes.
 *
 * Inside a callback of the timer, or of any repeat or set of this library, the
 * call does not wait. So a task may destroy its own group. There, the memory is
 * freed when the last of these callbacks has returned.
 *
 * Make no other call on the group after this one. All earlier calls on the
 * group must have returned.
 *
 * g  The group. If it is NULL, the call does nothing.
 *
 * Returns 0.
 */
int tkw_group_destroy(struct tkw_group *g);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_GROUP_H */
