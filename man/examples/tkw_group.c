/* SPDX-License-Identifier: MIT */
/*
 * A connection has two timeouts. A packet pushes both back, and when the
 * connection is closed, both are cancelled.
 */
#include <stdio.h>
#include <tickwheel/group.h>

static void on_idle(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	printf("%s is idle\n", (const char *)ctx);
}

static void on_cancel(void *ctx)
{
	printf("%s is not needed any more\n", (const char *)ctx);
}

int main(void)
{
	struct tkw_task ping = { on_idle, "ping", on_cancel, 0 };
	struct tkw_task close = { on_idle, "close", on_cancel, 0 };
	struct tkw_group_config cfg = { .size = sizeof(cfg) };
	struct tkw_group *g;

	if (tkw_timer_create(&cfg.timer, NULL) != 0 ||
	    tkw_group_create(&g, &cfg) != 0 ||
	    tkw_group_schedule(g, &ping, 30 * TKW_SEC, NULL) != 0 ||
	    tkw_group_schedule(g, &close, 90 * TKW_SEC, NULL) != 0)
		return 1;
	printf("%d pushed back\n", tkw_group_extend(g, 5 * TKW_SEC));
	printf("%d cancelled\n", tkw_group_cancel(g));
	return tkw_group_destroy(g) != 0 ||
	       tkw_timer_destroy(cfg.timer) != 0;
}
