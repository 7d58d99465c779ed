/* SPDX-License-Identifier: MIT */
/* fire.h - fires timeouts that are due. */
#ifndef TKW_TIMER_FIRE_H
#define TKW_TIMER_FIRE_H

#include "timer/object.h"

/*
 * Fires a timeout of the due list, or gives it to the executor. Called by the
 * worker. The lock is held before and after, but not during a call.
 *
 * Returns how many were fired, 0 or 1.
 */
uint64_t tkw__fire(struct tkw_timer *t, struct tkw__shard *s,
		   struct tkw__timeout *to);

/* How many ticks a timeout that the executor has just refused waits after the
 * next tick. */
uint64_t tkw__fire_patience(const struct tkw_timer *t);

/* Called by the executor, whose job names a timeout. The first runs the
 * timeout, the second gives it up. They do nothing if the id is stale, or if
 * the timeout is no longer QUEUED. */
void tkw__fire_job(struct tkw_timer *t, struct tkw_timeout_id id);
void tkw__fire_abandoned(struct tkw_timer *t, struct tkw_timeout_id id);

#endif /* TKW_TIMER_FIRE_H */
