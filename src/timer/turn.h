/* SPDX-License-Identifier: MIT */
/* turn.h - one pass over all that is due. */
#ifndef TKW_TIMER_TURN_H
#define TKW_TIMER_TURN_H

#include <stdint.h>

#include "timer/object.h"

/*
 * A turn, by the worker.
 *
 * max     how many timeouts may be fired.
 * next    written: the tick at which the next turn is needed; 0: at once.
 * Return  how many were fired.
 */
uint64_t tkw__turn(struct tkw_timer *t, uint64_t max, uint64_t *next);

/* At which tick the worker is needed; 0: at once. Looks at each shard. */
uint64_t tkw__turn_next(struct tkw_timer *t);

/* Tell the log what was dropped since it was told last. */
void tkw__turn_tell_dropped(struct tkw_timer *t);

#endif /* TKW_TIMER_TURN_H */
