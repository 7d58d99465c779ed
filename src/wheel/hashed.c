/* SPDX-License-Identifier: MIT */
/*
 * hashed.c - the engine of one ring, the classic of Netty, Dubbo and JRaft.
 *
 * Idea:   2^n slots; a tick belongs to the slot of its lowest n bits, and an
 *         entry waits there until its round comes. Its remaining rounds are
 *         (tick - now) / slots. They are not stored: the tick says as much,
 *         and a counter would be written at each passing of a far entry.
 *
 * Cost:   the wheel looks at each entry of each slot that it passes; that is
 *         the nature of this engine. Two things the classic lacks: slots not
 *         in use are skipped by the bit set, and a long jump does not go round
 *         and round: what a whole lap saw and what was added meanwhile gives
 *         the earliest tick of all, and until then there is nothing to see.
 *
 * Order:  a slot's list is in the order of adding, whatever the rounds, and so
 *         are the entries of one tick in it.
 *
 * Bounds: `cursor` is the last link looked at in the slot of now (at first its
 *         head). It stays at a link that is in the list: when its entry is
 *         taken out, it steps back.
 *
 * Invariants besides those of engine.h:
 * (C1) when now >= lap_end, no entry is before lap_min.
 * (C2) cursor, if any, is in the list of the slot of now, or its head; what is
 *      due now, and not extended, is behind it.
 */
#include "wheel/engine.h"

/* Look at each entry of the slot of a tick. True if the bound was met first. */
static bool pass_slot(struct tkw_wheel *w, struct tkw__pass *p, uint64_t tick)
{
	struct tkw_link *head = &w->slots[(uint32_t)tick & w->mask];

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

/* How many ticks from now the next slot in use comes up. There is one. */
static uint64_t distance(const struct tkw_wheel *w)
{
	uint32_t here = (uint32_t)w->now & w->mask;
	uint32_t slot = tkw__bitset_next(&w->used, here);

	if (slot == TKW__BITSET_NONE)
		slot = tkw__bitset_first(&w->used);
	return (slot - here) & w->mask;
}

/* A lap is over: go to the earliest entry, and begin the next lap there. */
static void begin_lap(struct tkw_wheel *w)
{
	w->now = tkw__max_u64(w->now, w->lap_min);
	w->lap_end = tkw__sat_add(w->now, (uint64_t)w->mask + 1);
	w->lap_min = TKW_TICK_NEVER;
}

bool tkw__hashed_advance(struct tkw_wheel *w, struct tkw__pass *p)
{
	if (w->cursor && pass_slot(w, p, w->now))
		return true;
	while (w->count > 0 && w->now <= p->to) {
		uint64_t away;

		if (w->now >= w->lap_end) {
			if (w->lap_min > p->to)
				break;
			begin_lap(w);
		}
		away = distance(w);
		if (away > p->to - w->now)
			break;
		if (pass_slot(w, p, w->now + away))
			return true;
	}
	if (w->count == 0) {
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
	return w->now + distance(w);
}
