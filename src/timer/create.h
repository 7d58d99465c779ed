/* SPDX-License-Identifier: MIT */
/* create.h - the memory of a timer. */
#ifndef TKW_TIMER_CREATE_H
#define TKW_TIMER_CREATE_H

#include "timer/object.h"

/* Free all of it. Nothing of the timer runs, or this is a forked child. */
void tkw__timer_free(struct tkw_timer *t);

#endif /* TKW_TIMER_CREATE_H */
