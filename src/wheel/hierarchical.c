/* SPDX-License-Identifier: MIT */
/*
 * hierarchical.c - the engine with several rings.
 *
 * Idea:   write a tick as digits in base 256, with one ring per digit. `base`
 *         is the tick that the wheel has reached. An entry goes to the ring of
 *         the highest digit in which its tick differs from base, and there to
 *         the slot of that digit. Near entries differ in the lowest digit only,
 *         so they are in ring 0, where each slot is one tick. When the wheel
 *         reaches the first tick of a slot in a higher ring, the slot's entries
 *         move down: they now agree with base in that digit, and go to the ring
 *         of the next digit that differs. When the wheel reaches a slot of ring
 *         0, the slot's entries expire.
 *
 * Rings:  ring   a slot spans    the ring spans   (at 1 ms a tick)
 *         0      1 tick          256 ticks        1 ms ... 256 ms
 *         1      256             2^16             256 ms ... 65 s
 *         2      2^16            2^24             65 s ... 4.6 h
 *         3      2^24            2^32             4.6 h ... 49 days
 *         4      2^32            2^40             49 days ... 34 years
 *         5..7   2^40 ... 2^56   2^48 ... 2^64    to the end of time
 *
 * Order:  the ring depends only on the tick and base, so entries of one tick go
 *         to one slot, and appending keeps the order of adding. (A wheel that
 *         picks the ring by distance puts a late entry below an early one of
 *         the same tick.) A slot moves down from its tail, and each entry is
 *         put before the entries that are below already. All of those are
 *         newer, whether they were moved or added since. An extended entry is
 *         appended when its old slot comes up.
 *
 * Next:   every slot of a ring comes before every slot of a higher ring, and
 *         slots in use are at or after base. So the first slot in use, counted
 *         through all rings, is the next to come: one look at the bit set.
 *
 * Bounds: an advance may leave a slot half moved down. Then `moving` names the
 *         slot, and the next advance finishes it before anything else.
 *
 * Misses: in a list whose entries have left the cache, each entry costs a whole
 *         memory latency, because its address is in the entry before it. So
 *         each entry carries a hint at the entry that comes eight places later
 *         when the list is walked, and the walk prefetches it. That entry must
 *         be known when the hint is stored, so lists are walked against the
 *         order of linking: appended lists (the higher rings) from the tail,
 *         prepended lists (ring 0) from the head. A slot's trail has hints at
 *         its last eight entries; a new entry takes over the oldest. (The hint
 *         of an add to ring 0 is of no use, because the walk comes from the
 *         other side. Rings above 2 have no trails.) Entries that move to a
 *         ring above 0 are prepended, and yet walked from the tail. There the
 *         direction is reversed: the entry linked eight before gets a hint at
 *         the new one. `leads` points to that entry, which is alive because no
 *         other code runs meanwhile. Only speed depends on hints: see hint.h.
 *
 * Invariants besides those of engine.h:
 * (H1) base <= now; every slot in use starts at or after now.
 * (H2) `moving`, if it is set, is a slot above ring 0 whose first tick is now,
 *      and base is now too.
 * (H3) The position of each trail is below TKW__TRAIL.
 */
#include "wheel/engine.h"

/* How many ticks ahead to prefetch the first entry of a slot of ring 0. No hint
 * points at that entry, and when a tick has only one or two entries, this miss
 * is most of the cost. */
enum {
	TKW__FETCH_TICKS = 4
};

/* Expires a slot of ring 0. Returns true if the step limit was reached
 * first. */
static bool tkw__expire_slot(struct tkw_wheel *w, struct tkw__pass *p,
			     uint32_t slot, uint64_t tick)
{
	struct tkw_link *head = tkw__head(w, slot);
	uint32_t coming = (slot + TKW__FETCH_TICKS) % TKW__RING_SLOTS;

	__builtin_prefetch(tkw__wide_slots(w)[coming].head.next, 1);
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

/* For each slot above ring 0 that has a trail: the entry that gets the next
 * hint, and how many entries came after it, up to TKW__TRAIL. */
struct tkw__leads {
	struct tkw_entry *lead[TKW__WIDE_SLOTS - TKW__RING_SLOTS];
	uint8_t followers[TKW__WIDE_SLOTS - TKW__RING_SLOTS];
};

static void tkw__follow(struct tkw__leads *l, struct tkw_entry *e, uint32_t i)
{
	if (l->followers[i] == TKW__TRAIL) {
		/* This call of tkw__move_far() seated it, so it has no other
		 * flag. */
		assert(!(l->lead[i]->flags & TKW__EXTENDED));
		l->lead[i]->flags =
			tkw__hint_to(e) << TKW__FLAG_BITS | TKW__LINKED;
		l->lead[i] = tkw__entry_of(l->lead[i]->link.prev);
	} else if (l->followers[i]++ == 0) {
		l->lead[i] = e;
	}
}

/* Puts an entry that moves down before the others of its new slot. */
static inline void tkw__prepend(struct tkw_wheel *w, struct tkw_entry *e,
				struct tkw_link *head, uint32_t slot)
{
	e->slot = slot;
	tkw__links_prepend(head, &e->link);
	/* Sets the bit even if it is set already: whether the slot was empty
	 * cannot be predicted, and a wrong guess costs more than the store. */
	tkw__bitset_add(&w->used, slot);
}

/* Takes the last entry out of a slot that is moving. */
static inline struct tkw_entry *tkw__take_last(struct tkw_link *head)
{
	struct tkw_entry *e = tkw__entry_of(head->prev);

	tkw__fetch_ahead(e);
	tkw__links_remove(&e->link);
	return e;
}

/* Moves an entry to ring 0. */
static inline void tkw__move_to_ring_0(struct tkw_wheel *w, struct tkw_entry *e)
{
	uint32_t slot = e->tick % TKW__RING_SLOTS;
	struct tkw__slot *s = &tkw__wide_slots(w)[slot];

	tkw__seat(e, tkw__trail_step(s, tkw__hint_to(e)));
	tkw__prepend(w, e, &s->head, slot);
}

/* Moves a slot from ring 1 to ring 0. Returns true if the step limit was
 * reached first. */
static bool tkw__move_near(struct tkw_wheel *w, struct tkw__pass *p,
			   struct tkw_link *head)
{
	while (!tkw__links_empty(head)) {
		struct tkw_entry *e;

		if (p->steps-- == 0)
			return true;
		e = tkw__take_last(head);
		if (e->flags & TKW__EXTENDED)
			tkw__hier_link(w, e);
		else
			tkw__move_to_ring_0(w, e);
	}
	return false;
}

/* Moves an entry from ring 2 or above, to any ring below. */
static void tkw__move_by_leads(struct tkw_wheel *w, struct tkw_entry *e,
			       struct tkw__leads *leads)
{
	uint32_t slot = tkw__hier_slot(w->base, e->tick);

	if (slot < TKW__RING_SLOTS) {
		tkw__move_to_ring_0(w, e);
		return;
	}
	tkw__seat(e, tkw__hint_to(e));
	tkw__prepend(w, e, tkw__head(w, slot), slot);
	if (slot < TKW__WIDE_SLOTS)
		tkw__follow(leads, e, slot - TKW__RING_SLOTS);
}

/* Moves a slot of ring 2 or above. Returns true if the step limit was reached
 * first. */
static bool tkw__move_far(struct tkw_wheel *w, struct tkw__pass *p,
			  struct tkw_link *head)
{
	struct tkw__leads leads;

	for (uint32_t i = 0; i < sizeof(leads.followers); i++)
		leads.followers[i] = 0;
	while (!tkw__links_empty(head)) {
		struct tkw_entry *e;

		if (p->steps-- == 0)
			return true;
		e = tkw__take_last(head);
		if (e->flags & TKW__EXTENDED)
			tkw__hier_link(w, e);
		else
			tkw__move_by_leads(w, e, &leads);
	}
	return false;
}

/*
 * Moves the entries of a slot down. Returns true if the step limit was reached
 * first. An extended entry is linked as if it were added now: behind the
 * entries of its tick that are below already.
 */
static bool tkw__move_down(struct tkw_wheel *w, struct tkw__pass *p,
			   uint32_t slot, uint64_t start)
{
	struct tkw_link *head = tkw__head(w, slot);

	w->moving = slot;
	w->now = start;
	w->base = start;
	if (slot < 2 * TKW__RING_SLOTS ? tkw__move_near(w, p, head)
				       : tkw__move_far(w, p, head))
		return true;
	tkw__bitset_drop(&w->used, slot);
	w->moving = 0;
	return false;
}

bool tkw__hier_advance(struct tkw_wheel *w, struct tkw__pass *p)
{
	while (tkw__count(w) > 0 && w->now <= p->to) {
		uint32_t slot = w->moving ? w->moving : tkw__hier_first(w);
		uint64_t start = tkw__hier_start(w->base, slot);
		bool more;

		if (start > p->to)
			break;
		if (slot < TKW__RING_SLOTS)
			more = tkw__expire_slot(w, p, slot, start);
		else
			more = tkw__move_down(w, p, slot, start);
		if (more)
			return true;
	}
	/* Still set if a move was left half done and the wheel was emptied
	 * since. */
	w->moving = 0;
	w->base = p->to;
	w->now = p->to + 1;
	return false;
}
