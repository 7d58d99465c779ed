/* SPDX-License-Identifier: MIT */
/* admit.h - how a new timeout gets into a timer, alone or in a batch. */
#ifndef TKW_TIMER_ADMIT_H
#define TKW_TIMER_ADMIT_H

#include <errno.h>

#include "os/thread.h"
#include "timer/due.h"
#include "timer/ledger.h"
#include "timer/lookup.h"
#include "timer/start.h"

/* The shard that the calling thread schedules into. */
static inline struct tkw__shard *tkw__own_shard(struct tkw_timer *t)
{
	return &t->shards[tkw__thread_local()->number & t->shard_mask];
}

/* Gives a timeout slack, which few callers ask for. */
void tkw__give_slack(const struct tkw_timer *t, struct tkw__timeout *to,
		     int64_t slack_ns, struct tkw__due *d);

/* Writes what the user wants into a new timeout, and accepts it. */
static inline void tkw__fill(struct tkw__shard *s, struct tkw__timeout *to,
			     const struct tkw_task *task, uint32_t before)
{
	to->fn = task->fn;
	to->ctx = task->ctx;
	to->on_cancel = task->on_cancel;
	to->before = before;
	tkw__ledger_accept(s, to);
}

/* Makes a new timeout of a shard, PENDING and in no list yet. `block` receives
 * the number of its block. Returns NULL if there is no memory. The lock is
 * held. It is always inline, because the compiler would rather share one copy,
 * and each schedule would pay for that. */
static inline __attribute__((always_inline)) struct tkw__timeout *
tkw__admit(struct tkw_timer *t, struct tkw__shard *s,
	   const struct tkw_task *task, struct tkw__due *d, uint32_t *block)
{
	struct tkw__timeout *to;

	if (!tkw__slab_has_room(&s->slab) && !tkw__shard_grow(s))
		return NULL;
	to = tkw__slab_take(&s->slab, block);
	if (task->slack_ns > 0)
		tkw__give_slack(t, to, task->slack_ns, d);
	tkw__fill(s, to, task, tkw__before_of(t, *d));
	return to;
}

/* Counts a refusal, or tells the log of it. No lock is held. Returns err. */
int tkw__refused(struct tkw_timer *t, int err) __attribute__((cold));

#endif /* TKW_TIMER_ADMIT_H */
