/* SPDX-License-Identifier: MIT */
/*
 * test_wheel_order.c - SPEC 1.6 and 1.8: the order of expiry: ascending ticks,
 * and first in, first out inside a tick. It holds across rings and removals,
 * and when a bounded advance is resumed. Also: moved and extended entries.
 */
#include "wheel_bed.h"

#include <stdio.h>
#include <string.h>

/* A tick that is two rings up, or two rounds away. */
static uint64_t far_tick(const struct bed *b)
{
	return b->shape.slots * b->shape.slots * 2 + b->shape.slots + 3;
}

static void add_all(struct bed *b, uint32_t from, uint32_t to, uint64_t tick)
{
	for (; from < to; from++)
		bed_add(b, from, tick);
}

/* Checks that in one tick these ids expired, in this order. */
static void expect_tick(struct bed *b, uint64_t tick, const uint32_t *ids,
			size_t n)
{
	char want[BED_LOG];
	size_t len = 0;
	size_t i;

	want[0] = '\0';
	for (i = 0; i < n; i++)
		len += (size_t)snprintf(want + len, sizeof(want) - len,
					"%s%u@%llu", i ? " " : "", ids[i],
					(unsigned long long)tick);
	bed_expect(b, want);
}

#define EXPECT_TICK(b, tick, ...)                                              \
	expect_tick(b, tick, (const uint32_t[]){ __VA_ARGS__ },                \
		    sizeof((const uint32_t[]){ __VA_ARGS__ }) /                \
			    sizeof(uint32_t))

static void test_1_6_ticks_ascend_and_a_tick_is_first_in_first_out(void **state)
{
	struct bed *b = *state;

	bed_add(b, 0, 9);
	bed_add(b, 1, 3);
	bed_add(b, 2, 9);
	bed_add(b, 3, 4);
	bed_add(b, 4, 3);
	bed_add(b, 5, 9);
	bed_advance(b, 20);
	bed_expect(b, "1@3 4@3 3@4 0@9 2@9 5@9");
}

static void test_1_6_order_across_a_cascade(void **state)
{
	struct bed *b = *state;
	uint64_t tick = far_tick(b);

	bed_add(b, 0, tick);
	bed_add(b, 1, tick + 1);
	bed_add(b, 2, tick);
	/* Adds from each ring on the way down. They come after the older
	 * entries. */
	bed_advance(b, b->shape.slots * b->shape.slots * 2 - 1);
	bed_add(b, 3, tick);
	bed_advance(b, b->shape.slots * b->shape.slots * 2);
	bed_add(b, 4, tick);
	bed_advance(b, b->shape.slots * b->shape.slots * 2 + b->shape.slots);
	bed_add(b, 5, tick);
	bed_advance(b, tick - 1);
	bed_add(b, 6, tick);
	bed_add(b, 7, 0);
	bed_expect(b, "");
	bed_advance(b, tick);
	EXPECT_TICK(b, tick, 0, 2, 3, 4, 5, 6, 7);
	bed_advance(b, tick + 1);
	EXPECT_TICK(b, tick + 1, 1);
}

static void test_1_6_order_after_removals(void **state)
{
	struct bed *b = *state;
	uint64_t tick = far_tick(b);

	add_all(b, 0, 8, tick);
	bed_remove(b, 0); /* the head */
	bed_remove(b, 7); /* the tail */
	bed_remove(b, 3);
	bed_remove(b, 4);
	bed_add(b, 8, tick);
	bed_add(b, 0, tick);
	bed_advance(b, b->shape.slots * b->shape.slots * 2);
	bed_remove(b, 5);
	bed_add(b, 5, tick);
	bed_advance(b, tick);
	EXPECT_TICK(b, tick, 1, 2, 6, 8, 0, 5);
	assert_int_equal(tkw_wheel_count(b->w), 0);
}

static void test_1_6_nothing_early_twice_or_missed(void **state)
{
	struct bed *b = *state;
	uint64_t t;
	uint32_t i;

	for (i = 0; i < BED_ENTRIES; i++)
		bed_add(b, i, (uint64_t)i * i);
	for (t = 0; t <= (BED_ENTRIES - UINT64_C(1)) * (BED_ENTRIES - 1); t++) {
		bed_advance(b, t);
		for (i = 0; i < BED_ENTRIES; i++)
			assert_int_equal(tkw_entry_is_linked(&b->e[i]),
					 (uint64_t)i * i > t);
	}
	assert_int_equal(b->expired, BED_ENTRIES);
}

static void test_1_6_a_moved_entry_counts_as_added_when_moved(void **state)
{
	struct bed *b = *state;
	uint64_t tick = far_tick(b);

	add_all(b, 0, 4, tick);
	bed_move(b, 0, tick);     /* same tick: to the tail */
	bed_move(b, 1, 5);        /* earlier */
	bed_move(b, 2, tick + 1); /* later */
	bed_add(b, 4, tick + 1);
	bed_move(b, 2, tick + 1);
	assert_int_equal(tkw_wheel_count(b->w), 5);
	bed_advance(b, 5);
	EXPECT_TICK(b, 5, 1);
	bed_advance(b, tick);
	EXPECT_TICK(b, tick, 3, 0);
	bed_advance(b, tick + 1);
	EXPECT_TICK(b, tick + 1, 4, 2);
}

/* An extended entry comes after those that were in the tick before the
 * extension. It is not lost. */
static void test_1_6_an_extended_entry_comes_after_the_older_ones(void **state)
{
	struct bed *b = *state;
	uint64_t tick = far_tick(b);

	bed_add(b, 0, 5);
	bed_add(b, 1, tick);
	bed_add(b, 2, tick);
	bed_extend(b, 0, tick);
	bed_advance(b, 5);
	bed_expect(b, "");
	assert_int_equal(tkw_entry_is_linked(&b->e[0]), 1);
	assert_true(tkw_entry_tick(&b->e[0]) == tick);
	bed_advance(b, tick - 1);
	bed_expect(b, "");
	bed_advance(b, tick);
	EXPECT_TICK(b, tick, 1, 2, 0);
}

/* The same if both are in one slot of a coarse ring, the extended one first. */
static void test_1_6_extended_within_a_coarse_slot(void **state)
{
	struct bed *b = *state;
	uint64_t start = b->shape.slots * 2;
	uint64_t stop;

	for (stop = 0; stop < 8; stop++) {
		bed_restart(b, 0);
		bed_add(b, 0, start + 1);
		bed_add(b, 1, start + 5);
		bed_add(b, 2, start + 5);
		bed_extend(b, 0, start + 5);
		bed_advance_by(b, start + 4, stop);
		bed_expect(b, "");
		bed_advance(b, start + 4);
		bed_expect(b, "");
		bed_advance(b, start + 5);
		EXPECT_TICK(b, start + 5, 1, 2, 0);
	}
}

/* Extends an entry, then adds to the same tick. The others keep their order. */
static void test_1_6_extend_then_add_into_the_same_tick(void **state)
{
	struct bed *b = *state;
	uint64_t tick = far_tick(b);

	bed_add(b, 0, 5);
	bed_add(b, 1, tick);
	bed_extend(b, 0, tick);
	bed_add(b, 2, tick);
	bed_add(b, 3, tick);
	bed_advance(b, tick);
	assert_int_equal(b->expired, 4);
	/* Entry 0 is anywhere behind entry 1. */
	assert_int_equal(b->log[0], '1');
	assert_non_null(strstr(b->log, " 0@"));
	assert_true(strstr(b->log, " 2@") < strstr(b->log, " 3@"));
}

static void test_1_6_extend_many_times_expires_once(void **state)
{
	struct bed *b = *state;
	uint64_t tick;

	bed_add(b, 0, 1);
	for (tick = 2; tick <= 3000; tick += 7) {
		bed_extend(b, 0, tick);
		bed_advance(b, tick - 2);
		bed_expect(b, "");
	}
	bed_advance(b, 4000);
	assert_int_equal(b->expired, 1);
	bed_expect(b, "0@2998");
}

static void test_1_6_extended_then_moved_removed_or_added(void **state)
{
	struct bed *b = *state;

	bed_add(b, 0, 5);
	bed_add(b, 1, 5);
	bed_add(b, 2, 5);
	bed_extend(b, 0, 9);
	bed_extend(b, 1, 9);
	bed_extend(b, 2, 9);
	bed_move(b, 0, 6);
	bed_remove(b, 1);
	bed_extend(b, 2, TKW_TICK_NEVER);
	bed_advance(b, 8);
	bed_expect(b, "0@6");
	bed_add(b, 1, 9);
	bed_advance(b, 100000);
	bed_expect(b, "1@9");
	assert_int_equal(tkw_wheel_count(b->w), 1);
	bed_move(b, 2, 0);
	bed_advance(b, 100001);
	bed_expect(b, "2@100001");
}

static void test_1_6_extend_to_the_same_tick_changes_nothing(void **state)
{
	struct bed *b = *state;

	bed_add(b, 0, 5);
	bed_add(b, 1, 5);
	bed_extend(b, 0, 5);
	bed_advance(b, 5);
	bed_expect(b, "0@5 1@5");
}

static void test_1_8_a_bound_stops_and_a_call_resumes(void **state)
{
	struct bed *b = *state;

	add_all(b, 0, 5, 1);
	bed_advance(b, 0);
	assert_int_equal(bed_advance_by(b, 1, 2), 1);
	bed_expect(b, "0@1 1@1");
	assert_int_equal(tkw_wheel_now_tick(b->w), 1);
	assert_int_equal(tkw_wheel_count(b->w), 3);
	assert_int_equal(bed_advance_by(b, 1, 0), 1);
	bed_expect(b, "");
	assert_int_equal(bed_advance_by(b, 1, 2), 1);
	bed_expect(b, "2@1 3@1");
	assert_int_equal(bed_advance_by(b, 1, 1), 0);
	bed_expect(b, "4@1");
	assert_int_equal(tkw_wheel_now_tick(b->w), 2);
}

/* Everything was done before the bound was reached. */
static void test_1_8_a_bound_that_just_suffices_is_done(void **state)
{
	struct bed *b = *state;

	assert_int_equal(bed_advance_by(b, 0, 0), 0);
	assert_int_equal(tkw_wheel_now_tick(b->w), 1);
	add_all(b, 0, 3, 1);
	assert_int_equal(bed_advance_by(b, 1, 3), 0);
	bed_expect(b, "0@1 1@1 2@1");
	assert_int_equal(tkw_wheel_now_tick(b->w), 2);
}

/* A move to a finer ring is a step like an expiry. */
/* How many of the first n entries are in a ring. */
static uint32_t in_ring(struct bed *b, uint32_t n, uint32_t ring)
{
	struct tkw_wheel_place p;
	uint32_t found = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		assert_int_equal(tkw_wheel_get_place(b->w, &b->e[i], &p), 0);
		found += p.ring == ring;
	}
	return found;
}

static void test_1_8_a_bound_counts_moves(void **state)
{
	struct bed *b = *state;
	uint64_t start = b->shape.slots * 2;
	uint32_t moved;

	add_all(b, 0, 5, start + 5);
	assert_int_equal(bed_advance_by(b, start, 0), 1);
	bed_expect_place(b, 0, 1, 2, 0);
	assert_int_equal(tkw_wheel_now_tick(b->w), start);
	for (moved = 1; moved < 5; moved++) {
		assert_int_equal(bed_advance_by(b, start, 1), 1);
		assert_int_equal(in_ring(b, 5, 0), moved);
		assert_int_equal(in_ring(b, 5, 1), 5 - moved);
	}
	assert_int_equal(bed_advance_by(b, start, 1), 0);
	for (moved = 0; moved < 5; moved++)
		bed_expect_place(b, moved, 0, 5, 0);
	assert_int_equal(tkw_wheel_now_tick(b->w), start + 1);
	bed_expect(b, "");
}

static void test_1_8_changes_in_the_middle_of_a_tick_keep_order(void **state)
{
	struct bed *b = *state;

	bed_advance(b, 6);
	add_all(b, 0, 6, 7);
	assert_int_equal(bed_advance_by(b, 7, 2), 1);
	bed_expect(b, "0@7 1@7");
	bed_add(b, 6, 7);
	bed_add(b, 7, 3); /* a past tick is due at now, which is 7 */
	bed_remove(b, 2); /* the next in line */
	bed_move(b, 3, 8);
	bed_extend(b, 4, 9);
	bed_add(b, 0, 7);
	assert_int_equal(bed_advance_by(b, 7, 2), 1);
	bed_advance(b, 7);
	bed_expect(b, "5@7 6@7 7@7 0@7");
	bed_advance(b, 9);
	bed_expect(b, "3@8 4@9");
}

/* The entry at which a stopped advance stands may be removed in any way. */
static void test_1_8_the_entry_last_looked_at_goes_away(void **state)
{
	struct bed *b = *state;
	uint64_t stop;
	int how;

	for (stop = 0; stop < 4; stop++) {
		for (how = 0; how < 3; how++) {
			bed_restart(b, 7);
			bed_add(b, 0, 7 + b->shape.slots);
			bed_add(b, 1, 7 + b->shape.slots);
			bed_add(b, 2, 7);
			bed_add(b, 3, 7);
			bed_advance_by(b, 7, stop);
			if (how == 0)
				bed_remove(b, 1);
			else if (how == 1)
				bed_move(b, 1, 100000);
			else
				bed_extend(b, 1, 100000);
			bed_remove(b, 0);
			bed_add(b, 0, 100000);
			bed_advance(b, 7);
			bed_expect(b, "2@7 3@7");
			assert_int_equal(tkw_wheel_count(b->w), 1 + (how > 0));
		}
	}
}

/* Stops after each number of steps of a cascade, changes something, and goes
 * on. */
static void test_1_8_changes_in_the_middle_of_a_cascade(void **state)
{
	struct bed *b = *state;
	uint64_t tick = far_tick(b);
	uint64_t stop;

	for (stop = 0; stop < 12; stop++) {
		bed_restart(b, 0);
		add_all(b, 0, 5, tick);
		bed_advance_by(b, tick - 1, stop);
		bed_remove(b, 1);
		bed_add(b, 5, tick);
		bed_move(b, 2, tick);
		bed_advance_by(b, tick - 1, 3);
		bed_add(b, 6, tick);
		bed_remove(b, 3);
		bed_expect(b, "");
		bed_advance(b, tick);
		EXPECT_TICK(b, tick, 0, 4, 5, 2, 6);
		assert_true(tkw_wheel_now_tick(b->w) == tick + 1);
	}
}

/* Other entries of the half moved slot: neighbours, old and new. */
static void test_1_8_new_ticks_around_a_half_done_cascade(void **state)
{
	struct bed *b = *state;
	uint64_t start = b->shape.slots * 2;
	uint64_t stop;

	for (stop = 0; stop < 4; stop++) {
		bed_restart(b, 0);
		bed_add(b, 0, start + 2);
		bed_add(b, 1, start + 1);
		bed_add(b, 2, start);
		if (bed_advance_by(b, start, stop) == 0)
			break;
		bed_add(b, 3, start + 1);
		bed_add(b, 4, start);
		bed_add(b, 5, start + 2);
		bed_add(b, 6, start * 100);
		bed_advance(b, start);
		EXPECT_TICK(b, start, 2, 4);
		bed_advance(b, start + 1);
		EXPECT_TICK(b, start + 1, 1, 3);
		bed_advance(b, start + 2);
		EXPECT_TICK(b, start + 2, 0, 5);
		assert_int_equal(tkw_wheel_count(b->w), 1);
	}
	assert_true(stop > 0);
}

static void test_1_8_resumed_with_another_target(void **state)
{
	struct bed *b = *state;

	add_all(b, 0, 4, 7);
	bed_add(b, 4, 8);
	bed_add(b, 5, 300);
	bed_add(b, 6, 500);
	while (b->expired < 2)
		assert_int_equal(bed_advance_by(b, 100, 1), 1);
	bed_expect(b, "0@7 1@7");
	bed_advance(b, 6); /* before now: does nothing */
	bed_expect(b, "");
	assert_int_equal(tkw_wheel_now_tick(b->w), 7);
	bed_advance(b, 7); /* a nearer target */
	bed_expect(b, "2@7 3@7");
	assert_int_equal(tkw_wheel_now_tick(b->w), 8);
	bed_advance(b, 400); /* a farther target */
	bed_expect(b, "4@8 5@300");
}

/* Any bound gives the same sequence as no bound. */
static void test_1_8_every_bound_gives_the_same_order(void **state)
{
	struct bed *b = *state;
	char whole[BED_LOG];
	uint64_t bound;
	uint32_t i;

	for (bound = 0; bound < 9; bound++) {
		bed_restart(b, 100);
		for (i = 0; i < 40; i++)
			bed_add(b, i, 90 + (uint64_t)(i * 7919 % 13) * 61);
		for (i = 0; i < 40; i += 9)
			bed_move(b, i, 500);
		if (bound == 0) {
			bed_advance(b, 2000);
			memcpy(whole, b->log, sizeof(whole));
			continue;
		}
		while (bed_advance_by(b, 2000, bound) == 1)
			;
		bed_expect(b, whole);
		assert_int_equal(tkw_wheel_now_tick(b->w), 2001);
	}
}

static void test_1_8_all_removed_while_stopped(void **state)
{
	struct bed *b = *state;
	uint64_t tick = far_tick(b);
	uint64_t stop;
	uint32_t i;

	for (stop = 0; stop < 4; stop++) {
		bed_restart(b, 0);
		add_all(b, 0, 4, tick);
		assert_int_equal(bed_advance_by(b, tick, stop), 1);
		for (i = 0; i < 4; i++) {
			if (tkw_entry_is_linked(&b->e[i]))
				bed_remove(b, i);
		}
		assert_true(tkw_wheel_next_tick(b->w) == TKW_TICK_NEVER);
		bed_advance(b, tick);
		assert_true(tkw_wheel_now_tick(b->w) == tick + 1);
		bed_add(b, 9, tick + b->shape.slots);
		bed_advance(b, tick + b->shape.slots);
		assert_int_equal(tkw_wheel_count(b->w), 0);
	}
}

/* A bounded advance to the end of time. An entry that never comes moves, and
 * stays. */
static void test_1_8_bounded_to_the_end_of_time(void **state)
{
	struct bed *b = *state;
	unsigned calls = 0;

	bed_add(b, 0, TKW_TICK_NEVER);
	bed_add(b, 1, BED_LAST);
	bed_add(b, 2, 1);
	bed_extend(b, 2, TKW_TICK_NEVER);
	while (bed_advance_by(b, TKW_TICK_NEVER, 1) == 1)
		assert_true(++calls < 200);
	bed_expect(b, "1@18446744073709551614");
	assert_int_equal(tkw_wheel_count(b->w), 2);
}

int main(void)
{
	static const struct bed_test tests[] = {
		BED_TEST(test_1_6_ticks_ascend_and_a_tick_is_first_in_first_out,
			 BED_ANY),
		BED_TEST(test_1_6_order_across_a_cascade, BED_ANY),
		BED_TEST(test_1_6_order_after_removals, BED_ANY),
		BED_TEST(test_1_6_nothing_early_twice_or_missed, BED_ANY),
		BED_TEST(test_1_6_a_moved_entry_counts_as_added_when_moved,
			 BED_ANY),
		BED_TEST(test_1_6_an_extended_entry_comes_after_the_older_ones,
			 BED_ANY),
		BED_TEST(test_1_6_extended_within_a_coarse_slot, BED_ANY),
		BED_TEST(test_1_6_extend_then_add_into_the_same_tick, BED_ANY),
		BED_TEST(test_1_6_extend_many_times_expires_once, BED_ANY),
		BED_TEST(test_1_6_extended_then_moved_removed_or_added,
			 BED_ANY),
		BED_TEST(test_1_6_extend_to_the_same_tick_changes_nothing,
			 BED_ANY),
		BED_TEST(test_1_8_a_bound_stops_and_a_call_resumes, BED_ANY),
		BED_TEST(test_1_8_a_bound_that_just_suffices_is_done, BED_ANY),
		BED_TEST(test_1_8_a_bound_counts_moves, BED_HIER),
		BED_TEST(test_1_8_changes_in_the_middle_of_a_tick_keep_order,
			 BED_ANY),
		BED_TEST(test_1_8_the_entry_last_looked_at_goes_away, BED_ANY),
		BED_TEST(test_1_8_changes_in_the_middle_of_a_cascade, BED_ANY),
		BED_TEST(test_1_8_new_ticks_around_a_half_done_cascade,
			 BED_ANY),
		BED_TEST(test_1_8_resumed_with_another_target, BED_ANY),
		BED_TEST(test_1_8_every_bound_gives_the_same_order, BED_ANY),
		BED_TEST(test_1_8_all_removed_while_stopped, BED_ANY),
		BED_TEST(test_1_8_bounded_to_the_end_of_time, BED_ANY),
	};

	return bed_main("wheel_order", tests, sizeof(tests) / sizeof(tests[0]));
}
