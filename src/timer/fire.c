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
#include "timer/member.h"
#include "timer/sleep.h"

/* Makes a timeout RUNNING. The lock is held. Returns its deadline. It is always
 * inline, because the compiler would rather share one copy between run() and
 * tkw__fire_job(), and each fire would pay for that. */
static inline __attribute__((always_inline)) int64_t
begin(struct tkw_timer *t, struct tkw__shard *s, struct tkw__timeout *to,
      int64_t now_ns)
{
	int64_t deadline_ns = tkw__deadline_of(t, to);

	tkw__histogram_add(s->lateness, tkw__max_i64(now_ns - deadline_ns, 0));
	tkw__ledger_fire(t, s, to);
	return deadline_ns;
}

/* Calls the task of a RUNNING timeout. No lock is held. The thread is in a
 * frame of the timer. */
static inline void call(struct tkw_timer *t, struct tkw_timeout_id id,
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

	to->fn(&firing, to->ctx);
}

/* The time: exact if that matters or if the clock is the user's, otherwise as
 * of the last tick of the coarse clock, which is very cheap to read. */
static inline int64_t look_at_clock(struct tkw_timer *t)
{
	int64_t coarse_ns;

	if (t->own_clock || t->slow.limit_ns > 0)
		return tkw__now(t);
	coarse_ns = tkw__clock_coarse();
	if (coarse_ns != t->seen_coarse_ns) {
		t->seen_ns = tkw__now(t);
		t->seen_coarse_ns = coarse_ns;
	}
	return t->seen_ns;
}

/* Gives a block back, which is rare. The lock is held before and after, but not
 * during the call of the user's free(). */
static __attribute__((noinline, cold)) void
give_back_unlocked(struct tkw_timer *t, struct tkw__shard *s, void *block)
{
	tkw__lock_drop(&s->lock);
	tkw__give_back(t, block);
	tkw__lock_take_first(&s->lock);
}

/* Fires a timeout that is in a list. The lock is held before and after, but not
 * during the call. */
static inline void run(struct tkw_timer *t, struct tkw__shard *s,
		       struct tkw__timeout *to)
{
	struct tkw_timeout_id id = tkw__shard_id(s, to);
	int64_t now_ns = look_at_clock(t);
	int64_t deadline_ns = begin(t, s, to, now_ns);
	void *block;

	tkw__lock_drop(&s->lock);
	if (t->slow.limit_ns > 0)
		tkw__slow_begin(t, tkw__task_of(to).fn, now_ns);
	call(t, id, to, deadline_ns, t->turn_ns);
	if (t->slow.limit_ns > 0)
		tkw__slow_end(t);
	tkw__lock_take_first(&s->lock);
	block = tkw__shard_end(s, to);
	if (block)
		give_back_unlocked(t, s, block);
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

/* How many ticks a timeout that the executor has just refused waits after the
 * next tick. */
static uint64_t patience(const struct tkw_timer *t)
{
	return tkw__max_u64(t->patience_ticks, 1) - 1;
}

/* Handles a timeout that the executor has refused. Returns it if the worker is
 * to run it, or NULL. */
static struct tkw__timeout *refused(struct tkw_timer *t, struct tkw__shard *s,
				    struct tkw_timeout_id id, int err)
{
	struct tkw__timeout *to = find_queued(s, id);

	if (to == NULL)
		return NULL;
	s->refusals++;
	switch (t->refusal) {
	case TKW_REFUSED_RETRY:
		learn_patience(t, err);
		tkw__shard_pull(s, to);
		tkw__shard_refuse(s, to, patience(t));
		return NULL;
	case TKW_REFUSED_DROP:
		drop(t, s, to);
		return NULL;
	default:
		return to;
	}
}

/* Gives a timeout of the due list to the executor. The lock is held before and
 * after, but not during the call. Returns the timeout if the worker is to run
 * it, or NULL. Not inline, because timers without an executor do not need
 * it. */
static __attribute__((noinline)) struct tkw__timeout *
submit(struct tkw_timer *t, struct tkw__shard *s, struct tkw__timeout *to)
{
	struct tkw_timeout_id id = tkw__shard_id(s, to);
	int err;

	tkw__shard_unlist(s, to);
	tkw__set_state(to, TKW__QUEUED);
	tkw__shard_list(s, &s->queued, to);
	tkw__lock_drop(&s->lock);
	err = tkw__jobs_submit(t->jobs, id);
	tkw__lock_take_first(&s->lock);
	if (err != 0) {
		t->refused_in_a_row++;
		return refused(t, s, id, err);
	}
	t->refused_in_a_row = 0;
	t->patience_ticks = 0;
	return NULL;
}

/* Fires a timeout of the due list, or gives it to the executor. The lock is
 * held before and after, but not during a call. Returns how many were fired, 0
 * or 1. */
static inline uint64_t fire(struct tkw_timer *t, struct tkw__shard *s,
			    struct tkw__timeout *to)
{
	if (t->jobs && tkw__state(to) != TKW__OWN) {
		to = submit(t, s, to);
		if (to == NULL)
			return 0;
	}
	run(t, s, to);
	return 1;
}

/* True if an executor that lets timeouts wait is full. Then do not ask it for
 * each of them. */
static inline bool is_full(const struct tkw_timer *t)
{
	return t->refused_in_a_row >= TKW__FIRE_BATCH &&
	       t->refusal == TKW_REFUSED_RETRY;
}

uint64_t tkw__fire_due(struct tkw_timer *t, struct tkw__shard *s)
{
	struct tkw__frame frame;
	uint64_t fired = 0;
	uint32_t n = 0;

	if (tkw__links_empty(&s->due))
		return 0;
	/* One frame for all of them, and for what the executor's submit and an
	 * on-cancel call. */
	tkw__frame_enter(&frame, t);
	while (!tkw__links_empty(&s->due) && !tkw__fire_is_over(t)) {
		struct tkw__timeout *to =
			tkw__timeout_of((struct tkw_entry *)s->due.next);

		if (++n % TKW__FIRE_BATCH == 0) {
			/* A thread that is let in may take `to` away, so look
			 * again. */
			tkw__lock_let_in(&s->lock);
		} else if (is_full(t)) {
			tkw__shard_put_off(s, patience(t));
		} else {
			t->budget--;
			fired += fire(t, s, to);
		}
	}
	tkw__frame_leave(&frame);
	return fired;
}

void tkw__fire_job(struct tkw_timer *t, struct tkw_timeout_id id)
{
	struct tkw__shard *s = &t->shards[tkw__name_of(id).shard];
	struct tkw__frame frame;
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
	tkw__frame_enter(&frame, t);
	call(t, id, to, deadline_ns, now_ns);
	tkw__frame_leave(&frame);
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
		tkw__shard_list(s, &s->late, to);
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
