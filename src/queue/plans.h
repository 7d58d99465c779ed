/* SPDX-License-Identifier: MIT */
/*
 * plans.h - the plans of a queue.
 *
 * A plan has settings, which a new plan of its name replaces; a state, which
 * STEP records set; and two facts that follow from its items: which one is
 * fresh, and how many are running. An item knows the id of its plan, and its
 * key begins with the name of it. The items of a plan that has ended belong to
 * none, even if there is a new plan of this name.
 *
 *   decide (plans_next.c, plans_change.c)
 *        |  make records
 *   apply (plans_apply.c)
 *        |
 *   the plans, sorted by name (plans.c)
 *
 * Invariants, verified by tkw__queue_check():
 * (P1) The plans are sorted by name, and no name is there twice.
 * (P2) A plan knows its fresh item, and how many items are running.
 * (P3) A plan that is paused or has an error has no fresh item. The planned
 *      time of a fresh item is after all that is decided.
 * (P4) A plan that is not paused and has no error goes on: it has a fresh item,
 *      or waits for one that is running.
 */
#ifndef TKW_QUEUE_PLANS_H
#define TKW_QUEUE_PLANS_H

#include "queue/item.h"
#include "queue/record.h"

/* What STEP sets. */
struct tkw__plan_state {
	uint64_t decided_ms;
	uint64_t runs;
	uint64_t missed;
	uint64_t overlaps;
	int32_t error;
	bool paused;
	/* A missed item was taken, and the next one comes when it ends: the one
	 * after it, not the one after now. */
	bool in_turn;
};

struct tkw__plan {
	/* In a block of its own, so that undo keeps the old one. */
	struct tkw__plan_state *state;
	struct tkw__item *fresh;
	uint64_t running;
	uint64_t id;
	uint64_t grace_ms;
	uint32_t max_missed;
	uint32_t max_attempts;
	uint32_t backoff_ms;
	uint32_t max_backoff_ms;
	uint32_t payload_len;
	uint8_t misfire; /* enum tkw__queue_misfire */
	bool allow_overlap;
	bool next_on_end;
	uint8_t name_len;
	uint8_t text_len;
	uint8_t zone_len;
	unsigned char tail[]; /* the name, the text, the zone, the payload */
};

/* A sorted array: even with the most plans, an insertion moves less than a
 * payload of the default size. */
struct tkw__plans {
	struct tkw__plan **at;
	uint32_t count;
	uint32_t room;
};

struct tkw__queue;

static inline struct tkw__queue_text tkw__plan_name(const struct tkw__plan *p)
{
	return (struct tkw__queue_text){ p->tail, p->name_len };
}

static inline struct tkw__queue_text tkw__plan_text(const struct tkw__plan *p)
{
	return (struct tkw__queue_text){ p->tail + p->name_len, p->text_len };
}

static inline struct tkw__queue_text tkw__plan_zone(const struct tkw__plan *p)
{
	return (struct tkw__queue_text){ p->tail + p->name_len + p->text_len,
					 p->zone_len };
}

static inline struct tkw__queue_text
tkw__plan_payload(const struct tkw__plan *p)
{
	return (struct tkw__queue_text){ p->tail + p->name_len + p->text_len +
						 p->zone_len,
					 p->payload_len };
}

/* The bytes of a plan that count as bytes of its queue. */
static inline uint64_t tkw__plan_bytes(const struct tkw__plan *p)
{
	return (uint64_t)p->name_len + p->text_len + p->zone_len +
	       p->payload_len;
}

/* The key of an item of a plan. */
struct tkw__plan_key {
	uint8_t bytes[TKW__QUEUE_MAX_KEY];
	size_t len;
};

void tkw__plan_make_key(struct tkw__plan_key *key, struct tkw__queue_text name,
			uint64_t planned_ms);
/* True if a key is that of an item of a plan. */
bool tkw__plan_is_key(struct tkw__queue_text key, uint64_t planned_ms);
/* The name of the plan in such a key. */
struct tkw__queue_text tkw__plan_name_in(struct tkw__queue_text key);

/* --- plans.c: the plans of a queue, by name ------------------------------- */

/* Returns the index of the first plan whose name is not before this one. */
uint32_t tkw__plans_seek(struct tkw__queue *q, struct tkw__queue_text name);
/* Returns the index of the first plan whose name is behind this one. */
uint32_t tkw__plans_seek_behind(struct tkw__queue *q,
				struct tkw__queue_text name);
/* NULL if there is none. */
struct tkw__plan *tkw__plans_find(struct tkw__queue *q,
				  struct tkw__queue_text name);
/* The plan of an item; NULL if it has none, or if its plan has ended. */
struct tkw__plan *tkw__plan_of(struct tkw__queue *q,
			       const struct tkw__item *it);
/* Makes room for one more. Returns 0 or -ENOMEM. */
int tkw__plans_reserve(struct tkw__queue *q);
/* Puts a plan in, for which there must be room, and takes it out. */
void tkw__plans_insert(struct tkw__queue *q, struct tkw__plan *p);
void tkw__plans_remove(struct tkw__queue *q, const struct tkw__plan *p);
/* Frees a plan that is not among the plans. */
void tkw__plan_free(struct tkw__queue *q, struct tkw__plan *p);
void tkw__plan_state_free(struct tkw__queue *q, struct tkw__plan_state *s);
/* Frees up to max plans, which are counted down. Returns true if there are
 * more. */
bool tkw__plans_free_some(struct tkw__queue *q, uint64_t *max);

/* Counts an item of a plan that enters or leaves its place. */
void tkw__plan_count(struct tkw__queue *q, struct tkw__item *it, bool enters);
/* True if a plan in this state can have this fresh item, or none. */
bool tkw__plan_allows(const struct tkw__plan_state *s,
		      const struct tkw__item *fresh);
/* Counts the items of all plans anew. Returns false if they are not legal. */
bool tkw__plans_recount(struct tkw__queue *q);
/* Checks the invariants. */
const char *tkw__plans_check(struct tkw__queue *q);

/* --- plans_apply.c -------------------------------------------------------- */

/* Applies a record about a plan, as tkw__apply() does. */
int tkw__plan_apply(struct tkw__queue *q, const struct tkw__record *r);
/* True if an item of a plan can be put. */
bool tkw__plan_takes_item(struct tkw__queue *q, const struct tkw__record *r);
/* The records of a plan, without its id and its kind. */
void tkw__plan_settings(const struct tkw__queue_plan *plan,
			struct tkw__record *r);
void tkw__plan_step_words(const struct tkw__plan_state *s, uint64_t *word);
/* The whole plan as a record. */
void tkw__plan_record(const struct tkw__plan *p, struct tkw__record *r);
/* The settings of a plan. They point into it. */
void tkw__plan_get(const struct tkw__plan *p, struct tkw__queue_plan *out);

/* --- plans_next.c: which item comes next ---------------------------------- */

/* A search for the next planned time. */
struct tkw__plan_search {
	struct tkw__queue_text name;
	struct tkw__queue_text text;
	struct tkw__queue_text zone;
	bool anew; /* read the zone anew */
	/* Its key does not count as held. May be NULL. */
	const struct tkw__item *own;
};

/* Finds the first planned time after a time whose key is not held. Returns 0,
 * an error of the plan (see struct tkw__queue_plan_facts), or -ENOMEM. */
int tkw__plan_find_next(struct tkw__queue *q, const struct tkw__plan_search *s,
			uint64_t from_ms, uint64_t *out_ms);
/* Puts the fresh item of a plan. */
int tkw__plan_put(struct tkw__queue *q, struct tkw__queue_call *call,
		  const struct tkw__plan *p, uint64_t planned_ms);
/* Gives a plan a new state. */
int tkw__plan_step(struct tkw__queue *q, struct tkw__queue_call *call,
		   const struct tkw__plan *p, const struct tkw__plan_state *s);

/* How a plan goes on: with this state, and with a fresh item for the first time
 * after from_ms. */
struct tkw__plan_move {
	struct tkw__plan_state state;
	uint64_t from_ms;
	bool anew; /* read the zone anew */
};

/* Makes the records. If the plan is paused, or has to wait for an item that is
 * running, no item is put. Changes the move. */
int tkw__plan_go_on(struct tkw__queue *q, struct tkw__queue_call *call,
		    struct tkw__plan *p, struct tkw__plan_move *m);
/* True if the next item has to wait for one that is running. */
bool tkw__plan_waits(const struct tkw__plan *p);
/* Cancels the fresh item, and does nothing else. */
int tkw__plan_drop(struct tkw__queue *q, struct tkw__queue_call *call,
		   struct tkw__plan *p);
/* True if an item is fresh, and has to be left out if another one is running
 * now. */
bool tkw__plan_overlaps(struct tkw__queue *q, const struct tkw__item *it);
/* Ends an item that a take has found, if it is a fresh one that must not be
 * given out. Says so, and puts the next one. The steps for this are taken from
 * the budget. */
int tkw__plan_meet(struct tkw__queue *q, struct tkw__queue_call *call,
		   struct tkw__item *it, uint64_t *budget, bool *ended);
/* The fresh item of a plan, if the plan is still there, was taken. */
int tkw__plan_taken(struct tkw__queue *q, struct tkw__queue_call *call,
		    const struct tkw__item *it);
/* A record about an item of a plan was applied. */
int tkw__plan_follow(struct tkw__queue *q, struct tkw__queue_call *call,
		     const struct tkw__record *r);

/* --- plans_look.c --------------------------------------------------------- */

/* A checksum of all recorded facts of a plan. */
uint64_t tkw__plan_digest(const struct tkw__plan *p);
uint64_t tkw__plans_digest(struct tkw__queue *q);

#endif /* TKW_QUEUE_PLANS_H */
