/* SPDX-License-Identifier: MIT */
/* hello_timer.c - one request is answered in time, another one times out. */
#include <stdio.h>
#include <tickwheel.h>

static void on_timeout(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	printf("%s: timed out\n", (const char *)ctx);
}

int main(void)
{
	struct tkw_task get = { .fn = on_timeout, .ctx = "GET" };
	struct tkw_task put = { .fn = on_timeout, .ctx = "PUT" };
	struct tkw_timeout_id id;
	struct tkw_timer *t;

	if (tkw_timer_create(&t, NULL) != 0 ||
	    tkw_timer_schedule(t, &get, 30 * TKW_SEC, &id) != 0 ||
	    tkw_timer_schedule(t, &put, 50 * TKW_MSEC, NULL) != 0)
		return 1;
	if (tkw_timer_cancel(t, id) == 0) /* the answer to GET came */
		puts("GET: answered in time");
	tkw_timer_wait_idle(t, TKW_NEVER_NS); /* sleeps until PUT is over */
	return tkw_timer_destroy(t);
}
