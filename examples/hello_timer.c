/* SPDX-License-Identifier: MIT */
/* hello_timer.c - a first timeout. */
#include <stdio.h>
#include <threads.h>
#include <tickwheel.h>

static void on_timeout(void *arg, const struct tkw_firing *firing)
{
	(void)firing;
	puts(arg);
}

int main(void)
{
	const struct tkw_task task = { .fn = on_timeout, .arg = "timed out" };
	struct tkw_timer *t;

	if (tkw_timer_create(&t, NULL) != 0)
		return 1;
	tkw_timer_schedule(t, &task, 50 * TKW_MSEC, NULL);
	while (tkw_timer_pending(t) > 0)
		thrd_yield(); /* a server has better things to do */
	return tkw_timer_destroy(t);
}
