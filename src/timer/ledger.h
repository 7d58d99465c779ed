/* SPDX-License-Identifier: MIT */
/*
 * ledger.h - where a timeout becomes pending, and stops being so. The usual
 * cancel (cancel.c) takes the timeout out and frees it by itself, and is only
 * counted here.
 *
 * Each timeout that is accepted is settled once: fired, cancelled, dropped or
 * handed over. Accepting and settling change the ledger of the shard, under the
 * shard's lock, so the law of the ledger holds at every moment. With
 * max_pending, a place is reserved before a timeout is accepted, and is free
 * again the moment it is settled. So a timeout that is no longer pending takes
 * up no place.
 */
#ifndef TKW_TIMER_LEDGER_H
#define TKW_TIMER_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "timer/object.h"

/* Takes places under max_pending. No lock may be held. Returns false if there
 * are not enough. */
static inline bool tkw__ledger_reserve(struct tkw_timer *t, uint64_t count)
{
	uint64_t was;

	if (!t->limited)
		return true;
	was = TKW__LOAD(&t->reserved, RELAXED);
	/* Not an add that is undone on failure: for a moment it would refuse
	 * another caller for whom there is room. */
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

/* Makes a new timeout PENDING. */
static inline void tkw__ledger_accept(struct tkw__shard *s,
				      struct tkw__timeout *to)
{
	to->mark |= TKW__PENDING;
	s->ledger.accepted++;
}

/* Undoes tkw__ledger_accept(), because the schedule fails. The timeout must be
 * in no list. Its place stays reserved, and the schedule gives it back. Returns
 * what tkw__slab_put() returns. */
static inline void *tkw__ledger_unaccept(struct tkw__shard *s,
					 struct tkw__timeout *to)
{
	s->ledger.accepted--;
	return tkw__slab_put(&s->slab, tkw__slab_block_of(to), to);
}

/*
 * Settles a timeout that is PENDING, QUEUED or OWN: takes it out of the wheel
 * or its list, and no longer counts it as pending.
 *
 * outcome  What became of it: a term of the shard's ledger.
 * state    RUNNING or ENDING.
 */
static inline void tkw__ledger_settle(struct tkw_timer *t, struct tkw__shard *s,
				      struct tkw__timeout *to,
				      uint64_t *outcome, uint32_t state)
{
	tkw__shard_take_out(s, to);
	tkw__set_state(to, state);
	++*outcome;
	tkw__ledger_unreserve(t, 1);
}

/* Makes a timeout RUNNING that is due or QUEUED, so it is in a list. */
static inline void tkw__ledger_fire(struct tkw_timer *t, struct tkw__shard *s,
				    struct tkw__timeout *to)
{
	tkw__shard_unlist(s, to);
	tkw__set_state(to, TKW__RUNNING);
	s->ledger.fired++;
	tkw__ledger_unreserve(t, 1);
}

/* Counts a cancel whose timeout the caller takes out and frees. */
static inline void tkw__ledger_count_cancelled(struct tkw_timer *t,
					       struct tkw__shard *s)
{
	s->ledger.cancelled++;
	tkw__ledger_unreserve(t, 1);
}

/* Settles a timeout of block n that ends without a call of the user's, and
 * frees it. Returns what tkw__slab_put() returns. */
static inline void *tkw__ledger_settle_and_free(struct tkw_timer *t,
						struct tkw__shard *s,
						struct tkw__timeout *to,
						uint32_t n, uint64_t *outcome)
{
	tkw__shard_take_out(s, to);
	++*outcome;
	tkw__ledger_unreserve(t, 1);
	return tkw__slab_put(&s->slab, n, to);
}

#endif /* TKW_TIMER_LEDGER_H */
