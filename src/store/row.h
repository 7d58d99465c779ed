/* SPDX-License-Identifier: MIT */
/*
 * row.h - a record as a row of the table `journal`, and back.
 *
 * What people want to see has a column of its own. The rest is in `more`.
 *
 *   kind      the kind of the record; an ITEM is 16, 17 or 18, and a
 *             PLANNED_ITEM is 38, 39 or 40, by its state
 *   item      the id of the item, or of the plan; NULL if the record is about
 *             the queue
 *   due       PUT, REPLACE, NACK, RESCHEDULE, REVIVE, ITEM, PLANNED,
 *             PLANNED_ITEM: when it is due
 *   until     TAKE, EXTEND, ITEM 17, PLANNED_ITEM 39: the end of the lease;
 *             DEAD, ITEM 18, PLANNED_ITEM 40: when it died
 *   attempts  ITEM, PLANNED_ITEM: how often it was taken
 *   key, payload, reason
 *             NULL if empty. Of a plan, the key is its name, and the reason is
 *             its text.
 *   more      numbers, and in the last four bytes the checksum
 *
 * The numbers are: the flags of the record, and then its words that have no
 * column, in their order. Each number is written in groups of seven bits, the
 * lowest first, one group in a byte; a byte with its highest bit set is
 * followed by another one. Zeros at the end are left out. So an ack has none,
 * unless it has the flag that its command goes on. If a plan has a zone, its
 * bytes follow the numbers, and no number is left out.
 *
 * The checksum, little endian, is the CRC-32C of seq (8 bytes, little endian),
 * queue (4 bytes, little endian) and the bytes of the record.
 */
#ifndef TKW_STORE_ROW_H
#define TKW_STORE_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "queue/record.h"
#include "store/crc32c.h"
#include "store/store.h"

enum {
	TKW__ROW_IDLE = TKW__RECORD_ITEM, /* kinds of rows for ITEM */
	TKW__ROW_TAKEN,
	TKW__ROW_DEAD,
	TKW__ROW_PLANNED_IDLE = TKW__RECORD_PLANNED_ITEM, /* the same */
	TKW__ROW_PLANNED_TAKEN,
	TKW__ROW_PLANNED_DEAD,
	TKW__ROW_KINDS,
	/* The flags, the words, the zone, the checksum. */
	TKW__ROW_MORE = 3 + 10 * TKW__RECORD_WORDS + TKW__QUEUE_MAX_ZONE + 4
};

/* The columns. A number that is NULL is negative; a text that is NULL has no
 * bytes. */
struct tkw__columns {
	uint64_t seq;
	uint32_t queue;
	int kind;
	int64_t item;
	int64_t due;
	int64_t until;
	int64_t attempts;
	struct tkw__queue_text key;
	struct tkw__queue_text payload;
	struct tkw__queue_text reason;
	struct tkw__queue_text more;
	uint8_t room[TKW__ROW_MORE]; /* tkw__row_pack() writes `more` to it */
};

/* Memory for records. All zero is empty. */
struct tkw__row_room {
	uint8_t *bytes;
	size_t size;
};

/* Makes room for at least len bytes, and for half as much again as there was:
 * the room may grow byte by byte. What is in it stays. Returns 0 or -ENOMEM. */
int tkw__row_make_room(struct tkw__row_room *room, size_t len);

/* True if rows of this kind are known. */
bool tkw__row_is_known(int kind);

/* Makes columns of row, whose texts point into the record. Returns 0, or
 * -EINVAL if it is not a record. */
int tkw__row_pack(const struct tkw__crc32c *crc, const struct tkw__row *row,
		  struct tkw__columns *c);

/*
 * Puts the record together again. In the columns, a number that is NULL may
 * also be 0.
 *
 * row  Receives the row. Its record is in `room`.
 *
 * Returns 0, or
 *   -EBADMSG  the kind is not known, or the checksum is wrong
 *   -ENOMEM
 */
int tkw__row_unpack(const struct tkw__crc32c *crc, const struct tkw__columns *c,
		    struct tkw__row_room *room, struct tkw__row *row);

#endif /* TKW_STORE_ROW_H */
