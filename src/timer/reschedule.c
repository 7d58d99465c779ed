/* SPDX-License-Identifier: MIT */
/*
 * reschedule.c - sets another deadline for a pending timeout.
 *
 * Steps: find the timeout, as cancel.c does; wake the worker if it would sleep
 *        for too long, as schedule.c does. A later deadline is a store in the
 *        timeout's entry, an earlier one a move in the wheel.
 */
#include <errno.h>

#include "tickwheel/timer.h"
#include "timer/due.h"
#include "timer/lookup.h"
#include "timer/member.h"
#include "timer/sleep.h"

/* Sets the deadline of a timeout that tkw__decide() has allowed. Returns 0 or
 * -EBADF. It is always inline, because with two callers the compiler would
 * rather share one copy, and each reschedule would pay for that. */
static inline __attribute__((always_inline)) int move(struct tkw_timer *t,
						      struct tkw__shard *s,
						      struct tkw__timeout *to,
						      struct tkw__due d)
{
	uint64_t slack = tkw__slack(to);

	if (slack > 0)
		d.tick = tkw_tick_with_slack(d.tick, slack);
	if (!tkw__shard_can_extend(s, to, d.tick)) {
		int err = tkw__sleep_call(t, tkw__shard_need(s, d.tick));

		if (err != 0)
			return err;
		tkw__shard_pull(s, to);
		tkw__shard_place(s, to, d.tick);
	} else if (d.tick > to->entry.tick) {
		tkw__extend(&to->entry, d.tick);
	}
	to->before = tkw__before_of(t, d);
	s->rescheduled++;
	return 0;
}

static int reschedule(struct tkw_timer *t, struct tkw_timeout_id id,
		      struct tkw__due d)
{
	struct tkw__name n = tkw__name_of(id);
	struct tkw__shard *s = tkw__lock_shard(t, n);
	struct tkw__timeout *to;
	int err;

	if (s == NULL)
		return -ENOENT;
	to = tkw__shard_find(s, n);
	err = tkw__decide(to);
	if (err == 0 && s->closed)
		err = -ESHUTDOWN;
	if (err == 0)
		err = move(t, s, to, d);
	tkw__lock_drop(&s->lock);
	if (err == -EBADF)
		tkw__sleep_tell_lost(t);
	return err;
}

int tkw_timer_reschedule(struct tkw_timer *t, struct tkw_timeout_id id,
			 int64_t delay_ns)
{
	int err = tkw__usable(t);

	if (err != 0)
		return err;
	return reschedule(t, id, tkw__due_after(t, tkw__now(t), delay_ns));
}

int tkw_timer_reschedule_at(struct tkw_timer *t, struct tkw_timeout_id id,
			    int64_t deadline_ns)
{
	int err = tkw__usable(t);

	return err != 0 ? err : reschedule(t, id, tkw__due_at(t, deadline_ns));
}

int tkw__timer_extend(struct tkw_timer *t, struct tkw_timeout_id id,
		      int64_t by_ns)
{
	struct tkw__name n = tkw__name_of(id);
	struct tkw__shard *s = tkw__lock_shard(t, n);
	struct tkw__timeout *to;
	int64_t deadline_ns;
	int err;

	if (s == NULL)
		return -ENOENT;
	to = tkw__shard_find(s, n);
	err = tkw__decide(to);
	if (err == 0 && s->closed)
		err = -ESHUTDOWN;
	if (err == 0) {
		deadline_ns = tkw__ns_add(tkw__deadline_of(t, to), by_ns);
		err = move(t, s, to, tkw__due_at(t, deadline_ns));
	}
	tkw__lock_drop(&s->lock);
	if (err == -EBADF)
		tkw__sleep_tell_lost(t);
	return err;
}
