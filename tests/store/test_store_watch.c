/* SPDX-License-Identifier: MIT */
/*
 * test_store_watch.c - what other programs see while the file is open: the view
 * `item`, and SQLite's online backup.
 */
#include "store_bed.h"

#include <inttypes.h>
#include <pthread.h>
#include <sqlite3.h>

#include "store/sqlite.h"

enum {
	LONG_AGO = 1000, /* ms; ready */
	ITEMS = 40
};

#define FAR UINT64_C(9000000000000) /* ms; in the year 2255 */
#define NOW UINT64_C(10000000)      /* us; the heart's */

static sqlite3 *connect(const struct store_bed *b)
{
	sqlite3 *db;

	assert_int_equal(
		sqlite3_open_v2(b->path, &db, SQLITE_OPEN_READONLY, NULL),
		SQLITE_OK);
	return db;
}

/* --- the view against the heart ------------------------------------------- */

/* What the heart has, as lines of text, sorted by id. */
struct lines {
	char text[ITEMS * 16][256];
	size_t count;
};

static void see_facts(const struct tkw__queue_facts *f, void *ctx)
{
	/* The view goes by the clock of the system. */
	const char *state = f->state == TKW__QUEUE_IS_TAKEN  ? "taken"
			    : f->state == TKW__QUEUE_IS_DEAD ? "dead"
			    : f->due_ms < FAR                ? "ready"
							     : "waiting";
	struct lines *l = ctx;
	uint64_t until = f->lease_ms + f->died_ms;

	snprintf(l->text[l->count++], sizeof(*l->text),
		 "%020" PRIu64 " %s %" PRIu64 " %" PRIu64
		 " %u key=%.*s payload=%.*s reason=%.*s",
		 f->id, state, f->due_ms, until, f->attempts, (int)f->key.len,
		 f->key.len ? (const char *)f->key.at : "", (int)f->payload.len,
		 f->payload.len ? (const char *)f->payload.at : "",
		 (int)f->reason.len,
		 f->reason.len ? (const char *)f->reason.at : "");
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void list_heart(struct store_bed *b, struct lines *l)
{
	struct tkw__queue_list list = { .now_us = NOW,
					.state = TKW__QUEUE_STATES,
					.max = 100,
					.visit = see_facts,
					.ctx = l };
	uint64_t cursor = 0;

	l->count = 0;
	do
		cursor = tkw__queue_list(b->heart, &list, cursor);
	while (cursor);
	qsort(l->text, l->count, sizeof(*l->text), compare);
}

static const char *text_or_empty(sqlite3_stmt *stmt, int i)
{
	const char *text = (const char *)sqlite3_column_text(stmt, i);

	return text ? text : "";
}

static void check_view(struct store_bed *b)
{
	struct lines *l = calloc(1, sizeof(*l));
	sqlite3 *db = connect(b);
	sqlite3_stmt *stmt;
	size_t n = 0;
	char line[256];

	assert_non_null(l);
	list_heart(b, l);
	assert_int_equal(
		sqlite3_prepare_v2(db,
				   "SELECT id, state, due_ms, until_ms, "
				   "attempts, key, payload, reason, queue, due "
				   "FROM item ORDER BY id",
				   -1, &stmt, NULL),
		SQLITE_OK);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		snprintf(line, sizeof(line),
			 "%020lld %s %lld %lld %d key=%s payload=%s reason=%s",
			 (long long)sqlite3_column_int64(stmt, 0),
			 text_or_empty(stmt, 1),
			 (long long)sqlite3_column_int64(stmt, 2),
			 (long long)sqlite3_column_int64(stmt, 3),
			 sqlite3_column_int(stmt, 4), text_or_empty(stmt, 5),
			 text_or_empty(stmt, 6), text_or_empty(stmt, 7));
		assert_true(n < l->count);
		assert_string_equal(line, l->text[n]);
		assert_string_equal(text_or_empty(stmt, 8), "default");
		assert_non_null(strstr(text_or_empty(stmt, 9), "Z"));
		n++;
	}
	assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
	assert_int_equal(n, l->count);
	sqlite3_close(db);
	free(l);
}

/* Appends the records of the log. */
static uint64_t append_log(struct store_bed *b)
{
	struct tkw__row rows[64] = { { 0 } };
	uint64_t last = 0;
	size_t count = 0;
	size_t at = 0;

	while (at < b->log.len) {
		struct tkw__record r;
		int64_t len = tkw__record_read(&r, b->log.bytes + at,
					       b->log.len - at);

		assert_true(len > 0 && count < 64);
		rows[count].queue = 1;
		rows[count].record = b->log.bytes + at;
		rows[count++].len = (size_t)len;
		at += (size_t)len;
	}
	if (count)
		assert_int_equal(b->s->ops->append(b->s, rows, count, &last),
				 0);
	tkw__queue_log_clear(&b->log);
	tkw__queue_commit(b->heart);
	return last;
}

static void put_one(struct store_bed *b, struct tkw__queue_call *call, int n)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	char key[16];
	uint64_t id;
	struct tkw__queue_put p = {
		.when = { true, (int64_t)(bed_below(b, 2) ? LONG_AGO : FAR) +
					(int64_t)bed_below(b, 500) },
		.payload = { letters, bed_below(b, 20) },
		.held = TKW__QUEUE_REPLACE,
		.max_attempts = (uint32_t)bed_below(b, 3),
		.backoff_ms = (uint32_t)bed_below(b, 2) * 100,
	};

	if (bed_below(b, 2)) {
		snprintf(key, sizeof(key), "k%d", n % 9);
		p.key = (struct tkw__queue_text){ key, strlen(key) };
	}
	(void)tkw__queue_put(b->heart, call, &p, 1, &id);
}

static void nack_one(struct store_bed *b, struct tkw__queue_call *call,
		     struct tkw__queue_claims *claims)
{
	struct tkw__queue_nack how = { false, 0, { "not now", 7 } };

	if (bed_below(b, 2))
		how.reason.len = 0;
	assert_int_equal(tkw__queue_nack(b->heart, call, claims, &how), 0);
}

static void reschedule_one(struct store_bed *b, struct tkw__queue_call *call,
			   int n)
{
	struct tkw__queue_name name = { .id = NOW +
					      bed_below(b, (uint64_t)n + 9) };
	struct tkw__queue_when when = { true, LONG_AGO };
	enum tkw__queue_answer answer;

	(void)tkw__queue_reschedule(b->heart, call, &name, when, &answer);
}

/* A plan, whose items are due at once or later. */
static void plan_one(struct store_bed *b, struct tkw__queue_call *call, int n)
{
	struct tkw__queue_plan p = {
		.name = { n & 1 ? "day" : "night", n & 1 ? 3 : 5 },
		.plan = { "each second", 11 },
		.payload = { "work", bed_below(b, 5) },
		.grace_ms = TKW__QUEUE_MAX_MS,
		.allow_overlap = true,
		.max_attempts = (uint32_t)bed_below(b, 3),
	};

	call->now_us = (bed_below(b, 2) ? LONG_AGO : FAR) * UINT64_C(1000);
	assert_int_equal(tkw__queue_plan(b->heart, call, &p, NULL), 0);
}

/* One random command. The leases of some takes are over at once. */
static void command(struct store_bed *b, int n)
{
	struct tkw__queue_call call = { .now_us = NOW, .log = &b->log };
	struct tkw__queue_walk walk = { 0, 0, 0 };
	struct tkw__queue_taken taken;
	struct tkw__queue_claim claim;
	enum tkw__queue_answer answer;
	struct tkw__queue_claims claims = { &claim, 1, &answer };

	switch (bed_below(b, 10)) {
	case 9:
		plan_one(b, &call, n);
		break;
	case 8:
		reschedule_one(b, &call, n);
		break;
	case 0:
		if (tkw__queue_take(b->heart, &call, 1, 600000, &taken) != 1)
			break;
		claim = (struct tkw__queue_claim){ taken.id, taken.token };
		if (bed_below(b, 3) == 0)
			break;
		if (bed_below(b, 3) == 0)
			(void)tkw__queue_extend(b->heart, &call, &claims, 9999);
		else if (bed_below(b, 3) == 0)
			(void)tkw__queue_ack(b->heart, &call, &claims);
		else
			nack_one(b, &call, &claims);
		break;
	case 1:
		if (tkw__queue_take(b->heart, &call, 1, 1, &taken) == 1) {
			call.now_us += 2000;
			(void)tkw__queue_advance(b->heart, &call, 100,
						 TKW__QUEUE_MASTER);
		}
		break;
	case 2:
		(void)tkw__queue_revive_some(b->heart, &call, &walk, 1);
		break;
	case 3:
		if (n % 5 == 0)
			(void)tkw__queue_purge_some(b->heart, &call, &walk, 1);
		break;
	default:
		put_one(b, &call, n);
	}
}

static void begin_view(struct store_bed *b)
{
	struct tkw__row name = { .queue = 1, .name = "default" };
	uint64_t last;

	assert_int_equal(bed_open(b), 0);
	assert_int_equal(b->s->ops->append(b->s, &name, 1, &last), 0);
}

static void test_store_view_shows_live_items(void **state)
{
	struct store_bed *b = *state;

	begin_view(b);
	check_view(b);
	for (int n = 0; n < 400; n++) {
		command(b, n);
		append_log(b);
		if (n % 10 == 0)
			check_view(b);
	}
	check_view(b);
}

struct dump {
	uint64_t ids[ITEMS * 16];
	size_t count;
};

static void note_id(const struct tkw__queue_facts *f, void *ctx)
{
	struct dump *d = ctx;

	d->ids[d->count++] = f->id;
}

/* Copies all items forward, with commands between them; then the old rows
 * go. */
static void test_store_view_after_a_snapshot(void **state)
{
	struct store_bed *b = *state;
	struct dump *d = calloc(1, sizeof(*d));
	struct tkw__queue_list list = { .now_us = NOW,
					.state = TKW__QUEUE_STATES,
					.max = 1000,
					.visit = note_id,
					.ctx = d };
	struct tkw__base base = { 0 };
	uint64_t cursor = 0;

	assert_non_null(d);
	begin_view(b);
	for (int n = 0; n < 200; n++) {
		command(b, n);
		append_log(b);
	}
	command(b, 1);
	put_one(b, &(struct tkw__queue_call){ .now_us = NOW, .log = &b->log },
		1);
	base.first = append_log(b) + 1;
	do
		cursor = tkw__queue_list(b->heart, &list, cursor);
	while (cursor);
	for (size_t i = 0; i < d->count; i++) {
		(void)tkw__queue_dump_item(b->heart, d->ids[i], &b->log);
		append_log(b);
		command(b, (int)i);
		append_log(b);
	}
	bed_make(b, TKW__RECORD_PAUSE);
	base.whole = append_log(b);
	check_view(b);
	while (b->s->ops->compact(b->s, &base, 50) == 1)
		check_view(b);
	check_view(b);
	free(d);
}

/* --- backup --------------------------------------------------------------- */

/* The copy is a store with all that was there when it was finished. */
static void test_store_backup_while_running(void **state)
{
	struct store_bed *b = *state;
	char live[160];
	sqlite3 *from, *to;
	sqlite3_backup *backup;
	struct bed_rows r;
	size_t less = 0;

	assert_int_equal(bed_open(b), 0);
	for (int n = 0; n < 50; n++)
		assert_int_equal(bed_append(b, 20), 0);
	snprintf(live, sizeof(live), "%s", b->path);
	from = connect(b);
	snprintf(b->path, sizeof(b->path), "%s/copy", b->dir);
	assert_int_equal(sqlite3_open(b->path, &to), SQLITE_OK);
	backup = sqlite3_backup_init(to, "main", from, "main");
	assert_non_null(backup);
	for (int n = 0; n < 5; n++) {
		assert_int_equal(sqlite3_backup_step(backup, 3), SQLITE_OK);
		assert_int_equal(bed_append(b, 10), 0);
	}
	assert_int_equal(sqlite3_backup_step(backup, -1), SQLITE_DONE);
	assert_int_equal(bed_append(b, 15), 0);
	less = 15;
	assert_int_equal(sqlite3_backup_finish(backup), SQLITE_OK);
	assert_int_equal(sqlite3_close(from), SQLITE_OK);
	assert_int_equal(sqlite3_close(to), SQLITE_OK);
	bed_check(b);
	bed_close(b);
	assert_int_equal(bed_open(b), 0); /* the copy */
	assert_int_equal(bed_replay(b, &r), 0);
	assert_true(bed_is_equal(b, &r, less));
	bed_rows_free(&r);
	bed_close(b);
	snprintf(b->path, sizeof(b->path), "%s", live);
}

struct writer {
	struct store_bed *bed;
	pthread_t thread;
	bool stop; /* atomic */
	bool failed;
};

static void *keep_writing(void *arg)
{
	struct writer *w = arg;

	do
		w->failed = w->failed || bed_append(w->bed, 10) != 0;
	while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED));
	return NULL;
}

/* As docs/queue.md says: the copy is made in one go, however much is written
 * meanwhile. */
static void test_store_vacuum_into_under_load(void **state)
{
	struct store_bed *b = *state;
	struct writer w = { .bed = b };
	struct bed_rows r;
	size_t before;
	char sql[256], live[160];
	sqlite3 *db;

	assert_int_equal(bed_open(b), 0);
	for (int n = 0; n < 50; n++)
		assert_int_equal(bed_append(b, 20), 0);
	before = b->wrote.count;
	db = connect(b);
	assert_int_equal(pthread_create(&w.thread, NULL, keep_writing, &w), 0);
	snprintf(sql, sizeof(sql), "VACUUM INTO '%s/copy'", b->dir);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	__atomic_store_n(&w.stop, true, __ATOMIC_RELAXED);
	pthread_join(w.thread, NULL);
	assert_false(w.failed);
	sqlite3_close(db);
	bed_check(b);
	bed_close(b);
	snprintf(live, sizeof(live), "%s", b->path);
	snprintf(b->path, sizeof(b->path), "%s/copy", b->dir);
	assert_int_equal(bed_open(b), 0);
	assert_int_equal(bed_replay(b, &r), 0);
	assert_true(r.count >= before);
	assert_true(bed_is_equal(b, &r, b->wrote.count - r.count));
	bed_rows_free(&r);
	bed_close(b);
	snprintf(b->path, sizeof(b->path), "%s", live);
}

/* A log that has grown is cut when the reader has gone. */
static void test_store_log_shrinks_after_a_long_reader(void **state)
{
	enum {
		LARGE = 9 << 20
	};
	struct store_bed *b = *state;
	struct bed_file log = { NULL, 0 };
	sqlite3 *db;

	assert_int_equal(bed_open(b), 0);
	assert_int_equal(bed_append(b, 20), 0);
	db = connect(b);
	assert_int_equal(sqlite3_exec(db, "BEGIN; SELECT count(*) FROM journal",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	for (int n = 0; n < 400 && log.len <= LARGE; n++) {
		assert_int_equal(bed_append(b, 100), 0);
		free(log.bytes);
		log = bed_load(b, "-wal");
	}
	assert_true(log.len > LARGE);
	free(log.bytes);
	sqlite3_close(db);
	tkw__sqlite_of(b->s)->next = 1;
	assert_int_equal(bed_append(b, 1), 0); /* and a checkpoint */
	assert_int_equal(bed_append(b, 1), 0); /* from the beginning again */
	log = bed_load(b, "-wal");
	assert_true(log.len <= 8 << 20);
	free(log.bytes);
	bed_check(b);
}

/* A reader that stays keeps the log from being started again, but nothing
 * else. */
static void test_store_goes_on_under_a_reader(void **state)
{
	struct store_bed *b = *state;
	sqlite3 *db;

	assert_int_equal(bed_open(b), 0);
	assert_int_equal(bed_append(b, 20), 0);
	db = connect(b);
	assert_int_equal(sqlite3_exec(db, "BEGIN; SELECT count(*) FROM journal",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	tkw__sqlite_of(b->s)->limit = 20;
	tkw__sqlite_of(b->s)->next = 20;
	for (int n = 0; n < 200; n++)
		assert_int_equal(bed_append(b, 5), 0);
	bed_close(b);
	sqlite3_close(db);
	assert_int_equal(bed_open(b), 0);
	bed_check(b);
}

/* Another program that writes holds a batch up, and then refuses it. */
static void test_store_locked_by_a_writer(void **state)
{
	struct store_bed *b = *state;
	sqlite3 *db;

	assert_int_equal(bed_open(b), 0);
	assert_int_equal(bed_append(b, 20), 0);
	sqlite3_busy_timeout(tkw__sqlite_of(b->s)->db, 10);
	assert_int_equal(sqlite3_open(b->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(bed_append(b, 5), -EBUSY);
	assert_true(b->s->why[0] != 0);
	assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(bed_append(b, 5), 0);
	bed_check(b);
}

/* If it has added rows of its own, nothing more is added. */
static void test_store_notices_rows_of_others(void **state)
{
	struct store_bed *b = *state;
	sqlite3 *db;

	assert_int_equal(bed_open(b), 0);
	assert_int_equal(bed_append(b, 20), 0);
	assert_int_equal(sqlite3_open(b->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "INSERT INTO journal(queue) VALUES(1)",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(bed_append(b, 5), -EIO);
	assert_string_equal(b->s->why,
			    "another program has written to the journal");
	assert_int_equal(bed_append(b, 5), -EIO);
	/* Nobody is locked out. */
	assert_int_equal(sqlite3_open(b->path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db, "BEGIN IMMEDIATE; ROLLBACK", NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, store_bed_begin, store_bed_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_store_view_shows_live_items),
		TEST(test_store_view_after_a_snapshot),
		TEST(test_store_backup_while_running),
		TEST(test_store_vacuum_into_under_load),
		TEST(test_store_log_shrinks_after_a_long_reader),
		TEST(test_store_goes_on_under_a_reader),
		TEST(test_store_locked_by_a_writer),
		TEST(test_store_notices_rows_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
