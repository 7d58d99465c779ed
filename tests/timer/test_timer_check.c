/* SPDX-License-Identifier: MIT */
/*
 * test_timer_check.c - tkw_timer_check() and the ledger. Each test breaks an
 * invariant from the inside, expects the checker to find it, and repairs it.
 * The timer has no worker, so no lock is needed for that.
 */
#include "timer_bed.h"

#include <stdlib.h>
#include <string.h>

#include "timer/object.h"

/* The first letters of what the checker says name the invariant. */
static void expect_broken(struct timer_bed *b, const char *invariant)
{
	const char *broken = tkw_timer_check(b->t);

	assert_non_null(broken);
	assert_memory_equal(broken, invariant, strlen(invariant));
}

/* Fails if there is no timeout. (An assert alone is not enough: the analyzer
 * does not know that it ends the test.) */
static struct tkw__timeout *must(struct tkw__timeout *to)
{
	if (to == NULL) {
		fail();
		abort();
	}
	return to;
}

/* The shard that holds the timeout. */
static struct tkw__shard *shard_of(struct timer_bed *b,
				   struct tkw_timeout_id id)
{
	return &b->t->shards[id.bits >> 56];
}

/* SPEC, the law */
static void test_timer_check_finds_a_ledger_out_of_balance(struct timer_bed *b)
{
	const struct tkw_timeout_id id = bed_schedule(b, 1, TKW_SEC);
	struct tkw_ledger *l = &shard_of(b, id)->ledger;
	uint64_t *const terms[] = { &l->accepted, &l->fired, &l->cancelled,
				    &l->dropped, &l->handed_over };
	size_t i;

	for (i = 0; i < sizeof(terms) / sizeof(terms[0]); i++) {
		++*terms[i];
		expect_broken(b, "T1");
		--*terms[i];
		assert_null(tkw_timer_check(b->t));
	}
}
BED_TEST(test_timer_check_finds_a_ledger_out_of_balance)

static void
test_timer_check_finds_a_timeout_that_is_nowhere(struct timer_bed *b)
{
	const struct tkw_timeout_id id = bed_schedule(b, 1, TKW_SEC);
	struct tkw__shard *s = shard_of(b, id);
	struct tkw__timeout *to = must(tkw__shard_find(s, tkw__name_of(id)));

	tkw__shard_pull(s, to);
	expect_broken(b, "T2");
	tkw__shard_place(s, to, to->entry.tick);
	assert_null(tkw_timer_check(b->t));
}
BED_TEST(test_timer_check_finds_a_timeout_that_is_nowhere)

/* The public ledger must not balance without it either: pending is what the
 * wheel and the lists hold, and is not computed from the other terms. */
static void
test_timer_check_finds_a_ledger_that_misses_a_timeout(struct timer_bed *b)
{
	const struct tkw_timeout_id id = bed_schedule(b, 1, TKW_SEC);
	struct tkw__shard *s = shard_of(b, id);
	struct tkw__timeout *to = must(tkw__shard_find(s, tkw__name_of(id)));
	struct tkw_ledger l;

	s->listed++;
	expect_broken(b, "T4");
	s->listed--;
	s->unlisted++;
	expect_broken(b, "T4");
	s->unlisted--;
	tkw__shard_pull(s, to);
	assert_int_equal(tkw_timer_get_ledger(b->t, &l), 0);
	assert_true(l.accepted != l.fired + l.cancelled + l.dropped +
					  l.handed_over + l.pending);
	assert_true(l.pending == tkw_timer_count(b->t));
	tkw__shard_place(s, to, to->entry.tick);
	assert_int_equal(tkw_timer_get_ledger(b->t, &l), 0);
	assert_true(l.accepted == l.fired + l.cancelled + l.dropped +
					  l.handed_over + l.pending);
	assert_null(tkw_timer_check(b->t));
}
BED_TEST(test_timer_check_finds_a_ledger_that_misses_a_timeout)

static void test_timer_check_finds_a_place_in_use_by_nobody(struct timer_bed *b)
{
	const struct tkw_timeout_id id = bed_schedule(b, 1, TKW_SEC);
	struct tkw__slab *slab = &shard_of(b, id)->slab;
	uint32_t n;
	struct tkw__timeout *to = must(tkw__slab_take(slab, &n));

	expect_broken(b, "S1");
	tkw__set_state(to, TKW__STATE_MASK); /* which is none */
	expect_broken(b, "T3");
	assert_null(tkw__slab_put(slab, n, to));
	assert_null(tkw_timer_check(b->t));
}
BED_TEST(test_timer_check_finds_a_place_in_use_by_nobody)

static void test_timer_check_finds_a_wrong_list_of_blocks(struct timer_bed *b)
{
	const struct tkw_timeout_id id = bed_schedule(b, 1, TKW_SEC);
	struct tkw__slab *slab = &shard_of(b, id)->slab;
	struct tkw__block *block = &slab->directory->block[0];
	const struct tkw__block was = *block;

	slab->roomy = TKW__NO_BLOCK;
	expect_broken(b, "S2");
	slab->roomy = 0;
	block->free = NULL;
	block->fresh = TKW__BLOCK_PLACES;
	expect_broken(b, "S2");
	*block = was;
	/* An empty block. Only the spare block may be empty. */
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	assert_null(tkw_timer_check(b->t));
	slab->spare = TKW__NO_BLOCK;
	expect_broken(b, "S3");
	slab->spare = 0;
	assert_null(tkw_timer_check(b->t));
}
BED_TEST(test_timer_check_finds_a_wrong_list_of_blocks)

static void test_timer_check_finds_an_unsound_wheel(struct timer_bed *b)
{
	const struct tkw_timeout_id id = bed_schedule(b, 1, TKW_SEC);
	struct tkw__shard *s = shard_of(b, id);
	struct tkw__timeout *to = must(tkw__shard_find(s, tkw__name_of(id)));
	const uint32_t slot = to->entry.slot;

	to->entry.slot ^= 1;
	assert_non_null(tkw_timer_check(b->t));
	to->entry.slot = slot;
	assert_null(tkw_timer_check(b->t));
}
BED_TEST(test_timer_check_finds_an_unsound_wheel)

static void test_timer_check_refuses_null(void **state)
{
	(void)state;
	assert_non_null(tkw_timer_check(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST_UNDER(test_timer_check_finds_a_ledger_out_of_balance,
			       manual),
		BED_TEST_UNDER(test_timer_check_finds_a_timeout_that_is_nowhere,
			       manual),
		BED_TESTS_BY_HAND(
			test_timer_check_finds_a_ledger_that_misses_a_timeout),
		BED_TEST_UNDER(test_timer_check_finds_a_place_in_use_by_nobody,
			       manual),
		BED_TEST_UNDER(test_timer_check_finds_a_wrong_list_of_blocks,
			       manual),
		BED_TESTS_BY_HAND(test_timer_check_finds_an_unsound_wheel),
		cmocka_unit_test(test_timer_check_refuses_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
