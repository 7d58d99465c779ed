/* SPDX-License-Identifier: MIT */
/*
 * fire.c - fires a timeout that is due. The worker calls its task, or gives it
 * to the executor. The executor's threads come back through jobs.c to run the
 * task, or to give it up.
 */
#include "timer/fire.h"

#include <errno.h>

#include "os/frame.h"
#include "timer/due.h"
#include "timer/ending.h"
#include "timer/ledger.h"
#include "timer/sleep.h"

/* Makes a timeout RUNNING. The lock is held. Returns its deadline. */
static inline int64_t begin(struct tkw_timer *t, struct tkw__shard *s,
			    struct tkw__timeout *to, int64_t now_ns)
{
	int64_t deadline_ns = tkw__deadline_of(t, to);

	tkw__histogram_add(s->lateness, tkw__max_i64(now_ns - deadline_ns, 0));
	tkw__ledger_settle(t, s, to, &s->ledger.fired, TKW__RUNNING);
	return deadline_ns;
}

/* Calls the task of a RUNNING timeout. No lock is held. */
static void call(struct tkw_timer *t, struct tkw_timeout_id id,
		 const struct tkw__timeout *to, int64_t deadline_ns,
		 int64_t now_ns)
{
	struct tkw_firing firing = {
		.timer = t,
		.id = id,
		.deadline_ns = deadline_ns,
		/* A timeout that was scheduled after the turn began may have a
		 * later deadline than now_ns. It is on time. */
		.late_ns = tkw__max_i64(now_ns - deadline_ns, 0),
	};
	struct tkw__frame frame;

	tkw__frame_enter(&frame, t);
	to->fn(&firing, to->ctx);
	tkw__frame_leave(&frame);
}

/* The time: exact if that matters, otherwise as of the last tick of the coarse
 * clock, which is very cheap to read. */
static int64_t look_at_clock(struct tkw_timer *t)
{
	int64_t coarse_ns = tkw__clock_coarse();

	if (t->own_clock || t->slow.limit_ns > 0 ||
	    coarse_ns != t->seen_coarse_ns) {
		t->seen_ns = tkw__now(t);
		t->seen_coarse_ns = coarse_ns;
	}
	return t->seen_ns;
}

/* Fires a timeout that is in a list. The lock is held before and after, but not
 * during the call. */
static void run(struct tkw_timer *t, struct tkw__shard *s,
		struct tkw__timeout *to)
{
	struct tkw_timeout_id id = tkw__shard_id(s, to);
	int64_t now_ns = look_at_clock(t);
	int64_t deadline_ns = begin(t, s, to, now_ns);
	void *block;

	tkw__lock_drop(&s->lock);
	if (t->slow.limit_ns > 0)
		tkw__slow_begin(t, to->fn, now_ns);
	call(t, id, to, deadline_ns, t->turn_ns);
	if (t->slow.limit_ns > 0)
		tkw__slow_end(t);
	tkw__lock_take_first(&s->lock);
	block = tkw__shard_end(s, to);
	if (block) {
		tkw__lock_drop(&s->lock);
		tkw__give_back(t, block);
		tkw__lock_take_first(&s->lock);
	}
}

/* Ends a QUEUED timeout that nobody will run. The lock is held before and
 * after, but not while its on-cancel runs. */
static void drop(struct tkw_timer *t, struct tkw__shard *s,
		 struct tkw__timeout *to)
{
	tkw__ledger_settle(t, s, to, &s->ledger.dropped, TKW__ENDING);
	tkw__lock_drop(&s->lock);
	tkw__finish_ending(t, s, to);
	tkw__lock_take_first(&s->lock);
}

/* The timeout of an id, or NULL if it is no longer QUEUED: it was cancelled,
 * rescheduled or handed over meanwhile. The lock is held. */
static struct tkw__timeout *find_queued(const struct tkw__shard *s,
					struct tkw_timeout_id id)
{
	struct tkw__timeout *to = tkw__shard_find(s, tkw__name_of(id));

	return to && tkw__state(to) == TKW__QUEUED ? to : NULL;
}

/* Called when the executor has refused. If it is shut down, the timeouts it
 * refuses wait longer each time, up to a second. The wait grows at most once a
 * turn. */
static void learn_patience(struct tkw_timer *t, int err)
{
	uint64_t most = tkw__max_u64(TKW_SEC / t->tick_ns, 1);

	if (err != -ESHUTDOWN)
		t->patience_ticks = 0;
	else if (!t->patient)
		t->patience_ticks = tkw__min_u64(
			tkw__max_u64(2 * t->patience_ticks, 1), most);
	t->patient = err == -ESHUTDOWN;
}

uint64_t tkw__fire_patience(const struct tkw_timer *t)
{
	return tkw__max_u64(t->patience_ticks, 1) - 1;
}

/* Handles a timeout that the executor has refused. Returns how many were
 * fired. */
static uint64_t refused(struct tkw_timer *t, struct tkw__shard *s,
			struct tkw_timeout_id id, int err)
{
	struct tkw__timeout *to = find_queued(s, id);

	if (to == NULL)
		return 0;
	s->refusals++;
	switch (t->refusal) {
	case TKW_REFUSED_RETRY:
		learn_patience(t, err);
		tkw__shard_pull(s, to);
		tkw__shard_refuse(s, to, tkw__fire_patience(t));
		return 0;
	case TKW_REFUSED_DROP:
		drop(t, s, to);
		return 0;
	default:
		run(t, s, to);
		return 1;
	}
}

/* Gives a timeout of the due list to the executor. The lock is held before and
 * after, but not during the call. Returns how many were fired. */
static uint64_t submit(struct tkw_timer *t, struct tkw__shard *s,
		       struct tkw__timeout *to)
{
	struct tkw_timeout_id id = tkw__shard_id(s, to);
	struct tkw__frame frame;
	int err;

	tkw__links_remove(&to->entry.link);
	tkw__set_state(to, TKW__QUEUED);
	tkw__shard_list(&s->queued, to);
	tkw__lock_drop(&s->lock);
	tkw__frame_enter(&frame, t);
	err = tkw__jobs_submit(t->jobs, id);
	tkw__frame_leave(&frame);
	tkw__lock_take_first(&s->lock);
	if (err != 0) {
		t->refused_in_a_row++;
		return refused(t, s, id, err);
	}
	t->refused_in_a_row = 0;
	t->patience_ticks = 0;
	return 0;
}

uint64_t tkw__fire(struct tkw_timer *t, struct tkw__shard *s,
		   struct tkw__timeout *to)
{
	if (t->jobs && tkw__state(to) != TKW__OWN)
		return submit(t, s, to);
	run(t, s, to);
	return 1;
}

void tkw__fire_job(struct tkw_timer *t, struct tkw_timeout_id id)
{
	struct tkw__shard *s = &t->shards[tkw__name_of(id).shard];
	struct tkw__timeout *to;
	int64_t deadline_ns = 0;
	int64_t now_ns;
	void *block;

	now_ns = tkw__now(t);
	tkw__lock_take(&s->lock);
	to = find_queued(s, id);
	if (to)
		deadline_ns = begin(t, s, to, now_ns);
	tkw__lock_drop(&s->lock);
	if (to == NULL)
		return;
	call(t, id, to, deadline_ns, now_ns);
	tkw__lock_take(&s->lock);
	block = tkw__shard_end(s, to);
	tkw__lock_drop(&s->lock);
	tkw__give_back(t, block);
}

/* Handles a timeout that the executor has given up. Returns the tick at which
 * the worker is needed for it. The lock is held before and after, but not
 * during drop(). */
static uint64_t abandoned(struct tkw_timer *t, struct tkw__shard *s,
			  struct tkw__timeout *to)
{
	switch (t->refusal) {
	case TKW_REFUSED_RETRY:
		tkw__shard_pull(s, to);
		tkw__shard_refuse(s, to, 0);
		return s->retry_tick;
	case TKW_REFUSED_DROP:
		drop(t, s, to);
		return 0; /* the worker tells the log */
	default:
		tkw__shard_pull(s, to);
		tkw__set_state(to, TKW__OWN);
		tkw__shard_list(&s->late, to);
		return 0;
	}
}

void tkw__fire_abandoned(struct tkw_timer *t, struct tkw_timeout_id id)
{
	struct tkw__shard *s = &t->shards[tkw__name_of(id).shard];
	uint64_t need = TKW_TICK_NEVER;
	struct tkw__timeout *to;
	int err;

	tkw__lock_take(&s->lock);
	to = find_queued(s, id);
	if (to) {
		s->refusals++;
		need = abandoned(t, s, to);
	}
	err = tkw__sleep_call(t, need);
	tkw__lock_drop(&s->lock);
	/* The worker cannot be reached. It handles the timeout when it wakes
	 * up. */
	if (err != 0)
		tkw__sleep_tell_lost(t);
}
