/* SPDX-License-Identifier: MIT */
/* sleep.h - the worker between its turns, and who wakes it. */
#ifndef TKW_TIMER_SLEEP_H
#define TKW_TIMER_SLEEP_H

#include "timer/object.h"

/* The life of the worker's thread. */
void *tkw__sleep_run(void *timer);

/* The worker is needed before the tick for which it is armed. */
int tkw__sleep_rearm(struct tkw_timer *t, uint64_t tick) __attribute__((cold));

/* A timeout will need the worker at a tick: wake it in time. The lock of the
 * timeout's shard is held. Return  0; -EBADF: it cannot be reached. */
static inline int tkw__sleep_call(struct tkw_timer *t, uint64_t tick)
{
	if (tick >= TKW__LOAD(&t->armed, RELAXED))
		return 0;
	return tkw__sleep_rearm(t, tick);
}

/* Somebody has closed the alarm's fd: tell the log, once. No lock is held. */
void tkw__sleep_tell_lost(struct tkw_timer *t) __attribute__((cold));

/* Wake it for the last time. */
void tkw__sleep_end(struct tkw_timer *t);

/* With an event loop: a turn begins; it has ended, and the next is needed at a
 * tick (returns as tkw__sleep_call()); there will be none any more. */
void tkw__sleep_awake(struct tkw_timer *t);
int tkw__sleep_arm(struct tkw_timer *t, uint64_t tick);
void tkw__sleep_disarm(struct tkw_timer *t);

#endif /* TKW_TIMER_SLEEP_H */
