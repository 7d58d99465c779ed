/* SPDX-License-Identifier: MIT */
/*
 * worker.c - turns, and the sleep between them.
 *
 * Turn:   read the clock; look at each shard, and tell it how far the turn goes
 *         (`covered`); then tick by tick, over all shards, bring what is due to
 *         the shard's due list, a batch at a time, and call it, or give it to
 *         the executor, whose threads come back through crew.c. What is
 *         scheduled meanwhile for a tick of this turn goes to a shard's late
 *         list, and waits for the next: a turn ends. One that is bounded stops
 *         in the middle, and the next call goes on with it, so that the order
 *         is that of a turn in one go.
 *
 *         `covered` is a shard's own, set under its lock with the first look:
 *         what was scheduled before is in the wheel, in its order, and what
 *         comes later finds its tick covered. So a shard gets nothing new for
 *         this turn once it was looked at, and what the worker remembers of it
 *         (`next`) stays true.
 *
 * Sleep:  publish the tick for which the alarm is set (`armed`), then look at
 *         each shard once more, under its lock. Who schedules something
 *         earlier before that look is seen by it; who does so after it sees
 *         `armed`, by the order of the lock, and sets the alarm to the earlier
 *         time. The alarm lock keeps two who do that from overwriting each
 *         other. Nobody is woken for a later time than that of the alarm, and
 *         a cancel leaves it as it is.
 *
 * Stop:   sets the state, then the alarm. The worker sets the alarm, then looks
 *         at the state. Both under the alarm lock: one sees the other. Stop
 *         says that the worker is awake besides, so that a schedule which has
 *         just been taken in does not set the alarm to its own, later time.
 */
#include "timer/core.h"

#include <stdio.h>

#include "os/thread.h"

enum {
	BATCH = 128 /* entries brought or moved while a lock is held */
};

/* A task may have forked: then the child, which is here too, goes no further.
 * It takes no lock from there on; to drop one that it does not hold is no
 * matter, for nobody uses it there. */
static bool is_stopping(const struct tkw_timer *t)
{
	/* ACQUIRE pairs with the store of begin_stop(). */
	return TKW__LOAD(&t->state, ACQUIRE) >= TKW__STOPPING ||
	       tkw__is_foreign(t);
}

/* Does the turn go no further, for now or for good? */
static bool is_over(const struct tkw_timer *t)
{
	return t->budget == 0 || is_stopping(t);
}

/* A timeout that is in a list is running from now on. Return  its deadline. */
static int64_t begin(struct tkw_timer *t, struct tkw__shard *s,
		     struct tkw__timeout *to, int64_t now_ns)
{
	int64_t deadline_ns = tkw__deadline_of(t, to);

	tkw__histogram_add(&s->lateness, tkw__max_i64(now_ns - deadline_ns, 0));
	tkw__links_remove(&to->entry.link);
	tkw__set_state(to, TKW__RUNNING);
	s->ledger.pending--;
	s->ledger.fired++;
	tkw__unreserve(t);
	return deadline_ns;
}

/* Call the task of a RUNNING timeout, no lock held. */
static void call(struct tkw_timer *t, uint64_t id,
		 const struct tkw__timeout *to, int64_t deadline_ns,
		 int64_t now_ns)
{
	struct tkw_firing firing = {
		.timer = t,
		.id = id,
		.deadline_ns = deadline_ns,
		/* One that came in when the turn had just begun is on time. */
		.late_ns = tkw__max_i64(now_ns - deadline_ns, 0),
	};
	struct tkw__frame frame;

	tkw__frame_enter(&frame, t);
	to->fn(to->arg, &firing);
	tkw__frame_leave(&frame);
}

/* What time it is, exact if that matters, and else as of the last tick of the
 * coarse clock, which costs next to nothing. */
static int64_t look_at_clock(struct tkw_timer *t)
{
	int64_t coarse_ns = tkw__clock_coarse();

	if (t->own_clock || t->watch.slow_ns > 0 ||
	    coarse_ns != t->seen_coarse_ns) {
		t->seen_ns = tkw__now(t);
		t->seen_coarse_ns = coarse_ns;
	}
	return t->seen_ns;
}

/* Fire a timeout that is in a list. The lock is held before and after, but not
 * during the call. Return  1; 0 in a child that the task has forked. */
static uint64_t run(struct tkw_timer *t, struct tkw__shard *s,
		    struct tkw__timeout *to)
{
	uint64_t id = tkw__shard_id(s, to);
	int64_t now_ns = look_at_clock(t);
	int64_t deadline_ns = begin(t, s, to, now_ns);
	void *block;

	tkw__lock_drop(&s->lock);
	if (t->watch.slow_ns > 0)
		tkw__watch_begin(t, to->fn, now_ns);
	call(t, id, to, deadline_ns, t->turn_ns);
	if (tkw__is_foreign(t))
		return 0;
	if (t->watch.slow_ns > 0)
		tkw__watch_end(t);
	tkw__lock_take_first(&s->lock);
	block = tkw__shard_end(s, to);
	if (block) {
		tkw__lock_drop(&s->lock);
		tkw__give_back(t, block);
		tkw__lock_take_first(&s->lock);
	}
	return 1;
}

/* End a QUEUED timeout that nobody will run. The lock is held before and
 * after, but not while its on-cancel runs; in a child that this has forked, not
 * afterwards either. */
static void drop(struct tkw_timer *t, struct tkw__shard *s,
		 struct tkw__timeout *to)
{
	tkw__shard_pull(s, to);
	tkw__set_state(to, TKW__ENDING);
	s->ledger.pending--;
	s->ledger.dropped++;
	tkw__unreserve(t);
	tkw__lock_drop(&s->lock);
	tkw__finish_ending(t, s, to);
	if (!tkw__is_foreign(t))
		tkw__lock_take_first(&s->lock);
}

/* The timeout of an id, if an executor has or had it, and nobody has come in
 * between. The lock is held. */
static struct tkw__timeout *find_queued(const struct tkw__shard *s, uint64_t id)
{
	struct tkw__timeout *to = tkw__shard_find(s, tkw__name_of(id));

	return to && tkw__state(to) == TKW__QUEUED ? to : NULL;
}

/* The executor has refused a timeout. Return  how many were fired. */
static uint64_t refused(struct tkw_timer *t, struct tkw__shard *s, uint64_t id)
{
	struct tkw__timeout *to = find_queued(s, id);

	if (to == NULL)
		return 0;
	s->refusals++;
	switch (t->refusal) {
	case TKW_REFUSED_RETRY:
		tkw__shard_pull(s, to);
		tkw__shard_list(&s->refused, to);
		return 0;
	case TKW_REFUSED_DROP:
		drop(t, s, to);
		return 0;
	default:
		return run(t, s, to);
	}
}

/* Give a timeout of the due list to the executor. The lock is held before and
 * after, but not during the call. Return  how many were fired. */
static uint64_t submit(struct tkw_timer *t, struct tkw__shard *s,
		       struct tkw__timeout *to)
{
	uint64_t id = tkw__shard_id(s, to);
	struct tkw__frame frame;
	int err;

	tkw__links_remove(&to->entry.link);
	tkw__set_state(to, TKW__QUEUED);
	tkw__shard_list(&s->queued, to);
	tkw__lock_drop(&s->lock);
	tkw__frame_enter(&frame, t);
	err = tkw__crew_submit(t->crew, id);
	tkw__frame_leave(&frame);
	if (tkw__is_foreign(t))
		return 0;
	tkw__lock_take_first(&s->lock);
	t->refused_in_a_row = err == 0 ? 0 : t->refused_in_a_row + 1;
	return err == 0 ? 0 : refused(t, s, id);
}

/* Fire all that is in a shard's due list, or have it fired. The lock is held
 * before and after, but not during a call. Return  how many were fired. */
static uint64_t run_due(struct tkw_timer *t, struct tkw__shard *s)
{
	uint64_t fired = 0;
	uint32_t n = 0;

	while (!tkw__links_empty(&s->due) && !is_over(t)) {
		struct tkw__timeout *to =
			tkw__timeout_of((struct tkw_entry *)s->due.next);

		if (++n % BATCH == 0) {
			/* Who is let in may take the first one away. */
			tkw__lock_let_in(&s->lock);
		} else if (t->refusal == TKW_REFUSED_RETRY &&
			   t->refused_in_a_row >= BATCH) {
			/* All of them need not ask an executor that is full. */
			tkw__shard_put_off(s);
		} else if (t->crew && tkw__state(to) != TKW__OWN) {
			t->budget--;
			fired += submit(t, s, to);
		} else {
			t->budget--;
			fired += run(t, s, to);
		}
	}
	return fired;
}

void tkw__job_run(struct tkw_timer *t, uint64_t id)
{
	struct tkw__shard *s = &t->shards[tkw__name_of(id).shard];
	struct tkw__timeout *to;
	int64_t deadline_ns = 0;
	int64_t now_ns;
	void *block;

	if (tkw__is_foreign(t))
		return;
	now_ns = tkw__now(t);
	tkw__lock_take(&s->lock);
	to = find_queued(s, id);
	if (to)
		deadline_ns = begin(t, s, to, now_ns);
	tkw__lock_drop(&s->lock);
	if (to == NULL)
		return;
	call(t, id, to, deadline_ns, now_ns);
	if (tkw__is_foreign(t))
		return;
	tkw__lock_take(&s->lock);
	block = tkw__shard_end(s, to);
	tkw__lock_drop(&s->lock);
	tkw__give_back(t, block);
}

/* The executor has given up on a timeout. Return  when the worker is needed for
 * it. The lock is held before and after, but for drop(). */
static uint64_t abandoned(struct tkw_timer *t, struct tkw__shard *s,
			  struct tkw__timeout *to)
{
	switch (t->refusal) {
	case TKW_REFUSED_RETRY:
		tkw__shard_pull(s, to);
		tkw__shard_list(&s->refused, to);
		return s->covered;
	case TKW_REFUSED_DROP:
		drop(t, s, to);
		return 0; /* for the worker to tell of it */
	default:
		tkw__shard_pull(s, to);
		tkw__set_state(to, TKW__OWN);
		tkw__shard_list(&s->late, to);
		return 0;
	}
}

void tkw__job_abandon(struct tkw_timer *t, uint64_t id)
{
	struct tkw__shard *s = &t->shards[tkw__name_of(id).shard];
	uint64_t need = TKW_TICK_NEVER;
	struct tkw__timeout *to;

	if (tkw__is_foreign(t))
		return;
	tkw__lock_take(&s->lock);
	to = find_queued(s, id);
	if (to) {
		s->refusals++;
		need = abandoned(t, s, to);
	}
	if (tkw__is_foreign(t))
		return;
	tkw__lock_drop(&s->lock);
	tkw__worker_call(t, need);
}

/* Fire what a shard has at a tick, the next that any shard has. */
static uint64_t run_tick(struct tkw_timer *t, struct tkw__shard *s,
			 uint64_t tick)
{
	uint64_t fired = 0;
	bool more;

	tkw__lock_take_first(&s->lock);
	do {
		tkw__lock_let_in(&s->lock);
		more = tkw__shard_collect(s, tick, BATCH);
		t->next[s->number] = tkw_wheel_next(s->wheel);
		fired += run_due(t, s);
	} while (more && !is_over(t));
	tkw__lock_drop(&s->lock);
	return fired;
}

/* The least of what is remembered of the shards. */
static uint64_t least_next(const struct tkw_timer *t)
{
	uint64_t least = TKW_TICK_NEVER;

	for (uint32_t i = 0; i <= t->shard_mask; i++)
		least = tkw__min_u64(least, t->next[i]);
	return least;
}

/* Begin a turn up to a tick: from here on nothing new comes into it. */
static void begin_turn(struct tkw_timer *t, uint64_t to)
{
	t->turn_to = to;
	for (uint32_t i = 0; i <= t->shard_mask; i++) {
		struct tkw__shard *s = &t->shards[i];

		tkw__lock_take_first(&s->lock);
		tkw__shard_collect_late(s, to >= s->covered);
		s->covered = to + 1;
		t->next[i] = tkw_wheel_next(s->wheel);
		tkw__lock_drop(&s->lock);
	}
}

/* Fire what is in the due lists: late ones, and what a bounded turn has left.
 */
static uint64_t run_lists(struct tkw_timer *t)
{
	uint64_t fired = 0;

	for (uint32_t i = 0; i <= t->shard_mask && !is_over(t); i++) {
		tkw__lock_take_first(&t->shards[i].lock);
		fired += run_due(t, &t->shards[i]);
		tkw__lock_drop(&t->shards[i].lock);
	}
	return fired;
}

/* Has a bounded turn left something? */
static bool is_unfinished(struct tkw_timer *t)
{
	bool left;

	if (t->budget > 0 || is_stopping(t))
		return false;
	left = least_next(t) <= t->turn_to;
	for (uint32_t i = 0; i <= t->shard_mask && !left; i++) {
		tkw__lock_take_first(&t->shards[i].lock);
		left = !tkw__links_empty(&t->shards[i].due);
		tkw__lock_drop(&t->shards[i].lock);
	}
	return left;
}

/* How many a shard has dropped since it was asked last. The lock is held. */
static uint64_t take_dropped(struct tkw__shard *s)
{
	uint64_t dropped = s->ledger.dropped - s->dropped_told;

	s->dropped_told = s->ledger.dropped;
	return dropped;
}

static void tell_dropped(const struct tkw_timer *t, uint64_t dropped)
{
	char line[80];

	if (dropped == 0 || t->hooks.log == NULL)
		return;
	snprintf(line, sizeof(line),
		 "tickwheel: the executor refused, and %llu timeouts were "
		 "dropped",
		 (unsigned long long)dropped);
	t->hooks.log(t->hooks.ctx, line);
}

void tkw__worker_tell_dropped(struct tkw_timer *t)
{
	uint64_t dropped = 0;

	for (uint32_t i = 0; i <= t->shard_mask; i++) {
		tkw__lock_take(&t->shards[i].lock);
		dropped += take_dropped(&t->shards[i]);
		tkw__lock_drop(&t->shards[i].lock);
	}
	tell_dropped(t, dropped);
}

/* Let every wheel come up to the end of the turn, where nothing is left. */
static void end_turn(struct tkw_timer *t)
{
	uint64_t dropped = 0;

	for (uint32_t i = 0; i <= t->shard_mask; i++) {
		struct tkw__shard *s = &t->shards[i];

		tkw__lock_take_first(&s->lock);
		tkw__shard_collect(s, t->turn_to, 0);
		dropped += take_dropped(s);
		t->next[i] = tkw__shard_next(s);
		if (i == 0) {
			s->turns++;
			s->wake_ups = t->wake_ups;
		}
		tkw__lock_drop(&s->lock);
	}
	tell_dropped(t, dropped);
}

uint64_t tkw__worker_turn(struct tkw_timer *t, uint64_t most, uint64_t *next)
{
	uint64_t fired;
	uint64_t tick;

	t->budget = most;
	t->turn_ns = tkw__now(t);
	t->seen_ns = t->turn_ns;
	t->seen_coarse_ns = tkw__clock_coarse();
	t->refused_in_a_row = 0;
	if (!t->unfinished)
		begin_turn(t, tkw__tick_at(t, t->turn_ns));
	fired = run_lists(t);
	while ((tick = least_next(t)) <= t->turn_to && !is_over(t)) {
		for (uint32_t i = 0; i <= t->shard_mask; i++) {
			if (t->next[i] <= tick && !is_over(t))
				fired += run_tick(t, &t->shards[i], tick);
		}
	}
	*next = 0;
	if (tkw__is_foreign(t))
		return fired;
	t->unfinished = is_unfinished(t);
	if (!t->unfinished) {
		end_turn(t);
		*next = least_next(t);
	}
	return fired;
}

uint64_t tkw__worker_next(struct tkw_timer *t)
{
	uint64_t least = TKW_TICK_NEVER;

	for (uint32_t i = 0; i <= t->shard_mask; i++) {
		struct tkw__shard *s = &t->shards[i];

		tkw__lock_take_first(&s->lock);
		least = tkw__min_u64(least, tkw__shard_next(s));
		tkw__lock_drop(&s->lock);
	}
	return least;
}

/* Set the alarm for a tick. The alarm lock is held. */
static void set_alarm(struct tkw_timer *t, uint64_t tick)
{
	int64_t at = TKW_NEVER_NS;

	if (tick <= (uint64_t)TKW_NEVER_NS / t->tick_ns)
		at = (int64_t)(tick * t->tick_ns);
	/* Only the system's own clock can be waited for; another one is taken
	 * to go at about the same pace. */
	if (t->own_clock && at != TKW_NEVER_NS)
		at -= tkw__now(t);
	t->alarm_tick = tick;
	TKW__STORE(&t->armed, tick, RELAXED);
	tkw__alarm_set(&t->alarm, at, t->own_clock);
}

/* Let it ring at once. The alarm lock is held. */
static void ring(struct tkw_timer *t)
{
	t->alarm_tick = 0;
	/* Whoever still comes with a tick must not set it to a later time. */
	TKW__STORE(&t->armed, 0, RELAXED);
	tkw__alarm_set(&t->alarm, 0, true);
}

void tkw__worker_rearm(struct tkw_timer *t, uint64_t tick)
{
	tkw__lock_take(&t->alarm_lock);
	if (tick < TKW__LOAD(&t->armed, RELAXED)) {
		/* It is the worker's business to read another clock. */
		if (t->own_clock)
			ring(t);
		else
			set_alarm(t, tick);
	}
	tkw__lock_drop(&t->alarm_lock);
}

void tkw__worker_wake(struct tkw_timer *t)
{
	tkw__lock_take(&t->alarm_lock);
	ring(t);
	tkw__lock_drop(&t->alarm_lock);
}

void tkw__worker_awake(struct tkw_timer *t)
{
	TKW__STORE(&t->armed, 0, RELAXED); /* see sleep_until() */
	t->wake_ups++;
}

void tkw__worker_arm(struct tkw_timer *t, uint64_t tick)
{
	uint64_t now;

	tkw__lock_take(&t->alarm_lock);
	/* One that is to ring, and in time, need not be set again: that is a
	 * system call. Of another clock it is not known whether it has rung. */
	if (tick == 0)
		ring(t);
	else if (!t->own_clock && t->alarm_tick > t->turn_to &&
		 t->alarm_tick <= tick)
		TKW__STORE(&t->armed, t->alarm_tick, RELAXED);
	else
		set_alarm(t, tick);
	tkw__lock_drop(&t->alarm_lock);
	now = tkw__worker_next(t);
	if (now < tick)
		tkw__worker_rearm(t, now);
}

void tkw__worker_disarm(struct tkw_timer *t)
{
	tkw__lock_take(&t->alarm_lock);
	tkw__alarm_set(&t->alarm, TKW_NEVER_NS, false);
	TKW__STORE(&t->armed, 0, RELAXED);
	tkw__lock_drop(&t->alarm_lock);
}

static void sleep_until(struct tkw_timer *t, uint64_t tick)
{
	tkw__lock_take(&t->alarm_lock);
	set_alarm(t, tick);
	tkw__lock_drop(&t->alarm_lock);
	if (tkw__worker_next(t) >= tick && !is_stopping(t)) {
		tkw__alarm_wait(&t->alarm);
		t->wake_ups++;
	}
	/* Awake: nobody needs to call. One who does so now all the same, having
	 * seen the old value, sets an alarm that the next sleep replaces. */
	TKW__STORE(&t->armed, 0, RELAXED);
}

void *tkw__worker_run(void *timer)
{
	struct tkw_timer *t = timer;

	tkw__thread_become_worker(t->name);
	while (!is_stopping(t)) {
		uint64_t next;

		tkw__worker_turn(t, UINT64_MAX, &next);
		if (!is_stopping(t) && next > tkw__tick_at(t, tkw__now(t)))
			sleep_until(t, next);
	}
	return NULL;
}
