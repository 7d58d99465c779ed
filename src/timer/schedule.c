/* SPDX-License-Identifier: MIT */
/*
 * schedule.c - schedules one timeout.
 *
 * Steps: start the timer if needed; reserve a place, if there is a limit; take
 *        the lock of the thread's own shard; take a record from its slab and
 *        accept it in the ledger; wake the worker if it would sleep for too
 *        long; put the timeout into the wheel. The worker is woken before the
 *        last step and under the lock, so that the schedule can be undone if
 *        the worker cannot be reached.
 *
 * Usual: most schedules need only a place of a block, and an append to a list
 *        of the wheel. The public calls handle these without any other call,
 *        so that they need not save registers, which cost a fifth of the
 *        whole. All others go to schedule_from_start(), or to
 *        schedule_locked() if they have the lock already.
 */
#include "tickwheel/timer.h"

#include <errno.h>

#include "timer/admit.h"
#include "timer/sleep.h"

void tkw__give_slack(const struct tkw_timer *t, struct tkw__timeout *to,
		     int64_t slack_ns, struct tkw__due *d)
{
	uint64_t ns = tkw__min_u64((uint64_t)slack_ns, t->slack_max_ns);
	uint64_t ticks = ns / t->tick_ns;

	to->mark |= tkw__slack_bits(ticks) << TKW__SLACK_SHIFT;
	d->tick = tkw_tick_with_slack(d->tick, ticks);
}

int tkw__refused(struct tkw_timer *t, int err)
{
	if (err == -EAGAIN)
		TKW__ADD(&t->refused_full, 1, RELAXED);
	else if (err == -ENOMEM)
		TKW__ADD(&t->refused_memory, 1, RELAXED);
	else if (err == -ESHUTDOWN)
		TKW__ADD(&t->refused_stopped, 1, RELAXED);
	else if (err == -EBADF) {
		TKW__ADD(&t->refused_lost, 1, RELAXED);
		tkw__sleep_tell_lost(t);
	}
	return err;
}

/* Accepts a timeout for which a place is reserved. The lock is held before, but
 * not after. */
static __attribute__((noinline)) int
schedule_locked(struct tkw_timer *t, struct tkw__shard *s,
		const struct tkw_task *task, struct tkw__due d,
		struct tkw_timeout_id *id)
{
	struct tkw_timeout_id name;
	struct tkw__timeout *to;
	uint32_t n;
	void *block = NULL;
	int err = -ESHUTDOWN;

	if (s->closed)
		goto refuse;
	err = -ENOMEM;
	to = tkw__admit(t, s, task, &d, &n);
	if (to == NULL)
		goto refuse;
	err = tkw__sleep_call(t, tkw__shard_need(s, d.tick));
	if (err != 0) {
		block = tkw__ledger_unaccept(s, to);
		goto refuse;
	}
	tkw__shard_place(s, to, d.tick);
	name = tkw__shard_id_in(s, n, to);
	tkw__lock_drop(&s->lock);
	if (id)
		*id = name;
	return 0;
refuse:
	tkw__lock_drop(&s->lock);
	tkw__give_back(t, block);
	tkw__ledger_unreserve(t, 1);
	return tkw__refused(t, err);
}

/* Schedules a timeout whose arguments were checked. */
static __attribute__((noinline)) int
schedule_from_start(struct tkw_timer *t, const struct tkw_task *task,
		    struct tkw__due d, struct tkw_timeout_id *id)
{
	struct tkw__shard *s = tkw__own_shard(t);
	int err = tkw__ensure_started(t);

	if (err == 0 && !tkw__ledger_reserve(t, 1))
		err = -EAGAIN;
	if (err != 0)
		return tkw__refused(t, err);
	tkw__lock_take(&s->lock);
	return schedule_locked(t, s, task, d, id);
}

/* The block from which a timeout can be taken and put into the wheel without a
 * call of anything, or NULL if a schedule has more to do. */
static inline struct tkw__block *simple_block(const struct tkw_timer *t,
					      const struct tkw__shard *s,
					      uint64_t tick)
{
	struct tkw__block *b;

	if (s->closed || !tkw__slab_has_room(&s->slab) || tick < s->covered ||
	    tick < TKW__LOAD(&t->armed, RELAXED) ||
	    !tkw__adds_fast(s->wheel, tick))
		return NULL;
	b = &s->slab.directory->block[s->slab.roomy];
	return tkw__block_takes_fast(b) ? b : NULL;
}

/* The usual schedule; see the top of this file. */
static inline __attribute__((always_inline)) int
schedule(struct tkw_timer *t, const struct tkw_task *task, struct tkw__due d,
	 struct tkw_timeout_id *id)
{
	struct tkw__shard *s;
	struct tkw__block *b;
	struct tkw__timeout *to;

	if (!tkw__is_started(t) || !t->plain || task->slack_ns > 0 ||
	    tkw__thread_number() == 0)
		return schedule_from_start(t, task, d, id);
	s = &t->shards[tkw__thread_number() & t->shard_mask];
	if (!tkw__lock_try(&s->lock))
		return schedule_from_start(t, task, d, id);
	b = simple_block(t, s, d.tick);
	if (b == NULL)
		return schedule_locked(t, s, task, d, id);
	to = tkw__block_take(b);
	tkw__fill(s, to, task, (uint32_t)tkw__ns_before_end(t, d));
	tkw__add_fast(s->wheel, &to->entry, d.tick);
	if (id)
		*id = tkw__shard_id_in(s, s->slab.roomy, to);
	return tkw__lock_drop_last(&s->lock);
}

/* Checks what is wrong with a call at all times. */
static inline int check(const struct tkw_timer *t, const struct tkw_task *task)
{
	if (t == NULL || task == NULL || task->fn == NULL)
		return -EINVAL;
	return tkw__is_child(t->epoch) ? -EPERM : 0;
}

int tkw_timer_schedule(struct tkw_timer *t, const struct tkw_task *task,
		       int64_t delay_ns, struct tkw_timeout_id *id)
{
	int err = check(t, task);

	if (err != 0)
		return err;
	return schedule(t, task, tkw__due_after(t, tkw__now(t), delay_ns), id);
}

int tkw_timer_schedule_at(struct tkw_timer *t, const struct tkw_task *task,
			  int64_t deadline_ns, struct tkw_timeout_id *id)
{
	int err = check(t, task);

	if (err != 0)
		return err;
	return schedule(t, task, tkw__due_at(t, deadline_ns), id);
}
