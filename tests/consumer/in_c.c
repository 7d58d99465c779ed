/* SPDX-License-Identifier: MIT */
/* in_c.c - the program of a user: one timeout fires, one is cancelled. */
#include <stdio.h>
#include <string.h>
#include <tickwheel.h>

static void on_timeout(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	printf("fired: %s\n", (const char *)ctx);
}

int main(void)
{
	struct tkw_task soon = { .fn = on_timeout, .ctx = "soon" };
	struct tkw_task never = { .fn = on_timeout, .ctx = "never" };
	struct tkw_timeout_id id;
	struct tkw_timer *t;

	if (strcmp(tkw_version(), TKW_VERSION) != 0)
		return 1;
	if (tkw_timer_create(&t, NULL) != 0)
		return 1;
	if (tkw_timer_schedule(t, &never, 60 * TKW_SEC, &id) != 0 ||
	    tkw_timer_cancel(t, id) != 0 ||
	    tkw_timer_schedule(t, &soon, TKW_MSEC, NULL) != 0 ||
	    tkw_timer_wait_idle(t, TKW_NEVER_NS) != 0)
		return 1;
	return tkw_timer_destroy(t) != 0;
}
