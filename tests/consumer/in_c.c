/* SPDX-License-Identifier: MIT */
/* in_c.c - a stranger's program: a timeout that fires, one that does not. */
#include <stdio.h>
#include <string.h>
#include <threads.h>
#include <tickwheel.h>

static void on_timeout(void *arg, const struct tkw_firing *firing)
{
	(void)firing;
	printf("fired: %s\n", (const char *)arg);
}

int main(void)
{
	struct tkw_task soon = { .fn = on_timeout, .arg = "soon" };
	struct tkw_task never = { .fn = on_timeout, .arg = "never" };
	struct tkw_timer *t;
	uint64_t id;

	if (strcmp(tkw_version(), TKW_VERSION) != 0)
		return 1;
	if (tkw_timer_create(&t, NULL) != 0)
		return 1;
	if (tkw_timer_schedule(t, &never, 60 * TKW_SEC, &id) != 0 ||
	    tkw_timer_cancel(t, id) != 0 ||
	    tkw_timer_schedule(t, &soon, TKW_MSEC, NULL) != 0)
		return 1;
	while (tkw_timer_pending(t) > 0)
		thrd_yield();
	return tkw_timer_destroy(t) != 0;
}
