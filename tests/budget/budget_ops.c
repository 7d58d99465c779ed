/* SPDX-License-Identifier: MIT */
/*
 * budget_ops.c - one operation of the wheel, many times, on fixed input.
 *
 * Without an argument it prints the names of the operations. budget.sh runs
 * each of them under callgrind and counts the instructions inside measured().
 * On a noisy machine such a count shows more than a time does.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tickwheel/wheel.h"

enum {
	ENTRIES = 100000,
	DELAY_TICKS = 60000,
	FAR = 1000000
};

static _Alignas(64) unsigned char memory[TKW_WHEEL_BYTES];
static struct tkw_entry entries[ENTRIES];
static uint32_t picks[ENTRIES];
static uint32_t ticks[2][ENTRIES];
static struct tkw_wheel *wheel;
static uint64_t fired;

static void count_fired(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	(void)w;
	(void)e;
	(void)ctx;
	fired++;
}

/* xorshift64. The seed is fixed, so the counts are the same each time. */
static uint32_t below(uint32_t limit)
{
	static uint64_t x = 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (uint32_t)((x >> 32) * limit >> 32);
}

static int schedule(void)
{
	int err = 0;

	for (int i = 0; i < ENTRIES; i++)
		err |= tkw_wheel_add(wheel, &entries[i], ticks[0][i]);
	return err;
}

static int cancel(void)
{
	int err = 0;

	for (int i = 0; i < ENTRIES; i++)
		err |= tkw_wheel_remove(wheel, &entries[i]);
	return err;
}

static int churn(void)
{
	int err = 0;

	for (int i = 0; i < ENTRIES; i++) {
		struct tkw_entry *e = &entries[picks[i]];

		err |= tkw_wheel_remove(wheel, e);
		err |= tkw_wheel_add(wheel, e, ticks[1][i]);
	}
	return err;
}

static int extend(void)
{
	int err = 0;

	for (int i = 0; i < ENTRIES; i++)
		err |= tkw_wheel_extend(wheel, &entries[i], DELAY_TICKS + 1);
	return err;
}

static int expire(void)
{
	int err = 0;

	for (uint64_t t = 0; t <= DELAY_TICKS; t++)
		err |= tkw_wheel_advance(wheel, t, TKW_STEPS_UNBOUNDED,
					 count_fired, NULL);
	return err | (fired != ENTRIES);
}

/* The entries start in ring 2, and each is extended once. expire() does not
 * test that. */
static int expire_far(void)
{
	int err = 0;

	for (int i = 0; i < ENTRIES; i++)
		err |= tkw_wheel_extend(wheel, &entries[i], FAR + ticks[1][i]);
	for (uint64_t t = 0; t <= FAR + DELAY_TICKS; t += 1000)
		err |= tkw_wheel_advance(wheel, t, TKW_STEPS_UNBOUNDED,
					 count_fired, NULL);
	return err | (fired != ENTRIES);
}

static int empty_ticks(void)
{
	int err = 0;

	for (uint64_t t = 0; t < ENTRIES; t++)
		err |= tkw_wheel_advance(wheel, t, TKW_STEPS_UNBOUNDED,
					 count_fired, NULL);
	return err | (fired != 0);
}

static const struct operation {
	const char *name;
	int (*run)(void);
	/* The tick of the first entry in the wheel before; 0 if it is empty. */
	uint32_t earliest;
} operations[] = {
	{ "schedule", schedule, 0 },
	{ "cancel", cancel, 1 },
	{ "churn", churn, 1 },
	{ "extend", extend, 1 },
	{ "expire", expire, 1 },
	{ "expire_far", expire_far, FAR - DELAY_TICKS },
	{ "empty_ticks", empty_ticks, 2 * ENTRIES },
	{ "no_entries", empty_ticks, 0 },
};

/* Only this function, with all that it calls, is counted. */
int measured(const struct operation *op);

__attribute__((noinline)) int measured(const struct operation *op)
{
	return op->run();
}

static int run(const struct operation *op)
{
	int err = tkw_wheel_init(&wheel, memory, sizeof(memory), NULL);

	for (int i = 0; i < ENTRIES; i++) {
		picks[i] = below(ENTRIES);
		ticks[0][i] = 1 + below(DELAY_TICKS);
		ticks[1][i] = 1 + below(DELAY_TICKS);
		if (op->earliest > 1)
			ticks[0][i] += op->earliest;
	}
	if (op->earliest > 0)
		err |= schedule();
	err |= measured(op);
	if (err == 0)
		printf("%s %d\n", op->name, ENTRIES);
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
