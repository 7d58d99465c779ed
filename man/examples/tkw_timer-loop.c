/* SPDX-License-Identifier: MIT */
/* Drives a timer by an event loop, which polls one file descriptor. */
#include <poll.h>
#include <stdio.h>
#include <tickwheel/timer.h>

static void on_timeout(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	printf("%s: timed out\n", (const char *)ctx);
}

int main(void)
{
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .drive = TKW_DRIVE_LOOP };
	const struct tkw_task get = { .fn = on_timeout, .ctx = "get" };
	struct pollfd fd = { .events = POLLIN };
	struct tkw_timer *t;

	if (tkw_timer_create(&t, &cfg) != 0 ||
	    tkw_timer_schedule(t, &get, 20 * TKW_MSEC, NULL) != 0)
		return 1;
	fd.fd = tkw_timer_fd(t);
	while (tkw_timer_count(t) > 0) {
		if (poll(&fd, 1, -1) > 0 &&
		    tkw_timer_turn(t, 100, NULL) < 0)
			return 1;
	}
	return tkw_timer_destroy(t) != 0;
}
