/* SPDX-License-Identifier: MIT */
/*
 * test_wheel_place.c - SPEC 1.2 to 1.4: engines, slot counts, the examples of
 * which slot an entry is in, and the walk over all entries.
 */
#include "wheel_bed.h"

#include <stdlib.h>
#include <string.h>

static void use_hashed(struct bed *b, uint64_t slots, uint64_t now)
{
	b->cfg.size = sizeof(b->cfg);
	b->cfg.engine = TKW_WHEEL_HASHED;
	b->cfg.slots = slots;
	bed_restart(b, now);
}

static void test_1_2_a_zeroed_config_is_hierarchical(void **state)
{
	struct tkw_wheel_config zero;
	struct tkw_wheel_shape shape;
	struct tkw_wheel *w;
	size_t bytes, same;
	void *mem;

	(void)state;
	memset(&zero, 0, sizeof(zero));
	assert_int_equal(tkw_wheel_bytes(NULL, &bytes), 0);
	assert_int_equal(tkw_wheel_bytes(&zero, &same), 0);
	assert_int_equal(bytes, same);
	assert_true(bytes <= TKW_WHEEL_BYTES);
	mem = malloc(bytes);
	assert_non_null(mem);
	assert_int_equal(tkw_wheel_init(&w, mem, bytes, NULL), 0);
	assert_int_equal(tkw_wheel_now_tick(w), 0);
	assert_int_equal(tkw_wheel_get_shape(w, &shape), 0);
	assert_int_equal(shape.engine, TKW_WHEEL_HIERARCHICAL);
	assert_int_equal(tkw_wheel_fini(w), 0);
	assert_int_equal(tkw_wheel_init(&w, mem, bytes, &zero), 0);
	assert_int_equal(tkw_wheel_get_shape(w, &shape), 0);
	assert_int_equal(shape.engine, TKW_WHEEL_HIERARCHICAL);
	assert_int_equal(tkw_wheel_fini(w), 0);
	free(mem);
}

/* The rings cover all ticks, whatever the geometry of this build is. */
static void test_1_2_the_rings_span_all_of_time(void **state)
{
	struct bed *b = *state;
	uint64_t span = 1;
	uint32_t ring;

	assert_int_equal(b->shape.engine, TKW_WHEEL_HIERARCHICAL);
	assert_true(b->shape.rings > 1);
	for (ring = 0; ring + 1 < b->shape.rings; ring++)
		span *= b->shape.slots;
	assert_true(span > UINT64_MAX / b->shape.slots / 2);
#ifdef TKW__RING_BITS
	assert_int_equal(b->shape.slots, 1 << TKW__RING_BITS);
#endif
}

static void test_1_3_slots_are_rounded_up_to_a_power_of_two(void **state)
{
	static const struct {
		uint64_t asked, got;
	} cases[] = {
		{ 1, 1 },      { 2, 2 },       { 3, 4 },       { 4, 4 },
		{ 5, 8 },      { 10, 16 },     { 20, 32 },     { 512, 512 },
		{ 513, 1024 }, { 1023, 1024 }, { 1025, 2048 },
	};
	struct bed *b = *state;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		use_hashed(b, cases[i].asked, 0);
		assert_int_equal(b->shape.engine, TKW_WHEEL_HASHED);
		assert_int_equal(b->shape.rings, 1);
		assert_int_equal(b->shape.slots, cases[i].got);
	}
}

static void test_1_3_zero_and_too_many_slots_are_refused(void **state)
{
	struct tkw_wheel_config cfg;
	size_t bytes = 77;

	(void)state;
	memset(&cfg, 0, sizeof(cfg));
	cfg.engine = TKW_WHEEL_HASHED;
	assert_int_equal(tkw_wheel_bytes(&cfg, &bytes), -EINVAL);
	cfg.slots = TKW_WHEEL_MAX_SLOTS + 1;
	assert_int_equal(tkw_wheel_bytes(&cfg, &bytes), -EINVAL);
	cfg.slots = UINT64_MAX;
	assert_int_equal(tkw_wheel_bytes(&cfg, &bytes), -EINVAL);
	assert_int_equal(bytes, 77);
}

/* The largest number is legal. With small pointers it may not fit. */
static void test_1_3_the_largest_number_of_slots_has_a_size(void **state)
{
	struct tkw_wheel_config cfg;
	size_t small, large = 77;
	int err;

	(void)state;
	memset(&cfg, 0, sizeof(cfg));
	cfg.engine = TKW_WHEEL_HASHED;
	cfg.slots = 1024;
	assert_int_equal(tkw_wheel_bytes(&cfg, &small), 0);
	cfg.slots = TKW_WHEEL_MAX_SLOTS;
	err = tkw_wheel_bytes(&cfg, &large);
	if (sizeof(void *) > 4) {
		assert_int_equal(err, 0);
		assert_true(large / 1024 / 1024 >= small / 1024);
	} else {
		assert_int_equal(err, -ENOMEM);
		assert_int_equal(large, 77);
	}
}

static void test_1_4_sixteen_slots_expiry_100_is_slot_4(void **state)
{
	struct bed *b = *state;

	use_hashed(b, 16, 0);
	bed_add(b, 0, 100);
	bed_expect_place(b, 0, 0, 4, 6);
}

/* A deadline of 700 ns with ticks of 20 ns. */
static void test_1_4_twenty_slots_tick_35_one_round_left(void **state)
{
	struct bed *b = *state;

	use_hashed(b, 20, 3);
	assert_int_equal(b->shape.slots, 32);
	bed_add(b, 0, 700 / 20);
	bed_expect_place(b, 0, 0, 3, 1);
}

/* 10 slots of 100 ms. */
static void test_1_4_ten_slots_of_100_ms(void **state)
{
	struct bed *b = *state;

	use_hashed(b, 10, 0);
	assert_int_equal(b->shape.slots, 16);
	bed_add(b, 0, 230 / 100);
	bed_add(b, 1, 450 / 100);
	bed_add(b, 2, 1950 / 100);
	bed_expect_place(b, 0, 0, 2, 0);
	bed_expect_place(b, 1, 0, 4, 0);
	bed_expect_place(b, 2, 0, 3, 1);
	bed_advance(b, 3);
	bed_expect_place(b, 2, 0, 3, 0);
	bed_advance(b, 19);
	bed_expect(b, "0@2 1@4 2@19");
}

static void test_1_4_slot_is_of_the_later_of_expiry_and_now(void **state)
{
	struct bed *b = *state;

	use_hashed(b, 16, 21);
	bed_add(b, 0, 2);
	bed_expect_place(b, 0, 0, 5, 0);
	bed_add(b, 1, 36);
	bed_expect_place(b, 1, 0, 4, 0);
	bed_add(b, 2, 37);
	bed_expect_place(b, 2, 0, 5, 1);
	bed_add(b, 3, TKW_TICK_NEVER);
	bed_expect_place(b, 3, 0, 15, (UINT64_MAX - 21) / 16);
}

/* With 16-slot rings this is the worked example of SPEC 1.4, tick 19. */
static void test_1_4_the_same_entry_in_rings(void **state)
{
	struct bed *b = *state;
	uint64_t slots = b->shape.slots;

	bed_add(b, 0, slots + 3);
	bed_expect_place(b, 0, 1, 1, 0);
	bed_advance(b, slots - 1);
	bed_expect_place(b, 0, 1, 1, 0);
	bed_advance(b, slots);
	bed_expect_place(b, 0, 0, 3, 0);
	bed_expect(b, "");
	bed_advance(b, slots + 2);
	bed_expect(b, "");
	bed_advance(b, slots + 3);
	assert_int_equal(b->expired, 1);
	if (slots == 16)
		bed_expect(b, "0@19");
}

/* In each ring on its way down, a digit of its tick gives the slot. */
static void test_1_4_down_through_all_rings(void **state)
{
	struct bed *b = *state;
	uint64_t slots = b->shape.slots;
	uint64_t tick = 0;
	uint64_t width = 1;
	uint32_t ring;

	for (ring = 0; ring < b->shape.rings; ring++)
		tick = tick * slots + ring % (slots - 1) + 1;
	for (ring = 1; ring < b->shape.rings; ring++)
		width *= slots;
	bed_add(b, 0, tick);
	for (ring = b->shape.rings - 1; ring > 0; ring--) {
		bed_expect_place(b, 0, ring, tick / width % slots, 0);
		bed_advance(b, tick - tick % width);
		width /= slots;
	}
	bed_expect_place(b, 0, 0, tick % slots, 0);
	bed_advance(b, tick);
	assert_int_equal(tkw_wheel_count(b->w), 0);
}

static void test_1_4_an_extended_entry_stays_where_it_is(void **state)
{
	struct bed *b = *state;
	struct tkw_wheel_place before, after;

	bed_add(b, 0, 5);
	assert_int_equal(tkw_wheel_get_place(b->w, &b->e[0], &before), 0);
	bed_extend(b, 0, 123456789);
	assert_int_equal(tkw_wheel_get_place(b->w, &b->e[0], &after), 0);
	assert_int_equal(before.ring, after.ring);
	assert_int_equal(before.slot, after.slot);
	bed_advance(b, 5);
	assert_int_equal(tkw_wheel_get_place(b->w, &b->e[0], &after), 0);
	if (b->cfg.engine == TKW_WHEEL_HASHED)
		assert_int_equal(after.slot, 123456789 % b->shape.slots);
	else
		assert_true(after.ring > before.ring);
}

static void test_walk_visits_each_entry_once(void **state)
{
	struct bed *b = *state;
	unsigned seen[BED_ENTRIES];
	const struct tkw_entry *e;
	uint32_t i;

	assert_null(tkw_wheel_first(b->w));
	for (i = 0; i < BED_ENTRIES; i++)
		bed_add(b, i, i < 60 ? (uint64_t)i / 3 * i * i : BED_LAST + 1);
	memset(seen, 0, sizeof(seen));
	for (e = tkw_wheel_first(b->w); e; e = tkw_wheel_after(b->w, e))
		seen[e - b->e]++;
	for (i = 0; i < BED_ENTRIES; i++)
		assert_int_equal(seen[i], 1);
}

static void test_walk_may_remove_on_the_way(void **state)
{
	struct bed *b = *state;
	struct tkw_entry *e, *after;
	uint32_t i;

	for (i = 0; i < BED_ENTRIES; i++)
		bed_add(b, i, (uint64_t)i / 4 * 37);
	for (e = tkw_wheel_first(b->w); e; e = after) {
		after = tkw_wheel_after(b->w, e);
		bed_remove(b, (uint32_t)(e - b->e));
	}
	assert_int_equal(tkw_wheel_count(b->w), 0);
	assert_null(tkw_wheel_first(b->w));
}

static void test_fini_unlinks_all_and_they_may_be_added_elsewhere(void **state)
{
	struct bed *b = *state;
	void *mem = malloc(b->bytes);
	struct tkw_wheel *w;
	uint32_t i;

	for (i = 0; i < BED_ENTRIES; i++)
		bed_add(b, i, (uint64_t)i / 4 * 370);
	bed_extend(b, 3, 1000000);
	assert_int_equal(tkw_wheel_fini(b->w), 0);
	b->w = NULL;
	assert_non_null(mem);
	assert_int_equal(tkw_wheel_init(&w, mem, b->bytes, &b->cfg), 0);
	for (i = 0; i < BED_ENTRIES; i++) {
		assert_int_equal(tkw_entry_is_linked(&b->e[i]), 0);
		assert_int_equal(tkw_wheel_add(w, &b->e[i], 3), 0);
	}
	assert_null(tkw_wheel_check(w));
	assert_int_equal(tkw_wheel_fini(w), 0);
	free(mem);
}

static void test_entry_tick_is_kept_after_expiry_and_removal(void **state)
{
	struct bed *b = *state;

	bed_add(b, 0, 9);
	bed_add(b, 1, 8);
	bed_remove(b, 1);
	assert_int_equal(tkw_entry_tick(&b->e[1]), 8);
	bed_advance(b, 20);
	assert_int_equal(tkw_entry_tick(&b->e[0]), 9);
	assert_int_equal(tkw_entry_is_linked(&b->e[0]), 0);
}

int main(void)
{
	static const struct bed_test tests[] = {
		BED_TEST(test_1_2_a_zeroed_config_is_hierarchical, BED_ONCE),
		BED_TEST(test_1_2_the_rings_span_all_of_time, BED_HIER),
		BED_TEST(test_1_3_slots_are_rounded_up_to_a_power_of_two,
			 BED_ONCE),
		BED_TEST(test_1_3_zero_and_too_many_slots_are_refused,
			 BED_ONCE),
		BED_TEST(test_1_3_the_largest_number_of_slots_has_a_size,
			 BED_ONCE),
		BED_TEST(test_1_4_sixteen_slots_expiry_100_is_slot_4, BED_ONCE),
		BED_TEST(test_1_4_twenty_slots_tick_35_one_round_left,
			 BED_ONCE),
		BED_TEST(test_1_4_ten_slots_of_100_ms, BED_ONCE),
		BED_TEST(test_1_4_slot_is_of_the_later_of_expiry_and_now,
			 BED_ONCE),
		BED_TEST(test_1_4_the_same_entry_in_rings, BED_HIER),
		BED_TEST(test_1_4_down_through_all_rings, BED_HIER),
		BED_TEST(test_1_4_an_extended_entry_stays_where_it_is, BED_ANY),
		BED_TEST(test_walk_visits_each_entry_once, BED_ANY),
		BED_TEST(test_walk_may_remove_on_the_way, BED_ANY),
		BED_TEST(test_fini_unlinks_all_and_they_may_be_added_elsewhere,
			 BED_ANY),
		BED_TEST(test_entry_tick_is_kept_after_expiry_and_removal,
			 BED_ANY),
	};

	return bed_main("wheel_place", tests, sizeof(tests) / sizeof(tests[0]));
}
