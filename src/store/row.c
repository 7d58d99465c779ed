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

/* How many words the record has, and which of them have columns. The state of
 * an item is in its kind and its attempts. No known kind has a state of 0. */
static const struct shape {
	int8_t words;
	int8_t due;
	int8_t until;
	int8_t state;
} shapes[TKW__ROW_KINDS] = {
	[TKW__RECORD_PUT] = { 3, TKW__PUT_DUE, NONE, NONE },
	[TKW__RECORD_REPLACE] = { 4, TKW__PUT_DUE, NONE, NONE },
	[TKW__RECORD_TAKE] = { 2, NONE, TKW__TAKE_LEASE, NONE },
	[TKW__RECORD_EXTEND] = { 1, NONE, TKW__EXTEND_LEASE, NONE },
	[TKW__RECORD_ACK] = { 0, NONE, NONE, NONE },
	[TKW__RECORD_NACK] = { 2, TKW__NACK_DUE, NONE, NONE },
	[TKW__RECORD_DEAD] = { 1, NONE, TKW__DEAD_WHEN, NONE },
	[TKW__RECORD_CANCEL] = { 0, NONE, NONE, NONE },
	[TKW__RECORD_RESCHEDULE] = { 2, TKW__NACK_DUE, NONE, NONE },
	[TKW__RECORD_REVIVE] = { 2, TKW__NACK_DUE, NONE, NONE },
	[TKW__RECORD_PURGE] = { 0, NONE, NONE, NONE },
	[TKW__RECORD_PAUSE] = { 0, NONE, NONE, NONE },
	[TKW__RECORD_RESUME] = { 0, NONE, NONE, NONE },
	[TKW__RECORD_LIMIT] = { 3, NONE, NONE, NONE },
	[TKW__RECORD_TOTALS] = { TKW__RECORD_WORDS, NONE, NONE, NONE },
	[TKW__ROW_IDLE] = { 6, TKW__PUT_DUE, NONE, TKW__ITEM_STATE },
	[TKW__ROW_TAKEN] = { 6, TKW__PUT_DUE, TKW__ITEM_OTHER,
			     TKW__ITEM_STATE },
	[TKW__ROW_DEAD] = { 6, TKW__PUT_DUE, TKW__ITEM_OTHER, TKW__ITEM_STATE },
	[TKW__RECORD_PLAN] = { 4, NONE, NONE, NONE },
	[TKW__RECORD_REPLAN] = { 4, NONE, NONE, NONE },
	[TKW__RECORD_UNPLAN] = { 0, NONE, NONE, NONE },
	[TKW__RECORD_STEP] = { 5, NONE, NONE, NONE },
	[TKW__RECORD_PLAN_FACTS] = { 9, NONE, NONE, NONE },
	[TKW__RECORD_PLANNED] = { 4, TKW__PUT_DUE, NONE, NONE },
	[TKW__ROW_PLANNED_IDLE] = { 8, TKW__PUT_DUE, NONE, TKW__ITEM_STATE },
	[TKW__ROW_PLANNED_TAKEN] = { 8, TKW__PUT_DUE, TKW__ITEM_OTHER,
				     TKW__ITEM_STATE },
	[TKW__ROW_PLANNED_DEAD] = { 8, TKW__PUT_DUE, TKW__ITEM_OTHER,
				    TKW__ITEM_STATE },
};
_Static_assert(TKW__ROW_IDLE + TKW__TAKEN == TKW__ROW_TAKEN &&
		       TKW__ROW_IDLE + TKW__DEAD == TKW__ROW_DEAD &&
		       TKW__ROW_PLANNED_IDLE + TKW__DEAD ==
			       TKW__ROW_PLANNED_DEAD,
	       "the kind of an ITEM's row tells its state");

bool tkw__row_is_known(int kind)
{
	return kind > 0 && kind < TKW__ROW_KINDS && shapes[kind].state != 0;
}

/* The kind of the record of a row. It differs for items of a snapshot. */
static int record_kind(int kind)
{
	if (kind >= TKW__ROW_PLANNED_IDLE)
		return TKW__RECORD_PLANNED_ITEM;
	return kind >= TKW__ROW_IDLE && kind <= TKW__ROW_DEAD ? TKW__RECORD_ITEM
							      : kind;
}

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

static uint8_t *put_text(uint8_t *at, struct tkw__queue_text t)
{
	if (t.len)
		memcpy(at, t.at, t.len);
	return at + t.len;
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

/* Is this word in `more`? */
static bool is_in_more(int kind, int i)
{
	const struct shape *s = &shapes[kind];

	return i != s->due && i != s->until && i != s->state;
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
	if (r->zone.len)
		end = put_text(at, r->zone);
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
	item = shapes[r.kind].state != NONE;
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

/* The zone of a plan is what follows the numbers. */
static struct tkw__queue_text zone_of(const struct tkw__columns *c)
{
	const uint8_t *at = c->more.at;
	const uint8_t *end = at + c->more.len - CHECKSUM;

	if (c->kind != TKW__RECORD_PLAN && c->kind != TKW__RECORD_REPLAN &&
	    c->kind != TKW__RECORD_PLAN_FACTS)
		return (struct tkw__queue_text){ NULL, 0 };
	for (int i = 0; i <= shapes[c->kind].words; i++)
		(void)get_number(&at, end);
	return (struct tkw__queue_text){ at, (size_t)(end - at) };
}

static size_t body_len(const struct tkw__columns *c,
		       struct tkw__queue_text zone)
{
	size_t len = c->key.len + c->reason.len + zone.len + c->payload.len;

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
		return (uint64_t)(c->kind - record_kind(c->kind)) |
		       (uint64_t)c->attempts << 32;
	return get_number(at, end);
}

static void put_body(const struct tkw__columns *c, uint8_t *to,
		     struct tkw__queue_text zone)
{
	to = put_4(to, (uint8_t)c->key.len |
			       (uint32_t)(uint8_t)c->reason.len << 8 |
			       (uint32_t)(uint8_t)zone.len << 16);
	to = put_text(put_text(to, c->key), c->reason);
	put_text(put_text(to, zone), c->payload);
}

static void put_record(const struct tkw__columns *c, uint8_t *to, size_t len,
		       struct tkw__queue_text zone)
{
	const uint8_t *at = c->more.at;
	const uint8_t *end = at + c->more.len - CHECKSUM;
	uint32_t flags = (uint32_t)get_number(&at, end);

	to = put_4(to, (uint32_t)len);
	to = put_4(to, (uint32_t)record_kind(c->kind) |
			       TKW__RECORD_VERSION << 8 | flags << 16);
	to = put_8(to, c->item < 0 ? 0 : (uint64_t)c->item);
	for (int i = 0; i < shapes[c->kind].words; i++)
		to = put_8(to, word_of(c, i, &at, end));
	if (body_len(c, zone))
		put_body(c, to, zone);
}

int tkw__row_unpack(const struct tkw__crc32c *crc, const struct tkw__columns *c,
		    struct tkw__row_room *room, struct tkw__row *row)
{
	struct tkw__queue_text zone;
	const uint8_t *sum;
	size_t len;

	if (!tkw__row_is_known(c->kind) || c->more.len < CHECKSUM)
		return -EBADMSG;
	zone = zone_of(c);
	len = TKW__RECORD_HEADER + (size_t)shapes[c->kind].words * 8 +
	      body_len(c, zone);
	if (tkw__row_make_room(room, len) != 0)
		return -ENOMEM;
	put_record(c, room->bytes, len, zone);
	*row = (struct tkw__row){ .seq = c->seq,
				  .queue = c->queue,
				  .record = room->bytes,
				  .len = len };
	sum = (const uint8_t *)c->more.at + c->more.len - CHECKSUM;
	return checksum(crc, row) == tkw__le_bytes(sum, CHECKSUM) ? 0
								  : -EBADMSG;
}
