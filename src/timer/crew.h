/* SPDX-License-Identifier: MIT */
/*
 * crew.h - the jobs of a timer in its executor.
 *
 * A job names a timeout by its id, so that it may be stale: the timeout was
 * cancelled, rescheduled or handed over meanwhile, and there is nothing to do.
 * It holds the crew, which may outlive the timer, and gets to the timer only
 * through it.
 */
#ifndef TKW_TIMER_CREW_H
#define TKW_TIMER_CREW_H

#include <stdint.h>

#include "os/sync.h"

struct tkw_timer;

struct tkw__crew {
	struct tkw_timer *timer;
	/* The jobs that the executor has taken, and the timer. */
	struct tkw__a64 holders;
	/* Threads that are in the timer by way of a job; and CLOSED. */
	struct tkw__a32 inside;
};

/* NULL: no memory. It is the system's, for the hooks may not outlive the timer
 * as this may. */
struct tkw__crew *tkw__crew_make(struct tkw_timer *t);

/* The timer lets go of it. */
void tkw__crew_release(struct tkw__crew *c);

/* Have the executor run a timeout, which is QUEUED. Return  0, or -errno of the
 * executor, which has not taken it. */
int tkw__crew_submit(struct tkw__crew *c, uint64_t id);

/* Let no more jobs in, and wait for those that are. */
void tkw__crew_close(struct tkw__crew *c);

/* The same in a forked child, where nobody is inside any more. */
void tkw__crew_close_child(struct tkw__crew *c);

#endif /* TKW_TIMER_CREW_H */
