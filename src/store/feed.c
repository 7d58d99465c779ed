/* SPDX-License-Identifier: MIT */
/* feed.c - the virtual table tkw_batch. */
#include "store/feed.h"

#include <stdlib.h>

#include "store/row.h"

struct table {
	sqlite3_vtab base;
	struct tkw__feed *feed;
};

struct cursor {
	sqlite3_vtab_cursor base;
	size_t at;
	uint64_t seq; /* of the next row */
	struct tkw__columns now;
};

enum column {
	QUEUE,
	ITEM,
	KIND,
	DUE,
	UNTIL,
	ATTEMPTS,
	KEY,
	PAYLOAD,
	REASON,
	MORE,
	SEQ /* not in * */
};

/* NOLINTNEXTLINE(readability-function-size): SQLite's parameters */
static int feed_connect(sqlite3 *db, void *aux, int argc,
			const char *const *argv, sqlite3_vtab **out,
			char **error)
{
	struct table *t;
	int rc = sqlite3_declare_vtab(
		db, "CREATE TABLE x(queue, item, kind, due, until, attempts, "
		    "key, payload, reason, more, seq HIDDEN)");

	(void)argc;
	(void)argv;
	(void)error;
	if (rc != SQLITE_OK)
		return rc;
	t = calloc(1, sizeof(*t));
	if (!t)
		return SQLITE_NOMEM;
	t->feed = aux;
	*out = &t->base;
	/* Nobody's view or trigger may use it. */
	return sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
}

static int feed_disconnect(sqlite3_vtab *t)
{
	free(t);
	return SQLITE_OK;
}

static int feed_best_index(sqlite3_vtab *t, sqlite3_index_info *info)
{
	(void)t;
	info->estimatedCost = 1;
	return SQLITE_OK;
}

static int feed_open(sqlite3_vtab *t, sqlite3_vtab_cursor **out)
{
	struct cursor *c = calloc(1, sizeof(*c));

	(void)t;
	if (!c)
		return SQLITE_NOMEM;
	*out = (sqlite3_vtab_cursor *)c; /* its first member */
	return SQLITE_OK;
}

static int feed_close(sqlite3_vtab_cursor *c)
{
	free(c);
	return SQLITE_OK;
}

static struct tkw__feed *feed_of(const struct cursor *c)
{
	return ((struct table *)c->base.pVtab)->feed;
}

/* Packs the next record. */
static int feed_settle(struct cursor *c)
{
	struct tkw__feed *f = feed_of(c);
	struct tkw__row row;

	while (c->at < f->count && f->rows[c->at].name)
		c->at++;
	if (c->at == f->count)
		return SQLITE_OK;
	row = f->rows[c->at];
	row.seq = c->seq++;
	if (tkw__row_pack(f->crc, &row, &c->now) == 0)
		return SQLITE_OK;
	f->illegal = true;
	return SQLITE_MISUSE;
}

static int feed_filter(sqlite3_vtab_cursor *base, int index,
		       const char *index_text, int argc, sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)base;

	(void)index;
	(void)index_text;
	(void)argc;
	(void)argv;
	c->at = 0;
	c->seq = feed_of(c)->seq;
	return feed_settle(c);
}

static int feed_next(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	c->at++;
	return feed_settle(c);
}

static int feed_eof(sqlite3_vtab_cursor *base)
{
	const struct cursor *c = (struct cursor *)base;

	return c->at == feed_of(c)->count;
}

static void give_number(sqlite3_context *to, int64_t x)
{
	if (x >= 0)
		sqlite3_result_int64(to, x);
}

/* The bytes stay where they are until the statement has copied them. */
static void give_text(sqlite3_context *to, struct tkw__queue_text t)
{
	if (t.len)
		sqlite3_result_blob64(to, t.at, t.len, SQLITE_STATIC);
}

static int feed_column(sqlite3_vtab_cursor *base, sqlite3_context *to, int i)
{
	const struct tkw__columns *c = &((struct cursor *)base)->now;

	switch ((enum column)i) {
	case QUEUE:
		give_number(to, c->queue);
		break;
	case ITEM:
		give_number(to, c->item);
		break;
	case KIND:
		give_number(to, c->kind);
		break;
	case DUE:
		give_number(to, c->due);
		break;
	case UNTIL:
		give_number(to, c->until);
		break;
	case ATTEMPTS:
		give_number(to, c->attempts);
		break;
	case KEY:
		give_text(to, c->key);
		break;
	case PAYLOAD:
		give_text(to, c->payload);
		break;
	case REASON:
		give_text(to, c->reason);
		break;
	case MORE:
		give_text(to, c->more);
		break;
	case SEQ:
		give_number(to, (int64_t)c->seq);
		break;
	}
	return SQLITE_OK;
}

static int feed_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
	*id = (sqlite3_int64)((struct cursor *)base)->at;
	return SQLITE_OK;
}

/* Without xCreate, the table exists by itself, under the module's name. */
static const sqlite3_module module = {
	.xConnect = feed_connect,
	.xBestIndex = feed_best_index,
	.xDisconnect = feed_disconnect,
	.xOpen = feed_open,
	.xClose = feed_close,
	.xFilter = feed_filter,
	.xNext = feed_next,
	.xEof = feed_eof,
	.xColumn = feed_column,
	.xRowid = feed_rowid,
};

int tkw__feed_open(sqlite3 *db, struct tkw__feed *feed)
{
	return sqlite3_create_module(db, "tkw_batch", &module, feed);
}
