/* SPDX-License-Identifier: MIT */
/* test_queue_check.c - the checker finds what is broken, and names it. */
#include "queue_bed.h"

#include "queue/state.h"

static void expect_wrong(struct queue_bed *b, const char *wrong)
{
	const char *said = tkw__queue_check(b->q);

	assert_non_null(said);
	assert_string_equal(said, wrong);
}

static void test_queue_check_names_a_broken_law(void **state)
{
	struct queue_bed *b = *state;

	bed_put(b, b->now);
	b->q->totals.puts++;
	expect_wrong(b, "the law is broken");
	b->q->totals.puts--;
	b->q->bytes++;
	expect_wrong(b, "the sum of bytes is wrong");
	b->q->bytes--;
	b->q->by_id.count++;
	expect_wrong(b, "an index has lost items");
	b->q->by_id.count--;
}

static void test_queue_check_names_a_broken_item(void **state)
{
	struct queue_bed *b = *state;
	uint64_t id = bed_put(b, b->now);
	struct tkw__item *it;

	bed_take(b, 10);
	it = tkw__index_find_id(b->q, id);
	it->token += 5;
	expect_wrong(b, "a token is above the last one");
	it->token -= 5;
	it->max_attempts = 1;
	it->attempts = 2;
	expect_wrong(b, "an item was taken too often");
	it->attempts = 1;
	it->node.tick = TKW__QUEUE_MAX_MS + 1;
	expect_wrong(b, "an item has a time that is none");
	it->node.tick = b->now + 10;
	b->q->totals.last_id--;
	expect_wrong(b, "an id or a sequence is above the last one");
	b->q->totals.last_id++;
	it->max_attempts = 2;
	it->state = TKW__IDLE;
	expect_wrong(b, "the counts by state are wrong");
	it->attempts = 2;
	expect_wrong(b, "an item was taken too often");
	it->state = TKW__TAKEN;
}

static void test_queue_check_names_a_broken_line(void **state)
{
	struct queue_bed *b = *state;
	uint64_t first = bed_put(b, b->now);
	uint64_t id;
	struct tkw__item *it;

	bed_put(b, b->now);
	it = tkw__index_find_id(b->q, first);
	it->other += 10;
	b->q->totals.last_id += 10;
	expect_wrong(b, "a list is not in order");
	it->other -= 10;
	b->q->idle.listed++;
	expect_wrong(b, "a list has lost items");
	b->q->idle.listed--;
	b->q->totals.last_id -= 10;
	id = bed_put(b, b->now + 50);
	bed_put(b, b->now + 60);
	bed_put(b, b->now + 70);
	it = tkw__index_find_id(b->q, id);
	it->node.tick += 100;
	expect_wrong(b, "a tree is not in order");
	it->node.tick -= 100;
	it->node.size++;
	expect_wrong(b, "the size of a subtree is wrong");
	it->node.size--;
}

/* A counter that has come to its end gives no more numbers. */
static void test_queue_last_number_is_not_passed(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_put p = { .payload = { "x", 1 } };
	struct tkw__queue_call call = bed_call(b);
	struct tkw__queue_taken t;

	bed_put(b, b->now);
	b->q->totals.last_id = INT64_MAX;
	b->q->totals.last_token = INT64_MAX;
	assert_int_equal(bed_put_with(b, &p), -EOVERFLOW);
	assert_int_equal(tkw__queue_take(b->q, &call, 1, 10, &t), -EOVERFLOW);
	bed_check(b);
}

/* An item that has no limit can be taken any number of times. */
static void test_queue_attempts_stay_at_the_largest_number(void **state)
{
	struct queue_bed *b = *state;
	uint64_t id = bed_put(b, b->now);
	struct tkw__queue_taken t;

	tkw__index_find_id(b->q, id)->attempts = UINT32_MAX - 1;
	t = bed_take(b, 10);
	assert_int_equal(t.attempt, UINT32_MAX);
	assert_int_equal(bed_nack(b, id, t.token, NULL), TKW__QUEUE_DONE);
	assert_int_equal(bed_take(b, 10).attempt, UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST(test_queue_check_names_a_broken_law),
		BED_TEST(test_queue_check_names_a_broken_item),
		BED_TEST(test_queue_check_names_a_broken_line),
		BED_TEST(test_queue_last_number_is_not_passed),
		BED_TEST(test_queue_attempts_stay_at_the_largest_number),
	};

	return cmocka_run_group_tests_name("queue_check", tests, NULL, NULL);
}
