/* SPDX-License-Identifier: MIT */
/*
 * sqlite.c - the store on SQLite: five calls (store.h).
 *
 * A batch is one transaction of SQLite in WAL mode, with a sync at its end.
 * Rows are only added at the end of the table `journal`, and removed from its
 * beginning. So a batch writes the last leaf of one tree, and seldom more.
 *
 * Errors: if SQLite found no room, the transaction is rolled back and nothing
 * has happened. After any other error of a commit, nobody knows what the disk
 * has: the store is dead until it is opened again. A commit is in the log, so
 * an error of the checkpoint that follows does not take it back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/beside.h"
#include "store/sqlite.h"

enum {
	ROW_BYTES = 8, /* that a row takes besides its record, about */
	CLOSE_MS = 100 /* how long a close waits for another program */
};

int tkw__sqlite_note(struct tkw__sqlite *s, int rc)
{
	int err = tkw__sqlite_errno(s->db, rc);
	int system =
		(rc & 0xff) == SQLITE_IOERR ? sqlite3_system_errno(s->db) : 0;
	/* SQLite does not know of an error that we have found. */
	const char *text = sqlite3_extended_errcode(s->db) == rc
				   ? sqlite3_errmsg(s->db)
				   : sqlite3_errstr(rc);

	snprintf(s->why, sizeof(s->why), "%s%s%s", text, system ? ": " : "",
		 system ? strerror(system) : "");
	s->store.why = s->why;
	return err;
}

static int note_death(struct tkw__sqlite *s, int rc)
{
	(void)tkw__sqlite_note(s, rc);
	s->dead = true;
	return -EIO;
}

/* --- open ----------------------------------------------------------------- */

static void free_store(struct tkw__sqlite *s)
{
	tkw__sqlite_close_file(s);
	free(s->room.bytes);
	free(s->path);
	free(s);
}

static int store_open(struct tkw__store **out, const void *config, char *why,
		      size_t why_size)
{
	const struct tkw__sqlite_config *cfg = config;
	struct tkw__sqlite *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	if (why_size > 0)
		why[0] = 0;
	s->store.ops = &tkw__sqlite_store;
	s->store.why = "";
	s->to_system = cfg->to_system;
	tkw__crc32c_init(&s->crc);
	err = tkw__real_path(&s->path, cfg->path);
	if (!err)
		err = tkw__sqlite_open_file(s, why, why_size);
	if (err) {
		if (why_size > 0 && why[0] == 0)
			snprintf(why, why_size, "%s", strerror(-err));
		free_store(s);
		return err;
	}
	*out = &s->store;
	return 0;
}

/* --- checkpoints ---------------------------------------------------------- */

/*
 * Copies the log to the file. Then the log is written from its beginning again.
 * While another program reads an old state, not all can be copied, and the log
 * grows. If the file has no room, the log keeps what it has.
 */
static void checkpoint(struct tkw__sqlite *s)
{
	int logged = 0;
	int copied = 0;
	int rc = sqlite3_wal_checkpoint_v2(
		s->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &logged, &copied);
	int err = rc ? tkw__sqlite_errno(s->db, rc) : 0;

	if (err && err != -ENOSPC && err != -EBUSY && err != -ENOMEM)
		(void)note_death(s, rc);
	s->next = s->limit;
	if (err || copied < logged)
		s->next = s->frames + s->limit / 4;
}

static void checkpoint_sometimes(struct tkw__sqlite *s)
{
	if (s->frames >= s->next)
		checkpoint(s);
}

/* --- append --------------------------------------------------------------- */

static int insert_names(struct tkw__sqlite *s, const struct tkw__row *rows,
			size_t count)
{
	sqlite3_stmt *stmt = s->stmt[TKW__STMT_NAME];
	int rc = SQLITE_OK;

	for (size_t i = 0; !rc && i < count; i++) {
		const char *name = rows[i].name;

		if (!name)
			continue;
		sqlite3_bind_int64(stmt, 1, rows[i].queue);
		sqlite3_bind_text(stmt, 2, name, -1, SQLITE_STATIC);
		sqlite3_bind_int64(stmt, 3,
				   tkw__sqlite_name_sum(s, rows[i].queue, name,
							strlen(name)));
		rc = tkw__sqlite_run(s, TKW__STMT_NAME);
	}
	return rc;
}

static int insert_rows(struct tkw__sqlite *s, const struct tkw__row *rows,
		       size_t count)
{
	int rc;

	s->feed.rows = rows;
	s->feed.count = count;
	s->feed.seq = s->last + 1;
	rc = tkw__sqlite_run(s, TKW__STMT_INSERT);
	s->feed.rows = NULL;
	s->feed.count = 0;
	return rc;
}

/* Takes a transaction back. */
static int roll_back(struct tkw__sqlite *s, int rc)
{
	int err = tkw__sqlite_note(s, rc);

	if (!sqlite3_get_autocommit(s->db)) {
		rc = tkw__sqlite_run(s, TKW__STMT_ROLLBACK);
		if (rc != SQLITE_OK)
			return note_death(s, rc);
	}
	return err;
}

/* Ends a transaction whose statements have ended with rc. */
static int end_transaction(struct tkw__sqlite *s, int rc)
{
	bool committing = rc == SQLITE_OK;
	int err;

	if (committing)
		rc = tkw__sqlite_run(s, TKW__STMT_COMMIT);
	if (rc == SQLITE_OK)
		return 0;
	err = tkw__sqlite_errno(s->db, rc);
	/* A commit may have written the log before it failed. If there is no
	 * room, it has not written all of it. */
	if (err == -ENOSPC || err == -EBUSY || (err == -ENOMEM && !committing))
		err = roll_back(s, rc);
	else
		err = note_death(s, rc);
	if (err == -ENOSPC)
		s->next = 0;
	return err;
}

static size_t count_records(const struct tkw__row *rows, size_t count,
			    uint64_t *bytes)
{
	size_t records = 0;

	for (size_t i = 0; i < count; i++) {
		if (rows[i].name)
			continue;
		records++;
		*bytes += rows[i].len + ROW_BYTES;
	}
	return records;
}

/* The rows of a batch, in a transaction. */
static int insert_batch(struct tkw__sqlite *s, const struct tkw__row *rows,
			size_t count, size_t records)
{
	int rc = tkw__sqlite_run(s, TKW__STMT_BEGIN);

	if (!rc && records < count)
		rc = insert_names(s, rows, count);
	if (!rc && records > 0) {
		rc = insert_rows(s, rows, count);
		/* SQLite has numbered the rows: from the last one on, unless
		 * somebody else has written to the table. */
		if (!rc && (uint64_t)sqlite3_last_insert_rowid(s->db) !=
				   s->last + records)
			rc = SQLITE_CORRUPT;
	}
	return rc;
}

static int store_append(struct tkw__store *store, const struct tkw__row *rows,
			size_t count, uint64_t *last)
{
	struct tkw__sqlite *s = tkw__sqlite_of(store);
	uint64_t bytes = 0;
	size_t records = count_records(rows, count, &bytes);
	int rc;
	int err;

	if (s->next == 0 && !s->dead)
		checkpoint(s);
	if (s->dead)
		return -EIO;
	s->feed.illegal = false;
	rc = insert_batch(s, rows, count, records);
	if (s->feed.illegal) {
		(void)roll_back(s, rc);
		return s->dead ? -EIO : -EINVAL;
	}
	err = end_transaction(s, rc);
	if (err)
		return err;
	s->last += records;
	if (s->lowest == 0 && records > 0)
		s->lowest = s->last - records + 1;
	store->bytes += bytes;
	*last = s->last;
	checkpoint_sometimes(s);
	return 0;
}

/* --- compact -------------------------------------------------------------- */

static int set_base(struct tkw__sqlite *s, const struct tkw__base *base)
{
	sqlite3_stmt *stmt = s->stmt[TKW__STMT_SET_BASE];

	if (base->first == s->base.first && base->whole == s->base.whole)
		return SQLITE_OK;
	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)base->first);
	sqlite3_bind_int64(stmt, 2, (sqlite3_int64)base->whole);
	sqlite3_bind_int64(stmt, 3, tkw__sqlite_base_sum(s, base));
	return tkw__sqlite_run(s, TKW__STMT_SET_BASE);
}

static int delete_below(struct tkw__sqlite *s, uint64_t seq)
{
	if (seq <= s->lowest)
		return SQLITE_OK;
	sqlite3_bind_int64(s->stmt[TKW__STMT_DELETE], 1, (sqlite3_int64)seq);
	return tkw__sqlite_run(s, TKW__STMT_DELETE);
}

static int store_compact(struct tkw__store *store, const struct tkw__base *base,
			 uint64_t max)
{
	struct tkw__sqlite *s = tkw__sqlite_of(store);
	/* The last row stays, because SQLite numbers by it. */
	uint64_t end = base->first < s->last ? base->first : s->last;
	uint64_t to = end > s->lowest && end - s->lowest > max ? s->lowest + max
							       : end;
	int rc;
	int err;

	if (s->dead)
		return -EIO;
	if (base->first < s->base.first || base->first > s->last + 1 ||
	    base->whole > s->last)
		return -EINVAL;
	rc = tkw__sqlite_run(s, TKW__STMT_BEGIN);
	if (!rc)
		rc = set_base(s, base);
	if (!rc)
		rc = delete_below(s, to);
	err = end_transaction(s, rc);
	if (err)
		return err;
	s->base = *base;
	if (s->lowest < to)
		s->lowest = to;
	checkpoint_sometimes(s);
	(void)tkw__sqlite_measure(s);
	return s->lowest < end;
}

/* --- close ---------------------------------------------------------------- */

/* If another program still reads the file, the log stays, and that program
 * copies it when it closes the file. */
static int store_close(struct tkw__store *store)
{
	struct tkw__sqlite *s = tkw__sqlite_of(store);
	int err = 0;
	int rc;

	if (!s->dead && !store->refused) {
		(void)sqlite3_busy_timeout(s->db, CLOSE_MS);
		rc = sqlite3_wal_checkpoint_v2(
			s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
		err = rc ? tkw__sqlite_errno(s->db, rc) : 0;
		if (!err)
			(void)sqlite3_db_config(
				s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0,
				(int *)NULL);
	}
	free_store(s);
	return err == -EBUSY ? 0 : err;
}

const struct tkw__store_ops tkw__sqlite_store = {
	.open = store_open,
	.append = store_append,
	.replay = tkw__sqlite_replay,
	.compact = store_compact,
	.close = store_close,
};
