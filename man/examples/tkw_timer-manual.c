/* SPDX-License-Identifier: MIT */
/* Drives a timer by hand, and provides its clock. */
#include <stdio.h>
#include <tickwheel/timer.h>

static int64_t clock_ns;

static int64_t now(void *ctx)
{
	(void)ctx;
	return clock_ns;
}

static void on_timeout(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	printf("%s: timed out\n", (const char *)ctx);
}

int main(void)
{
	const struct tkw_timer_hooks hooks = { .now = now };
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .drive = TKW_DRIVE_MANUAL,
					      .hooks = &hooks };
	const struct tkw_task get = { .fn = on_timeout, .ctx = "get" };
	struct tkw_timer *t;
	int64_t next_ns = 0;

	if (tkw_timer_create(&t, &cfg) != 0 ||
	    tkw_timer_schedule(t, &get, 3600 * TKW_SEC, NULL) != 0)
		return 1;
	while (next_ns != TKW_NEVER_NS) {
		clock_ns = next_ns;
		if (tkw_timer_turn(t, 0, &next_ns) < 0)
			return 1;
	}
	printf("%d s passed\n", (int)(clock_ns / TKW_SEC));
	return tkw_timer_destroy(t) != 0;
}
