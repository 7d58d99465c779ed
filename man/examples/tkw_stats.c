/* SPDX-License-Identifier: MIT */
/*
 * Shows how late a task was. The program drives the timer by hand and
 * provides its clock.
 */
#include <stdio.h>
#include <tickwheel/stats.h>

static int64_t clock_ns;

static int64_t now(void *ctx)
{
	(void)ctx;
	return clock_ns;
}

static void on_due(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	(void)ctx;
}

int main(void)
{
	const struct tkw_timer_hooks hooks = { .now = now };
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .drive = TKW_DRIVE_MANUAL,
					      .hooks = &hooks };
	const struct tkw_task task = { .fn = on_due };
	static struct tkw_stats s;
	struct tkw_timer *t;

	if (tkw_timer_create(&t, &cfg) != 0 ||
	    tkw_timer_schedule(t, &task, 5 * TKW_MSEC, NULL) != 0)
		return 1;
	clock_ns = 7 * TKW_MSEC;
	if (tkw_timer_turn(t, 0, NULL) != 1 ||
	    tkw_timer_get_stats(t, &s) != 0)
		return 1;
	printf("fired: %d, median: %d us late\n", (int)s.ledger.fired,
	       (int)(tkw_histogram_quantile_ns(&s.lateness, 0.5) /
		     TKW_USEC));
	return tkw_timer_destroy(t) != 0;
}
