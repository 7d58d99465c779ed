/* SPDX-License-Identifier: MIT */
/*
 * wheel_rows.c - the rows of the wheel. A tick is 1 ms.
 *
 *   schedule/uniform/N  schedule N entries; delays are uniform, 1 ms to 60 s
 *   cancel/random/N     cancel them all, in random order
 *   churn/uniform/N     N are pending: cancel a random one, schedule it again
 *   extend/random/N     N are pending, due in 30 to 60 s: push a random one
 *                       back to 60 s from now, 1000 operations per tick
 *   extend/hot/1e4      1e4 connections have an idle timeout of 5 s, and each
 *                       is pushed back 50 times in 5 s. A run takes four times
 *                       5 s, so that work which an entrant puts off is included
 *   rpc/fifo/1e4        1e4 requests are under way and answered in order after
 *                       100 ms; the timeout is 5 s, with 100 requests per tick
 *   expire/uniform/N    advance tick by tick until all have fired; time per
 *                       entry
 *   ticks/empty         advance by one tick with nothing due; 1e5 entries are
 *                       one to two hours away
 *   jump/10y/N          advance by ten years, forty times; N entries are 450
 *                       years away, within half an hour of each other
 */
#include "wheel_rows.h"

#include <stdio.h>

enum {
	MINUTE = 60000,
	HOUR = 60 * MINUTE,
	OPS_LEAST = 200000,
	OPS_MOST = 2000000,
	DRAIN_ALL = 2000000,
	DRAIN_STEPS = 32,
	DRAIN_LOOKS = 3200000
};

#define YEAR (UINT64_C(365) * 24 * HOUR)

struct shape {
	const char *name;
	struct bench_load load; /* if n is 0, there is one row for each size */
	void (*scale)(struct bench_load *l, bool quick);
};

static uint64_t clamp(uint64_t n, uint64_t lo, uint64_t hi)
{
	return n < lo ? lo : n > hi ? hi : n;
}

/* Sets the number of passes over all entries, so that there is enough to
 * measure. */
static void scale_rounds(struct bench_load *l, bool quick)
{
	uint64_t least = quick ? OPS_LEAST / 4 : OPS_LEAST;

	l->rounds = (uint32_t)clamp((least + l->n - 1) / l->n, 1, least);
	l->ops = (uint64_t)l->rounds * l->n;
}

static void scale_ops(struct bench_load *l, bool quick)
{
	l->ops = clamp(l->n, OPS_LEAST, OPS_MOST);
	if (quick)
		l->ops = OPS_LEAST / 2;
}

static void scale_fixed(struct bench_load *l, bool quick)
{
	if (quick)
		l->ops /= 10;
}

static void scale_none(struct bench_load *l, bool quick)
{
	(void)l;
	(void)quick;
}

static void scale_all(struct bench_load *l, bool quick)
{
	(void)quick;
	l->ops = l->n;
}

static const struct shape shapes[] = {
	{ "wheel/schedule/uniform",
	  { .kind = BENCH_SCHEDULE, .delay_min = 1, .delay_span = MINUTE },
	  scale_rounds },
	{ "wheel/cancel/random",
	  { .kind = BENCH_CANCEL, .delay_min = 1, .delay_span = MINUTE },
	  scale_rounds },
	{ "wheel/churn/uniform",
	  { .kind = BENCH_CHURN, .delay_min = 1, .delay_span = MINUTE },
	  scale_ops },
	{ "wheel/extend/random",
	  { .kind = BENCH_EXTEND,
	    .delay_min = MINUTE / 2,
	    .delay_span = MINUTE / 2,
	    .delay_fixed = MINUTE,
	    .per_tick = 1000 },
	  scale_ops },
	{ "wheel/extend/hot",
	  { .kind = BENCH_EXTEND,
	    .n = 10000,
	    .ops = 2000000,
	    .delay_fixed = 5000,
	    .laid_out = 1,
	    .per_tick = 100 },
	  scale_fixed },
	{ "wheel/rpc/fifo",
	  { .kind = BENCH_RPC,
	    .n = 10000,
	    .ops = 1000000,
	    .delay_fixed = 5000,
	    .laid_out = 1,
	    .per_tick = 100 },
	  scale_fixed },
	{ "wheel/expire/uniform",
	  { .kind = BENCH_EXPIRE, .delay_min = 1, .delay_span = MINUTE },
	  scale_all },
	{ "wheel/ticks/empty",
	  { .kind = BENCH_TICKS,
	    .n = 100000,
	    .ops = 1000000,
	    .delay_far = HOUR,
	    .delay_min = 1,
	    .delay_span = HOUR },
	  scale_fixed },
	{ "wheel/jump/10y",
	  { .kind = BENCH_JUMP,
	    .ops = 40,
	    .jump = 10 * YEAR,
	    .delay_far = 450 * YEAR, /* libuv's clock ends after 584 years */
	    .delay_min = 1,
	    .delay_span = HOUR / 2 },
	  scale_none },
};

enum {
	SHAPES = sizeof(shapes) / sizeof(shapes[0])
};
_Static_assert(SHAPES *BENCH_SIZES_MAX <= BENCH_ROWS_MAX, "too many rows");

/* Writes a name like .../1e6 or .../25e3. A number with fewer than three zeros
 * at its end is written in full. */
static void name_row(struct bench_row *row, const struct shape *shape)
{
	uint32_t n = row->load.n;
	int zeros = 0;

	for (; n >= 10 && n % 10 == 0; n /= 10)
		zeros++;
	if (shape->load.kind == BENCH_TICKS)
		(void)snprintf(row->name, sizeof(row->name), "%s", shape->name);
	else if (zeros < 3)
		(void)snprintf(row->name, sizeof(row->name), "%s/%u",
			       shape->name, (unsigned)row->load.n);
	else
		(void)snprintf(row->name, sizeof(row->name), "%s/%ue%d",
			       shape->name, (unsigned)n, zeros);
}

uint64_t bench_rows_ticks(const struct bench_load *l)
{
	switch (l->kind) {
	case BENCH_EXPIRE:
		return l->delay_span;
	case BENCH_TICKS:
		return l->ops;
	case BENCH_EXTEND:
	case BENCH_RPC:
		return l->ops / l->per_tick;
	default:
		return 0;
	}
}

/* Small steps are better, but some entrants look at all entries in each
 * step. */
static uint64_t drain_step(const struct bench_load *l)
{
	uint64_t all = l->delay_min + (uint64_t)l->delay_span + l->delay_fixed;

	uint64_t steps = clamp(DRAIN_LOOKS / l->n, DRAIN_STEPS, MINUTE);

	return all / steps + 1;
}

static uint32_t runs_of(const struct bench_load *l,
			const struct bench_options *o)
{
	bool is_long = l->n >= 10000000;

	if (o->runs > 0)
		return is_long ? o->long_runs : o->runs;
	return o->quick || is_long ? 3 : 7;
}

static void make_row(struct bench_row *row, const struct shape *shape,
		     uint32_t n, const struct bench_options *o)
{
	row->load = shape->load;
	row->load.n = n;
	row->load.rounds = 1;
	row->load.seed = o->seed;
	shape->scale(&row->load, o->quick);
	row->load.drain_step = drain_step(&row->load);
	row->load.drain_part = n > DRAIN_ALL ? 16 : 1;
	row->runs = runs_of(&row->load, o);
	name_row(row, shape);
}

/* Writes the sizes of a shape. Returns how many. */
static size_t sizes_of(const struct shape *shape, const struct bench_options *o,
		       uint32_t sizes[BENCH_SIZES_MAX])
{
	static const uint32_t usual[] = { 1000, 100000, 1000000, 10000000 };
	size_t count = o->size_count;

	sizes[0] = shape->load.n;
	if (shape->load.n > 0)
		return 1;
	for (size_t i = 0; i < count; i++)
		sizes[i] = o->sizes[i];
	for (size_t i = 0; o->size_count == 0 && i < (o->quick ? 2 : 4); i++)
		sizes[count++] = usual[i];
	if (shape->load.kind != BENCH_JUMP)
		return count;
	/* One size is enough for a jump. */
	if (o->size_count == 0 && !o->quick)
		sizes[0] = 1000000;
	else
		sizes[0] = sizes[count - 1];
	return 1;
}

size_t bench_rows_plan(struct bench_row *rows, const struct bench_options *o)
{
	size_t count = 0;

	for (size_t k = 0; k < SHAPES; k++) {
		uint32_t sizes[BENCH_SIZES_MAX];
		size_t size_count = sizes_of(&shapes[k], o, sizes);

		for (size_t i = 0; i < size_count; i++) {
			make_row(&rows[count], &shapes[k], sizes[i], o);
			if (bench_options_want_row(o, rows[count].name))
				count++;
		}
	}
	return count;
}
