/* SPDX-License-Identifier: MIT */
/*
 * schema.c - the tables of a file of queues.
 *
 * docs/queue.md describes them for users. The format of the rows is in row.h.
 * The text of the tables is part of the format: a file whose tables have
 * another text is refused. The text of the view is not.
 *
 * The columns of the journal have no types: else quick_check would look at each
 * of them, and take a fifth longer.
 */
#include "store/schema.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct table {
	const char *name;
	const char *sql;
} tables[] = {
	{ "queue", "CREATE TABLE queue(number INTEGER PRIMARY KEY, "
		   "name TEXT NOT NULL UNIQUE, sum INT)" },
	{ "kind", "CREATE TABLE kind(number INTEGER PRIMARY KEY, "
		  "name TEXT NOT NULL, state TEXT)" },
	{ "base", "CREATE TABLE base(one INTEGER PRIMARY KEY, "
		  "first INT, whole INT, sum INT)" },
	{ "journal",
	  "CREATE TABLE journal(seq INTEGER PRIMARY KEY, queue, item, kind, "
	  "due, until, attempts, key, payload, reason, more)" },
};

/* The state of an item after a record of this kind; NULL if the item has ended,
 * or if the record is about the queue or a plan. */
static const char kinds[] =
	"INSERT INTO kind VALUES"
	"(1,'put','idle'),(2,'replace','idle'),(3,'take','taken'),"
	"(4,'extend','taken'),(5,'ack',NULL),(6,'nack','idle'),"
	"(7,'dead','dead'),(8,'cancel',NULL),(9,'reschedule','idle'),"
	"(10,'revive','idle'),(11,'purge',NULL),(12,'pause',NULL),"
	"(13,'resume',NULL),(14,'limit',NULL),(15,'totals',NULL),"
	"(16,'item','idle'),(17,'item','taken'),(18,'item','dead'),"
	"(32,'plan',NULL),(33,'replan',NULL),(34,'unplan',NULL),"
	"(35,'step',NULL),(36,'plan',NULL),(37,'planned','idle'),"
	"(38,'planned','idle'),(39,'planned','taken'),(40,'planned','dead')";

/*
 * The live items. `life` finds, in one pass, the rows that tell about each
 * item: the last one; the last one with its payload; the last one that set its
 * due time; the last one that set or cleared its reason, which all do but a
 * reschedule; and the last one from which attempts are counted. A lost lease is
 * a flag in the first number of `more`.
 */
static const char view[] =
	"CREATE VIEW item AS WITH life AS MATERIALIZED ("
	"SELECT queue, item, max(seq) AS last, "
	"max(CASE WHEN kind IN (1, 2, 16, 17, 18, 37, 38, 39, 40) "
	"THEN seq END) AS body, "
	"max(CASE WHEN due IS NOT NULL THEN seq END) AS set_due, "
	"max(CASE WHEN kind <> 9 THEN seq END) AS set_reason, "
	"max(CASE WHEN kind IN (1, 2, 10, 16, 17, 18, 37, 38, 39, 40) "
	"THEN seq END) AS fresh "
	"FROM journal WHERE item IS NOT NULL "
	"AND seq >= coalesce((SELECT first FROM base WHERE one = 1), 0) "
	"GROUP BY queue, item), "
	"live AS MATERIALIZED ("
	"SELECT life.*, kind.state, journal.until, "
	"CASE WHEN r.kind IN (6, 7, 16, 18, 38, 40) AND length(r.more) > 4 "
	"AND hex(substr(r.more, 1, 1)) IN ('02', '03', '06', '07', '0A', "
	"'0B', '0E', '0F') "
	"THEN 'lease lost' "
	"ELSE CAST(r.reason AS TEXT) END AS reason "
	"FROM life JOIN journal ON journal.seq = life.last "
	"JOIN journal AS r ON r.seq = life.set_reason "
	"JOIN kind ON kind.number = journal.kind "
	"WHERE kind.state IS NOT NULL AND life.body IS NOT NULL), "
	"takes AS MATERIALIZED ("
	"SELECT live.queue, live.item, count(*) AS count "
	"FROM live JOIN journal ON journal.queue = live.queue "
	"AND journal.item = live.item "
	"WHERE journal.kind = 3 AND journal.seq > live.fresh "
	"GROUP BY live.queue, live.item), "
	"clock AS MATERIALIZED ("
	"SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INT) AS ms) "
	"SELECT queue.name AS queue, live.item AS id, "
	"CASE WHEN live.state <> 'idle' THEN live.state "
	"WHEN d.due <= clock.ms THEN 'ready' ELSE 'waiting' END AS state, "
	"strftime('%Y-%m-%dT%H:%M:%fZ', d.due / 1000.0, 'unixepoch') AS due, "
	"d.due AS due_ms, "
	"CASE WHEN live.state <> 'idle' THEN live.until END AS until_ms, "
	"coalesce(f.attempts, 0) + coalesce(takes.count, 0) AS attempts, "
	"CAST(b.key AS TEXT) AS key, b.payload AS payload, "
	"live.reason AS reason "
	"FROM live JOIN queue ON queue.number = live.queue "
	"JOIN journal AS b ON b.seq = live.body "
	"JOIN journal AS d ON d.seq = live.set_due "
	"JOIN journal AS f ON f.seq = live.fresh "
	"LEFT JOIN takes ON takes.queue = live.queue "
	"AND takes.item = live.item, clock";

int tkw__schema_number(sqlite3 *db, const char *sql, sqlite3_int64 *out)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		*out = sqlite3_column_int64(stmt, 0);
		rc = SQLITE_OK;
	} else if (rc == SQLITE_DONE) {
		*out = 0;
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	return rc;
}

static int make_tables(sqlite3 *db)
{
	char marks[96];
	int rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	for (size_t i = 0; !rc && i < sizeof(tables) / sizeof(*tables); i++)
		rc = sqlite3_exec(db, tables[i].sql, NULL, NULL, NULL);
	if (!rc)
		rc = sqlite3_exec(db, kinds, NULL, NULL, NULL);
	if (!rc)
		rc = sqlite3_exec(db, view, NULL, NULL, NULL);
	snprintf(marks, sizeof(marks),
		 "PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT",
		 TKW__SCHEMA_ID, TKW__SCHEMA_VERSION);
	if (!rc)
		rc = sqlite3_exec(db, marks, NULL, NULL, NULL);
	if (rc)
		(void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

/*
 * The first transaction does not go to a log, but to the file itself, with
 * SQLite's other kind of journal. So a file that has a log is never empty; see
 * wal.c.
 */
static int make_file(sqlite3 *db)
{
	char sql[96];
	int rc;

	snprintf(sql, sizeof(sql),
		 "PRAGMA journal_mode=DELETE; PRAGMA page_size=%d; "
		 "PRAGMA auto_vacuum=NONE",
		 TKW__SCHEMA_PAGE);
	rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	return rc ? rc : make_tables(db);
}

static int check_tables(sqlite3 *db, char *why, size_t why_size)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(
		db,
		"SELECT 1 FROM sqlite_schema "
		"WHERE type = 'table' AND name = ?1 AND sql = ?2",
		-1, &stmt, NULL);

	if (rc != SQLITE_OK)
		return rc;
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		sqlite3_bind_text(stmt, 1, tables[i].name, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 2, tables[i].sql, -1, SQLITE_STATIC);
		rc = sqlite3_step(stmt);
		if (rc != SQLITE_ROW)
			break;
		sqlite3_reset(stmt);
	}
	if (rc == SQLITE_DONE) {
		snprintf(why, why_size, "a table is not as it was made");
		rc = SQLITE_CORRUPT;
	} else if (rc == SQLITE_ROW) {
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	return rc;
}

static int check_marks(sqlite3_int64 id, sqlite3_int64 version, char *why,
		       size_t why_size)
{
	if (id != TKW__SCHEMA_ID) {
		snprintf(why, why_size, "this is not a file of queues");
		return SQLITE_NOTADB;
	}
	if (version > TKW__SCHEMA_VERSION) {
		snprintf(why, why_size,
			 "the file is of version %lld, and this library knows "
			 "version %d",
			 (long long)version, TKW__SCHEMA_VERSION);
		return SQLITE_NOTADB;
	}
	if (version < TKW__SCHEMA_VERSION) {
		snprintf(why, why_size, "the file has no version");
		return SQLITE_CORRUPT;
	}
	return SQLITE_OK;
}

int tkw__schema_open(sqlite3 *db, char *why, size_t why_size)
{
	sqlite3_int64 pages = 0;
	sqlite3_int64 id = 0;
	sqlite3_int64 version = 0;
	int rc = tkw__schema_number(db, "PRAGMA page_count", &pages);

	if (!rc && pages == 0)
		return make_file(db);
	if (!rc)
		rc = tkw__schema_number(db, "PRAGMA application_id", &id);
	if (!rc)
		rc = tkw__schema_number(db, "PRAGMA user_version", &version);
	if (!rc)
		rc = check_marks(id, version, why, why_size);
	return rc ? rc : check_tables(db, why, why_size);
}
