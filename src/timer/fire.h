/* SPDX-License-Identifier: MIT */
/* fire.h - fires timeouts that are due. */
#ifndef TKW_TIMER_FIRE_H
#define TKW_TIMER_FIRE_H

#include "timer/object.h"

enum {
	/* How many timeouts are collected, moved or fired before the worker
	 * lets other threads have the lock. */
	TKW__FIRE_BATCH = 128
};

/* True if the worker fires no more in this turn, because the turn's budget is
 * used up or the timer stops. */
static inline bool tkw__fire_is_over(const struct tkw_timer *t)
{
	return t->budget == 0 || tkw__is_stopping(t);
}

/*
 * Fires everything in a shard's due list, or gives it to the executor, as long
 * as the turn is not over. Called by the worker. The lock is held before and
 * after, but not during a call.
 *
 * Returns how many were fired.
 */
uint64_t tkw__fire_due(struct tkw_timer *t, struct tkw__shard *s);

/* Called by the executor, whose job names a timeout. The first runs the
 * timeout, the second gives it up. They do nothing if the id is stale, or if
 * the timeout is no longer QUEUED. */
void tkw__fire_job(struct tkw_timer *t, struct tkw_timeout_id id);
void tkw__fire_abandoned(struct tkw_timer *t, struct tkw_timeout_id id);

#endif /* TKW_TIMER_FIRE_H */
