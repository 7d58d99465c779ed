/* SPDX-License-Identifier: MIT */
/*
 * sqlite_check.c - checks the pages of a file of queues.
 *
 * quick_check finds what the checksums of the rows cannot: rows at the end of
 * the journal, or whole pages, that are not reached any more; and pages that
 * are used twice, which a later batch would destroy.
 *
 * It reads the whole file, as the replay does. So it has a thread and a
 * connection of its own, and both read at the same time. Nothing is written
 * before it has ended. If SQLite has no mutexes, or if there can be no thread,
 * the check comes before the replay.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "store/quiet_thread.h"
#include "store/sqlite.h"

enum {
	/* After so many steps of SQLite, the check looks if it is still
	 * wanted. */
	PATIENCE = 1000
};

static void note_finding(struct tkw__sqlite_check *c, const char *text)
{
	snprintf(c->why, sizeof(c->why), "%s", text ? text : "?");
	for (char *at = c->why; (at = strchr(at, '\n')) != NULL;)
		*at = ' ';
}

static int check_pages(struct tkw__sqlite_check *c)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(c->db, "PRAGMA quick_check(1)", -1, &stmt,
				    NULL);

	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(stmt, 0);

		rc = SQLITE_OK;
		if (!text || strcmp(text, "ok") != 0) {
			note_finding(c, text);
			rc = SQLITE_CORRUPT;
		}
	}
	sqlite3_finalize(stmt);
	return rc;
}

static void *run(void *arg)
{
	struct tkw__sqlite_check *c = arg;

	c->rc = check_pages(c);
	if (c->rc && !c->why[0])
		note_finding(c, sqlite3_errmsg(c->db));
	return NULL;
}

/* SQLite asks this now and then while it reads. */
static int is_unwanted(void *arg)
{
	struct tkw__sqlite_check *c = arg;

	return atomic_load(&c->is_unwanted);
}

int tkw__sqlite_check_begin(struct tkw__sqlite *s)
{
	struct tkw__sqlite_check *c = &s->check;
	int rc = sqlite3_open_v2(s->path, &c->db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX |
					 SQLITE_OPEN_PRIVATECACHE |
					 SQLITE_OPEN_EXRESCODE,
				 NULL);

	if (!rc)
		rc = sqlite3_db_config(c->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
				       1, (int *)NULL);
	if (!rc)
		rc = sqlite3_busy_timeout(c->db, TKW__SQLITE_BUSY_MS);
	if (rc)
		return rc;
	sqlite3_progress_handler(c->db, PATIENCE, is_unwanted, c);
	/* The connection has a mutex, unless SQLite was built or set up for one
	 * thread only. */
	s->has_threads = sqlite3_db_mutex(c->db) != NULL;
	c->is_running = s->has_threads && tkw__quiet_thread(&c->thread, run, c);
	/* Without a thread it takes longer. */
	if (!c->is_running)
		(void)run(c);
	return SQLITE_OK;
}

void tkw__sqlite_check_drop(struct tkw__sqlite *s)
{
	atomic_store(&s->check.is_unwanted, true);
	(void)tkw__sqlite_check_end(s);
}

int tkw__sqlite_check_end(struct tkw__sqlite *s)
{
	struct tkw__sqlite_check *c = &s->check;

	if (c->is_running)
		(void)pthread_join(c->thread, NULL);
	c->is_running = false;
	sqlite3_close(c->db);
	c->db = NULL;
	return c->rc;
}
