/* SPDX-License-Identifier: MIT */
/*
 * wheel.c - the public calls. They check the arguments, and leave the work to
 * engine.h and, for an advance, to the engine.
 */
#include "tickwheel/wheel.h"

#include <errno.h>
#include <stddef.h>

#include "base/config.h"
#include "wheel/engine.h"

_Static_assert(sizeof(void *) != 8 || sizeof(struct tkw_entry) == 32,
	       "the entry is promised to take 32 bytes");
_Static_assert(sizeof(struct tkw_wheel) +
			       TKW__HIER_SLOTS * sizeof(struct tkw_link) +
			       TKW__TRAILS * sizeof(struct tkw__trail) +
			       TKW__HIER_SLOTS / 32 * sizeof(uint64_t) <=
		       TKW_WHEEL_BYTES,
	       "the default wheel is promised to fit");

/* What a config asks for. */
struct plan {
	bool hashed;
	uint32_t trails;
	uint64_t slots; /* of all rings together */
	uint64_t now;
	uint64_t bytes; /* may exceed the address space */
};

/* How many slots a config asks for, in all rings together. Returns 0 if the
 * config is not valid. */
static uint64_t slots_of(const struct tkw_wheel_config *cfg)
{
	if (cfg->engine == TKW_WHEEL_HIERARCHICAL)
		return cfg->slots == 0 ? TKW__HIER_SLOTS : 0;
	if (cfg->engine != TKW_WHEEL_HASHED)
		return 0;
	if (cfg->slots == 0 || cfg->slots > TKW_WHEEL_MAX_SLOTS)
		return 0;
	return tkw__round_up_pow2(cfg->slots);
}

/* Returns 0, -EINVAL or -ENOMEM, as tkw_wheel_bytes() does. */
static int make_plan(struct plan *p, const struct tkw_wheel_config *from)
{
	struct tkw_wheel_config cfg;

	if (tkw__config_read(&cfg, sizeof(cfg), from,
			     TKW__END_OF(struct tkw_wheel_config, now_tick)))
		return -EINVAL;
	p->hashed = cfg.engine == TKW_WHEEL_HASHED;
	p->trails = p->hashed ? 0 : TKW__TRAILS;
	p->slots = slots_of(&cfg);
	p->now = cfg.now_tick;
	if (p->slots == 0)
		return -EINVAL;
	p->bytes = sizeof(struct tkw_wheel) +
		   p->slots * sizeof(struct tkw_link) +
		   tkw__bitset_words(p->slots) * sizeof(uint64_t) +
		   p->trails * sizeof(struct tkw__trail);
	return p->bytes <= (uint64_t)PTRDIFF_MAX ? 0 : -ENOMEM;
}

int tkw_wheel_bytes(const struct tkw_wheel_config *cfg, size_t *bytes)
{
	struct plan p;
	int err;

	if (bytes == NULL)
		return -EINVAL;
	err = make_plan(&p, cfg);
	if (err == 0)
		*bytes = (size_t)p.bytes;
	return err;
}

int tkw_wheel_init(struct tkw_wheel **out, void *mem, size_t bytes,
		   const struct tkw_wheel_config *cfg)
{
	struct tkw_wheel *w = mem;
	struct plan p;
	int err = make_plan(&p, cfg);

	if (err != 0)
		return err;
	if (out == NULL || mem == NULL || bytes < p.bytes ||
	    (uintptr_t)mem % _Alignof(max_align_t) != 0)
		return -EINVAL;
	*w = (struct tkw_wheel){
		.hashed = p.hashed,
		.mask = (uint32_t)(p.slots - 1),
		.lap_min = TKW_TICK_NEVER,
		.now = p.now,
		.base = p.now,
		.floor = p.now,
		.floor_due = p.now,
	};
	for (uint64_t i = 0; i < p.slots; i++)
		tkw__links_init(&w->slots[i]);
	w->trail = (void *)&w->slots[p.slots];
	for (uint32_t i = 0; i < p.trails; i++)
		w->trail[i] = (struct tkw__trail){ .at = 0 };
	tkw__bitset_init(&w->used, (void *)&w->trail[p.trails], p.slots);
	assert(w->hashed || w->used.levels == TKW__HIER_LEVELS);
	*out = w;
	return 0;
}

int tkw_wheel_fini(struct tkw_wheel *w)
{
	struct tkw_entry *e;

	if (w == NULL)
		return 0;
	if (w->in_pass)
		return -EDEADLK;
	while ((e = tkw_wheel_first(w)) != NULL)
		tkw_wheel_remove(w, e);
	return 0;
}

void __attribute__((noinline, cold))
tkw__use_slot(struct tkw_wheel *w, uint32_t slot)
{
	tkw__bitset_add(&w->used, slot);
}

int tkw_wheel_add(struct tkw_wheel *w, struct tkw_entry *e, uint64_t tick)
{
	if (w == NULL || e == NULL)
		return -EINVAL;
	if (e->flags & TKW__LINKED)
		return -EEXIST;
	tkw__add(w, e, tick);
	return 0;
}

int tkw_wheel_remove(struct tkw_wheel *w, struct tkw_entry *e)
{
	if (w == NULL || e == NULL)
		return -EINVAL;
	if (!(e->flags & TKW__LINKED))
		return -ENOENT;
	tkw__remove(w, e);
	return 0;
}

int tkw_wheel_move(struct tkw_wheel *w, struct tkw_entry *e, uint64_t tick)
{
	if (w == NULL || e == NULL)
		return -EINVAL;
	if (!(e->flags & TKW__LINKED))
		return -ENOENT;
	tkw__remove(w, e);
	tkw__add(w, e, tick);
	return 0;
}

int tkw_wheel_extend(struct tkw_wheel *w, struct tkw_entry *e, uint64_t tick)
{
	if (w == NULL || e == NULL)
		return -EINVAL;
	if (!(e->flags & TKW__LINKED))
		return -ENOENT;
	if (tick <= e->tick)
		return tick == e->tick ? 0 : -EINVAL;
	tkw__extend(e, tick);
	return 0;
}

uint64_t tkw_tick_with_slack(uint64_t tick, uint64_t slack)
{
	uint64_t last = tkw__sat_add(tick, slack);

	/* The answer is the number in [tick, last] with the most zero bits at
	 * its end. At the highest bit in which tick - 1 and last differ, last
	 * has a 1; all bits below it are cleared. The result is TKW_TICK_NEVER
	 * only if tick is. */
	if (tick == 0 || last == tick)
		return tick;
	return last & UINT64_MAX << tkw__highest_bit((tick - 1) ^ last);
}

/* Returns true if the step limit was reached first. */
static bool run_pass(struct tkw_wheel *w, struct tkw__pass *p)
{
	uint64_t steps = p->steps;
	bool more;

	w->in_pass = true;
	w->floor_due = p->to + 1;
	if (w->hashed)
		more = tkw__hashed_advance(w, p);
	else
		more = tkw__hier_advance(w, p);
	w->in_pass = false;
	/* The engine also counts the step that it refused. */
	w->steps += steps - p->steps - more;
	return more;
}

int tkw_wheel_advance(struct tkw_wheel *w, uint64_t to, uint64_t max_steps,
		      tkw_expire_fn *fn, void *ctx)
{
	bool more = false;

	if (w == NULL || fn == NULL)
		return -EINVAL;
	if (w->in_pass)
		return -EDEADLK;
	to = tkw__min_u64(to, TKW_TICK_NEVER - 1);
	if (to < w->now)
		return 0;
	if (w->hashed || !tkw__hier_skip(w, to))
		more = run_pass(w,
				&(struct tkw__pass){ to, max_steps, fn, ctx });
	w->floor = w->now;
	w->floor_due = w->now;
	return more;
}

uint64_t tkw_wheel_now_tick(const struct tkw_wheel *w)
{
	return w ? w->now : 0;
}

uint64_t tkw_wheel_next_tick(const struct tkw_wheel *w)
{
	if (w == NULL || w->count == 0)
		return TKW_TICK_NEVER;
	return w->hashed ? tkw__hashed_next(w) : tkw__hier_next(w);
}

uint64_t tkw_wheel_count(const struct tkw_wheel *w)
{
	return w ? w->count : 0;
}

uint64_t tkw_wheel_count_steps(const struct tkw_wheel *w)
{
	return w ? w->steps : 0;
}

uint64_t tkw_entry_tick(const struct tkw_entry *e)
{
	return e ? e->tick : 0;
}

int tkw_entry_is_linked(const struct tkw_entry *e)
{
	return e && (e->flags & TKW__LINKED);
}

struct tkw_entry *tkw_wheel_first(const struct tkw_wheel *w)
{
	if (w == NULL || w->count == 0)
		return NULL;
	return tkw__entry_of(w->slots[tkw__bitset_first(&w->used)].next);
}

struct tkw_entry *tkw_wheel_after(const struct tkw_wheel *w,
				  const struct tkw_entry *e)
{
	uint32_t slot;

	if (w == NULL || !tkw_entry_is_linked(e))
		return NULL;
	if (e->link.next != &w->slots[e->slot])
		return tkw__entry_of(e->link.next);
	slot = tkw__bitset_next(&w->used, e->slot + 1);
	if (slot == TKW__BITSET_NONE)
		return NULL;
	return tkw__entry_of(w->slots[slot].next);
}

int tkw_wheel_get_shape(const struct tkw_wheel *w, struct tkw_wheel_shape *s)
{
	if (w == NULL || s == NULL)
		return -EINVAL;
	*s = w->hashed
		     ? (struct tkw_wheel_shape){ TKW_WHEEL_HASHED, 1,
						 (uint64_t)w->mask + 1 }
		     : (struct tkw_wheel_shape){ TKW_WHEEL_HIERARCHICAL,
						 TKW__RINGS, TKW__RING_SLOTS };
	return 0;
}

uint64_t tkw_wheel_count_slots(const struct tkw_wheel *w, uint32_t ring)
{
	struct tkw_wheel_shape s;
	uint64_t used = 0;
	uint64_t end;
	uint32_t i;

	if (tkw_wheel_get_shape(w, &s) != 0 || ring >= s.rings)
		return 0;
	end = (ring + 1) * s.slots;
	for (i = tkw__bitset_next(&w->used, ring * (uint32_t)s.slots); i < end;
	     i = tkw__bitset_next(&w->used, i + 1))
		used++;
	return used;
}

int tkw_wheel_get_place(const struct tkw_wheel *w, const struct tkw_entry *e,
			struct tkw_wheel_place *p)
{
	if (w == NULL || e == NULL || p == NULL)
		return -EINVAL;
	if (!(e->flags & TKW__LINKED))
		return -ENOENT;
	if (w->hashed)
		*p = (struct tkw_wheel_place){
			.slot = e->slot,
			/* A shift, because a 64-bit division is a library call
			 * on some processors. */
			.rounds = (e->tick - w->now) >>
				  tkw__highest_bit((uint64_t)w->mask + 1),
		};
	else
		*p = (struct tkw_wheel_place){
			.ring = e->slot / TKW__RING_SLOTS,
			.slot = e->slot % TKW__RING_SLOTS,
		};
	return 0;
}
