/* SPDX-License-Identifier: MIT */
/* admit.h - how a new timeout gets into a timer, for one and for a batch. */
#ifndef TKW_TIMER_ADMIT_H
#define TKW_TIMER_ADMIT_H

#include <errno.h>

#include "os/thread.h"
#include "timer/due.h"
#include "timer/ledger.h"
#include "timer/lookup.h"
#include "timer/start.h"

/* Where the calling thread schedules. */
static inline struct tkw__shard *tkw__own_shard(struct tkw_timer *t)
{
	return &t->shards[tkw__thread_local()->number & t->shard_mask];
}

/* Let a timeout have slack, which few ask for. */
void tkw__give_slack(const struct tkw_timer *t, struct tkw__timeout *to,
		     int64_t slack_ns, struct tkw__due *d);

/* A new timeout of a shard, PENDING and nowhere yet; NULL: no memory. The lock
 * is held. Inline: the compiler would rather have it once, and each schedule
 * pay for that. */
static inline __attribute__((always_inline)) struct tkw__timeout *
tkw__admit(struct tkw_timer *t, struct tkw__shard *s,
	   const struct tkw_task *task, struct tkw__due *d)
{
	struct tkw__timeout *to;

	if (!tkw__slab_has_room(&s->slab) && !tkw__shard_grow(s))
		return NULL;
	to = tkw__slab_take(&s->slab);
	if (task->slack_ns > 0)
		tkw__give_slack(t, to, task->slack_ns, d);
	to->fn = task->fn;
	to->ctx = task->ctx;
	to->on_cancel = task->on_cancel;
	to->before = tkw__before_of(t, *d);
	tkw__ledger_accept(s, to);
	return to;
}

/* Count a refusal, or tell of it; no lock is held. Return  what it was. */
int tkw__refused(struct tkw_timer *t, int err) __attribute__((cold));

#endif /* TKW_TIMER_ADMIT_H */
