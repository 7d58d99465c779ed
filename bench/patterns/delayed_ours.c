/* SPDX-License-Identifier: MIT */
/* delayed_ours.c - our delayed operations, through the public header. */
#include "timer/rival.h"

#include "tickwheel/delayed.h"

static struct {
	struct tkw_timer *timer;
	struct tkw_delayed *set;
} delayed;

static inline bool holds(const void *ctx);
static inline void ended(void *ctx, int status);

static int does_hold(void *ctx)
{
	return holds(ctx);
}

static void on_end(const struct tkw_delayed_end *end, void *ctx)
{
	ended(ctx, end->status);
}

static void delayed_open(const struct rival_load *l)
{
	struct tkw_timer_config timer = { .size = sizeof(timer),
					  .tick_ns = l->tick_ns };
	struct tkw_delayed_config cfg = { .size = sizeof(cfg) };

	if (tkw_timer_create(&delayed.timer, &timer) != 0)
		rival_die("tkw_timer_create failed");
	cfg.timer = delayed.timer;
	if (tkw_delayed_create(&delayed.set, &cfg) != 0)
		rival_die("tkw_delayed_create failed");
}

static void delayed_close(void)
{
	(void)tkw_delayed_destroy(delayed.set);
	(void)tkw_timer_destroy(delayed.timer);
}

static inline int op_add(void *ctx, uint64_t key, int64_t timeout_ns)
{
	const struct tkw_delayed_op op = { .holds = does_hold,
					   .on_end = on_end,
					   .ctx = ctx,
					   .keys = &key,
					   .key_count = 1,
					   .timeout_ns = timeout_ns };

	return tkw_delayed_add(delayed.set, &op, NULL);
}

static inline int op_event(uint64_t key)
{
	return tkw_delayed_event(delayed.set, key);
}

#include "delayed_loops.h"

void ours_run_delayed(const struct rival_load *l, struct rival_answer *a)
{
	measure_delayed(l, a);
}
