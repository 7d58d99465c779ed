/* SPDX-License-Identifier: MIT */
/*
 * test_timer_peers_go.c - tests from the suite of Go's timers, on this timer:
 * first on virtual time, then on the real clock with threads that race. No test
 * expects a certain winner of a race, but the results must agree with what has
 * happened.
 */
#include "timer_racers.h"

/* --- Go: one thread ----------------------------------------------------- */

/* SPEC 4.2, 5.5. Go: a timeout that is moved earlier again and again is not
 * lost (#47329). Only the reset wakes the worker. */
static void test_go_modified_earlier_is_not_dropped(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	struct tkw_timeout_id id;
	uint64_t i;
	int ret;
	int k;

	for (i = 0; i < 1000; i++) {
		id = bed_schedule(b, i, 3600 * TKW_SEC);
		for (k = 0; k < 10; k++) {
			ret = tkw_timer_reschedule(
				b->t, id, -54 * INT64_C(31536000) * TKW_SEC);
			/* The worker may have been faster. */
			if (ret != 0)
				break;
		}
		assert_true(k > 0);
		assert_true(k == 10 ||
			    (b->drive == TKW_DRIVE_THREAD && has_ended(ret)));
		peers_await(b, (size_t)i + 1);
		bed_assert_fired(b, i);
	}
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_go_modified_earlier_is_not_dropped)

static void await_tag(struct timer_bed *b, uint64_t tag, size_t times)
{
	size_t seen;

	for (;;) {
		pthread_mutex_lock(&b->lock);
		seen = b->fired_count;
		pthread_mutex_unlock(&b->lock);
		if (bed_fired_times(b, tag) >= times)
			return;
		peers_await(b, seen + 1);
	}
}

struct walker {
	int step;
	struct tkw_timeout_id id;
};

/* A walk from firing at once, over long delays that go up and down, back to
 * firing at once. Returns false at the end of the walk. */
static bool walk(struct timer_bed *b, struct walker *w, uint64_t tag)
{
	static const int64_t minutes[] = { 1, 3, 2 };

	switch (w->step++) {
	case 0:
		w->id = bed_schedule(b, tag, 0);
		return true;
	case 1:
		await_tag(b, tag, 1);
		assert_true(has_ended(tkw_timer_reschedule(b->t, w->id, 1)));
		return true;
	case 2:
	case 6:
		w->id = bed_schedule(b, tag, minutes[0] * 60 * TKW_SEC);
		return true;
	case 3:
	case 4:
		assert_int_equal(tkw_timer_reschedule(b->t, w->id,
						      minutes[w->step - 3] *
							      60 * TKW_SEC),
				 0);
		return true;
	case 5:
		assert_int_equal(tkw_timer_cancel(b->t, w->id), 0);
		return true;
	case 7:
		assert_int_equal(tkw_timer_reschedule(b->t, w->id, 0), 0);
		return true;
	default:
		await_tag(b, tag, 2);
		return false;
	}
}

/* SPEC 4.2, 5.5. Go: many timeouts are moved earlier and later, in any order,
 * and each fires at its time (#47762). */
static void test_go_adjusted_timers_are_not_lost(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	struct walker walkers[100];
	uint64_t open[100];
	size_t left = 100;
	uint32_t seed = 47762;
	size_t i;

	memset(walkers, 0, sizeof(walkers));
	for (i = 0; i < 100; i++)
		open[i] = i;
	while (left > 0) {
		i = peers_random(&seed) % left;
		if (!walk(b, &walkers[open[i]], open[i]))
			open[i] = open[--left];
	}
	for (i = 0; i < 100; i++) {
		assert_int_equal(bed_fired_times(b, i), 2);
		assert_int_equal(bed_cancelled_times(b, i), 1);
	}
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_go_adjusted_timers_are_not_lost)

/* SPEC 3.3, 4.4. Go: timeouts fire by delay, whatever the order of
 * scheduling. */
static void test_go_fires_in_order_of_delay(struct peers *p)
{
	static const int64_t delays[] = {
		5, 3, 6, 6, 6, 1, 1, 2, 7, 9, 4, 8, 0
	};
	struct timer_bed *b = &p->bed;
	const int64_t begin_ns = tkw_timer_now_ns(b->t) + TKW_SEC;
	struct tkw_task task;
	size_t i;

	for (i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
		task = bed_task(b, (uint64_t)delays[i]);
		assert_int_equal(tkw_timer_schedule_at(
					 b->t, &task,
					 begin_ns + delays[i] * TKW_SEC, NULL),
				 0);
	}
	bed_pass(b, 20 * TKW_SEC);
	bed_assert_fired(b, 0, 1, 1, 2, 3, 4, 5, 6, 6, 6, 7, 8, 9);
}
PEERS_TEST(test_go_fires_in_order_of_delay)

/* SPEC 3.2, 3.3, fault 17. Go: a delay that overflows is not short, and the
 * most negative one is due at once. */
static void test_go_extreme_delays(struct peers *p)
{
	struct timer_bed *b = &p->bed;

	bed_schedule(b, 1, INT64_MAX);
	bed_schedule(b, 2, INT64_MAX - 1);
	bed_schedule(b, 3, INT64_MIN);
	peers_await(b, 1);
	bed_assert_fired(b, 3);
	bed_pass(b, 3600 * TKW_SEC);
	bed_assert_nothing_fired(b);
	bed_assert_ledger(b, 2);
}
PEERS_TEST(test_go_extreme_delays)

static void arm_while_left(struct peers_deed *deed,
			   const struct tkw_firing *firing)
{
	const struct tkw_task task = peers_deed_task(deed);

	if (deed->left-- > 0)
		deed->rets[0] |=
			tkw_timer_schedule(firing->timer, &task, 0, NULL);
}

/* SPEC 3.3, 4.6, fault 6. Go: a function schedules itself without delay, ten
 * times. Each run is a turn of its own, even if the first turn is so late that
 * it has ticks left to cover. */
static void test_go_calls_itself_without_delay(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	struct peers_deed *deed = peers_deed(p, 0, arm_while_left);
	int i;

	deed->left = 10;
	deed->delay_ns = 3 * p->cfg.tick_ns;
	peers_schedule_deed(deed, 1);
	bed_schedule(b, 2, 50 * p->cfg.tick_ns);
	bed_set_clock(b, tkw_timer_now_ns(b->t) + 100 * p->cfg.tick_ns);
	bed_wake(b);
	for (i = 0; bed_by_hand(b) && i < 11; i++)
		assert_int_equal(bed_turn(b, NULL), i ? 1 : 2);
	peers_await(b, 12);
	assert_true(b->fired[0].tag == 1 && b->fired[1].tag == 2);
	bed_pass(b, TKW_SEC);
	assert_int_equal(bed_fired_times(b, 1), 11);
	assert_int_equal(deed->rets[0], 0);
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_go_calls_itself_without_delay)

/* --- Go: stop and reset under race -------------------------------------- */

enum {
	PAIRS = 150
};

struct pair {
	pthread_mutex_t lock;
	pthread_cond_t fires;
	int times[2];
	bool sure[2]; /* a stop or reset said: does not fire */
};

struct half {
	struct pair *pair;
	int which;
};

struct pairs {
	struct tkw_timer *t;
	bool reset; /* reset, otherwise stop */
	struct pair all[THREADS][PAIRS];
};

static void half_fired(const struct tkw_firing *firing, void *ctx)
{
	const struct half *h = ctx;
	struct pair *pair = h->pair;

	(void)firing;
	pthread_mutex_lock(&pair->lock);
	pair->times[h->which]++;
	pthread_cond_broadcast(&pair->fires);
	pthread_mutex_unlock(&pair->lock);
}

/* Waits until one of the wanted halves has fired. Returns which one. */
static int wait_for(struct pair *pair, bool zero, bool one)
{
	int which;

	pthread_mutex_lock(&pair->lock);
	while (!(zero && pair->times[0]) && !(one && pair->times[1]))
		pthread_cond_wait(&pair->fires, &pair->lock);
	which = zero && pair->times[0] ? 0 : 1;
	pthread_mutex_unlock(&pair->lock);
	return which;
}

/* Returns 0 if the timeout will certainly not fire. */
static int stop_or_reset(struct racer *r, struct tkw_timeout_id id)
{
	const struct pairs *pairs = r->ctx;
	int ret;

	if (!pairs->reset) {
		ret = tkw_timer_cancel(pairs->t, id);
		r->cancelled += ret == 0;
		return ret;
	}
	ret = tkw_timer_reschedule(pairs->t, id, 3600 * TKW_SEC);
	if (ret != 0)
		return ret;
	/* It is due in an hour, so it cannot fire before this. */
	ret = tkw_timer_cancel(pairs->t, id);
	r->strange += ret != 0;
	r->cancelled += ret == 0;
	return ret;
}

/* When one of the two has fired, the other one is stopped. If that is too late,
 * the other one fires. */
static void race_pair(struct racer *r, struct pair *pair, int64_t more_ns)
{
	const struct pairs *pairs = r->ctx;
	struct half halves[2] = { { pair, 0 }, { pair, 1 } };
	struct tkw_task task = { .fn = half_fired };
	struct tkw_timeout_id ids[2] = { { 0 }, { 0 } };
	int other;
	int ret;

	task.ctx = &halves[0];
	r->strange += tkw_timer_schedule(pairs->t, &task, 200 * TKW_USEC,
					 &ids[0]) != 0;
	task.ctx = &halves[1];
	r->strange +=
		tkw_timer_schedule(pairs->t, &task, 200 * TKW_USEC + more_ns,
				   &ids[1]) != 0;
	r->accepted += 2;
	other = 1 - wait_for(pair, true, true);
	ret = stop_or_reset(r, ids[other]);
	if (ret == 0) {
		pair->sure[other] = true;
	} else {
		r->strange += !has_ended(ret);
		wait_for(pair, other == 0, other == 1);
		/* halves is on this stack: wait for the task's return */
		tkw_timer_cancel_wait(pairs->t, ids[other]);
	}
	tkw_timer_cancel_wait(pairs->t, ids[1 - other]);
}

static void race_pairs(struct racer *r)
{
	/* At the same time, in a later tick, and so late that it is stopped. */
	static const int64_t more_ns[] = { 0, 100 * TKW_USEC, 3600 * TKW_SEC };
	struct pairs *pairs = r->ctx;
	int i;

	for (i = 0; i < PAIRS; i++)
		race_pair(r, &pairs->all[r->number][i], more_ns[i % 3]);
}

/* Checks that each fired once, or was certain not to fire and did not. Returns
 * how many fired. */
static uint64_t check_pairs(struct pairs *pairs)
{
	struct pair *pair;
	uint64_t fired = 0;
	int i;
	int k;

	for (i = 0; i < THREADS * PAIRS; i++) {
		pair = &pairs->all[i / PAIRS][i % PAIRS];
		for (k = 0; k < 2; k++) {
			assert_int_equal(pair->times[k], pair->sure[k] ? 0 : 1);
			fired += (uint64_t)pair->times[k];
		}
		pthread_cond_destroy(&pair->fires);
		pthread_mutex_destroy(&pair->lock);
	}
	return fired;
}

static void race_pairs_on(const struct tkw_timer_config *cfg, bool reset)
{
	struct pairs *pairs = calloc(1, sizeof(*pairs));
	struct racer racers[THREADS];
	struct tkw_ledger l;
	uint64_t cancelled = 0;
	int i;

	assert_non_null(pairs);
	pairs->reset = reset;
	for (i = 0; i < THREADS * PAIRS; i++) {
		pthread_mutex_init(&pairs->all[i / PAIRS][i % PAIRS].lock,
				   NULL);
		pthread_cond_init(&pairs->all[i / PAIRS][i % PAIRS].fires,
				  NULL);
	}
	assert_int_equal(tkw_timer_create(&pairs->t, cfg), 0);
	run_racers(racers, race_pairs, pairs);
	for (i = 0; i < THREADS; i++)
		cancelled += racers[i].cancelled;
	assert_int_equal(tkw_timer_stop(pairs->t, NULL, NULL), 0);
	assert_int_equal(tkw_timer_get_ledger(pairs->t, &l), 0);
	assert_int_equal(l.accepted, 2 * THREADS * PAIRS);
	assert_int_equal(l.fired, check_pairs(pairs));
	assert_int_equal(l.cancelled, cancelled);
	assert_int_equal(l.fired + l.cancelled, l.accepted);
	assert_int_equal(tkw_timer_destroy(pairs->t), 0);
	free(pairs);
}

static const struct tkw_timer_config fine_hierarchical = {
	.tick_ns = 100 * TKW_USEC,
	.shards = THREADS,
};

static const struct tkw_timer_config fine_hashed = {
	.tick_ns = 100 * TKW_USEC,
	.engine = TKW_WHEEL_HASHED,
	.slots = 64,
	.shards = THREADS,
};

/* SPEC 5.1, 5.2, fault 23. Go: the result of stop is true (#69312). */
static void test_go_stop_tells_the_truth_under_race(void **state)
{
	(void)state;
	race_pairs_on(&fine_hierarchical, false);
	race_pairs_on(&fine_hashed, false);
}

/* SPEC 5.1, 5.5, fault 23. Go: the result of reset is true. */
static void test_go_reset_tells_the_truth_under_race(void **state)
{
	(void)state;
	race_pairs_on(&fine_hierarchical, true);
	race_pairs_on(&fine_hashed, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PEERS_ON_TWO(test_go_modified_earlier_is_not_dropped),
		PEERS_ON_TWO(test_go_adjusted_timers_are_not_lost),
		PEERS_ON_TWO(test_go_fires_in_order_of_delay),
		PEERS_ON_TWO(test_go_extreme_delays),
		PEERS_ON_TWO(test_go_calls_itself_without_delay),
		cmocka_unit_test(test_go_stop_tells_the_truth_under_race),
		cmocka_unit_test(test_go_reset_tells_the_truth_under_race),
	};

	return cmocka_run_group_tests_name("timer_peers_go", tests, NULL, NULL);
}
