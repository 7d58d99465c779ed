/* SPDX-License-Identifier: MIT */
/*
 * queue_rival_sqlite.c - a table in SQLite that is polled by SQL: what people
 * write if they need a delay queue and have a database.
 *
 * There is one connection behind a mutex. With a connection for each thread,
 * threads would wait for the file by sleeping, because a file has one writer.
 * A statement is prepared once. A taken item gets a due time after its lease,
 * so the table needs only one index.
 */
#include "queue_bench.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	POLL_US = 1000
};

enum statement {
	BEGIN,
	COMMIT,
	INSERT,
	TAKE,
	DELETE,
	STATEMENTS
};

static const char take_text[] =
	"UPDATE job SET due = ?1, takes = takes + 1 WHERE id IN"
	" (SELECT id FROM job WHERE due <= ?2 ORDER BY due LIMIT ?3)"
	" RETURNING id, takes, payload";

static const char *const texts[STATEMENTS] = {
	[BEGIN] = "BEGIN IMMEDIATE",
	[COMMIT] = "COMMIT",
	[INSERT] = "INSERT INTO job(due, payload) VALUES (?1, ?2)",
	[TAKE] = take_text,
	[DELETE] = "DELETE FROM job WHERE id = ?1 AND takes = ?2",
};

static struct {
	pthread_mutex_t lock;
	sqlite3 *db;
	sqlite3_stmt *statements[STATEMENTS];
} table;

static void must(int result)
{
	if (result != SQLITE_OK)
		rival_die(table.db ? sqlite3_errmsg(table.db)
				   : "SQLite cannot be opened");
}

static void execute(const char *sql)
{
	must(sqlite3_exec(table.db, sql, NULL, NULL, NULL));
}

static void open_table(const char *dir, bool sync)
{
	char path[QUEUE_DIR_MAX + 16];

	(void)snprintf(path, sizeof(path), "%s/jobs.db", dir);
	must(sqlite3_open_v2(path, &table.db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
				     SQLITE_OPEN_NOMUTEX,
			     NULL));
	execute("PRAGMA journal_mode = WAL");
	execute(sync ? "PRAGMA synchronous = FULL"
		     : "PRAGMA synchronous = OFF");
	execute("PRAGMA cache_size = -65536");
	execute("CREATE TABLE IF NOT EXISTS job(id INTEGER PRIMARY KEY,"
		" due INTEGER NOT NULL, takes INTEGER NOT NULL DEFAULT 0,"
		" payload BLOB NOT NULL)");
	execute("CREATE INDEX IF NOT EXISTS job_due ON job(due)");
	for (int i = 0; i < STATEMENTS; i++)
		must(sqlite3_prepare_v3(table.db, texts[i], -1,
					SQLITE_PREPARE_PERSISTENT,
					&table.statements[i], NULL));
	(void)pthread_mutex_init(&table.lock, NULL);
}

static void close_table(void)
{
	for (int i = 0; i < STATEMENTS; i++)
		(void)sqlite3_finalize(table.statements[i]);
	if (sqlite3_close(table.db) != SQLITE_OK)
		rival_die("SQLite cannot be closed");
	table.db = NULL;
	(void)pthread_mutex_destroy(&table.lock);
}

static void *caller_open(void)
{
	return &table;
}

static void caller_close(void *caller)
{
	(void)caller;
}

/* Runs a statement that returns no rows. */
static bool run(enum statement i)
{
	bool good = sqlite3_step(table.statements[i]) == SQLITE_DONE;

	(void)sqlite3_reset(table.statements[i]);
	return good;
}

static bool insert(const struct queue_put *put, int64_t now_ms)
{
	uint8_t payload[QUEUE_PAYLOAD];

	queue_payload_write(payload, put->number);
	(void)sqlite3_bind_int64(table.statements[INSERT], 1,
				 put->due_ms ? put->due_ms : now_ms);
	(void)sqlite3_bind_blob(table.statements[INSERT], 2, payload,
				QUEUE_PAYLOAD, SQLITE_STATIC);
	return run(INSERT);
}

static bool put(void *caller, const struct queue_put *puts, size_t n)
{
	int64_t now_ms = queue_wall_us() / 1000;
	bool good = true;

	(void)caller;
	(void)pthread_mutex_lock(&table.lock);
	if (n > 1)
		good = run(BEGIN);
	for (size_t i = 0; good && i < n; i++)
		good = insert(&puts[i], now_ms);
	if (n > 1)
		good = good && run(COMMIT);
	(void)pthread_mutex_unlock(&table.lock);
	return good;
}

static size_t take_ready(size_t max, struct queue_taken *out)
{
	sqlite3_stmt *s = table.statements[TAKE];
	int64_t now_ms = queue_wall_us() / 1000;
	size_t n = 0;
	int result;

	(void)pthread_mutex_lock(&table.lock);
	(void)sqlite3_bind_int64(s, 1, now_ms + QUEUE_LEASE_MS);
	(void)sqlite3_bind_int64(s, 2, now_ms);
	(void)sqlite3_bind_int64(s, 3, (int64_t)max);
	while ((result = sqlite3_step(s)) == SQLITE_ROW) {
		const void *payload = sqlite3_column_blob(s, 2);

		out[n].id = (uint64_t)sqlite3_column_int64(s, 0);
		out[n].token = (uint64_t)sqlite3_column_int64(s, 1);
		out[n].number = queue_payload_read(
			payload, (size_t)sqlite3_column_bytes(s, 2));
		n++;
	}
	/* Without rows, nothing was written. */
	if (result != SQLITE_DONE)
		rival_die(sqlite3_errmsg(table.db));
	(void)sqlite3_reset(s);
	(void)pthread_mutex_unlock(&table.lock);
	return n;
}

static size_t take(void *caller, size_t max, int64_t wait_ms,
		   struct queue_taken *out)
{
	int64_t end = rival_now() + wait_ms * RIVAL_MSEC;
	size_t n;

	(void)caller;
	while ((n = take_ready(max, out)) == 0 && rival_now() < end)
		rival_sleep_until(rival_now() + POLL_US * RIVAL_USEC);
	return n;
}

static bool delete_job(const struct queue_taken *t)
{
	(void)sqlite3_bind_int64(table.statements[DELETE], 1, (int64_t)t->id);
	(void)sqlite3_bind_int64(table.statements[DELETE], 2,
				 (int64_t)t->token);
	return run(DELETE) && sqlite3_changes(table.db) == 1;
}

static bool ack(void *caller, const struct queue_taken *taken, size_t n)
{
	bool good = true;

	(void)caller;
	(void)pthread_mutex_lock(&table.lock);
	if (n > 1)
		good = run(BEGIN);
	for (size_t i = 0; good && i < n; i++)
		good = delete_job(&taken[i]);
	if (n > 1)
		good = good && run(COMMIT);
	(void)pthread_mutex_unlock(&table.lock);
	return good;
}

const struct queue_entrant queue_sqlite = {
	.name = "sqlite_polled",
	.keeps = true,
	.open = open_table,
	.close = close_table,
	.caller_open = caller_open,
	.caller_close = caller_close,
	.put = put,
	.take = take,
	.ack = ack,
	.written = queue_written,
	.resident = rival_resident,
};
