/* SPDX-License-Identifier: MIT */
/*
 * test_timer_peers.c - tests from Netty's suite for its HashedWheelTimer, on
 * this timer. Time is virtual, so each wait is exact.
 */
#include "timer_peers.h"

/* SPEC 4.1. Netty: a timeout does not run before its delay. */
static void test_netty_does_not_run_before_the_delay(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const int64_t at_ns = tkw_timer_now_ns(b->t) + 10 * TKW_SEC;
	const struct tkw_timeout_id id = bed_schedule(b, 1, 10 * TKW_SEC);
	struct tkw_timeout_info info;

	bed_pass(b, 3 * TKW_SEC);
	bed_assert_nothing_fired(b);
	assert_int_equal(tkw_timer_get(b->t, id, &info), 0);
	assert_int_equal(info.state, TKW_TIMEOUT_PENDING);
	assert_true(info.left_ns == 7 * TKW_SEC);
	peers_pass_to(p, peers_due_ns(p, at_ns) - 1);
	bed_assert_nothing_fired(b);
	bed_assert_ledger(b, 1);
}
PEERS_TEST(test_netty_does_not_run_before_the_delay)

/* SPEC 4.1, 5.8. Netty: it runs after the delay, and has expired then. */
static void test_netty_runs_after_the_delay(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const int64_t at_ns = tkw_timer_now_ns(b->t) + 2 * TKW_SEC;
	const struct tkw_timeout_id id = bed_schedule(b, 1, 2 * TKW_SEC);
	struct tkw_timeout_info info;

	peers_assert_fires_at(p, 1, at_ns);
	assert_true(b->fired[0].deadline_ns == at_ns);
	assert_true(b->fired[0].late_ns >= 0);
	assert_true(b->fired[0].late_ns < p->cfg.tick_ns);
	assert_int_equal(tkw_timer_get(b->t, id, &info), -ENOENT);
	bed_pass(b, 10 * TKW_SEC);
	bed_assert_nothing_fired(b);
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_netty_runs_after_the_delay)

/* SPEC 6.2, 6.3. Netty: stop returns nothing if all have run. */
static void test_netty_stop_returns_nothing_when_all_has_run(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	struct peers_visit v = { 0 };
	uint64_t i;

	for (i = 0; i < 3; i++)
		bed_schedule(b, i, TKW_MSEC);
	bed_pass(b, 2 * p->cfg.tick_ns);
	bed_assert_fired(b, 0, 1, 2);
	assert_int_equal(tkw_timer_stop(b->t, peers_visited, &v), 0);
	assert_int_equal(v.count, 0);
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_netty_stop_returns_nothing_when_all_has_run)

static size_t visited_times(const struct peers_visit *v,
			    struct tkw_timeout_id id)
{
	size_t times = 0;
	size_t i;

	for (i = 0; i < v->count && i < 16; i++)
		times += v->ids[i].bits == id.bits;
	return times;
}

/* SPEC 6.2, 6.3. Netty: stop returns the timeouts that have not run, each
 * once. */
static void test_netty_stop_returns_what_has_not_run(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const int64_t at_ns = tkw_timer_now_ns(b->t) + 5 * TKW_SEC;
	struct peers_visit v = { 0 };
	struct tkw_timeout_id ids[5];
	uint64_t i;

	for (i = 0; i < 5; i++)
		ids[i] = bed_schedule(b, i, 5 * TKW_SEC);
	bed_pass(b, TKW_SEC);
	assert_int_equal(tkw_timer_stop(b->t, peers_visited, &v), 0);
	assert_int_equal(v.count, 5);
	for (i = 0; i < 5; i++) {
		assert_int_equal(visited_times(&v, ids[i]), 1);
		assert_true(v.deadlines_ns[i] == at_ns);
	}
	/* A second stop has nothing to return. */
	assert_int_equal(tkw_timer_stop(b->t, peers_visited, &v), 1);
	assert_int_equal(v.count, 5);
	bed_assert_nothing_fired(b);
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_netty_stop_returns_what_has_not_run)

/* SPEC 2.5, 3.7. Netty: new timeouts are refused after stop. There each refused
 * one counts as pending for ever. Here a refusal leaves no trace. */
static void test_netty_refuses_after_stop(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const struct tkw_task task = bed_task(b, 9);
	struct tkw_ledger before;
	struct tkw_ledger after;
	struct tkw_timeout_id id = { 77 };

	bed_schedule(b, 1, TKW_MSEC);
	bed_pass(b, 2 * p->cfg.tick_ns);
	bed_assert_fired(b, 1);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_int_equal(tkw_timer_is_stopped(b->t), 1);
	assert_int_equal(tkw_timer_get_ledger(b->t, &before), 0);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 1, &id), -ESHUTDOWN);
	assert_int_equal(tkw_timer_schedule_at(b->t, &task, 1, &id),
			 -ESHUTDOWN);
	assert_int_equal(tkw_timer_start(b->t), -ESHUTDOWN);
	assert_true(id.bits == 77);
	assert_int_equal(tkw_timer_get_ledger(b->t, &after), 0);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_true(tkw_timer_count(b->t) == 0);
	assert_int_equal(bed_cancelled_times(b, 9), 0);
}
PEERS_TEST(test_netty_refuses_after_stop)

static void arm_again(struct peers_deed *deed, const struct tkw_firing *firing)
{
	const struct tkw_task task = peers_deed_task(deed);

	deed->rets[0] |=
		tkw_timer_schedule(firing->timer, &task, deed->delay_ns, NULL);
}

/*
 * Three and a half delays, from tick to tick. The first delay counts from a
 * time inside a tick. The others count from the tick in which the last one
 * fired.
 */
static void assert_arms_itself_thrice(struct peers *p, int64_t ticks)
{
	struct timer_bed *b = &p->bed;
	const int64_t tick_ns = p->cfg.tick_ns;
	const int64_t begin_ns = peers_due_ns(p, tkw_timer_now_ns(b->t));
	struct peers_deed *deed = peers_deed(p, 0, arm_again);
	struct peers_visit v = { 0 };
	int64_t k;

	deed->delay_ns = ticks * tick_ns;
	peers_schedule_deed(deed, 5);
	for (k = 1; k <= 3; k++) {
		peers_assert_fires_at(p, 5, begin_ns + k * ticks * tick_ns);
		bed_assert_ledger(b, 1);
	}
	for (k = 3 * ticks + 1; k <= 3 * ticks + ticks / 2; k++)
		peers_pass_to(p, begin_ns + k * tick_ns);
	bed_assert_nothing_fired(b);
	assert_int_equal(deed->rets[0], 0);
	assert_int_equal(tkw_timer_stop(b->t, peers_visited, &v), 0);
	assert_int_equal(v.count, 1);
}

/* SPEC 3.1, 4.6. Netty: a task that schedules itself again goes on. */
static void test_netty_task_arms_itself_again(struct peers *p)
{
	assert_arms_itself_thrice(p, 10);
}
PEERS_TEST(test_netty_task_arms_itself_again)

/* SPEC 1.4, 4.6. Netty: the same if each delay takes more than one round of the
 * wheel. */
static void test_netty_task_arms_itself_beyond_the_wheel(struct peers *p)
{
	const int64_t slots = p->cfg.slots ? p->cfg.slots : 256;

	assert_arms_itself_thrice(p, slots);
	bed_reopen(&p->bed, &p->cfg);
	assert_arms_itself_thrice(p, slots + 1);
	bed_reopen(&p->bed, &p->cfg);
	assert_arms_itself_thrice(p, 2 * slots - 1);
}
PEERS_TEST(test_netty_task_arms_itself_beyond_the_wheel)

enum {
	MANY = 100000
};

struct many {
	uint64_t early;
	int64_t latest_ns;
	uint8_t times[MANY];
};

struct one_of_many {
	struct many *all;
	uint32_t i;
};

static void note_one(const struct tkw_firing *firing, void *ctx)
{
	const struct one_of_many *one = ctx;
	struct many *all = one->all;

	all->times[one->i]++;
	if (tkw_timer_now_ns(firing->timer) < firing->deadline_ns)
		all->early++;
	if (firing->late_ns > all->latest_ns)
		all->latest_ns = firing->late_ns;
}

/* Each has a delay of 5/8 of a tick. They are scheduled over a quarter of a
 * tick. */
static void schedule_many(struct peers *p, struct one_of_many *ones)
{
	struct timer_bed *b = &p->bed;
	const int64_t tick_ns = p->cfg.tick_ns;
	const int64_t begin_ns = tkw_timer_now_ns(b->t);
	struct tkw_task task = { .fn = note_one };
	int64_t i;

	for (i = 0; i < MANY; i++) {
		bed_set_clock(b, begin_ns + tick_ns / 4 * i / MANY);
		task.ctx = &ones[i];
		assert_int_equal(
			tkw_timer_schedule(b->t, &task, tick_ns * 5 / 8, NULL),
			0);
	}
}

/* SPEC 4.1. Netty: 100,000 tasks run on time, none early. */
static void test_netty_runs_100000_on_time(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const int64_t begin_ns = peers_due_ns(p, tkw_timer_now_ns(b->t));
	struct many *all = calloc(1, sizeof(*all));
	struct one_of_many *ones = calloc(MANY, sizeof(*ones));
	uint32_t i;

	assert_non_null(all);
	assert_non_null(ones);
	for (i = 0; i < MANY; i++)
		ones[i] = (struct one_of_many){ .all = all, .i = i };
	schedule_many(p, ones);
	bed_assert_ledger(b, MANY);
	peers_pass_to(p, begin_ns);
	peers_pass_to(p, begin_ns + p->cfg.tick_ns);
	bed_assert_ledger(b, 0);
	for (i = 0; i < MANY; i++)
		assert_int_equal(all->times[i], 1);
	assert_int_equal(all->early, 0);
	assert_true(all->latest_ns > 0);
	assert_true(all->latest_ns < p->cfg.tick_ns);
	free(ones);
	free(all);
}
PEERS_TEST(test_netty_runs_100000_on_time)

static void open_with_room_for_two(struct peers *p,
				   struct tkw_timeout_id ids[2])
{
	struct timer_bed *b = &p->bed;

	p->cfg.max_pending = 2;
	bed_reopen(b, &p->cfg);
	ids[0] = bed_schedule(b, 1, 5 * TKW_SEC);
	ids[1] = bed_schedule(b, 2, 5 * TKW_SEC);
}

static void assert_full(struct timer_bed *b)
{
	const struct tkw_task task = bed_task(b, 9);
	struct tkw_ledger before;
	struct tkw_ledger after;
	struct tkw_timeout_id id = { 77 };

	assert_int_equal(tkw_timer_get_ledger(b->t, &before), 0);
	assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_MSEC, &id),
			 -EAGAIN);
	assert_true(id.bits == 77);
	assert_int_equal(tkw_timer_get_ledger(b->t, &after), 0);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(bed_cancelled_times(b, 9), 0);
}

/* SPEC 3.6, 3.7. Netty: one more than the limit is rejected. */
static void test_netty_rejects_beyond_the_limit(struct peers *p)
{
	struct tkw_timeout_id ids[2];

	open_with_room_for_two(p, ids);
	assert_full(&p->bed);
	assert_full(&p->bed);
	bed_assert_ledger(&p->bed, 2);
}
PEERS_TEST(test_netty_rejects_beyond_the_limit)

/* SPEC 3.6, fault 34. Netty: a cancel makes room. In Netty this takes a
 * tick. */
static void test_netty_cancel_makes_room_at_once(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	struct tkw_timeout_id ids[2];

	open_with_room_for_two(p, ids);
	assert_int_equal(tkw_timer_cancel(b->t, ids[1]), 0);
	bed_schedule(b, 3, 90 * TKW_MSEC);
	assert_full(b);
	/* One cancel frees one place, however often it is repeated. */
	assert_int_equal(tkw_timer_cancel(b->t, ids[1]), -ENOENT);
	assert_full(b);
	assert_int_equal(tkw_timer_cancel(b->t, ids[0]), 0);
	bed_pass(b, 90 * TKW_MSEC + p->cfg.tick_ns);
	bed_assert_fired(b, 3);
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_netty_cancel_makes_room_at_once)

/* SPEC 3.6, 4.5, fault 34. Netty: a run makes room. Here the place is free
 * before the task begins, so the task may schedule again. */
static void test_netty_run_makes_room(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	struct peers_deed *deed = peers_deed(p, 0, arm_again);
	struct tkw_timeout_id ids[2];
	struct tkw_timeout_id id;

	open_with_room_for_two(p, ids);
	assert_int_equal(tkw_timer_cancel(b->t, ids[1]), 0);
	deed->delay_ns = 6 * TKW_SEC;
	id = peers_schedule_deed(deed, 3);
	assert_full(b);
	/* There is no place for the bed's marker. An earlier deadline wakes the
	 * worker, too. */
	assert_int_equal(tkw_timer_reschedule(b->t, id, 0), 0);
	peers_await(b, 1);
	bed_assert_fired(b, 3);
	assert_int_equal(deed->rets[0], 0);
	assert_full(b);
	bed_assert_ledger(b, 2);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
}
PEERS_TEST(test_netty_run_makes_room)

/* SPEC 5.7. Netty: three are pending, and none after they have ended. */
static void test_netty_counts_three_pending_then_none(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const struct tkw_timeout_id one = bed_schedule(b, 1, 6000 * TKW_SEC);
	const struct tkw_timeout_id two = bed_schedule(b, 2, 6000 * TKW_SEC);

	bed_schedule(b, 3, 90 * TKW_MSEC);
	assert_true(tkw_timer_count(b->t) == 3);
	assert_int_equal(tkw_timer_cancel(b->t, one), 0);
	assert_int_equal(tkw_timer_cancel(b->t, two), 0);
	assert_true(tkw_timer_count(b->t) == 1);
	bed_pass(b, 90 * TKW_MSEC + p->cfg.tick_ns);
	bed_assert_fired(b, 3);
	assert_true(tkw_timer_count(b->t) == 0);
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_netty_counts_three_pending_then_none)

static void cancel_first_id(struct peers_deed *deed,
			    const struct tkw_firing *firing)
{
	deed->rets[0] = tkw_timer_cancel(firing->timer, deed->ids[0]);
	deed->rets[1] = tkw_timer_cancel(firing->timer, deed->ids[0]);
}

/* SPEC 4.5, 5.7, fault 8. Netty: a timeout that is cancelled inside its own
 * tick, by another of that tick, is counted once. */
static void test_netty_counts_a_cancel_within_its_tick_once(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	struct peers_deed *deed = peers_deed(p, 0, cancel_first_id);

	deed->delay_ns = 3 * p->cfg.tick_ns;
	/* The worker sleeps, so it fires neither of them before the id is
	 * known. */
	peers_schedule_deed(deed, 1);
	deed->ids[0] = bed_schedule(b, 2, deed->delay_ns);
	bed_schedule(b, 3, 3600 * TKW_SEC);
	bed_pass(b, 4 * p->cfg.tick_ns);
	bed_assert_fired(b, 1);
	assert_int_equal(deed->rets[0], 0);
	assert_int_equal(deed->rets[1], -ENOENT);
	assert_int_equal(bed_cancelled_times(b, 2), 1);
	assert_true(tkw_timer_count(b->t) == 1);
	bed_assert_ledger(b, 1);
}
PEERS_TEST(test_netty_counts_a_cancel_within_its_tick_once)

/* SPEC 3.2, fault 17. Netty: the largest delay never fires. */
static void test_netty_largest_delay_never_fires(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	const struct tkw_timeout_id id = bed_schedule(b, 1, INT64_MAX);
	struct tkw_timeout_info info;

	bed_schedule(b, 2, TKW_SEC);
	assert_int_equal(tkw_timer_get(b->t, id, &info), 0);
	assert_true(info.deadline_ns == TKW_NEVER_NS);
	bed_pass(b, 2 * TKW_SEC);
	bed_assert_fired(b, 2);
	bed_pass(b, INT64_C(290) * 365 * 86400 * TKW_SEC);
	bed_assert_nothing_fired(b);
	bed_assert_ledger(b, 1);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	assert_int_equal(bed_cancelled_times(b, 1), 1);
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_netty_largest_delay_never_fires)

/* SPEC 5.6, 6.2. Netty: stop cancels what is pending, but does not tell the
 * task. Here on-cancel is called. */
static void test_netty_stop_cancels_what_is_pending(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	struct tkw_timeout_id ids[5];
	uint64_t i;

	for (i = 0; i < 5; i++)
		ids[i] = bed_schedule(b, i, 5 * TKW_SEC);
	assert_int_equal(tkw_timer_cancel(b->t, ids[4]), 0);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	for (i = 0; i < 5; i++) {
		assert_int_equal(bed_cancelled_times(b, i), 1);
		assert_int_equal(tkw_timer_cancel(b->t, ids[i]), -ENOENT);
	}
	assert_int_equal(b->cancelled_count, 5);
	bed_assert_nothing_fired(b);
	bed_assert_ledger(b, 0);
}
PEERS_TEST(test_netty_stop_cancels_what_is_pending)

struct told {
	pthread_t by;
	int times;
};

static void note_told(void *ctx)
{
	struct told *told = ctx;

	told->by = pthread_self();
	told->times++;
}

static void note_nothing(const struct tkw_firing *firing, void *ctx)
{
	(void)ctx;
	(void)firing;
}

/* SPEC 5.6. Netty: a cancelled task is told once, and one that ran is not.
 * There the worker does it in its next tick. Here the cancel does it at
 * once. */
static void test_netty_cancelled_task_is_told(struct peers *p)
{
	struct timer_bed *b = &p->bed;
	struct told told[2] = { { .times = 0 }, { .times = 0 } };
	struct tkw_task task = { .fn = note_nothing, .on_cancel = note_told };
	struct tkw_timeout_id ids[2];
	int i;

	for (i = 0; i < 2; i++) {
		task.ctx = &told[i];
		assert_int_equal(tkw_timer_schedule(b->t, &task,
						    5 * p->cfg.tick_ns,
						    &ids[i]),
				 0);
	}
	assert_int_equal(tkw_timer_cancel(b->t, ids[0]), 0);
	assert_int_equal(told[0].times, 1);
	assert_true(pthread_equal(told[0].by, pthread_self()));
	assert_int_equal(tkw_timer_cancel(b->t, ids[0]), -ENOENT);
	bed_pass(b, 6 * p->cfg.tick_ns);
	assert_int_equal(tkw_timer_cancel(b->t, ids[1]), -ENOENT);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_int_equal(told[0].times, 1);
	assert_int_equal(told[1].times, 0);
}
PEERS_TEST(test_netty_cancelled_task_is_told)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PEERS_ON_ALL(test_netty_does_not_run_before_the_delay),
		PEERS_ON_ALL(test_netty_runs_after_the_delay),
		PEERS_ON_ALL(test_netty_stop_returns_nothing_when_all_has_run),
		PEERS_ON_ALL(test_netty_stop_returns_what_has_not_run),
		PEERS_ON_ALL(test_netty_refuses_after_stop),
		PEERS_ON_ALL(test_netty_task_arms_itself_again),
		PEERS_ON_ALL(test_netty_task_arms_itself_beyond_the_wheel),
		PEERS_ON_ALL(test_netty_runs_100000_on_time),
		PEERS_ON_ALL(test_netty_rejects_beyond_the_limit),
		PEERS_ON_ALL(test_netty_cancel_makes_room_at_once),
		PEERS_ON_ALL(test_netty_run_makes_room),
		PEERS_ON_ALL(test_netty_counts_three_pending_then_none),
		PEERS_ON_ALL(test_netty_counts_a_cancel_within_its_tick_once),
		PEERS_ON_ALL(test_netty_largest_delay_never_fires),
		PEERS_ON_ALL(test_netty_stop_cancels_what_is_pending),
		PEERS_ON_ALL(test_netty_cancelled_task_is_told),
	};

	return cmocka_run_group_tests_name("timer_peers", tests, NULL, NULL);
}
