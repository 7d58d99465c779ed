/* SPDX-License-Identifier: MIT */
/*
 * engine.h - what the files of the wheel share: the struct, and the work of an
 * add or a remove (find the slot of a tick, link an entry there, unlink it).
 *
 * Both engines have an array of slots, each the head of a list, and a bit set
 * of the slots in use. They differ in which slot a tick belongs to, and in how
 * they advance.
 *
 * Invariants, verified by check.c:
 * (I1) A slot is in `used` if and only if its list is not empty.
 * (I2) A linked entry has the flag TKW__LINKED, knows its slot, and its tick is
 *      not before now.
 * (I3) An entry is in the slot of its tick. An extended entry is in a slot that
 *      comes up at its tick or before it.
 * (I4) `count` is the number of linked entries.
 * (I5) Outside a pass, an entry added for a tick before now is due at now.
 * Each engine has further invariants, listed in its own file.
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
	TKW__HIER_LEVELS = 2
};
_Static_assert(64 % TKW__RING_BITS == 0, "the rings span 64 bits exactly");
_Static_assert(TKW__HIER_SLOTS > 64 && TKW__HIER_SLOTS <= 64 * 64,
	       "two levels of 64 bits hold the slots");

/* Flags of an entry. The bits above them hold its hint. */
enum {
	TKW__LINKED = 1,
	TKW__EXTENDED = 2, /* the tick is later than the slot */
	TKW__FLAG_BITS = 2
};
_Static_assert(TKW__FLAG_BITS + TKW__HINT_BITS == 32, "flags fit");

/*
 * A trail holds hints at the last few entries that reached a slot in the usual
 * way: by moving down into ring 0, by an add in rings 1 and 2. A new entry
 * takes over the oldest of these hints. See hierarchical.c, "Misses".
 */
enum {
	TKW__TRAIL = 7,
	TKW__TRAILS = 3 * TKW__RING_SLOTS
};
struct tkw__trail {
	uint32_t hint[TKW__TRAIL];
	uint32_t at;
};

struct tkw_wheel {
	/* An entry added for a tick before `floor` is due at `floor_due`.
	 * Outside a pass both are now. Inside a callback, `floor` is the tick
	 * after the one being expired, and `floor_due` is the tick after the
	 * target of the pass. */
	uint64_t floor;
	uint64_t floor_due;
	uint64_t base; /* hierarchical: slots are relative to this tick */
	uint64_t now;
	uint64_t count;
	uint64_t steps; /* steps made by all advances */
	uint32_t mask;  /* hashed: slots - 1 */
	/* Hierarchical: the slot that a bounded advance left half moved down,
	 * or 0. */
	uint32_t moving;
	bool hashed;
	bool in_pass;
	/* Hashed: the last link looked at in the slot of now, or NULL. */
	struct tkw_link *cursor;
	/* Hashed: when now >= lap_end, no entry is before lap_min. */
	uint64_t lap_end;
	uint64_t lap_min;
	struct tkw__bitset used;
	/* Hierarchical: the trails of the slots below TKW__TRAILS. */
	struct tkw__trail *trail;
	/* The trails and the words of `used` follow the slots. If the memory is
	 * aligned to 64 bytes, no slot and no trail crosses a cache line. */
	_Alignas(max_align_t) struct tkw_link slots[];
};
_Static_assert(_Alignof(struct tkw_wheel) <= _Alignof(max_align_t),
	       "memory aligned for any object will do");
_Static_assert(sizeof(void *) != 8 ||
		       sizeof(struct tkw_wheel) % sizeof(struct tkw__trail) ==
			       0,
	       "slots and trails lie within cache lines");

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

/* The slot of a tick. Its ring is that of the highest digit in which tick and
 * base differ. */
static inline uint32_t tkw__hier_slot(uint64_t base, uint64_t tick)
{
	unsigned differ = tkw__highest_bit((tick ^ base) | 1);
	unsigned shift = differ / TKW__RING_BITS * TKW__RING_BITS;
	unsigned digit = (unsigned)(tick >> shift) % TKW__RING_SLOTS;

	return shift * (TKW__RING_SLOTS / TKW__RING_BITS) + digit;
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

/* Records in an entry which slot it is in, and its hint. */
static inline void tkw__seat(struct tkw_entry *e, uint32_t slot, uint32_t hint)
{
	e->slot = slot;
	e->flags = hint << TKW__FLAG_BITS | TKW__LINKED;
}

/* tkw__bitset_add() for a slot that was empty. It is not inline because most
 * adds do not need it, and inlined it would take registers from them. */
void tkw__use_slot(struct tkw_wheel *w, uint32_t slot);

static inline void tkw__append(struct tkw_wheel *w, struct tkw_entry *e,
			       uint32_t slot, uint32_t hint)
{
	tkw__seat(e, slot, hint);
	if (tkw__links_append(&w->slots[slot], &e->link))
		tkw__use_slot(w, slot);
}

static inline void tkw__fetch_ahead(const struct tkw_entry *e)
{
	tkw__hint_follow(e, e->flags >> TKW__FLAG_BITS);
}

/* Puts a hint into a slot's trail. Returns the oldest hint, which leaves it. */
static inline uint32_t tkw__trail_step(struct tkw__trail *t, uint32_t hint)
{
	uint32_t at = t->at;
	uint32_t oldest = t->hint[at];

	t->hint[at] = hint;
	t->at = at + 1 == TKW__TRAIL ? 0 : at + 1;
	return oldest;
}

static inline void tkw__hier_link(struct tkw_wheel *w, struct tkw_entry *e)
{
	uint32_t slot = tkw__hier_slot(w->base, e->tick);
	uint32_t hint = tkw__hint_to(e);

	/* Only rings 1 and 2 use the trail here. Ring 0 is walked from its
	 * head, so a hint at an earlier entry would not help. */
	if (slot - TKW__RING_SLOTS < TKW__TRAILS - TKW__RING_SLOTS)
		hint = tkw__trail_step(&w->trail[slot], hint);
	tkw__append(w, e, slot, hint);
}

static inline void tkw__hashed_link(struct tkw_wheel *w, struct tkw_entry *e)
{
	uint32_t slot = (uint32_t)e->tick & w->mask;

	w->lap_min = tkw__min_u64(w->lap_min, e->tick);
	tkw__append(w, e, slot, 0);
}

/* Links an entry by its tick, which must not be before now. */
static inline void tkw__link(struct tkw_wheel *w, struct tkw_entry *e)
{
	assert(e->tick >= w->now && !(e->flags & TKW__LINKED));
	if (w->hashed)
		tkw__hashed_link(w, e);
	else
		tkw__hier_link(w, e);
}

static inline void tkw__unlink(struct tkw_wheel *w, struct tkw_entry *e)
{
	assert(e->flags & TKW__LINKED);
	if (w->cursor == &e->link)
		w->cursor = e->link.prev;
	e->flags = 0;
	tkw__links_remove(&e->link);
	/* If both neighbours are the same link, it is the head: the slot is
	 * empty now. */
	if (e->link.next == e->link.prev)
		tkw__bitset_drop(&w->used, e->slot);
}

/* tkw_wheel_add() for an entry that is not linked. */
static inline void tkw__add(struct tkw_wheel *w, struct tkw_entry *e,
			    uint64_t tick)
{
	w->count++;
	e->tick = tick < w->floor ? w->floor_due : tick;
	tkw__link(w, e);
}

/* tkw_wheel_remove() for an entry that is linked. */
static inline void tkw__remove(struct tkw_wheel *w, struct tkw_entry *e)
{
	tkw__unlink(w, e);
	w->count--;
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
	assert(w->count > 0);
	if (w->moving)
		return w->now;
	return tkw__hier_start(w->base, tkw__hier_first(w));
}

/*
 * Goes past tick `to` if there is nothing to do up to it, which is so for most
 * ticks of most wheels. Returns false if there may be something to do. A slot
 * that is moving is due now, so it is never skipped. An empty wheel has no
 * first slot, so it returns false too.
 */
static inline bool tkw__hier_skip(struct tkw_wheel *w, uint64_t to)
{
	if (w->count == 0 || tkw__hier_next(w) <= to)
		return false;
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
}

#endif /* TKW_WHEEL_ENGINE_H */
