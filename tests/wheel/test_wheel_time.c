/* SPDX-License-Identifier: MIT */
/*
 * test_wheel_time.c - SPEC 1.1 and 1.7: what now is, when an entry is due, the
 * end of time, every ring's boundary, and the next tick.
 */
#include "wheel_bed.h"

static void test_1_1_advance_expires_all_up_to_its_target(void **state)
{
	struct bed *b = *state;

	bed_add(b, 0, 4);
	bed_add(b, 1, 5);
	bed_add(b, 2, 6);
	bed_advance(b, 5);
	bed_expect(b, "0@4 1@5");
	assert_int_equal(tkw_wheel_now_tick(b->w), 6);
	assert_int_equal(tkw_wheel_count(b->w), 1);
	bed_advance(b, 6);
	bed_expect(b, "2@6");
	assert_int_equal(tkw_wheel_now_tick(b->w), 7);
	assert_int_equal(tkw_wheel_count(b->w), 0);
}

static void test_1_1_now_is_the_first_tick_not_expired(void **state)
{
	struct bed *b = *state;

	assert_int_equal(tkw_wheel_now_tick(b->w), 0);
	bed_add(b, 0, 0);
	bed_advance(b, 0);
	bed_expect(b, "0@0");
	assert_int_equal(tkw_wheel_now_tick(b->w), 1);
	bed_advance(b, 1000);
	assert_int_equal(tkw_wheel_now_tick(b->w), 1001);
}

/* Fault 14: a clock that stands still or goes back. */
static void test_1_1_advance_to_the_past_does_nothing(void **state)
{
	struct bed *b = *state;

	bed_advance(b, 100);
	bed_add(b, 0, 101);
	bed_add(b, 1, 50);
	bed_advance(b, 100);
	bed_advance(b, 0);
	assert_int_equal(bed_advance_by(b, 99, 0), 0);
	bed_expect(b, "");
	assert_int_equal(tkw_wheel_now_tick(b->w), 101);
	assert_int_equal(tkw_wheel_count(b->w), 2);
	bed_advance(b, 101);
	bed_expect(b, "0@101 1@101");
}

static void test_1_1_a_past_tick_is_due_at_now(void **state)
{
	struct bed *b = *state;

	bed_advance(b, 99);
	bed_add(b, 0, 100);
	bed_add(b, 1, 0);
	bed_add(b, 2, 99);
	bed_add(b, 3, 200);
	bed_move(b, 3, 7);
	assert_int_equal(tkw_entry_tick(&b->e[1]), 100);
	assert_int_equal(tkw_entry_tick(&b->e[2]), 100);
	assert_int_equal(tkw_entry_tick(&b->e[3]), 100);
	assert_int_equal(tkw_wheel_next_tick(b->w), 100);
	bed_advance(b, 100);
	bed_expect(b, "0@100 1@100 2@100 3@100");
}

static void test_1_1_the_last_tick_expires_and_never_does_not(void **state)
{
	struct bed *b = *state;

	bed_add(b, 0, TKW_TICK_NEVER);
	bed_add(b, 1, BED_LAST);
	bed_add(b, 2, BED_LAST - 1);
	bed_advance(b, BED_LAST - 1);
	bed_expect(b, "2@18446744073709551613");
	bed_advance(b, BED_LAST);
	bed_expect(b, "1@18446744073709551614");
	assert_true(tkw_wheel_now_tick(b->w) == TKW_TICK_NEVER);
	bed_advance(b, TKW_TICK_NEVER);
	bed_advance(b, BED_LAST);
	bed_expect(b, "");
	assert_int_equal(tkw_wheel_count(b->w), 1);
	assert_int_equal(tkw_entry_is_linked(&b->e[0]), 1);
	assert_true(tkw_entry_tick(&b->e[0]) == TKW_TICK_NEVER);
}

static void test_1_1_advance_to_never_goes_to_the_last_tick(void **state)
{
	struct bed *b = *state;

	bed_add(b, 0, 3);
	bed_add(b, 1, TKW_TICK_NEVER);
	bed_advance(b, TKW_TICK_NEVER);
	bed_expect(b, "0@3");
	assert_true(tkw_wheel_now_tick(b->w) == TKW_TICK_NEVER);
	assert_int_equal(tkw_wheel_count(b->w), 1);
}

static void test_1_1_after_the_end_of_time_all_is_never_due(void **state)
{
	struct bed *b = *state;

	bed_advance(b, TKW_TICK_NEVER);
	bed_add(b, 0, 5);
	bed_add(b, 1, BED_LAST);
	assert_true(tkw_entry_tick(&b->e[0]) == TKW_TICK_NEVER);
	assert_true(tkw_wheel_next_tick(b->w) == TKW_TICK_NEVER);
	bed_advance(b, TKW_TICK_NEVER);
	bed_expect(b, "");
	bed_remove(b, 0);
	bed_remove(b, 1);
	assert_int_equal(tkw_wheel_count(b->w), 0);
}

/* A wheel may begin at any tick, even at the one that never comes. */
static void test_1_1_a_wheel_starts_at_any_tick(void **state)
{
	static const uint64_t starts[] = {
		0,
		1,
		15,
		16,
		255,
		256,
		65535,
		UINT32_MAX,
		(uint64_t)INT64_MAX,
		(uint64_t)INT64_MAX + 1,
		BED_LAST - 3,
	};
	struct bed *b = *state;
	size_t i;

	for (i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		bed_restart(b, starts[i]);
		assert_true(tkw_wheel_now_tick(b->w) == starts[i]);
		b->expired = 0;
		bed_add(b, 0, starts[i] + 2);
		bed_add(b, 1, 0);
		bed_advance(b, starts[i]);
		assert_int_equal(b->expired, 1);
		assert_int_equal(tkw_entry_is_linked(&b->e[1]), 0);
		bed_advance(b, starts[i] + 1);
		assert_int_equal(b->expired, 1);
		bed_advance(b, starts[i] + 2);
		assert_int_equal(b->expired, 2);
	}
	bed_restart(b, TKW_TICK_NEVER);
	bed_add(b, 0, 1);
	bed_advance(b, TKW_TICK_NEVER);
	assert_int_equal(tkw_wheel_count(b->w), 1);
}

/* Checks that an entry at tick is not due a tick earlier, and is due then. */
static void expect_exact(struct bed *b, uint64_t start, uint64_t tick)
{
	bed_restart(b, start);
	b->expired = 0;
	bed_add(b, 0, tick);
	assert_true(tkw_wheel_next_tick(b->w) >= start);
	assert_true(tkw_wheel_next_tick(b->w) <= tick);
	if (tick > start)
		bed_advance(b, tick - 1);
	assert_int_equal(b->expired, 0);
	assert_true(tkw_wheel_next_tick(b->w) == tick);
	bed_advance(b, tick);
	assert_int_equal(b->expired, 1);
	assert_true(tkw_wheel_now_tick(b->w) == tick + 1);
}

/* Fault 18: every power of two, so every ring's and every slot's boundary. */
static void test_1_6_boundary_of_each_ring_and_one_tick_beside(void **state)
{
	struct bed *b = *state;
	uint64_t tick;
	unsigned bit;

	for (bit = 1; bit < 64; bit++) {
		uint64_t edge = UINT64_C(1) << bit;

		for (tick = edge - 1; tick <= edge + 1; tick++) {
			expect_exact(b, 0, tick);
			expect_exact(b, edge - 1, tick);
			expect_exact(b, edge / 2 + 1 > tick ? 0 : edge / 2 + 1,
				     tick);
		}
	}
}

/* Fault 18 again, in one wheel, tick by tick over the boundary. */
static void test_1_6_boundary_passed_tick_by_tick(void **state)
{
	struct bed *b = *state;
	unsigned bit, k;

	for (bit = 4; bit < 64; bit += 4) {
		uint64_t edge = UINT64_C(1) << bit;

		bed_restart(b, edge - 5);
		b->expired = 0;
		for (k = 0; k < 10; k++)
			bed_add(b, 9 - k, edge - 5 + 9 - k);
		for (k = 0; k < 10; k++) {
			assert_int_equal(b->expired, k);
			bed_advance(b, edge - 5 + k);
			assert_int_equal(tkw_entry_is_linked(&b->e[k]), 0);
		}
		assert_int_equal(b->expired, 10);
	}
}

/* Fault 17: delays at the limits of the types that clocks use. */
static void test_1_1_extreme_ticks(void **state)
{
	static const uint64_t ticks[] = {
		0,
		1,
		INT32_MAX,
		(uint64_t)INT32_MAX + 1,
		UINT32_MAX,
		(uint64_t)UINT32_MAX + 1,
		(uint64_t)INT64_MAX - 1,
		(uint64_t)INT64_MAX,
		(uint64_t)INT64_MAX + 1,
		BED_LAST - 1,
		BED_LAST,
	};
	struct bed *b = *state;
	uint32_t i;
	uint32_t n = sizeof(ticks) / sizeof(ticks[0]);

	for (i = 0; i < n; i++)
		expect_exact(b, 0, ticks[i]);
	bed_restart(b, 0);
	for (i = n; i-- > 0;)
		bed_add(b, i, ticks[i]);
	b->expired = 0;
	for (i = 0; i < n; i++) {
		bed_advance(b, ticks[i]);
		assert_int_equal(b->expired, i + 1);
		assert_int_equal(tkw_entry_is_linked(&b->e[i]), 0);
	}
}

/* Fault 15: jumps of 1 s, 1 day and 10 years of milliseconds, order kept. */
static void test_1_6_order_over_long_jumps(void **state)
{
	static const uint64_t second = 1000, day = 86400000,
			      years = UINT64_C(315360000000);
	struct bed *b = *state;

	bed_add(b, 0, years);
	bed_add(b, 1, years + 1);
	bed_add(b, 2, day);
	bed_add(b, 3, second);
	bed_add(b, 4, years);
	bed_add(b, 5, 1);
	bed_add(b, 6, day);
	bed_advance(b, second);
	bed_expect(b, "5@1 3@1000");
	bed_advance(b, second + day);
	bed_expect(b, "2@86400000 6@86400000");
	bed_advance(b, years);
	bed_expect(b, "0@315360000000 4@315360000000");
	bed_restart(b, 0);
	bed_add(b, 0, years);
	bed_add(b, 1, second);
	bed_add(b, 2, day);
	bed_add(b, 3, years);
	bed_advance(b, 2 * years);
	bed_expect(b, "1@1000 2@86400000 0@315360000000 3@315360000000");
}

static void test_1_7_next_of_an_empty_wheel_is_never(void **state)
{
	struct bed *b = *state;

	assert_true(tkw_wheel_next_tick(b->w) == TKW_TICK_NEVER);
	bed_add(b, 0, 7);
	bed_remove(b, 0);
	assert_true(tkw_wheel_next_tick(b->w) == TKW_TICK_NEVER);
	bed_add(b, 0, 7);
	bed_advance(b, 7);
	assert_true(tkw_wheel_next_tick(b->w) == TKW_TICK_NEVER);
	bed_add(b, 0, TKW_TICK_NEVER);
	assert_int_equal(tkw_wheel_count(b->w), 1);
}

static void test_1_7_next_is_exact_for_near_entries(void **state)
{
	struct bed *b = *state;

	bed_add(b, 0, 9);
	assert_int_equal(tkw_wheel_next_tick(b->w), 9);
	bed_add(b, 1, 0);
	assert_int_equal(tkw_wheel_next_tick(b->w), 0);
	bed_advance(b, 8);
	assert_int_equal(tkw_wheel_next_tick(b->w), 9);
}

/* Entries that were in the wheel before leave no trace when it is empty. */
static void test_1_7_next_is_exact_after_the_wheel_was_empty(void **state)
{
	struct bed *b = *state;

	bed_add(b, 0, 7);
	bed_remove(b, 0);
	bed_advance(b, 160);
	bed_add(b, 0, 165);
	assert_int_equal(tkw_wheel_next_tick(b->w), 165);
}

/* Neither before now nor late, whatever was added and removed before. */
static void test_1_7_next_after_removals(void **state)
{
	struct bed *b = *state;
	uint64_t step, now;

	for (step = 1; step < 40; step += 3) {
		bed_restart(b, 0);
		bed_add(b, 0, 700);
		for (now = 0; now < 600; now += step) {
			bed_add(b, 1, now + 1);
			bed_remove(b, 1);
			bed_advance(b, now);
			assert_in_range(tkw_wheel_next_tick(b->w), now + 1,
					700);
		}
		bed_advance(b, 700);
		bed_expect(b, "0@700");
	}
}

static void test_1_8_a_bounded_advance_never_puts_now_back(void **state)
{
	struct bed *b = *state;
	uint64_t step, now;

	for (step = 1; step < 40; step++) {
		bed_restart(b, 0);
		bed_add(b, 0, 700);
		for (now = 0; now < 600; now = tkw_wheel_now_tick(b->w)) {
			bed_add(b, 1, now + 1);
			bed_remove(b, 1);
			if (bed_advance_by(b, now + step, step % 2) == 1) {
				assert_true(tkw_wheel_now_tick(b->w) >= now);
				bed_advance(b, now + step);
			}
			assert_true(tkw_wheel_now_tick(b->w) == now + step + 1);
		}
		bed_expect(b, "");
	}
}

/* A caller that sleeps until next wakes in time and reaches the tick, whatever
 * it is. */
static void test_1_7_next_is_never_late(void **state)
{
	struct bed *b = *state;
	unsigned bit, calls;

	for (bit = 0; bit < 64; bit++) {
		uint64_t edge = UINT64_C(1) << bit;
		uint64_t tick = edge + (UINT64_C(1) << bit / 2);

		bed_restart(b, bit);
		bed_add(b, 0, tick);
		bed_add(b, 1, tick + 3);
		b->expired = 0;
		for (calls = 0; b->expired == 0; calls++) {
			uint64_t next = tkw_wheel_next_tick(b->w);

			assert_true(next >= tkw_wheel_now_tick(b->w));
			assert_true(next <= tkw_entry_tick(&b->e[0]));
			bed_advance(b, next);
			assert_true(calls <= 1000);
		}
		assert_int_equal(tkw_entry_is_linked(&b->e[0]), 0);
	}
}

static void test_1_7_next_reaches_an_entry_within_a_call_per_ring(void **state)
{
	struct bed *b = *state;
	uint64_t tick = 0;
	unsigned useless;
	uint32_t ring;

	/* Every digit is 1, so the entry goes through every ring. */
	for (ring = 0; ring < b->shape.rings; ring++) {
		tick = tick * b->shape.slots + 1;
		bed_restart(b, 0);
		bed_add(b, 0, tick);
		b->expired = 0;
		for (useless = 0; b->expired == 0; useless++)
			bed_advance(b, tkw_wheel_next_tick(b->w));
		assert_true(useless - 1 <= ring);
	}
}

/* next uses the old slot of a lazily extended entry. That is early, which is
 * legal. */
static void test_1_7_next_of_an_extended_entry_is_not_late(void **state)
{
	struct bed *b = *state;
	unsigned calls;

	bed_add(b, 0, 5);
	bed_extend(b, 0, 5000);
	b->expired = 0;
	for (calls = 0; b->expired == 0; calls++) {
		assert_true(tkw_wheel_next_tick(b->w) <= 5000);
		bed_advance(b, tkw_wheel_next_tick(b->w));
		assert_true(calls < 5001);
	}
	bed_expect(b, "0@5000");
}

static void test_1_7_next_while_stopped_is_not_late(void **state)
{
	struct bed *b = *state;
	uint64_t tick = b->shape.slots * 3;

	bed_add(b, 0, tick);
	bed_add(b, 1, tick);
	while (bed_advance_by(b, tick, 1) == 1) {
		assert_true(tkw_wheel_next_tick(b->w) >=
			    tkw_wheel_now_tick(b->w));
		assert_true(tkw_wheel_next_tick(b->w) <= tick);
	}
	assert_int_equal(b->expired, 2);
}

int main(void)
{
	static const struct bed_test tests[] = {
		BED_TEST(test_1_1_advance_expires_all_up_to_its_target,
			 BED_ANY),
		BED_TEST(test_1_1_now_is_the_first_tick_not_expired, BED_ANY),
		BED_TEST(test_1_1_advance_to_the_past_does_nothing, BED_ANY),
		BED_TEST(test_1_1_a_past_tick_is_due_at_now, BED_ANY),
		BED_TEST(test_1_1_the_last_tick_expires_and_never_does_not,
			 BED_ANY),
		BED_TEST(test_1_1_advance_to_never_goes_to_the_last_tick,
			 BED_ANY),
		BED_TEST(test_1_1_after_the_end_of_time_all_is_never_due,
			 BED_ANY),
		BED_TEST(test_1_1_a_wheel_starts_at_any_tick, BED_ANY),
		BED_TEST(test_1_1_extreme_ticks, BED_ANY),
		BED_TEST(test_1_6_boundary_of_each_ring_and_one_tick_beside,
			 BED_ANY),
		BED_TEST(test_1_6_boundary_passed_tick_by_tick, BED_ANY),
		BED_TEST(test_1_6_order_over_long_jumps, BED_ANY),
		BED_TEST(test_1_7_next_of_an_empty_wheel_is_never, BED_ANY),
		BED_TEST_FROM(16, test_1_7_next_is_exact_for_near_entries,
			      BED_ANY),
		BED_TEST_FROM(16,
			      test_1_7_next_is_exact_after_the_wheel_was_empty,
			      BED_ANY),
		BED_TEST(test_1_7_next_after_removals, BED_ANY),
		BED_TEST(test_1_8_a_bounded_advance_never_puts_now_back,
			 BED_ANY),
		BED_TEST(test_1_7_next_is_never_late, BED_ANY),
		BED_TEST(test_1_7_next_reaches_an_entry_within_a_call_per_ring,
			 BED_HIER),
		BED_TEST(test_1_7_next_of_an_extended_entry_is_not_late,
			 BED_ANY),
		BED_TEST(test_1_7_next_while_stopped_is_not_late, BED_ANY),
	};

	return bed_main("wheel_time", tests, sizeof(tests) / sizeof(tests[0]));
}
