/* SPDX-License-Identifier: MIT */
/*
 * apply.c - the only place where a queue changes.
 *
 * Commands, replay and replicas all come here. A record says what was decided.
 * Applying it looks at no clock and at nothing that is derived from the time:
 * only at the recorded state of its item, to refuse records that do not fit.
 * Each function first gets the memory it needs, and then cannot fail.
 */
#include <errno.h>

#include "queue/state.h"

void tkw__unplace(struct tkw__queue *q, struct tkw__item *it)
{
	switch (it->state) {
	case TKW__IDLE:
		tkw__line_remove(q, &q->idle, it);
		break;
	case TKW__TAKEN:
		tkw__line_remove(q, &q->taken, it);
		break;
	default:
		tkw__treap_remove(&q->dead, it);
		it->place = TKW__NOWHERE;
	}
}

void tkw__place(struct tkw__queue *q, struct tkw__item *it)
{
	switch (it->state) {
	case TKW__IDLE:
		tkw__line_place(q, &q->idle, it);
		break;
	case TKW__TAKEN:
		tkw__line_place(q, &q->taken, it);
		break;
	default:
		it->place = TKW__IN_TREE;
		tkw__treap_insert(&q->dead, it);
	}
}

void tkw__detach(struct tkw__queue *q, struct tkw__item *it)
{
	tkw__unplace(q, it);
	tkw__index_remove(q, &q->by_id, it);
	if (it->has & TKW__HAS_KEY)
		tkw__index_remove(q, &q->by_key, it);
	q->bytes -= (uint64_t)it->key_len + it->payload_len;
}

void tkw__attach(struct tkw__queue *q, struct tkw__item *it)
{
	tkw__place(q, it);
	tkw__index_insert(q, &q->by_id, it);
	if (it->has & TKW__HAS_KEY)
		tkw__index_insert(q, &q->by_key, it);
	q->bytes += (uint64_t)it->key_len + it->payload_len;
}

void tkw__reason_free(struct tkw__queue *q, struct tkw__reason *r)
{
	if (r)
		tkw__queue_free(q, r, sizeof(*r) + r->len);
}

void tkw__item_free(struct tkw__queue *q, struct tkw__item *it)
{
	if (it->state != TKW__TAKEN)
		tkw__reason_free(q, it->reason);
	tkw__queue_free(q, it,
			tkw__item_bytes(it->has, it->key_len, it->payload_len));
}

/* NULL is the empty reason. */
static int make_reason(struct tkw__queue *q, struct tkw__queue_text text,
		       struct tkw__reason **out)
{
	struct tkw__reason *r = NULL;

	if (text.len) {
		r = tkw__queue_alloc(q, sizeof(*r) + text.len);
		if (!r)
			return -ENOMEM;
		r->len = (uint8_t)text.len;
		memcpy(r->text, text.at, text.len);
	}
	*out = r;
	return 0;
}

static void set_reason(struct tkw__item *it, struct tkw__reason *r)
{
	it->token = 0; /* a pointer may be shorter */
	it->reason = r;
}

/* Allocates an item with what a PUT, a REPLACE or an ITEM has in common. */
static int make_item(struct tkw__queue *q, const struct tkw__record *r,
		     struct tkw__item **out)
{
	struct tkw__backoff b = {
		.first_ms = (uint32_t)(r->word[TKW__PUT_OPTIONS] >> 32),
		.max_ms = (uint32_t)r->word[TKW__PUT_MAX_BACKOFF],
	};
	unsigned has = (r->key.len ? TKW__HAS_KEY : 0) |
		       (b.first_ms || b.max_ms ? TKW__HAS_BACKOFF : 0);
	struct tkw__item *it = tkw__queue_alloc(
		q, tkw__item_bytes(has, r->key.len, r->payload.len));
	unsigned char *at;

	if (!it)
		return -ENOMEM;
	*it = (struct tkw__item){
		.id = r->id,
		.max_attempts = (uint32_t)r->word[TKW__PUT_OPTIONS],
		.payload_len = (uint32_t)r->payload.len,
		.key_len = (uint8_t)r->key.len,
		.has = has & 15u,
	};
	it->node.tick = r->word[TKW__PUT_DUE];
	at = it->tail + tkw__item_parts(has & TKW__HAS_KEY);
	if (has & TKW__HAS_BACKOFF)
		memcpy(at, &b, sizeof(b));
	at = it->tail + tkw__item_parts(has);
	if (r->key.len)
		memcpy(at, r->key.at, r->key.len);
	if (r->payload.len)
		memcpy(at + r->key.len, r->payload.at, r->payload.len);
	*out = it;
	return 0;
}

/* Gets everything that the attachment of a new item needs. */
static int prepare(struct tkw__queue *q, const struct tkw__record *r,
		   struct tkw__item **out)
{
	int err = tkw__index_prepare(q, &q->by_id);

	if (!err && r->key.len)
		err = tkw__index_prepare(q, &q->by_key);
	if (!err)
		err = tkw__undo_reserve(q, 2);
	if (!err)
		err = make_item(q, r, out);
	return err;
}

static void saw_id(struct tkw__queue *q, uint64_t id)
{
	q->totals.last_id = tkw__max_u64(q->totals.last_id, id);
}

static void saw_token(struct tkw__queue *q, uint64_t token)
{
	q->totals.last_token = tkw__max_u64(q->totals.last_token, token);
}

static int apply_put(struct tkw__queue *q, const struct tkw__record *r)
{
	struct tkw__item *it = NULL;
	int err;

	/* No item has an id above the last one. This saves most searches. */
	if ((r->id <= q->totals.last_id && tkw__index_find_id(q, r->id)) ||
	    (r->key.len && tkw__index_find_key(q, r->key)))
		return -EBADMSG;
	err = prepare(q, r, &it);
	if (err)
		return err;
	it->other = r->id;
	tkw__undo_push(q, TKW__MADE, it);
	tkw__attach(q, it);
	q->totals.puts++;
	saw_id(q, r->id);
	return 0;
}

/* The old block ends, and a new one begins under the same id. */
static void swap_items(struct tkw__queue *q, struct tkw__item *old,
		       struct tkw__item *new)
{
	if (old) {
		tkw__undo_push(q, TKW__ENDED, old);
		tkw__detach(q, old);
	}
	tkw__undo_push(q, TKW__MADE, new);
	tkw__attach(q, new);
}

static int apply_replace(struct tkw__queue *q, const struct tkw__record *r)
{
	struct tkw__item *old = tkw__index_find_id(q, r->id);
	struct tkw__item *it = NULL;
	int err;

	if (!old || old->state == TKW__TAKEN ||
	    tkw__index_find_key(q, r->key) != old)
		return -EBADMSG;
	err = prepare(q, r, &it);
	if (err)
		return err;
	it->other = r->word[TKW__REPLACE_SEQ];
	swap_items(q, old, it);
	q->totals.replaces++;
	saw_id(q, it->other);
	return 0;
}

/* The state of an item in a snapshot. */
static void set_state(struct tkw__item *it, const struct tkw__record *r,
		      struct tkw__reason *reason)
{
	it->state = (uint8_t)r->word[TKW__ITEM_STATE];
	it->attempts = (uint32_t)(r->word[TKW__ITEM_STATE] >> 32);
	it->lost = (r->flags & TKW__RECORD_LOST) != 0;
	it->other = r->word[TKW__ITEM_OTHER];
	if (it->state == TKW__TAKEN) {
		it->other = it->node.tick;
		it->node.tick = r->word[TKW__ITEM_OTHER];
		it->token = r->word[TKW__ITEM_TOKEN];
	} else {
		set_reason(it, reason);
	}
}

static int apply_item(struct tkw__queue *q, const struct tkw__record *r)
{
	struct tkw__item *old = tkw__index_find_id(q, r->id);
	struct tkw__item *same = NULL;
	struct tkw__item *it = NULL;
	struct tkw__reason *reason = NULL;
	bool taken = (uint8_t)r->word[TKW__ITEM_STATE] == TKW__TAKEN;
	int err;

	if (r->key.len)
		same = tkw__index_find_key(q, r->key);
	if ((same && same != old) || (taken && r->reason.len))
		return -EBADMSG;
	err = make_reason(q, r->reason, &reason);
	if (err)
		return err;
	err = prepare(q, r, &it);
	if (err) {
		tkw__reason_free(q, reason);
		return err;
	}
	set_state(it, r, reason);
	swap_items(q, old, it);
	saw_id(q, r->id);
	if (it->state == TKW__IDLE && !it->lost)
		saw_id(q, it->other);
	if (it->state == TKW__TAKEN)
		saw_token(q, it->token);
	return 0;
}

static int apply_take(struct tkw__queue *q, const struct tkw__record *r,
		      struct tkw__item *it)
{
	struct tkw__undo_entry *e;

	if (it->state != TKW__IDLE || tkw__item_used_up(it) ||
	    it->attempts == UINT32_MAX)
		return -EBADMSG;
	if (tkw__undo_reserve(q, 1))
		return -ENOMEM;
	e = tkw__undo_push(q, TKW__CHANGED, it);
	e->drops = true;
	tkw__unplace(q, it);
	it->other = it->node.tick;
	it->node.tick = r->word[TKW__TAKE_LEASE];
	it->token = r->word[TKW__TAKE_TOKEN];
	it->state = TKW__TAKEN;
	it->lost = 0;
	it->attempts++;
	tkw__place(q, it);
	saw_token(q, it->token);
	q->totals.takes++;
	return 0;
}

static int apply_extend(struct tkw__queue *q, const struct tkw__record *r,
			struct tkw__item *it)
{
	if (it->state != TKW__TAKEN)
		return -EBADMSG;
	if (tkw__undo_reserve(q, 1))
		return -ENOMEM;
	tkw__undo_push(q, TKW__CHANGED, it);
	tkw__line_move(q, &q->taken, it, r->word[TKW__EXTEND_LEASE]);
	q->totals.extends++;
	return 0;
}

/* NACK and DEAD: a lease ends without an ack. */
static int apply_give_back(struct tkw__queue *q, const struct tkw__record *r,
			   struct tkw__item *it)
{
	struct tkw__reason *reason = NULL;
	bool dead = r->kind == TKW__RECORD_DEAD;

	if (it->state != TKW__TAKEN)
		return -EBADMSG;
	if (tkw__undo_reserve(q, 1) || make_reason(q, r->reason, &reason))
		return -ENOMEM;
	tkw__undo_push(q, TKW__CHANGED, it);
	tkw__unplace(q, it);
	it->node.tick = dead ? it->other : r->word[TKW__NACK_DUE];
	it->other = dead ? r->word[TKW__DEAD_WHEN] : r->word[TKW__NACK_SEQ];
	it->state = dead ? TKW__DEAD : TKW__IDLE;
	it->lost = (r->flags & TKW__RECORD_LOST) != 0;
	set_reason(it, reason);
	tkw__place(q, it);
	/* The sequence of a lost lease is a time, not a number that was given:
	 * ids do not depend on when a loss is recorded. */
	if (!dead && !it->lost)
		saw_id(q, it->other);
	q->totals.deaths += dead;
	if (it->lost)
		q->totals.losses++;
	else
		q->totals.nacks++;
	return 0;
}

/* RESCHEDULE and REVIVE: an item gets a new due time. */
static int apply_due(struct tkw__queue *q, const struct tkw__record *r,
		     struct tkw__item *it)
{
	bool revive = r->kind == TKW__RECORD_REVIVE;
	struct tkw__undo_entry *e;

	if (it->state != (revive ? TKW__DEAD : TKW__IDLE))
		return -EBADMSG;
	if (tkw__undo_reserve(q, 1))
		return -ENOMEM;
	e = tkw__undo_push(q, TKW__CHANGED, it);
	tkw__unplace(q, it);
	it->node.tick = r->word[TKW__NACK_DUE];
	it->other = r->word[TKW__NACK_SEQ];
	if (revive) {
		e->drops = true;
		it->state = TKW__IDLE;
		it->attempts = 0;
		it->lost = 0;
		set_reason(it, NULL);
		q->totals.revivals++;
	} else {
		q->totals.reschedules++;
	}
	tkw__place(q, it);
	saw_id(q, it->other);
	return 0;
}

/* ACK, CANCEL and PURGE: an item ends. */
static int apply_end(struct tkw__queue *q, const struct tkw__record *r,
		     struct tkw__item *it)
{
	bool taken = it->state == TKW__TAKEN;

	if (taken != (r->kind == TKW__RECORD_ACK) ||
	    (r->kind == TKW__RECORD_PURGE && it->state != TKW__DEAD))
		return -EBADMSG;
	if (tkw__undo_reserve(q, 1))
		return -ENOMEM;
	tkw__undo_push(q, TKW__ENDED, it);
	tkw__detach(q, it);
	if (r->kind == TKW__RECORD_ACK)
		q->totals.acks++;
	else if (r->kind == TKW__RECORD_CANCEL)
		q->totals.cancels++;
	else
		q->totals.purges++;
	return 0;
}

/* Records about the queue itself. */
static int apply_setting(struct tkw__queue *q, const struct tkw__record *r)
{
	struct tkw__queue_totals *t = &q->totals;
	struct tkw__queue_totals was = *t;

	switch (r->kind) {
	case TKW__RECORD_PAUSE:
	case TKW__RECORD_RESUME:
		t->paused = r->kind == TKW__RECORD_PAUSE;
		return 0;
	case TKW__RECORD_LIMIT:
		t->max_items = r->word[TKW__LIMIT_ITEMS];
		t->max_bytes = r->word[TKW__LIMIT_BYTES];
		t->max_payload = r->word[TKW__LIMIT_PAYLOAD];
		return 0;
	default:
		assert(r->kind == TKW__RECORD_TOTALS);
		memcpy(t, r->word, sizeof(*t));
		saw_id(q, was.last_id);
		saw_token(q, was.last_token);
		return 0;
	}
}

static int apply_to_item(struct tkw__queue *q, const struct tkw__record *r)
{
	struct tkw__item *it = r->item ? r->item : tkw__index_find_id(q, r->id);

	if (!it)
		return -EBADMSG;
	switch (r->kind) {
	case TKW__RECORD_TAKE:
		return apply_take(q, r, it);
	case TKW__RECORD_EXTEND:
		return apply_extend(q, r, it);
	case TKW__RECORD_NACK:
	case TKW__RECORD_DEAD:
		return apply_give_back(q, r, it);
	case TKW__RECORD_RESCHEDULE:
	case TKW__RECORD_REVIVE:
		return apply_due(q, r, it);
	default:
		return apply_end(q, r, it);
	}
}

int tkw__apply(struct tkw__queue *q, const struct tkw__record *r)
{
	q->steps++;
	switch (r->kind) {
	case TKW__RECORD_PUT:
		return apply_put(q, r);
	case TKW__RECORD_REPLACE:
		return apply_replace(q, r);
	case TKW__RECORD_ITEM:
		return apply_item(q, r);
	case TKW__RECORD_PAUSE:
	case TKW__RECORD_RESUME:
	case TKW__RECORD_LIMIT:
	case TKW__RECORD_TOTALS:
		return apply_setting(q, r);
	default:
		return apply_to_item(q, r);
	}
}

/* Applies the records of one command. Returns their length, 0 if it was cut
 * off, or an error. */
static int64_t replay_command(struct tkw__queue *q, const uint8_t *bytes,
			      size_t len)
{
	struct tkw__record r;
	size_t at = 0;

	do {
		int64_t n = tkw__record_read(&r, bytes + at, len - at);
		int err;

		if (n <= 0)
			return n;
		err = tkw__apply(q, &r);
		if (err)
			return err;
		at += (size_t)n;
	} while (r.flags & TKW__RECORD_MORE);
	return (int64_t)at;
}

int tkw__queue_replay(struct tkw__queue *q, const void *bytes, size_t len,
		      size_t *used)
{
	struct tkw__queue_call call = { .now_us = q->now_ms * 1000 };
	struct tkw__mark start, m;
	size_t at = 0;

	if (!bytes || !used)
		return -EINVAL;
	tkw__begin(q, &call, &start);
	while (at < len) {
		int64_t n;

		tkw__begin(q, &call, &m);
		n = replay_command(q, (const uint8_t *)bytes + at, len - at);
		if (n < 0)
			return tkw__finish(q, &call, &start, (int)n);
		if (n == 0) {
			tkw__finish(q, &call, &m, -EBADMSG);
			break;
		}
		at += (size_t)n;
	}
	*used = at;
	return 0;
}

/* True if a record changes or ends an item that is not there. */
static bool is_about_nothing(struct tkw__queue *q, const struct tkw__record *r)
{
	switch (r->kind) {
	case TKW__RECORD_PUT:
	case TKW__RECORD_ITEM:
	case TKW__RECORD_PAUSE:
	case TKW__RECORD_RESUME:
	case TKW__RECORD_LIMIT:
	case TKW__RECORD_TOTALS:
		return false;
	default:
		return !tkw__index_find_id(q, r->id);
	}
}

int tkw__queue_replay_one(struct tkw__queue *q, const void *bytes, size_t len,
			  bool tolerant)
{
	struct tkw__record r;
	int64_t n;

	if (!bytes)
		return -EINVAL;
	n = tkw__record_read(&r, bytes, len);
	if (n < 0)
		return (int)n;
	if ((uint64_t)n != len)
		return -EBADMSG; /* cut off, or more than one */
	if (tolerant && is_about_nothing(q, &r))
		return 1;
	return tkw__apply(q, &r);
}
