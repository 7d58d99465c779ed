/* SPDX-License-Identifier: MIT */
/*
 * test_wheel_check.c - SPEC 1.11: the checker finds each kind of corruption.
 *
 * Each test breaks a sound wheel in one place, and the checker must name the
 * invariant. Then the test repairs it, and the checker must find nothing. So it
 * was this fault that the checker found.
 */
#include "wheel_bed.h"

#include <stdlib.h>
#include <string.h>

#include "wheel/engine.h"

/* now is 3. Entries 0, 1 and 2 are at tick 9. 3 and 4 are in the next ring or
 * in a later round. */
static void fill(struct bed *b)
{
	bed_advance(b, 2);
	bed_add(b, 0, 9);
	bed_add(b, 1, 9);
	bed_add(b, 2, 9);
	bed_add(b, 3, 2 * b->shape.slots + 4);
	bed_add(b, 4, 2 * b->shape.slots + 5);
}

static void expect_broken(struct bed *b, const char *why)
{
	const char *got = tkw_wheel_check(b->w);

	assert_non_null(got);
	assert_string_equal(got, why);
}

static void expect_sound(struct bed *b)
{
	assert_null(tkw_wheel_check(b->w));
}

static struct tkw_link *head_of(struct bed *b, uint32_t id)
{
	return tkw__head(b->w, b->e[id].slot);
}

static void test_1_11_there_must_be_a_wheel(void **state)
{
	(void)state;
	assert_string_equal(tkw_wheel_check(NULL), "there is no wheel");
}

static void test_1_11_the_checker_changes_nothing(void **state)
{
	struct bed *b = *state;
	struct tkw_entry e[BED_ENTRIES];
	void *copy = malloc(b->bytes);

	fill(b);
	bed_extend(b, 1, 100);
	assert_non_null(copy);
	memcpy(copy, b->mem, b->bytes);
	memcpy(e, b->e, sizeof(e));
	expect_sound(b);
	assert_memory_equal(copy, b->mem, b->bytes);
	assert_memory_equal(e, b->e, sizeof(e));
	free(copy);
}

static void test_1_11_finds_a_slot_marked_that_is_empty(void **state)
{
	struct bed *b = *state;
	uint32_t slot;

	bed_add(b, 0, 9);
	slot = b->e[0].slot;
	bed_remove(b, 0);
	tkw__bitset_add(&b->w->used, slot);
	expect_broken(b, "I1: a slot in use is empty");
	tkw__bitset_drop(&b->w->used, slot);
	expect_sound(b);
}

static void test_1_11_finds_a_slot_that_is_not_marked(void **state)
{
	struct bed *b = *state;

	fill(b);
	tkw__bitset_drop(&b->w->used, b->e[0].slot);
	expect_broken(b, "I4: fewer entries than counted");
	tkw__bitset_add(&b->w->used, b->e[0].slot);
	expect_sound(b);
}

/* A word of the bit set is marked as having members, but has none. */
static void test_1_11_finds_a_broken_bit_set(void **state)
{
	struct bed *b = *state;
	struct tkw__bitset *used = &b->w->used;
	uint32_t l;

	bed_add(b, 0, 0);
	assert_true(used->levels > 1);
	for (l = 1; l < used->levels; l++) {
		/* This word is reachable from the levels above. */
		uint32_t words = used->words[l - 1];
		uint32_t last = words < 64 ? words - 1 : 63;

		used->level[l][0] |= UINT64_C(1) << last;
		expect_broken(b, "I1: the set of slots in use is broken");
		used->level[l][0] &= ~(UINT64_C(1) << last);
		expect_sound(b);
	}
}

/* The other way round: there are members that cannot be reached. */
static void test_1_11_finds_hidden_slots(void **state)
{
	struct bed *b = *state;
	struct tkw__bitset *used = &b->w->used;
	uint64_t *top = used->level[used->levels - 1];
	uint64_t was;

	bed_add(b, 0, TKW_TICK_NEVER); /* the last slot of any wheel */
	was = *top;
	*top = 0;
	expect_broken(b, "I4: fewer entries than counted");
	*top = was;
	expect_sound(b);
}

/* The first word is found without the level above. That level must be right,
 * too. */
static void test_1_11_finds_a_first_word_not_marked_above(void **state)
{
	struct bed *b = *state;
	struct tkw__bitset *used = &b->w->used;
	uint64_t was;

	bed_add(b, 0, 7);
	was = used->level[1][0];
	used->level[1][0] = 0;
	expect_broken(b, "I1: the set of slots in use is broken");
	used->level[1][0] = was;
	expect_sound(b);
}

static void test_1_11_finds_a_broken_list(void **state)
{
	struct bed *b = *state;
	struct tkw_entry *e = &b->e[1];
	struct tkw_link was;

	fill(b);
	was = e->link;
	e->link.next = NULL;
	expect_broken(b, "I1: a list is broken");
	e->link.next = &e->link;
	expect_broken(b, "I1: a list is broken");
	e->link.next = &b->e[0].link;
	expect_broken(b, "I1: a list is broken");
	e->link = was;
	e->link.prev = NULL;
	expect_broken(b, "I1: a list is broken");
	e->link.prev = &b->e[2].link;
	expect_broken(b, "I1: a list is broken");
	e->link = was;
	expect_sound(b);
}

static void test_1_11_finds_a_lost_tail(void **state)
{
	struct bed *b = *state;
	struct tkw_link *was;

	fill(b);
	was = head_of(b, 0)->prev;
	head_of(b, 0)->prev = &b->e[0].link;
	expect_broken(b, "I1: a list has lost its tail");
	head_of(b, 0)->prev = was;
	expect_sound(b);
}

static void test_1_11_finds_an_entry_not_flagged(void **state)
{
	struct bed *b = *state;
	uint32_t was;

	fill(b);
	was = b->e[1].flags;
	b->e[1].flags &= ~(uint32_t)TKW__LINKED;
	expect_broken(b, "I2: a linked entry lacks its flag");
	b->e[1].flags = was;
	expect_sound(b);
}

static void test_1_11_finds_an_entry_that_does_not_know_its_slot(void **state)
{
	struct bed *b = *state;

	fill(b);
	b->e[1].slot ^= 1;
	expect_broken(b, "I2: an entry does not know its slot");
	b->e[1].slot ^= 1;
	expect_sound(b);
}

static void test_1_11_finds_an_entry_before_now(void **state)
{
	struct bed *b = *state;

	fill(b);
	b->e[1].tick = 2;
	expect_broken(b, "I2: an entry is before now");
	b->e[1].tick = 9;
	expect_sound(b);
}

static void test_1_11_finds_an_entry_in_the_wrong_slot(void **state)
{
	struct bed *b = *state;

	fill(b);
	b->e[1].tick = 10;
	expect_broken(b, "I3: an entry is in the wrong slot");
	b->e[1].tick = 9;
	b->e[4].tick++;
	if (b->cfg.engine == TKW_WHEEL_HASHED)
		expect_broken(b, "I3: an entry is in the wrong slot");
	b->e[4].tick--;
	expect_sound(b);
}

static void test_1_11_finds_an_extension_to_before_the_slot(void **state)
{
	struct bed *b = *state;

	fill(b);
	bed_extend(b, 1, 100);
	b->w->lap_end = b->w->now + 1; /* otherwise it breaks C1, too */
	b->e[1].tick = 8;
	expect_broken(b, "I3: an entry is extended to before its slot");
	b->e[1].tick = 9;
	expect_sound(b);
}

static void test_1_11_finds_a_slot_that_was_passed_over(void **state)
{
	struct bed *b = *state;
	uint64_t was;

	fill(b);
	bed_advance(b, 100 < b->shape.slots ? 100 : 10);
	was = b->w->now;
	b->w->now = 2 * b->shape.slots + 1;
	expect_broken(b, "H1: a slot in use starts before now");
	b->w->now = was;
	expect_sound(b);
}

static void test_1_11_finds_a_base_after_now(void **state)
{
	struct bed *b = *state;

	bed_advance(b, 20);
	b->w->base += 2;
	expect_broken(b, "H1: base is after now");
	b->w->base -= 2;
	expect_sound(b);
}

static void test_1_11_finds_a_wrong_count(void **state)
{
	struct bed *b = *state;

	fill(b);
	b->w->added++;
	expect_broken(b, "I4: fewer entries than counted");
	b->w->added -= 2;
	expect_broken(b, "I4: more entries than counted");
	b->w->added++;
	expect_sound(b);
}

static void test_1_11_finds_an_entry_before_the_earliest(void **state)
{
	struct bed *b = *state;
	uint64_t end, min;

	bed_advance(b, 2);
	bed_add(b, 0, 9);
	bed_add(b, 1, 12);
	end = b->w->lap_end;
	min = b->w->lap_min;
	b->w->lap_end = b->w->now;
	b->w->lap_min = 10;
	expect_broken(b, "C1: an entry is before the earliest");
	b->w->lap_min = 9;
	expect_sound(b);
	b->w->lap_end = b->w->now + 1;
	b->w->lap_min = 10;
	expect_sound(b);
	b->w->lap_end = end;
	b->w->lap_min = min;
	expect_sound(b);
}

static void test_1_11_finds_a_lost_cursor(void **state)
{
	struct bed *b = *state;
	struct tkw_link stray = { &stray, &stray };
	struct tkw_link *was;

	fill(b);
	b->w->cursor = &stray;
	expect_broken(b, "C2: the cursor is not in the slot of now");
	b->w->cursor = NULL;
	expect_sound(b);
	bed_advance(b, 8);
	/* It stopped behind an entry that it had looked at, or at the head. */
	assert_int_equal(bed_advance_by(b, 9, 2), 1);
	assert_non_null(b->w->cursor);
	was = b->w->cursor;
	b->w->cursor = &stray;
	expect_broken(b, "C2: the cursor is not in the slot of now");
	b->w->cursor = was;
	expect_sound(b);
}

static void test_1_11_finds_a_due_entry_before_the_cursor(void **state)
{
	struct bed *b = *state;
	struct tkw_link *was;

	bed_add(b, 0, 9);
	bed_add(b, 1, 9);
	assert_int_equal(bed_advance_by(b, 9, 1), 1);
	was = b->w->cursor;
	assert_non_null(was);
	b->w->cursor = &b->e[1].link;
	expect_broken(b, "C2: an entry that is due was passed over");
	b->w->cursor = was;
	expect_sound(b);
}

static void test_1_11_finds_a_floor_that_is_after_now(void **state)
{
	struct bed *b = *state;
	uint64_t floor;
	uint64_t floor_due;

	fill(b);
	floor = b->w->floor;
	floor_due = b->w->floor_due;
	b->w->floor = b->w->now + 1;
	expect_broken(b, "I5: an entry for a past tick is not due");
	b->w->floor = floor;
	b->w->floor_due = b->w->now + 1;
	expect_broken(b, "I5: an entry for a past tick is not due");
	b->w->floor_due = floor_due;
	expect_sound(b);
}

static void test_1_11_finds_a_wrong_edge(void **state)
{
	static const char why[] =
		"I5: an advance would pass over a slot in use";
	struct bed *b = *state;
	uint64_t edge;

	bed_add(b, 0, 9);
	edge = b->w->edge;
	b->w->edge = 10;
	expect_broken(b, why);
	b->w->edge = edge;
	expect_sound(b);
	bed_advance(b, 5);
	edge = b->w->edge;
	b->w->edge = 5;
	expect_broken(b, why);
	b->w->edge = edge;
	expect_sound(b);
}

static void test_1_11_finds_an_edge_inside_a_slot(void **state)
{
	struct bed *b = *state;
	uint64_t edge;

	/* In a slot of ring 1, in both geometries. */
	bed_add(b, 0, 600);
	edge = b->w->edge;
	b->w->edge = 300;
	expect_broken(b, "I5: edge is inside a slot");
	b->w->edge = edge;
	expect_sound(b);
}

static void test_1_11_finds_a_wrong_span(void **state)
{
	struct bed *b = *state;

	b->w->span *= 2;
	expect_broken(b, "I5: the span is not that of the wide slots");
	b->w->span /= 2;
	expect_sound(b);
}

static void test_1_11_finds_a_hashed_wheel_with_a_fast_path(void **state)
{
	static const char why[] =
		"I5: an add would pass over the hashed engine";
	struct bed *b = *state;

	b->w->span = 1;
	expect_broken(b, why);
	b->w->span = 0;
	b->w->edge = 1;
	expect_broken(b, why);
	b->w->edge = 0;
	expect_sound(b);
}

static void test_1_11_finds_a_trail_without_its_place(void **state)
{
	struct bed *b = *state;
	struct tkw__slot *s;

	bed_add(b, 0, 9);
	s = (struct tkw__slot *)(void *)tkw__head(b->w, b->e[0].slot);
	s->at += TKW__TRAIL;
	expect_broken(b, "H3: a trail has lost its place");
	s->at -= TKW__TRAIL;
	expect_sound(b);
}

static void test_1_11_finds_a_wrong_slot_that_moves(void **state)
{
	static const char why[] =
		"H2: the slot that moves does not start at now";
	struct bed *b = *state;
	uint32_t was;

	fill(b);
	b->w->moving = 1; /* of ring 0 */
	expect_broken(b, why);
	b->w->moving = 0;
	bed_advance(b, 5);
	b->w->moving = (uint32_t)b->shape.slots + 1; /* base is not now */
	expect_broken(b, why);
	b->w->moving = 0;
	assert_int_equal(bed_advance_by(b, 2 * b->shape.slots, 3), 1);
	was = b->w->moving;
	assert_int_not_equal(was, 0);
	b->w->moving = was + 1; /* the one beside it */
	tkw_wheel_remove(b->w, &b->e[3]);
	tkw_wheel_remove(b->w, &b->e[4]);
	expect_broken(b, why);
	b->w->moving = was;
	expect_sound(b);
}

/* In the middle of a cascade the wheel is sound, and errors are still found. */
static void test_1_11_a_half_done_cascade_is_sound(void **state)
{
	struct bed *b = *state;
	struct tkw_wheel_place p;
	uint32_t i;

	fill(b);
	bed_advance(b, b->shape.slots);
	assert_int_equal(bed_advance_by(b, 2 * b->shape.slots, 1), 1);
	assert_int_not_equal(b->w->moving, 0);
	for (i = 3; i <= 4; i++) {
		/* The entry that has moved is wrong by a tick, the other by a
		 * slot. */
		assert_int_equal(tkw_wheel_get_place(b->w, &b->e[i], &p), 0);
		b->e[i].tick += p.ring == 0 ? 1 : b->shape.slots;
		expect_broken(b, "I3: an entry is in the wrong slot");
		b->e[i].tick -= p.ring == 0 ? 1 : b->shape.slots;
	}
	expect_sound(b);
}

int main(void)
{
	static const struct bed_test tests[] = {
		BED_TEST(test_1_11_there_must_be_a_wheel, BED_ONCE),
		BED_TEST(test_1_11_the_checker_changes_nothing, BED_ANY),
		BED_TEST(test_1_11_finds_a_slot_marked_that_is_empty, BED_ANY),
		BED_TEST(test_1_11_finds_a_slot_that_is_not_marked, BED_ANY),
		BED_TEST_FROM(512, test_1_11_finds_a_broken_bit_set, BED_ANY),
		BED_TEST(test_1_11_finds_hidden_slots, BED_ANY),
		BED_TEST_FROM(512,
			      test_1_11_finds_a_first_word_not_marked_above,
			      BED_ANY),
		BED_TEST(test_1_11_finds_a_broken_list, BED_ANY),
		BED_TEST(test_1_11_finds_a_lost_tail, BED_ANY),
		BED_TEST(test_1_11_finds_an_entry_not_flagged, BED_ANY),
		BED_TEST(test_1_11_finds_an_entry_that_does_not_know_its_slot,
			 BED_ANY),
		BED_TEST(test_1_11_finds_an_entry_before_now, BED_ANY),
		BED_TEST_FROM(2, test_1_11_finds_an_entry_in_the_wrong_slot,
			      BED_ANY),
		BED_TEST_FROM(16,
			      test_1_11_finds_an_extension_to_before_the_slot,
			      BED_ANY),
		BED_TEST(test_1_11_finds_a_slot_that_was_passed_over, BED_HIER),
		BED_TEST(test_1_11_finds_a_base_after_now, BED_HIER),
		BED_TEST(test_1_11_finds_a_wrong_count, BED_ANY),
		BED_TEST(test_1_11_finds_an_entry_before_the_earliest,
			 BED_HASHED),
		BED_TEST(test_1_11_finds_a_lost_cursor, BED_HASHED),
		BED_TEST(test_1_11_finds_a_due_entry_before_the_cursor,
			 BED_HASHED),
		BED_TEST(test_1_11_finds_a_floor_that_is_after_now, BED_ANY),
		BED_TEST(test_1_11_finds_a_wrong_edge, BED_HIER),
		BED_TEST(test_1_11_finds_an_edge_inside_a_slot, BED_HIER),
		BED_TEST(test_1_11_finds_a_wrong_span, BED_HIER),
		BED_TEST(test_1_11_finds_a_hashed_wheel_with_a_fast_path,
			 BED_HASHED),
		BED_TEST(test_1_11_finds_a_trail_without_its_place, BED_HIER),
		BED_TEST(test_1_11_finds_a_wrong_slot_that_moves, BED_HIER),
		BED_TEST(test_1_11_a_half_done_cascade_is_sound, BED_HIER),
	};

	return bed_main("wheel_check", tests, sizeof(tests) / sizeof(tests[0]));
}
