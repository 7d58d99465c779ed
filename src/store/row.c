/* SPDX-License-Identifier: MIT */
/* row.c - records to columns and back. The format is in row.h. */
#include "store/row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "queue/hash.h"
#include "queue/item.h"

enum {
	NONE = -1,
	CHECKSUM = 4
};

/* How many words the record has, and which of them have columns. */
static const struct shape {
	int8_t words;
	int8_t due;
	int8_t until;
} shapes[TKW__ROW_KINDS] = {
	[TKW__RECORD_PUT] = { 3, TKW__PUT_DUE, NONE },
	[TKW__RECORD_REPLACE] = { 4, TKW__PUT_DUE, NONE },
	[TKW__RECORD_TAKE] = { 2, NONE, TKW__TAKE_LEASE },
	[TKW__RECORD_EXTEND] = { 1, NONE, TKW__EXTEND_LEASE },
	[TKW__RECORD_ACK] = { 0, NONE, NONE },
	[TKW__RECORD_NACK] = { 2, TKW__NACK_DUE, NONE },
	[TKW__RECORD_DEAD] = { 1, NONE, TKW__DEAD_WHEN },
	[TKW__RECORD_CANCEL] = { 0, NONE, NONE },
	[TKW__RECORD_RESCHEDULE] = { 2, TKW__NACK_DUE, NONE },
	[TKW__RECORD_REVIVE] = { 2, TKW__NACK_DUE, NONE },
	[TKW__RECORD_PURGE] = { 0, NONE, NONE },
	[TKW__RECORD_PAUSE] = { 0, NONE, NONE },
	[TKW__RECORD_RESUME] = { 0, NONE, NONE },
	[TKW__RECORD_LIMIT] = { 3, NONE, NONE },
	[TKW__RECORD_TOTALS] = { TKW__RECORD_WORDS, NONE, NONE },
	[TKW__ROW_IDLE] = { 6, TKW__PUT_DUE, NONE },
	[TKW__ROW_TAKEN] = { 6, TKW__PUT_DUE, TKW__ITEM_OTHER },
	[TKW__ROW_DEAD] = { 6, TKW__PUT_DUE, TKW__ITEM_OTHER },
};
_Static_assert(TKW__ROW_IDLE + TKW__TAKEN == TKW__ROW_TAKEN &&
		       TKW__ROW_IDLE + TKW__DEAD == TKW__ROW_DEAD,
	       "the kind of an ITEM's row tells its state");

/* Written like this, each is one store. */
static uint8_t *put_4(uint8_t *at, uint32_t x)
{
	at[0] = (uint8_t)x;
	at[1] = (uint8_t)(x >> 8);
	at[2] = (uint8_t)(x >> 16);
	at[3] = (uint8_t)(x >> 24);
	return at + 4;
}

static uint8_t *put_8(uint8_t *at, uint64_t x)
{
	put_4(at, (uint32_t)x);
	return put_4(at + 4, (uint32_t)(x >> 32));
}

static uint8_t *put_number(uint8_t *at, uint64_t x)
{
	for (; x > 127; x >>= 7)
		*at++ = (uint8_t)(x | 128);
	*at++ = (uint8_t)x;
	return at;
}

/* Reads a number; 0 behind the end. */
static uint64_t get_number(const uint8_t **at, const uint8_t *end)
{
	uint64_t x = 0;

	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		uint8_t byte = *(*at)++;

		x |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			break;
	}
	return x;
}

static uint32_t checksum(const struct tkw__crc32c *crc,
			 const struct tkw__row *row)
{
	uint8_t head[12];

	put_4(put_8(head, row->seq), row->queue);
	return tkw__crc32c(crc, tkw__crc32c(crc, 0, head, sizeof(head)),
			   row->record, row->len);
}

/* Is this word in `more`? The last word of an ITEM is its kind and attempts. */
static bool is_in_more(int kind, int i)
{
	return i != shapes[kind].due && i != shapes[kind].until &&
	       !(kind >= TKW__ROW_IDLE && i == TKW__ITEM_STATE);
}

static void pack_more(const struct tkw__record *r, struct tkw__columns *c,
		      uint32_t sum)
{
	uint8_t *end = c->room; /* behind the last number that is not 0 */
	uint8_t *at = put_number(c->room, r->flags);

	if (r->flags)
		end = at;
	for (int i = 0; i < shapes[c->kind].words; i++) {
		if (!is_in_more(c->kind, i))
			continue;
		at = put_number(at, r->word[i]);
		if (r->word[i])
			end = at;
	}
	end = put_4(end, sum);
	c->more = (struct tkw__queue_text){ c->room, (size_t)(end - c->room) };
}

static int64_t word_or_null(const struct tkw__record *r, int i)
{
	return i == NONE ? -1 : (int64_t)r->word[i];
}

int tkw__row_pack(const struct tkw__crc32c *crc, const struct tkw__row *row,
		  struct tkw__columns *c)
{
	struct tkw__record r;
	bool item;

	if (tkw__record_read(&r, row->record, row->len) != (int64_t)row->len ||
	    row->len == 0)
		return -EINVAL;
	item = r.kind == TKW__RECORD_ITEM;
	c->seq = row->seq;
	c->queue = row->queue;
	c->kind = (int)r.kind;
	if (item)
		c->kind += (int)(uint32_t)r.word[TKW__ITEM_STATE];
	c->item = r.id ? (int64_t)r.id : -1;
	c->due = word_or_null(&r, shapes[c->kind].due);
	c->until = word_or_null(&r, shapes[c->kind].until);
	c->attempts = item ? (int64_t)(r.word[TKW__ITEM_STATE] >> 32) : -1;
	c->key = r.key;
	c->payload = r.payload;
	c->reason = r.reason;
	pack_more(&r, c, checksum(crc, row));
	return 0;
}

int tkw__row_make_room(struct tkw__row_room *room, size_t len)
{
	size_t more = room->size + room->size / 2;
	uint8_t *bytes;

	if (len <= room->size)
		return 0;
	if (len < more)
		len = more;
	bytes = realloc(room->bytes, len);
	if (!bytes)
		return -ENOMEM;
	room->bytes = bytes;
	room->size = len;
	return 0;
}

static size_t body_len(const struct tkw__columns *c)
{
	size_t len = c->key.len + c->reason.len + c->payload.len;

	return len ? len + 4 : 0;
}

static uint64_t word_of(const struct tkw__columns *c, int i, const uint8_t **at,
			const uint8_t *end)
{
	if (i == shapes[c->kind].due)
		return (uint64_t)c->due;
	if (i == shapes[c->kind].until)
		return (uint64_t)c->until;
	if (!is_in_more(c->kind, i))
		return (uint64_t)(c->kind - TKW__ROW_IDLE) |
		       (uint64_t)c->attempts << 32;
	return get_number(at, end);
}

static uint8_t *put_text(uint8_t *at, struct tkw__queue_text t)
{
	if (t.len)
		memcpy(at, t.at, t.len);
	return at + t.len;
}

static void put_record(const struct tkw__columns *c, uint8_t *to, size_t len)
{
	const uint8_t *at = c->more.at;
	const uint8_t *end = at + c->more.len - CHECKSUM;
	uint32_t kind =
		c->kind < TKW__ROW_IDLE ? (uint32_t)c->kind : TKW__RECORD_ITEM;
	uint32_t flags = (uint32_t)get_number(&at, end);

	to = put_4(to, (uint32_t)len);
	to = put_4(to, kind | TKW__RECORD_VERSION << 8 | flags << 16);
	to = put_8(to, c->item < 0 ? 0 : (uint64_t)c->item);
	for (int i = 0; i < shapes[c->kind].words; i++)
		to = put_8(to, word_of(c, i, &at, end));
	if (body_len(c)) {
		to = put_4(to, (uint8_t)c->key.len |
				       (uint32_t)(uint8_t)c->reason.len << 8);
		put_text(put_text(put_text(to, c->key), c->reason), c->payload);
	}
}

int tkw__row_unpack(const struct tkw__crc32c *crc, const struct tkw__columns *c,
		    struct tkw__row_room *room, struct tkw__row *row)
{
	size_t len;
	const uint8_t *sum;

	if (c->kind <= 0 || c->kind >= TKW__ROW_KINDS || c->more.len < CHECKSUM)
		return -EBADMSG;
	len = TKW__RECORD_HEADER + (size_t)shapes[c->kind].words * 8 +
	      body_len(c);
	if (tkw__row_make_room(room, len) != 0)
		return -ENOMEM;
	put_record(c, room->bytes, len);
	*row = (struct tkw__row){ .seq = c->seq,
				  .queue = c->queue,
				  .record = room->bytes,
				  .len = len };
	sum = (const uint8_t *)c->more.at + c->more.len - CHECKSUM;
	return checksum(crc, row) == tkw__le_bytes(sum, CHECKSUM) ? 0
								  : -EBADMSG;
}
