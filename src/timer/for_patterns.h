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

/* True if the user has given the timer a clock. */
bool tkw__timer_has_own_clock(const struct tkw_timer *t);

/* True if the timer runs on a thread of its own. */
bool tkw__timer_has_thread(const struct tkw_timer *t);

/* Make and join a thread as the timer's own ones are made. The signals of the
 * thread are blocked from its start. Returns 0 or -ENOMEM. */
int tkw__timer_thread_create(struct tkw_timer *t, void *(*run)(void *arg),
			     void *arg, void **handle);
void tkw__timer_thread_join(struct tkw_timer *t, void *handle);

/*
 * tkw_timer_cancel() for the owner of a timeout. It does not call the
 * on-cancel, because the owner knows of the cancel, and may hold a lock that
 * the on-cancel takes. The on-cancel of such a timeout is for when it is
 * dropped or handed over.
 */
int tkw__timer_cancel_own(struct tkw_timer *t, struct tkw_timeout_id id);

#endif /* TKW_TIMER_FOR_PATTERNS_H */
