/* SPDX-License-Identifier: MIT */
/*
 * wheel_ours.h - our wheel as an entrant. wheel_ours.c includes it after
 * wheel.h, and wheel_inline.c after wheel_inline.h.
 *
 * The entries are not embedded in anything: the index in the array is the id.
 */
#ifndef TKW_WHEEL_OURS_H
#define TKW_WHEEL_OURS_H

#include "wheel_bench.h"
#include "wheel_entrants.h"

/* The best size for delays of up to a minute: no entry waits for a second
 * round. With the 512 slots of the classic wheel, an entry is looked at 58
 * times on average before its round comes. */
#define HASHED_SLOTS 65536

struct state {
	struct tkw_wheel *wheel;
	struct tkw_entry *entries;
	void *mem;
	size_t mem_bytes;
	size_t bytes;
};

static void state_open(struct state *s, const struct bench_entrant *entrant,
		       const struct bench_load *l)
{
	struct tkw_wheel_config cfg = { sizeof(cfg), entrant->variant, 0,
					BENCH_START + 1 };

	if (cfg.engine == TKW_WHEEL_HASHED)
		cfg.slots = HASHED_SLOTS;
	if (tkw_wheel_bytes(&cfg, &s->mem_bytes) != 0)
		bench_die("tkw_wheel_bytes failed");
	s->mem = bench_pages_get(s->mem_bytes);
	if (tkw_wheel_init(&s->wheel, s->mem, s->mem_bytes, &cfg) != 0)
		bench_die("tkw_wheel_init failed");
	s->bytes = l->n * sizeof(*s->entries);
	s->entries = (struct tkw_entry *)bench_pages_get(s->bytes);
}

static void state_close(struct state *s)
{
	(void)tkw_wheel_fini(s->wheel);
	bench_pages_put(s->entries, s->bytes);
	bench_pages_put(s->mem, s->mem_bytes);
}

static inline void op_schedule(struct state *s, uint32_t i, uint64_t tick)
{
	(void)tkw_wheel_add(s->wheel, &s->entries[i], tick);
}

static inline void op_cancel(struct state *s, uint32_t i)
{
	(void)tkw_wheel_remove(s->wheel, &s->entries[i]);
}

static inline void op_extend(struct state *s, uint32_t i, uint64_t tick)
{
	(void)tkw_wheel_extend(s->wheel, &s->entries[i], tick);
}

static void on_expire(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	const struct tkw_entry *first = ctx;

	(void)w;
	/* Reads the entry, as a callback would read the struct around it. */
	if (tkw_entry_tick(e) > bench_tally.now)
		bench_die("tickwheel expired an entry too early");
	bench_count_fired((uint64_t)(e - first));
}

static inline void op_advance(struct state *s, uint64_t tick)
{
	(void)tkw_wheel_advance(s->wheel, tick, TKW_STEPS_UNBOUNDED, on_expire,
				s->entries);
}

static inline void op_settle(struct state *s)
{
	(void)s;
}

#include "wheel_loops.h"

#endif /* TKW_WHEEL_OURS_H */
