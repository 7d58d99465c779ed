/* SPDX-License-Identifier: MIT */
/* start.h - a timer that does not run yet is started by its first timeout. */
#ifndef TKW_TIMER_START_H
#define TKW_TIMER_START_H

#include "timer/object.h"

/* Start a timer that does not run. Return  0, -ENOMEM or -ESHUTDOWN. */
int tkw__start(struct tkw_timer *t);

/* Make sure that the timer runs. Return  the same. */
static inline int tkw__ensure_started(struct tkw_timer *t)
{
	/* ACQUIRE pairs with the RELEASE of tkw__start(). */
	return TKW__LOAD(&t->state, ACQUIRE) == TKW__STARTED ? 0
							     : tkw__start(t);
}

#endif /* TKW_TIMER_START_H */
