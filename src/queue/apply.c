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

#include "queue/hash.h"
#include "queue/state.h"

static inline void leave(struct tkw__queue *q, struct tkw__item *it)
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

static inline void enter(struct tkw__queue *q, struct tkw__item *it)
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

/* Items of plans have functions of their own, so that those of all others save
 * no registers. */
__attribute__((cold)) static void leave_planned(struct tkw__queue *q,
						struct tkw__item *it)
{
	tkw__plan_count(q, it, false);
	leave(q, it);
}

__attribute__((cold)) static void enter_planned(struct tkw__queue *q,
						struct tkw__item *it)
{
	tkw__plan_count(q, it, true);
	enter(q, it);
}

void tkw__unplace(struct tkw__queue *q, struct tkw__item *it)
{
	if (it->has & TKW__HAS_PLAN)
		leave_planned(q, it);
	else
		leave(q, it);
}

void tkw__place(struct tkw__queue *q, struct tkw__item *it)
{
	if (it->has & TKW__HAS_PLAN)
		enter_planned(q, it);
	else
		enter(q, it);
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

static void set_reason(struct tkw__item *it, struct tkw__reason *r)
{
	it->token = 0; /* a pointer may be shorter */
	it->reason = r;
}

static void saw_id(struct tkw__queue *q, uint64_t id)
{
	q->totals.last_id = tkw__max_u64(q->totals.last_id, id);
}

static void saw_token(struct tkw__queue *q, uint64_t token)
{
	q->totals.last_token = tkw__max_u64(q->totals.last_token, token);
}

/* A record names an item that is not there. While a snapshot is loaded the item
 * has ended, or its ITEM record follows. */
static int about_nothing(const struct tkw__queue *q)
{
	return q->past == TKW__LOADING ? 1 : -EBADMSG;
}

static int apply_put(struct tkw__queue *q, const struct tkw__record *r)
{
	struct tkw__item *it = NULL;
	int err;

	/* No item has an id above the last one. So this needs no search. */
	if (r->id <= q->totals.last_id ||
	    (r->key.len && tkw__index_find_key(q, r->key)) ||
	    (r->kind == TKW__RECORD_PLANNED && !tkw__plan_takes_item(q, r)))
		return -EBADMSG;
	err = tkw__item_make(q, r, NULL, &it);
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

	if (!old)
		return about_nothing(q);
	if (old->state == TKW__TAKEN ||
	    r->word[TKW__REPLACE_SEQ] <= q->totals.last_id ||
	    tkw__index_find_key(q, r->key) != old)
		return -EBADMSG;
	err = tkw__item_make(q, r, old, &it);
	if (err)
		return err;
	it->other = r->word[TKW__REPLACE_SEQ];
	it->started = old->started;
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
	it->timed = (r->flags & TKW__RECORD_TIMED) != 0;
	it->started = (r->flags & TKW__RECORD_STARTED) != 0;
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
	int err;

	if (r->key.len)
		same = tkw__index_find_key(q, r->key);
	if ((same && same != old) || (!old && q->past != TKW__LOADING))
		return -EBADMSG;
	err = tkw__reason_make(q, r->reason, &reason);
	if (err)
		return err;
	err = tkw__item_make(q, r, NULL, &it);
	if (err) {
		tkw__reason_free(q, reason);
		return err;
	}
	set_state(it, r, reason);
	/* A whole queue knows what the record can tell. */
	if (q->past != TKW__LOADING &&
	    tkw__item_digest(it) != tkw__item_digest(old)) {
		tkw__item_free(q, it);
		return -EBADMSG;
	}
	swap_items(q, old, it);
	saw_id(q, r->id);
	if (it->state == TKW__IDLE && !it->timed)
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
	    r->word[TKW__TAKE_TOKEN] <= q->totals.last_token)
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
	it->started = (it->has & TKW__HAS_PLAN) != 0;
	it->lost = 0;
	it->timed = 0;
	it->attempts += it->attempts < UINT32_MAX;
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
	bool lost = (r->flags & TKW__RECORD_LOST) != 0;

	if (it->state != TKW__TAKEN || dead != tkw__item_used_up(it) ||
	    (!dead && !lost && r->word[TKW__NACK_SEQ] <= q->totals.last_id))
		return -EBADMSG;
	if (tkw__undo_reserve(q, 1) || tkw__reason_make(q, r->reason, &reason))
		return -ENOMEM;
	tkw__undo_push(q, TKW__CHANGED, it);
	tkw__unplace(q, it);
	it->node.tick = dead ? it->other : r->word[TKW__NACK_DUE];
	it->other = dead ? r->word[TKW__DEAD_WHEN] : r->word[TKW__NACK_SEQ];
	it->state = dead ? TKW__DEAD : TKW__IDLE;
	/* The sequence of a lost lease is a time, not a number that was given:
	 * ids do not depend on when a loss is recorded. */
	it->lost = lost;
	it->timed = lost && !dead;
	set_reason(it, reason);
	tkw__place(q, it);
	if (!dead && !lost)
		saw_id(q, it->other);
	q->totals.deaths += dead;
	if (lost)
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

	if (it->state != (revive ? TKW__DEAD : TKW__IDLE) ||
	    r->word[TKW__NACK_SEQ] <= q->totals.last_id)
		return -EBADMSG;
	if (tkw__undo_reserve(q, 1))
		return -ENOMEM;
	e = tkw__undo_push(q, TKW__CHANGED, it);
	tkw__unplace(q, it);
	it->node.tick = r->word[TKW__NACK_DUE];
	it->other = r->word[TKW__NACK_SEQ];
	it->timed = 0;
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

/* Ends a snapshot. A whole queue knows its totals, and only compares. */
static int apply_totals(struct tkw__queue *q, const struct tkw__record *r)
{
	struct tkw__queue_totals t;

	assert(r->kind == TKW__RECORD_TOTALS);
	memcpy(&t, r->word, sizeof(t));
	if (q->past != TKW__LOADING)
		return memcmp(&t, &q->totals, sizeof(t)) == 0 ? 0 : -EBADMSG;
	if (t.last_id < q->totals.last_id ||
	    t.last_token < q->totals.last_token ||
	    !tkw__law_holds(&t, q->by_id.count) || !tkw__plans_recount(q))
		return -EBADMSG;
	q->totals = t;
	q->past = TKW__WHOLE;
	return 0;
}

/* Records about the queue itself. */
static int apply_setting(struct tkw__queue *q, const struct tkw__record *r)
{
	struct tkw__queue_totals *t = &q->totals;

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
		return apply_totals(q, r);
	}
}

static int apply_to_item(struct tkw__queue *q, const struct tkw__record *r)
{
	struct tkw__item *it = r->item ? r->item : tkw__index_find_id(q, r->id);

	if (!it)
		return about_nothing(q);
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
	case TKW__RECORD_PLANNED:
		return apply_put(q, r);
	case TKW__RECORD_REPLACE:
		return apply_replace(q, r);
	case TKW__RECORD_ITEM:
	case TKW__RECORD_PLANNED_ITEM:
		return apply_item(q, r);
	case TKW__RECORD_PLAN:
	case TKW__RECORD_REPLAN:
	case TKW__RECORD_UNPLAN:
	case TKW__RECORD_STEP:
	case TKW__RECORD_PLAN_FACTS:
		return tkw__plan_apply(q, r);
	case TKW__RECORD_PAUSE:
	case TKW__RECORD_RESUME:
	case TKW__RECORD_LIMIT:
	case TKW__RECORD_TOTALS:
		return apply_setting(q, r);
	default:
		return apply_to_item(q, r);
	}
}

/* The record behind the first one; NULL if its header is not there. */
static const uint8_t *next_record(const uint8_t *at, const uint8_t *end)
{
	size_t len;

	if (!at || end - at < TKW__RECORD_HEADER)
		return NULL;
	len = (size_t)tkw__le_bytes(at, 4);
	if (len < TKW__RECORD_HEADER || len > (size_t)(end - at) ||
	    (size_t)(end - at) - len < TKW__RECORD_HEADER)
		return NULL;
	return at + len;
}

/* Each record would wait for memory two or three times, when its item is looked
 * for. So what the next ones need is fetched meanwhile. */
static void fetch_ahead(const struct tkw__queue *q, const uint8_t *at,
			const uint8_t *end)
{
	const uint8_t *next = next_record(at, end);

	if (!next)
		return;
	tkw__index_fetch_item(q, tkw__le_word(next + 8));
	next = next_record(next, end);
	if (next)
		tkw__index_fetch_bucket(q, tkw__le_word(next + 8));
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
		fetch_ahead(q, bytes + at, bytes + len);
		err = tkw__apply(q, &r);
		if (err < 0)
			return err;
		at += (size_t)n;
	} while (r.flags & TKW__RECORD_MORE);
	return (int64_t)at;
}

/* Applies the whole commands among some bytes. Returns 0 or an error, which
 * leaves the commands before it applied. */
static int replay_commands(struct tkw__queue *q, const uint8_t *bytes,
			   size_t len, size_t *used)
{
	struct tkw__queue_call call = { .now_us = q->now_ms * 1000 };
	struct tkw__mark m;
	size_t at = 0;

	while (at < len) {
		bool loading = q->past == TKW__LOADING;
		int64_t n;

		tkw__begin(q, &call, &m);
		n = replay_command(q, bytes + at, len - at);
		if (n <= 0)
			tkw__finish(q, &call, &m, -EBADMSG);
		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		if (loading)
			tkw__queue_commit(q);
		at += (size_t)n;
	}
	*used = at;
	return 0;
}

/* What a queue is told first decides how it is told its past. */
static int begin_past(struct tkw__queue *q, bool snapshot)
{
	if (q->past == TKW__NOT_TOLD)
		q->past = snapshot ? TKW__LOADING : TKW__WHOLE;
	return q->past == TKW__LOADING && !snapshot ? -EBADMSG : 0;
}

int tkw__queue_replay(struct tkw__queue *q, const void *bytes, size_t len,
		      size_t *used)
{
	struct tkw__queue_call call = { .now_us = q->now_ms * 1000 };
	struct tkw__mark start;
	int err;

	if ((!bytes && len) || !used)
		return -EINVAL;
	tkw__begin(q, &call, &start);
	err = begin_past(q, false);
	if (!err)
		err = replay_commands(q, bytes, len, used);
	return tkw__finish(q, &call, &start, err);
}

int tkw__queue_load(struct tkw__queue *q, const void *bytes, size_t len,
		    size_t *used)
{
	if ((!bytes && len) || !used)
		return -EINVAL;
	begin_past(q, true);
	return replay_commands(q, bytes, len, used);
}

/* The number of the event that sets a due time; 0 if the record sets none. It
 * is also the time of the event, in us, or a little more. */
static uint64_t seq_of(const struct tkw__record *r)
{
	switch (r->kind) {
	case TKW__RECORD_PUT:
	case TKW__RECORD_PLANNED:
		return r->id;
	case TKW__RECORD_REPLACE:
		return r->word[TKW__REPLACE_SEQ];
	case TKW__RECORD_NACK:
	case TKW__RECORD_RESCHEDULE:
	case TKW__RECORD_REVIVE:
		return r->word[TKW__NACK_SEQ];
	default:
		return 0;
	}
}

/*
 * A journal is replayed in its own time: an item is placed as it was when its
 * due time was set. So an item that was put with a delay goes into the wheel
 * even if it is overdue now, and not into the tree, which is slower. An item
 * that was put without a delay goes to the end of the list.
 */
static void go_back(struct tkw__queue *q, const struct tkw__record *r)
{
	uint64_t ms = seq_of(r) / 1000;

	if (ms == 0)
		return;
	if (q->now_ms > TKW__LINE_LONGEST_OVERDUE)
		ms = tkw__max_u64(ms, q->now_ms - TKW__LINE_LONGEST_OVERDUE);
	q->place_ms = tkw__min_u64(q->now_ms, ms);
}

int tkw__queue_replay_one(struct tkw__queue *q, const void *bytes, size_t len,
			  bool tolerant)
{
	uint64_t place_ms = q->place_ms;
	uint8_t past = q->past;
	struct tkw__record r;
	int64_t n;
	int err;

	if (!bytes)
		return -EINVAL;
	n = tkw__record_read(&r, bytes, len);
	if (n < 0)
		return (int)n;
	if ((uint64_t)n != len)
		return -EBADMSG; /* cut off, or more than one */
	err = begin_past(q, tolerant);
	go_back(q, &r);
	if (!err)
		err = tkw__apply(q, &r);
	if (err < 0) {
		q->past = past;
		q->place_ms = place_ms;
	}
	return err;
}

bool tkw__queue_is_whole(const struct tkw__queue *q)
{
	return q->past != TKW__LOADING;
}
