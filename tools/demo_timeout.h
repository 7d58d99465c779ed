/* SPDX-License-Identifier: MIT */
/* demo_timeout.h - what demo_load.c and demo_timeout.c share. */
#ifndef TKW_TOOLS_DEMO_TIMEOUT_H
#define TKW_TOOLS_DEMO_TIMEOUT_H

#include "demo.h"

/* A call's, or a connection's. */
struct demo_timeout {
	struct demo_mark mark;
	/* It may not fire before, as our own clock says. */
	_Atomic int64_t earliest_ns;
	struct tkw_timeout_id id;
};

struct demo_beat {
	struct demo_mark mark;
	_Atomic int64_t earliest_ns;
	int64_t period_ns;
};

/* Tasks know the demo by this; before the first of them is armed. */
void demo_timeout_stage(struct demo *d);

/*
 * Schedule one, and write down what becomes of it.
 *
 * c       the counters of the calling thread.
 * now_ns  the time at which the caller looked last: the deadline is
 *         now_ns + delay_ns, or later.
 * Return  as tkw_timer_schedule(); a refusal has been counted.
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
 * Push a connection's timeout back.
 *
 * Return  0 also if it was too late for that; else as tkw_timer_reschedule(),
 *         and it has been counted.
 */
int demo_push_back(struct demo_counters *c, struct demo_timeout *to,
		   int64_t now_ns, int64_t delay_ns);

/*
 * Cancel a call's timeout, and if its task is running wait for its end. If the
 * mark is still waiting afterwards, the stop has the timeout.
 *
 * again   cancel it a second time, which must be refused.
 */
void demo_cancel(struct demo_counters *c, struct demo_timeout *to, bool again);

bool demo_is_waiting(const struct demo_mark *m);

/* After such an answer there is no point in going on. */
bool demo_is_over(int r);

#endif /* TKW_TOOLS_DEMO_TIMEOUT_H */
