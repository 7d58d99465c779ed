/* SPDX-License-Identifier: MIT */
/*
 * idle.c - waits until nothing is pending or running.
 *
 * A timer is idle when no record of any of its slabs is in use. All slabs are
 * looked at under all locks, at one moment. A thread that finds a slab in use
 * waits until that one is empty, and then looks at all of them again.
 */
#include <errno.h>

#include "os/frame.h"
#include "tickwheel/timer.h"
#include "timer/lookup.h"

/* Takes the locks of all shards, in their order, and drops all but that of the
 * first shard in use. Returns NULL, with no lock held, if none is in use. */
static struct tkw__shard *lock_busy(struct tkw_timer *t)
{
	struct tkw__shard *busy = NULL;

	tkw__lock_shards(t);
	for (uint32_t i = 0; i <= t->shard_mask; i++) {
		struct tkw__shard *s = &t->shards[i];

		if (busy == NULL && !tkw__slab_is_empty(&s->slab))
			busy = s;
		else
			tkw__lock_drop(&s->lock);
	}
	return busy;
}

int tkw_timer_wait_idle(struct tkw_timer *t, int64_t timeout_ns)
{
	int64_t until_ns;
	struct tkw__shard *s;
	int err = tkw__usable(t);

	if (err != 0)
		return err;
	if (!tkw__has_thread(t))
		return -EINVAL;
	if (tkw__frame_inside(t))
		return -EDEADLK;
	until_ns = tkw__bell_until(timeout_ns);
	while (err == 0 && (s = lock_busy(t)) != NULL) {
		if (!tkw__bell_wait_until(&s->slab_rest.emptied, &s->lock,
					  until_ns))
			err = -ETIMEDOUT;
		tkw__lock_drop(&s->lock);
	}
	return err;
}
