/* SPDX-License-Identifier: MIT */
/* fire.h - what becomes of a timeout that is due. */
#ifndef TKW_TIMER_FIRE_H
#define TKW_TIMER_FIRE_H

#include "timer/object.h"

/*
 * For the worker: fire a timeout of the due list, or give it to the executor.
 * The lock is held before and after, but not during a call.
 *
 * Return  how many were fired, 0 or 1.
 */
uint64_t tkw__fire(struct tkw_timer *t, struct tkw__shard *s,
		   struct tkw__timeout *to);

/* How many ticks a timeout that the executor has just refused waits, besides
 * the one to the next tick. */
uint64_t tkw__fire_patience(const struct tkw_timer *t);

/* For the executor, whose job names a timeout: run it; give it up. Nothing is
 * done if the id is stale, or the timeout not QUEUED any more. */
void tkw__fire_job(struct tkw_timer *t, struct tkw_timeout_id id);
void tkw__fire_abandoned(struct tkw_timer *t, struct tkw_timeout_id id);

#endif /* TKW_TIMER_FIRE_H */
