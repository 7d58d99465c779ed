/* SPDX-License-Identifier: MIT */
/*
 * for_patterns.h - what src/patterns needs of a timer besides timer.h. Whether
 * a thread is inside a callback of the timer: tkw__frame_inside(t).
 */
#ifndef TKW_TIMER_FOR_PATTERNS_H
#define TKW_TIMER_FOR_PATTERNS_H

#include <stdbool.h>

#include "tickwheel/timer.h"

/* Was the timer made by a parent of this process? */
bool tkw__timer_is_child(const struct tkw_timer *t);

/*
 * tkw_timer_cancel() by the owner of a timeout, without its on-cancel being
 * called: the owner knows, and may hold a lock that the on-cancel takes. That
 * is for timeouts which are dropped or handed over.
 */
int tkw__timer_cancel_own(struct tkw_timer *t, struct tkw_timeout_id id);

#endif /* TKW_TIMER_FOR_PATTERNS_H */
