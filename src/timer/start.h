/* SPDX-License-Identifier: MIT */
/* start.h - starts a timer. The first timeout does so if the user has not. */
#ifndef TKW_TIMER_START_H
#define TKW_TIMER_START_H

#include "timer/object.h"

/* Starts a timer, unless it was started. Returns 0, -ENOMEM or -ESHUTDOWN. */
int tkw__start(struct tkw_timer *t);

static inline bool tkw__is_started(const struct tkw_timer *t)
{
	/* ACQUIRE pairs with the RELEASE of tkw__start(). */
	return TKW__LOAD(&t->state, ACQUIRE) == TKW__STARTED;
}

/* Makes sure that the timer was started. Returns what tkw__start() returns. */
static inline int tkw__ensure_started(struct tkw_timer *t)
{
	return tkw__is_started(t) ? 0 : tkw__start(t);
}

#endif /* TKW_TIMER_START_H */
