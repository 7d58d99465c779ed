/* SPDX-License-Identifier: MIT */
/* guide_limits.c - a schedule that is refused, because the timer is full. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <tickwheel.h>

static void on_timeout(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	free(ctx);
}

static void ask(struct tkw_timer *t, struct tkw_timeout_id *id)
{
	struct tkw_task task = { .fn = on_timeout,
				 .ctx = malloc(100),
				 .on_cancel = free };
	int err = tkw_timer_schedule(t, &task, 60 * TKW_SEC, id);

	if (err != 0)
		free(task.ctx); /* on_cancel is not called */
	puts(err == 0 ? "accepted" : err == -EAGAIN ? "full" : "stopped");
}

int main(void)
{
	struct tkw_timer_config cfg = { .size = sizeof(cfg), .max_pending = 1 };
	struct tkw_timeout_id id = { 0 };
	struct tkw_timer *t;

	if (tkw_timer_create(&t, &cfg) != 0)
		return 1;
	ask(t, &id);
	ask(t, &id);
	tkw_timer_cancel(t, id); /* makes room at once */
	ask(t, &id);
	tkw_timer_stop(t, NULL, NULL); /* calls on_cancel of the last one */
	ask(t, &id);
	return tkw_timer_destroy(t);
}
