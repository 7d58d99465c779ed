/* SPDX-License-Identifier: MIT */
/*
 * sqlite_replay.c - reads the journal.
 *
 * The numbers of the rows follow each other, and each row has a checksum over
 * its number, its queue and its record. So a row that is missing, twice there
 * or changed is found.
 *
 * A second thread reads a long journal. Then only this thread uses the
 * connection, until it has ended. If SQLite is built for one thread, or no
 * thread can be started, the caller's thread reads.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/conveyor.h"
#include "store/sqlite.h"

enum {
	LONG_JOURNAL = 10000 /* rows */
};

static struct tkw__queue_text text_at(sqlite3_stmt *stmt, int i)
{
	const void *at = sqlite3_column_blob(stmt, i);

	return (struct tkw__queue_text){ at, (size_t)sqlite3_column_bytes(stmt,
									  i) };
}

static void read_columns(sqlite3_stmt *stmt, struct tkw__columns *c)
{
	c->seq = (uint64_t)sqlite3_column_int64(stmt, 0);
	c->queue = (uint32_t)sqlite3_column_int64(stmt, 1);
	c->item = sqlite3_column_int64(stmt, 2);
	c->kind = sqlite3_column_int(stmt, 3);
	c->due = sqlite3_column_int64(stmt, 4);
	c->until = sqlite3_column_int64(stmt, 5);
	c->attempts = sqlite3_column_int64(stmt, 6);
	c->key = text_at(stmt, 7);
	c->payload = text_at(stmt, 8);
	c->reason = text_at(stmt, 9);
	c->more = text_at(stmt, 10);
}

/* Ends a statement whose last step returned rc. Returns 0 or -errno. */
static int end_reading(struct tkw__sqlite *s, sqlite3_stmt *stmt, int rc)
{
	int err = rc == SQLITE_DONE || rc == SQLITE_ROW
			  ? 0
			  : tkw__sqlite_note(s, rc);

	sqlite3_finalize(stmt);
	return err;
}

static int damaged(struct tkw__sqlite *s, const char *what, uint64_t seq)
{
	snprintf(s->why, sizeof(s->why), "%s %llu", what,
		 (unsigned long long)seq);
	s->store.why = s->why;
	return -EBADMSG;
}

static int replay_names(struct tkw__sqlite *s, tkw__row_fn *fn, void *ctx)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(
		s->db, "SELECT number, name, sum FROM queue ORDER BY number",
		-1, &stmt, NULL);
	int err = 0;

	if (rc != SQLITE_OK)
		return tkw__sqlite_note(s, rc);
	while (!err && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct tkw__row row = {
			.queue = (uint32_t)sqlite3_column_int64(stmt, 0),
			.name = (const char *)sqlite3_column_text(stmt, 1),
		};
		int len = sqlite3_column_bytes(stmt, 1);

		if (!row.name || (size_t)len != strlen(row.name) ||
		    tkw__sqlite_name_sum(s, row.queue, row.name, (size_t)len) !=
			    (uint32_t)sqlite3_column_int64(stmt, 2))
			err = damaged(s, "damaged name of queue", row.queue);
		else
			err = fn(&row, ctx);
	}
	rc = end_reading(s, stmt, rc);
	return err ? err : rc;
}

/* One row. seq is the number that it must have. */
static int replay_row(struct tkw__sqlite *s, sqlite3_stmt *stmt, uint64_t seq,
		      struct tkw__row *row)
{
	struct tkw__columns c;
	int err;

	read_columns(stmt, &c);
	if (c.seq != seq)
		return damaged(s, "no row of the journal has number", seq);
	if (!tkw__row_is_known(c.kind))
		return damaged(s,
			       "this library does not know the kind of the "
			       "row of the journal with number",
			       seq);
	err = tkw__row_unpack(&s->crc, &c, &s->room, row);
	if (err == -EBADMSG)
		return damaged(s, "damaged row of the journal, number", seq);
	return err;
}

int tkw__sqlite_read_rows(struct tkw__sqlite *s, uint64_t seq, tkw__row_fn *fn,
			  void *ctx)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(s->db,
				    "SELECT seq, queue, item, kind, due, "
				    "until, attempts, key, payload, reason, "
				    "more FROM journal WHERE seq >= ?1 "
				    "ORDER BY seq",
				    -1, &stmt, NULL);
	struct tkw__row row;
	int err = 0;

	if (rc != SQLITE_OK)
		return tkw__sqlite_note(s, rc);
	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)seq);
	while (!err && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		err = replay_row(s, stmt, seq++, &row);
		if (!err)
			err = fn(&row, ctx);
	}
	rc = end_reading(s, stmt, rc);
	if (!err && !rc && seq <= s->base.whole)
		err = damaged(s, "no row of the journal has number", seq);
	return err ? err : rc;
}

/* Reads the journal; see tkw__read_fn. */
static int replay_rows(void *arg, tkw__row_fn *fn, void *ctx)
{
	struct tkw__sqlite *s = arg;

	return tkw__sqlite_read_rows(s, s->base.first ? s->base.first : 1, fn,
				     ctx);
}

/* What the caller has said about the rows. */
struct verdict {
	tkw__row_fn *fn;
	void *ctx;
	int err;
};

static int apply_row(const struct tkw__row *row, void *ctx)
{
	struct verdict *v = ctx;

	v->err = v->fn(row, v->ctx);
	return v->err;
}

int tkw__sqlite_replay(struct tkw__store *store, tkw__row_fn *fn,
		       struct tkw__base *base, void *ctx)
{
	struct tkw__sqlite *s = tkw__sqlite_of(store);
	struct verdict v = { fn, ctx, 0 };
	int err;
	int rc;

	*base = s->base;
	err = replay_names(s, apply_row, &v);
	if (!err && s->has_threads && s->last > s->base.first + LONG_JOURNAL)
		err = tkw__convey(replay_rows, s, apply_row, &v);
	else if (!err)
		err = replay_rows(s, apply_row, &v);
	/* The reader may be ahead, and may have found something else. */
	if (v.err)
		s->store.why = "";
	if (err == -EBADMSG) {
		tkw__sqlite_check_drop(s);
		return err;
	}
	/* What the replay takes for an error of the disk may be damage. */
	rc = tkw__sqlite_check_end(s);
	if (rc) {
		s->store.why = s->check.why;
		err = tkw__sqlite_errno(s->db, rc);
	}
	return err;
}
