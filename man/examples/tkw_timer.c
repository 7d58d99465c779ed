/* SPDX-License-Identifier: MIT */
/*
 * Schedules three timeouts. One is cancelled, one fires, and the stop
 * hands one over.
 */
#include <semaphore.h>
#include <stdio.h>
#include <tickwheel/timer.h>

static sem_t fired;

static void on_due(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	printf("fired: %s\n", (const char *)ctx);
	sem_post(&fired);
}

static void on_left(const struct tkw_timeout_info *info, void *ctx)
{
	(void)ctx;
	printf("left: %s\n", (const char *)info->task.ctx);
}

int main(void)
{
	const struct tkw_task call = { .fn = on_due, .ctx = "call" };
	const struct tkw_task flush = { .fn = on_due, .ctx = "flush" };
	const struct tkw_task idle = { .fn = on_due, .ctx = "idle" };
	struct tkw_timeout_id call_id, idle_id;
	struct tkw_timer *t;

	sem_init(&fired, 0, 0);
	if (tkw_timer_create(&t, NULL) != 0 ||
	    tkw_timer_schedule(t, &call, 60 * TKW_SEC, &call_id) != 0 ||
	    tkw_timer_schedule(t, &idle, 60 * TKW_SEC, &idle_id) != 0)
		return 1;
	if (tkw_timer_cancel(t, call_id) == 0)
		printf("cancelled: call\n");
	if (tkw_timer_reschedule(t, idle_id, 3600 * TKW_SEC) != 0 ||
	    tkw_timer_schedule(t, &flush, 20 * TKW_MSEC, NULL) != 0)
		return 1;
	while (sem_wait(&fired) != 0)
		; /* interrupted by a signal: wait again */
	tkw_timer_stop(t, on_left, NULL);
	return tkw_timer_destroy(t) != 0;
}
