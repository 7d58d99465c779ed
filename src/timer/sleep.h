/* SPDX-License-Identifier: MIT */
/* sleep.h - the worker's sleep between turns, and how it is woken. */
#ifndef TKW_TIMER_SLEEP_H
#define TKW_TIMER_SLEEP_H

#include "timer/object.h"

/* Runs on the worker's thread. */
void *tkw__sleep_run(void *timer);

/* Sets the alarm earlier, because the worker is needed before the tick for
 * which it is armed. Returns what tkw__sleep_call() returns. */
int tkw__sleep_rearm(struct tkw_timer *t, uint64_t tick) __attribute__((cold));

/* Makes sure that the worker is awake at a tick, at which a timeout needs it.
 * The lock of the timeout's shard is held. Returns 0, or -EBADF if the worker
 * cannot be reached. */
static inline int tkw__sleep_call(struct tkw_timer *t, uint64_t tick)
{
	if (tick >= TKW__LOAD(&t->armed, RELAXED))
		return 0;
	return tkw__sleep_rearm(t, tick);
}

/* Tells the log, once, that somebody has closed the alarm's fd. No lock is
 * held. */
void tkw__sleep_tell_lost(struct tkw_timer *t) __attribute__((cold));

/* Wakes the worker for the last time. */
void tkw__sleep_end(struct tkw_timer *t);

/*
 * For an event loop. tkw__sleep_awake() is called when a turn begins,
 * tkw__sleep_arm() when it has ended and the next turn is needed at a tick, and
 * tkw__sleep_disarm() when there will be no more turns. tkw__sleep_arm()
 * returns what tkw__sleep_call() returns.
 */
void tkw__sleep_awake(struct tkw_timer *t);
int tkw__sleep_arm(struct tkw_timer *t, uint64_t tick);
void tkw__sleep_disarm(struct tkw_timer *t);

#endif /* TKW_TIMER_SLEEP_H */
