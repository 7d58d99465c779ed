/* SPDX-License-Identifier: MIT */
/* hello_timer.c - a first timeout. */
#include <stdio.h>
#include <tickwheel.h>

static void on_timeout(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	puts(ctx);
}

int main(void)
{
	const struct tkw_task task = { .fn = on_timeout, .ctx = "timed out" };
	struct tkw_timer *t;

	if (tkw_timer_create(&t, NULL) != 0)
		return 1;
	tkw_timer_schedule(t, &task, 50 * TKW_MSEC, NULL);
	tkw_timer_wait_idle(t, TKW_NEVER_NS);
	return tkw_timer_destroy(t);
}
