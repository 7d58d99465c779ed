/* SPDX-License-Identifier: MIT */
/*
 * engine.h - what the files of the wheel share: the struct, and the work of an
 * add or a remove (find the slot of a tick, link an entry there, unlink it).
 *
 * Both engines have slots, each the head of a list, and a bit set of the slots
 * in use. They differ in which slot a tick belongs to, and in how they advance.
 *
 * The sources of the wheel, with what they include, are also put into one
 * header, wheel_inline.h. So they are written in the part of C that is C++ too,
 * and even their static names have the prefix tkw__.
 *
 * Invariants, verified by check.c:
 * (I1) A slot is in `used` if and only if its list is not empty.
 * (I2) A linked entry has the flag TKW__LINKED, knows its slot, and its tick is
 *      not before now.
 * (I3) An entry is in the slot of its tick. An extended entry is in a slot that
 *      comes up at its tick or before it.
 * (I4) `added` - `removed` is the number of linked entries.
 * (I5) Outside a pass, an entry added for a tick before now is due at now.
 *      Hierarchical: `edge` is not before now, is the first tick of its
 *      slot, and no slot in use starts before it. `span` is TKW__WIDE_SPAN.
 *      Hashed: `edge` and `span` are 0.
 * hierarchical.c and hashed.c list the further invariants of their engines.
 */
#ifndef TKW_WHEEL_ENGINE_H
#define TKW_WHEEL_ENGINE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/bitset.h"
#include "base/hint.h"
#include "base/links.h"
#include "tickwheel/wheel.h"

/* The rings of the hierarchical engine. The tests also build it with 4 bits. */
#ifndef TKW__RING_BITS
#define TKW__RING_BITS 8
#endif
enum {
	TKW__RING_SLOTS = 1 << TKW__RING_BITS,
	TKW__RINGS = 64 / TKW__RING_BITS,
	TKW__HIER_SLOTS = TKW__RINGS * TKW__RING_SLOTS,
	/* The levels of the bit set that hold TKW__HIER_SLOTS. */
	TKW__HIER_LEVELS = 2,
	/* The rings with wide slots; see below. */
	TKW__WIDE_RINGS = 3,
	TKW__WIDE_SLOTS = TKW__WIDE_RINGS * TKW__RING_SLOTS
};
static_assert(64 % TKW__RING_BITS == 0, "the rings span 64 bits exactly");
static_assert(TKW__HIER_SLOTS > 64 && TKW__HIER_SLOTS <= 64 * 64,
	      "two levels of 64 bits hold the slots");

/* Flags of an entry. The bits above them hold its hint. */
enum {
	TKW__LINKED = 1,
	TKW__EXTENDED = 2, /* the tick is later than the slot */
	TKW__FLAG_BITS = 2
};
static_assert((int)TKW__FLAG_BITS + (int)TKW__HINT_BITS == 32, "flags fit");

/*
 * The slots of rings 0 to 2, in which nearly all entries are, are wide: each
 * has a cache line. It holds the head of the list, and a trail: hints at the
 * last few entries that reached the slot, by an add or by moving down into ring
 * 0. A new entry takes over the oldest of these hints. See hierarchical.c,
 * "Misses".
 */
enum {
	TKW__TRAIL = 8,
	TKW__CACHE_LINE = 64,
	TKW__SLOT_REST = TKW__CACHE_LINE - (int)sizeof(struct tkw_link) -
			 (TKW__TRAIL + 1) * 4
};
/* What tick ^ base is less than if the tick is in a wide slot. */
#define TKW__WIDE_SPAN (UINT64_C(1) << TKW__WIDE_RINGS * TKW__RING_BITS)

struct tkw__slot {
	struct tkw_link head;
	uint32_t hint[TKW__TRAIL];
	uint32_t at; /* the oldest hint is hint[at] */
	char unused[TKW__SLOT_REST];
};
static_assert(sizeof(struct tkw__slot) == TKW__CACHE_LINE,
	      "a wide slot is a cache line");

/* The wide slots follow the struct, then the other slots and the words of
 * `used`. If the memory is aligned to 64 bytes, a wide slot is a cache line.
 * The hashed engine has no wide slots. */
struct tkw_wheel {
	/* An add for a tick before `edge`, or one that differs from base in
	 * `span` or above, takes the slow path, tkw__add_slowly(). An advance
	 * to a tick before `edge` has nothing to do. Hashed: both are 0, so
	 * that every add takes the slow path, and no advance is skipped. */
	uint64_t edge;
	uint64_t base; /* hierarchical: slots are relative to this tick */
	uint64_t span;
	uint64_t now;
	/* How many entries were ever linked, and unlinked. One counter for both
	 * would tie each add to the remove before it. */
	uint64_t added;
	uint64_t removed;
	/* Hashed: the last link looked at in the slot of now, or NULL. */
	struct tkw_link *cursor;
	struct tkw__bitset used;
	/* All slots, also the wide ones, which are not used here. */
	struct tkw_link *narrow;
	/* An entry added for a tick before `floor` is due at `floor_due`.
	 * Inside a callback, the first is the tick after the one being expired,
	 * and the second is the tick after the target of the pass. If they are
	 * before now, they count as now. */
	uint64_t floor;
	uint64_t floor_due;
	uint64_t steps; /* steps made by all advances */
	/* Hashed: when now >= lap_end, no entry is before lap_min. */
	uint64_t lap_end;
	uint64_t lap_min;
	uint32_t mask; /* hashed: slots - 1 */
	/* Hierarchical: the slot that a bounded advance left half moved down,
	 * or 0. */
	uint32_t moving;
	bool hashed;
	bool in_pass;
};

/* How the memory of a wheel must be aligned: for any object. */
#define TKW__WHEEL_ALIGN __alignof__(max_align_t)

/* The wide slots begin at the first cache line after the struct. */
enum {
	TKW__WHEEL_BYTES =
		((int)sizeof(struct tkw_wheel) + TKW__CACHE_LINE - 1) /
		TKW__CACHE_LINE * TKW__CACHE_LINE
};

/* How many entries are linked. */
static inline uint64_t tkw__count(const struct tkw_wheel *w)
{
	return w->added - w->removed;
}

static inline struct tkw__slot *tkw__wide_slots(struct tkw_wheel *w)
{
	return (struct tkw__slot *)(void *)((char *)w + TKW__WHEEL_BYTES);
}

/* The head of a slot's list. */
static inline struct tkw_link *tkw__head(const struct tkw_wheel *w,
					 uint32_t slot)
{
	/* The slots can be changed, also by who may only read the wheel. */
	struct tkw_wheel *wheel = (struct tkw_wheel *)(uintptr_t)w;

	if (slot < TKW__WIDE_SLOTS && !w->hashed)
		return &tkw__wide_slots(wheel)[slot].head;
	return &w->narrow[slot];
}

/* The arguments of a running advance. */
struct tkw__pass {
	uint64_t to;
	uint64_t steps; /* steps left */
	tkw_expire_fn *fn;
	void *ctx;
};

/* Both advance to p->to, and return true if the step limit was reached
 * first. */
bool tkw__hier_advance(struct tkw_wheel *w, struct tkw__pass *p);
bool tkw__hashed_advance(struct tkw_wheel *w, struct tkw__pass *p);

/* The next tick with something to do. The wheel must not be empty. */
uint64_t tkw__hashed_next(const struct tkw_wheel *w);

/* The slot of a tick of the hierarchical engine. Its ring is that of the
 * highest digit in which tick and base differ. far: tick ^ base. */
static inline uint32_t tkw__slot_of(uint64_t tick, uint64_t far)
{
	unsigned differ = tkw__highest_bit(far | 1);
	unsigned shift = differ / TKW__RING_BITS * TKW__RING_BITS;
	unsigned digit = (unsigned)(tick >> shift) % TKW__RING_SLOTS;

	return shift * (TKW__RING_SLOTS / TKW__RING_BITS) + digit;
}

static inline uint32_t tkw__hier_slot(uint64_t base, uint64_t tick)
{
	return tkw__slot_of(tick, tick ^ base);
}

/* The first tick of a slot of the hierarchical engine, relative to base. */
static inline uint64_t tkw__hier_start(uint64_t base, uint32_t slot)
{
	unsigned shift = slot / TKW__RING_SLOTS * TKW__RING_BITS;
	uint64_t digit = slot % TKW__RING_SLOTS;
	/* 2 << 63 is 0, as it should be for the highest ring. */
	uint64_t below = ((uint64_t)2 << (shift + TKW__RING_BITS - 1)) - 1;

	return (base & ~below) | digit << shift;
}

static inline struct tkw_entry *tkw__entry_of(struct tkw_link *l)
{
	return (struct tkw_entry *)l; /* the link is its first member */
}

/* Makes an entry a linked one, and stores its hint. */
static inline void tkw__seat(struct tkw_entry *e, uint32_t hint)
{
	e->flags = hint << TKW__FLAG_BITS | TKW__LINKED;
}

static inline void tkw__append(struct tkw_wheel *w, struct tkw_link *head,
			       struct tkw_entry *e, uint32_t slot)
{
	e->slot = slot;
	if (tkw__links_append(head, &e->link))
		tkw__bitset_add(&w->used, slot);
}

static inline void tkw__fetch_ahead(const struct tkw_entry *e)
{
	tkw__hint_follow(e, e->flags >> TKW__FLAG_BITS);
}

/* Puts a hint into a slot's trail. Returns the oldest hint, which leaves it. */
static inline uint32_t tkw__trail_step(struct tkw__slot *s, uint32_t hint)
{
	uint32_t at = s->at;
	uint32_t oldest = s->hint[at];

	s->hint[at] = hint;
	s->at = (at + 1) % TKW__TRAIL;
	return oldest;
}

/* Links an entry into a wide slot. far: tick ^ base. */
static inline void tkw__wide_link(struct tkw_wheel *w, struct tkw_entry *e,
				  uint64_t tick, uint64_t far)
{
	uint32_t slot = tkw__slot_of(tick, far);
	struct tkw__slot *s = &tkw__wide_slots(w)[slot];

	/* Ring 0 is walked from its head, so there the hint is of no use. It
	 * does no harm either, and a branch would cost more. */
	tkw__seat(e, tkw__trail_step(s, tkw__hint_to(e)));
	tkw__append(w, &s->head, e, slot);
}

static inline void tkw__hier_link(struct tkw_wheel *w, struct tkw_entry *e)
{
	uint64_t far = e->tick ^ w->base;
	uint32_t slot;

	if (far < TKW__WIDE_SPAN) {
		tkw__wide_link(w, e, e->tick, far);
		return;
	}
	slot = tkw__slot_of(e->tick, far);
	tkw__seat(e, 0);
	tkw__append(w, &w->narrow[slot], e, slot);
}

static inline void tkw__hashed_link(struct tkw_wheel *w, struct tkw_entry *e)
{
	uint32_t slot = (uint32_t)e->tick & w->mask;

	w->lap_min = tkw__min_u64(w->lap_min, e->tick);
	tkw__seat(e, 0);
	tkw__append(w, &w->narrow[slot], e, slot);
}

static inline void tkw__unlink(struct tkw_wheel *w, struct tkw_entry *e)
{
	assert(e->flags & TKW__LINKED);
	if (w->cursor == &e->link)
		w->cursor = e->link.prev;
	e->flags = 0;
	if (tkw__links_remove(&e->link))
		tkw__bitset_drop(&w->used, e->slot);
}

/* tkw__add() where more is to be done than to link the entry. */
void tkw__add_slowly(struct tkw_wheel *w, struct tkw_entry *e, uint64_t tick)
	__attribute__((noinline));

/* True if an add for this tick need not take the slow path. */
static inline bool tkw__adds_fast(const struct tkw_wheel *w, uint64_t tick)
{
	return tick >= w->edge && (tick ^ w->base) < w->span;
}

static inline void tkw__add_fast(struct tkw_wheel *w, struct tkw_entry *e,
				 uint64_t tick)
{
	assert(!(e->flags & TKW__LINKED));
	w->added++;
	e->tick = tick;
	tkw__wide_link(w, e, tick, tick ^ w->base);
}

/* tkw_wheel_add() for an entry that is not linked. */
static inline void tkw__add(struct tkw_wheel *w, struct tkw_entry *e,
			    uint64_t tick)
{
	if (tkw__adds_fast(w, tick))
		tkw__add_fast(w, e, tick);
	else
		tkw__add_slowly(w, e, tick);
}

/* tkw_wheel_remove() for an entry that is linked. */
static inline void tkw__remove(struct tkw_wheel *w, struct tkw_entry *e)
{
	tkw__unlink(w, e);
	w->removed++;
}

/* tkw_wheel_extend() for a linked entry, to a tick after its own. */
static inline void tkw__extend(struct tkw_entry *e, uint64_t tick)
{
	e->tick = tick;
	e->flags |= TKW__EXTENDED;
}

/* The first slot in use of the hierarchical engine. The wheel must not be
 * empty. */
static inline uint32_t tkw__hier_first(const struct tkw_wheel *w)
{
	return tkw__bitset_descend(&w->used, TKW__HIER_LEVELS, 0, 0);
}

/* tkw_wheel_next_tick() for a wheel that is not empty. */
static inline uint64_t tkw__hier_next(const struct tkw_wheel *w)
{
	assert(tkw__count(w) > 0);
	if (w->moving)
		return w->now;
	return tkw__hier_start(w->base, tkw__hier_first(w));
}

/* Goes past tick `to` if there is nothing to do up to it, which is so for most
 * ticks of most wheels, and for all ticks of an empty one. Returns false if
 * there may be something to do. */
static inline bool tkw__hier_skip(struct tkw_wheel *w, uint64_t to)
{
	if (to >= w->edge) {
		if (tkw__count(w) > 0 || w->hashed)
			return false;
		/* As at the end of tkw__hier_advance(). */
		w->moving = 0;
		w->edge = to + 1;
	}
	w->base = to;
	w->now = to + 1;
	return true;
}

/* Takes an entry out and calls the user's function, which may change anything
 * in the wheel. */
static inline void tkw__expire(struct tkw_wheel *w, struct tkw__pass *p,
			       struct tkw_entry *e)
{
	tkw__remove(w, e);
	p->fn(w, e, p->ctx);
}

/* Begins to expire a tick. An entry that is added from here on for this tick or
 * an earlier one waits until the pass is over. */
static inline void tkw__begin_tick(struct tkw_wheel *w, uint64_t tick)
{
	w->now = tick;
	w->floor = tick + 1;
	if (!w->hashed)
		w->edge = tick + 1;
}

#endif /* TKW_WHEEL_ENGINE_H */
