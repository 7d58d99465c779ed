/* SPDX-License-Identifier: MIT */
/* guide_poll.c - a timer without a thread, in your own poll() loop. */
#include <poll.h>
#include <stdio.h>
#include <tickwheel.h>

static void on_timeout(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	printf("%s\n", (const char *)ctx);
}

static int run(struct tkw_timer *t)
{
	struct pollfd fds[] = { { .fd = tkw_timer_fd(t), .events = POLLIN } };

	/* A server's sockets would be in fds too. */
	while (tkw_timer_count(t) > 0) {
		if (poll(fds, 1, -1) < 1)
			continue; /* interrupted by a signal */
		if (tkw_timer_turn(t, 1000, NULL) < 0)
			return 1;
	}
	return 0;
}

int main(void)
{
	struct tkw_timer_config cfg = { .size = sizeof(cfg),
					.drive = TKW_DRIVE_LOOP };
	struct tkw_task soon = { .fn = on_timeout, .ctx = "after 10 ms" };
	struct tkw_task now = { .fn = on_timeout, .ctx = "at once" };
	struct tkw_timer *t;
	int status;

	if (tkw_timer_create(&t, &cfg) != 0)
		return 1;
	tkw_timer_schedule(t, &soon, 10 * TKW_MSEC, NULL);
	tkw_timer_schedule(t, &now, 0, NULL);
	status = run(t);
	return tkw_timer_destroy(t) != 0 || status != 0;
}
