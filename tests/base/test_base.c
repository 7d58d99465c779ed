/* SPDX-License-Identifier: MIT */
/*
 * test_base.c - tests src/base: bits, the bit set, links, configs, times and
 * the version.
 *
 * The bit set is compared with a plain array of flags, at sizes on both sides
 * of each of its levels.
 */
#include "wheel_bed.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/bitset.h"
#include "base/config.h"
#include "base/divide.h"
#include "base/links.h"
#include "base/ns.h"
#include "tickwheel/version.h"

static void test_bits_lowest_and_highest(void **state)
{
	unsigned bit;

	(void)state;
	for (bit = 0; bit < 64; bit++) {
		assert_int_equal(tkw__lowest_bit(UINT64_MAX << bit), bit);
		assert_int_equal(tkw__highest_bit(UINT64_MAX >> bit), 63 - bit);
	}
}

static void test_bits_min_max_and_saturating_add(void **state)
{
	(void)state;
	assert_int_equal(tkw__min_u64(1, 2), 1);
	assert_int_equal(tkw__min_u64(2, 1), 1);
	assert_int_equal(tkw__max_u64(1, 2), 2);
	assert_int_equal(tkw__max_u64(2, 1), 2);
	assert_int_equal(tkw__sat_add(1, 2), 3);
	assert_true(tkw__sat_add(UINT64_MAX, 0) == UINT64_MAX);
	assert_true(tkw__sat_add(UINT64_MAX - 1, 1) == UINT64_MAX);
	assert_true(tkw__sat_add(UINT64_MAX, 1) == UINT64_MAX);
	assert_true(tkw__sat_add(UINT64_MAX, UINT64_MAX) == UINT64_MAX);
}

static void test_bits_round_up_to_a_power_of_two(void **state)
{
	unsigned bit;

	(void)state;
	assert_int_equal(tkw__round_up_pow2(1), 1);
	assert_int_equal(tkw__round_up_pow2(2), 2);
	assert_int_equal(tkw__round_up_pow2(3), 4);
	for (bit = 2; bit < 63; bit++) {
		uint64_t edge = UINT64_C(1) << bit;

		assert_true(tkw__round_up_pow2(edge - 1) == edge);
		assert_true(tkw__round_up_pow2(edge) == edge);
		assert_true(tkw__round_up_pow2(edge + 1) == 2 * edge);
	}
	assert_true(tkw__round_up_pow2(UINT64_C(1) << 63) == UINT64_C(1) << 63);
}

static void expect_quotient(uint64_t x, uint64_t d)
{
	uint64_t rest;

	assert_true(tkw__divide(x, tkw__divisor_of(d), &rest) == x / d);
	assert_true(rest == x % d);
}

/* Numbers around each power of two and around each multiple of the divisor
 * there, up to the last number that may be divided. */
static void test_bits_divide_as_the_processor_does(void **state)
{
	const uint64_t last = UINT64_MAX >> 1;
	unsigned a;
	unsigned b;
	int i;

	(void)state;
	for (a = 0; a < 63; a++) {
		for (b = 0; b < 63; b++) {
			for (i = -1; i <= 1; i++) {
				uint64_t d = (UINT64_C(1) << a) + a % 3;
				uint64_t x = UINT64_C(1) << b;

				expect_quotient(x + (uint64_t)i, d);
				expect_quotient(x / d * d, d);
				expect_quotient(x / d * d + d - 1, d);
				expect_quotient(last / d * d - 1 + d % 2, d);
				expect_quotient(last - b, d);
				expect_quotient(last, 1000000 + x);
			}
		}
	}
}

/* The naive twin of the bit set: one byte per number. */
struct twin {
	struct tkw__bitset set;
	uint64_t *mem;
	unsigned char *in;
	uint32_t size;
};

static void twin_init(struct twin *t, uint32_t size)
{
	size_t words = (size_t)tkw__bitset_words(size);

	t->size = size;
	t->mem = malloc(words * sizeof(uint64_t));
	t->in = calloc(size, 1);
	assert_non_null(t->mem);
	assert_non_null(t->in);
	memset(t->mem, 0xff, words * sizeof(uint64_t));
	tkw__bitset_init(&t->set, t->mem, size);
}

static void twin_fini(struct twin *t)
{
	free(t->mem);
	free(t->in);
}

static uint32_t twin_next(const struct twin *t, uint32_t i)
{
	const unsigned char *at = NULL;

	if (i < t->size)
		at = memchr(t->in + i, 1, t->size - i);
	return at ? (uint32_t)(at - t->in) : TKW__BITSET_NONE;
}

static void twin_compare(const struct twin *t)
{
	static const uint32_t probes[] = { 0,    1,    62,   63,   64,
					   65,   127,  128,  4095, 4096,
					   4097, 8191, 8192, 9999, 262143 };
	uint32_t first = twin_next(t, 0);
	uint32_t i, n = 0;
	size_t k;

	assert_true(tkw__bitset_sound(&t->set));
	if (first != TKW__BITSET_NONE)
		assert_int_equal(tkw__bitset_first(&t->set), first);
	for (k = 0; k < sizeof(probes) / sizeof(probes[0]); k++) {
		if (probes[k] < t->size)
			assert_int_equal(tkw__bitset_next(&t->set, probes[k]),
					 twin_next(t, probes[k]));
	}
	for (i = first; i != TKW__BITSET_NONE && n < 8; n++) {
		assert_int_equal(tkw__bitset_next(&t->set, i), i);
		assert_int_equal(tkw__bitset_next(&t->set, i + 1),
				 twin_next(t, i + 1));
		i = twin_next(t, i + 1);
	}
}

static void twin_flip(struct twin *t, uint32_t i)
{
	if (t->in[i])
		tkw__bitset_drop(&t->set, i);
	else
		tkw__bitset_add(&t->set, i);
	t->in[i] = !t->in[i];
}

static const uint32_t sizes[] = { 1,    2,    63,   64,   65,     128,   4095,
				  4096, 4097, 8192, 9999, 262144, 262145 };

static void test_bitset_is_empty_at_first(void **state)
{
	struct twin t;
	size_t k;

	(void)state;
	for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		twin_init(&t, sizes[k]);
		twin_compare(&t);
		assert_int_equal(tkw__bitset_next(&t.set, 0), TKW__BITSET_NONE);
		twin_fini(&t);
	}
}

/* One member at a time: each edge of each word of each level. */
static void test_bitset_with_one_member(void **state)
{
	struct twin t;
	uint32_t i;
	size_t k;

	(void)state;
	for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		twin_init(&t, sizes[k]);
		for (i = 0; i < t.size; i += i < 300 ? 1 : i / 9) {
			twin_flip(&t, i);
			twin_compare(&t);
			twin_flip(&t, i);
		}
		twin_flip(&t, t.size - 1);
		twin_compare(&t);
		twin_flip(&t, t.size - 1);
		twin_compare(&t);
		twin_fini(&t);
	}
}

static void test_bitset_with_many_members(void **state)
{
	uint64_t x = 1;
	struct twin t;
	size_t k;
	int n;

	(void)state;
	for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		twin_init(&t, sizes[k]);
		for (n = 0; n < 160; n++) {
			x = x * UINT64_C(6364136223846793005) + 1442695041;
			twin_flip(&t, (uint32_t)(x >> 33) % t.size);
			if (n % 8 == 0)
				twin_compare(&t);
		}
		twin_fini(&t);
	}
}

/* Adding a member twice, or dropping one that is not in, changes nothing. */
static void test_bitset_add_and_drop_twice(void **state)
{
	struct twin t;

	(void)state;
	twin_init(&t, 4097);
	tkw__bitset_add(&t.set, 4096);
	tkw__bitset_add(&t.set, 4096);
	t.in[4096] = 1;
	twin_compare(&t);
	tkw__bitset_drop(&t.set, 4096);
	tkw__bitset_drop(&t.set, 4096);
	t.in[4096] = 0;
	twin_compare(&t);
	twin_fini(&t);
}

static void test_bitset_of_the_largest_wheel_fits_its_levels(void **state)
{
	uint64_t size = TKW_WHEEL_MAX_SLOTS;
	unsigned levels = 0;

	(void)state;
	do {
		size = (size + 63) / 64;
		levels++;
	} while (size > 1);
	assert_true(levels <= TKW__BITSET_LEVELS);
	assert_int_equal(tkw__bitset_words(1), 1);
	assert_int_equal(tkw__bitset_words(64), 1);
	assert_int_equal(tkw__bitset_words(65), 3);
	assert_int_equal(tkw__bitset_words(4096), 65);
	assert_int_equal(tkw__bitset_words(4097), 68);
}

/* A little more than four levels. That is too many for the naive twin, so only
 * the edges are tested. */
enum {
	FIVE_LEVELS = 64 * 64 * 64 * 64 + 1,
	EDGES = 9
};
static const uint32_t edges[EDGES] = {
	0, 63, 64, 4095, 4096, 262143, 262144, FIVE_LEVELS - 2, FIVE_LEVELS - 1
};

/* Returns the smallest edge >= i whose bit in `in` is set. */
static uint32_t edge_next(unsigned in, uint32_t i)
{
	uint32_t k;

	for (k = 0; k < EDGES; k++) {
		if (in >> k & 1 && edges[k] >= i)
			return edges[k];
	}
	return TKW__BITSET_NONE;
}

static void edges_compare(const struct tkw__bitset *set, unsigned in)
{
	uint32_t k, i;

	assert_true(tkw__bitset_sound(set));
	if (in)
		assert_int_equal(tkw__bitset_first(set), edge_next(in, 0));
	for (k = 0; k < EDGES; k++) {
		for (i = edges[k] - (edges[k] > 0); i <= edges[k] + 1; i++)
			assert_int_equal(tkw__bitset_next(set, i),
					 edge_next(in, i));
	}
}

/* Tests each subset of the edges; each step adds or drops one edge. */
static void test_bitset_of_five_levels(void **state)
{
	size_t words = (size_t)tkw__bitset_words(FIVE_LEVELS);
	uint64_t *mem = malloc(words * sizeof(*mem));
	struct tkw__bitset set;
	unsigned in = 0;
	unsigned n, k;

	(void)state;
	assert_non_null(mem);
	tkw__bitset_init(&set, mem, FIVE_LEVELS);
	assert_int_equal(set.levels, 5);
	edges_compare(&set, in);
	for (n = 1; n <= 1u << EDGES; n++) {
		k = n < 1u << EDGES ? tkw__lowest_bit(n) : EDGES - 1;
		in ^= 1u << k;
		if (in >> k & 1)
			tkw__bitset_add(&set, edges[k]);
		else
			tkw__bitset_drop(&set, edges[k]);
		edges_compare(&set, in);
	}
	assert_int_equal(in, 0);
	free(mem);
}

static void test_links_append_and_remove(void **state)
{
	struct tkw_link head, a, b, c;

	(void)state;
	tkw__links_init(&head);
	assert_true(tkw__links_empty(&head));
	tkw__links_append(&head, &a);
	assert_false(tkw__links_empty(&head));
	tkw__links_append(&head, &b);
	tkw__links_append(&head, &c);
	assert_ptr_equal(head.next, &a);
	assert_ptr_equal(a.next, &b);
	assert_ptr_equal(b.next, &c);
	assert_ptr_equal(c.next, &head);
	assert_ptr_equal(head.prev, &c);
	assert_ptr_equal(c.prev, &b);
	assert_ptr_equal(b.prev, &a);
	assert_ptr_equal(a.prev, &head);
	tkw__links_remove(&b);
	assert_ptr_equal(a.next, &c);
	assert_ptr_equal(c.prev, &a);
	tkw__links_remove(&a);
	tkw__links_remove(&c);
	assert_true(tkw__links_empty(&head));
	assert_ptr_equal(head.prev, &head);
}

/* A config of three releases: the first had `a`, the second added `b`. */
struct third {
	size_t size;
	uint32_t a;
	uint32_t b;
	uint32_t c;
	uint32_t d; /* otherwise there would be padding here */
};
#define FIRST_SIZE TKW__END_OF(struct third, a)
#define SECOND_SIZE TKW__END_OF(struct third, b)

/* Reads as the library of the second release does, which knows a and b. */
static int read_second(unsigned char to[SECOND_SIZE], const struct third *from)
{
	return tkw__config_read(to, SECOND_SIZE, from, FIRST_SIZE);
}

static void expect_read(const struct third *from, uint32_t a, uint32_t b)
{
	unsigned char bytes[SECOND_SIZE];
	struct third got = { 0 };

	memset(bytes, 0xa5, sizeof(bytes));
	assert_int_equal(read_second(bytes, from), 0);
	memcpy(&got, bytes, sizeof(bytes));
	assert_int_equal(got.size, from ? from->size : 0);
	assert_int_equal(got.a, a);
	assert_int_equal(got.b, b);
}

static void test_config_of_an_older_and_of_the_same_release(void **state)
{
	(void)state;
	expect_read(NULL, 0, 0);
	/* A size of 0 means the size of the first release. */
	expect_read(&(struct third){ 0, 1, 2, 3, 4 }, 1, 0);
	expect_read(&(struct third){ FIRST_SIZE, 1, 2, 3, 4 }, 1, 0);
	expect_read(&(struct third){ SECOND_SIZE, 1, 2, 3, 4 }, 1, 2);
}

static void test_config_of_a_newer_release(void **state)
{
	static struct {
		struct third cfg;
		unsigned char more[TKW__CONFIG_EXCESS];
	} later;
	unsigned char to[SECOND_SIZE];

	(void)state;
	memset(later.more, 0, sizeof(later.more));
	later.cfg = (struct third){ sizeof(struct third), 1, 2, 0, 0 };
	expect_read(&later.cfg, 1, 2);
	later.cfg.size = SECOND_SIZE + TKW__CONFIG_EXCESS;
	expect_read(&later.cfg, 1, 2);
	later.cfg.size++;
	assert_int_equal(read_second(to, &later.cfg), -EINVAL);
	later.cfg.size = SIZE_MAX;
	assert_int_equal(read_second(to, &later.cfg), -EINVAL);
	later.cfg.size = sizeof(struct third);
	later.cfg.c = 3;
	assert_int_equal(read_second(to, &later.cfg), -EINVAL);
}

static void test_config_that_is_too_short(void **state)
{
	unsigned char to[SECOND_SIZE];
	size_t size;

	(void)state;
	for (size = 1; size < FIRST_SIZE; size++)
		assert_int_equal(
			read_second(to, &(struct third){ size, 0, 0, 0, 0 }),
			-EINVAL);
}

static void test_ns_add_stops_at_the_end_of_time(void **state)
{
	(void)state;
	assert_int_equal(tkw__ns_add(1, 2), 3);
	assert_int_equal(tkw__ns_add(-5, 2), -3);
	assert_true(tkw__ns_add(INT64_MIN, INT64_MAX) == -1);
	assert_true(tkw__ns_add(INT64_MAX - 2, 2) == INT64_MAX);
	assert_true(tkw__ns_add(INT64_MAX - 2, 3) == INT64_MAX);
	assert_true(tkw__ns_add(INT64_MAX, 0) == INT64_MAX);
	assert_true(tkw__ns_add(INT64_MAX, INT64_MAX) == INT64_MAX);
}

static void test_ns_percent(void **state)
{
	(void)state;
	assert_int_equal(tkw__ns_percent(0, 50), 0);
	assert_int_equal(tkw__ns_percent(1000, 0), 0);
	assert_int_equal(tkw__ns_percent(1000, 50), 500);
	assert_int_equal(tkw__ns_percent(1000, 1000), 10000);
	assert_int_equal(tkw__ns_percent(999, 10), 99);
	assert_int_equal(tkw__ns_percent(99, 99), 98);
	assert_true(tkw__ns_percent(INT64_MAX, 0) == 0);
	assert_true(tkw__ns_percent(INT64_MAX, 50) == INT64_MAX / 2);
	assert_true(tkw__ns_percent(INT64_MAX, 100) == INT64_MAX);
	assert_true(tkw__ns_percent(INT64_MAX, 101) == INT64_MAX);
	assert_true(tkw__ns_percent(INT64_MAX, 1000) == INT64_MAX);
	/* The last number whose tenfold fits, and the first whose does not. */
	assert_true(tkw__ns_percent(INT64_MAX / 10, 1000) ==
		    INT64_MAX / 10 * 10);
	assert_true(tkw__ns_percent(INT64_MAX / 10 + 1, 1000) == INT64_MAX);
}

static void test_version_of_header_and_library_agree(void **state)
{
	(void)state;
	assert_string_equal(tkw_version(), TKW_VERSION);
}

int main(void)
{
	static const struct bed_test tests[] = {
		BED_TEST(test_bits_lowest_and_highest, BED_ONCE),
		BED_TEST(test_bits_min_max_and_saturating_add, BED_ONCE),
		BED_TEST(test_bits_round_up_to_a_power_of_two, BED_ONCE),
		BED_TEST(test_bits_divide_as_the_processor_does, BED_ONCE),
		BED_TEST(test_bitset_is_empty_at_first, BED_ONCE),
		BED_TEST(test_bitset_with_one_member, BED_ONCE),
		BED_TEST(test_bitset_with_many_members, BED_ONCE),
		BED_TEST(test_bitset_add_and_drop_twice, BED_ONCE),
		BED_TEST(test_bitset_of_the_largest_wheel_fits_its_levels,
			 BED_ONCE),
		BED_TEST(test_bitset_of_five_levels, BED_ONCE),
		BED_TEST(test_links_append_and_remove, BED_ONCE),
		BED_TEST(test_config_of_an_older_and_of_the_same_release,
			 BED_ONCE),
		BED_TEST(test_config_of_a_newer_release, BED_ONCE),
		BED_TEST(test_config_that_is_too_short, BED_ONCE),
		BED_TEST(test_ns_add_stops_at_the_end_of_time, BED_ONCE),
		BED_TEST(test_ns_percent, BED_ONCE),
		BED_TEST(test_version_of_header_and_library_agree, BED_ONCE),
	};

	return bed_main("base", tests, sizeof(tests) / sizeof(tests[0]));
}
