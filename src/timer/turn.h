/* SPDX-License-Identifier: MIT */
/* turn.h - one pass over everything that is due. */
#ifndef TKW_TIMER_TURN_H
#define TKW_TIMER_TURN_H

#include <stdint.h>

#include "timer/object.h"

/*
 * Makes a turn. Called by the worker.
 *
 * max   How many timeouts may be fired.
 * next  Receives the tick at which the next turn is needed. 0 means at once.
 *
 * Returns how many were fired.
 */
uint64_t tkw__turn(struct tkw_timer *t, uint64_t max, uint64_t *next);

/* The tick at which the worker is needed. 0 means at once. Looks at each
 * shard. */
uint64_t tkw__turn_next(struct tkw_timer *t);

/* Tells the log how many timeouts were dropped since it was told last. */
void tkw__turn_tell_dropped(struct tkw_timer *t);

#endif /* TKW_TIMER_TURN_H */
