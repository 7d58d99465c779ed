/* SPDX-License-Identifier: MIT */
/*
 * hashed.c - the engine with one ring, as in Netty, Dubbo and JRaft.
 *
 * Idea:   there are 2^n slots. The lowest n bits of a tick pick its slot, and
 *         an entry waits there until its round comes. It has (tick - now) /
 *         slots rounds left. They are not stored, because the tick says the
 *         same, and a counter would be written each time the wheel passes a far
 *         entry.
 *
 * Cost:   the wheel looks at each entry of each slot that it passes; this
 *         engine cannot avoid that. It does two things that the classic does
 *         not. The bit set lets it skip slots that are not in use. And a long
 *         jump does not go round and round: after one whole lap, the earliest
 *         tick that was seen or added in that lap is the earliest of all, and
 *         the wheel jumps there.
 *
 * Order:  a slot's list is in the order of adding, whatever the rounds. So the
 *         entries of one tick are in the order of adding too.
 *
 * Bounds: `cursor` is the last link looked at in the slot of now; it begins at
 *         the slot's head. When the cursor's entry is taken out, the cursor
 *         steps back, so it always points into the list.
 *
 * Invariants besides those of engine.h:
 * (C1) When now >= lap_end, no entry is before lap_min.
 * (C2) The cursor, if there is one, is the head of the slot of now or in its
 *      list. Entries that are due now and not extended come after it.
 */
#include "wheel/engine.h"

/* Looks at each entry of the slot of a tick. Returns true if the step limit was
 * reached first. */
static bool tkw__pass_slot(struct tkw_wheel *w, struct tkw__pass *p,
			   uint64_t tick)
{
	struct tkw_link *head = &w->narrow[(uint32_t)tick & w->mask];

	tkw__begin_tick(w, tick);
	if (!w->cursor)
		w->cursor = head;
	while (w->cursor->next != head) {
		struct tkw_entry *e = tkw__entry_of(w->cursor->next);

		if (p->steps-- == 0)
			return true;
		if (e->flags & TKW__EXTENDED) {
			tkw__unlink(w, e);
			tkw__hashed_link(w, e);
		} else if (e->tick == tick) {
			tkw__expire(w, p, e);
		} else {
			w->lap_min = tkw__min_u64(w->lap_min, e->tick);
			w->cursor = &e->link;
		}
	}
	w->cursor = NULL;
	w->now = tick + 1;
	return false;
}

/* How many ticks from now the next slot in use comes up. The wheel must not be
 * empty. */
static uint64_t tkw__distance(const struct tkw_wheel *w)
{
	uint32_t here = (uint32_t)w->now & w->mask;
	uint32_t slot = tkw__bitset_next(&w->used, here);

	if (slot == TKW__BITSET_NONE)
		slot = tkw__bitset_first(&w->used);
	return (slot - here) & w->mask;
}

/* Ends a lap: goes to the earliest entry, and begins the next lap there. */
static void tkw__begin_lap(struct tkw_wheel *w)
{
	w->now = tkw__max_u64(w->now, w->lap_min);
	w->lap_end = tkw__sat_add(w->now, (uint64_t)w->mask + 1);
	w->lap_min = TKW_TICK_NEVER;
}

bool tkw__hashed_advance(struct tkw_wheel *w, struct tkw__pass *p)
{
	if (w->cursor && tkw__pass_slot(w, p, w->now))
		return true;
	while (tkw__count(w) > 0 && w->now <= p->to) {
		uint64_t away;

		if (w->now >= w->lap_end) {
			if (w->lap_min > p->to)
				break;
			tkw__begin_lap(w);
		}
		away = tkw__distance(w);
		if (away > p->to - w->now)
			break;
		if (tkw__pass_slot(w, p, w->now + away))
			return true;
	}
	if (tkw__count(w) == 0) {
		w->lap_end = 0;
		w->lap_min = TKW_TICK_NEVER;
	}
	w->now = p->to + 1;
	return false;
}

uint64_t tkw__hashed_next(const struct tkw_wheel *w)
{
	if (w->now >= w->lap_end)
		return tkw__max_u64(w->now, w->lap_min);
	return w->now + tkw__distance(w);
}
