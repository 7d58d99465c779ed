/* SPDX-License-Identifier: MIT */
/*
 * feed.h - a batch as a table of SQLite, so that one statement inserts it.
 *
 * A statement for each row costs more than the row: it begins and ends, seeks
 * the end of the table, and its values are set one by one. So the batch is a
 * virtual table, `tkw_batch`, and SQLite asks it for rows.
 */
#ifndef TKW_STORE_FEED_H
#define TKW_STORE_FEED_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "store/crc32c.h"
#include "store/store.h"

/* What the table shows. */
struct tkw__feed {
	const struct tkw__crc32c *crc;
	const struct tkw__row *rows; /* names are left out */
	size_t count;
	uint64_t seq; /* of the first one */
	bool illegal; /* a row was not a record */
};

/* Makes the table, as long as db is open. Returns a code of SQLite. */
int tkw__feed_open(sqlite3 *db, struct tkw__feed *feed);

/* Inserts all rows of tkw_batch. SQLite numbers them. */
#define TKW__FEED_INSERT                                                       \
	"INSERT INTO journal(queue, item, kind, due, until, attempts, key, "   \
	"payload, reason, more) SELECT * FROM tkw_batch"

/* The same, with the numbers that begin with `seq`. */
#define TKW__FEED_INSERT_AGAIN                                                 \
	"INSERT INTO journal SELECT seq, * FROM tkw_batch"

#endif /* TKW_STORE_FEED_H */
