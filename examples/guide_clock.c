/* SPDX-License-Identifier: MIT */
/* guide_clock.c - test a timeout of one hour without waiting for it. */
#include <stdio.h>
#include <tickwheel.h>

static int64_t my_now(void *ctx)
{
	return *(const int64_t *)ctx;
}

static void on_timeout(const struct tkw_firing *firing, void *ctx)
{
	(void)ctx;
	printf("fired, %d ms late\n", (int)(firing->late_ns / TKW_MSEC));
}

static void pass_an_hour(struct tkw_timer *t, int64_t *clock_ns)
{
	struct tkw_task task = { .fn = on_timeout };

	tkw_timer_schedule(t, &task, 3600 * TKW_SEC, NULL);
	*clock_ns += 3600 * TKW_SEC - 1;
	printf("a nanosecond before: %d fired\n", tkw_timer_turn(t, 0, NULL));
	*clock_ns += 1 + 5 * TKW_MSEC;
	tkw_timer_turn(t, 0, NULL);
}

int main(void)
{
	int64_t clock_ns = 0;
	struct tkw_timer_hooks hooks = { .now = my_now, .ctx = &clock_ns };
	struct tkw_timer_config cfg = { .size = sizeof(cfg),
					.drive = TKW_DRIVE_MANUAL,
					.hooks = &hooks };
	struct tkw_timer *t;

	if (tkw_timer_create(&t, &cfg) != 0)
		return 1;
	pass_an_hour(t, &clock_ns);
	return tkw_timer_destroy(t);
}
