/* SPDX-License-Identifier: MIT */
/* lookup.h - finds the timeout of an id, and says whether a call may have
 * it. */
#ifndef TKW_TIMER_LOOKUP_H
#define TKW_TIMER_LOOKUP_H

#include <errno.h>

#include "timer/object.h"

/* May this process use the timer? Returns 0, -EINVAL or -EPERM. */
static inline int tkw__usable(const struct tkw_timer *t)
{
	if (t == NULL)
		return -EINVAL;
	return tkw__is_child(t->epoch) ? -EPERM : 0;
}

/* The shard that an id names, with its lock held, or NULL if there is none. */
static inline struct tkw__shard *tkw__lock_shard(struct tkw_timer *t,
						 struct tkw__name n)
{
	struct tkw__shard *s;

	if (n.shard > t->shard_mask)
		return NULL;
	s = &t->shards[n.shard];
	tkw__lock_take(&s->lock);
	return s;
}

/* Takes the locks of all shards, in their order. */
static inline void tkw__lock_shards(struct tkw_timer *t)
{
	for (uint32_t i = 0; i <= t->shard_mask; i++)
		tkw__lock_take(&t->shards[i].lock);
}

/* The one decision between cancel and run, made under the shard's lock. Returns
 * 0 if the caller may have the timeout, else -EBUSY or -ENOENT. */
static inline int tkw__decide(const struct tkw__timeout *to)
{
	if (to == NULL)
		return -ENOENT;
	switch (tkw__state(to)) {
	case TKW__PENDING:
	case TKW__QUEUED:
	case TKW__OWN:
		return 0;
	case TKW__RUNNING:
		return -EBUSY;
	default:
		return -ENOENT; /* its on-cancel is running */
	}
}

#endif /* TKW_TIMER_LOOKUP_H */
