/* SPDX-License-Identifier: MIT */
/*
 * loop.c - a timer that an event loop drives.
 *
 * The fd is the timer's alarm, for which a worker's thread would wait. Instead
 * of sleeping a run ends by setting the alarm, and everything else, also who
 * sets it earlier meanwhile, is as in worker.c.
 */
#include "tickwheel/loop.h"

#include <errno.h>
#include <limits.h>

#include "timer/core.h"

int tkw_loop_fd(struct tkw_timer *t)
{
	if (t == NULL || !t->pollable)
		return -EINVAL;
	return tkw__is_foreign(t) ? -EPERM : t->alarm.fd;
}

int tkw_loop_run(struct tkw_timer *t, int most, int64_t *next_ns)
{
	uint64_t fired;
	uint64_t next;
	int was;
	int err = tkw__turn_enter(t, true);

	if (err != 0)
		return err;
	/* Were the thread cancelled in a task, the run would never end. */
	was = tkw__thread_no_cancel();
	tkw__worker_awake(t);
	fired = tkw__worker_turn(t, most > 0 ? (uint64_t)most : UINT64_MAX,
				 &next);
	tkw__thread_restore_cancel(was);
	if (tkw__is_foreign(t))
		return -EPERM; /* a task has forked, and this is the child */
	tkw__worker_arm(t, next);
	if (next_ns)
		*next_ns = tkw__ns_of_next(t, next);
	tkw__turn_leave(t);
	return fired < INT_MAX ? (int)fired : INT_MAX;
}
