/* SPDX-License-Identifier: MIT */
/*
 * fault_generations.c - fault 24, for the narrow build. There a place has 15
 * generations, so that they run out all the time, and blocks are small.
 *
 * The test keeps every id. No id is given out twice, and only the ids of
 * pending timeouts are valid.
 */
#include "fault_bed.h"

enum {
	OUTSTANDING = 200, /* more than one block */
	ROUNDS = 12000 / FAULT_SLOWNESS,
	WEAR = 15 /* uses until a place is worn out */
};

struct history {
	struct timer_bed *b;
	struct fault_memory m;
	struct tkw_timeout_id given[ROUNDS]; /* all ids, in order */
	bool live[ROUNDS];
	size_t count;
	size_t pending[OUTSTANDING]; /* indices into given */
	size_t pending_count;
	uint64_t seed;
};

static void history_open(struct history *h, struct timer_bed *b)
{
	struct tkw_timer_hooks hooks = { .ctx = NULL };
	const struct tkw_timer_config cfg = { .hooks = &hooks };

	memset(h, 0, sizeof(*h));
	h->b = b;
	h->seed = fault_seed();
	fault_memory_hooks(&h->m, &hooks);
	bed_reopen(b, &cfg);
}

static void give_one(struct history *h)
{
	/* The tag of each timeout is the index of its id. */
	h->given[h->count] = bed_schedule(
		h->b, h->count, 1 + (int64_t)fault_below(&h->seed, TKW_SEC));
	h->live[h->count] = true;
	h->pending[h->pending_count++] = h->count++;
}

static void cancel_one(struct history *h)
{
	const size_t k = fault_below(&h->seed, h->pending_count);
	const size_t i = h->pending[k];

	must(tkw_timer_cancel(h->b->t, h->given[i]) == 0);
	h->live[i] = false;
	h->pending[k] = h->pending[--h->pending_count];
}

/* Lets time pass, and forgets the timeouts that fired. */
static void fire_some(struct history *h)
{
	size_t kept = 0;
	size_t k;

	bed_pass(h->b, (int64_t)fault_below(&h->seed, 300 * TKW_MSEC));
	for (k = 0; k < h->b->fired_count; k++)
		h->live[h->b->fired[k].tag] = false;
	for (k = 0; k < h->pending_count; k++) {
		if (h->live[h->pending[k]])
			h->pending[kept++] = h->pending[k];
	}
	h->pending_count = kept;
}

/* Checks that a stale id is refused. */
static void expect_stale(struct history *h, size_t i)
{
	struct tkw_timeout_info info;

	must(tkw_timer_cancel(h->b->t, h->given[i]) == -ENOENT);
	must(tkw_timer_reschedule(h->b->t, h->given[i], 0) == -ENOENT);
	must(tkw_timer_get(h->b->t, h->given[i], &info) == -ENOENT);
}

/* Checks that each of the last n ids is valid if it is live, and only then. */
static void expect_true_history(struct history *h, size_t n)
{
	const struct tkw_ledger l = fault_ledger(h->b->t);
	struct tkw_timeout_info info;
	size_t i;

	for (i = h->count > n ? h->count - n : 0; i < h->count; i++) {
		if (h->live[i])
			must(tkw_timer_get(h->b->t, h->given[i], &info) == 0);
		else
			expect_stale(h, i);
	}
	must(l.pending == h->pending_count);
}

static int by_id(const void *a, const void *b)
{
	const uint64_t x = ((const struct tkw_timeout_id *)a)->bits;
	const uint64_t y = ((const struct tkw_timeout_id *)b)->bits;

	return (x > y) - (x < y);
}

static void expect_no_id_twice(struct history *h)
{
	size_t i;

	qsort(h->given, h->count, sizeof(h->given[0]), by_id);
	for (i = 1; i < h->count; i++)
		assert_true(h->given[i].bits != h->given[i - 1].bits);
}

/* Memory holds the wheel, a block or two, and a directory of worn-out
 * numbers. */
static void expect_little_memory(struct history *h, size_t at_first)
{
	print_message("%zu ids, memory %zu bytes at first, %lu now\n", h->count,
		      at_first, h->m.live_bytes);
	assert_true(h->m.live_bytes <= at_first + 65536);
}

static struct history history;

/* SPEC 3.5, fault 24: the same place is used again and again. */
static void fault_24_a_place_that_is_worn_out_is_retired(struct timer_bed *b)
{
	struct history *h = &history;
	size_t at_first = 0;

	history_open(h, b);
	while (h->count < ROUNDS) {
		give_one(h);
		if (h->count == 1)
			at_first = h->m.live_bytes;
		expect_true_history(h, (size_t)4 * WEAR);
		cancel_one(h);
		expect_true_history(h, 2);
		if (h->count % 1000 == 0)
			expect_true_history(h, ROUNDS);
	}
	expect_true_history(h, ROUNDS);
	expect_little_memory(h, at_first);
	expect_no_id_twice(h);
}
BED_TEST(fault_24_a_place_that_is_worn_out_is_retired)

/* SPEC 3.5, 5.4, fault 24: many blocks, cancelled and fired in random order. */
static void fault_24_no_stale_id_is_ever_honoured(struct timer_bed *b)
{
	struct history *h = &history;
	size_t at_first = 0;

	history_open(h, b);
	while (h->count < ROUNDS) {
		if (h->pending_count < OUTSTANDING)
			give_one(h);
		if (h->pending_count == OUTSTANDING && at_first == 0)
			at_first = h->m.live_bytes;
		while (h->pending_count == OUTSTANDING ||
		       (h->pending_count > 0 && fault_below(&h->seed, 4) == 0))
			cancel_one(h);
		if (h->count % 512 == 0) {
			fire_some(h);
			expect_true_history(h, ROUNDS);
		}
	}
	expect_true_history(h, ROUNDS);
	bed_pass(b, 2 * TKW_SEC);
	bed_assert_ledger(b, 0);
	expect_little_memory(h, at_first);
	expect_no_id_twice(h);
}
BED_TEST(fault_24_no_stale_id_is_ever_honoured)

/* SPEC 5.4, fault 24: blocks are freed, and made again, with all their
 * places. */
static void fault_24_a_block_given_back_revives_no_id(struct timer_bed *b)
{
	struct history *h = &history;

	history_open(h, b);
	while (h->count + OUTSTANDING <= ROUNDS) {
		while (h->pending_count < OUTSTANDING)
			give_one(h);
		while (h->pending_count > 0)
			cancel_one(h);
		expect_true_history(h, ROUNDS);
	}
	expect_no_id_twice(h);
}
BED_TEST(fault_24_a_block_given_back_revives_no_id)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(fault_24_a_place_that_is_worn_out_is_retired),
		BED_TESTS(fault_24_no_stale_id_is_ever_honoured),
		BED_TESTS(fault_24_a_block_given_back_revives_no_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
