/* SPDX-License-Identifier: MIT */
/*
 * engine.h - what the files of the wheel share: its struct, and the two things
 * both engines do alike: to link an entry into a slot and to take it out.
 *
 * The engines differ in which slot a tick belongs to (tkw__slot_of) and in how
 * they advance. Everything else is common: an array of slots, each the head of
 * a list in the order of adding, and the set of the slots in use.
 *
 * Invariants, verified by check.c:
 * (I1) A slot is in `used` if and only if its list is not empty.
 * (I2) A linked entry is flagged so, knows its slot, and no tick < now is in
 *      the wheel.
 * (I3) An entry that is not flagged as extended is in the slot that tkw__slot_of
 *      names for its tick; one that is, in a slot that comes up before its tick
 *      or with it.
 * (I4) `count` is the number of linked entries.
 * The engines add some of their own; see there.
 */
#ifndef TKW_WHEEL_ENGINE_H
#define TKW_WHEEL_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/bitset.h"
#include "base/links.h"
#include "tickwheel/wheel.h"

/* The rings of the hierarchical engine; the tests build it with 4 bits too. */
#ifndef TKW__RING_BITS
#define TKW__RING_BITS 8
#endif
enum {
	TKW__RING_SLOTS = 1 << TKW__RING_BITS,
	TKW__RINGS = 64 / TKW__RING_BITS,
	TKW__HIER_SLOTS = TKW__RINGS * TKW__RING_SLOTS
};
_Static_assert(64 % TKW__RING_BITS == 0, "the rings span 64 bits exactly");

/* Flags of an entry. */
enum {
	TKW__LINKED = 1,
	TKW__EXTENDED = 2 /* its tick is later than its slot */
};

struct tkw_wheel {
	/* What an add needs: a tick before `floor` is due at `floor_due`. They
	 * are now and now, but inside a callback the tick after the one being
	 * expired, and the one after the target of the pass. */
	uint64_t floor;
	uint64_t floor_due;
	uint64_t base; /* hierarchical: what slots are relative to */
	uint64_t now;
	uint64_t count;
	uint32_t mask;   /* hashed: slots - 1 */
	uint32_t moving; /* hierarchical: the slot that a bounded advance left
			    half moved down; 0 for none */
	bool hashed;
	bool in_pass;
	/* hashed: the last link looked at in the slot of now, NULL if none */
	struct tkw_link *cursor;
	/* hashed: once now reaches lap_end, no entry is before lap_min */
	uint64_t lap_end;
	uint64_t lap_min;
	struct tkw__bitset used;
	struct tkw_link slots[]; /* the words of `used` come behind */
};

/* The arguments of a running advance. */
struct tkw__pass {
	uint64_t to;
	uint64_t steps; /* left */
	tkw_expire_fn *fn;
	void *ctx;
};

/* Return true if the bound was met first. */
bool tkw__hier_advance(struct tkw_wheel *w, struct tkw__pass *p);
bool tkw__hashed_advance(struct tkw_wheel *w, struct tkw__pass *p);

/* The wheel is not empty. */
uint64_t tkw__hier_next(const struct tkw_wheel *w);
uint64_t tkw__hashed_next(const struct tkw_wheel *w);

/* The first tick of a slot of the hierarchical engine, relative to base. */
uint64_t tkw__hier_start(uint64_t base, uint32_t slot);

/* The ring is the highest digit in which tick and base differ. */
static inline uint32_t tkw__hier_slot(uint64_t base, uint64_t tick)
{
	unsigned ring = tkw__highest_bit((tick ^ base) | 1) / TKW__RING_BITS;
	unsigned digit = (unsigned)(tick >> ring * TKW__RING_BITS);

	return ring * TKW__RING_SLOTS + digit % TKW__RING_SLOTS;
}

static inline struct tkw_entry *tkw__entry_of(struct tkw_link *l)
{
	return (struct tkw_entry *)l; /* its first member */
}

static inline void tkw__link_into(struct tkw_wheel *w, struct tkw_entry *e,
				  uint32_t slot)
{
	e->slot = slot;
	e->flags = TKW__LINKED;
	tkw__links_append(&w->slots[slot], &e->link);
	tkw__bitset_add(&w->used, slot);
}

/* Link an entry by its tick, which is not before now. */
static inline void tkw__link(struct tkw_wheel *w, struct tkw_entry *e)
{
	if (!w->hashed) {
		tkw__link_into(w, e, tkw__hier_slot(w->base, e->tick));
		return;
	}
	w->lap_min = tkw__min_u64(w->lap_min, e->tick);
	tkw__link_into(w, e, (uint32_t)e->tick & w->mask);
}

static inline void tkw__unlink(struct tkw_wheel *w, struct tkw_entry *e)
{
	if (w->cursor == &e->link)
		w->cursor = e->link.prev;
	e->flags = 0;
	tkw__links_remove(&e->link);
	if (tkw__links_empty(&w->slots[e->slot]))
		tkw__bitset_drop(&w->used, e->slot);
}

/* Take the entry out and call the user; anything may have changed after. */
static inline void tkw__expire(struct tkw_wheel *w, struct tkw__pass *p,
			       struct tkw_entry *e)
{
	tkw__unlink(w, e);
	w->count--;
	p->fn(w, e, p->ctx);
}

/* From here on a tick is being expired: what is added for it, or before it,
 * waits until the pass is over. */
static inline void tkw__begin_tick(struct tkw_wheel *w, uint64_t tick)
{
	w->now = tick;
	w->floor = tick + 1;
}

#endif /* TKW_WHEEL_ENGINE_H */
