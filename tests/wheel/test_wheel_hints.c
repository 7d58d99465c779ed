/* SPDX-License-Identifier: MIT */
/*
 * test_wheel_hints.c - each entry of a long list has a hint at the entry eight
 * places later, in the direction in which the engine will walk. Only speed
 * depends on hints, so no other test would notice an error.
 */
#include "wheel_bed.h"

#include <stdbool.h>

#include "wheel/engine.h"

enum {
	LONG = 40
};

static struct tkw_link *step(const struct tkw_link *l, bool from_tail)
{
	return from_tail ? l->prev : l->next;
}

/* Checks the list of entry 0. It has LONG entries, each with its hint. */
static void expect_hints(struct bed *b, bool from_tail)
{
	const struct tkw_link *head = tkw__head(b->w, b->e[0].slot);
	const struct tkw_link *l = step(head, from_tail);
	const struct tkw_link *ahead = l;
	uint32_t mask = (1u << TKW__HINT_BITS) - 1;
	uint32_t hinted = 0;
	uint32_t i;

	for (i = 0; i < TKW__TRAIL; i++)
		ahead = step(ahead, from_tail);
	for (; ahead != head; ahead = step(ahead, from_tail)) {
		const struct tkw_entry *e = (const struct tkw_entry *)l;

		assert_int_equal(e->flags >> TKW__FLAG_BITS,
				 tkw__hint_to(ahead) & mask);
		l = step(l, from_tail);
		hinted++;
	}
	assert_int_equal(hinted, LONG - TKW__TRAIL);
}

static void add_long(struct bed *b, uint64_t tick)
{
	uint32_t i;

	for (i = 0; i < LONG; i++)
		bed_add(b, i, tick);
}

static void
test_hints_of_what_was_added_are_for_a_walk_from_the_tail(void **state)
{
	struct bed *b = *state;

	add_long(b, 3 * b->shape.slots + 5);
	bed_expect_place(b, 0, 1, 3, 0);
	expect_hints(b, true);
}

static void test_hints_in_ring_0_are_for_a_walk_from_the_head(void **state)
{
	struct bed *b = *state;

	add_long(b, 3 * b->shape.slots + 5);
	bed_advance(b, 3 * b->shape.slots);
	bed_expect_place(b, 0, 0, 5, 0);
	expect_hints(b, false);
}

static void
test_hints_of_what_moved_to_ring_1_are_for_a_walk_from_the_tail(void **state)
{
	struct bed *b = *state;
	uint64_t turn = b->shape.slots * b->shape.slots;

	add_long(b, turn + 3 * b->shape.slots + 5);
	bed_expect_place(b, 0, 2, 1, 0);
	expect_hints(b, true);
	bed_advance(b, turn);
	bed_expect_place(b, 0, 1, 3, 0);
	expect_hints(b, true);
	bed_advance(b, turn + 3 * b->shape.slots);
	bed_expect_place(b, 0, 0, 5, 0);
	expect_hints(b, false);
}

int main(void)
{
	static const struct bed_test tests[] = {
		BED_TEST(
			test_hints_of_what_was_added_are_for_a_walk_from_the_tail,
			BED_HIER),
		BED_TEST(test_hints_in_ring_0_are_for_a_walk_from_the_head,
			 BED_HIER),
		BED_TEST(
			test_hints_of_what_moved_to_ring_1_are_for_a_walk_from_the_tail,
			BED_HIER),
	};

	return bed_main("wheel_hints", tests, sizeof(tests) / sizeof(tests[0]));
}
