/* SPDX-License-Identifier: MIT */
/*
 * budget_timer_ops.c - one operation of the timer, many times, on fixed input,
 * like budget_ops.c for the wheel. The timer is driven by hand and its clock
 * stands still, so that the counts are the same each time.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tickwheel/timer.h"

enum {
	TIMEOUTS = 30000
};
#define TICK_NS (100 * TKW_USEC)

static struct tkw_timer *timer;
static struct tkw_timeout_id ids[TIMEOUTS];
static int64_t now_ns = TKW_SEC;
static uint32_t fired;

static int64_t now(void *ctx)
{
	(void)ctx;
	return now_ns;
}

static void count_fired(const struct tkw_firing *f, void *ctx)
{
	(void)ctx;
	(void)f;
	fired++;
}

static const struct tkw_task task = { .fn = count_fired };

/* From 20 s to 30 s. */
static int64_t delay_of(int i)
{
	return 20 * TKW_SEC + (int64_t)(i % 1024) * 10 * TKW_MSEC;
}

static int schedule(void)
{
	int err = 0;

	for (int i = 0; i < TIMEOUTS; i++)
		err |= tkw_timer_schedule(timer, &task, delay_of(i), &ids[i]);
	return err;
}

static int schedule_at(void)
{
	int err = 0;

	for (int i = 0; i < TIMEOUTS; i++)
		err |= tkw_timer_schedule_at(timer, &task, now_ns + delay_of(i),
					     &ids[i]);
	return err;
}

static int cancel(void)
{
	int err = 0;

	for (int i = 0; i < TIMEOUTS; i++)
		err |= tkw_timer_cancel(timer, ids[i]);
	return err;
}

/* Each is cancelled, and another takes its place, as an RPC client does. */
static int pair(void)
{
	int err = 0;

	for (int i = 0; i < TIMEOUTS; i++) {
		err |= tkw_timer_cancel(timer, ids[i]);
		err |= tkw_timer_schedule_at(timer, &task, now_ns + delay_of(i),
					     &ids[i]);
	}
	return err;
}

static int reschedule(void)
{
	int err = 0;

	for (int i = 0; i < TIMEOUTS; i++)
		err |= tkw_timer_reschedule(timer, ids[i],
					    delay_of(i) + TKW_SEC);
	return err;
}

/* Fires all pending timeouts in one turn. */
static int fire(void)
{
	int64_t next_ns;
	int n;

	now_ns += 60 * TKW_SEC;
	n = tkw_timer_turn(timer, 0, &next_ns);
	return n != TIMEOUTS || fired != TIMEOUTS;
}

/* The clock goes on by one tick, and nothing is due. */
static int turn(void)
{
	int64_t next_ns;
	int err = 0;

	for (int i = 0; i < TIMEOUTS; i++) {
		now_ns += TICK_NS;
		err |= tkw_timer_turn(timer, 0, &next_ns);
	}
	return err | (fired != 0);
}

static const struct operation {
	const char *name;
	int (*run)(void);
	int (*before)(void); /* what is made before, or NULL */
} operations[] = {
	{ "timer_schedule", schedule, NULL },
	{ "timer_schedule_at", schedule_at, NULL },
	{ "timer_cancel", cancel, schedule },
	{ "timer_pair_at", pair, schedule },
	{ "timer_reschedule", reschedule, schedule },
	{ "timer_fire", fire, schedule },
	{ "timer_turn", turn, schedule },
};

/* Only this function, with all that it calls, is counted. */
int measured(const struct operation *op);

__attribute__((noinline)) int measured(const struct operation *op)
{
	return op->run();
}

static int run(const struct operation *op)
{
	const struct tkw_timer_hooks hooks = { .now = now };
	const struct tkw_timer_config cfg = {
		.size = sizeof(cfg),
		.drive = TKW_DRIVE_MANUAL,
		.tick_ns = TICK_NS,
		.hooks = &hooks,
	};
	int err = tkw_timer_create(&timer, &cfg);

	if (err == 0 && op->before)
		err = op->before();
	if (err == 0)
		err = measured(op);
	if (err == 0)
		printf("%s %d\n", op->name, TIMEOUTS);
	return err != 0;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
		if (argc == 1)
			puts(operations[i].name);
		else if (strcmp(argv[1], operations[i].name) == 0)
			return run(&operations[i]);
	}
	return argc == 1 ? 0 : 2;
}
