/* SPDX-License-Identifier: MIT */
/*
 * cancel.c - ends a timeout before its task runs.
 *
 * Steps: take the lock of the shard that the id names, find the timeout, decide
 *        by its state, settle it in the ledger. A timeout without an on-cancel
 *        is freed at once. Otherwise the lock is dropped, the on-cancel is
 *        called, and then the timeout is freed.
 *
 * Usual: most cancels find the lock free, and a timeout that only has to leave
 *        the wheel and its block. As in schedule.c, the public calls handle
 *        these without any other call.
 */
#include <errno.h>

#include "os/frame.h"
#include "os/thread.h"
#include "tickwheel/timer.h"
#include "timer/ending.h"
#include "timer/for_patterns.h"
#include "timer/ledger.h"
#include "timer/lookup.h"

void tkw__finish_ending(struct tkw_timer *t, struct tkw__shard *s,
			struct tkw__timeout *to)
{
	struct tkw__frame frame;
	void *block;

	if (to->on_cancel) {
		/* If the thread were cancelled in there, the timeout would
		 * never end. */
		int was = tkw__thread_no_cancel();

		tkw__frame_enter(&frame, t);
		to->on_cancel(to->ctx);
		tkw__frame_leave(&frame);
		tkw__thread_restore_cancel(was);
	}
	tkw__lock_take(&s->lock);
	block = tkw__shard_end(s, to);
	tkw__lock_drop(&s->lock);
	tkw__give_back(t, block);
}

/* Cancels a timeout that tkw__decide() has allowed, and drops the shard's
 * lock. */
static void cancel_and_drop(struct tkw_timer *t, struct tkw__shard *s,
			    struct tkw__timeout *to)
{
	void *block;

	if (to->on_cancel) {
		tkw__ledger_settle(t, s, to, &s->ledger.cancelled, TKW__ENDING);
		tkw__lock_drop(&s->lock);
		tkw__finish_ending(t, s, to);
		return;
	}
	/* The lock was held all the time, so nobody can be waiting for its
	 * end. */
	block = tkw__ledger_settle_and_free(t, s, to, tkw__slab_block_of(to),
					    &s->ledger.cancelled);
	tkw__lock_drop(&s->lock);
	tkw__give_back(t, block);
}

/* Cancels a timeout. The lock is held before, but not after. own: see
 * tkw__timer_cancel_own(). */
static __attribute__((noinline)) int cancel_locked(struct tkw_timer *t,
						   struct tkw__shard *s,
						   struct tkw__name n, bool own)
{
	struct tkw__timeout *to = tkw__shard_find(s, n);
	int err = tkw__decide(to);

	if (err != 0) {
		tkw__lock_drop(&s->lock);
		return err;
	}
	if (own)
		to->on_cancel = NULL;
	cancel_and_drop(t, s, to);
	return 0;
}

static __attribute__((noinline)) int wait_and_cancel(struct tkw_timer *t,
						     struct tkw__shard *s,
						     struct tkw__name n,
						     bool own)
{
	tkw__lock_wait(&s->lock);
	return cancel_locked(t, s, n, own);
}

/* The usual cancel; see the top of this file. */
static inline __attribute__((always_inline)) int
cancel(struct tkw_timer *t, struct tkw_timeout_id id, bool own)
{
	struct tkw__name n = tkw__name_of(id);
	struct tkw__timeout *to;
	struct tkw__shard *s;
	int err = tkw__usable(t);

	if (err != 0)
		return err;
	if (n.shard > t->shard_mask)
		return -ENOENT;
	s = &t->shards[n.shard];
	if (!tkw__lock_try(&s->lock))
		return wait_and_cancel(t, s, n, own);
	to = tkw__slab_place(&s->slab, n.index);
	if (to == NULL || !tkw__is_pending_as(to, n.generation) ||
	    (to->on_cancel && !own) ||
	    !tkw__block_puts_fast(tkw__block_of_name(&s->slab, n),
				  n.generation) ||
	    !tkw__shard_has_in_wheel(to))
		return cancel_locked(t, s, n, own);
	tkw__remove(s->wheel, &to->entry);
	tkw__ledger_count_cancelled(t, s);
	tkw__block_put(tkw__block_of_name(&s->slab, n), to, n.generation + 1);
	return tkw__lock_drop_last(&s->lock);
}

int tkw_timer_cancel(struct tkw_timer *t, struct tkw_timeout_id id)
{
	return cancel(t, id, false);
}

int tkw__timer_cancel_own(struct tkw_timer *t, struct tkw_timeout_id id)
{
	return cancel(t, id, true);
}

bool tkw__timer_is_child(const struct tkw_timer *t)
{
	return tkw__is_child(t->epoch);
}

bool tkw__timer_has_own_clock(const struct tkw_timer *t)
{
	return t->own_clock;
}

bool tkw__timer_has_thread(const struct tkw_timer *t)
{
	return tkw__has_thread(t);
}

int tkw_timer_cancel_wait(struct tkw_timer *t, struct tkw_timeout_id id)
{
	struct tkw__name n = tkw__name_of(id);
	struct tkw__timeout *to;
	struct tkw__shard *s;
	int end = tkw__usable(t);

	if (end != 0)
		return end;
	s = tkw__lock_shard(t, n);
	if (s == NULL)
		return -ENOENT;
	end = -ENOENT;
	while ((to = tkw__shard_find(s, n)) && tkw__decide(to) != 0) {
		if (tkw__frame_inside(t)) {
			end = -EDEADLK;
			break;
		}
		if (tkw__state(to) == TKW__RUNNING)
			end = 1;
		tkw__bell_wait(&s->ended, &s->lock);
	}
	if (to && end != -EDEADLK) {
		cancel_and_drop(t, s, to);
		return 0;
	}
	tkw__lock_drop(&s->lock);
	return end;
}
