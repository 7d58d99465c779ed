/* SPDX-License-Identifier: MIT */
/*
 * shard.h - a part of a timer: a lock, a wheel, the timeouts in it, and their
 * ledger. A thread schedules into the shard that its number picks, so that
 * threads do not meet; an id says where its timeout lives.
 *
 * All calls but init, fini, take and drop are made with the lock held, which is
 * a matter of nanoseconds, or of microseconds when there is memory to be got:
 * nothing here calls a function of the user's but the allocator.
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
	_Alignas(64) struct tkw__lock lock; /* no line of its neighbour's */
	uint32_t number;
	bool closed; /* by stop: nothing new is taken in */
	/* The first tick that no turn has covered. Set when a turn looks at the
	 * shard for the first time: what comes before that is part of the turn,
	 * in its order, and what comes later waits for the next. */
	uint64_t covered;
	/* NULL until the shard is used: an empty timer is small. */
	struct tkw_wheel *wheel;
	struct tkw__slab slab;
	struct tkw_ledger ledger;
	/* So far two lines, and all that a schedule or a cancel needs; what
	 * they have to follow to other lines is in the first.
	 *
	 * PENDING or OWN, not in the wheel: what this turn fires; what was
	 * scheduled for a tick that is over, for the next turn; and what the
	 * executor has refused, for the turn of the next tick. */
	struct tkw_link due;
	struct tkw_link late;
	struct tkw_link refused;
	/* QUEUED: the executor has them. */
	struct tkw_link queued;
	/* Refused ones are offered to the executor again at this tick. */
	uint64_t retry_tick;
	struct tkw__bell ended; /* a task or an on-cancel has */
	struct tkw__slab_rest slab_rest;
	const struct tkw__shard_kind *kind;
	/* For stats.h. */
	uint64_t collected; /* from the wheel */
	uint64_t rescheduled;
	uint64_t refusals;     /* of the executor */
	uint64_t dropped_told; /* to the log */
	uint64_t turns;        /* shard 0: of the worker */
	uint64_t wake_ups; /* shard 0: of the worker, before its last turn */
	struct tkw_histogram *lateness; /* there with the wheel */
};
_Static_assert(sizeof(void *) != 8 || offsetof(struct tkw__shard, due) <= 128,
	       "what a schedule or a cancel needs is in two lines");

/* What the shards of a timer have in common. It must stay where it is. */
struct tkw__shard_kind {
	const struct tkw_timer_hooks *hooks;
	bool systems; /* as for the slab */
	struct tkw_wheel_config wheel;
	size_t wheel_bytes;
};

void tkw__shard_init(struct tkw__shard *s, uint32_t number,
		     const struct tkw__shard_kind *kind, uint32_t random);
void tkw__shard_fini(struct tkw__shard *s);

/* Make room for timeouts in the slab, which has none: the first time together
 * with the wheel. Return false if there is no memory. */
bool tkw__shard_grow(struct tkw__shard *s);

/* The timeout that an id names, in any state but FREE; else NULL. */
static inline struct tkw__timeout *tkw__shard_find(const struct tkw__shard *s,
						   struct tkw__name n)
{
	return tkw__slab_find(&s->slab, n.index, n.generation);
}

static inline struct tkw_timeout_id tkw__shard_id(const struct tkw__shard *s,
						  const struct tkw__timeout *to)
{
	return tkw__id_of((struct tkw__name){ s->number, tkw__slab_index(to),
					      tkw__generation(to) });
}

/* Put a PENDING timeout, which is nowhere, at the end of one of the lists, with
 * its tick as it is. */
static inline void tkw__shard_list(struct tkw_link *list,
				   struct tkw__timeout *to)
{
	tkw__links_append(list, &to->entry.link);
}

/* When the worker is needed for a timeout that is placed at a tick; 0: at once.
 * If its tick is covered it waits for the next turn. */
static inline uint64_t tkw__shard_need(const struct tkw__shard *s,
				       uint64_t tick)
{
	return tick < s->covered ? 0 : tick;
}

/* Put a PENDING timeout, which is nowhere, where its tick belongs. */
static inline void tkw__shard_place(struct tkw__shard *s,
				    struct tkw__timeout *to, uint64_t tick)
{
	if (tick < s->covered) {
		to->entry.tick = tick;
		tkw__shard_list(&s->late, to);
	} else {
		tkw__add(s->wheel, &to->entry, tick);
	}
}

/* Take a PENDING, OWN or QUEUED timeout out of wherever it is. */
static inline void tkw__shard_take_out(struct tkw__shard *s,
				       struct tkw__timeout *to)
{
	if (to->entry.flags & TKW__LINKED)
		tkw__remove(s->wheel, &to->entry);
	else
		tkw__links_remove(&to->entry.link);
}

/* The same, and it is PENDING: to be put elsewhere. */
static inline void tkw__shard_pull(struct tkw__shard *s,
				   struct tkw__timeout *to)
{
	tkw__shard_take_out(s, to);
	tkw__set_state(to, TKW__PENDING);
}

/* May a timeout stay where it is until its old tick, if it moves to another?
 * Then the worker, which comes for the old one, is not needed earlier, and
 * tkw__extend() is enough. */
static inline bool tkw__shard_can_extend(const struct tkw__shard *s,
					 const struct tkw__timeout *to,
					 uint64_t tick)
{
	return to->entry.flags & TKW__LINKED && tick >= to->entry.tick &&
	       tick >= s->covered;
}

/* Bring what the wheel has due up to a tick to the list of what is due, or move
 * it nearer, so many steps at most. Return true if there is more to do. */
bool tkw__shard_collect(struct tkw__shard *s, uint64_t tick, uint64_t steps);

/* The late ones are due now, and the refused ones too if their tick has come.
 */
void tkw__shard_collect_late(struct tkw__shard *s, uint64_t tick);

/* Put a timeout, which is nowhere, among those that the executor has refused,
 * for so many ticks after the next one at most. */
void tkw__shard_refuse(struct tkw__shard *s, struct tkw__timeout *to,
		       uint64_t ticks);

/* All that is due counts as refused. */
void tkw__shard_put_off(struct tkw__shard *s, uint64_t ticks);

/* At which tick the shard needs the worker; 0: at once; TKW_TICK_NEVER. */
uint64_t tkw__shard_next(const struct tkw__shard *s);

/* Any PENDING, OWN or QUEUED timeout; NULL if there is none. */
struct tkw__timeout *tkw__shard_any(const struct tkw__shard *s);

/* Free a timeout that was RUNNING or ENDING, and tell those who wait for it.
 * Returns as tkw__slab_put(). */
void *tkw__shard_end(struct tkw__shard *s, struct tkw__timeout *to);

/* What is broken, or NULL. */
const char *tkw__shard_check(const struct tkw__shard *s);

#endif /* TKW_TIMER_SHARD_H */
