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

static_assert(sizeof(void *) != 8 || sizeof(struct tkw_entry) == 32,
	      "the entry is promised to take 32 bytes");
static_assert((int)TKW__WHEEL_BYTES +
			      TKW__WIDE_SLOTS * (int)sizeof(struct tkw__slot) +
			      (TKW__HIER_SLOTS - TKW__WIDE_SLOTS) *
				      (int)sizeof(struct tkw_link) +
			      TKW__HIER_SLOTS / 32 * (int)sizeof(uint64_t) <=
		      TKW_WHEEL_BYTES,
	      "the default wheel is promised to fit");

/* What a config asks for. */
struct tkw__plan {
	bool hashed;
	uint32_t wide;  /* wide slots */
	uint64_t slots; /* of all rings together */
	uint64_t now;
	uint64_t bytes; /* may exceed the address space */
};

/* How many slots a config asks for, in all rings together. Returns 0 if the
 * config is not valid. */
static uint64_t tkw__slots_of(const struct tkw_wheel_config *cfg)
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
static int tkw__plan_wheel(struct tkw__plan *p,
			   const struct tkw_wheel_config *from)
{
	struct tkw_wheel_config cfg;

	if (tkw__config_read(&cfg, sizeof(cfg), from,
			     TKW__END_OF(struct tkw_wheel_config, now_tick)))
		return -EINVAL;
	p->hashed = cfg.engine == TKW_WHEEL_HASHED;
	p->wide = p->hashed ? 0 : TKW__WIDE_SLOTS;
	p->slots = tkw__slots_of(&cfg);
	p->now = cfg.now_tick;
	if (p->slots == 0)
		return -EINVAL;
	p->bytes = TKW__WHEEL_BYTES + p->wide * sizeof(struct tkw__slot) +
		   (p->slots - p->wide) * sizeof(struct tkw_link) +
		   tkw__bitset_words(p->slots) * sizeof(uint64_t);
	return p->bytes <= (uint64_t)PTRDIFF_MAX ? 0 : -ENOMEM;
}

int tkw_wheel_bytes(const struct tkw_wheel_config *cfg, size_t *bytes)
{
	struct tkw__plan p;
	int err;

	if (bytes == NULL)
		return -EINVAL;
	err = tkw__plan_wheel(&p, cfg);
	if (err == 0)
		*bytes = (size_t)p.bytes;
	return err;
}

/* Makes all slots empty lists, and the set of slots in use empty. */
static void tkw__init_slots(struct tkw_wheel *w, const struct tkw__plan *p)
{
	struct tkw__slot *wide = tkw__wide_slots(w);

	w->narrow = (struct tkw_link *)(void *)(wide + p->wide) - p->wide;
	for (uint32_t i = 0; i < p->wide; i++)
		__builtin_memset(&wide[i], 0, sizeof(wide[i]));
	for (uint32_t i = 0; i < p->slots; i++)
		tkw__links_init(tkw__head(w, i));
	tkw__bitset_init(&w->used, (uint64_t *)(void *)(w->narrow + p->slots),
			 p->slots);
	assert(w->hashed || w->used.levels == TKW__HIER_LEVELS);
}

int tkw_wheel_init(struct tkw_wheel **out, void *mem, size_t bytes,
		   const struct tkw_wheel_config *cfg)
{
	struct tkw_wheel *w = (struct tkw_wheel *)mem;
	struct tkw__plan p;
	int err = tkw__plan_wheel(&p, cfg);

	if (err != 0)
		return err;
	if (out == NULL || mem == NULL || bytes < p.bytes ||
	    (uintptr_t)mem % TKW__WHEEL_ALIGN != 0)
		return -EINVAL;
	__builtin_memset(w, 0, sizeof(*w));
	w->hashed = p.hashed;
	w->mask = (uint32_t)(p.slots - 1);
	w->lap_min = TKW_TICK_NEVER;
	w->now = p.now;
	w->base = p.hashed ? 0 : p.now;
	w->span = p.hashed ? 0 : TKW__WIDE_SPAN;
	w->edge = p.hashed ? 0 : p.now;
	tkw__init_slots(w, &p);
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

void tkw__add_slowly(struct tkw_wheel *w, struct tkw_entry *e, uint64_t tick)
{
	assert(!(e->flags & TKW__LINKED));
	w->added++;
	if (tick < tkw__max_u64(w->floor, w->now))
		tick = tkw__max_u64(w->floor_due, w->now);
	e->tick = tick;
	if (w->hashed) {
		tkw__hashed_link(w, e);
		return;
	}
	tkw__hier_link(w, e);
	w->edge = tkw__min_u64(w->edge, tkw__hier_start(w->base, e->slot));
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

/* Advances by an engine. Returns true if the step limit was reached first. It
 * is never inline: an advance that has nothing to do should not make room on
 * the stack, or save registers, for one that has. */
static __attribute__((noinline)) bool tkw__run_pass(struct tkw_wheel *w,
						    struct tkw__pass *p)
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
	w->floor = w->now;
	w->floor_due = w->now;
	if (!w->hashed)
		w->edge = tkw__count(w) > 0 ? tkw__hier_next(w) : w->now;
	return more;
}

int tkw_wheel_advance(struct tkw_wheel *w, uint64_t to, uint64_t max_steps,
		      tkw_expire_fn *fn, void *ctx)
{
	struct tkw__pass pass;

	if (w == NULL || fn == NULL)
		return -EINVAL;
	if (w->in_pass)
		return -EDEADLK;
	to = tkw__min_u64(to, TKW_TICK_NEVER - 1);
	if (to < w->now || tkw__hier_skip(w, to))
		return 0;
	pass.to = to;
	pass.steps = max_steps;
	pass.fn = fn;
	pass.ctx = ctx;
	return tkw__run_pass(w, &pass);
}

uint64_t tkw_wheel_now_tick(const struct tkw_wheel *w)
{
	return w ? w->now : 0;
}

uint64_t tkw_wheel_next_tick(const struct tkw_wheel *w)
{
	if (w == NULL || tkw__count(w) == 0)
		return TKW_TICK_NEVER;
	return w->hashed ? tkw__hashed_next(w) : tkw__hier_next(w);
}

uint64_t tkw_wheel_count(const struct tkw_wheel *w)
{
	return w ? tkw__count(w) : 0;
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
	if (w == NULL || tkw__count(w) == 0)
		return NULL;
	return tkw__entry_of(tkw__head(w, tkw__bitset_first(&w->used))->next);
}

struct tkw_entry *tkw_wheel_after(const struct tkw_wheel *w,
				  const struct tkw_entry *e)
{
	uint32_t slot;

	if (w == NULL || !tkw_entry_is_linked(e))
		return NULL;
	if (e->link.next != tkw__head(w, e->slot))
		return tkw__entry_of(e->link.next);
	slot = tkw__bitset_next(&w->used, e->slot + 1);
	if (slot == TKW__BITSET_NONE)
		return NULL;
	return tkw__entry_of(tkw__head(w, slot)->next);
}

int tkw_wheel_get_shape(const struct tkw_wheel *w, struct tkw_wheel_shape *s)
{
	if (w == NULL || s == NULL)
		return -EINVAL;
	s->engine = w->hashed ? TKW_WHEEL_HASHED : TKW_WHEEL_HIERARCHICAL;
	s->rings = w->hashed ? 1 : (uint32_t)TKW__RINGS;
	s->slots =
		w->hashed ? (uint64_t)w->mask + 1 : (uint64_t)TKW__RING_SLOTS;
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
	p->ring = 0;
	p->slot = e->slot;
	p->rounds = 0;
	if (w->hashed) {
		/* A shift, because a 64-bit division is a library call on some
		 * processors. */
		p->rounds = (e->tick - w->now) >>
			    tkw__highest_bit((uint64_t)w->mask + 1);
	} else {
		p->ring = e->slot / TKW__RING_SLOTS;
		p->slot = e->slot % TKW__RING_SLOTS;
	}
	return 0;
}
