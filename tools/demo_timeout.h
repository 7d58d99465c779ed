/* SPDX-License-Identifier: MIT */
/* demo_timeout.h - what demo_load.c and demo_timeout.c share. */
#ifndef TKW_TOOLS_DEMO_TIMEOUT_H
#define TKW_TOOLS_DEMO_TIMEOUT_H

#include "demo.h"

/* The timeout of a call or of a connection. */
struct demo_timeout {
	struct demo_mark mark;
	/* The timeout must not fire before this time of the demo's own
	 * clock. */
	_Atomic int64_t earliest_ns;
	struct tkw_timeout_id id;
};

struct demo_beat {
	struct demo_mark mark;
	_Atomic int64_t earliest_ns;
	int64_t period_ns;
};

/* Tells the tasks which demo they belong to. Call it before the first timeout
 * is armed. */
void demo_timeout_stage(struct demo *d);

/*
 * These schedule a timeout and count it.
 *
 * c       The counters of the calling thread.
 * now_ns  When the caller last read the clock. The deadline is
 *         now_ns + delay_ns, or later.
 *
 * They return what tkw_timer_schedule() returns. A refusal has been counted.
 */
int demo_arm_call(struct demo_counters *c, struct demo_timeout *to,
		  int64_t now_ns, int64_t delay_ns);
int demo_arm_idle(struct demo_counters *c, struct demo_timeout *to,
		  int64_t now_ns, int64_t delay_ns);
int demo_arm_beat(struct demo_counters *c, struct demo_beat *b,
		  int64_t delay_ns);
int demo_arm_far(struct demo_counters *c, struct demo_mark *m,
		 int64_t delay_ns);

/*
 * Pushes a connection's timeout back.
 *
 * Returns 0, even if the timeout had ended before, or an error of
 * tkw_timer_reschedule(), which has been counted.
 */
int demo_push_back(struct demo_counters *c, struct demo_timeout *to,
		   int64_t now_ns, int64_t delay_ns);

/*
 * Cancels a call's timeout. If its task is running, waits until it has ended.
 * If the mark is still waiting afterwards, the stop will hand the timeout over.
 *
 * again  Cancel it a second time, which the timer has to refuse.
 */
void demo_cancel(struct demo_counters *c, struct demo_timeout *to, bool again);

bool demo_is_waiting(const struct demo_mark *m);

/* Returns true if the result r of a call means that the thread has to end. */
bool demo_is_over(int r);

#endif /* TKW_TOOLS_DEMO_TIMEOUT_H */
