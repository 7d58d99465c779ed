/* SPDX-License-Identifier: MIT */
/* hello_timer.c - a request that is answered in time, and one that is not. */
#include <stdio.h>
#include <threads.h>
#include <tickwheel.h>

static void on_timeout(void *arg, const struct tkw_firing *firing)
{
	printf("%s: %s\n", (const char *)arg,
	       firing->late_ns < 0 ? "too early!" : "timed out");
}

int main(void)
{
	struct tkw_task get = { .fn = on_timeout, .arg = "get" };
	struct tkw_task put = { .fn = on_timeout, .arg = "put" };
	struct tkw_timer *t;
	uint64_t id;

	if (tkw_timer_create(&t, NULL) != 0)
		return 1;
	tkw_timer_schedule(t, &get, 60 * TKW_SEC, &id);
	if (tkw_timer_cancel(t, id) == 0)
		printf("get: answered in time\n");
	tkw_timer_schedule(t, &put, 50 * TKW_MSEC, NULL);
	while (tkw_timer_pending(t) > 0)
		thrd_yield(); /* a server has better things to do */
	return tkw_timer_destroy(t);
}
