/* SPDX-License-Identifier: MIT */
/*
 * test_queue_bounds.c - 11.12: no call makes more than a bounded number of
 * steps. Steps are counted by the queue: an item that is moved, a level of a
 * tree, a link of a chain, a record. No clock.
 */
#include "queue_bed.h"

#include <stdlib.h>

#include "queue/hash.h"
#include "queue/state.h"

enum {
	/* As many as SPEC 11.12 names, in one test. In the others fewer
	 * show the same. */
	MILLION = 1000000,
	MANY = 100000,
	/* What a call may take besides its items. */
	CALL = 128,
	/* For each item, without and with a tree of a million, which is about
	 * 50 levels deep at worst: an item is removed from one tree and put
	 * into another. */
	EACH = 24,
	EACH_IN_TREE = 120
};

static uint64_t steps_before;

static void begin_steps(struct queue_bed *b)
{
	steps_before = tkw__queue_count_steps(b->q);
}

static void expect_steps(struct queue_bed *b, uint64_t most)
{
	uint64_t steps = tkw__queue_count_steps(b->q) - steps_before;

	if (getenv("TKW_SHOW_STEPS"))
		print_message("%lu of %lu steps\n", (unsigned long)steps,
			      (unsigned long)most);
	if (steps > most)
		fail_msg("%lu steps, and %lu are allowed", (unsigned long)steps,
			 (unsigned long)most);
}

/* Puts many items of 100 bytes in one call each. Returns the first id. */
static uint64_t put_many(struct queue_bed *b, uint32_t n, uint64_t due,
			 uint64_t each)
{
	static const char text[100];
	struct tkw__queue_put p = { .when = { true, (int64_t)due },
				    .payload = { text, sizeof(text) } };
	struct tkw__queue_call call = { b->now * 1000, NULL, false };
	uint64_t first = 0;
	uint64_t id;
	uint32_t i;

	for (i = 0; i < n; i++) {
		begin_steps(b);
		assert_int_equal(tkw__queue_put(b->q, &call, &p, 1, &id), 0);
		expect_steps(b, each);
		tkw__queue_commit(b->q);
		first = first ? first : id;
	}
	return first;
}

/* Takes all, some at a time. They come in the order of their ids. Returns how
 * many calls were behind. */
static uint64_t take_each(struct queue_bed *b, uint32_t n, uint64_t first,
			  uint64_t lease, uint64_t each)
{
	struct tkw__queue_call call = { b->now * 1000, NULL, false };
	struct tkw__queue_taken t[100];
	uint64_t behind = 0;
	uint32_t taken = 0;

	while (taken < n) {
		int got, i;

		begin_steps(b);
		got = tkw__queue_take(b->q, &call, 100, lease, t);
		expect_steps(b, 1024 + 100 * (each + 4) + CALL);
		tkw__queue_commit(b->q);
		assert_true(got > 0 || call.behind);
		behind += call.behind;
		for (i = 0; i < got; i++)
			assert_int_equal(t[i].id, first + taken++);
	}
	return behind;
}

static uint64_t take_all(struct queue_bed *b, uint32_t n, uint64_t first,
			 uint64_t lease)
{
	return take_each(b, n, first, lease, EACH);
}

static uint64_t advance_all(struct queue_bed *b, uint64_t each)
{
	struct tkw__queue_call call = { b->now * 1000, NULL, false };
	uint64_t calls = 0;
	int more;

	do {
		begin_steps(b);
		more = tkw__queue_advance(b->q, &call, 100, TKW__QUEUE_MASTER);
		expect_steps(b, 100 * each + CALL);
		tkw__queue_commit(b->q);
		calls++;
	} while (more == 1);
	assert_int_equal(more, 0);
	return calls;
}

static void ack_all(struct queue_bed *b, uint32_t n, uint64_t first,
		    uint64_t token)
{
	struct tkw__queue_call call = { b->now * 1000, NULL, false };
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct tkw__queue_claim c = { first + i, token + i };
		enum tkw__queue_answer answer;
		struct tkw__queue_claims claims = { &c, 1, &answer };

		begin_steps(b);
		assert_int_equal(tkw__queue_ack(b->q, &call, &claims), 0);
		expect_steps(b, CALL);
		tkw__queue_commit(b->q);
		assert_int_equal(answer, TKW__QUEUE_DONE);
	}
}

/* SPEC 11.12: a million due in one millisecond, with advances in between. */
static void test_queue_million_due_at_once_after_advances(void **state)
{
	struct queue_bed *b = *state;
	uint64_t first = put_many(b, MILLION, b->now + 100000, CALL);
	uint64_t token;

	b->now += 100000;
	assert_true(advance_all(b, EACH) > MILLION / 100);
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_READY), MILLION);
	assert_int_equal(take_all(b, MILLION, first, 1000), 0);
	token = bed_get(b, first).token;
	ack_all(b, MILLION, first, token);
}

/* SPEC 11.12: the same, and nobody has called advance: takes say that they are
 * behind, do a bounded part of the work each, and come to an end. */
static void test_queue_many_due_at_once_without_advance(void **state)
{
	struct queue_bed *b = *state;
	uint64_t first = put_many(b, MANY, b->now + 100000, CALL);

	b->now += 200000;
	assert_true(take_all(b, MANY, first, 1000) > 0);
}

/* SPEC 11.12: 100,000 ready at once, as in a plain queue. */
static void test_queue_many_without_delay_in_order(void **state)
{
	struct queue_bed *b = *state;
	uint64_t first = put_many(b, MANY, b->now, CALL);

	assert_int_equal(take_all(b, MANY, first, 1000), 0);
}

/* SPEC 11.12: a consumer dies that holds 100,000 leases. They are lost in
 * bounded pieces, and given out again in order. */
static void test_queue_many_leases_lost_at_once(void **state)
{
	struct queue_bed *b = *state;
	uint64_t first = put_many(b, MANY, b->now, CALL);

	assert_int_equal(take_all(b, MANY, first, 50000), 0);
	b->now += 60000;
	assert_true(advance_all(b, EACH_IN_TREE) > MANY / 100);
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_READY), MANY);
	assert_int_equal(take_all(b, MANY, first, 1000), 0);
}

/* SPEC 11.12: many leases have ended, and their items are dead. A walk records
 * that and purges them, in bounded pieces. */
static void test_queue_many_dead_are_purged_in_bounded_pieces(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_put p = { .max_attempts = 1 };
	struct tkw__queue_call call = { b->now * 1000, NULL, false };
	struct tkw__queue_walk walk = { 0, 0, 0 };
	struct tkw__queue_taken t;
	uint64_t id;
	int64_t all = 0, calls = 0;

	for (int i = 0; i < MANY; i++) {
		assert_int_equal(tkw__queue_put(b->q, &call, &p, 1, &id), 0);
		assert_int_equal(tkw__queue_take(b->q, &call, 1, 1000, &t), 1);
		tkw__queue_commit(b->q);
	}
	call.now_us += 1000000;
	do {
		begin_steps(b);
		all += tkw__queue_purge_some(b->q, &call, &walk, 100);
		expect_steps(b, (TKW__QUEUE_TAKE_STEPS + 200) * EACH_IN_TREE +
					CALL);
		tkw__queue_commit(b->q);
		calls++;
	} while (call.behind);
	assert_int_equal(all, MANY);
	/* A lease moves down the wheel a few times before it is recorded. */
	assert_true(calls < MANY / 100 + 8 * MANY / 356);
}

/* SPEC 11.12: items for times in the past, the latest first: each goes into the
 * tree. */
static void test_queue_many_for_the_past_backwards(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_call call = { b->now * 1000, NULL, false };
	struct tkw__queue_taken t;
	uint64_t last = 0;
	uint32_t i;

	for (i = 0; i < MANY; i++)
		put_many(b, 1, b->now - i, EACH_IN_TREE);
	for (i = 0; i < MANY; i++) {
		begin_steps(b);
		assert_int_equal(tkw__queue_take(b->q, &call, 1, 1000, &t), 1);
		expect_steps(b, EACH_IN_TREE);
		tkw__queue_commit(b->q);
		assert_true(t.due_ms >= last);
		last = t.due_ms;
	}
}

/* SPEC 11.12: the clock is put back under 100,000 ready items. */
static void test_queue_many_ready_wait_again(void **state)
{
	struct queue_bed *b = *state;
	uint64_t first = put_many(b, MANY, b->now + 1000, CALL);

	b->now += 1000;
	advance_all(b, EACH);
	b->now -= 500;
	assert_true(advance_all(b, EACH_IN_TREE) >= MANY / 100);
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_WAITING), MANY);
	b->now += 500;
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_READY), MANY);
	assert_int_equal(bed_take(b, 1).id, first);
}

/* Puts a copy of the queue in its place, loaded from a dump, in bounded
 * steps. */
static void load_copy(struct queue_bed *b)
{
	struct tkw__queue_config cfg = b->cfg;
	struct tkw__queue_log log = { NULL, 0, 0, 0 };
	struct tkw__queue *from = b->q;
	uint64_t cursor = 0;
	size_t used;

	cfg.now_us = b->now * 1000;
	cfg.seed[0]++;
	assert_int_equal(tkw__queue_create(&b->q, &cfg), 0);
	do {
		assert_int_equal(tkw__queue_dump(from, &cursor, 100, &log), 0);
		begin_steps(b);
		assert_int_equal(
			tkw__queue_load(b->q, log.bytes, log.len, &used), 0);
		expect_steps(b, 200 * EACH + CALL);
		tkw__queue_log_clear(&log);
	} while (cursor);
	assert_true(tkw__queue_digest(b->q) == tkw__queue_digest(from));
	tkw__queue_log_fini(from, &log);
	tkw__queue_destroy(from);
}

/* Puts 100,000 items, a hundred for each ms. Returns the first id. */
static uint64_t put_spread(struct queue_bed *b)
{
	uint64_t first = put_many(b, 100, b->now + 1, CALL);
	uint32_t i;

	for (i = 1; i < MANY / 100; i++)
		put_many(b, 100, b->now + 1 + i, CALL);
	return first;
}

/* SPEC 11.12: a snapshot comes in no order. It is loaded in O(1) for each item.
 * When they are due, the hundred of each ms are sorted by a tree. */
static void test_queue_many_are_loaded_in_bounded_steps(void **state)
{
	struct queue_bed *b = *state;
	uint64_t first = put_spread(b);

	load_copy(b);
	b->now += 500;
	advance_all(b, EACH_IN_TREE);
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_READY), MANY / 2);
	b->now += 500;
	advance_all(b, EACH_IN_TREE);
	assert_int_equal(take_each(b, MANY, first, 1000, EACH_IN_TREE), 0);
}

/* SPEC 11.12: the same if all are due when they are loaded. */
static void test_queue_many_overdue_are_loaded_in_bounded_steps(void **state)
{
	struct queue_bed *b = *state;
	uint64_t first = put_spread(b);

	b->now += 100000;
	load_copy(b);
	advance_all(b, EACH_IN_TREE);
	assert_int_equal(take_each(b, MANY, first, 1000, EACH_IN_TREE), 0);
}

/* Puts items that become due one by one, the latest first. */
static void put_backwards(struct queue_bed *b, uint32_t n)
{
	struct tkw__queue_put p = { .payload = { "x", 1 } };
	struct tkw__queue_call call = { b->now * 1000, &b->log, false };
	uint64_t id;

	for (uint32_t i = 0; i < n; i++) {
		p.when = (struct tkw__queue_when){ false, n - (int64_t)i };
		assert_int_equal(tkw__queue_put(b->q, &call, &p, 1, &id), 0);
	}
}

/* Puts a copy of the queue in its place, replayed from the bed's log. Only the
 * first items, which make a small queue, may be in a tree. `snapshot` bytes of
 * the log are a snapshot. */
static void replay_copy(struct queue_bed *b, size_t snapshot)
{
	struct tkw__queue_config cfg = b->cfg;
	struct tkw__queue *from = b->q;

	cfg.now_us = b->now * 1000;
	assert_int_equal(tkw__queue_create(&b->q, &cfg), 0);
	for (size_t at = 0, i = 0; at < b->log.len; i++) {
		size_t len = (size_t)tkw__le_bytes(b->log.bytes + at, 4);

		begin_steps(b);
		assert_int_equal(tkw__queue_replay_one(b->q, b->log.bytes + at,
						       len, at < snapshot),
				 0);
		expect_steps(b,
			     i <= TKW__QUEUE_SMALL + 1 ? EACH_IN_TREE : EACH);
		tkw__queue_commit(b->q);
		at += len;
	}
	assert_true(tkw__queue_digest(b->q) == tkw__queue_digest(from));
	tkw__queue_destroy(from);
	tkw__queue_log_clear(&b->log);
}

/* Takes all items, and looks at their order. */
static void take_in_order(struct queue_bed *b, uint32_t n)
{
	uint64_t last = 0;

	while (n-- > 0) {
		struct tkw__queue_call call = { b->now * 1000, NULL, false };
		struct tkw__queue_taken t;

		assert_int_equal(tkw__queue_take(b->q, &call, 1, 1000, &t), 1);
		tkw__queue_commit(b->q);
		assert_true(t.due_ms >= last);
		last = t.due_ms;
	}
}

static void replay_overdue(struct queue_bed *b, size_t snapshot)
{
	put_backwards(b, MANY);
	b->now += UINT64_C(10) * MANY;
	replay_copy(b, snapshot);
	advance_all(b, EACH_IN_TREE);
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_READY), MANY);
	take_in_order(b, MANY);
}

/* SPEC 11.12: a journal is replayed when all its items are overdue, the latest
 * first. */
static void test_queue_many_overdue_are_replayed_in_bounded_steps(void **state)
{
	replay_overdue(*state, 0);
}

/* SPEC 11.12: the same if the first record is no put. */
static void test_queue_many_overdue_are_replayed_after_a_limit(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_call call = { b->now * 1000, &b->log, false };
	struct tkw__queue_limits limits = { .items = MILLION };

	assert_int_equal(tkw__queue_limit(b->q, &call, &limits), 0);
	replay_overdue(b, 0);
}

/* SPEC 11.12: the same if the queue was empty when it was copied forward. */
static void test_queue_many_overdue_are_replayed_after_a_snapshot(void **state)
{
	struct queue_bed *b = *state;

	assert_int_equal(tkw__queue_dump_totals(b->q, &b->log), 0);
	replay_overdue(b, b->log.len);
}

/* SPEC 11.12: items that were put without a delay are a list as soon as they
 * are replayed. Nothing is left to do. */
static void test_queue_many_without_delay_are_replayed_as_a_list(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_put p = { .payload = { "x", 1 } };
	uint64_t id;

	for (uint32_t i = 0; i < MANY; i++) {
		struct tkw__queue_call call = { b->now * 1000, &b->log, false };

		assert_int_equal(tkw__queue_put(b->q, &call, &p, 1, &id), 0);
		b->now += i % 3;
	}
	b->now += UINT64_C(10) * MANY;
	replay_copy(b, 0);
	assert_int_equal(advance_all(b, 1), 1);
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_READY), MANY);
	take_in_order(b, MANY);
}

/* The first put was made by a machine whose clock began in 1970. A wheel does
 * not begin there. */
static void test_queue_wheel_begins_at_most_49_days_ago(void **state)
{
	struct queue_bed *b = *state;
	uint64_t now = b->now;

	b->now = 1000;
	put_backwards(b, 2 * TKW__QUEUE_SMALL);
	b->now = now;
	replay_copy(b, 0);
	assert_non_null(b->q->idle.wheel);
	assert_true(tkw_wheel_now_tick(b->q->idle.wheel) + (UINT64_C(1) << 32) >
		    now);
	take_in_order(b, 2 * TKW__QUEUE_SMALL);
}

/* SPEC 11.12: 100,000 strays of one ms. */
static void test_queue_many_loaded_for_one_millisecond(void **state)
{
	struct queue_bed *b = *state;
	uint64_t first = put_many(b, MANY, b->now + 100, CALL);

	load_copy(b);
	b->now += 100;
	advance_all(b, EACH_IN_TREE);
	assert_int_equal(take_each(b, MANY, first, 1000, EACH_IN_TREE), 0);
}

static void count_visit(const struct tkw__queue_facts *f, void *ctx)
{
	(void)f;
	++*(uint64_t *)ctx;
}

/* SPEC 11.11, 11.12: a list in bounded pieces sees each item once, if nothing
 * changes; and freeing is bounded as well. */
static void test_queue_lists_and_frees_in_bounded_pieces(void **state)
{
	struct queue_bed *b = *state;
	uint64_t seen = 0;
	struct tkw__queue_list list = { b->now * 1000, TKW__QUEUE_IS_WAITING,
					100, count_visit, &seen };
	uint64_t cursor = 0;
	int more;

	put_many(b, MANY, b->now + 1000, CALL);
	do {
		begin_steps(b);
		cursor = tkw__queue_list(b->q, &list, cursor);
		expect_steps(b, 400 + CALL);
	} while (cursor);
	assert_int_equal(seen, MANY);
	do {
		begin_steps(b);
		more = tkw__queue_free_some(b->q, 100);
		if (more)
			expect_steps(b, 2000);
	} while (more);
	b->q = NULL;
	assert_int_equal(b->bytes, 0);
	bed_restart(b, 0, 0);
}

/* What an item costs: a header of 80 bytes, and 8 to 16 of the index. */
static void test_queue_item_of_100_bytes_takes_200(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_stats s;

	assert_int_equal(sizeof(struct tkw__item),
			 sizeof(void *) == 8 ? 80 : sizeof(struct tkw__item));
	put_many(b, MANY, b->now + 1000, CALL);
	tkw__queue_get_stats(b->q, b->now * 1000, &s);
	print_message("%lu bytes an item of 100, before malloc's own\n",
		      (unsigned long)(s.allocated / MANY));
	assert_true(s.allocated / MANY <= 200);
}

/* A small queue has no wheel, and a queue that has become small gives it
 * back. */
static void test_queue_small_queue_is_small(void **state)
{
	struct queue_bed *b = *state;
	uint64_t first = put_many(b, 64, b->now + 1000, CALL);
	uint64_t small = b->bytes;
	size_t wheel;
	uint32_t i;

	assert_int_equal(tkw_wheel_bytes(NULL, &wheel), 0);
	assert_true(small < 64 * 200 + 12000);
	put_many(b, 100, b->now + 1000, CALL);
	assert_true(b->bytes > small + wheel);
	for (i = 0; i < 164; i++)
		assert_int_equal(bed_cancel(b, first + i), TKW__QUEUE_DONE);
	tkw__queue_commit(b->q);
	tkw__queue_log_fini(b->q, &b->log);
	assert_true(b->bytes < small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST(test_queue_million_due_at_once_after_advances),
		BED_TEST(test_queue_many_due_at_once_without_advance),
		BED_TEST(test_queue_many_without_delay_in_order),
		BED_TEST(test_queue_many_leases_lost_at_once),
		BED_TEST(test_queue_many_dead_are_purged_in_bounded_pieces),
		BED_TEST(test_queue_many_for_the_past_backwards),
		BED_TEST(test_queue_many_ready_wait_again),
		BED_TEST(test_queue_many_are_loaded_in_bounded_steps),
		BED_TEST(test_queue_many_overdue_are_loaded_in_bounded_steps),
		BED_TEST(test_queue_many_overdue_are_replayed_in_bounded_steps),
		BED_TEST(test_queue_many_overdue_are_replayed_after_a_limit),
		BED_TEST(test_queue_many_overdue_are_replayed_after_a_snapshot),
		BED_TEST(test_queue_many_without_delay_are_replayed_as_a_list),
		BED_TEST(test_queue_wheel_begins_at_most_49_days_ago),
		BED_TEST(test_queue_many_loaded_for_one_millisecond),
		BED_TEST(test_queue_lists_and_frees_in_bounded_pieces),
		BED_TEST(test_queue_item_of_100_bytes_takes_200),
		BED_TEST(test_queue_small_queue_is_small),
	};

	return cmocka_run_group_tests_name("queue_bounds", tests, NULL, NULL);
}
