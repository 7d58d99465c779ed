/* SPDX-License-Identifier: MIT */
/*
 * wheel_null.c - the null loop: the loops with their random numbers, and one
 * store into the entry for each operation, but no timers. It is the least that
 * a row can cost.
 */
#include "wheel_bench.h"
#include "wheel_entrants.h"

struct node {
	uint64_t tick;
	uint64_t rest[3]; /* makes it as large as our entry */
};

struct state {
	struct node *nodes;
	size_t bytes;
};

/* Keeps the compiler from merging or dropping the stores. */
static inline void store(struct state *s, uint32_t i, uint64_t tick)
{
	*(volatile uint64_t *)&s->nodes[i].tick = tick;
}

static void state_open(struct state *s, const struct bench_entrant *entrant,
		       const struct bench_load *l)
{
	(void)entrant;
	s->bytes = l->n * sizeof(*s->nodes);
	s->nodes = (struct node *)bench_pages_get(s->bytes);
}

static void state_close(struct state *s)
{
	bench_pages_put(s->nodes, s->bytes);
}

static inline void op_schedule(struct state *s, uint32_t i, uint64_t tick)
{
	store(s, i, tick);
}

static inline void op_cancel(struct state *s, uint32_t i)
{
	store(s, i, 0);
}

static inline void op_extend(struct state *s, uint32_t i, uint64_t tick)
{
	store(s, i, tick);
}

static inline void op_advance(struct state *s, uint64_t tick)
{
	store(s, 0, tick);
}

static inline void op_settle(struct state *s)
{
	(void)s;
}

#include "wheel_loops.h"

const struct bench_entrant bench_entrant_null = {
	.name = "null",
	.run = run_load,
	.fires_nothing = 1,
};
