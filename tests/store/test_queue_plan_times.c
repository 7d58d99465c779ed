/* SPDX-License-Identifier: MIT */
/*
 * test_queue_plan_times.c - when the items of plans come: by takes, by acks,
 * late, not at all, and once, whatever the clock does and however many threads
 * take.
 */
#include "plan_bed.h"

#include <stdlib.h>

/* --- the times ------------------------------------------------------------ */

static void test_plan_puts_the_next_item_with_the_take(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick");

	assert_int_equal(plan_bed_plan(b, &p), T(1));
	for (int i = 1; i <= 5; i++) {
		struct tkw_claim claim;

		plan_bed_take_nothing(b);
		file_bed_pass(b, 10000);
		file_bed_reopen(b);
		claim = plan_bed_take(b, T(i));
		assert_int_equal(plan_bed_facts(b, "tick").next_ms, T(i + 1));
		file_bed_reopen(b);
		assert_int_equal(plan_bed_facts(b, "tick").running, 1);
		plan_bed_ack(b, claim);
		assert_int_equal(plan_bed_facts(b, "tick").running, 0);
	}
	assert_int_equal(plan_bed_facts(b, "tick").runs, 5);
	assert_int_equal(file_bed_stats(b).all_puts, 6);
}

static void test_plan_puts_the_next_item_with_the_ack(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick");
	struct tkw_nack now = { .has_delay = 1 };
	struct tkw_claim claim;

	p.next_on_ack = 1;
	assert_int_equal(plan_bed_plan(b, &p), T(1));
	file_bed_pass(b, 10000);
	claim = plan_bed_take(b, T(1));
	assert_int_equal(plan_bed_facts(b, "tick").next_id.bits, 0);
	assert_int_equal(plan_bed_facts(b, "tick").next_ms, 0);
	/* A nack does not end it, and does not change its planned time. */
	assert_int_equal(tkw_queue_nack(b->q, &claim, 1, &now, NULL), 1);
	file_bed_reopen(b);
	claim = plan_bed_take(b, T(1));
	assert_int_equal(file_bed_stats(b).all_puts, 1);
	plan_bed_ack(b, claim);
	assert_int_equal(plan_bed_facts(b, "tick").next_ms, T(2));
	assert_int_equal(file_bed_stats(b).all_puts, 2);
}

/* Nothing is taken for 100 s: the times 1 to 10 pass, with a grace of 15 s.
 * Then the file is opened again. */
static void miss_times(struct file_bed *b, enum tkw_misfire misfire,
		       uint32_t max_missed)
{
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick");

	p.misfire = misfire;
	p.max_missed = max_missed;
	p.grace_ms = 15000;
	p.overlap = TKW_OVERLAP_ALLOW;
	assert_int_equal(plan_bed_plan(b, &p), T(1));
	file_bed_close(b);
	file_bed_pass(b, 100000);
	file_bed_open(b);
}

static void test_plan_runs_the_latest_missed_time_once(void **state)
{
	struct file_bed *b = *state;

	miss_times(b, TKW_MISFIRE_ONCE, 0);
	/* The times 9 and 10 are within the grace; 8 is the latest missed. */
	plan_bed_ack(b, plan_bed_take(b, T(8)));
	plan_bed_ack(b, plan_bed_take(b, T(9)));
	plan_bed_ack(b, plan_bed_take(b, T(10)));
	plan_bed_take_nothing(b);
	assert_int_equal(plan_bed_facts(b, "tick").missed, 1);
	assert_int_equal(plan_bed_facts(b, "tick").next_ms, T(11));
}

static void test_plan_runs_the_latest_missed_times(void **state)
{
	struct file_bed *b = *state;

	miss_times(b, TKW_MISFIRE_ALL, 3);
	for (int i = 6; i <= 10; i++)
		plan_bed_ack(b, plan_bed_take(b, T(i)));
	plan_bed_take_nothing(b);
	assert_int_equal(plan_bed_facts(b, "tick").next_ms, T(11));
}

static void test_plan_skips_missed_times(void **state)
{
	struct file_bed *b = *state;

	miss_times(b, TKW_MISFIRE_SKIP, 0);
	plan_bed_ack(b, plan_bed_take(b, T(9)));
	plan_bed_ack(b, plan_bed_take(b, T(10)));
	plan_bed_take_nothing(b);
	assert_int_equal(plan_bed_facts(b, "tick").next_ms, T(11));
}

static void test_plan_leaves_out_a_time_while_it_runs(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick");
	struct tkw_claim claim;

	assert_int_equal(plan_bed_plan(b, &p), T(1));
	file_bed_pass(b, 10000);
	claim = plan_bed_take(b, T(1));
	file_bed_pass(b, 15000);
	file_bed_reopen(b);
	plan_bed_take_nothing(b);
	plan_bed_ack(b, claim);
	assert_int_equal(plan_bed_facts(b, "tick").overlaps, 1);
	assert_int_equal(plan_bed_facts(b, "tick").next_ms, T(3));
}

static void test_plan_may_overlap(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick");
	struct tkw_claim claim;

	p.overlap = TKW_OVERLAP_ALLOW;
	assert_int_equal(plan_bed_plan(b, &p), T(1));
	file_bed_pass(b, 10000);
	claim = plan_bed_take(b, T(1));
	file_bed_pass(b, 10000);
	(void)plan_bed_take(b, T(2));
	assert_int_equal(plan_bed_facts(b, "tick").running, 2);
	plan_bed_ack(b, claim);
	assert_int_equal(plan_bed_facts(b, "tick").running, 1);
}

/* The clock steps to and fro around planned times: each comes once. */
static void test_plan_gives_no_time_twice_when_the_clock_steps(void **state)
{
	static const int64_t steps_ms[] = { 10000,  -10000, 10000, 0,
					    -30000, 50000,  -5000, 10000 };
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick");
	struct tkw_items *items;
	int64_t last_ms = 0;
	int taken = 0;

	assert_int_equal(plan_bed_plan(b, &p), T(1));
	for (int i = 0; i < 80; i++) {
		file_bed_pass(b, steps_ms[i % 8]);
		if (i % 3 == 0)
			file_bed_reopen(b);
		if (tkw_queue_take(b->q, NULL, &items) != 1)
			continue;
		assert_true(items->item[0].planned_ms > last_ms);
		last_ms = items->item[0].planned_ms;
		assert_true(last_ms * 1000 <= b->now_us);
		plan_bed_ack(b, items->item[0].claim);
		tkw_items_free(items);
		taken++;
	}
	assert_true(taken > 10);
	assert_null(tkw_queues_check(b->f));
}

/* A take that waits is woken by the clock that is set to the planned time. */
static void *wait_for_item(void *ctx)
{
	struct file_bed *b = ctx;
	struct tkw_take how = { .wait_ms = INT64_MAX };
	struct tkw_items *items = NULL;

	if (tkw_queue_take(b->q, &how, &items) != 1)
		return NULL;
	return items;
}

static void test_plan_wakes_a_take_when_the_clock_is_set(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick");
	struct tkw_items *items;
	pthread_t thread;
	void *got;

	p.text = "0 0 1 1 *";
	(void)plan_bed_plan(b, &p);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_item, b), 0);
	file_bed_wait_for_takes(b, 1);
	file_bed_pass(b, INT64_C(366) * 24 * 3600 * 1000);
	assert_int_equal(pthread_join(thread, &got), 0);
	assert_non_null(got);
	items = got;
	/* 2024-01-01. Its grace is over, and it is the latest missed time. */
	assert_int_equal(items->item[0].planned_ms, INT64_C(1704067200000));
	tkw_items_free(items);
}

/* The take that waits ends the missed item, gets nothing, and goes on waiting
 * for the next time. What it has ended is in the file. */
static void test_plan_take_waits_over_a_missed_time(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick");
	struct tkw_items *items;
	pthread_t thread;
	void *got;

	p.misfire = TKW_MISFIRE_SKIP;
	p.grace_ms = 1000;
	assert_int_equal(plan_bed_plan(b, &p), T(1));
	assert_int_equal(pthread_create(&thread, NULL, wait_for_item, b), 0);
	file_bed_wait_for_takes(b, 1);
	file_bed_pass(b, 15000);
	while (plan_bed_facts(b, "tick").missed == 0)
		;
	assert_int_equal(plan_bed_facts(b, "tick").next_ms, T(2));
	assert_int_equal(file_bed_stats(b).waiting_takes, 1);
	file_bed_pass(b, 5000);
	assert_int_equal(pthread_join(thread, &got), 0);
	assert_non_null(got);
	items = got;
	assert_int_equal(items->item[0].planned_ms, T(2));
	tkw_items_free(items);
	file_bed_reopen(b);
	assert_int_equal(plan_bed_facts(b, "tick").missed, 1);
	assert_int_equal(plan_bed_facts(b, "tick").runs, 1);
	assert_int_equal(plan_bed_facts(b, "tick").next_ms, T(3));
}

/* --- threads -------------------------------------------------------------- */

enum {
	THREADS = 4,
	TIMES = 300
};

struct crew {
	struct file_bed *b;
	int64_t seen[TIMES + 1]; /* by planned time: how often; atomic */
};

static void *work_off(void *ctx)
{
	struct crew *c = ctx;
	struct tkw_take how = { .wait_ms = INT64_MAX };
	struct tkw_items *items;

	while (tkw_queue_take(c->b->q, &how, &items) == 1) {
		const struct tkw_item *it = &items->item[0];
		int64_t i =
			it->planned_ms ? (it->planned_ms - T(0)) / 10000 : 0;

		if (i >= 0 && i <= TIMES)
			__atomic_fetch_add(&c->seen[i], 1, __ATOMIC_RELAXED);
		(void)tkw_queue_ack(c->b->q, &it->claim, 1, NULL);
		tkw_items_free(items);
		if (i == 0)
			break; /* it was told to end */
	}
	return NULL;
}

/* Several threads take. Each planned time comes once. */
static void test_plan_gives_each_time_to_one_thread(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick");
	struct crew *c = calloc(1, sizeof(*c));
	pthread_t thread[THREADS];

	assert_non_null(c);
	c->b = b;
	p.overlap = TKW_OVERLAP_ALLOW;
	p.grace_ms = INT64_MAX;
	assert_int_equal(plan_bed_plan(b, &p), T(1));
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, work_off, c),
				 0);
	for (int i = 0; i < TIMES; i++)
		file_bed_pass(b, 10000);
	while (plan_bed_facts(b, "tick").runs < TIMES)
		;
	for (int i = 0; i < THREADS; i++)
		file_bed_put(b, 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	for (int i = 1; i <= TIMES; i++)
		assert_int_equal(c->seen[i], 1);
	assert_int_equal(c->seen[0], THREADS);
	assert_int_equal(plan_bed_facts(b, "tick").next_ms, T(TIMES + 1));
	free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FILE_TEST(test_plan_puts_the_next_item_with_the_take),
		FILE_TEST(test_plan_puts_the_next_item_with_the_ack),
		FILE_TEST(test_plan_runs_the_latest_missed_time_once),
		FILE_TEST(test_plan_runs_the_latest_missed_times),
		FILE_TEST(test_plan_skips_missed_times),
		FILE_TEST(test_plan_leaves_out_a_time_while_it_runs),
		FILE_TEST(test_plan_may_overlap),
		FILE_TEST(test_plan_gives_no_time_twice_when_the_clock_steps),
		FILE_TEST(test_plan_wakes_a_take_when_the_clock_is_set),
		FILE_TEST(test_plan_take_waits_over_a_missed_time),
		FILE_TEST(test_plan_gives_each_time_to_one_thread),
	};

	return cmocka_run_group_tests_name("queue_plan_times", tests, NULL,
					   NULL);
}
