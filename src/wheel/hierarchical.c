/* SPDX-License-Identifier: MIT */
/*
 * hierarchical.c - the engine of several rings.
 *
 * Idea:   write a tick as digits in base 256, one ring per digit. An entry goes
 *         to the ring of the highest digit in which its tick differs from
 *         `base`, the tick up to which the wheel has come, and there to the slot
 *         of that digit. Near entries differ in the lowest digit only: ring 0,
 *         where each slot is one tick. When the wheel comes to the first tick of
 *         a slot of a higher ring, the slot's entries move down: they now agree
 *         with base in that digit, and go to the ring of the next one that
 *         differs. When it comes to a slot of ring 0, its entries expire.
 *
 * Rings:  ring   a slot spans    the ring spans   (at 1 ms a tick)
 *         0      1 tick          256 ticks        1 ms ... 256 ms
 *         1      256             2^16             256 ms ... 65 s
 *         2      2^16            2^24             65 s ... 4.6 h
 *         3      2^24            2^32             4.6 h ... 49 days
 *         4      2^32            2^40             49 days ... 34 years
 *         5..7   2^40 ... 2^56   2^48 ... 2^64    to the end of time
 *
 * Order:  all entries of one tick are in one slot at any time, because the ring
 *         depends on nothing but the tick and base. So appending keeps the order
 *         of adding, and moving a slot down from its head keeps it too. (A wheel
 *         that picks the ring by distance puts a late entry below an early one
 *         of the same tick.)
 *
 * Next:   every entry of a ring is before every entry of a higher ring, and
 *         slots in use are at or after base, so the first slot in use, counted
 *         through all rings, is the next to come: one look at the bit set.
 *
 * Bounds: a slot may be left half moved down. Then `moving` names it and base
 *         stays before it, so that new entries go to its tail, behind the older
 *         ones; what has moved down already is relative to the slot's start.
 *
 * Invariants besides those of engine.h:
 * (H1) base <= now; every slot in use starts at or after now, relative to base
 *      or, in the rings below `moving`, to the start of that slot.
 */
#include "wheel/engine.h"

uint64_t tkw__hier_start(uint64_t base, uint32_t slot)
{
	unsigned shift = slot / TKW__RING_SLOTS * TKW__RING_BITS;
	uint64_t digit = slot % TKW__RING_SLOTS;
	/* 2 << 63 is 0, as it should be for the highest ring. */
	uint64_t below = ((uint64_t)2 << (shift + TKW__RING_BITS - 1)) - 1;

	return (base & ~below) | digit << shift;
}

/* Expire a slot of ring 0. Return true if the bound was met first. */
static bool expire_slot(struct tkw_wheel *w, struct tkw__pass *p, uint32_t slot,
			uint64_t tick)
{
	struct tkw_link *head = &w->slots[slot];

	w->base = tick;
	tkw__begin_tick(w, tick);
	while (!tkw__links_empty(head)) {
		struct tkw_entry *e = tkw__entry_of(head->next);

		if (p->steps-- == 0)
			return true;
		if (e->flags & TKW__EXTENDED) {
			tkw__unlink(w, e);
			tkw__link(w, e);
		} else {
			tkw__expire(w, p, e);
		}
	}
	w->now = tick + 1;
	return false;
}

/*
 * Move the entries of a slot down. Return true if the bound was met first.
 * An extended one is linked anew like an add of this moment: it may come to
 * the tail of this very slot, behind those of its tick, and then moves down.
 */
static bool move_down(struct tkw_wheel *w, struct tkw__pass *p, uint32_t slot,
		      uint64_t start)
{
	struct tkw_link *head = &w->slots[slot];

	w->moving = slot;
	w->now = start;
	while (!tkw__links_empty(head)) {
		struct tkw_entry *e = tkw__entry_of(head->next);
		bool extended = e->flags & TKW__EXTENDED;

		if (p->steps-- == 0)
			return true;
		tkw__unlink(w, e);
		tkw__link_into(w, e,
			       tkw__hier_slot(extended ? w->base : start,
					      e->tick));
	}
	w->moving = 0;
	w->base = start;
	return false;
}

bool tkw__hier_advance(struct tkw_wheel *w, struct tkw__pass *p)
{
	while (w->count > 0) {
		uint32_t slot = w->moving ? w->moving
					  : tkw__bitset_first(&w->used);
		uint64_t start = tkw__hier_start(w->base, slot);
		bool more;

		if (start > p->to)
			break;
		if (slot < TKW__RING_SLOTS)
			more = expire_slot(w, p, slot, start);
		else
			more = move_down(w, p, slot, start);
		if (more)
			return true;
	}
	w->moving = 0;
	w->base = p->to;
	w->now = p->to + 1;
	return false;
}

uint64_t tkw__hier_next(const struct tkw_wheel *w)
{
	if (w->moving)
		return w->now;
	return tkw__hier_start(w->base, tkw__bitset_first(&w->used));
}
