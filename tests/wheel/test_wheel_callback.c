/* SPDX-License-Identifier: MIT */
/*
 * test_wheel_callback.c - SPEC 1.9: what an expiry callback may do to the wheel
 * that runs it. Whatever it does, the pass ends.
 */
#include "wheel_bed.h"

#include <stdlib.h>
#include <string.h>

static void add_itself_now(struct bed *b, uint32_t id)
{
	if (id == 0)
		bed_add(b, 0, tkw_wheel_now_tick(b->w));
}

static void test_1_9_added_inside_callback_waits_for_next_pass(void **state)
{
	struct bed *b = *state;

	b->hook = add_itself_now;
	bed_add(b, 0, 5);
	bed_add(b, 1, 5);
	bed_advance(b, 20);
	bed_expect(b, "0@5 1@5");
	assert_int_equal(tkw_entry_tick(&b->e[0]), 21);
	bed_advance(b, 20);
	bed_expect(b, "");
	bed_advance(b, 21);
	bed_expect(b, "0@21");
	bed_advance(b, 1000);
	bed_expect(b, "0@22");
	assert_int_equal(tkw_entry_tick(&b->e[0]), 1001);
}

static void add_others_before(struct bed *b, uint32_t id)
{
	if (id == 0) {
		bed_add(b, 1, 0);
		bed_add(b, 2, tkw_wheel_now_tick(b->w) - 1);
		bed_add(b, 3, tkw_wheel_now_tick(b->w));
	}
}

static void test_1_9_earlier_and_equal_ticks_wait_in_order(void **state)
{
	struct bed *b = *state;

	b->hook = add_others_before;
	bed_add(b, 0, 5);
	bed_add(b, 4, 9);
	bed_add(b, 5, 8);
	bed_advance(b, 8);
	bed_expect(b, "0@5 5@8");
	bed_advance(b, 100);
	bed_expect(b, "4@9 1@9 2@9 3@9");
}

static void move_others(struct bed *b, uint32_t id)
{
	if (id == 0) {
		bed_move(b, 1, 5);  /* the next in line, to this tick */
		bed_move(b, 2, 0);  /* to the past */
		bed_move(b, 3, 6);  /* within the pass */
		bed_move(b, 4, 11); /* beyond it */
	}
}

static void test_1_9_moved_inside_callback_waits_for_next_pass(void **state)
{
	struct bed *b = *state;
	uint32_t i;

	b->hook = move_others;
	for (i = 0; i < 6; i++)
		bed_add(b, i, 5);
	bed_advance(b, 10);
	bed_expect(b, "0@5 5@5 3@6");
	assert_int_equal(tkw_wheel_count(b->w), 3);
	bed_advance(b, 11);
	bed_expect(b, "1@11 2@11 4@11");
}

static void add_within(struct bed *b, uint32_t id)
{
	uint64_t now = tkw_wheel_now_tick(b->w);

	if (id == 0) {
		bed_add(b, 1, now + 1);
		bed_add(b, 2, now + b->shape.slots); /* hashed: this slot */
		bed_add(b, 3, 10000);
		bed_add(b, 4, 10001);
	}
}

static void test_1_9_later_ticks_expire_in_the_same_pass(void **state)
{
	struct bed *b = *state;

	b->hook = add_within;
	bed_add(b, 0, 5);
	b->expired = 0;
	bed_advance(b, 10000);
	assert_int_equal(b->expired, 4);
	assert_int_equal(tkw_wheel_count(b->w), 1);
	assert_int_equal(tkw_entry_tick(&b->e[1]), 6);
	assert_int_equal(tkw_entry_tick(&b->e[2]), 5 + b->shape.slots);
	b->log_len = 0;
	bed_advance(b, 10001);
	bed_expect(b, "4@10001");
}

static void add_next_tick(struct bed *b, uint32_t id)
{
	bed_add(b, id, tkw_wheel_now_tick(b->w) + 1);
}

/* The chain goes up to the target and not beyond. */
static void test_1_9_a_chain_ends_at_the_target(void **state)
{
	struct bed *b = *state;

	b->hook = add_next_tick;
	bed_add(b, 0, 0);
	b->expired = 0;
	bed_advance(b, 300);
	assert_int_equal(b->expired, 301);
	assert_int_equal(tkw_entry_tick(&b->e[0]), 301);
	assert_int_equal(tkw_wheel_now_tick(b->w), 301);
}

/* If a pass was stopped by its bound, it does not expire the new entry when it
 * goes on. */
static void test_1_9_a_bounded_pass_ends_too(void **state)
{
	struct bed *b = *state;

	b->hook = add_itself_now;
	bed_add(b, 0, 5);
	bed_add(b, 1, 5);
	bed_add(b, 2, 7);
	while (bed_advance_by(b, 9, 1) == 1)
		;
	bed_expect(b, "0@5 1@5 2@7");
	assert_int_equal(tkw_entry_tick(&b->e[0]), 10);
	assert_int_equal(tkw_wheel_now_tick(b->w), 10);
}

/* An add inside the callback is placed by the pass. An add after it is placed
 * by now. */
static void test_1_9_after_a_stop_a_past_tick_is_due_at_now_again(void **state)
{
	struct bed *b = *state;

	b->hook = add_itself_now;
	bed_advance(b, 4);
	bed_add(b, 0, 5);
	bed_add(b, 1, 5);
	assert_int_equal(bed_advance_by(b, 9, 1), 1);
	bed_expect(b, "0@5");
	bed_add(b, 2, 5);
	bed_add(b, 3, 0);
	assert_int_equal(tkw_entry_tick(&b->e[3]), 5);
	bed_advance(b, 9);
	bed_expect(b, "1@5 2@5 3@5");
	bed_advance(b, 10);
	bed_expect(b, "0@10");
}

static void test_1_9_at_the_last_tick_the_next_pass_never_comes(void **state)
{
	struct bed *b = *state;

	b->hook = add_itself_now;
	bed_add(b, 0, BED_LAST);
	bed_advance(b, TKW_TICK_NEVER);
	bed_expect(b, "0@18446744073709551614");
	assert_true(tkw_entry_tick(&b->e[0]) == TKW_TICK_NEVER);
	bed_advance(b, TKW_TICK_NEVER);
	bed_expect(b, "");
	assert_int_equal(tkw_wheel_count(b->w), 1);
}

static void remove_others(struct bed *b, uint32_t id)
{
	if (id == 0) {
		bed_remove(b, 1); /* the next in line */
		bed_remove(b, 3);
		bed_remove(b, 5); /* the tail */
		bed_remove(b, 6); /* of a later tick */
	}
}

static void test_1_6_removed_inside_callback_does_not_expire(void **state)
{
	struct bed *b = *state;
	uint32_t i;

	b->hook = remove_others;
	for (i = 0; i < 6; i++)
		bed_add(b, i, 5);
	bed_add(b, 6, 6);
	bed_add(b, 7, 6);
	bed_advance(b, 10);
	bed_expect(b, "0@5 2@5 4@5 7@6");
	assert_int_equal(tkw_wheel_count(b->w), 0);
}

static void remove_all_others(struct bed *b, uint32_t id)
{
	uint32_t i;

	for (i = 0; i < 8; i++) {
		if (i != id && tkw_entry_is_linked(&b->e[i]))
			bed_remove(b, i);
	}
}

static void test_1_6_the_last_one_may_empty_the_wheel(void **state)
{
	struct bed *b = *state;
	uint32_t i;

	b->hook = remove_all_others;
	for (i = 0; i < 8; i++)
		bed_add(b, i, 5 + i / 4 * 600);
	bed_advance(b, 10000);
	bed_expect(b, "0@5");
	assert_int_equal(tkw_wheel_now_tick(b->w), 10001);
}

static void extend_others(struct bed *b, uint32_t id)
{
	if (id == 0) {
		bed_extend(b, 1, 7); /* the next in line */
		bed_extend(b, 2, 5); /* no change */
		bed_extend(b, 3, 2000);
		bed_extend(b, 4, TKW_TICK_NEVER);
	}
}

static void test_1_6_extended_inside_callback_comes_later(void **state)
{
	struct bed *b = *state;
	uint32_t i;

	b->hook = extend_others;
	for (i = 0; i < 6; i++)
		bed_add(b, i, 5);
	bed_advance(b, 1999);
	bed_expect(b, "0@5 2@5 5@5 1@7");
	bed_advance(b, 100000);
	bed_expect(b, "3@2000");
	assert_int_equal(tkw_wheel_count(b->w), 1);
}

static void call_back_in(struct bed *b, uint32_t id)
{
	uint64_t count = tkw_wheel_count(b->w);
	uint64_t next = tkw_wheel_next_tick(b->w);
	uint64_t now = tkw_wheel_now_tick(b->w);

	(void)id;
	assert_int_equal(tkw_wheel_advance(b->w, 100, 1, bed_expired, b),
			 -EDEADLK);
	assert_int_equal(tkw_wheel_advance(b->w, 0, 0, bed_expired, b),
			 -EDEADLK);
	assert_int_equal(tkw_wheel_fini(b->w), -EDEADLK);
	assert_true(tkw_wheel_count(b->w) == count);
	assert_true(tkw_wheel_next_tick(b->w) == next);
	assert_true(tkw_wheel_now_tick(b->w) == now);
}

static void test_1_9_advance_and_fini_inside_callback_are_refused(void **state)
{
	struct bed *b = *state;

	b->hook = call_back_in;
	bed_add(b, 0, 5);
	bed_add(b, 1, 5);
	bed_add(b, 2, 50);
	bed_advance(b, 60);
	bed_expect(b, "0@5 1@5 2@50");
	/* Afterwards they are legal again, also after a pass that was
	 * stopped. */
	bed_add(b, 0, 70);
	bed_add(b, 1, 70);
	while (b->expired < 4)
		assert_int_equal(bed_advance_by(b, 70, 1), 1);
	assert_int_equal(tkw_wheel_fini(b->w), 0);
	b->w = NULL;
}

struct other {
	struct tkw_wheel *w;
	struct tkw_entry e[2];
	unsigned expired;
};

static struct other *other_wheel;

static void other_expired(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	struct other *o = ctx;

	assert_ptr_equal(w, o->w);
	assert_int_equal(tkw_wheel_add(w, e, TKW_TICK_NEVER), 0);
	o->expired++;
}

static void use_the_other(struct bed *b, uint32_t id)
{
	struct other *o = other_wheel;

	(void)b;
	assert_int_equal(tkw_wheel_add(o->w, &o->e[id], 3), 0);
	assert_int_equal(tkw_wheel_advance(o->w, 10 + id, 9, other_expired, o),
			 0);
}

static void test_1_9_another_wheel_may_be_used_inside(void **state)
{
	struct bed *b = *state;
	struct other o;
	void *mem = malloc(b->bytes);

	memset(&o, 0, sizeof(o));
	assert_non_null(mem);
	assert_int_equal(tkw_wheel_init(&o.w, mem, b->bytes, &b->cfg), 0);
	other_wheel = &o;
	b->hook = use_the_other;
	bed_add(b, 0, 5);
	bed_add(b, 1, 6);
	bed_advance(b, 6);
	assert_int_equal(o.expired, 2);
	assert_int_equal(tkw_wheel_now_tick(o.w), 12);
	assert_int_equal(tkw_wheel_fini(o.w), 0);
	free(mem);
}

struct owned {
	struct tkw_entry e;
	int *freed;
};

static void free_it(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	struct owned *o = (struct owned *)e;

	(void)w;
	(void)ctx;
	++*o->freed;
	memset(o, 0xff, sizeof(*o));
	free(o);
}

/* The entry belongs to the callback. It may be freed when the callback
 * returns. */
static void test_1_9_an_entry_may_be_freed_inside(void **state)
{
	struct bed *b = *state;
	struct owned *o;
	int freed = 0;
	int i;

	for (i = 0; i < 20; i++) {
		o = calloc(1, sizeof(*o));
		assert_non_null(o);
		o->freed = &freed;
		assert_int_equal(
			tkw_wheel_add(b->w, &o->e, (uint64_t)(i / 5 * 300)), 0);
	}
	assert_int_equal(tkw_wheel_advance(b->w, 1000, TKW_STEPS_UNBOUNDED,
					   free_it, NULL),
			 0);
	assert_int_equal(freed, 20);
	assert_null(tkw_wheel_check(b->w));
}

/* Inside a callback, now is the tick that is expired, and no entry is before
 * it. */
static void look_around(struct bed *b, uint32_t id)
{
	const struct tkw_entry *e;
	uint64_t n = 0;

	(void)id;
	for (e = tkw_wheel_first(b->w); e; e = tkw_wheel_after(b->w, e)) {
		assert_true(tkw_entry_tick(e) >= tkw_wheel_now_tick(b->w));
		n++;
	}
	assert_true(n == tkw_wheel_count(b->w));
	assert_true(tkw_wheel_next_tick(b->w) >= tkw_wheel_now_tick(b->w));
}

static void test_1_9_the_wheel_can_be_read_inside(void **state)
{
	struct bed *b = *state;
	uint32_t i;

	b->hook = look_around;
	for (i = 0; i < 20; i++)
		bed_add(b, i, (uint64_t)(i / 3) * 170);
	b->expired = 0;
	bed_advance(b, 5000);
	assert_int_equal(b->expired, 20);
}

int main(void)
{
	static const struct bed_test tests[] = {
		BED_TEST(test_1_9_added_inside_callback_waits_for_next_pass,
			 BED_ANY),
		BED_TEST(test_1_9_earlier_and_equal_ticks_wait_in_order,
			 BED_ANY),
		BED_TEST(test_1_9_moved_inside_callback_waits_for_next_pass,
			 BED_ANY),
		BED_TEST(test_1_9_later_ticks_expire_in_the_same_pass, BED_ANY),
		BED_TEST(test_1_9_a_chain_ends_at_the_target, BED_ANY),
		BED_TEST(test_1_9_a_bounded_pass_ends_too, BED_ANY),
		BED_TEST(test_1_9_after_a_stop_a_past_tick_is_due_at_now_again,
			 BED_ANY),
		BED_TEST(test_1_9_at_the_last_tick_the_next_pass_never_comes,
			 BED_ANY),
		BED_TEST(test_1_6_removed_inside_callback_does_not_expire,
			 BED_ANY),
		BED_TEST(test_1_6_the_last_one_may_empty_the_wheel, BED_ANY),
		BED_TEST(test_1_6_extended_inside_callback_comes_later,
			 BED_ANY),
		BED_TEST(test_1_9_advance_and_fini_inside_callback_are_refused,
			 BED_ANY),
		BED_TEST(test_1_9_another_wheel_may_be_used_inside, BED_ANY),
		BED_TEST(test_1_9_an_entry_may_be_freed_inside, BED_ANY),
		BED_TEST(test_1_9_the_wheel_can_be_read_inside, BED_ANY),
	};

	return bed_main("wheel_callback", tests,
			sizeof(tests) / sizeof(tests[0]));
}
