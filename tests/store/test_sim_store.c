/* SPDX-License-Identifier: MIT */
/* test_sim_store.c - the simulated disk keeps the rules of store.h, too. */
/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "sim_store.h"

enum {
	ROWS = 5, /* of a batch */
	RECORD = 90,
	SEEDS = 40
};
static const uint64_t two_batches = UINT64_C(2) * ROWS;

static int open_store(struct sim_disk *d, struct tkw__store **s)
{
	struct sim_store_config cfg = { d };
	char why[80];

	return sim_store.open(s, &cfg, why, sizeof(why));
}

/* Appends a batch whose records are full of a byte. */
static int append(struct tkw__store *s, uint8_t byte, uint64_t *last)
{
	uint8_t record[RECORD];
	struct tkw__row row[ROWS];
	int i;

	memset(record, byte, sizeof(record));
	for (i = 0; i < ROWS; i++)
		row[i] = (struct tkw__row){ .queue = 1,
					    .record = record,
					    .len = sizeof(record) };
	return sim_store.append(s, row, ROWS, last);
}

static void append_name(struct tkw__store *s, uint32_t queue, const char *name)
{
	struct tkw__row row = { .queue = queue, .name = name };
	uint64_t last;

	assert_int_equal(sim_store.append(s, &row, 1, &last), 0);
}

/* What a replay tells. */
struct heard {
	uint64_t rows, first, last;
	uint32_t names;
	uint8_t byte; /* of the last record */
};

static int hear(const struct tkw__row *row, void *ctx)
{
	struct heard *h = ctx;
	size_t i;

	if (row->name) {
		h->names++;
		return 0;
	}
	assert_int_equal(row->len, RECORD);
	for (i = 1; i < row->len; i++)
		assert_int_equal(row->record[i], row->record[0]);
	if (h->rows++ == 0)
		h->first = row->seq;
	else
		assert_true(row->seq == h->last + 1);
	h->last = row->seq;
	h->byte = row->record[0];
	return 0;
}

static struct heard replay(struct tkw__store *s, struct tkw__base *base)
{
	struct heard h = { 0 };

	assert_int_equal(sim_store.replay(s, hear, base, &h), 0);
	return h;
}

/* A crash, and the file is opened again, as often as that takes. */
static struct tkw__store *crash(struct sim_disk *d, struct tkw__store *s)
{
	sim_disk_crash(d);
	sim_store.close(s);
	sim_disk_restart(d);
	while (open_store(d, &s) != 0) {
		assert_true(sim_disk_is_down(d));
		sim_disk_restart(d);
	}
	assert_null(sim_disk_wrong(d));
	return s;
}

static void test_sim_store_keeps_what_was_synced(void **state)
{
	uint64_t seed, last = 0;
	uint8_t i;

	(void)state;
	for (seed = 1; seed <= SEEDS; seed++) {
		struct sim_disk *d = sim_disk_create(seed, NULL);
		struct tkw__base base;
		struct tkw__store *s;

		assert_int_equal(open_store(d, &s), 0);
		for (i = 1; i <= 4; i++) {
			assert_int_equal(append(s, i, &last), 0);
			assert_true(last == (uint64_t)i * ROWS);
			s = crash(d, s);
			assert_int_equal(replay(s, &base).rows, i * ROWS);
		}
		sim_store.close(s);
		sim_disk_destroy(d);
	}
}

/* One batch is written, then a crash comes at a step of the second one. */
static uint64_t rows_after_crash(uint64_t seed, uint64_t step, uint64_t *torn)
{
	struct sim_disk *d = sim_disk_create(seed, NULL);
	struct sim_faults f = { .crash = { .at = step } };
	struct tkw__store *s;
	struct tkw__base base;
	struct heard h;
	uint64_t last;

	assert_int_equal(open_store(d, &s), 0);
	assert_int_equal(append(s, 1, &last), 0);
	sim_disk_set_faults(d, &f);
	assert_int_equal(append(s, 2, &last), -EIO);
	assert_true(sim_disk_is_down(d));
	assert_int_equal(append(s, 3, &last), -EIO);
	s = crash(d, s);
	h = replay(s, &base);
	assert_int_equal(append(s, 4, &last), 0);
	assert_true(last == h.rows + ROWS);
	*torn += sim_disk_counts(d)->torn_tails;
	sim_store.close(s);
	sim_disk_destroy(d);
	return h.rows;
}

static void test_sim_store_batch_in_flight_is_whole_or_gone(void **state)
{
	uint64_t whole = 0, gone = 0, torn = 0;
	uint64_t seed, step;

	(void)state;
	for (seed = 1; seed <= SEEDS; seed++) {
		/* Two writes, before the sync, and after it. */
		for (step = 1; step <= 4; step++) {
			uint64_t rows = rows_after_crash(seed, step, &torn);

			assert_true(rows == ROWS || rows == two_batches);
			if (step == 4)
				assert_int_equal(rows, two_batches);
			whole += rows == two_batches && step < 4;
			gone += rows == ROWS;
		}
	}
	assert_true(whole > 0 && gone > 0 && torn > 0);
}

static void test_sim_store_full_leaves_nothing(void **state)
{
	struct sim_disk *d = sim_disk_create(1, NULL);
	struct sim_faults f = { .full = { .at = 2 } };
	struct tkw__store *s;
	struct tkw__base base;
	struct heard h;
	uint64_t last;

	(void)state;
	assert_int_equal(open_store(d, &s), 0);
	sim_disk_set_faults(d, &f);
	assert_int_equal(append(s, 1, &last), 0);
	assert_int_equal(append(s, 2, &last), -ENOSPC);
	assert_int_equal(append(s, 3, &last), 0);
	assert_int_equal(last, 2 * ROWS);
	s = crash(d, s);
	h = replay(s, &base);
	assert_int_equal(h.rows, 2 * ROWS);
	assert_int_equal(h.byte, 3);
	sim_store.close(s);
	sim_disk_destroy(d);
}

static void test_sim_store_error_lasts_until_it_is_opened_again(void **state)
{
	uint64_t there = 0, gone = 0;
	uint64_t seed, last;

	(void)state;
	for (seed = 1; seed <= SEEDS; seed++) {
		struct sim_disk *d = sim_disk_create(seed, NULL);
		struct sim_faults f = { .error = { .at = 1 } };
		struct tkw__base base = { 1, 0 };
		struct tkw__store *s;
		struct heard h;

		assert_int_equal(open_store(d, &s), 0);
		sim_disk_set_faults(d, &f);
		assert_int_equal(append(s, 1, &last), -EIO);
		assert_int_equal(append(s, 2, &last), -EIO);
		assert_int_equal(sim_store.compact(s, &base, 9), -EIO);
		sim_store.close(s);
		assert_int_equal(open_store(d, &s), 0);
		h = replay(s, &base);
		assert_true(h.rows == 0 || h.rows == ROWS);
		there += h.rows == ROWS;
		gone += h.rows == 0;
		assert_int_equal(append(s, 3, &last), 0);
		sim_store.close(s);
		sim_disk_destroy(d);
	}
	assert_true(there > 0 && gone > 0);
}

/* Three batches; the base is set to the last one, and a crash comes. */
static void compact_with_crash(uint64_t seed, uint64_t step, uint64_t *moved)
{
	struct sim_disk *d = sim_disk_create(seed, NULL);
	struct sim_faults f = { .crash = { .at = step } };
	struct tkw__base base, got;
	struct tkw__store *s;
	struct heard h;
	uint64_t last;

	assert_int_equal(open_store(d, &s), 0);
	append_name(s, 1, "one");
	append_name(s, 2, "two");
	assert_int_equal(append(s, 1, &last), 0);
	assert_int_equal(append(s, 2, &last), 0);
	base = (struct tkw__base){ last + 1, last + 2 };
	assert_int_equal(append(s, 3, &last), 0);
	sim_disk_set_faults(d, &f);
	while (sim_store.compact(s, &base, ROWS) == 1)
		;
	s = crash(d, s);
	h = replay(s, &got);
	assert_int_equal(h.byte, 3);
	assert_true(h.last == last);
	assert_true(h.names >= 2);
	if (got.first == base.first) {
		++*moved;
		assert_true(got.whole == base.whole);
		assert_true(h.first == base.first);
		assert_int_equal(h.rows, ROWS);
	} else {
		assert_true(got.first == 0 && got.whole == 0);
		assert_int_equal(h.rows, 3 * ROWS);
	}
	sim_store.close(s);
	sim_disk_destroy(d);
}

static void test_sim_store_base_is_set_or_not(void **state)
{
	uint64_t seed, step;
	uint64_t moved = 0;
	uint64_t all = 0;

	(void)state;
	for (seed = 1; seed <= SEEDS; seed++) {
		for (step = 1; step <= 6; step++) {
			compact_with_crash(seed, step, &moved);
			all++;
		}
		/* Step 0: no crash meanwhile. */
		compact_with_crash(seed, 0, &moved);
		all++;
	}
	assert_true(moved >= UINT64_C(3) * SEEDS && moved < all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sim_store_keeps_what_was_synced),
		cmocka_unit_test(
			test_sim_store_batch_in_flight_is_whole_or_gone),
		cmocka_unit_test(test_sim_store_full_leaves_nothing),
		cmocka_unit_test(
			test_sim_store_error_lasts_until_it_is_opened_again),
		cmocka_unit_test(test_sim_store_base_is_set_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
