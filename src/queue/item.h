/* SPDX-License-Identifier: MIT */
/*
 * item.h - an item of a queue: 80 bytes, then its optional parts, then key and
 * payload, all in one block.
 *
 * An item is in only one structure at a time: a wheel, a list or a tree. So the
 * links for all of them share their bytes. Few fields of an item change in its
 * life: struct tkw__saved has all of them, and undo needs no others.
 */
#ifndef TKW_QUEUE_ITEM_H
#define TKW_QUEUE_ITEM_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bits.h"
#include "queue/heart.h"
#include "tickwheel/wheel.h"

/* The state in the records. Waiting and ready items are both idle: the time
 * tells which. */
enum tkw__item_state {
	TKW__IDLE,
	TKW__TAKEN,
	TKW__DEAD
};

enum tkw__item_place {
	TKW__NOWHERE,
	TKW__IN_LIST,
	TKW__IN_TREE,
	TKW__IN_WHEEL
};

/* Which optional parts follow the header. */
enum {
	TKW__HAS_KEY = 1,
	TKW__HAS_BACKOFF = 2,
	TKW__HAS_PLAN = 4
};

/* Why a consumer has nacked an item. */
struct tkw__reason {
	uint8_t len;
	char text[];
};

struct tkw__item {
	/* tick: idle and dead: when it is due. Taken: when its lease ends. */
	union {
		struct tkw_entry entry; /* in a wheel */
		struct tkw_link link;   /* in a list */
		struct {                /* in a tree */
			struct tkw__item *left;
			struct tkw__item *right;
			uint64_t tick;
			uint32_t size;  /* of the subtree */
			uint32_t flags; /* 0: in no wheel */
		} node;
	};
	uint64_t id;
	/* Idle: the sequence. Taken: when it was due. Dead: when it died. */
	uint64_t other;
	union {
		uint64_t token;             /* taken */
		struct tkw__reason *reason; /* else; may be NULL */
	};
	struct tkw__item *next; /* in its bucket by id */
	uint32_t attempts;
	uint32_t max_attempts;
	uint32_t payload_len;
	uint8_t key_len;
	uint8_t state; /* enum tkw__item_state */
	uint8_t place; /* enum tkw__item_place */
	uint8_t has : 3;
	/* The last nack was a lost lease. Then `reason` is NULL. */
	uint8_t lost : 1;
	/* Idle: the sequence is the end of that lease, in microseconds. */
	uint8_t timed : 1;
	/* In a wheel, and out of order. See line.h. */
	uint8_t stray : 1;
	/* Of a plan, and taken at least once. Otherwise it is fresh. */
	uint8_t started : 1;
	/* With a key: the next item in its bucket by key, a pointer. With a
	 * back-off: struct tkw__backoff. Of a plan: struct tkw__planned. Then
	 * the key and the payload. */
	unsigned char tail[];
};
_Static_assert(sizeof(struct tkw__item) <= 96, "the budget of an item");
_Static_assert(offsetof(struct tkw__item, node.tick) ==
			       offsetof(struct tkw_entry, tick) &&
		       offsetof(struct tkw__item, node.flags) ==
			       offsetof(struct tkw_entry, flags) &&
		       offsetof(struct tkw__item, entry) == 0,
	       "the tick is the same in all places");
_Static_assert(offsetof(struct tkw__item, tail) % _Alignof(void *) == 0,
	       "a pointer may follow");

struct tkw__backoff {
	uint32_t first_ms;
	uint32_t max_ms;
};

/* Of which plan an item is. */
struct tkw__planned {
	uint64_t planned_ms;
	uint64_t plan_id;
};

struct tkw__plan_state;

/* The fields that change. */
struct tkw__saved {
	uint64_t tick;
	uint64_t other;
	union {
		uint64_t token;
		struct tkw__reason *reason;
		struct tkw__plan_state *plan_state; /* of a plan; see undo.h */
	};
	uint32_t attempts;
	uint8_t state;
	uint8_t lost;
	uint8_t timed;
	uint8_t started;
};

static inline struct tkw__item *tkw__item_of(struct tkw_link *l)
{
	return (struct tkw__item *)(void *)l; /* the link is its first member */
}

static inline struct tkw__item **tkw__item_key_next(struct tkw__item *it)
{
	assert(it->has & TKW__HAS_KEY);
	return (struct tkw__item **)(void *)it->tail;
}

static inline size_t tkw__item_parts(unsigned has)
{
	return (has & TKW__HAS_KEY ? sizeof(void *) : 0) +
	       (has & TKW__HAS_BACKOFF ? sizeof(struct tkw__backoff) : 0) +
	       (has & TKW__HAS_PLAN ? sizeof(struct tkw__planned) : 0);
}

static inline struct tkw__backoff tkw__item_backoff(const struct tkw__item *it)
{
	struct tkw__backoff b = { 0, 0 };

	if (it->has & TKW__HAS_BACKOFF)
		memcpy(&b, it->tail + tkw__item_parts(it->has & TKW__HAS_KEY),
		       sizeof(b));
	return b;
}

static inline struct tkw__planned tkw__item_planned(const struct tkw__item *it)
{
	struct tkw__planned p = { 0, 0 };

	if (it->has & TKW__HAS_PLAN)
		memcpy(&p,
		       it->tail + tkw__item_parts(it->has & (TKW__HAS_KEY |
							     TKW__HAS_BACKOFF)),
		       sizeof(p));
	return p;
}

static inline const unsigned char *tkw__item_key(const struct tkw__item *it)
{
	return it->tail + tkw__item_parts(it->has);
}

static inline const unsigned char *tkw__item_payload(const struct tkw__item *it)
{
	return tkw__item_key(it) + it->key_len;
}

static inline size_t tkw__item_bytes(unsigned has, size_t key_len,
				     size_t payload_len)
{
	return sizeof(struct tkw__item) + tkw__item_parts(has) + key_len +
	       payload_len;
}

static inline uint64_t tkw__item_due(const struct tkw__item *it)
{
	return it->state == TKW__TAKEN ? it->other : it->node.tick;
}

/* a + b, at most the latest time. Both must be at most that. */
static inline uint64_t tkw__ms_add(uint64_t a, uint64_t b)
{
	return tkw__min_u64(a + b, TKW__QUEUE_MAX_MS);
}

/* How long an item waits after its attempts so far have failed. */
static inline uint64_t tkw__item_wait_ms(const struct tkw__item *it)
{
	struct tkw__backoff b = tkw__item_backoff(it);
	uint32_t doublings = it->attempts > 1 ? it->attempts - 1 : 0;
	uint64_t ms = TKW__QUEUE_MAX_MS;

	if (doublings < 53 && b.first_ms <= TKW__QUEUE_MAX_MS >> doublings)
		ms = (uint64_t)b.first_ms << doublings;
	if (b.first_ms == 0)
		ms = 0;
	return b.max_ms ? tkw__min_u64(ms, b.max_ms) : ms;
}

static inline bool tkw__item_used_up(const struct tkw__item *it)
{
	return it->max_attempts != 0 && it->attempts >= it->max_attempts;
}

static inline struct tkw__saved tkw__item_save(const struct tkw__item *it)
{
	struct tkw__saved s = {
		.tick = it->node.tick,
		.other = it->other,
		.attempts = it->attempts,
		.state = it->state,
		.lost = it->lost,
		.timed = it->timed,
		.started = it->started,
	};

	s.token = it->token;
	return s;
}

static inline void tkw__item_restore(struct tkw__item *it,
				     const struct tkw__saved *s)
{
	it->node.tick = s->tick;
	it->other = s->other;
	it->token = s->token;
	it->attempts = s->attempts;
	it->state = s->state;
	it->lost = s->lost != 0;
	it->timed = s->timed != 0;
	it->started = s->started != 0;
}

#endif /* TKW_QUEUE_ITEM_H */
