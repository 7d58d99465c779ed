/* SPDX-License-Identifier: MIT */
/*
 * test_store_rows.c - what is appended to the store on SQLite is replayed.
 *
 * The program is linked with --wrap for malloc(), realloc() and
 * pthread_create().
 */
#include "store_bed.h"

#include <pthread.h>
#include <sqlite3.h>

#include "store/conveyor.h"
#include "store/crc32c.h"
#include "store/row.h"
#include "store/sqlite.h"

/* No block of so many bytes can be had. */
static size_t malloc_bound = SIZE_MAX;
static size_t realloc_bound = SIZE_MAX;
static bool no_threads;
static int threads; /* that were made */

/* The linker's names are reserved for it. */
#define NAMED(name) __asm__(name)
void *real_malloc(size_t bytes) NAMED("__real_malloc");
void *real_realloc(void *mem, size_t bytes) NAMED("__real_realloc");
int real_create(pthread_t *thread, const pthread_attr_t *attr,
		void *(*run)(void *), void *arg) NAMED("__real_pthread_create");
void *wrap_malloc(size_t bytes) NAMED("__wrap_malloc");
void *wrap_realloc(void *mem, size_t bytes) NAMED("__wrap_realloc");
int wrap_create(pthread_t *thread, const pthread_attr_t *attr,
		void *(*run)(void *), void *arg) NAMED("__wrap_pthread_create");

void *wrap_malloc(size_t bytes)
{
	return bytes < malloc_bound ? real_malloc(bytes) : NULL;
}

void *wrap_realloc(void *mem, size_t bytes)
{
	return bytes < realloc_bound ? real_realloc(mem, bytes) : NULL;
}

int wrap_create(pthread_t *thread, const pthread_attr_t *attr,
		void *(*run)(void *), void *arg)
{
	if (no_threads)
		return EAGAIN;
	threads++;
	return real_create(thread, attr, run, arg);
}

/* The check value of the catalogue of CRCs. */
static void test_store_checksum_is_crc32c(void **state)
{
	struct tkw__crc32c c;

	(void)state;
	tkw__crc32c_init(&c);
	assert_int_equal(tkw__crc32c(&c, 0, "123456789", 9), 0xe3069283);
	assert_int_equal(
		tkw__crc32c(&c, tkw__crc32c(&c, 0, "12345", 5), "6789", 4),
		0xe3069283);
}

/* With and without the processor's instruction, it is the same. */
static void test_store_checksum_by_tables(void **state)
{
	struct store_bed *b = *state;
	struct tkw__crc32c c, tables;
	uint8_t bytes[300] = { 0 };

	tkw__crc32c_init(&c);
	tables = c;
	tables.by_instruction = false;
	for (int i = 0; i < 3000; i++) {
		size_t len = bed_below(b, sizeof(bytes));
		size_t from = bed_below(b, len + 1);
		uint32_t seed = (uint32_t)bed_random(b);

		bytes[bed_below(b, sizeof(bytes))] = (uint8_t)bed_random(b);
		assert_int_equal(
			tkw__crc32c(&c, seed, bytes + from, len - from),
			tkw__crc32c(&tables, seed, bytes + from, len - from));
	}
	assert_int_equal(tkw__crc32c(&tables, 0, "123456789", 9), 0xe3069283);
}

/* Each kind of record, with all fields: columns and back. */
static void test_store_columns_hold_each_record(void **state)
{
	struct store_bed *b = *state;
	struct tkw__row_room room = { NULL, 0 };
	struct tkw__crc32c crc;

	tkw__crc32c_init(&crc);
	for (int i = 0; i < 20000; i++) {
		struct tkw__columns c;
		struct tkw__row back;
		struct tkw__row row = { .seq = bed_random(b) >> 1, .queue = 7 };

		tkw__queue_log_clear(&b->log);
		bed_make(b, bed_kind((uint64_t)i));
		row.record = b->log.bytes;
		row.len = b->log.len;
		assert_int_equal(tkw__row_pack(&crc, &row, &c), 0);
		assert_true(c.more.len <= TKW__ROW_MORE);
		assert_int_equal(tkw__row_unpack(&crc, &c, &room, &back), 0);
		assert_int_equal(back.len, row.len);
		assert_memory_equal(back.record, row.record, row.len);
		c.seq++;
		assert_int_equal(tkw__row_unpack(&crc, &c, &room, &back),
				 -EBADMSG);
	}
	free(room.bytes);
}

/* An ack is the most frequent row. It must stay small. */
static void test_store_ack_needs_only_a_checksum(void **state)
{
	struct store_bed *b = *state;
	struct tkw__record r = { .kind = TKW__RECORD_ACK, .id = 5 };
	struct tkw__crc32c crc;
	struct tkw__columns c;
	struct tkw__row row = { .seq = 1, .queue = 1 };

	tkw__crc32c_init(&crc);
	assert_int_equal(tkw__record_write(b->heart, &b->log, &r), 0);
	row.record = b->log.bytes;
	row.len = b->log.len;
	assert_int_equal(tkw__row_pack(&crc, &row, &c), 0);
	assert_int_equal(c.more.len, 4);
	assert_true(c.due < 0 && c.until < 0 && c.attempts < 0);
}

static void test_store_replays_what_was_appended(void **state)
{
	struct store_bed *b = *state;

	assert_int_equal(bed_open(b), 0);
	bed_check(b);
	for (int i = 0; i < 200; i++)
		assert_int_equal(bed_append(b, 1 + bed_below(b, 40)), 0);
	bed_close(b);
	assert_int_equal(bed_open(b), 0);
	bed_check(b);
	assert_int_equal(bed_append(b, 3), 0);
	bed_close(b);
	assert_int_equal(bed_open(b), 0);
	bed_check(b);
}

/* SPEC 11.21: after a close there is only the file, and it is whole. */
static void test_store_close_leaves_one_file(void **state)
{
	struct store_bed *b = *state;
	static const char *const beside[] = { "-wal", "-shm", "-journal" };

	assert_int_equal(bed_open(b), 0);
	assert_int_equal(bed_append(b, 100), 0);
	bed_close(b);
	for (int i = 0; i < 3; i++)
		assert_null(bed_load(b, beside[i]).bytes);
	assert_int_equal(bed_open(b), 0);
	bed_check(b);
}

/* A record in the middle is not one: nothing of the batch is there. */
static void test_store_illegal_batch_leaves_nothing(void **state)
{
	struct store_bed *b = *state;
	static const uint8_t junk[16] = { 16 };
	struct tkw__row rows[3] = { { .queue = 1 }, { .queue = 1 } };
	uint64_t last;

	assert_int_equal(bed_open(b), 0);
	assert_int_equal(bed_append(b, 2), 0);
	tkw__queue_log_clear(&b->log);
	bed_make(b, TKW__RECORD_ACK);
	for (int i = 0; i < 3; i++) {
		rows[i].record = i == 1 ? junk : b->log.bytes;
		rows[i].len = i == 1 ? sizeof(junk) : b->log.len;
	}
	assert_int_equal(b->s->ops->append(b->s, rows, 3, &last), -EINVAL);
	assert_int_equal(bed_append(b, 2), 0);
	bed_check(b);
}

static int see_name(const struct tkw__row *row, void *ctx)
{
	char *names = ctx;

	assert_non_null(row->name);
	assert_int_equal(row->seq, 0);
	sprintf(names + strlen(names), "%u=%s ", row->queue, row->name);
	return 0;
}

static void test_store_names_survive(void **state)
{
	struct store_bed *b = *state;
	struct tkw__row rows[] = { { .queue = 1, .name = "default" },
				   { .queue = 2, .name = "\xc3\xa4 b" } };
	struct tkw__base base;
	char names[64] = "";
	uint64_t last;

	assert_int_equal(bed_open(b), 0);
	assert_int_equal(b->s->ops->append(b->s, rows, 2, &last), 0);
	assert_int_equal(last, 0);
	/* A snapshot names them again. */
	assert_int_equal(b->s->ops->append(b->s, rows, 2, &last), 0);
	bed_close(b);
	assert_int_equal(bed_open(b), 0);
	assert_int_equal(b->s->ops->replay(b->s, see_name, &base, names), 0);
	assert_string_equal(names, "1=default 2=\xc3\xa4 b ");
}

static int stop_at_three(const struct tkw__row *row, void *ctx)
{
	(void)ctx;
	return row->seq == 3 ? -ECANCELED : 0;
}

static void test_store_replay_stops_when_told(void **state)
{
	struct store_bed *b = *state;
	struct tkw__base base;

	assert_int_equal(bed_open(b), 0);
	assert_int_equal(bed_append(b, 5), 0);
	assert_int_equal(b->s->ops->replay(b->s, stop_at_three, &base, NULL),
			 -ECANCELED);
	bed_check(b);
}

/* --- a long journal is read on a second thread ---------------------------- */

static void make_long_journal(struct store_bed *b)
{
	assert_int_equal(bed_open(b), 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(bed_append(b, 1000), 0);
	bed_close(b);
}

/* Its rows need many blocks. */
static void test_store_replays_a_long_journal(void **state)
{
	struct store_bed *b = *state;
	struct tkw__base base;

	make_long_journal(b);
	assert_int_equal(bed_open(b), 0);
	threads = 0;
	bed_check(b);
	assert_int_equal(threads, 1);
	bed_close(b);
	assert_int_equal(bed_open(b), 0);
	assert_int_equal(b->s->ops->replay(b->s, stop_at_three, &base, NULL),
			 -ECANCELED);
	bed_close(b);
}

/* If there can be no thread, or no memory for blocks, one thread does it. */
static void test_store_replays_a_long_journal_on_one_thread(void **state)
{
	struct store_bed *b = *state;

	make_long_journal(b);
	no_threads = true;
	assert_int_equal(bed_open(b), 0);
	bed_check(b);
	no_threads = false;
	bed_close(b);
	assert_int_equal(bed_open(b), 0);
	threads = 0;
	malloc_bound = 1 << 17;
	bed_check(b);
	malloc_bound = SIZE_MAX;
	assert_int_equal(threads, 0);
}

/* Changes a row behind the back of the store. */
static void damage_row(struct store_bed *b, int seq)
{
	char sql[80];
	sqlite3 *db;

	snprintf(sql, sizeof(sql),
		 "UPDATE journal SET queue = queue + 1 WHERE seq = %d", seq);
	assert_int_equal(sqlite3_open(b->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int refuse_three(const struct tkw__row *row, void *ctx)
{
	(void)ctx;
	return row->seq == 3 ? -EBADMSG : 0;
}

/* The reader is ahead of the other thread. Of two errors, that of the first row
 * counts, and so does its sentence. */
static void test_store_names_the_first_error_of_a_long_journal(void **state)
{
	struct store_bed *b = *state;
	struct tkw__base base;
	struct bed_rows r;

	make_long_journal(b);
	damage_row(b, 15000);
	assert_int_equal(bed_open(b), 0);
	threads = 0;
	assert_int_equal(bed_replay(b, &r), -EBADMSG);
	assert_int_equal(threads, 1);
	assert_int_equal(r.count, 14999);
	bed_rows_free(&r);
	assert_string_equal(b->s->why,
			    "damaged row of the journal, number 15000");
	bed_close(b);
	damage_row(b, 5);
	assert_int_equal(bed_open(b), 0);
	assert_int_equal(b->s->ops->replay(b->s, refuse_three, &base, NULL),
			 -EBADMSG);
	assert_string_equal(b->s->why, "");
	bed_close(b);
}

enum {
	CONVEYED = 3000,
	NEVER = -1
};

/* Rows whose contents follow from their numbers. */
struct convey {
	int reads;   /* so many rows are there */
	int fails;   /* the row at which the reader fails */
	int stops;   /* the row at which the other one fails */
	int applied; /* so many have arrived */
	pthread_t applier;
};

static size_t conveyed_len(int i)
{
	return i % 500 == 499 ? 200000 : 16 + (size_t)(i * 7 % 300);
}

static int read_conveyed(void *arg, tkw__row_fn *fn, void *ctx)
{
	static uint8_t bytes[200000];
	struct convey *c = arg;
	int err = 0;

	for (int i = 0; i < c->reads && !err; i++) {
		struct tkw__row row = { .seq = (uint64_t)i,
					.queue = (uint32_t)i % 5,
					.record = bytes,
					.len = conveyed_len(i) };

		memset(bytes, i, row.len);
		/* A record begins with its length. */
		for (int k = 0; k < 4; k++)
			bytes[k] = (uint8_t)(row.len >> 8 * k);
		err = i == c->fails ? -EIO : fn(&row, ctx);
	}
	return err;
}

static int apply_conveyed(const struct tkw__row *row, void *ctx)
{
	struct convey *c = ctx;
	int i = c->applied++;

	assert_true(pthread_equal(pthread_self(), c->applier));
	assert_int_equal(row->seq, i);
	assert_int_equal(row->queue, i % 5);
	assert_int_equal(row->len, conveyed_len(i));
	assert_int_equal(row->record[4], (uint8_t)i);
	assert_int_equal(row->record[row->len - 1], (uint8_t)i);
	return i == c->stops ? -ECANCELED : 0;
}

static void test_store_conveyor_brings_all_rows_in_order(void **state)
{
	static const struct {
		int reads, fails, stops, result;
	} runs[] = {
		{ CONVEYED, NEVER, NEVER, 0 },
		{ 0, NEVER, NEVER, 0 },
		{ 1, NEVER, NEVER, 0 },
		{ CONVEYED, 0, NEVER, -EIO },
		{ CONVEYED, CONVEYED / 2, NEVER, -EIO },
		{ CONVEYED, NEVER, 0, -ECANCELED },
		{ CONVEYED, NEVER, CONVEYED / 2, -ECANCELED },
		{ CONVEYED, NEVER, CONVEYED - 1, -ECANCELED },
		{ CONVEYED, CONVEYED - 1, CONVEYED - 2, -ECANCELED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct convey c = { .reads = runs[i].reads,
				    .fails = runs[i].fails,
				    .stops = runs[i].stops,
				    .applier = pthread_self() };

		/* A row that is larger than a block needs no memory. */
		malloc_bound = realloc_bound = 150000;
		assert_int_equal(
			tkw__convey(read_conveyed, &c, apply_conveyed, &c),
			runs[i].result);
		malloc_bound = realloc_bound = SIZE_MAX;
		if (c.stops != NEVER)
			assert_int_equal(c.applied, c.stops + 1);
		else
			assert_int_equal(c.applied,
					 c.fails == NEVER ? c.reads : c.fails);
	}
}

/* Rows before the base are removed piece by piece; those from it on stay. */
static void test_store_compacts_in_pieces(void **state)
{
	struct store_bed *b = *state;
	struct tkw__base base = { 701, 900 };
	uint64_t before;
	int pieces = 0;

	assert_int_equal(bed_open(b), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(bed_append(b, 10), 0);
	before = b->s->bytes;
	while (b->s->ops->compact(b->s, &base, 64) == 1)
		pieces++;
	assert_int_equal(pieces, 10);
	assert_true(b->s->bytes < before);
	bed_check(b);
	assert_int_equal(bed_append(b, 10), 0);
	bed_close(b);
	assert_int_equal(bed_open(b), 0);
	bed_check(b);
}

enum {
	OLD = 20000, /* rows that go, more than are deleted at once */
	NEW = 100
};

static void make_old_rows(struct store_bed *b)
{
	assert_int_equal(bed_open(b), 0);
	for (int i = 0; i < OLD / 1000; i++)
		assert_int_equal(bed_append(b, 1000), 0);
	assert_int_equal(bed_append(b, NEW), 0);
}

static void check_compacted(struct store_bed *b)
{
	bed_check(b);
	assert_int_equal(tkw__sqlite_of(b->s)->lowest, OLD + 1);
	assert_int_equal(bed_append(b, 10), 0);
	bed_close(b);
	assert_int_equal(bed_open(b), 0);
	bed_check(b);
	assert_int_equal(tkw__sqlite_of(b->s)->lowest, OLD + 1);
	assert_int_equal(bed_append(b, 10), 0);
	bed_check(b);
}

/* If few rows stay, all others go at once, and their pages are not written. */
static void test_store_compacts_at_once_if_few_rows_stay(void **state)
{
	struct store_bed *b = *state;
	struct tkw__base base = { OLD + 1, OLD + NEW };
	struct tkw__sqlite *s;
	uint64_t pages;
	int frames;

	make_old_rows(b);
	bed_close(b);
	assert_int_equal(bed_open(b), 0);
	s = tkw__sqlite_of(b->s);
	pages = b->s->bytes / 2048;
	assert_int_equal(b->s->ops->compact(b->s, &base, UINT64_MAX), 0);
	frames = s->frames;
	print_message("%d of %d pages were written\n", frames, (int)pages);
	assert_true(frames > 0 && (uint64_t)frames < pages / 50);
	assert_true(b->s->bytes < pages * 2048 / 50);
	assert_true(b->s->spare > pages * 2048 / 50 * 49);
	check_compacted(b);
}

/* If much stays, or if there is no memory to keep it, it is done in pieces. */
static void test_store_compacts_in_pieces_if_much_stays(void **state)
{
	struct store_bed *b = *state;
	struct tkw__base half = { OLD / 2, OLD };
	struct tkw__base base = { OLD + 1, OLD + NEW };

	make_old_rows(b);
	assert_int_equal(b->s->ops->compact(b->s, &half, UINT64_MAX), 1);
	assert_int_equal(tkw__sqlite_of(b->s)->lowest, 4097);
	assert_int_equal(b->s->ops->compact(b->s, &half, UINT64_MAX), 1);
	assert_int_equal(b->s->ops->compact(b->s, &half, UINT64_MAX), 0);
	assert_int_equal(tkw__sqlite_of(b->s)->lowest, OLD / 2);
	bed_check(b);
	realloc_bound = 4096;
	assert_int_equal(b->s->ops->compact(b->s, &base, UINT64_MAX), 1);
	realloc_bound = SIZE_MAX;
	while (b->s->ops->compact(b->s, &base, UINT64_MAX) == 1)
		;
	check_compacted(b);
}

/* A row that stays is damaged: it is not written again as if it were sound. */
static void test_store_does_not_compact_damaged_rows(void **state)
{
	struct store_bed *b = *state;
	struct tkw__base base = { OLD + 1, OLD + NEW };
	struct bed_rows r;

	make_old_rows(b);
	bed_close(b);
	assert_int_equal(bed_open(b), 0);
	damage_row(b, OLD + 5);
	assert_int_equal(b->s->ops->compact(b->s, &base, UINT64_MAX), -EIO);
	bed_close(b);
	assert_int_equal(bed_open(b), 0);
	assert_int_equal(bed_replay(b, &r), -EBADMSG);
	assert_int_equal(r.count, OLD + 4);
	bed_rows_free(&r);
}

/* A compaction that was cut off goes on after a reopen. */
static void test_store_compaction_goes_on(void **state)
{
	struct store_bed *b = *state;
	struct tkw__base base = { 90, 100 };
	struct bed_rows r;

	assert_int_equal(bed_open(b), 0);
	assert_int_equal(bed_append(b, 100), 0);
	assert_int_equal(b->s->ops->compact(b->s, &base, 10), 1);
	bed_close(b);
	assert_int_equal(bed_open(b), 0);
	assert_int_equal(bed_replay(b, &r), 0);
	assert_int_equal(r.base.first, 90);
	assert_int_equal(r.base.whole, 100);
	assert_int_equal(r.count, 11);
	bed_rows_free(&r);
	assert_int_equal(b->s->ops->compact(b->s, &base, 78), 1);
	assert_int_equal(b->s->ops->compact(b->s, &base, 10), 0);
	assert_int_equal(b->s->ops->compact(b->s, &base, 10), 0);
	bed_check(b);
}

/* Even if no row counts any more, the numbers go on. */
static void test_store_numbers_go_on_when_all_is_compacted(void **state)
{
	struct store_bed *b = *state;
	struct tkw__base base = { 11, 10 };

	assert_int_equal(bed_open(b), 0);
	assert_int_equal(bed_append(b, 10), 0);
	assert_int_equal(b->s->ops->compact(b->s, &base, 100), 0);
	bed_close(b);
	assert_int_equal(bed_open(b), 0);
	bed_check(b);
	assert_int_equal(bed_append(b, 2), 0);
	bed_check(b);
}

static void test_store_refuses_a_base_that_cannot_be(void **state)
{
	struct store_bed *b = *state;
	struct tkw__base ahead = { 12, 10 };
	struct tkw__base far = { 5, 11 };
	struct tkw__base base = { 5, 10 };
	struct tkw__base back = { 4, 10 };

	assert_int_equal(bed_open(b), 0);
	assert_int_equal(bed_append(b, 10), 0);
	assert_int_equal(b->s->ops->compact(b->s, &ahead, 1), -EINVAL);
	assert_int_equal(b->s->ops->compact(b->s, &far, 1), -EINVAL);
	assert_int_equal(b->s->ops->compact(b->s, &base, 100), 0);
	assert_int_equal(b->s->ops->compact(b->s, &back, 1), -EINVAL);
	bed_check(b);
}

/* Payloads larger than a page, and one of a MiB. */
static void test_store_holds_large_payloads(void **state)
{
	struct store_bed *b = *state;
	uint8_t *bytes = calloc(1, 1 << 20);

	assert_non_null(bytes);
	assert_int_equal(bed_open(b), 0);
	for (size_t len = 1; len <= 1 << 20; len = len * 2 + len / 7) {
		struct tkw__record r = { .kind = TKW__RECORD_PUT,
					 .id = len,
					 .payload = { bytes, len } };
		struct tkw__row row = { .queue = 1 };
		struct bed_rows got;
		uint64_t last;

		bytes[len - 1] = 7;
		tkw__queue_log_clear(&b->log);
		assert_int_equal(tkw__record_write(b->heart, &b->log, &r), 0);
		row.record = b->log.bytes;
		row.len = b->log.len;
		assert_int_equal(b->s->ops->append(b->s, &row, 1, &last), 0);
		assert_int_equal(bed_replay(b, &got), 0);
		assert_int_equal(got.row[last - 1].len, row.len);
		assert_memory_equal(got.row[last - 1].bytes, row.record,
				    row.len);
		bed_rows_free(&got);
	}
	free(bytes);
}

/* The other durability has the same contents. */
static void test_store_without_syncs(void **state)
{
	struct store_bed *b = *state;

	b->to_system = true;
	assert_int_equal(bed_open(b), 0);
	for (int i = 0; i < 50; i++)
		assert_int_equal(bed_append(b, 20), 0);
	bed_close(b);
	b->to_system = false;
	assert_int_equal(bed_open(b), 0);
	bed_check(b);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, store_bed_begin, store_bed_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_store_checksum_is_crc32c),
		TEST(test_store_checksum_by_tables),
		TEST(test_store_columns_hold_each_record),
		TEST(test_store_ack_needs_only_a_checksum),
		TEST(test_store_replays_what_was_appended),
		TEST(test_store_close_leaves_one_file),
		TEST(test_store_illegal_batch_leaves_nothing),
		TEST(test_store_names_survive),
		TEST(test_store_replay_stops_when_told),
		TEST(test_store_replays_a_long_journal),
		TEST(test_store_replays_a_long_journal_on_one_thread),
		TEST(test_store_names_the_first_error_of_a_long_journal),
		TEST(test_store_conveyor_brings_all_rows_in_order),
		TEST(test_store_compacts_in_pieces),
		TEST(test_store_compacts_at_once_if_few_rows_stay),
		TEST(test_store_compacts_in_pieces_if_much_stays),
		TEST(test_store_does_not_compact_damaged_rows),
		TEST(test_store_compaction_goes_on),
		TEST(test_store_numbers_go_on_when_all_is_compacted),
		TEST(test_store_refuses_a_base_that_cannot_be),
		TEST(test_store_holds_large_payloads),
		TEST(test_store_without_syncs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
