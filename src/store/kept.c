/* SPDX-License-Identifier: MIT */
/* kept.c - rows in memory: see kept.h. */
#include "store/kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int make_room(struct tkw__kept *k)
{
	size_t room = k->room ? k->room * 2 : 64;
	struct tkw__row *rows;

	if (k->count < k->room)
		return 0;
	rows = realloc(k->rows, room * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	k->rows = rows;
	k->room = room;
	return 0;
}

int tkw__kept_add(const struct tkw__row *row, void *kept)
{
	struct tkw__kept *k = kept;
	int err;

	if (row->len > k->max - k->len)
		return -EFBIG;
	err = make_room(k);
	if (!err)
		err = tkw__row_make_room(&k->bytes, k->len + row->len);
	if (err)
		return err;
	memcpy(k->bytes.bytes + k->len, row->record, row->len);
	k->rows[k->count++] = *row;
	k->len += row->len;
	return 0;
}

/* The bytes may have moved while they grew. */
void tkw__kept_end(struct tkw__kept *k)
{
	const uint8_t *at = k->bytes.bytes;

	for (size_t i = 0; i < k->count; i++) {
		k->rows[i].record = at;
		at += k->rows[i].len;
	}
}

void tkw__kept_free(struct tkw__kept *k)
{
	free(k->rows);
	free(k->bytes.bytes);
}
