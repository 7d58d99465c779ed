/* SPDX-License-Identifier: MIT */
/*
 * jobs.h - the jobs of a timer in its executor.
 *
 * A job names a timeout by its id, so that it may be stale: the timeout was
 * cancelled, rescheduled or handed over meanwhile, and there is nothing to do.
 * It holds the struct tkw__jobs, which may outlive the timer, and gets to the
 * timer only through it.
 */
#ifndef TKW_TIMER_JOBS_H
#define TKW_TIMER_JOBS_H

#include <stdint.h>

#include "os/rundown.h"
#include "os/sync.h"
#include "tickwheel/timer.h"

struct tkw__jobs {
	struct tkw_timer *timer;
	/* The jobs that the executor has taken, and the timer. */
	struct tkw__a64 holders;
	/* Threads that are in the timer by way of a job. */
	struct tkw__rundown inside;
};

/* NULL: no memory. It is the system's, for the hooks may not outlive the timer
 * as this may. */
struct tkw__jobs *tkw__jobs_make(struct tkw_timer *t);

/* The timer lets go of it. */
void tkw__jobs_release(struct tkw__jobs *j);

/* Have the executor run a timeout, which is QUEUED. Return  0, or -errno of the
 * executor, which has not taken it. */
int tkw__jobs_submit(struct tkw__jobs *j, struct tkw_timeout_id id);

/* Let no more jobs in, and wait for those that are. */
void tkw__jobs_close(struct tkw__jobs *j);

/* The same in a forked child, where nobody is inside any more. */
void tkw__jobs_close_child(struct tkw__jobs *j);

#endif /* TKW_TIMER_JOBS_H */
