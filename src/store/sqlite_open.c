/* SPDX-License-Identifier: MIT */
/*
 * sqlite_open.c - opens and closes a file of queues.
 *
 * A file that is refused must stay as it is. So its log is looked at before
 * SQLite opens it, nothing is written before all checks have passed, and a
 * close does not copy the log to the file unless it is asked to. If there was
 * no log, a close removes the one that SQLite has made.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/beside.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/wal.h"

enum {
	/* Large enough that a page is copied to the file once for the many
	 * times that it is logged; small enough that a copy does not hold up a
	 * batch for long, and that the index of the log (-shm) never has to
	 * grow. */
	LOG_BYTES = 4 << 20,
	/* A log that has grown under a long reader is cut to this. */
	MAX_LOG_BYTES = 8 << 20
};

static const char insert_rows[] = TKW__FEED_INSERT;
static const char insert_again[] = TKW__FEED_INSERT_AGAIN;
/* A snapshot may name a queue again. */
static const char insert_name[] = "INSERT INTO queue VALUES(?1, ?2, ?3) "
				  "ON CONFLICT(number) DO NOTHING";

static const char *const statements[TKW__STMTS] = {
	[TKW__STMT_BEGIN] = "BEGIN IMMEDIATE",
	[TKW__STMT_COMMIT] = "COMMIT",
	[TKW__STMT_ROLLBACK] = "ROLLBACK",
	[TKW__STMT_INSERT] = insert_rows,
	[TKW__STMT_INSERT_AGAIN] = insert_again,
	[TKW__STMT_NAME] = insert_name,
	[TKW__STMT_SET_BASE] = "REPLACE INTO base VALUES(1, ?1, ?2, ?3)",
	[TKW__STMT_SET_MODE] = "REPLACE INTO base VALUES(2, ?1, ?2, ?3)",
	[TKW__STMT_DELETE] = "DELETE FROM journal WHERE seq < ?1",
	[TKW__STMT_EMPTY] = "DELETE FROM journal",
};

const char tkw__sqlite_no_log[] =
	"SQLite cannot have a log on this file system";

int tkw__sqlite_errno(sqlite3 *db, int rc)
{
	int err = sqlite3_system_errno(db);

	if (rc == SQLITE_IOERR_NOMEM)
		return -ENOMEM;
	switch (rc & 0xff) {
	case SQLITE_OK:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_CORRUPT:
		return -EBADMSG;
	case SQLITE_NOTADB:
		return -EMEDIUMTYPE;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return -EACCES;
	case SQLITE_CANTOPEN:
		return err ? -err : -EACCES;
	default:
		break;
	}
	/* No room, in other ways. */
	if (rc == SQLITE_IOERR_WRITE && (err == EDQUOT || err == EFBIG))
		return -ENOSPC;
	/* The index of the log could not grow. */
	if ((rc == SQLITE_IOERR_SHMSIZE || rc == SQLITE_IOERR_SHMMAP) &&
	    (err == ENOSPC || err == EDQUOT))
		return -ENOSPC;
	return -EIO;
}

uint32_t tkw__sqlite_base_sum(const struct tkw__sqlite *s,
			      const struct tkw__base *base)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "%llu %llu",
			   (unsigned long long)base->first,
			   (unsigned long long)base->whole);

	return tkw__crc32c(&s->crc, 0, text, (size_t)len);
}

uint32_t tkw__sqlite_name_sum(const struct tkw__sqlite *s, uint32_t number,
			      const void *name, size_t len)
{
	char text[16];
	int digits =
		snprintf(text, sizeof(text), "%lu ", (unsigned long)number);

	return tkw__crc32c(&s->crc,
			   tkw__crc32c(&s->crc, 0, text, (size_t)digits), name,
			   len);
}

int tkw__sqlite_run(struct tkw__sqlite *s, enum tkw__stmt which)
{
	int rc = sqlite3_step(s->stmt[which]);
	int again = sqlite3_reset(s->stmt[which]);

	return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : again;
}

/* --- steps of the opening ------------------------------------------------- */

/* SQLite would open a file for reading if it must not write to it, and its
 * error would be that of the second try. */
static int check_writable(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* Can SQLite have a log here? It asks in the same way, but only when it writes
 * for the first time. */
static int check_for_log(struct tkw__sqlite *s, char *why, size_t why_size)
{
	sqlite3_file *file = NULL;
	int rc = sqlite3_file_control(s->db, "main", SQLITE_FCNTL_FILE_POINTER,
				      &file);

	if (rc || (file->pMethods && file->pMethods->iVersion >= 2 &&
		   file->pMethods->xShmMap))
		return rc;
	snprintf(why, why_size, "%s", tkw__sqlite_no_log);
	return SQLITE_IOERR;
}

static int set_up(struct tkw__sqlite *s)
{
	int rc = sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
				   (int *)NULL);

	if (!rc)
		rc = sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1,
				       (int *)NULL);
	if (!rc)
		rc = sqlite3_busy_timeout(s->db, TKW__SQLITE_BUSY_MS);
	/* cache_spill: a transaction's pages are logged in their order, at its
	 * end; wal.c needs this. secure_delete: the same with each build of
	 * SQLite; some overwrite what is deleted. */
	if (!rc)
		rc = sqlite3_exec(s->db,
				  "PRAGMA cache_spill=OFF; "
				  "PRAGMA secure_delete=OFF; "
				  "PRAGMA trusted_schema=OFF; "
				  "PRAGMA synchronous=FULL",
				  NULL, NULL, NULL);
	return rc;
}

static int count_frames(void *ctx, sqlite3 *db, const char *name, int frames)
{
	struct tkw__sqlite *s = ctx;

	(void)db;
	(void)name;
	s->frames = frames;
	return SQLITE_OK;
}

static int bound_log(struct tkw__sqlite *s)
{
	sqlite3_int64 page = TKW__SCHEMA_PAGE;
	char sql[64];
	int rc;

	snprintf(sql, sizeof(sql), "PRAGMA journal_size_limit=%d",
		 MAX_LOG_BYTES);
	rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
	if (!rc)
		rc = sqlite3_wal_autocheckpoint(s->db, 0);
	if (!rc)
		rc = tkw__schema_number(s->db, "PRAGMA page_size", &page);
	if (!rc && page > 0)
		s->next = s->limit = (int)(LOG_BYTES / page);
	(void)sqlite3_wal_hook(s->db, count_frames, s);
	return rc;
}

static int prepare(struct tkw__sqlite *s)
{
	int rc;

	s->feed.crc = &s->crc;
	rc = tkw__feed_open(s->db, &s->feed);
	for (int i = 0; !rc && i < TKW__STMTS; i++)
		rc = sqlite3_prepare_v3(s->db, statements[i], -1,
					SQLITE_PREPARE_PERSISTENT, &s->stmt[i],
					NULL);
	return rc;
}

struct tkw__base tkw__sqlite_mode(bool loose)
{
	return (struct tkw__base){ 0, loose };
}

/* A row of the table `base`. If it is not there, out stays as it is. */
static int read_base(struct tkw__sqlite *s, sqlite3 *db, int row,
		     struct tkw__base *out)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(db,
				    "SELECT first, whole, sum FROM base "
				    "WHERE one = ?1",
				    -1, &stmt, NULL);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int(stmt, 1, row);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		struct tkw__base got = {
			(uint64_t)sqlite3_column_int64(stmt, 0),
			(uint64_t)sqlite3_column_int64(stmt, 1),
		};

		if (tkw__sqlite_base_sum(s, &got) ==
		    (uint32_t)sqlite3_column_int64(stmt, 2))
			*out = got;
		else
			rc = SQLITE_CORRUPT;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int read_bases(struct tkw__sqlite *s, char *why, size_t why_size)
{
	struct tkw__base mode = { 0 };
	int rc = read_base(s, s->db, 1, &s->base);

	if (!rc)
		rc = read_base(s, s->db, 2, &mode);
	s->loose = mode.whole != 0;
	if (rc == SQLITE_CORRUPT)
		snprintf(why, why_size, "the base is damaged");
	return rc;
}

static int read_ends(struct tkw__sqlite *s)
{
	sqlite3_int64 lowest = 0;
	sqlite3_int64 last = 0;
	int rc = tkw__schema_number(s->db, "SELECT min(seq) FROM journal",
				    &lowest);

	if (!rc)
		rc = tkw__schema_number(s->db, "SELECT max(seq) FROM journal",
					&last);
	s->lowest = (uint64_t)lowest;
	s->last = (uint64_t)last;
	return rc;
}

int tkw__sqlite_measure(struct tkw__sqlite *s)
{
	sqlite3_int64 page = 0;
	sqlite3_int64 pages = 0;
	sqlite3_int64 unused = 0;
	int rc = tkw__schema_number(s->db, "PRAGMA page_size", &page);

	if (!rc)
		rc = tkw__schema_number(s->db, "PRAGMA page_count", &pages);
	if (!rc)
		rc = tkw__schema_number(s->db, "PRAGMA freelist_count",
					&unused);
	if (!rc) {
		s->store.bytes = (uint64_t)((pages - unused) * page);
		s->store.spare = (uint64_t)(unused * page);
	}
	return rc;
}

/* --- the opening ---------------------------------------------------------- */

/* Returns a code of SQLite. */
static int open_steps(struct tkw__sqlite *s, char *why, size_t why_size)
{
	int rc = sqlite3_open_v2(s->path, &s->db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
					 SQLITE_OPEN_NOMUTEX |
					 SQLITE_OPEN_PRIVATECACHE |
					 SQLITE_OPEN_EXRESCODE,
				 NULL);

	if (!rc)
		rc = check_for_log(s, why, why_size);
	if (!rc)
		rc = set_up(s);
	if (!rc)
		rc = tkw__schema_open(s->db, why, why_size);
	/* A mark in the file's header; the system lets us write. */
	if (!rc && sqlite3_db_readonly(s->db, "main") == 1)
		rc = SQLITE_CORRUPT;
	if (!rc)
		rc = tkw__sqlite_check_begin(s);
	if (!rc)
		rc = read_bases(s, why, why_size);
	if (!rc)
		rc = read_ends(s);
	if (!rc)
		rc = bound_log(s);
	if (!rc)
		rc = prepare(s);
	return rc ? rc : tkw__sqlite_measure(s);
}

/* The path as a URI, by which SQLite reads the file without its log. */
static char *make_uri(const char *path)
{
	static const char more[] = "?immutable=1";
	size_t size = 3 * strlen(path) + sizeof("file:") + sizeof(more);
	char *uri = malloc(size);
	char *at = uri;

	if (!uri)
		return NULL;
	at += snprintf(at, size, "file:");
	for (; *path; path++)
		at += snprintf(at, size - (size_t)(at - uri), "%%%02x",
			       (unsigned char)*path);
	snprintf(at, size - (size_t)(at - uri), "%s", more);
	return uri;
}

/*
 * Was the log written without syncs? A loss of power may then lawfully leave
 * any pieces of it. The log cannot tell, so the file does: the mark is there
 * before the first batch that is not synced.
 */
static bool is_loose(struct tkw__sqlite *s)
{
	struct tkw__base mode = { 0 };
	char *uri = make_uri(s->path);
	sqlite3 *db = NULL;

	if (uri &&
	    sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
			    NULL) == SQLITE_OK)
		(void)read_base(s, db, 2, &mode);
	sqlite3_close(db);
	free(uri);
	return mode.whole != 0;
}

static int check_log(struct tkw__sqlite *s, char *why, size_t why_size)
{
	int err = tkw__wal_check(s->path, why, why_size);

	if (err != -EBADMSG || !is_loose(s))
		return err;
	if (why_size > 0)
		why[0] = 0;
	return 0;
}

/* Is there nothing beside the file that could be lost? */
static int find_log(struct tkw__sqlite *s)
{
	char *name = tkw__beside(s->path, "-wal");
	struct stat st;

	if (!name)
		return -ENOMEM;
	s->tidy = stat(name, &st) != 0 ? errno == ENOENT : st.st_size == 0;
	free(name);
	return 0;
}

int tkw__sqlite_open_file(struct tkw__sqlite *s, char *why, size_t why_size)
{
	int err = check_log(s, why, why_size);
	int rc;

	s->inherited = true;
	if (!err)
		err = find_log(s);
	if (!err)
		err = check_writable(s->path);
	if (err)
		return err;
	rc = open_steps(s, why, why_size);
	if (rc == SQLITE_OK)
		return 0;
	err = tkw__sqlite_errno(s->db, rc);
	/* The tables cannot be read by what SQLite finds in the file. */
	if (rc == SQLITE_ERROR)
		err = -EBADMSG;
	if (err == -EIO && sqlite3_system_errno(s->db) == ENOSPC)
		err = -ENOSPC;
	if (why_size > 0 && why[0] == 0)
		snprintf(why, why_size, "%s",
			 s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc));
	return err;
}

void tkw__sqlite_close_file(struct tkw__sqlite *s)
{
	tkw__sqlite_check_drop(s);
	for (int i = 0; i < TKW__STMTS; i++)
		sqlite3_finalize(s->stmt[i]);
	if (s->db && s->tidy)
		(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
					0, (int *)NULL);
	sqlite3_close(s->db);
	s->db = NULL;
}
