/* SPDX-License-Identifier: MIT */
/* first_timer.c - three tasks: one fires, one is cancelled, one waits. */
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <tickwheel.h>

#define HOUR (3600 * TKW_SEC)

static sem_t fired;

/* Runs on the timer's own thread, one task at a time. Keep it short. */
static void on_due(const struct tkw_firing *firing, void *ctx)
{
	const char *early = firing->late_ns < 0 ? " (too early!)" : "";

	printf("fired: %s%s\n", (const char *)ctx, early);
	sem_post(&fired);
}

/* Runs inside tkw_timer_stop(), for each timeout that is still pending. */
static void on_left(const struct tkw_timeout_info *info, void *ctx)
{
	int64_t hours = (info->left_ns + HOUR - 1) / HOUR;

	(void)ctx; /* the last argument of tkw_timer_stop() */
	printf("left: %s, due within %d hours\n", (const char *)info->task.ctx,
	       (int)hours);
}

/* An id is plain data. You may keep it, and use it after its task has ended. */
static void cancel_twice(struct tkw_timer *t, struct tkw_timeout_id id)
{
	if (tkw_timer_cancel(t, id) == 0)
		puts("cancelled: meeting, it will never fire");
	if (tkw_timer_cancel(t, id) == -ENOENT)
		puts("cancelled again: no harm done");
}

int main(void)
{
	struct tkw_task tea = { .fn = on_due, .ctx = "tea" };
	struct tkw_task meeting = { .fn = on_due, .ctx = "meeting" };
	struct tkw_task logout = { .fn = on_due, .ctx = "logout" };
	struct tkw_timeout_id meeting_id, logout_id;
	struct tkw_timer *t;

	sem_init(&fired, 0, 0);
	/* NULL means the defaults: a tick of 1 ms and a thread of its own. */
	if (tkw_timer_create(&t, NULL) != 0)
		return 1;
	/* The first schedule starts the thread. Tasks are copied. Each call
	 * returns 0 or a negative errno. A call that fails changes nothing. */
	if (tkw_timer_schedule(t, &meeting, HOUR, &meeting_id) != 0 ||
	    tkw_timer_schedule(t, &logout, HOUR, &logout_id) != 0 ||
	    tkw_timer_schedule(t, &tea, 20 * TKW_MSEC, NULL) != 0)
		return 1;
	while (sem_wait(&fired) != 0)
		; /* interrupted by a signal */
	cancel_twice(t, meeting_id);
	/* The user has moved the mouse, so log out two hours from now. This
	 * costs about one store. */
	if (tkw_timer_reschedule(t, logout_id, 2 * HOUR) == 0)
		puts("pushed back: logout");
	tkw_timer_stop(t, on_left, NULL);
	return tkw_timer_destroy(t) != 0;
}
