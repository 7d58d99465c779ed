/* SPDX-License-Identifier: MIT */
/*
 * state.h - the struct of a queue, and what its files share.
 *
 *   commands (put.c take.c claim.c change.c advance.c, and of plans: plans.h)
 *        |  decide, and make records
 *   tkw__emit()          record.c, call.c
 *        |  write the record to the log, and apply it
 *   tkw__apply()         apply.c; replay and replicas begin here
 *        |  saves what it changes (undo.c)
 *   index, lines, dead   index.c, line.c, treap.c
 */
#ifndef TKW_QUEUE_STATE_H
#define TKW_QUEUE_STATE_H

#include "queue/heart.h"
#include "queue/index.h"
#include "queue/item.h"
#include "queue/lateness.h"
#include "queue/line.h"
#include "queue/plans.h"
#include "queue/record.h"
#include "queue/treap.h"
#include "queue/undo.h"

/* Which records of its past a queue has read. */
enum tkw__past {
	TKW__NOT_TOLD, /* none: it is new, or reads them later */
	TKW__LOADING,  /* a part of a snapshot; its end is still to come */
	TKW__WHOLE     /* all */
};

struct tkw__queue {
	struct tkw__queue_hooks hooks;
	uint64_t seed[2];
	uint64_t small; /* a line of more items has a wheel */
	uint64_t take_steps;
	uint64_t now_ms; /* as told last */
	/* The time by which the lines place items: now_ms, or the time of a
	 * journal while it is replayed; see tkw__queue_replay_one(). */
	uint64_t place_ms;
	/* Recorded facts about the queue itself. */
	struct tkw__queue_totals totals;
	struct tkw__queue_totals committed; /* what undo goes back to */

	struct tkw__index by_id;
	struct tkw__index by_key;
	struct tkw__line idle;
	struct tkw__line taken;
	struct tkw__treap dead;
	struct tkw__plans plans;
	const struct tkw__queue_calendar *calendar; /* may be NULL */
	uint64_t bytes; /* of keys and payloads, and of plans */

	struct tkw__undo undo;
	uint64_t steps;
	uint64_t allocated;
	bool freeing; /* tkw__queue_free_some() has begun */
	uint8_t past; /* enum tkw__past */
	uint8_t committed_past;
	struct tkw__lateness lateness;
};

/* A moment to which a command can go back. */
struct tkw__mark {
	struct tkw__undo_entry *top;
	struct tkw__queue_totals totals;
	uint8_t past;
	size_t len;
	size_t last;
};

void *tkw__queue_alloc(struct tkw__queue *q, size_t bytes);
void tkw__queue_free(struct tkw__queue *q, void *mem, size_t bytes);

/* Begins and ends a command. begin() returns 0, or -EINVAL if the time is too
 * late. finish() goes back to the mark if err is not 0, and returns err. */
int tkw__begin(struct tkw__queue *q, struct tkw__queue_call *call,
	       struct tkw__mark *m);
int tkw__finish(struct tkw__queue *q, struct tkw__queue_call *call,
		const struct tkw__mark *m, int err);
/* Writes a record to the log and applies it. If it is about an item of a plan,
 * the plan goes on. Returns 0 or an error. */
int tkw__emit(struct tkw__queue *q, struct tkw__queue_call *call,
	      const struct tkw__record *r);

/* Applies a record whose fields are legal. Returns 0; 1 if it was skipped,
 * because its item is not there and a snapshot is loaded; -ENOMEM; or -EBADMSG
 * if the record does not fit the queue. On an error nothing has changed. */
int tkw__apply(struct tkw__queue *q, const struct tkw__record *r);

/* Takes an item out of, or puts it into, the structure that its state says. */
void tkw__unplace(struct tkw__queue *q, struct tkw__item *it);
void tkw__place(struct tkw__queue *q, struct tkw__item *it);
/* The same for all structures of the queue. attach() needs prepared indexes. */
void tkw__detach(struct tkw__queue *q, struct tkw__item *it);
void tkw__attach(struct tkw__queue *q, struct tkw__item *it);
/* Makes an item with what a PUT, a REPLACE or an ITEM has in common, and gets
 * everything that its attachment needs. old is what a REPLACE replaces. Returns
 * 0 or -ENOMEM. */
int tkw__item_make(struct tkw__queue *q, const struct tkw__record *r,
		   const struct tkw__item *old, struct tkw__item **out);
/* Frees an item that is in no structure. */
void tkw__item_free(struct tkw__queue *q, struct tkw__item *it);
/* NULL is the empty reason. */
int tkw__reason_make(struct tkw__queue *q, struct tkw__queue_text text,
		     struct tkw__reason **out);
void tkw__reason_free(struct tkw__queue *q, struct tkw__reason *r);

/* The next number of a counter: max(last + 1, now). */
static inline uint64_t tkw__stamp(uint64_t last, uint64_t now_us)
{
	return tkw__max_u64(last + 1, now_us);
}

static inline uint64_t tkw__next_seq(const struct tkw__queue *q,
				     const struct tkw__queue_call *call)
{
	return tkw__stamp(q->totals.last_id, call->now_us);
}

/* The time that a caller means, in ms. */
uint64_t tkw__when_ms(const struct tkw__queue *q, struct tkw__queue_when when);

/* True if the lease of a taken item has run out. */
static inline bool tkw__has_run_out(const struct tkw__item *it, uint64_t now_ms)
{
	return it->state == TKW__TAKEN && it->node.tick <= now_ms;
}

/* Records leases that have run out by a time that is not after now. Up to
 * max_steps steps, which are counted down. */
int tkw__lose_leases(struct tkw__queue *q, struct tkw__queue_call *call,
		     uint64_t until_ms, uint64_t *max_steps);
/* True if there is nothing left to do at this time. */
bool tkw__is_quiet(struct tkw__queue *q, uint64_t now_ms,
		   enum tkw__queue_role role);

/* Makes the record of a lease that has run out. */
void tkw__lost_record(const struct tkw__item *it, struct tkw__record *r);
/* Records that a lease has run out, if it has. Each command that finds an item
 * by name does this first. */
int tkw__settle(struct tkw__queue *q, struct tkw__queue_call *call,
		struct tkw__item *it);
/* Finds an item by id or by key. */
struct tkw__item *tkw__find(struct tkw__queue *q,
			    const struct tkw__queue_name *name);

struct tkw__queue_text tkw__reason_of(const struct tkw__item *it);
/* Add a number or a text to a checksum. */
uint64_t tkw__hash_word(uint64_t h, uint64_t word);
uint64_t tkw__hash_text(uint64_t h, const void *at, size_t len);
/* A checksum of all recorded facts of an item. */
uint64_t tkw__item_digest(const struct tkw__item *it);

static inline bool tkw__law_holds(const struct tkw__queue_totals *t,
				  uint64_t items)
{
	return t->puts == t->acks + t->cancels + t->purges + items;
}

#endif /* TKW_QUEUE_STATE_H */
