/* SPDX-License-Identifier: MIT */
/* test_wheel_slack.c - SPEC 1.10: how a tick is rounded up within its slack. */
#include "wheel_bed.h"

static void expect(uint64_t tick, uint64_t slack, uint64_t want)
{
	assert_true(tkw_tick_with_slack(tick, slack) == want);
}

static void test_1_10_no_slack_is_the_tick_itself(void **state)
{
	unsigned bit;

	(void)state;
	expect(0, 0, 0);
	expect(BED_LAST, 0, BED_LAST);
	for (bit = 0; bit < 64; bit++) {
		expect(UINT64_C(1) << bit, 0, UINT64_C(1) << bit);
		expect((UINT64_C(1) << bit) - 1, 0, (UINT64_C(1) << bit) - 1);
		expect((UINT64_C(1) << bit) + 1, 0, (UINT64_C(1) << bit) + 1);
	}
}

static void test_1_10_rounded_up_to_the_coarsest_boundary(void **state)
{
	(void)state;
	expect(1, 1, 2);
	expect(5, 1, 6);
	expect(5, 2, 6);
	expect(5, 3, 8);
	expect(5, 10, 8);
	expect(5, 11, 16);
	expect(100, 10, 104);
	expect(100, 28, 128);
	expect(1000, 23, 1008);
	expect(1000, 24, 1024);
	expect(1025, 1000, 1536);
	expect(1025, 1023, 2048);
}

/* A tick that is already on the boundary is not rounded. */
static void test_1_10_a_boundary_stays_if_no_coarser_one_is_near(void **state)
{
	(void)state;
	expect(0, 5, 0);
	expect(0, UINT64_MAX, 0);
	expect(8, 7, 8);
	expect(8, 8, 16);
	expect(1024, 1023, 1024);
	expect(1024, 1024, 2048);
	expect(UINT64_C(1) << 63, UINT64_MAX, UINT64_C(1) << 63);
}

static void test_1_10_saturates_before_the_end_of_time(void **state)
{
	(void)state;
	expect(1, UINT64_MAX, UINT64_C(1) << 63);
	expect((UINT64_C(1) << 63) + 1, UINT64_MAX, UINT64_C(3) << 62);
	expect(BED_LAST, 1, BED_LAST);
	expect(BED_LAST, UINT64_MAX, BED_LAST);
	expect(BED_LAST - 1, UINT64_MAX, BED_LAST);
	expect(BED_LAST - 2, UINT64_MAX, BED_LAST - 2);
	expect(BED_LAST - 5, 7, BED_LAST - 2);
}

static void test_1_10_never_stays_never(void **state)
{
	(void)state;
	expect(TKW_TICK_NEVER, 0, TKW_TICK_NEVER);
	expect(TKW_TICK_NEVER, 1, TKW_TICK_NEVER);
	expect(TKW_TICK_NEVER, UINT64_MAX, TKW_TICK_NEVER);
}

/* The number of zero bits at the end of x. 0 has more than any other number. */
static unsigned zeros(uint64_t x)
{
	unsigned n = 0;

	while (n < 64 && !(x >> n & 1))
		n++;
	return n;
}

/* Compares with each tick that the slack allows. */
static void test_1_10_against_all_candidates(void **state)
{
	uint64_t tick, slack, t, got;

	(void)state;
	for (tick = 0; tick < 70; tick++) {
		for (slack = 0; slack < 140; slack++) {
			got = tkw_tick_with_slack(tick, slack);
			assert_in_range(got, tick, tick + slack);
			for (t = tick; t <= tick + slack; t++)
				assert_true(zeros(t) <= zeros(got));
		}
	}
}

/* How often a caller that sleeps until the next tick wakes, until all have
 * expired. */
static unsigned wake_ups(struct bed *b)
{
	unsigned n = 0;

	for (; tkw_wheel_count(b->w) > 0; n++)
		bed_advance(b, tkw_wheel_next_tick(b->w));
	return n;
}

/* The purpose of slack: entries that may be late share a tick and a wake-up. */
static void test_1_10_entries_with_slack_share_ticks(void **state)
{
	struct bed *b = *state;
	uint64_t slots = b->shape.slots;
	uint32_t i;

	for (i = 0; i < 10; i++)
		bed_add(b, i, slots * 9 + 1 + i);
	assert_true(wake_ups(b) >= 10);
	bed_restart(b, 0);
	for (i = 0; i < 10; i++) {
		uint64_t tick = tkw_tick_with_slack(slots * 9 + 1 + i, slots);

		assert_true(tick == slots * 10);
		bed_add(b, i, tick);
	}
	assert_int_equal(wake_ups(b), 1);
	assert_int_equal(b->expired, 20);
}

int main(void)
{
	static const struct bed_test tests[] = {
		BED_TEST(test_1_10_no_slack_is_the_tick_itself, BED_ONCE),
		BED_TEST(test_1_10_rounded_up_to_the_coarsest_boundary,
			 BED_ONCE),
		BED_TEST(test_1_10_a_boundary_stays_if_no_coarser_one_is_near,
			 BED_ONCE),
		BED_TEST(test_1_10_saturates_before_the_end_of_time, BED_ONCE),
		BED_TEST(test_1_10_never_stays_never, BED_ONCE),
		BED_TEST(test_1_10_against_all_candidates, BED_ONCE),
		BED_TEST(test_1_10_entries_with_slack_share_ticks, BED_HIER),
	};

	return bed_main("wheel_slack", tests, sizeof(tests) / sizeof(tests[0]));
}
