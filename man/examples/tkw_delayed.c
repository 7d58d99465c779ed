/* SPDX-License-Identifier: MIT */
/*
 * Two operations wait for a counter. An event completes one of them, and the
 * other one expires.
 */
#include <errno.h>
#include <stdio.h>
#include <tickwheel/delayed.h>

static int counter;

struct op {
	const char *name;
	int wanted;
};

static int is_enough(void *ctx)
{
	const struct op *o = ctx;

	return counter >= o->wanted;
}

static void on_end(const struct tkw_delayed_end *end, void *ctx)
{
	const struct op *o = ctx;

	printf("%s: %s\n", o->name,
	       end->status == 0 ? "completed" :
	       end->status == -ETIMEDOUT ? "expired" : "given up");
}

static int add(struct tkw_delayed *d, struct op *o, int64_t timeout_ns)
{
	const uint64_t key = 7;
	const struct tkw_delayed_op op = {
		.holds = is_enough,
		.on_end = on_end,
		.ctx = o,
		.keys = &key,
		.key_count = 1,
		.timeout_ns = timeout_ns,
	};

	return tkw_delayed_add(d, &op, NULL);
}

int main(void)
{
	struct tkw_timer_config timer = { .drive = TKW_DRIVE_MANUAL };
	struct tkw_delayed_config cfg = { .size = sizeof(cfg) };
	struct op one = { "one", 1 }, two = { "two", 2 };
	struct tkw_delayed *d;

	if (tkw_timer_create(&cfg.timer, &timer) != 0 ||
	    tkw_delayed_create(&d, &cfg) != 0 ||
	    add(d, &one, 60 * TKW_SEC) != 0 || add(d, &two, 0) != 0)
		return 1;
	counter++;
	tkw_delayed_event(d, 7);
	tkw_timer_turn(cfg.timer, 0, NULL);
	return tkw_delayed_destroy(d) != 0 ||
	       tkw_timer_destroy(cfg.timer) != 0;
}
