/* SPDX-License-Identifier: MIT */
/*
 * turn.c - one pass over everything that is due.
 *
 * Idea:    a turn reads the clock. It looks at each shard, and tells it how far
 *          the turn goes (`covered`). Then, tick by tick over all shards, it
 *          moves what is due to the shard's due list, a batch at a time, and
 *          fires it. A timeout that is scheduled meanwhile for a tick of this
 *          turn goes to the shard's late list and waits for the next turn, so a
 *          turn always ends. A bounded turn may stop in the middle. The next
 *          call continues it, so that the order is that of a turn in one go.
 * Covered: each shard has its own `covered`, set under its lock with the first
 *          look. A timeout that was scheduled before is in the wheel, in its
 *          order, and one that comes later finds its tick covered. So a shard
 *          gets nothing new for this turn after the first look, and what the
 *          worker remembers of it (`next`) stays true.
 */
#include "timer/turn.h"

#include <stdio.h>

#include "timer/due.h"
#include "timer/fire.h"

/* Fires what a shard has at a tick, which is the next tick of all shards. */
static uint64_t run_tick(struct tkw_timer *t, struct tkw__shard *s,
			 uint64_t tick)
{
	uint64_t fired = 0;
	bool more;

	tkw__lock_take_first(&s->lock);
	do {
		tkw__lock_let_in(&s->lock);
		more = tkw__shard_collect(s, tick, TKW__FIRE_BATCH);
		t->next[s->number] = tkw_wheel_next_tick(s->wheel);
		fired += tkw__fire_due(t, s);
	} while (more && !tkw__fire_is_over(t));
	tkw__lock_drop(&s->lock);
	return fired;
}

/* The earliest tick of what is remembered of the shards. */
static uint64_t least_next(const struct tkw_timer *t)
{
	uint64_t least = TKW_TICK_NEVER;

	for (uint32_t i = 0; i <= t->shard_mask; i++)
		least = tkw__min_u64(least, t->next[i]);
	return least;
}

/* Begins a turn up to a tick. From here on nothing new comes into it. Returns
 * true if something is in the due lists. */
static bool begin_turn(struct tkw_timer *t, uint64_t to)
{
	bool listed = false;

	t->turn_to = to;
	t->patient = false;
	for (uint32_t i = 0; i <= t->shard_mask; i++) {
		struct tkw__shard *s = &t->shards[i];

		tkw__lock_take_first(&s->lock);
		tkw__shard_collect_late(s, to);
		s->covered = to + 1;
		t->next[i] = tkw_wheel_next_tick(s->wheel);
		listed |= !tkw__links_empty(&s->due);
		tkw__lock_drop(&s->lock);
	}
	return listed;
}

/* Fires what is in the due lists: late timeouts, and those that a bounded turn
 * has left. */
static uint64_t run_lists(struct tkw_timer *t)
{
	uint64_t fired = 0;

	for (uint32_t i = 0; i <= t->shard_mask && !tkw__fire_is_over(t); i++) {
		tkw__lock_take_first(&t->shards[i].lock);
		fired += tkw__fire_due(t, &t->shards[i]);
		tkw__lock_drop(&t->shards[i].lock);
	}
	return fired;
}

/* True if a bounded turn has left something. */
static bool is_unfinished(struct tkw_timer *t)
{
	bool left;

	if (t->budget > 0 || tkw__is_stopping(t))
		return false;
	left = least_next(t) <= t->turn_to;
	for (uint32_t i = 0; i <= t->shard_mask && !left; i++) {
		tkw__lock_take_first(&t->shards[i].lock);
		left = !tkw__links_empty(&t->shards[i].due);
		tkw__lock_drop(&t->shards[i].lock);
	}
	return left;
}

/* How many timeouts a shard has dropped since the last call. The lock is
 * held. */
static uint64_t take_dropped(struct tkw__shard *s)
{
	uint64_t dropped = s->ledger.dropped - s->dropped_told;

	s->dropped_told = s->ledger.dropped;
	return dropped;
}

static void tell_dropped(const struct tkw_timer *t, uint64_t dropped)
{
	char line[80];

	if (dropped == 0)
		return;
	snprintf(line, sizeof(line),
		 "tickwheel: the executor refused, and %llu timeouts were "
		 "dropped",
		 (unsigned long long)dropped);
	tkw__log(t, line);
}

void tkw__turn_tell_dropped(struct tkw_timer *t)
{
	uint64_t dropped = 0;

	for (uint32_t i = 0; i <= t->shard_mask; i++) {
		tkw__lock_take(&t->shards[i].lock);
		dropped += take_dropped(&t->shards[i]);
		tkw__lock_drop(&t->shards[i].lock);
	}
	tell_dropped(t, dropped);
}

/* Advances every wheel to the end of the turn, where nothing is left. */
static void end_turn(struct tkw_timer *t)
{
	uint64_t dropped = 0;

	for (uint32_t i = 0; i <= t->shard_mask; i++) {
		struct tkw__shard *s = &t->shards[i];

		tkw__lock_take_first(&s->lock);
		tkw__shard_collect(s, t->turn_to, 0);
		dropped += take_dropped(s);
		t->next[i] = tkw__shard_next(s);
		if (i == 0) {
			s->turns++;
			s->wake_ups = t->wake_ups;
		}
		tkw__lock_drop(&s->lock);
	}
	tell_dropped(t, dropped);
}

uint64_t tkw__turn(struct tkw_timer *t, uint64_t max, uint64_t *next)
{
	uint64_t fired = 0;
	uint64_t tick;
	bool listed = true; /* a bounded turn may have left something */

	t->budget = max;
	t->turn_ns = tkw__now(t);
	t->seen_ns = t->turn_ns;
	if (!t->own_clock)
		t->seen_coarse_ns = tkw__clock_coarse();
	t->refused_in_a_row = 0;
	if (!t->unfinished)
		listed = begin_turn(t, tkw__tick_at(t, t->turn_ns));
	if (listed)
		fired = run_lists(t);
	while ((tick = least_next(t)) <= t->turn_to && !tkw__fire_is_over(t)) {
		for (uint32_t i = 0; i <= t->shard_mask; i++) {
			if (t->next[i] <= tick && !tkw__fire_is_over(t))
				fired += run_tick(t, &t->shards[i], tick);
		}
	}
	*next = 0;
	t->unfinished = is_unfinished(t);
	if (!t->unfinished) {
		end_turn(t);
		*next = least_next(t);
	}
	return fired;
}

uint64_t tkw__turn_next(struct tkw_timer *t)
{
	uint64_t least = TKW_TICK_NEVER;

	for (uint32_t i = 0; i <= t->shard_mask; i++) {
		struct tkw__shard *s = &t->shards[i];

		tkw__lock_take_first(&s->lock);
		least = tkw__min_u64(least, tkw__shard_next(s));
		tkw__lock_drop(&s->lock);
	}
	return least;
}
