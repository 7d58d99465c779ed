/* SPDX-License-Identifier: MIT */
/*
 * shard.h - a part of a timer: a lock, a wheel, the timeouts in it, and their
 * ledger.
 *
 * A thread schedules into the shard that its number picks, so that threads
 * rarely meet. An id says which shard its timeout lives in.
 *
 * Threads: the lock is held in all calls except init and fini. It is held for
 *          nanoseconds, or for microseconds if memory has to be allocated.
 *          Nothing here calls a function of the user's, except the allocator.
 */
#ifndef TKW_TIMER_SHARD_H
#define TKW_TIMER_SHARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/links.h"
#include "os/bell.h"
#include "os/sync.h"
#include "timer/histogram.h"
#include "timer/slab.h"
#include "timer/timeout.h"
#include "wheel/engine.h"

struct tkw__shard_kind;

struct tkw__shard {
	/* Aligned, so that shards share no cache line. */
	_Alignas(64) struct tkw__lock lock;
	uint32_t number;
	bool closed; /* set by stop: nothing new is accepted */
	/* The first tick that no turn has covered. A turn sets it when it first
	 * looks at the shard. A timeout that came before that look is part of
	 * the turn, in its order. One that comes later waits for the next
	 * turn. */
	uint64_t covered;
	/* NULL until the shard is used, so that an unused timer is small. */
	struct tkw_wheel *wheel;
	struct tkw__slab slab;
	struct tkw_ledger ledger;
	/*
	 * The fields up to here take two cache lines. They are all that a
	 * schedule or a cancel needs, and the pointers that these follow are in
	 * the first line.
	 *
	 * Timeouts that are PENDING or OWN and not in the wheel are in one of
	 * these lists:
	 * due      fired by this turn
	 * late     scheduled for a tick that is over; due in the next turn
	 * refused  refused by the executor; due in the turn of retry_tick
	 */
	struct tkw_link due;
	struct tkw_link late;
	struct tkw_link refused;
	/* The QUEUED timeouts, which the executor has. */
	struct tkw_link queued;
	/* The tick at which refused timeouts are offered to the executor
	 * again. */
	uint64_t retry_tick;
	/* Rung when a task or an on-cancel has returned. */
	struct tkw__bell ended;
	struct tkw__slab_rest slab_rest;
	const struct tkw__shard_kind *kind;
	/* Timeouts that came into the lists above from the wheel, those that
	 * came in from elsewhere, and those that left the lists. */
	uint64_t collected;
	uint64_t listed;
	uint64_t unlisted;
	/* For stats.h. */
	uint64_t rescheduled;
	uint64_t refusals;     /* refusals by the executor */
	uint64_t dropped_told; /* dropped timeouts that the log was told of */
	uint64_t turns;        /* shard 0 only: turns of the worker */
	/* Shard 0 only: how often the worker had woken up by the end of its
	 * last turn. */
	uint64_t wake_ups;
	struct tkw_histogram *lateness; /* allocated together with the wheel */
};
_Static_assert(sizeof(void *) != 8 || offsetof(struct tkw__shard, due) <= 128,
	       "what a schedule or a cancel needs is in two lines");

/* What the shards of a timer have in common. It must stay where it is. */
struct tkw__shard_kind {
	const struct tkw_timer_hooks *hooks;
	bool systems; /* as in struct tkw__slab_rest */
	struct tkw_wheel_config wheel;
	size_t wheel_bytes;
};

void tkw__shard_init(struct tkw__shard *s, uint32_t number,
		     const struct tkw__shard_kind *kind, uint32_t random);
void tkw__shard_fini(struct tkw__shard *s);

/* Makes room for timeouts in the slab, which must have none. The first call
 * also makes the wheel. Returns false if there is no memory. */
bool tkw__shard_grow(struct tkw__shard *s);

/* The timeout that an id names, in any state but FREE, or NULL. */
static inline struct tkw__timeout *tkw__shard_find(const struct tkw__shard *s,
						   struct tkw__name n)
{
	return tkw__slab_find(&s->slab, n.index, n.generation);
}

/* The id of a timeout in block n of the slab. */
static inline struct tkw_timeout_id
tkw__shard_id_in(const struct tkw__shard *s, uint32_t n,
		 const struct tkw__timeout *to)
{
	return tkw__id_of((struct tkw__name){ s->number, tkw__slab_index(n, to),
					      tkw__generation(to) });
}

static inline struct tkw_timeout_id tkw__shard_id(const struct tkw__shard *s,
						  const struct tkw__timeout *to)
{
	return tkw__shard_id_in(s, tkw__slab_block_of(to), to);
}

/*
 * How many timeouts are pending: how many there are in the wheel and the lists.
 *
 * The ledger's own field is not used, so that a schedule and a cancel have one
 * number less to change. And it is not computed from the other terms of the
 * ledger, because then the ledger would balance whatever the shard has lost.
 */
static inline uint64_t tkw__shard_pending(const struct tkw__shard *s)
{
	return tkw_wheel_count(s->wheel) + s->collected + s->listed -
	       s->unlisted;
}

/* Puts a PENDING or OWN timeout, which is in no list, at the end of one of the
 * shard's lists. Its tick stays as it is. */
static inline void tkw__shard_list(struct tkw__shard *s, struct tkw_link *list,
				   struct tkw__timeout *to)
{
	s->listed++;
	tkw__links_append(list, &to->entry.link);
}

/* The tick at which a timeout for this tick needs the worker. 0 means at once:
 * its tick is covered, so it waits for the next turn. */
static inline uint64_t tkw__shard_need(const struct tkw__shard *s,
				       uint64_t tick)
{
	return tick < s->covered ? 0 : tick;
}

/* Puts a PENDING timeout, which is in no list, where its tick belongs. */
static inline void tkw__shard_place(struct tkw__shard *s,
				    struct tkw__timeout *to, uint64_t tick)
{
	if (tick < s->covered) {
		to->entry.tick = tick;
		tkw__shard_list(s, &s->late, to);
	} else {
		tkw__add(s->wheel, &to->entry, tick);
	}
}

/* Takes a timeout out of one of the shard's lists. */
static inline void tkw__shard_unlist(struct tkw__shard *s,
				     struct tkw__timeout *to)
{
	s->unlisted++;
	tkw__links_remove(&to->entry.link);
}

/* True if a PENDING, OWN or QUEUED timeout is in the wheel, false if it is in
 * a list. */
static inline bool tkw__shard_has_in_wheel(const struct tkw__timeout *to)
{
	return to->entry.flags & TKW__LINKED;
}

/* Takes a PENDING, OWN or QUEUED timeout out of the wheel or its list. */
static inline void tkw__shard_take_out(struct tkw__shard *s,
				       struct tkw__timeout *to)
{
	if (tkw__shard_has_in_wheel(to))
		tkw__remove(s->wheel, &to->entry);
	else
		tkw__shard_unlist(s, to);
}

/* The same, and makes it PENDING, so that it can be put elsewhere. */
static inline void tkw__shard_pull(struct tkw__shard *s,
				   struct tkw__timeout *to)
{
	tkw__shard_take_out(s, to);
	tkw__set_state(to, TKW__PENDING);
}

/* True if a timeout that moves to another tick may stay where it is until its
 * old tick. Then the worker, which comes for the old tick, is not needed
 * earlier, and tkw__extend() is enough. */
static inline bool tkw__shard_can_extend(const struct tkw__shard *s,
					 const struct tkw__timeout *to,
					 uint64_t tick)
{
	return to->entry.flags & TKW__LINKED && tick >= to->entry.tick &&
	       tick >= s->covered;
}

/* Moves timeouts that are due up to a tick from the wheel to the due list, or
 * nearer in the wheel, in at most `steps` steps. Returns true if there is more
 * to do. */
bool tkw__shard_collect(struct tkw__shard *s, uint64_t tick, uint64_t steps);

/* Makes the late timeouts due, and the refused ones too if their tick has
 * come. */
void tkw__shard_collect_late(struct tkw__shard *s, uint64_t tick);

/* Puts a timeout, which is in no list, among the refused ones. They wait until
 * the next tick, and for at most `ticks` ticks more. */
void tkw__shard_refuse(struct tkw__shard *s, struct tkw__timeout *to,
		       uint64_t ticks);

/* Makes all due timeouts refused ones. */
void tkw__shard_put_off(struct tkw__shard *s, uint64_t ticks);

/* The tick at which the shard needs the worker. 0 means at once, TKW_TICK_NEVER
 * not at all. */
uint64_t tkw__shard_next(const struct tkw__shard *s);

/* Any PENDING, OWN or QUEUED timeout, or NULL if there is none. */
struct tkw__timeout *tkw__shard_any(const struct tkw__shard *s);

/* Frees a timeout that was RUNNING or ENDING, and wakes the threads that wait
 * for its end. Returns what tkw__slab_put() returns. */
static inline void *tkw__shard_end(struct tkw__shard *s,
				   struct tkw__timeout *to)
{
	tkw__bell_ring(&s->ended);
	return tkw__slab_put(&s->slab, tkw__slab_block_of(to), to);
}

/* Returns what is broken, or NULL. */
const char *tkw__shard_check(const struct tkw__shard *s);

#endif /* TKW_TIMER_SHARD_H */
