/* SPDX-License-Identifier: MIT */
/* create.h - frees a timer. */
#ifndef TKW_TIMER_CREATE_H
#define TKW_TIMER_CREATE_H

#include "timer/object.h"

/* Frees all memory of a timer. Nothing of it may run, unless this is a forked
 * child. */
void tkw__timer_free(struct tkw_timer *t);

#endif /* TKW_TIMER_CREATE_H */
