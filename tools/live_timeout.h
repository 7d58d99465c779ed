/* SPDX-License-Identifier: MIT */
/* live_timeout.h - what live_load.c and live_timeout.c share. */
#ifndef TKW_TOOLS_LIVE_TIMEOUT_H
#define TKW_TOOLS_LIVE_TIMEOUT_H

#include "live.h"

/* A call's, or a connection's. */
struct live_timeout {
	struct live_mark mark;
	/* It may not fire before, as our own clock says. */
	_Atomic int64_t earliest_ns;
	uint64_t id;
};

struct live_beat {
	struct live_mark mark;
	_Atomic int64_t earliest_ns;
	int64_t period_ns;
};

/* Tasks know the demo by this; before the first of them is armed. */
void live_timeout_stage(struct live *l);

/*
 * Schedule one, and write down what becomes of it.
 *
 * c       the counters of the calling thread.
 * now_ns  the time at which the caller looked last: the deadline is
 *         now_ns + delay_ns, or later.
 * Return  as tkw_timer_schedule(); a refusal has been counted.
 */
int live_arm_call(struct live_counters *c, struct live_timeout *to,
		  int64_t now_ns, int64_t delay_ns);
int live_arm_idle(struct live_counters *c, struct live_timeout *to,
		  int64_t now_ns, int64_t delay_ns);
int live_arm_beat(struct live_counters *c, struct live_beat *b,
		  int64_t delay_ns);
int live_arm_far(struct live_counters *c, struct live_mark *m,
		 int64_t delay_ns);

/*
 * Push a connection's timeout back.
 *
 * Return  0 also if it was too late for that; else as tkw_timer_reschedule(),
 *         and it has been counted.
 */
int live_push_back(struct live_counters *c, struct live_timeout *to,
		   int64_t now_ns, int64_t delay_ns);

/*
 * Cancel a call's timeout, and if its task is running wait for its end. If the
 * mark is still waiting afterwards, the stop has the timeout.
 *
 * again   cancel it a second time, which must be refused.
 */
void live_cancel(struct live_counters *c, struct live_timeout *to, bool again);

bool live_is_waiting(const struct live_mark *m);

/* After such an answer there is no point in going on. */
bool live_is_over(int r);

#endif /* TKW_TOOLS_LIVE_TIMEOUT_H */
