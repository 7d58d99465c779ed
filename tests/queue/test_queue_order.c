/* SPDX-License-Identifier: MIT */
/* test_queue_order.c - who is given out, when, and in which order. */
#include "queue_bed.h"

#define NONE UINT64_C(0)

/* SPEC 11.5: never before its due time. */
static void test_queue_item_is_given_out_when_it_is_due(void **state)
{
	struct queue_bed *b = *state;
	uint64_t id = bed_put(b, b->now + 10);

	b->now += 9;
	bed_expect(b, NONE);
	b->now += 1;
	bed_expect(b, id, NONE);
}

/* SPEC 11.5: the order is due, then sequence. */
static void test_queue_order_is_due_then_sequence(void **state)
{
	struct queue_bed *b = *state;
	uint64_t late = bed_put(b, b->now + 5);
	uint64_t first = bed_put(b, b->now + 3);
	uint64_t second = bed_put(b, b->now + 3);

	b->now += 100;
	bed_expect(b, first, second, late, NONE);
}

/* SPEC 11.5, 11.4: a time in the past comes before all that is due later,
 * although it was put last. */
static void test_queue_past_time_comes_first(void **state)
{
	struct queue_bed *b = *state;
	uint64_t ready = bed_put(b, b->now);
	uint64_t past = bed_put(b, b->now - 50);

	bed_expect(b, past, ready, NONE);
}

/* SPEC 11.5: a reschedule sets due, and so gives a new sequence. */
static void test_queue_rescheduled_item_goes_behind_its_equals(void **state)
{
	struct queue_bed *b = *state;
	uint64_t a = bed_put(b, b->now + 4);
	uint64_t c = bed_put(b, b->now + 4);
	struct tkw__queue_call call = bed_call(b);
	struct tkw__queue_name name = { .id = a };
	enum tkw__queue_answer answer;

	assert_int_equal(tkw__queue_reschedule(
				 b->q, &call, &name,
				 (struct tkw__queue_when){ false, 4 }, &answer),
			 0);
	assert_int_equal(answer, TKW__QUEUE_DONE);
	b->now += 4;
	bed_expect(b, c, a, NONE);
}

/* SPEC 11.2: a lost lease is a nack at the end of the lease. The item then
 * comes before one that is due later, whenever the loss is noticed. */
static void test_queue_lost_lease_comes_back_at_its_end(void **state)
{
	struct queue_bed *b = *state;
	uint64_t id = bed_put(b, b->now);
	uint64_t later = bed_put(b, b->now + 20);
	struct tkw__queue_taken t = bed_take(b, 10);

	assert_int_equal(t.id, id);
	b->now += 9;
	bed_expect(b, NONE);
	b->now += 100;
	t = bed_take(b, 1000);
	assert_int_equal(t.id, id);
	assert_int_equal(t.due_ms, BED_START + 10);
	assert_int_equal(t.attempt, 2);
	bed_expect(b, later, NONE);
}

/* SPEC 11.2, 11.7: a token is stale as soon as its lease has ended, even if
 * nothing has recorded it, and changes nothing. */
static void test_queue_token_is_stale_when_its_lease_ends(void **state)
{
	struct queue_bed *b = *state;
	uint64_t id = bed_put(b, b->now);
	struct tkw__queue_taken t = bed_take(b, 10);
	size_t len = b->log.len;

	b->now += 10;
	assert_int_equal(bed_ack(b, id, t.token), TKW__QUEUE_UNKNOWN);
	assert_int_equal(bed_nack(b, id, t.token, NULL), TKW__QUEUE_UNKNOWN);
	assert_int_equal(b->log.len, len);
	assert_int_equal(bed_get(b, id).state, TKW__QUEUE_IS_READY);
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_READY), 1);
	assert_int_equal(bed_ack(b, id, t.token), TKW__QUEUE_UNKNOWN);
}

/* SPEC 11.6: tokens grow with every take, also when the clock is put back. */
static void test_queue_tokens_grow_when_the_clock_goes_back(void **state)
{
	struct queue_bed *b = *state;
	uint64_t token = 0;
	int i;

	for (i = 0; i < 20; i++) {
		struct tkw__queue_taken t;

		bed_put(b, b->now - 1000);
		t = bed_take(b, 10);
		assert_true(t.token > token);
		assert_true(t.token >= b->now * 1000);
		token = t.token;
		b->now -= 20;
	}
}

/* SPEC 11.23 at the heart: when the clock is put back, what was ready waits
 * again, and comes in order with what is put meanwhile. */
static void test_queue_ready_waits_again_when_clock_goes_back(void **state)
{
	struct queue_bed *b = *state;
	uint64_t a = bed_put(b, b->now + 10);
	uint64_t c = bed_put(b, b->now + 30);
	uint64_t d;

	b->now += 40;
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_READY), 2);
	b->now -= 35;
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_READY), 0);
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_WAITING), 2);
	d = bed_put(b, BED_START + 20);
	bed_expect(b, NONE);
	b->now = BED_START + 20;
	bed_expect(b, a, d, NONE);
	b->now = BED_START + 30;
	bed_expect(b, c, NONE);
}

/* The same with wheels, which cannot go back. */
static void test_queue_clock_goes_back_under_a_wheel(void **state)
{
	struct queue_bed *b = *state;
	uint64_t id[100];
	int i;

	for (i = 0; i < 100; i++)
		id[i] = bed_put(b, BED_START + 1000 + (uint64_t)(i % 10) * 10);
	b->now += 1045;
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_READY), 50);
	b->now -= 45;
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_READY), 10);
	b->now += 500;
	for (i = 0; i < 100; i++)
		assert_int_equal(bed_take(b, 10000).id,
				 id[i % 10 * 10 + i / 10]);
}

/* SPEC 11.23 at the heart: a lease goes on when the clock is put back before
 * its end, unless its loss was recorded. */
static void test_queue_lease_goes_on_when_clock_goes_back(void **state)
{
	struct queue_bed *b = *state;
	uint64_t a = bed_put(b, b->now);
	struct tkw__queue_taken t = bed_take(b, 10);

	b->now += 10;
	assert_int_equal(bed_ack(b, a, t.token), TKW__QUEUE_UNKNOWN);
	b->now -= 1;
	assert_int_equal(bed_get(b, a).state, TKW__QUEUE_IS_TAKEN);
	b->now += 1;
	bed_quiet(b);
	b->now -= 1;
	assert_int_equal(bed_ack(b, a, t.token), TKW__QUEUE_UNKNOWN);
	assert_int_equal(bed_get(b, a).state, TKW__QUEUE_IS_WAITING);
}

/* SPEC 11.5: many due at once and leases that end in between, with all kinds of
 * lines: the order is one. */
static void test_queue_lost_leases_mix_with_ready_items(void **state)
{
	struct queue_bed *b = *state;
	uint64_t id[6];
	int i;

	for (i = 0; i < 3; i++)
		id[i] = bed_put(b, b->now);
	for (i = 0; i < 3; i++)
		assert_int_equal(bed_take(b, 10 + (uint64_t)i * 10).id, id[i]);
	for (i = 3; i < 6; i++)
		id[i] = bed_put(b, b->now + 5 + (uint64_t)(i - 3) * 10);
	b->now += 100;
	bed_expect(b, id[3], id[0], id[4], id[1], id[5], id[2], NONE);
}

/* SPEC 11.10: a paused queue gives nothing out; puts go on. */
static void test_queue_paused_gives_nothing_out(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_call call = bed_call(b);
	size_t len;
	uint64_t id;

	assert_int_equal(tkw__queue_pause(b->q, &call), 0);
	len = b->log.len;
	assert_int_equal(tkw__queue_pause(b->q, &call), 0);
	assert_int_equal(b->log.len, len);
	id = bed_put(b, b->now);
	bed_expect(b, NONE);
	assert_int_equal(tkw__queue_resume(b->q, &call), 0);
	bed_expect(b, id, NONE);
}

/* SPEC 11.5: an extension moves the end of the lease, to later or to
 * earlier. */
static void test_queue_extended_lease_ends_at_its_new_time(void **state)
{
	struct queue_bed *b = *state;
	uint64_t id = bed_put(b, b->now);
	struct tkw__queue_taken t = bed_take(b, 10);
	struct tkw__queue_call call = bed_call(b);
	struct tkw__queue_claim c = { id, t.token };
	enum tkw__queue_answer answer;
	struct tkw__queue_claims claims = { &c, 1, &answer };

	assert_int_equal(tkw__queue_extend(b->q, &call, &claims, 50), 0);
	assert_int_equal(answer, TKW__QUEUE_DONE);
	b->now += 49;
	assert_int_equal(bed_get(b, id).state, TKW__QUEUE_IS_TAKEN);
	call = bed_call(b);
	assert_int_equal(tkw__queue_extend(b->q, &call, &claims, 2), 0);
	b->now += 2;
	assert_int_equal(bed_get(b, id).state, TKW__QUEUE_IS_READY);
	call = bed_call(b);
	assert_int_equal(tkw__queue_extend(b->q, &call, &claims, 2), 0);
	assert_int_equal(answer, TKW__QUEUE_UNKNOWN);
}

/* The shell's timer: next is never late, and after now when all is quiet. */
static void test_queue_next_names_the_next_change(void **state)
{
	struct queue_bed *b = *state;

	assert_true(tkw__queue_next_ms(b->q, b->now * 1000) == UINT64_MAX);
	bed_put(b, b->now + 70);
	assert_int_equal(tkw__queue_next_ms(b->q, b->now * 1000), b->now + 70);
	bed_put(b, b->now);
	assert_int_equal(tkw__queue_next_ms(b->q, b->now * 1000), b->now + 70);
	bed_take(b, 30);
	assert_int_equal(tkw__queue_next_ms(b->q, b->now * 1000), b->now + 30);
	b->now += 30;
	assert_int_equal(tkw__queue_next_ms(b->q, b->now * 1000), b->now);
	bed_quiet(b);
	assert_int_equal(tkw__queue_next_ms(b->q, b->now * 1000), b->now + 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST(test_queue_item_is_given_out_when_it_is_due),
		BED_TEST(test_queue_order_is_due_then_sequence),
		BED_TEST(test_queue_past_time_comes_first),
		BED_TEST(test_queue_rescheduled_item_goes_behind_its_equals),
		BED_TEST(test_queue_lost_lease_comes_back_at_its_end),
		BED_TEST(test_queue_token_is_stale_when_its_lease_ends),
		BED_TEST(test_queue_tokens_grow_when_the_clock_goes_back),
		BED_TEST(test_queue_ready_waits_again_when_clock_goes_back),
		BED_TEST(test_queue_clock_goes_back_under_a_wheel),
		BED_TEST(test_queue_lease_goes_on_when_clock_goes_back),
		BED_TEST(test_queue_lost_leases_mix_with_ready_items),
		BED_TEST(test_queue_paused_gives_nothing_out),
		BED_TEST(test_queue_extended_lease_ends_at_its_new_time),
		BED_TEST(test_queue_next_names_the_next_change),
	};

	return cmocka_run_group_tests_name("queue_order", tests, NULL, NULL);
}
