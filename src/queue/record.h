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
 *           1      the length of the zone
 *           1      0
 *           ...    the key, the reason, the zone, and then the payload up to
 *                  the end
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
 * The sequence of a PUT is its id.
 *
 * The kinds from 32 to 47 are about plans. PLANNED and PLANNED_ITEM are PUT and
 * ITEM for items of a plan. The others have the id of a plan, its name as the
 * key, and the text of the plan as the reason.
 *
 *   kind          words                                      body
 *   PLAN          grace, policy, options, max back-off       name, text, zone,
 *                                                            payload
 *   REPLAN        the same, for a plan that is there         the same
 *   UNPLAN                                                   name
 *   STEP          decided, status, runs, missed, overlaps    name
 *   PLAN_FACTS    those of PLAN, those of STEP (snapshots)   as PLAN
 *   PLANNED       planned, options, max back-off,            key, payload
 *                 id of the plan
 *   PLANNED_ITEM  those of ITEM, planned, id of the plan     as ITEM
 *                 (snapshots)
 *
 * The planned time of PLANNED is also when it is due.
 *
 * policy: enum tkw__queue_misfire, TKW__POLICY flags, and max_missed in the
 * upper half. status: the error, positive, and TKW__STATUS flags.
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
	TKW__RECORD_PLAN = 32,
	TKW__RECORD_REPLAN,
	TKW__RECORD_UNPLAN,
	TKW__RECORD_STEP,
	TKW__RECORD_PLAN_FACTS,
	TKW__RECORD_PLANNED,
	TKW__RECORD_PLANNED_ITEM,
	TKW__RECORD_PLAN_KINDS
};

enum {
	TKW__RECORD_VERSION = 1,
	TKW__RECORD_HEADER = 16,
	TKW__RECORD_WORDS = 18, /* at most */
	/* Flags. */
	TKW__RECORD_MORE = 1, /* the command goes on in the next record */
	TKW__RECORD_LOST = 2, /* NACK, DEAD, ITEM: by a lease that ran out */
	/* ITEM: the sequence is the end of that lease, not a number. */
	TKW__RECORD_TIMED = 4,
	/* PLANNED_ITEM: the item was taken at least once. */
	TKW__RECORD_STARTED = 8
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
	TKW__ITEM_STATE = 5,
	TKW__ITEM_PLANNED = 6,
	TKW__ITEM_PLAN = 7,
	TKW__PLANNED_PLAN = 3,
	TKW__PLAN_GRACE = 0, /* also of REPLAN and PLAN_FACTS */
	TKW__PLAN_POLICY = 1,
	TKW__PLAN_OPTIONS = 2,
	TKW__PLAN_MAX_BACKOFF = 3,
	TKW__PLAN_STATE = 4, /* PLAN_FACTS: where the words of STEP begin */
	TKW__STEP_DECIDED = 0,
	TKW__STEP_STATUS = 1,
	TKW__STEP_RUNS = 2,
	TKW__STEP_MISSED = 3,
	TKW__STEP_OVERLAPS = 4
};

/* Flags in the words of plans. */
#define TKW__POLICY_MISFIRE UINT64_C(0xff)
#define TKW__POLICY_OVERLAP (UINT64_C(1) << 8)
#define TKW__POLICY_ON_END (UINT64_C(1) << 9)
#define TKW__STATUS_ERROR UINT64_C(0xffff)
#define TKW__STATUS_PAUSED (UINT64_C(1) << 32)
#define TKW__STATUS_IN_TURN (UINT64_C(1) << 33)

struct tkw__item;

/* A record as a struct. Its texts point into the bytes that were read, or to
 * memory of the caller. */
struct tkw__record {
	enum tkw__record_kind kind;
	uint16_t flags;
	/* The plan of the item does not go on by itself. Not in the bytes. */
	bool alone;
	uint64_t id;
	uint64_t word[TKW__RECORD_WORDS];
	struct tkw__queue_text key;
	struct tkw__queue_text reason;
	struct tkw__queue_text zone;
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
