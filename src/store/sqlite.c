/* SPDX-License-Identifier: MIT */
/*
 * sqlite.c - the store on SQLite: five calls (store.h).
 *
 * A batch is one transaction of SQLite in WAL mode, with a sync at its end.
 * Rows are only added at the end of the table `journal`, and removed from its
 * beginning. So a batch writes the last leaf of one tree, and seldom more. If
 * few of many rows stay, the table is emptied, and these are added again, all
 * in one transaction.
 *
 * Errors: if SQLite found no room, the transaction is rolled back and nothing
 * has happened. After any other error of a commit, nobody knows what the disk
 * has: the store is dead until it is opened again. A commit is in the log, so
 * an error of the checkpoint that follows does not take it back.
 *
 * Log: before the first batch, all that was found in the log is copied to the
 * file, and the log is emptied. So each owner has a log of its own, without the
 * remains of transactions that were killed (wal.c). And after a sync that
 * failed, the pages of which nobody knows if the disk has them are written
 * anew. If somebody reads the file, the log cannot be emptied. Then it is
 * written again in place, and cut behind its end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/beside.h"
#include "store/kept.h"
#include "store/sqlite.h"
#include "store/wal.h"

enum {
	ROW_BYTES = 8,  /* that a row takes besides its record, about */
	CLOSE_MS = 100, /* how long a close waits for another program */
	PIECE_ROWS = 4096,
	/* If more rows go, those that stay may be kept in memory meanwhile:
	 * this part of the journal, and so many bytes, at most. */
	KEPT_PART = 4,
	KEPT_BYTES = 64 << 20,
	/* After a full disk, so many checkpoints come when the log has this
	 * part of its usual frames: the room is needed for the file. */
	TIGHT_ROUNDS = 1000,
	TIGHT_PART = 8,
	/* The index of the log (-shm), by SQLite's description of its format:
	 * the bytes of a piece, and where the count of frames is. */
	INDEX_BYTES = 32768,
	INDEX_FRAMES = 16
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

	if (s->foreign)
		text = "another program has written to the journal";
	snprintf(s->why, sizeof(s->why), "%s%s%s", text, system ? ": " : "",
		 system ? strerror(system) : "");
	s->store.why = s->why;
	return err;
}

static int die(struct tkw__sqlite *s)
{
	s->dead = true;
	/* Other programs must not wait for a transaction that never ends. */
	if (!sqlite3_get_autocommit(s->db))
		(void)tkw__sqlite_run(s, TKW__STMT_ROLLBACK);
	return -EIO;
}

static int note_death(struct tkw__sqlite *s, int rc)
{
	(void)tkw__sqlite_note(s, rc);
	return die(s);
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
	s->piece = PIECE_ROWS;
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

/* --- transactions --------------------------------------------------------- */

/* Errors after which all is as before. */
static bool is_harmless(int err)
{
	return err == -ENOSPC || err == -EBUSY || err == -ENOMEM;
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
	/* A commit may have written the log before it failed. If the log had no
	 * room, it has not written all of it. But its index (-shm) grows only
	 * when all is written. */
	if (is_harmless(err) &&
	    !(committing && (err == -ENOMEM || rc == SQLITE_IOERR_SHMSIZE ||
			     rc == SQLITE_IOERR_SHMMAP)))
		err = roll_back(s, rc);
	else
		err = note_death(s, rc);
	if (err == -ENOSPC) {
		s->stale = true;
		s->tight = TIGHT_ROUNDS;
	}
	return err;
}

/* --- checkpoints ---------------------------------------------------------- */

/* The file has all that the log has. If it says that the log is not synced, no
 * more syncs are needed. */
static void relax(struct tkw__sqlite *s)
{
	if (s->relaxed || !s->to_system || !s->loose)
		return;
	s->relaxed = sqlite3_exec(s->db, "PRAGMA synchronous=NORMAL", NULL,
				  NULL, NULL) == SQLITE_OK;
}

static void plan_checkpoint(struct tkw__sqlite *s, bool done)
{
	int limit = s->tight ? s->limit / TIGHT_PART : s->limit;

	s->tight -= s->tight > 0;
	s->next = done ? limit : s->frames + limit / 4;
}

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

	if (err && !is_harmless(err))
		(void)note_death(s, rc);
	if (!err && copied == logged)
		relax(s);
	plan_checkpoint(s, !err && copied == logged);
}

static void checkpoint_sometimes(struct tkw__sqlite *s)
{
	if (s->frames >= s->next)
		checkpoint(s);
}

/* --- a clean log ---------------------------------------------------------- */

/* Copies the log to the file, and empties it. Readers are not waited for. */
static int empty_log(struct tkw__sqlite *s)
{
	int rc;
	int err;

	(void)sqlite3_busy_timeout(s->db, 0);
	rc = sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE,
				       NULL, NULL);
	(void)sqlite3_busy_timeout(s->db, TKW__SQLITE_BUSY_MS);
	err = rc ? tkw__sqlite_errno(s->db, rc) : 0;
	if (err)
		return is_harmless(err) ? err : note_death(s, rc);
	s->frames = 0;
	plan_checkpoint(s, true);
	relax(s);
	return 0;
}

/* How many frames of the log SQLite uses. It is asked for in a transaction that
 * may write. A checkpoint would tell it too, but not on a full disk. */
static int count_used(struct tkw__sqlite *s, uint32_t *out)
{
	sqlite3_file *file = NULL;
	volatile void *index = NULL;
	int rc = sqlite3_file_control(s->db, "main", SQLITE_FCNTL_FILE_POINTER,
				      &file);

	if (!rc)
		rc = file->pMethods->xShmMap(file, 0, INDEX_BYTES, 0, &index);
	if (!rc && !index)
		rc = SQLITE_PROTOCOL;
	if (!rc)
		*out = ((volatile uint32_t *)index)[INDEX_FRAMES / 4];
	return rc;
}

/* The log could not be emptied: somebody reads, or the file has no room. */
static int mend_log(struct tkw__sqlite *s)
{
	uint32_t used = 0;
	int rc = tkw__sqlite_run(s, TKW__STMT_BEGIN);
	int err;

	if (!rc)
		rc = count_used(s, &used);
	if (rc != SQLITE_OK)
		return is_harmless(tkw__sqlite_errno(s->db, rc))
			       ? roll_back(s, rc)
			       : note_death(s, rc);
	err = tkw__wal_mend(s->path, used, s->inherited);
	rc = tkw__sqlite_run(s, TKW__STMT_ROLLBACK);
	if (rc != SQLITE_OK)
		return note_death(s, rc);
	if (!err)
		return 0;
	snprintf(s->why, sizeof(s->why), "cannot mend the log: %s",
		 strerror(-err));
	s->store.why = s->why;
	if (err == -EDQUOT)
		err = -ENOSPC;
	return is_harmless(err) ? err : die(s);
}

static int clean_log(struct tkw__sqlite *s)
{
	int err = empty_log(s);

	if (err && !s->dead)
		err = mend_log(s);
	if (err)
		return err;
	s->inherited = false;
	s->stale = false;
	return 0;
}

/* Tells in the file if the log is not synced. Until the file has it, the log is
 * synced. */
static int set_mode(struct tkw__sqlite *s)
{
	struct tkw__base mode = tkw__sqlite_mode(s->to_system);
	sqlite3_stmt *stmt = s->stmt[TKW__STMT_SET_MODE];
	int rc = tkw__sqlite_run(s, TKW__STMT_BEGIN);
	int err;

	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)mode.first);
	sqlite3_bind_int64(stmt, 2, (sqlite3_int64)mode.whole);
	sqlite3_bind_int64(stmt, 3, tkw__sqlite_base_sum(s, &mode));
	if (!rc)
		rc = tkw__sqlite_run(s, TKW__STMT_SET_MODE);
	err = end_transaction(s, rc);
	if (err)
		return err;
	s->loose = s->to_system;
	(void)empty_log(s); /* a later checkpoint is right too */
	return s->dead ? -EIO : 0;
}

/* A new file, or a copy that SQLite has made, has no log. To ask for one writes
 * to the file, so this waits until the file was found sound. Where SQLite
 * cannot have a log, it answers with another mode. */
static int start_log(struct tkw__sqlite *s)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(s->db, "PRAGMA journal_mode=WAL", -1, &stmt,
				    NULL);

	if (!rc)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		const char *mode = (const char *)sqlite3_column_text(stmt, 0);

		s->logs = mode && strcmp(mode, "wal") == 0;
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	if (rc)
		return is_harmless(tkw__sqlite_errno(s->db, rc))
			       ? tkw__sqlite_note(s, rc)
			       : note_death(s, rc);
	if (s->logs)
		return 0;
	s->store.why = tkw__sqlite_no_log;
	return die(s);
}

/* Before each write. */
static int get_ready(struct tkw__sqlite *s)
{
	int err = 0;

	if (s->dead || tkw__sqlite_check_end(s) != SQLITE_OK)
		return -EIO;
	s->store.sound = true;
	s->tidy = false;
	if (!s->logs)
		err = start_log(s);
	if (!err && (s->inherited || s->stale))
		err = clean_log(s);
	if (!err && s->loose != s->to_system)
		err = set_mode(s);
	return err;
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

/* seq is the number of the first record. */
static int insert_rows(struct tkw__sqlite *s, enum tkw__stmt which,
		       const struct tkw__row *rows, size_t count, uint64_t seq)
{
	int rc;

	s->feed.rows = rows;
	s->feed.count = count;
	s->feed.seq = seq;
	rc = tkw__sqlite_run(s, which);
	s->feed.rows = NULL;
	s->feed.count = 0;
	return rc;
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
		rc = insert_rows(s, TKW__STMT_INSERT, rows, count, s->last + 1);
		/* SQLite has numbered the rows: from the last one on, unless
		 * somebody else has written to the table. */
		if (!rc && (uint64_t)sqlite3_last_insert_rowid(s->db) !=
				   s->last + records) {
			s->foreign = true;
			rc = SQLITE_CORRUPT;
		}
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
	int err = get_ready(s);

	if (err)
		return err;
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
	store->spare -= bytes < store->spare ? bytes : store->spare;
	if (s->tight) /* it must be exact */
		(void)tkw__sqlite_measure(s);
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

/* Deletes up to max rows before `end`. to receives the first one that stays. */
static int delete_some(struct tkw__sqlite *s, uint64_t end, uint64_t max,
		       uint64_t *to)
{
	if (end <= s->lowest)
		return SQLITE_OK;
	*to = end - s->lowest > max ? s->lowest + max : end;
	sqlite3_bind_int64(s->stmt[TKW__STMT_DELETE], 1, (sqlite3_int64)*to);
	return tkw__sqlite_run(s, TKW__STMT_DELETE);
}

/* Keeps the rows from `end` on in memory, empties the table and inserts them
 * again. Returns a code of SQLite; SQLITE_TOOBIG if nothing was done, because
 * there is too much to keep. */
static int delete_all_but(struct tkw__sqlite *s, uint64_t end)
{
	uint64_t part = s->store.bytes / KEPT_PART;
	struct tkw__kept kept = { .max = part < KEPT_BYTES ? (size_t)part
							   : KEPT_BYTES };
	int err = tkw__sqlite_read_rows(s, end, tkw__kept_add, &kept);
	int rc = SQLITE_OK;

	if (err) {
		rc = err == -EFBIG || err == -ENOMEM ? SQLITE_TOOBIG
						     : SQLITE_CORRUPT;
	} else if (kept.count != s->last - end + 1) {
		s->foreign = true;
		rc = SQLITE_CORRUPT;
	}
	tkw__kept_end(&kept);
	if (!rc)
		rc = tkw__sqlite_run(s, TKW__STMT_EMPTY);
	if (!rc)
		rc = insert_rows(s, TKW__STMT_INSERT_AGAIN, kept.rows,
				 kept.count, end);
	tkw__kept_free(&kept);
	return rc;
}

/* Removes rows before `end`, as compact was told. to receives the first one
 * that stays. */
static int remove_rows(struct tkw__sqlite *s, uint64_t end, uint64_t max,
		       uint64_t *to)
{
	int rc;

	if (max < UINT64_MAX)
		return delete_some(s, end, max, to);
	if (end > s->lowest && end - s->lowest > s->piece &&
	    s->too_much != end) {
		rc = delete_all_but(s, end);
		if (rc != SQLITE_TOOBIG) {
			*to = end;
			return rc;
		}
		s->too_much = end;
	}
	return delete_some(s, end, s->piece, to);
}

static int store_compact(struct tkw__store *store, const struct tkw__base *base,
			 uint64_t max)
{
	struct tkw__sqlite *s = tkw__sqlite_of(store);
	/* The last row stays, because SQLite numbers by it. */
	uint64_t end = base->first < s->last ? base->first : s->last;
	uint64_t to = s->lowest;
	int rc;
	int err = get_ready(s);

	if (err)
		return err;
	if (base->first < s->base.first || base->first > s->last + 1 ||
	    base->whole > s->last)
		return -EINVAL;
	rc = tkw__sqlite_run(s, TKW__STMT_BEGIN);
	if (!rc)
		rc = set_base(s, base);
	if (!rc)
		rc = remove_rows(s, end, max, &to);
	err = end_transaction(s, rc);
	if (err)
		return err;
	s->base = *base;
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

	if (!s->dead && store->sound) {
		(void)sqlite3_busy_timeout(s->db, CLOSE_MS);
		rc = sqlite3_wal_checkpoint_v2(
			s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
		err = rc ? tkw__sqlite_errno(s->db, rc) : 0;
		s->tidy = !err;
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
