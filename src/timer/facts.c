/* SPDX-License-Identifier: MIT */
/* facts.c - answers questions about a timer and its timeouts. */
#include <errno.h>
#include <stdio.h>

#include "tickwheel/timer.h"
#include "timer/due.h"
#include "timer/facts.h"
#include "timer/lookup.h"
#include "timer/member.h"
#include "timer/text.h"

struct tkw_timeout_info tkw__facts_of(const struct tkw_timer *t,
				      const struct tkw__shard *s,
				      const struct tkw__timeout *to,
				      int64_t now_ns)
{
	int64_t deadline_ns = tkw__deadline_of(t, to);
	struct tkw_task task = tkw__task_of(to);

	task.slack_ns = (int64_t)(tkw__slack(to) * t->tick_ns);
	/* A running task is due, even if the clock was read before its
	 * deadline. */
	if (tkw__state(to) == TKW__RUNNING)
		now_ns = tkw__max_i64(now_ns, deadline_ns);
	return (struct tkw_timeout_info){
		.id = tkw__shard_id(s, to),
		.state = tkw__is_pending(to) ? TKW_TIMEOUT_PENDING
					     : TKW_TIMEOUT_RUNNING,
		.deadline_ns = deadline_ns,
		.left_ns = deadline_ns == TKW_NEVER_NS ? TKW_NEVER_NS
						       : deadline_ns - now_ns,
		.task = task,
	};
}

int tkw_timer_get(struct tkw_timer *t, struct tkw_timeout_id id,
		  struct tkw_timeout_info *info)
{
	struct tkw__name n = tkw__name_of(id);
	const struct tkw__timeout *to;
	struct tkw__shard *s;
	int err = info ? tkw__usable(t) : -EINVAL;
	int64_t now;

	if (err != 0)
		return err;
	now = tkw__now(t);
	s = tkw__lock_shard(t, n);
	if (s == NULL)
		return -ENOENT;
	to = tkw__shard_find(s, n);
	if (to && tkw__state(to) != TKW__ENDING)
		*info = tkw__facts_of(t, s, to, now);
	else
		err = -ENOENT;
	tkw__lock_drop(&s->lock);
	return err;
}

int tkw_timer_print_timeout(struct tkw_timer *t, struct tkw_timeout_id id,
			    char *buf, size_t size)
{
	struct tkw_timeout_info info;
	const char *form;
	char time[TKW__TIME_BYTES];
	int err;

	if (t == NULL || (buf == NULL && size != 0))
		return -EINVAL;
	err = tkw_timer_get(t, id, &info);
	if (err != 0)
		return err;
	if (info.left_ns == TKW_NEVER_NS)
		return snprintf(buf, size, "never due");
	tkw__print_time(time, sizeof(time),
			info.left_ns > 0 ? info.left_ns : -info.left_ns);
	if (info.state == TKW_TIMEOUT_RUNNING)
		form = "running, %s late";
	else if (info.left_ns > 0)
		form = "due in %s";
	else
		form = "due, %s late";
	return snprintf(buf, size, form, time);
}

uint64_t tkw_timer_count(struct tkw_timer *t)
{
	struct tkw_ledger l;

	return tkw_timer_get_ledger(t, &l) == 0 ? l.pending : 0;
}

int64_t tkw_timer_now_ns(struct tkw_timer *t)
{
	return t ? tkw__now(t) : 0;
}

int64_t tkw_timer_tick_ns(struct tkw_timer *t)
{
	return t ? (int64_t)t->tick_ns : 0;
}

/*
 * A whole shard under one lock. Smaller pieces would not be sound: the counts
 * of wheel, slab and ledger agree only at one moment, a slot can hold all
 * timeouts, and a walk that lets go of the lock in the middle of a list would
 * have to leave something in it to find its place again.
 */
const char *tkw_timer_check(struct tkw_timer *t)
{
	const char *broken = NULL;

	if (t == NULL || tkw__is_child(t->epoch))
		return "NULL, or a timer of another process";
	for (uint32_t i = 0; i <= t->shard_mask && !broken; i++) {
		tkw__lock_take(&t->shards[i].lock);
		broken = tkw__shard_check(&t->shards[i]);
		tkw__lock_drop(&t->shards[i].lock);
	}
	return broken;
}
