/* SPDX-License-Identifier: MIT */
/* ending.h - the end of a timeout whose task is not run. */
#ifndef TKW_TIMER_ENDING_H
#define TKW_TIMER_ENDING_H

#include "timer/object.h"

/* Calls the on-cancel of an ENDING timeout, if there is one, and frees the
 * timeout. No lock is held. */
void tkw__finish_ending(struct tkw_timer *t, struct tkw__shard *s,
			struct tkw__timeout *to);

#endif /* TKW_TIMER_ENDING_H */
