/* SPDX-License-Identifier: MIT */
/*
 * kept.h - rows in memory, while their table is emptied
 *
 * To delete rows, SQLite writes each of their pages. To empty a table, it only
 * notes that its pages are free. So if few of many rows stay, these are read
 * into memory, the table is emptied, and they are inserted again.
 */
#ifndef TKW_STORE_KEPT_H
#define TKW_STORE_KEPT_H

#include <stddef.h>

#include "store/row.h"
#include "store/store.h"

/* Set max, and all else to zero. */
struct tkw__kept {
	struct tkw__row *rows;
	size_t count;
	size_t max; /* bytes of all records, at most */
	/* Private: */
	size_t room; /* of rows */
	size_t len;
	struct tkw__row_room bytes;
};

/*
 * Adds a copy of a row that has a record; a tkw__row_fn. Until tkw__kept_end(),
 * `rows` is not valid.
 *
 * Returns 0, or
 *   -EFBIG   there is too much
 *   -ENOMEM
 */
int tkw__kept_add(const struct tkw__row *row, void *kept);

/* Ends the adding. */
void tkw__kept_end(struct tkw__kept *k);

void tkw__kept_free(struct tkw__kept *k);

#endif /* TKW_STORE_KEPT_H */
