/* SPDX-License-Identifier: MIT */
/*
 * delayed_state.h - sets of delayed operations inside.
 *
 * Idea:    an operation is a record, a timeout of the timer, and a watch in the
 *          ring of each of its keys. A set has shards, and each key belongs to
 *          one. A shard has a lock, a hash table of its keys, and the records
 *          of the operations whose first key is one of its own. So an operation
 *          with one key is added, claimed and ended under one lock.
 *
 * States of a record, under the lock of its shard:
 *          FREE    -> WAITING  add
 *          FREE    -> TRYING   add, if it has to ask again
 *          WAITING -> TRYING   a thread claims it, to ask whether it holds
 *          TRYING  -> WAITING  it does not hold
 *          TRYING  -> DECIDED  it ends, but its timeout has begun to fire
 *          WAITING, TRYING, DECIDED -> ENDING -> FREE  it ends
 *          ENDING is left out if there is only one key.
 *
 * Locks:   that of a shard is held over calls of the timer, but not over calls
 *          of the user. Only the ledger takes more than one, in the order of
 *          the shards.
 */
#ifndef TKW_PATTERNS_DELAYED_STATE_H
#define TKW_PATTERNS_DELAYED_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "os/bell.h"
#include "os/fork.h"
#include "os/frame.h"
#include "os/id_table.h"
#include "os/rundown.h"
#include "os/sync.h"
#include "patterns/watch.h"
#include "tickwheel/delayed.h"

/* The lower half of a record's word. */
enum {
	TKW__OP_FREE = 0,
	TKW__OP_WAITING = 1,
	TKW__OP_TRYING = 2,
	TKW__OP_DECIDED = 3,
	TKW__OP_ENDING = 4
};

struct tkw__op {
	_Alignas(64) struct tkw__record head;
	/* Never changes. The timer's threads read it without the lock. */
	struct tkw__op_shard *shard;
	struct tkw_timeout_id timeout;
	int (*holds)(void *ctx);
	void (*on_end)(const struct tkw_delayed_end *end, void *ctx);
	void *ctx;
	struct tkw__watch *more; /* those of the other keys, or NULL */
	uint32_t more_count;
	int32_t status;          /* how it is to end; 0 if nobody has said */
	bool again;              /* there was an event while it was asked */
	bool over;               /* its timeout has fired, or was lost */
	struct tkw__watch first; /* that of the first key */
};

struct tkw__op_shard {
	/* Everything is under the lock, except `inside`. What an operation
	 * with one key needs is in two cache lines. */
	_Alignas(64) struct tkw__lock lock;
	struct tkw__a64 events; /* add also reads it without the lock */
	uint64_t turn;
	struct tkw__watches watches;
	uint32_t used; /* records that are not FREE */
	uint32_t number;
	_Alignas(64) struct tkw_delayed *set;
	uint64_t added;
	uint64_t completed;
	bool closed;              /* nothing can be added any more */
	struct tkw__table table;  /* lookups take no lock */
	struct tkw__record *last; /* the one that was put last, or NULL */
	uint64_t expired;
	uint64_t cancelled;
	uint64_t shut_down;
	struct tkw__bell bell;      /* rings when no record is used */
	struct tkw__rundown inside; /* threads that destroy waits for */
	struct tkw__watch *few[TKW__FEW_BUCKETS]; /* the buckets at first */
};

struct tkw_delayed {
	/* Set by create; only read afterwards. */
	struct tkw_timer *timer;
	uint64_t odd; /* the factor of the hash */
	uint32_t epoch;
	uint32_t shard_mask;
	uint32_t shard_shift; /* shards use the upper bits of a hash */
	bool limited;
	uint64_t max_pending;
	size_t bytes;

	_Alignas(64) struct tkw__a64 reserved; /* used only if limited */
	struct tkw__a32 closed;                /* shut down */
	struct tkw__op_shard shards[];
};

/* The head is the first member. */
static inline struct tkw__op *tkw__op_of(struct tkw__record *head)
{
	return (struct tkw__op *)(void *)head;
}

/* Ends an operation from outside. The lock is held, and dropped. Returns what
 * tkw_delayed_cancel() returns. */
int tkw__op_end(struct tkw__op *r, int status);

#endif /* TKW_PATTERNS_DELAYED_STATE_H */
