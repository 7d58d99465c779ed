/* SPDX-License-Identifier: MIT */
/*
 * wheel_rival_heap.c - the choice of the textbooks: a binary heap in an array
 * that was allocated before. Each place holds a tick and the number of an
 * entry. For each entry its place is stored, so that any entry can be taken
 * out.
 */
#include "wheel_bench.h"
#include "wheel_entrants.h"

struct place {
	uint64_t tick;
	uint32_t id;
};

struct state {
	struct place *heap; /* from 0; the children of i are 2i + 1, 2i + 2 */
	uint32_t *where;    /* the place of each entry, by id */
	uint32_t count;
	uint32_t n;
};

static void state_open(struct state *s, const struct bench_entrant *entrant,
		       const struct bench_load *l)
{
	(void)entrant;
	s->n = l->n;
	s->count = 0;
	s->heap = (struct place *)bench_pages_get(l->n * sizeof(*s->heap));
	s->where = (uint32_t *)bench_pages_get(l->n * sizeof(*s->where));
}

static void state_close(struct state *s)
{
	bench_pages_put(s->heap, s->n * sizeof(*s->heap));
	bench_pages_put(s->where, s->n * sizeof(*s->where));
}

static inline void put(struct state *s, uint32_t i, struct place p)
{
	s->heap[i] = p;
	s->where[p.id] = i;
}

/* Puts p at i or above. */
static void sift_up(struct state *s, uint32_t i, struct place p)
{
	while (i > 0) {
		uint32_t parent = (i - 1) / 2;

		if (s->heap[parent].tick <= p.tick)
			break;
		put(s, i, s->heap[parent]);
		i = parent;
	}
	put(s, i, p);
}

/* Puts p at i or below. */
static void sift_down(struct state *s, uint32_t i, struct place p)
{
	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= s->count)
			break;
		if (child + 1 < s->count &&
		    s->heap[child + 1].tick < s->heap[child].tick)
			child++;
		if (s->heap[child].tick >= p.tick)
			break;
		put(s, i, s->heap[child]);
		i = child;
	}
	put(s, i, p);
}

static void settle_at(struct state *s, uint32_t i, struct place p)
{
	if (i > 0 && s->heap[(i - 1) / 2].tick > p.tick)
		sift_up(s, i, p);
	else
		sift_down(s, i, p);
}

static void take_out(struct state *s, uint32_t i)
{
	struct place last = s->heap[--s->count];

	if (i < s->count)
		settle_at(s, i, last);
}

static inline void op_schedule(struct state *s, uint32_t i, uint64_t tick)
{
	struct place p = { tick, i };

	sift_up(s, s->count++, p);
}

static inline void op_cancel(struct state *s, uint32_t i)
{
	take_out(s, s->where[i]);
}

static inline void op_extend(struct state *s, uint32_t i, uint64_t tick)
{
	struct place p = { tick, i };

	sift_down(s, s->where[i], p);
}

static inline void op_advance(struct state *s, uint64_t tick)
{
	while (s->count > 0 && s->heap[0].tick <= tick) {
		uint32_t id = s->heap[0].id;

		take_out(s, 0);
		s->where[id] = UINT32_MAX; /* touches the entry */
		bench_count_fired(id);
	}
}

static inline void op_settle(struct state *s)
{
	(void)s;
}

#include "wheel_loops.h"

const struct bench_entrant bench_entrant_heap = {
	.name = "heap",
	.run = run_load,
};
