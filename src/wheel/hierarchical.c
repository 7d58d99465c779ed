/* SPDX-License-Identifier: MIT */
/*
 * hierarchical.c - the engine of several rings.
 *
 * Idea:   write a tick as digits in base 256, one ring per digit. An entry
 *         goes to the ring of the highest digit in which its tick differs from
 *         `base`, the tick up to which the wheel has come, and there to the
 *         slot of that digit. Near entries differ in the lowest digit only:
 *         ring 0, where each slot is one tick. When the wheel comes to the
 *         first tick of a slot of a higher ring, the slot's entries move down:
 *         they now agree with base in that digit, and go to the ring of the
 *         next one that differs. When it comes to a slot of ring 0, its
 *         entries expire.
 *
 * Rings:  ring   a slot spans    the ring spans   (at 1 ms a tick)
 *         0      1 tick          256 ticks        1 ms ... 256 ms
 *         1      256             2^16             256 ms ... 65 s
 *         2      2^16            2^24             65 s ... 4.6 h
 *         3      2^24            2^32             4.6 h ... 49 days
 *         4      2^32            2^40             49 days ... 34 years
 *         5..7   2^40 ... 2^56   2^48 ... 2^64    to the end of time
 *
 * Order:  entries of one tick go to one slot, because the ring depends on
 *         nothing but the tick and base; so appending keeps the order of
 *         adding. (A wheel that picks the ring by distance puts a late entry
 *         below an early one of the same tick.) A slot moves down from its
 *         tail, and each entry is put before those that are below already: all
 *         of them are newer, whether they were moved or added since. An
 *         extended entry is appended when its old slot comes up.
 *
 * Next:   every slot of a ring is before every slot of a higher ring, and
 *         slots in use are at or after base, so the first slot in use, counted
 *         through all rings, is the next to come: one look at the bit set.
 *
 * Bounds: a slot may be left half moved down. Then `moving` names it, and the
 *         next advance goes on with it before anything else.
 *
 * Misses: a list of entries that have left the cache costs a whole memory
 *         latency per entry, for the address of the next one is in the one
 *         before. So an entry carries a hint at the entry that comes seven
 *         after it when its list is walked, which is fetched ahead. Who that
 *         is must be known when the entry is linked; therefore lists are
 *         walked against the order of linking: appended lists (the higher
 *         rings) from the tail, prepended ones (ring 0) from the head. A
 *         slot's trail has its last seven entries; the new one takes over the
 *         oldest as its hint. (An add to ring 0 itself has none, for it comes
 *         last in the walk; rings above 2 have none either.) What moves to a
 *         ring above 0 is prepended and yet walked from the tail; there the
 *         entry linked seven before gets the new one as its hint: `leads` has
 *         it, and it is alive, for no one else runs meanwhile. Nothing but
 *         speed depends on hints: see hint.h.
 *
 * Invariants besides those of engine.h:
 * (H1) base <= now; every slot in use starts at or after now.
 * (H2) `moving`, if any, is a slot above ring 0 whose first tick is now, and
 *      so is base.
 */
#include "wheel/engine.h"

/* How many ticks ahead the first entry of a slot of ring 0 is fetched: nobody
 * hints at it, and where ticks have one or two entries it is the cost. */
enum {
	FETCH_TICKS = 4
};

/* Expire a slot of ring 0. Return true if the bound was met first. */
static bool expire_slot(struct tkw_wheel *w, struct tkw__pass *p, uint32_t slot,
			uint64_t tick)
{
	struct tkw_link *head = &w->slots[slot];
	uint32_t coming = (slot + FETCH_TICKS) % TKW__RING_SLOTS;

	__builtin_prefetch(w->slots[coming].next, 1);
	w->base = tick;
	tkw__begin_tick(w, tick);
	while (!tkw__links_empty(head)) {
		struct tkw_entry *e = tkw__entry_of(head->next);

		if (p->steps-- == 0)
			return true;
		tkw__fetch_ahead(e);
		if (e->flags & TKW__EXTENDED) {
			tkw__unlink(w, e);
			tkw__hier_link(w, e);
		} else {
			tkw__expire(w, p, e);
		}
	}
	w->now = tick + 1;
	return false;
}

/* For each slot above ring 0 that has a trail: who waits for the next hint. */
struct leads {
	struct tkw_entry *lead[TKW__TRAILS - TKW__RING_SLOTS];
	uint8_t followers[TKW__TRAILS - TKW__RING_SLOTS];
};

static void follow(struct leads *l, struct tkw_entry *e, uint32_t i)
{
	if (l->followers[i] == TKW__TRAIL) {
		/* It was seated by this very call: it has no other flag. */
		assert(!(l->lead[i]->flags & TKW__EXTENDED));
		l->lead[i]->flags =
			tkw__hint_to(e) << TKW__FLAG_BITS | TKW__LINKED;
		l->lead[i] = tkw__entry_of(l->lead[i]->link.prev);
	} else if (l->followers[i]++ == 0) {
		l->lead[i] = e;
	}
}

/* Put an entry that comes from above before those of a slot. */
static inline void prepend(struct tkw_wheel *w, struct tkw_entry *e,
			   uint32_t slot)
{
	uint32_t hint = tkw__hint_to(e);

	if (slot < TKW__RING_SLOTS)
		hint = tkw__trail_step(&w->trail[slot], hint);
	tkw__seat(e, slot, hint);
	tkw__links_prepend(&w->slots[slot], &e->link);
	/* Whether the slot was empty cannot be foreseen here: the branch would
	 * cost more than the store. */
	tkw__bitset_add(&w->used, slot);
}

/* Take the last entry out of a slot that is moving. */
static inline struct tkw_entry *take_last(struct tkw_link *head)
{
	struct tkw_entry *e = tkw__entry_of(head->prev);

	tkw__fetch_ahead(e);
	tkw__links_remove(&e->link);
	return e;
}

/* From ring 1 to ring 0. Return true if the bound was met first. */
static bool move_near(struct tkw_wheel *w, struct tkw__pass *p,
		      struct tkw_link *head)
{
	while (!tkw__links_empty(head)) {
		struct tkw_entry *e;

		if (p->steps-- == 0)
			return true;
		e = take_last(head);
		if (e->flags & TKW__EXTENDED)
			tkw__hier_link(w, e);
		else
			prepend(w, e, e->tick % TKW__RING_SLOTS);
	}
	return false;
}

/* From a ring above. Return true if the bound was met first. */
static bool move_far(struct tkw_wheel *w, struct tkw__pass *p,
		     struct tkw_link *head)
{
	struct leads leads;

	for (uint32_t i = 0; i < sizeof(leads.followers); i++)
		leads.followers[i] = 0;
	while (!tkw__links_empty(head)) {
		struct tkw_entry *e;

		if (p->steps-- == 0)
			return true;
		e = take_last(head);
		if (e->flags & TKW__EXTENDED) {
			tkw__hier_link(w, e);
			continue;
		}
		prepend(w, e, tkw__hier_slot(w->base, e->tick));
		if (e->slot - TKW__RING_SLOTS < TKW__TRAILS - TKW__RING_SLOTS)
			follow(&leads, e, e->slot - TKW__RING_SLOTS);
	}
	return false;
}

/*
 * Move the entries of a slot down. Return true if the bound was met first.
 * An extended one is linked like an add of this moment: behind those of its
 * tick that are below already, and before none.
 */
static bool move_down(struct tkw_wheel *w, struct tkw__pass *p, uint32_t slot,
		      uint64_t start)
{
	struct tkw_link *head = &w->slots[slot];

	w->moving = slot;
	w->now = start;
	w->base = start;
	if (slot < 2 * TKW__RING_SLOTS ? move_near(w, p, head)
				       : move_far(w, p, head))
		return true;
	tkw__bitset_drop(&w->used, slot);
	w->moving = 0;
	return false;
}

bool tkw__hier_advance(struct tkw_wheel *w, struct tkw__pass *p)
{
	while (w->count > 0 && w->now <= p->to) {
		uint32_t slot = w->moving ? w->moving : tkw__hier_first(w);
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
	w->moving = 0; /* still set if the wheel was emptied meanwhile */
	w->base = p->to;
	w->now = p->to + 1;
	return false;
}
