/* SPDX-License-Identifier: MIT */
/* guide_see.c - observe a timer: slow tasks, counters, lateness. */
#include <stdio.h>
#include <tickwheel.h>

static int64_t clock_ns; /* our own clock, so that the output never varies */

static int64_t my_now(void *ctx)
{
	(void)ctx;
	return clock_ns;
}

static void my_log(const char *line, void *ctx)
{
	(void)line; /* pass it to syslog(), for example */
	++*(int *)ctx;
}

static void sluggish(const struct tkw_firing *firing, void *ctx)
{
	(void)ctx;
	(void)firing;
	clock_ns += 30 * TKW_MSEC;
}

static void look(struct tkw_timer *t)
{
	static struct tkw_stats s; /* 20 KiB */

	if (tkw_timer_get_stats(t, &s) != 0)
		return;
	printf("fired %d, pending %d, slow tasks %d\n", (int)s.ledger.fired,
	       (int)s.ledger.pending, (int)s.slow);
	printf("half of them less than %d ms late\n",
	       1 + (int)(tkw_histogram_quantile_ns(&s.lateness, 0.5) /
			 TKW_MSEC));
}

int main(void)
{
	int lines = 0;
	struct tkw_timer_hooks hooks = { .now = my_now,
					 .log = my_log,
					 .ctx = &lines };
	struct tkw_timer_config cfg = { .size = sizeof(cfg),
					.drive = TKW_DRIVE_MANUAL,
					.slow_task_ns = 10 * TKW_MSEC,
					.hooks = &hooks };
	struct tkw_task task = { .fn = sluggish };
	struct tkw_timer *t;

	if (tkw_timer_create(&t, &cfg) != 0)
		return 1;
	tkw_timer_schedule(t, &task, TKW_MSEC, NULL);
	tkw_timer_schedule(t, &task, 60 * TKW_SEC, NULL);
	clock_ns = TKW_MSEC;
	tkw_timer_turn(t, 0, NULL);
	look(t);
	printf("lines of log: %d\n", lines);
	return tkw_timer_destroy(t);
}
