/* SPDX-License-Identifier: MIT */
/*
 * delayed.c - delayed operations: how they are added, asked and ended. See
 * delayed_state.h.
 *
 * Again:   while a thread asks, without the lock, others leave it a message: an
 *          event sets `again`, and whatever ends the operation sets `status`.
 *          The thread reads both when it has the lock again.
 *
 * Add:     asks first, and takes the lock only if the condition does not hold.
 *          It may come true in between. The change is followed by an event,
 *          which counts `events` up under the lock. If the count is the same as
 *          before the first try, an event after the change has yet to take the
 *          lock, and will find the watch. Otherwise add asks again.
 *
 * Event:   the watches of a key are in the order in which they were asked.
 *          `turn` counts links, claims and events. An event goes on until the
 *          first watch has a turn that is not before its own. It puts each
 *          watch that it claims at the end of the ring, with a new turn.
 *          Another event that began before then need not ask again: its change
 *          was made before the claim, so the thread that claims sees it.
 *
 * Timeout: the record is not freed before its timeout is over. Whoever ends the
 *          operation cancels the timeout. If that fails, the timer has begun to
 *          call timed_out() or lost_timeout(), and this call ends it: with the
 *          status of DECIDED if there is one.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>

#include "base/ns.h"
#include "os/memory.h"
#include "patterns/delayed_state.h"
#include "timer/for_patterns.h"

/* Keeps rare paths out of those that most operations take. */
#define COLD __attribute__((noinline, cold))

/* --- keys ----------------------------------------------------------------- */

static inline uint64_t hash_of(const struct tkw_delayed *d, uint64_t key)
{
	return key * d->odd; /* see watch.h */
}

static inline struct tkw__op_shard *shard_of(struct tkw_delayed *d,
					     uint64_t hash)
{
	return &d->shards[hash >> d->shard_shift];
}

/* Links a watch whose hash is set. The lock is held. */
static inline void link_watch(struct tkw__op_shard *s, struct tkw__watch *w,
			      struct tkw__op *r)
{
	w->of = r;
	w->turn = s->turn++;
	tkw__watches_add(&s->watches, w);
}

/* --- records -------------------------------------------------------------- */

static bool reserve(struct tkw_delayed *d)
{
	uint64_t was;

	if (!d->limited)
		return true;
	was = TKW__LOAD(&d->reserved, RELAXED);
	while (was < d->max_pending) {
		if (TKW__CAS(&d->reserved, &was, was + 1, RELAXED))
			return true;
	}
	return false;
}

static void unreserve(struct tkw_delayed *d)
{
	if (d->limited)
		TKW__SUB(&d->reserved, 1, RELAXED);
}

/* Counts an end. The lock is held. */
static void count_end(struct tkw__op_shard *s, int status)
{
	if (status == 0)
		s->completed++;
	else if (status == -ETIMEDOUT)
		s->expired++;
	else if (status == -ECANCELED)
		s->cancelled++;
	else
		s->shut_down++;
}

/* Takes a record out of the rings of its other keys. No lock is held. */
static COLD void unlink_more(struct tkw__op *r)
{
	struct tkw_delayed *d = r->shard->set;
	struct tkw__watch *more = r->more;

	for (uint32_t i = 0; i < r->more_count; i++) {
		struct tkw__op_shard *s = shard_of(d, more[i].hash);

		tkw__lock_take(&s->lock);
		tkw__watches_remove(&s->watches, &more[i]);
		tkw__lock_drop(&s->lock);
	}
	/* A forked child frees what the record points to. */
	r->more = NULL;
	tkw__memory_free(more, r->more_count * sizeof(*more));
}

/* --- the end of an operation ---------------------------------------------- */

/* Frees the record of an operation whose timeout is over, and calls its on_end.
 * The lock is held, and dropped. */
static void conclude(struct tkw__op *r, int status)
{
	struct tkw__op_shard *s = r->shard;
	struct tkw_delayed_end end = { .status = status };
	void (*on_end)(const struct tkw_delayed_end *, void *) = r->on_end;
	void *ctx = r->ctx;

	end.id.bits = tkw__record_id(&r->head, s->number);
	tkw__watches_remove(&s->watches, &r->first);
	if (r->more) {
		tkw__record_set_state(&r->head, TKW__OP_ENDING);
		tkw__lock_drop(&s->lock);
		unlink_more(r);
		tkw__lock_take(&s->lock);
	}
	count_end(s, status);
	unreserve(s->set);
	tkw__table_put(&s->table, &r->head);
	s->last = &r->head;
	if (--s->used == 0)
		tkw__bell_ring_and_drop(&s->bell, &s->lock);
	else
		tkw__lock_drop(&s->lock);
	on_end(&end, ctx);
}

/* Ends an operation that this thread has claimed. The lock is held, and
 * dropped. */
static void decide(struct tkw__op *r, int status)
{
	struct tkw__op_shard *s = r->shard;

	if (r->over || tkw__timer_cancel_own(s->set->timer, r->timeout) == 0) {
		conclude(r, status);
		return;
	}
	/* The timer is about to call one of the functions below. */
	r->status = status;
	tkw__record_set_state(&r->head, TKW__OP_DECIDED);
	tkw__lock_drop(&s->lock);
}

int tkw__op_end(struct tkw__op *r, int status)
{
	struct tkw__op_shard *s = r->shard;
	uint32_t state = tkw__record_state(&r->head);
	int ret = -ENOENT;

	if (state == TKW__OP_WAITING &&
	    tkw__timer_cancel_own(s->set->timer, r->timeout) == 0) {
		conclude(r, status);
		return 0;
	}
	if (state == TKW__OP_TRYING && r->status == 0) {
		r->status = status;
		ret = 1;
	}
	tkw__lock_drop(&s->lock);
	return ret;
}

/* The timeout of an operation is over. The lock is held, and dropped. */
static void timer_ends(struct tkw__op *r, int status)
{
	switch (tkw__record_state(&r->head)) {
	case TKW__OP_TRYING:
		r->over = true;
		if (r->status == 0)
			r->status = status;
		tkw__lock_drop(&r->shard->lock);
		break;
	case TKW__OP_DECIDED:
		conclude(r, r->status);
		break;
	default:
		conclude(r, status);
	}
}

/* Called by the timer when the timeout of an operation is over. */
static void timer_calls(struct tkw__op *r, int status)
{
	struct tkw__op_shard *s = r->shard;
	bool open = tkw__rundown_enter(&s->inside);
	struct tkw__frame frame;

	/* The record is in use, and destroy waits for it. */
	assert(open);
	(void)open;
	tkw__frame_enter_set(&frame, s->set);
	/* This is usually the timer's worker, for which others wait. */
	tkw__lock_take_first(&s->lock);
	timer_ends(r, status);
	tkw__frame_leave(&frame);
	tkw__rundown_leave(&s->inside);
}

/* The task of each timeout. */
static void timed_out(const struct tkw_firing *firing, void *record)
{
	(void)firing;
	timer_calls(record, -ETIMEDOUT);
}

/* The on-cancel of each timeout. The timer was stopped, or has dropped the
 * timeout. */
static void lost_timeout(void *record)
{
	struct tkw__op *r = record;
	int stopped = tkw_timer_is_stopped(r->shard->set->timer);

	timer_calls(r, stopped ? -ESHUTDOWN : -ECANCELED);
}

static int end_by_id(struct tkw_delayed *d, struct tkw_delayed_id id,
		     int status)
{
	uint32_t number = tkw__id_part(id.bits);
	struct tkw__record *head;
	struct tkw__op_shard *s;

	if (number > d->shard_mask)
		return -ENOENT;
	s = &d->shards[number];
	tkw__lock_take(&s->lock);
	head = tkw__table_find(&s->table, id.bits);
	if (head)
		return tkw__op_end(tkw__op_of(head), status);
	tkw__lock_drop(&s->lock);
	return -ENOENT;
}

int tkw_delayed_cancel(struct tkw_delayed *d, struct tkw_delayed_id id)
{
	struct tkw__frame frame;
	int ret;

	if (d == NULL)
		return -EINVAL;
	if (tkw__is_child(d->epoch))
		return -EPERM;
	tkw__frame_enter_set(&frame, d);
	ret = end_by_id(d, id, -ECANCELED);
	tkw__frame_leave(&frame);
	return ret;
}

/* --- asking --------------------------------------------------------------- */

/* How ask() leaves an operation. */
enum answer {
	NOT_YET,  /* it waits; the lock of its shard is held */
	COMPLETE, /* its condition held; the lock is dropped */
	ENDED     /* it has ended otherwise; the lock is dropped */
};

/* Asks an operation that this thread has claimed, until there is no event left
 * that it has not seen. No lock is held at first. */
static inline __attribute__((always_inline)) enum answer ask(struct tkw__op *r)
{
	struct tkw__op_shard *s = r->shard;

	for (;;) {
		bool holds = r->holds(r->ctx) != 0;

		tkw__lock_take(&s->lock);
		if (holds || r->status != 0) {
			decide(r, holds ? 0 : r->status);
			return holds ? COMPLETE : ENDED;
		}
		if (!r->again)
			break;
		r->again = false;
		tkw__lock_drop(&s->lock);
	}
	tkw__record_set_state(&r->head, TKW__OP_WAITING);
	return NOT_YET;
}

/* Claims an operation, or makes the thread that asks it ask again. The lock of
 * its shard is held. */
static inline bool claim(struct tkw__op *r)
{
	uint32_t state = tkw__record_state(&r->head);

	if (state == TKW__OP_WAITING) {
		tkw__record_set_state(&r->head, TKW__OP_TRYING);
		return true;
	}
	if (state == TKW__OP_TRYING)
		r->again = true;
	return false;
}

/* Claims an operation of another shard, which has a watch in this one. The lock
 * of this shard is held before and after, but not in between. */
static COLD bool claim_elsewhere(struct tkw__op_shard *s, struct tkw__op *r)
{
	/* While one of its watches is linked, the record is not used again. So
	 * these two are read before the lock is dropped. */
	uint32_t generation = tkw__record_generation(&r->head);
	struct tkw__op_shard *home = r->shard;
	bool claimed;

	tkw__lock_drop(&s->lock);
	tkw__lock_take(&home->lock);
	claimed = tkw__record_generation(&r->head) == generation && claim(r);
	tkw__lock_drop(&home->lock);
	tkw__lock_take(&s->lock);
	return claimed;
}

/*
 * Claims the next operation of a key. The lock is held, though
 * claim_elsewhere() drops it for a moment.
 *
 * turn  That of the event. Watches with a later one were asked since then.
 * more  Receives whether there are more operations to ask.
 *
 * Returns NULL if there is none.
 */
static inline __attribute__((always_inline)) struct tkw__op *
claim_next(struct tkw__op_shard *s, uint64_t hash, uint64_t turn, bool *more)
{
	do {
		struct tkw__watch **at = tkw__watches_find(&s->watches, hash);
		struct tkw__watch *w = *at;
		struct tkw__op *r;

		if (w == NULL || w->turn >= turn)
			break;
		r = w->of;
		w->turn = s->turn++;
		tkw__watches_turn(at);
		*more = (*at)->turn < turn;
		if (r->shard == s ? claim(r) : claim_elsewhere(s, r))
			return r;
	} while (*more);
	return NULL;
}

/* Asks all operations of a key. The lock is held, and dropped. Returns how many
 * completed. */
static int ask_all(struct tkw__op_shard *s, uint64_t hash)
{
	uint64_t turn = s->turn++;
	int completed = 0;
	bool more = true;
	struct tkw__op *r;

	while (more && (r = claim_next(s, hash, turn, &more))) {
		enum answer answer;

		tkw__lock_drop(&s->lock);
		answer = ask(r);
		if (answer == COMPLETE && completed < INT_MAX)
			completed++;
		if (answer == NOT_YET && r->shard == s)
			continue;
		if (answer == NOT_YET)
			tkw__lock_drop(&r->shard->lock);
		if (!more)
			return completed;
		tkw__lock_take(&s->lock);
	}
	tkw__lock_drop(&s->lock);
	return completed;
}

int tkw_delayed_event(struct tkw_delayed *d, uint64_t key)
{
	struct tkw__frame frame;
	struct tkw__op_shard *s;
	uint64_t hash;
	int completed;

	if (d == NULL)
		return -EINVAL;
	if (tkw__is_child(d->epoch))
		return -EPERM;
	hash = hash_of(d, key);
	s = shard_of(d, hash);
	tkw__frame_enter_set(&frame, d);
	tkw__lock_take(&s->lock);
	/* RELEASE pairs with the ACQUIRE of add: who reads the new count sees
	 * what has changed. */
	TKW__STORE(&s->events, TKW__LOAD(&s->events, RELAXED) + 1, RELEASE);
	completed = ask_all(s, hash);
	tkw__frame_leave(&frame);
	return completed;
}

/* --- add ------------------------------------------------------------------ */

/* An operation that is being added. */
struct coming {
	const struct tkw_delayed_op *op;
	struct tkw__op_shard *shard; /* that of its first key, with this hash */
	uint64_t hash;
	uint64_t events;         /* of the shard, before it was asked */
	int64_t deadline_ns;     /* if there is a time to wait */
	struct tkw__watch *more; /* for the other keys, or NULL */
};

/* Fills in a record, except for its timeout. */
static inline void fill_in(struct tkw__op *r, const struct coming *c)
{
	const struct tkw_delayed_op *op = c->op;

	r->holds = op->holds;
	r->on_end = op->on_end;
	r->ctx = op->ctx;
	r->more = c->more;
	r->more_count = (uint32_t)op->key_count - 1;
	r->status = 0;
	r->again = false;
	r->over = false;
	r->first.hash = c->hash;
}

/* With a delay of 0 the timer does not wait for the next tick. */
static inline int schedule(const struct coming *c, const struct tkw_task *task,
			   struct tkw_timeout_id *id)
{
	struct tkw_timer *t = c->shard->set->timer;

	if (c->op->timeout_ns <= 0)
		return tkw_timer_schedule(t, task, 0, id);
	return tkw_timer_schedule_at(t, task, c->deadline_ns, id);
}

/* Takes a record and schedules its timeout. The lock is held. */
static inline int admit(const struct coming *c, struct tkw__op **out)
{
	struct tkw_task task = { .fn = timed_out, .on_cancel = lost_timeout };
	struct tkw__op_shard *s = c->shard;
	struct tkw__record *head;
	struct tkw__op *r;
	int err;

	if (s->closed)
		return -ESHUTDOWN;
	err = tkw__table_take_again(&s->table, s->last, &head);
	if (err != 0)
		return err;
	r = tkw__op_of(head);
	/* Set first, because the timeout reads it before it takes the lock. */
	r->shard = s;
	task.ctx = r;
	err = schedule(c, &task, &r->timeout);
	if (err != 0) {
		tkw__table_untake(&s->table, head);
		return err;
	}
	s->added++;
	s->used++;
	fill_in(r, c);
	*out = r;
	return 0;
}

/* Puts a record that is TRYING into the rings of its other keys, and asks. No
 * lock is held. */
static COLD void link_more(struct tkw__op *r, const struct coming *c)
{
	struct tkw_delayed *d = r->shard->set;

	for (uint32_t i = 0; i < r->more_count; i++) {
		uint64_t hash = hash_of(d, c->op->keys[i + 1]);
		struct tkw__op_shard *s = shard_of(d, hash);

		r->more[i].hash = hash;
		tkw__lock_take(&s->lock);
		link_watch(s, &r->more[i], r);
		tkw__lock_drop(&s->lock);
	}
}

/* Makes an operation wait, for which a place is reserved. */
static int watch(const struct coming *c, struct tkw_delayed_id *id)
{
	struct tkw__op_shard *s = c->shard;
	struct tkw__op *r;
	bool again;
	int err;

	tkw__lock_take(&s->lock);
	err = admit(c, &r);
	if (err != 0) {
		tkw__lock_drop(&s->lock);
		return err;
	}
	link_watch(s, &r->first, r);
	again = c->more || TKW__LOAD(&s->events, RELAXED) != c->events;
	tkw__record_set_state(&r->head,
			      again ? TKW__OP_TRYING : TKW__OP_WAITING);
	if (id)
		id->bits = tkw__record_id(&r->head, s->number);
	tkw__lock_drop(&s->lock);
	if (again) {
		link_more(r, c);
		if (ask(r) == NOT_YET)
			tkw__lock_drop(&s->lock);
	}
	return 0;
}

/* The same for any number of keys. */
static int reserve_and_watch(struct tkw_delayed *d, struct coming *c,
			     struct tkw_delayed_id *id)
{
	size_t bytes = (c->op->key_count - 1) * sizeof(*c->more);
	int64_t timeout_ns = c->op->timeout_ns;
	int err = -ENOMEM;

	if (!reserve(d))
		return -EAGAIN;
	/* Reads the clock before the lock is taken. */
	if (timeout_ns > 0)
		c->deadline_ns =
			tkw__ns_add(timeout_ns, tkw_timer_now_ns(d->timer));
	if (bytes > 0)
		c->more = tkw__memory_take(bytes, _Alignof(struct tkw__watch));
	if (bytes == 0 || c->more)
		err = watch(c, id);
	if (err != 0) {
		if (c->more)
			tkw__memory_free(c->more, bytes);
		unreserve(d);
	}
	return err;
}

/* Ends an operation that need not wait. */
static COLD int complete_at_once(const struct coming *c,
				 struct tkw_delayed_id *id)
{
	const struct tkw_delayed_end end = { .status = 0 };

	tkw__lock_take(&c->shard->lock);
	c->shard->added++;
	c->shard->completed++;
	tkw__lock_drop(&c->shard->lock);
	if (id)
		id->bits = 0;
	c->op->on_end(&end, c->op->ctx);
	return 1;
}

static bool is_valid(const struct tkw_delayed_op *op)
{
	return op && op->holds && op->on_end && op->keys && op->key_count > 0 &&
	       op->key_count <= TKW_DELAYED_MAX_KEYS;
}

int tkw_delayed_add(struct tkw_delayed *d, const struct tkw_delayed_op *op,
		    struct tkw_delayed_id *id)
{
	struct coming c = { .op = op };
	struct tkw__frame frame;
	int ret;

	if (d == NULL || !is_valid(op))
		return -EINVAL;
	if (tkw__is_child(d->epoch))
		return -EPERM;
	if (TKW__LOAD(&d->closed, RELAXED))
		return -ESHUTDOWN;
	c.hash = hash_of(d, op->keys[0]);
	c.shard = shard_of(d, c.hash);
	tkw__frame_enter_set(&frame, d);
	/* ACQUIRE pairs with the RELEASE of tkw_delayed_event(). */
	c.events = TKW__LOAD(&c.shard->events, ACQUIRE);
	if (op->holds(op->ctx) != 0)
		ret = complete_at_once(&c, id);
	else
		ret = reserve_and_watch(d, &c, id);
	tkw__frame_leave(&frame);
	return ret;
}
