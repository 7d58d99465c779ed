/* SPDX-License-Identifier: MIT */
/*
 * timeout.h - the record of one timeout, and the id that names it.
 *
 * A record is a cache line. It is read and written only under the lock of its
 * shard.
 *
 * States: FREE    -> PENDING         scheduled
 *         PENDING -> RUNNING -> FREE fired
 *         PENDING -> ENDING  -> FREE cancelled, dropped or handed over
 *         PENDING -> QUEUED          given to the executor
 *         QUEUED  -> PENDING         refused by the executor, or rescheduled
 *         QUEUED  -> OWN             given up by the executor, to be run by the
 *                                    worker
 *
 * QUEUED and OWN end in the same ways as PENDING. For the user all three are
 * pending. A PENDING timeout is in the wheel (its entry is linked) or in one of
 * the shard's lists (it is not). An OWN timeout is in one of these lists, and a
 * QUEUED one in the list `queued`. RUNNING and ENDING last as long as the
 * user's function runs.
 */
#ifndef TKW_TIMER_TIMEOUT_H
#define TKW_TIMER_TIMEOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"
#include "tickwheel/timer.h"
#include "tickwheel/wheel.h"

enum {
	TKW__FREE = 0,
	TKW__PENDING = 1,
	TKW__RUNNING = 2,
	TKW__ENDING = 3,
	TKW__QUEUED = 4,
	TKW__OWN = 5
};

struct tkw__timeout {
	/* First, so that an entry can be cast to its timeout. If pointers are
	 * short, the end of the cache line stays empty. */
	_Alignas(64) struct tkw_entry entry;
	tkw_task_fn *fn;
	void *ctx; /* in a FREE record: the next free one */
	tkw_cancel_fn *on_cancel;
	/* How many units the deadline lies before the end of the tick; see
	 * due.h. */
	uint32_t before;
	uint32_t mark; /* generation, slack and state; see below */
};
_Static_assert(sizeof(struct tkw__timeout) == 64, "a timeout is a cache line");

/* The mark has 3 bits of state, 5 of slack and 24 of generation. The tests use
 * fewer generations, so that they run out. */
#ifndef TKW__GENERATION_BITS
#define TKW__GENERATION_BITS 24
#endif
enum {
	TKW__STATE_MASK = 7,
	TKW__SLACK_SHIFT = 3,
	TKW__SLACK_MASK = 31,
	TKW__GENERATION_SHIFT = 8,
	TKW__GENERATION_MAX = (1 << TKW__GENERATION_BITS) - 1
};

static inline uint32_t tkw__state(const struct tkw__timeout *to)
{
	return to->mark & TKW__STATE_MASK;
}

static inline void tkw__set_state(struct tkw__timeout *to, uint32_t state)
{
	to->mark = (to->mark & ~(uint32_t)TKW__STATE_MASK) | state;
}

static inline uint32_t tkw__generation(const struct tkw__timeout *to)
{
	return to->mark >> TKW__GENERATION_SHIFT;
}

/* Is it PENDING, and has it this generation? One comparison, in which the slack
 * is left out. */
static inline bool tkw__is_pending_as(const struct tkw__timeout *to,
				      uint32_t generation)
{
	uint32_t slack = TKW__SLACK_MASK << TKW__SLACK_SHIFT;

	return (to->mark & ~slack) ==
	       (generation << TKW__GENERATION_SHIFT | TKW__PENDING);
}

/* May it still be cancelled? */
static inline bool tkw__is_pending(const struct tkw__timeout *to)
{
	uint32_t state = tkw__state(to);

	return state == TKW__PENDING || state == TKW__QUEUED ||
	       state == TKW__OWN;
}

/* The slack in ticks: 0, or a power of two up to 2^30. */
static inline uint64_t tkw__slack(const struct tkw__timeout *to)
{
	uint32_t bits = to->mark >> TKW__SLACK_SHIFT & TKW__SLACK_MASK;

	return bits == 0 ? 0 : UINT64_C(1) << (bits - 1);
}

static inline uint32_t tkw__slack_bits(uint64_t ticks)
{
	return ticks == 0 ? 0 : tkw__highest_bit(ticks) + 1;
}

/* An id has 8 bits of shard, 32 of index and 24 of generation. */
struct tkw__name {
	uint32_t shard;
	uint32_t index;
	uint32_t generation;
};

static inline struct tkw_timeout_id tkw__id_of(struct tkw__name n)
{
	return (struct tkw_timeout_id){ (uint64_t)n.shard << 56 |
					(uint64_t)n.index << 24 |
					n.generation };
}

static inline struct tkw__name tkw__name_of(struct tkw_timeout_id id)
{
	return (struct tkw__name){ (uint32_t)(id.bits >> 56),
				   (uint32_t)(id.bits >> 24),
				   (uint32_t)id.bits & 0xffffff };
}

static inline struct tkw__timeout *tkw__timeout_of(struct tkw_entry *e)
{
	return (struct tkw__timeout *)e; /* the entry is its first member */
}

#endif /* TKW_TIMER_TIMEOUT_H */
