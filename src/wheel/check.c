/* SPDX-License-Identifier: MIT */
/*
 * check.c - walks the whole wheel and verifies the invariants of engine.h,
 * hierarchical.c and hashed.c. A failure names the invariant.
 *
 * The walk does not find a slot that is in use but missing from the bit set.
 * The entries of that slot are then missing from the count, which fails I4.
 */
#include "wheel/engine.h"

/* The base that a slot was placed relative to. While a slot moves down, base is
 * already the first tick of that slot, so the slot's own entries are relative
 * to the tick before. */
static uint64_t tkw__base_of(const struct tkw_wheel *w, uint32_t slot)
{
	return w->moving && slot == w->moving ? w->base - 1 : w->base;
}

static const char *tkw__check_hier(const struct tkw_wheel *w,
				   const struct tkw_entry *e)
{
	uint64_t base = tkw__base_of(w, e->slot);
	uint64_t start = tkw__hier_start(base, e->slot);

	if (start < w->now)
		return "H1: a slot in use starts before now";
	if (e->flags & TKW__EXTENDED)
		return start <= e->tick
			       ? NULL
			       : "I3: an entry is extended to before its slot";
	if (e->slot != tkw__hier_slot(base, e->tick))
		return "I3: an entry is in the wrong slot";
	return NULL;
}

static const char *tkw__check_hashed(const struct tkw_wheel *w,
				     const struct tkw_entry *e)
{
	uint64_t away = ((uint64_t)e->slot - w->now) & w->mask;

	if (w->now >= w->lap_end && e->tick < w->lap_min)
		return "C1: an entry is before the earliest";
	if (e->flags & TKW__EXTENDED)
		return w->now + away <= e->tick
			       ? NULL
			       : "I3: an entry is extended to before its slot";
	if (e->slot != ((uint32_t)e->tick & w->mask))
		return "I3: an entry is in the wrong slot";
	return NULL;
}

static const char *tkw__check_entry(const struct tkw_wheel *w,
				    const struct tkw_entry *e, uint32_t slot)
{
	if (!(e->flags & TKW__LINKED))
		return "I2: a linked entry lacks its flag";
	if (e->slot != slot)
		return "I2: an entry does not know its slot";
	if (e->tick < w->now)
		return "I2: an entry is before now";
	return w->hashed ? tkw__check_hashed(w, e) : tkw__check_hier(w, e);
}

/* Checks one slot in use and counts its entries. Stops when there are more
 * entries than there should be. */
static const char *tkw__check_slot(const struct tkw_wheel *w, uint32_t slot,
				   uint64_t *seen)
{
	const struct tkw_link *head = tkw__head(w, slot);
	const struct tkw_link *last = head;
	const char *why;

	if (tkw__links_empty(head))
		return "I1: a slot in use is empty";
	if (slot < TKW__WIDE_SLOTS && !w->hashed &&
	    ((const struct tkw__slot *)(const void *)head)->at >= TKW__TRAIL)
		return "H3: a trail has lost its place";
	for (struct tkw_link *l = head->next; l != head; l = l->next) {
		if (l == NULL || l->prev != last)
			return "I1: a list is broken";
		why = tkw__check_entry(w, tkw__entry_of(l), slot);
		if (why)
			return why;
		if (++*seen > tkw__count(w))
			return "I4: more entries than counted";
		last = l;
	}
	return head->prev == last ? NULL : "I1: a list has lost its tail";
}

/* Checks that the cursor is in the list of the slot of now, and that no entry
 * before it is due. */
static const char *tkw__check_cursor(const struct tkw_wheel *w)
{
	struct tkw_link *head = &w->narrow[(uint32_t)w->now & w->mask];
	struct tkw_link *l = head;
	bool due = false;

	while (l != w->cursor) {
		l = l->next;
		if (l == head)
			return "C2: the cursor is not in the slot of now";
		due |= tkw__entry_of(l)->tick == w->now &&
		       !(tkw__entry_of(l)->flags & TKW__EXTENDED);
	}
	return due ? "C2: an entry that is due was passed over" : NULL;
}

static const char *tkw__check_hashed_state(const struct tkw_wheel *w)
{
	if (w->edge != 0 || w->span != 0)
		return "I5: an add would pass over the hashed engine";
	return w->cursor ? tkw__check_cursor(w) : NULL;
}

/* Outside a pass: from `edge` on, adds are fast and advances have work. */
static const char *tkw__check_edge(const struct tkw_wheel *w)
{
	uint32_t slot = tkw__hier_slot(w->base, w->edge);

	if (w->edge < w->now || w->edge > tkw_wheel_next_tick(w))
		return "I5: an advance would pass over a slot in use";
	if (w->edge != tkw__hier_start(w->base, slot))
		return "I5: edge is inside a slot";
	return NULL;
}

static const char *tkw__check_hier_state(const struct tkw_wheel *w)
{
	uint64_t now = w->now;

	if (w->base > now)
		return "H1: base is after now";
	if (w->moving && (w->moving < TKW__RING_SLOTS || w->base != now ||
			  tkw__hier_start(now, w->moving) != now))
		return "H2: the slot that moves does not start at now";
	if (w->span != TKW__WIDE_SPAN)
		return "I5: the span is not that of the wide slots";
	return w->in_pass ? NULL : tkw__check_edge(w);
}

/* Checks the fields of the struct, without looking at the slots. */
static const char *tkw__check_state(const struct tkw_wheel *w)
{
	uint64_t now = w->now;

	if (!w->in_pass && (w->floor > now || w->floor_due > now))
		return "I5: an entry for a past tick is not due";
	return w->hashed ? tkw__check_hashed_state(w)
			 : tkw__check_hier_state(w);
}

const char *tkw_wheel_check(const struct tkw_wheel *w)
{
	uint64_t seen = 0;
	const char *why;

	if (w == NULL)
		return "there is no wheel";
	if (!tkw__bitset_sound(&w->used))
		return "I1: the set of slots in use is broken";
	for (uint32_t i = tkw__bitset_next(&w->used, 0); i != TKW__BITSET_NONE;
	     i = tkw__bitset_next(&w->used, i + 1)) {
		why = tkw__check_slot(w, i, &seen);
		if (why)
			return why;
	}
	if (seen != tkw__count(w))
		return "I4: fewer entries than counted";
	return tkw__check_state(w);
}
