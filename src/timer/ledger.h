/* SPDX-License-Identifier: MIT */
/*
 * ledger.h - the one place where a timeout comes to be pending, and ceases to.
 *
 * Each timeout that is accepted is settled once: fired, cancelled, dropped or
 * handed over. Both change the ledger of its shard, under the shard's lock, and
 * that is why the law holds at every moment. With max_pending a place is
 * reserved before, and is free again in the same moment: what does not count as
 * pending is in nobody's way.
 */
#ifndef TKW_TIMER_LEDGER_H
#define TKW_TIMER_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "timer/object.h"

/* Take places under max_pending, no lock held. Return false if there are not so
 * many. */
static inline bool tkw__ledger_reserve(struct tkw_timer *t, uint64_t count)
{
	uint64_t was;

	if (!t->limited)
		return true;
	was = TKW__LOAD(&t->reserved, RELAXED);
	/* Not an add that is taken back: for a moment that would refuse a
	 * caller for whom there is room. */
	while (count <= t->max_pending - was) {
		if (TKW__CAS(&t->reserved, &was, was + count, RELAXED))
			return true;
	}
	return false;
}

static inline void tkw__ledger_unreserve(struct tkw_timer *t, uint64_t count)
{
	if (t->limited)
		TKW__SUB(&t->reserved, count, RELAXED);
}

/* A new timeout is PENDING from now on. */
static inline void tkw__ledger_accept(struct tkw__shard *s,
				      struct tkw__timeout *to)
{
	to->mark |= TKW__PENDING;
	s->ledger.accepted++;
	s->ledger.pending++;
}

/* It never was: its schedule fails. It is nowhere. Its place stays reserved,
 * for the schedule to give back. Returns as tkw__slab_put(). */
static inline void *tkw__ledger_unaccept(struct tkw__shard *s,
					 struct tkw__timeout *to)
{
	s->ledger.accepted--;
	s->ledger.pending--;
	return tkw__slab_put(&s->slab, to);
}

/*
 * A timeout that is PENDING, QUEUED or OWN is taken out of wherever it is, and
 * is not pending any more.
 *
 * outcome what became of it: a term of the shard's ledger.
 * state   RUNNING or ENDING.
 */
static inline void tkw__ledger_settle(struct tkw_timer *t, struct tkw__shard *s,
				      struct tkw__timeout *to,
				      uint64_t *outcome, uint32_t state)
{
	tkw__shard_take_out(s, to);
	tkw__set_state(to, state);
	s->ledger.pending--;
	++*outcome;
	tkw__ledger_unreserve(t, 1);
}

#endif /* TKW_TIMER_LEDGER_H */
