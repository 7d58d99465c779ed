/* SPDX-License-Identifier: MIT */
/*
 * test_wheel_see.c - SPEC 10.1 for a wheel: how many steps it has made, and how
 * many slots are in use, compared with a plain count.
 */
#include "wheel_bed.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

/* Counts the slots of a ring with entries, by a walk. Each place counts
 * once. */
static uint64_t slots_by_walk(const struct bed *b, uint32_t ring)
{
	struct tkw_wheel_place seen[BED_ENTRIES];
	const struct tkw_entry *e;
	struct tkw_wheel_place p;
	uint64_t used = 0;
	uint64_t i;

	for (e = tkw_wheel_first(b->w); e; e = tkw_wheel_after(b->w, e)) {
		assert_int_equal(tkw_wheel_get_place(b->w, e, &p), 0);
		if (p.ring != ring)
			continue;
		for (i = 0; i < used && seen[i].slot != p.slot; i++)
			;
		if (i == used)
			seen[used++] = p;
	}
	return used;
}

static void expect_slots(const struct bed *b)
{
	uint32_t ring;

	for (ring = 0; ring < b->shape.rings; ring++)
		assert_int_equal(tkw_wheel_count_slots(b->w, ring),
				 slots_by_walk(b, ring));
	assert_int_equal(tkw_wheel_count_slots(b->w, b->shape.rings), 0);
}

static uint64_t slots_in_all(const struct bed *b)
{
	uint64_t used = 0;
	uint32_t ring;

	for (ring = 0; ring < b->shape.rings; ring++)
		used += tkw_wheel_count_slots(b->w, ring);
	return used;
}

/* --- steps -------------------------------------------------------------- */

static void test_10_1_steps_of_nothing_are_none(void **state)
{
	struct bed *b = *state;

	assert_int_equal(tkw_wheel_count_steps(NULL), 0);
	assert_int_equal(tkw_wheel_count_steps(b->w), 0);
	bed_advance(b, 1000000);
	assert_int_equal(tkw_wheel_count_steps(b->w), 0);
	/* Only an advance makes steps. */
	bed_add(b, 0, 2000000);
	bed_add(b, 1, 2000000);
	bed_move(b, 0, 3000000);
	bed_extend(b, 0, 4000000);
	bed_remove(b, 0);
	bed_remove(b, 1);
	assert_int_equal(tkw_wheel_count_steps(b->w), 0);
	/* An advance to a tick that is over makes no step. */
	bed_advance(b, 5);
	assert_int_equal(tkw_wheel_count_steps(b->w), 0);
}

/* The count is the number of calls with a bound of one step. */
static void test_10_1_steps_are_those_that_a_bound_counts(void **state)
{
	struct bed *b = *state;
	uint64_t steps = 0;
	uint64_t tick = 1;
	uint32_t i;

	for (i = 0; i < BED_ENTRIES; i++) {
		bed_add(b, i, tick + i % 5);
		tick += tick / 3 + 1;
	}
	while (tkw_wheel_count(b->w) > 0) {
		steps += bed_steps(b, tkw_wheel_next_tick(b->w));
		assert_int_equal(tkw_wheel_count_steps(b->w), steps);
	}
	assert_true(steps >= BED_ENTRIES);
	assert_int_equal(b->expired, BED_ENTRIES);
}

/* Bounds of any size, reached or not. A bound of 0 makes no step. */
static void test_10_1_steps_of_a_bounded_advance_are_exact(void **state)
{
	struct bed *b = *state;
	uint64_t before = 0;
	uint64_t bound;
	uint32_t i;
	int more;

	for (i = 0; i < BED_ENTRIES; i++)
		bed_add(b, i, 7);
	for (bound = 0; tkw_wheel_count(b->w) > 0; bound++) {
		more = bed_advance_by(b, 7, bound);
		if (more)
			assert_int_equal(tkw_wheel_count_steps(b->w) - before,
					 bound);
		before = tkw_wheel_count_steps(b->w);
		assert_int_equal(before, b->expired);
	}
	assert_int_equal(before, BED_ENTRIES);
}

/* The same without a bound. No step is missed. */
static void test_10_1_steps_of_an_unbounded_advance_are_counted(void **state)
{
	struct bed *b = *state;
	uint32_t i;

	for (i = 0; i < 10; i++)
		bed_add(b, i, i / 2);
	bed_advance(b, 100);
	assert_int_equal(b->expired, 10);
	assert_true(tkw_wheel_count_steps(b->w) >= 10);
	/* Entries that expire in the ring where they were added need one step
	 * each. */
	if (b->shape.slots >= 16)
		assert_int_equal(tkw_wheel_count_steps(b->w), 10);
}

/* An entry that is k rings up moves k times, and expires. */
static void test_10_1_steps_count_the_moves_between_rings(void **state)
{
	struct bed *b = *state;
	uint64_t tick = 0;
	uint32_t ring;

	for (ring = 0; ring < b->shape.rings; ring++) {
		tick = tick * b->shape.slots + 1;
		bed_restart(b, 0);
		bed_add(b, 0, tick);
		while (tkw_wheel_count(b->w) > 0)
			bed_advance(b, tkw_wheel_next_tick(b->w));
		assert_int_equal(tkw_wheel_count_steps(b->w), ring + 1);
	}
}

/* Hashed engine: a look at an entry whose round has not come is a step. */
static void test_10_1_steps_count_what_is_passed_over(void **state)
{
	struct bed *b = *state;
	uint64_t now = 3;

	bed_restart(b, now);
	bed_add(b, 0, now + b->shape.slots);
	bed_add(b, 1, now + 2 * b->shape.slots);
	bed_add(b, 2, now);
	bed_advance(b, now);
	bed_expect(b, "2@3");
	assert_int_equal(tkw_wheel_count_steps(b->w), 3);
}

/* An extended entry is moved to its new place in one step, and expires in
 * another. */
static void test_10_1_steps_count_the_move_of_an_extended_one(void **state)
{
	struct bed *b = *state;

	bed_add(b, 0, 5);
	bed_extend(b, 0, 9);
	bed_advance(b, 5);
	bed_expect(b, "");
	assert_int_equal(tkw_wheel_count_steps(b->w), 1);
	bed_advance(b, 9);
	bed_expect(b, "0@9");
	assert_int_equal(tkw_wheel_count_steps(b->w), 2);
}

/* --- slots in use ------------------------------------------------------- */

static void test_10_1_no_slots_are_used_of_what_is_not_there(void **state)
{
	struct bed *b = *state;

	assert_int_equal(tkw_wheel_count_slots(NULL, 0), 0);
	assert_int_equal(slots_in_all(b), 0);
	bed_add(b, 0, 5);
	assert_int_equal(slots_in_all(b), 1);
	assert_int_equal(tkw_wheel_count_slots(b->w, b->shape.rings), 0);
	assert_int_equal(tkw_wheel_count_slots(b->w, 64), 0);
	assert_int_equal(tkw_wheel_count_slots(b->w, UINT32_MAX / 2), 0);
	assert_int_equal(tkw_wheel_count_slots(b->w, UINT32_MAX), 0);
}

/* The first and last slots of each ring. An entry of one ring is not counted in
 * its neighbour. */
static void test_10_1_slots_at_the_ends_of_each_ring(void **state)
{
	struct bed *b = *state;
	uint64_t width = 1;
	uint32_t ring;

	for (ring = 0; ring < b->shape.rings; ring++) {
		bed_restart(b, 0);
		bed_add(b, 0, width);
		bed_add(b, 1, width * (b->shape.slots - 1));
		expect_slots(b);
		assert_int_equal(slots_in_all(b), b->shape.slots > 2 ? 2 : 1);
		assert_int_equal(tkw_wheel_count_slots(b->w, ring),
				 slots_in_all(b));
		width *= b->shape.slots;
	}
}

/* All at once: two entries in every ring, up to the last tick, and one that
 * never comes. */
static void test_10_1_slots_of_all_rings_at_once(void **state)
{
	struct bed *b = *state;
	uint64_t width = 1;
	uint32_t n = 0;
	uint32_t ring;

	for (ring = 0; ring < b->shape.rings && n + 4 < BED_ENTRIES; ring++) {
		bed_add(b, n++, width);
		bed_add(b, n++, width * (b->shape.slots - 1));
		width *= b->shape.slots;
	}
	bed_add(b, n++, BED_LAST);
	bed_add(b, n++, TKW_TICK_NEVER);
	bed_add(b, n++, 0);
	expect_slots(b);
	while (n-- > 0) {
		bed_remove(b, n);
		expect_slots(b);
	}
	assert_int_equal(slots_in_all(b), 0);
}

/* Every slot of a ring, or as many as there are entries for. */
static void test_10_1_slots_fill_one_by_one(void **state)
{
	struct bed *b = *state;
	uint64_t many = BED_ENTRIES;
	uint32_t i = 0;

	if (many > b->shape.slots)
		many = b->shape.slots;
	do {
		bed_add(b, i, i);
		i++;
		assert_int_equal(tkw_wheel_count_slots(b->w, 0), i);
	} while (i < many);
	/* More entries in a slot make no difference. */
	for (; i < BED_ENTRIES; i++)
		bed_add(b, i, i % many);
	assert_int_equal(tkw_wheel_count_slots(b->w, 0), many);
	expect_slots(b);
	bed_advance(b, many - 1);
	assert_int_equal(slots_in_all(b), tkw_wheel_count(b->w) > 0);
}

/* In the middle of a slot, where a bounded advance has stopped. */
static void test_10_1_slots_while_an_advance_is_under_way(void **state)
{
	struct bed *b = *state;
	uint64_t tick = 3 * b->shape.slots + 1;
	uint32_t i;

	for (i = 0; i < BED_ENTRIES; i++)
		bed_add(b, i, tick + i % 3);
	while (tkw_wheel_count(b->w) > 0) {
		bed_advance_by(b, tick + 2, 1);
		expect_slots(b);
	}
}

static uint64_t seed_of_today(void)
{
	const char *given = getenv("TKW_SEED");
	struct timespec ts;
	uint64_t seed;

	timespec_get(&ts, TIME_UTC);
	seed = (uint64_t)ts.tv_sec * 1000000007 + (uint64_t)ts.tv_nsec;
	if (given)
		seed = strtoull(given, NULL, 0);
	print_message("TKW_SEED=%" PRIu64 "\n", seed);
	return seed;
}

static uint32_t draw(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

/* Near and far ticks: first picks the number of bits, then the bits. */
static uint64_t some_tick(struct bed *b, uint64_t *seed)
{
	uint64_t far = (uint64_t)draw(seed) << 31 | draw(seed);
	uint64_t now = tkw_wheel_now_tick(b->w);

	far >>= draw(seed) % 62;
	return far < BED_LAST - now ? now + far : BED_LAST;
}

static void change_one(struct bed *b, uint64_t *seed)
{
	uint32_t id = draw(seed) % BED_ENTRIES;
	uint64_t tick = some_tick(b, seed);

	if (!tkw_entry_is_linked(&b->e[id]))
		bed_add(b, id, tick);
	else if (draw(seed) % 3 == 0)
		bed_remove(b, id);
	else if (tick > tkw_entry_tick(&b->e[id]) && draw(seed) % 2 == 0)
		bed_extend(b, id, tick);
	else
		bed_move(b, id, tick);
}

/* After any calls, the counts are what a walk finds. */
static void test_10_1_slots_and_steps_after_anything(void **state)
{
	struct bed *b = *state;
	uint64_t seed = seed_of_today();
	uint64_t steps = 0;
	uint64_t now;
	uint32_t i;

	for (i = 0; i < 2000; i++) {
		change_one(b, &seed);
		if (draw(&seed) % 8 == 0) {
			now = tkw_wheel_now_tick(b->w);
			steps += bed_steps(b, now + draw(&seed) % 100);
		}
		if (b->log_len > BED_LOG / 2)
			b->log_len = 0;
		expect_slots(b);
		assert_int_equal(tkw_wheel_count_steps(b->w), steps);
	}
}

int main(void)
{
	static const struct bed_test tests[] = {
		BED_TEST(test_10_1_steps_of_nothing_are_none, BED_ANY),
		BED_TEST(test_10_1_steps_are_those_that_a_bound_counts,
			 BED_ANY),
		BED_TEST(test_10_1_steps_of_a_bounded_advance_are_exact,
			 BED_HIER),
		BED_TEST_FROM(8, test_10_1_steps_of_a_bounded_advance_are_exact,
			      BED_HASHED),
		BED_TEST(test_10_1_steps_of_an_unbounded_advance_are_counted,
			 BED_ANY),
		BED_TEST(test_10_1_steps_count_the_moves_between_rings,
			 BED_HIER),
		BED_TEST(test_10_1_steps_count_what_is_passed_over, BED_HASHED),
		BED_TEST(test_10_1_steps_count_the_move_of_an_extended_one,
			 BED_HIER),
		BED_TEST_FROM(16,
			      test_10_1_steps_count_the_move_of_an_extended_one,
			      BED_HASHED),
		BED_TEST(test_10_1_no_slots_are_used_of_what_is_not_there,
			 BED_ANY),
		BED_TEST(test_10_1_slots_at_the_ends_of_each_ring, BED_ANY),
		BED_TEST(test_10_1_slots_of_all_rings_at_once, BED_ANY),
		BED_TEST(test_10_1_slots_fill_one_by_one, BED_ANY),
		BED_TEST(test_10_1_slots_while_an_advance_is_under_way,
			 BED_ANY),
		BED_TEST(test_10_1_slots_and_steps_after_anything, BED_ANY),
	};

	return bed_main("wheel_see", tests, sizeof(tests) / sizeof(tests[0]));
}
