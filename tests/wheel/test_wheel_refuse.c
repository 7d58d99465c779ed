/* SPDX-License-Identifier: MIT */
/*
 * test_wheel_refuse.c - mistakes of the caller. Each gets the result that the
 * header promises, in debug and release builds alike, and does not change a
 * byte.
 */
#include "wheel_bed.h"

#include <stdlib.h>
#include <string.h>

/* Everything that a refused call could have changed. */
struct snapshot {
	void *mem;
	struct tkw_entry e[BED_ENTRIES];
	uint64_t now, count, next;
};

static void take(struct bed *b, struct snapshot *s)
{
	s->mem = malloc(b->bytes);
	assert_non_null(s->mem);
	memcpy(s->mem, b->mem, b->bytes);
	memcpy(s->e, b->e, sizeof(s->e));
	s->now = tkw_wheel_now_tick(b->w);
	s->count = tkw_wheel_count(b->w);
	s->next = tkw_wheel_next_tick(b->w);
}

static void expect_same(struct bed *b, struct snapshot *s)
{
	assert_memory_equal(s->mem, b->mem, b->bytes);
	assert_memory_equal(s->e, b->e, sizeof(s->e));
	assert_true(tkw_wheel_now_tick(b->w) == s->now);
	assert_true(tkw_wheel_count(b->w) == s->count);
	assert_true(tkw_wheel_next_tick(b->w) == s->next);
	assert_null(tkw_wheel_check(b->w));
	free(s->mem);
}

/* A wheel in use. Entries 0 to 9 are linked, 10 was linked, and 11 never
 * was. */
static void live(struct bed *b)
{
	uint32_t i;

	bed_advance(b, 41);
	for (i = 0; i < 10; i++)
		bed_add(b, i, 42 + (uint64_t)i * 97);
	bed_extend(b, 4, 5000);
	bed_add(b, 10, 42);
	bed_remove(b, 10);
}

static void test_add_of_a_linked_entry_is_refused(void **state)
{
	struct bed *b = *state;
	struct snapshot s;
	uint32_t i;

	live(b);
	take(b, &s);
	for (i = 0; i < 10; i++) {
		assert_int_equal(tkw_wheel_add(b->w, &b->e[i], 42), -EEXIST);
		assert_int_equal(tkw_wheel_add(b->w, &b->e[i], 0), -EEXIST);
		assert_int_equal(tkw_wheel_add(b->w, &b->e[i], TKW_TICK_NEVER),
				 -EEXIST);
	}
	expect_same(b, &s);
}

static void test_calls_on_an_entry_that_is_not_linked(void **state)
{
	struct bed *b = *state;
	struct tkw_wheel_place p;
	struct snapshot s;
	uint32_t i;

	live(b);
	take(b, &s);
	memset(&p, 0x5a, sizeof(p));
	for (i = 10; i < 12; i++) {
		struct tkw_entry *e = &b->e[i];

		assert_int_equal(tkw_wheel_remove(b->w, e), -ENOENT);
		assert_int_equal(tkw_wheel_move(b->w, e, 99), -ENOENT);
		assert_int_equal(tkw_wheel_extend(b->w, e, 99), -ENOENT);
		assert_int_equal(tkw_wheel_extend(b->w, e, 0), -ENOENT);
		assert_int_equal(tkw_wheel_get_place(b->w, e, &p), -ENOENT);
		assert_null(tkw_wheel_after(b->w, e));
		assert_int_equal(tkw_entry_is_linked(e), 0);
	}
	assert_int_equal(p.slot, UINT64_C(0x5a5a5a5a5a5a5a5a));
	expect_same(b, &s);
}

static void test_an_expired_entry_is_not_linked(void **state)
{
	struct bed *b = *state;
	struct snapshot s;

	live(b);
	bed_advance(b, 42);
	take(b, &s);
	assert_int_equal(tkw_wheel_remove(b->w, &b->e[0]), -ENOENT);
	assert_int_equal(tkw_wheel_move(b->w, &b->e[0], 99), -ENOENT);
	assert_int_equal(tkw_wheel_extend(b->w, &b->e[0], 99), -ENOENT);
	expect_same(b, &s);
}

static void test_remove_twice(void **state)
{
	struct bed *b = *state;

	live(b);
	bed_remove(b, 3);
	assert_int_equal(tkw_wheel_remove(b->w, &b->e[3]), -ENOENT);
	assert_int_equal(tkw_wheel_count(b->w), 9);
}

static void test_extend_to_an_earlier_tick_is_refused(void **state)
{
	struct bed *b = *state;
	struct snapshot s;
	uint32_t i;

	live(b);
	take(b, &s);
	for (i = 0; i < 10; i++) {
		uint64_t tick = tkw_entry_tick(&b->e[i]);

		assert_int_equal(tkw_wheel_extend(b->w, &b->e[i], tick - 1),
				 -EINVAL);
		assert_int_equal(tkw_wheel_extend(b->w, &b->e[i], 0), -EINVAL);
		assert_int_equal(tkw_wheel_extend(b->w, &b->e[i], tick), 0);
	}
	expect_same(b, &s);
}

static void test_null_is_refused_by_each_call(void **state)
{
	struct bed *b = *state;
	struct tkw_wheel_shape shape;
	struct tkw_wheel_place p;
	struct tkw_wheel *w = b->w;
	struct tkw_entry *e = &b->e[0];
	struct snapshot s;

	live(b);
	take(b, &s);
	assert_int_equal(tkw_wheel_add(NULL, &b->e[11], 1), -EINVAL);
	assert_int_equal(tkw_wheel_add(w, NULL, 1), -EINVAL);
	assert_int_equal(tkw_wheel_remove(NULL, e), -EINVAL);
	assert_int_equal(tkw_wheel_remove(w, NULL), -EINVAL);
	assert_int_equal(tkw_wheel_move(NULL, e, 1), -EINVAL);
	assert_int_equal(tkw_wheel_move(w, NULL, 1), -EINVAL);
	assert_int_equal(tkw_wheel_extend(NULL, e, 9999), -EINVAL);
	assert_int_equal(tkw_wheel_extend(w, NULL, 9999), -EINVAL);
	assert_int_equal(tkw_wheel_advance(NULL, 99, 1, bed_expired, b),
			 -EINVAL);
	assert_int_equal(tkw_wheel_advance(w, 99, 1, NULL, b), -EINVAL);
	assert_int_equal(tkw_wheel_advance(w, 0, 1, NULL, b), -EINVAL);
	assert_int_equal(tkw_wheel_get_shape(NULL, &shape), -EINVAL);
	assert_int_equal(tkw_wheel_get_shape(w, NULL), -EINVAL);
	assert_int_equal(tkw_wheel_get_place(NULL, e, &p), -EINVAL);
	assert_int_equal(tkw_wheel_get_place(w, NULL, &p), -EINVAL);
	assert_int_equal(tkw_wheel_get_place(w, e, NULL), -EINVAL);
	expect_same(b, &s);
}

static void test_null_reads_as_nothing(void **state)
{
	struct bed *b = *state;

	live(b);
	assert_int_equal(tkw_wheel_fini(NULL), 0);
	assert_int_equal(tkw_wheel_now_tick(NULL), 0);
	assert_int_equal(tkw_wheel_count(NULL), 0);
	assert_true(tkw_wheel_next_tick(NULL) == TKW_TICK_NEVER);
	assert_int_equal(tkw_entry_tick(NULL), 0);
	assert_int_equal(tkw_entry_is_linked(NULL), 0);
	assert_null(tkw_wheel_first(NULL));
	assert_null(tkw_wheel_after(NULL, &b->e[0]));
	assert_null(tkw_wheel_after(b->w, NULL));
	assert_non_null(tkw_wheel_check(NULL));
}

/* ctx may be NULL. */
static void do_nothing(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	assert_non_null(w);
	assert_non_null(e);
	assert_null(ctx);
}

static void test_a_null_context_is_legal(void **state)
{
	struct bed *b = *state;

	live(b);
	assert_int_equal(tkw_wheel_advance(b->w, 6000, TKW_STEPS_UNBOUNDED,
					   do_nothing, NULL),
			 0);
	assert_int_equal(tkw_wheel_count(b->w), 0);
}

/* Checks that both bytes and init refuse it, and write nothing. */
static void expect_bad_config(const struct tkw_wheel_config *cfg)
{
	static _Alignas(64) unsigned char mem[TKW_WHEEL_BYTES];
	static unsigned char zero[TKW_WHEEL_BYTES];
	struct tkw_wheel *w = NULL;
	size_t bytes = 4711;

	assert_int_equal(tkw_wheel_bytes(cfg, &bytes), -EINVAL);
	assert_int_equal(bytes, 4711);
	assert_int_equal(tkw_wheel_init(&w, mem, sizeof(mem), cfg), -EINVAL);
	assert_null(w);
	assert_memory_equal(mem, zero, sizeof(mem));
}

static void test_bad_configs_are_refused(void **state)
{
	static const struct tkw_wheel_config bad[] = {
		{ .engine = 2 },
		{ .engine = -1 },
		{ .engine = INT32_MAX, .slots = 16 },
		{ .engine = TKW_WHEEL_HASHED, .slots = 0 },
		{ .engine = TKW_WHEEL_HASHED,
		  .slots = TKW_WHEEL_MAX_SLOTS + 1 },
		{ .engine = TKW_WHEEL_HASHED, .slots = UINT64_MAX },
		{ .engine = TKW_WHEEL_HASHED, .slots = UINT64_C(1) << 32 },
		{ .engine = TKW_WHEEL_HIERARCHICAL, .slots = 1 },
		{ .engine = TKW_WHEEL_HIERARCHICAL, .slots = 256 },
		{ .size = 1 },
		{ .size = sizeof(bad[0]) - 1 },
		{ .size = sizeof(bad[0]) + 4097 },
		{ .size = SIZE_MAX },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_bad_config(&bad[i]);
}

/* The config of a program that was compiled with a later header. */
struct later_config {
	struct tkw_wheel_config cfg;
	unsigned char more[4096];
};

/* If the unknown fields are zero, they ask for what an older library does. */
static void test_a_longer_config_is_taken_if_the_rest_is_zero(void **state)
{
	static const size_t more[] = { 1, 8, 100, 4095, 4096 };
	struct later_config later = { .cfg = { .now_tick = 77 } };
	struct bed *b = *state;
	struct tkw_wheel *w;
	size_t bytes, i;

	later.cfg.engine = b->cfg.engine;
	later.cfg.slots = b->cfg.slots;
	for (i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		later.cfg.size = sizeof(later.cfg) + more[i];
		assert_int_equal(tkw_wheel_bytes(&later.cfg, &bytes), 0);
		assert_int_equal(bytes, b->bytes);
		assert_int_equal(
			tkw_wheel_init(&w, b->mem, b->bytes, &later.cfg), 0);
		assert_int_equal(tkw_wheel_now_tick(w), 77);
		assert_int_equal(tkw_wheel_fini(w), 0);
		later.more[more[i] - 1] = 1;
		expect_bad_config(&later.cfg);
		later.more[more[i] - 1] = 0;
	}
	/* Bytes beyond the size are not read. */
	memset(later.more, 0xff, sizeof(later.more));
	later.cfg.size = sizeof(later.cfg);
	assert_int_equal(tkw_wheel_bytes(&later.cfg, &bytes), 0);
	later.cfg.size = 0;
	assert_int_equal(tkw_wheel_bytes(&later.cfg, &bytes), 0);
}

static void test_bytes_wants_a_place_for_its_result(void **state)
{
	struct bed *b = *state;

	assert_int_equal(tkw_wheel_bytes(NULL, NULL), -EINVAL);
	assert_int_equal(tkw_wheel_bytes(&b->cfg, NULL), -EINVAL);
}

static void test_init_refuses_bad_memory(void **state)
{
	struct bed *b = *state;
	unsigned char *mem = malloc(b->bytes + 64);
	unsigned char *copy = malloc(b->bytes + 64);
	struct tkw_wheel *w = NULL;
	size_t off;

	assert_non_null(mem);
	assert_non_null(copy);
	memset(mem, 0x77, b->bytes + 64);
	memcpy(copy, mem, b->bytes + 64);
	assert_int_equal(tkw_wheel_init(NULL, mem, b->bytes, &b->cfg), -EINVAL);
	assert_int_equal(tkw_wheel_init(&w, NULL, b->bytes, &b->cfg), -EINVAL);
	assert_int_equal(tkw_wheel_init(&w, mem, 0, &b->cfg), -EINVAL);
	assert_int_equal(tkw_wheel_init(&w, mem, b->bytes - 1, &b->cfg),
			 -EINVAL);
	for (off = 1; off < _Alignof(max_align_t); off++)
		assert_int_equal(
			tkw_wheel_init(&w, mem + off, b->bytes, &b->cfg),
			-EINVAL);
	assert_null(w);
	assert_memory_equal(mem, copy, b->bytes + 64);
	assert_int_equal(tkw_wheel_init(&w, mem, b->bytes, &b->cfg), 0);
	assert_non_null(w);
	free(mem);
	free(copy);
}

int main(void)
{
	static const struct bed_test tests[] = {
		BED_TEST(test_add_of_a_linked_entry_is_refused, BED_ANY),
		BED_TEST(test_calls_on_an_entry_that_is_not_linked, BED_ANY),
		BED_TEST(test_an_expired_entry_is_not_linked, BED_ANY),
		BED_TEST(test_remove_twice, BED_ANY),
		BED_TEST(test_extend_to_an_earlier_tick_is_refused, BED_ANY),
		BED_TEST(test_null_is_refused_by_each_call, BED_ANY),
		BED_TEST(test_null_reads_as_nothing, BED_ANY),
		BED_TEST(test_a_null_context_is_legal, BED_ANY),
		BED_TEST(test_bad_configs_are_refused, BED_ONCE),
		BED_TEST(test_a_longer_config_is_taken_if_the_rest_is_zero,
			 BED_ANY),
		BED_TEST(test_bytes_wants_a_place_for_its_result, BED_ANY),
		BED_TEST(test_init_refuses_bad_memory, BED_ANY),
	};

	return bed_main("wheel_refuse", tests,
			sizeof(tests) / sizeof(tests[0]));
}
