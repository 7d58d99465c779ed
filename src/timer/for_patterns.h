/* SPDX-License-Identifier: MIT */
/*
 * for_patterns.h - what src/patterns needs of a timer besides timer.h. To ask
 * whether a thread is inside a callback of the timer, use tkw__frame_inside(t).
 */
#ifndef TKW_TIMER_FOR_PATTERNS_H
#define TKW_TIMER_FOR_PATTERNS_H

#include <stdbool.h>

#include "tickwheel/timer.h"

/* True if a parent of this process made the timer. */
bool tkw__timer_is_child(const struct tkw_timer *t);

/*
 * tkw_timer_cancel() for the owner of a timeout. It does not call the
 * on-cancel, because the owner knows of the cancel, and may hold a lock that
 * the on-cancel takes. The on-cancel of such a timeout is for when it is
 * dropped or handed over.
 */
int tkw__timer_cancel_own(struct tkw_timer *t, struct tkw_timeout_id id);

#endif /* TKW_TIMER_FOR_PATTERNS_H */
