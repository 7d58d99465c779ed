/* SPDX-License-Identifier: MIT */
/*
 * jobs.h - the jobs of a timer in its executor.
 *
 * A job names a timeout by its id. The id may be stale, if the timeout was
 * cancelled, rescheduled or handed over meanwhile. Then there is nothing to do.
 * A job holds the struct tkw__jobs, which may outlive the timer, and reaches
 * the timer only through it.
 */
#ifndef TKW_TIMER_JOBS_H
#define TKW_TIMER_JOBS_H

#include <stdint.h>

#include "os/rundown.h"
#include "os/sync.h"
#include "tickwheel/timer.h"

struct tkw__jobs {
	struct tkw_timer *timer;
	/* How many hold this struct: the jobs that the executor has, and the
	 * timer. */
	struct tkw__a64 holders;
	/* Threads that are inside the timer because of a job. */
	struct tkw__rundown inside;
};

/* Returns NULL if there is no memory. It uses the system's memory, because this
 * struct may outlive the timer, and the timer's hooks may not. */
struct tkw__jobs *tkw__jobs_make(struct tkw_timer *t);

/* Lets go of the struct. The last holder frees it. */
void tkw__jobs_release(struct tkw__jobs *j);

/* Asks the executor to run a QUEUED timeout. Returns 0, or the -errno with
 * which the executor refused it. */
int tkw__jobs_submit(struct tkw__jobs *j, struct tkw_timeout_id id);

/* Lets no more jobs in, and waits for those inside. */
void tkw__jobs_close(struct tkw__jobs *j);

/* The same in a forked child, where nobody is inside any more. */
void tkw__jobs_close_child(struct tkw__jobs *j);

#endif /* TKW_TIMER_JOBS_H */
