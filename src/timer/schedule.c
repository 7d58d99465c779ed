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

/* Accepts a new timeout, for which a place is reserved. */
static int take_in(struct tkw_timer *t, const struct tkw_task *task,
		   struct tkw__due d, struct tkw_timeout_id *id)
{
	struct tkw__shard *s = tkw__own_shard(t);
	struct tkw_timeout_id name;
	struct tkw__timeout *to;
	void *block = NULL;
	int err = -ESHUTDOWN;

	tkw__lock_take(&s->lock);
	if (s->closed)
		goto refuse;
	err = -ENOMEM;
	to = tkw__admit(t, s, task, &d);
	if (to == NULL)
		goto refuse;
	err = tkw__sleep_call(t, tkw__shard_need(s, d.tick));
	if (err != 0) {
		block = tkw__ledger_unaccept(s, to);
		goto refuse;
	}
	tkw__shard_place(s, to, d.tick);
	name = tkw__shard_id(s, to);
	tkw__lock_drop(&s->lock);
	if (id)
		*id = name;
	return 0;
refuse:
	tkw__lock_drop(&s->lock);
	tkw__give_back(t, block);
	tkw__ledger_unreserve(t, 1);
	return err;
}

/* Checks what can be refused before anything is taken. */
static inline int prepare(struct tkw_timer *t, const struct tkw_task *task)
{
	if (t == NULL || task == NULL || task->fn == NULL)
		return -EINVAL;
	if (tkw__is_child(t->epoch))
		return -EPERM;
	return tkw__ensure_started(t);
}

static int schedule(struct tkw_timer *t, const struct tkw_task *task,
		    struct tkw__due d, struct tkw_timeout_id *id)
{
	return tkw__ledger_reserve(t, 1) ? take_in(t, task, d, id) : -EAGAIN;
}

int tkw_timer_schedule(struct tkw_timer *t, const struct tkw_task *task,
		       int64_t delay_ns, struct tkw_timeout_id *id)
{
	int err = prepare(t, task);

	if (err == 0)
		err = schedule(t, task,
			       tkw__due_after(t, tkw__now(t), delay_ns), id);
	return err == 0 ? 0 : tkw__refused(t, err);
}

int tkw_timer_schedule_at(struct tkw_timer *t, const struct tkw_task *task,
			  int64_t deadline_ns, struct tkw_timeout_id *id)
{
	int err = prepare(t, task);

	if (err == 0)
		err = schedule(t, task, tkw__due_at(t, deadline_ns), id);
	return err == 0 ? 0 : tkw__refused(t, err);
}
