/* SPDX-License-Identifier: MIT */
/*
 * record.h - what changed, as bytes.
 *
 * A record, all numbers little endian:
 *
 *   offset  bytes
 *   0       4      the length of the whole record
 *   4       1      the kind
 *   5       1      the version, 1
 *   6       2      flags
 *   8       8      the id of the item; 0 if the record is about the queue
 *   16      8 * n  words; how many, and what they mean, depends on the kind
 *   ...            only kinds with a body, and only if it is not empty:
 *           1      the length of the key
 *           1      the length of the reason
 *           2      0
 *           ...    the key, the reason, and then the payload up to the end
 *
 * All times are UNIX times. The records of a command follow each other; each
 * but the last has the flag TKW__RECORD_MORE. So a reader can tell a whole
 * command from one that was cut off. Old records may be dropped, but only whole
 * commands.
 *
 *   kind        words                                        body
 *   PUT         due, options, max back-off                   key, payload
 *   REPLACE     due, options, max back-off, sequence         key, payload
 *   TAKE        token, end of the lease
 *   EXTEND      end of the lease
 *   ACK
 *   NACK        due, sequence                                reason
 *   DEAD        when it died                                 reason
 *   CANCEL
 *   RESCHEDULE  due, sequence
 *   REVIVE      due, sequence
 *   PURGE
 *   PAUSE
 *   RESUME
 *   LIMIT       items, bytes, payload
 *   TOTALS      struct tkw__queue_totals                     (snapshots)
 *   ITEM        due, options, max back-off, other, token,    key, reason,
 *               state                                        payload
 *
 * options: the largest number of attempts, and the first back-off in the upper
 * half. state of ITEM: the state, and the attempts in the upper half. other of
 * ITEM: idle: the sequence; taken: the end of the lease; dead: when it died.
 * The sequence of a PUT is its id. The kinds from 32 to 47 are reserved for the
 * plans of a calendar, which does not exist yet.
 */
#ifndef TKW_QUEUE_RECORD_H
#define TKW_QUEUE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "queue/heart.h"

enum tkw__record_kind {
	TKW__RECORD_PUT = 1,
	TKW__RECORD_REPLACE,
	TKW__RECORD_TAKE,
	TKW__RECORD_EXTEND,
	TKW__RECORD_ACK,
	TKW__RECORD_NACK,
	TKW__RECORD_DEAD,
	TKW__RECORD_CANCEL,
	TKW__RECORD_RESCHEDULE,
	TKW__RECORD_REVIVE,
	TKW__RECORD_PURGE,
	TKW__RECORD_PAUSE,
	TKW__RECORD_RESUME,
	TKW__RECORD_LIMIT,
	TKW__RECORD_TOTALS,
	TKW__RECORD_ITEM,
	TKW__RECORD_KINDS,
	/* SPEC 12.4: reserved. */
	TKW__RECORD_FIRST_PLAN = 32,
	TKW__RECORD_LAST_PLAN = 47
};

enum {
	TKW__RECORD_VERSION = 1,
	TKW__RECORD_HEADER = 16,
	TKW__RECORD_WORDS = 18, /* at most */
	/* Flags. */
	TKW__RECORD_MORE = 1, /* the command goes on in the next record */
	TKW__RECORD_LOST = 2, /* NACK, DEAD, ITEM: by a lease that ran out */
	/* ITEM: the sequence is the end of that lease, not a number. */
	TKW__RECORD_TIMED = 4
};
_Static_assert(sizeof(struct tkw__queue_totals) / 8 == TKW__RECORD_WORDS,
	       "the totals are words");

/* Words by kind. */
enum {
	TKW__PUT_DUE = 0, /* also of REPLACE and ITEM */
	TKW__PUT_OPTIONS = 1,
	TKW__PUT_MAX_BACKOFF = 2,
	TKW__REPLACE_SEQ = 3,
	TKW__TAKE_TOKEN = 0,
	TKW__TAKE_LEASE = 1,
	TKW__EXTEND_LEASE = 0,
	TKW__NACK_DUE = 0, /* also of RESCHEDULE and REVIVE */
	TKW__NACK_SEQ = 1,
	TKW__DEAD_WHEN = 0,
	TKW__LIMIT_ITEMS = 0,
	TKW__LIMIT_BYTES = 1,
	TKW__LIMIT_PAYLOAD = 2,
	TKW__ITEM_OTHER = 3,
	TKW__ITEM_TOKEN = 4,
	TKW__ITEM_STATE = 5
};

struct tkw__item;

/* A record as a struct. Its texts point into the bytes that were read, or to
 * memory of the caller. */
struct tkw__record {
	enum tkw__record_kind kind;
	uint16_t flags;
	uint64_t id;
	uint64_t word[TKW__RECORD_WORDS];
	struct tkw__queue_text key;
	struct tkw__queue_text reason;
	struct tkw__queue_text payload;
	/* The item, if a command has found it already. Not in the bytes. */
	struct tkw__item *item;
};

struct tkw__queue;

/* True if the numbers of a record are in range. They are not if a counter has
 * no number left. */
bool tkw__record_is_legal(const struct tkw__record *r);

/* Appends a record to a log. Returns 0 or -ENOMEM. */
int tkw__record_write(const struct tkw__queue *q, struct tkw__queue_log *log,
		      const struct tkw__record *r);

/*
 * Reads the record at the start of some bytes.
 *
 * Returns its length; 0 if the bytes end before it does; -EBADMSG if it is not
 * a record.
 */
int64_t tkw__record_read(struct tkw__record *r, const uint8_t *bytes,
			 size_t len);

#endif /* TKW_QUEUE_RECORD_H */
