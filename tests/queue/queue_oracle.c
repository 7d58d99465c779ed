/* SPDX-License-Identifier: MIT */
/*
 * queue_oracle.c - the naive array that the queue is held against.
 *
 * Everything is O(n) and meant to be: read it once and believe it.
 */
#include "queue_oracle.h"

#include <errno.h>
#include <stddef.h>

static const uint64_t latest = INT64_MAX / 1000;

struct qo_item *qo_find(struct qo *o, uint64_t id)
{
	uint32_t i;

	for (i = 0; i < o->count; i++) {
		if (o->items[i].id == id)
			return &o->items[i];
	}
	return NULL;
}

struct qo_item *qo_find_key(struct qo *o, uint32_t key)
{
	uint32_t i;

	for (i = 0; i < o->count; i++) {
		if (key && o->items[i].want.key == key)
			return &o->items[i];
	}
	return NULL;
}

struct qo_item *qo_find_planned(struct qo *o, uint32_t job, uint64_t planned)
{
	uint32_t i;

	for (i = 0; i < o->count; i++) {
		if (job && o->items[i].want.job == job &&
		    o->items[i].want.planned == planned)
			return &o->items[i];
	}
	return NULL;
}

struct qo_item *qo_find_same(struct qo *o, const struct qo_want *w)
{
	return w->job ? qo_find_planned(o, w->job, w->planned)
		      : qo_find_key(o, w->key);
}

static uint64_t later(uint64_t ms, uint64_t delay)
{
	return delay > latest - ms ? latest : ms + delay;
}

/* The first delay, doubled for each attempt after the first. */
static uint64_t backoff(const struct qo_item *it)
{
	uint64_t ms = it->want.backoff;
	uint32_t i;

	for (i = 1; i < it->attempts && ms < latest; i++)
		ms *= 2;
	if (ms > latest)
		ms = latest;
	if (it->want.max_backoff && ms > it->want.max_backoff)
		ms = it->want.max_backoff;
	return ms;
}

static int used_up(const struct qo_item *it)
{
	return it->want.max_attempts && it->attempts >= it->want.max_attempts;
}

struct qo_item qo_view(const struct qo_item *it, uint64_t now_ms)
{
	struct qo_item v = *it;

	if (!it->token || it->lease > now_ms)
		return v;
	v.token = 0;
	v.reason = QO_LOST;
	if (used_up(it)) {
		v.dead = 1;
		v.died = it->lease;
	} else {
		v.want.due = later(it->lease, backoff(it));
		v.seq = it->lease * 1000;
	}
	return v;
}

enum qo_state qo_state_of(const struct qo_item *it, uint64_t now_ms)
{
	struct qo_item v = qo_view(it, now_ms);

	if (v.dead)
		return QO_DEAD;
	if (v.token)
		return QO_TAKEN;
	return v.want.due <= now_ms ? QO_READY : QO_WAITING;
}

void qo_lost(struct qo *o, uint64_t id, uint64_t now_us)
{
	struct qo_item *it = qo_find(o, id);
	uint64_t now_ms = now_us / 1000;

	if (!it || !it->token) {
		o->wrong = "a lease was lost of an item that was not taken";
		return;
	}
	if (it->lease > now_ms) {
		o->wrong = "a lease was lost before its end";
		return;
	}
	*it = qo_view(it, now_ms);
	o->losses++;
	o->deaths += it->dead != 0;
	if (it->dead)
		qo_plan_ended(o, it, it->died, now_us);
}

/* A command needs to know that this lease has run out: so the queue must have
 * recorded it. */
static void want_recorded(struct qo *o, const struct qo_item *it,
			  uint64_t now_ms)
{
	if (it && it->token && it->lease <= now_ms)
		o->wrong = "a lease that has run out was not recorded";
}

uint64_t qo_next_number(uint64_t *last, uint64_t now_us)
{
	*last = now_us > *last + 1 ? now_us : *last + 1;
	return *last;
}

static uint64_t bytes_of(const struct qo_want *w)
{
	return (uint64_t)w->key_len + w->payload_len;
}

static int over_limit(const struct qo *o, const struct qo_want *w,
		      const struct qo_item *old)
{
	uint64_t max = o->max_payload ? o->max_payload : 1 << 20;
	uint64_t bytes = bytes_of(w);
	uint32_t i;

	if (w->payload_len > max)
		return -EMSGSIZE;
	if (!old && o->max_items && o->count >= o->max_items)
		return -EAGAIN;
	for (i = 0; i < o->count; i++) {
		if (&o->items[i] != old)
			bytes += bytes_of(&o->items[i].want);
	}
	for (i = 0; i < QO_PLANS; i++)
		bytes += qo_plan_bytes(&o->plan[i]);
	return o->max_bytes && bytes > o->max_bytes ? -EAGAIN : 0;
}

/* A put that replaces an item meets the queue as it is after the item has lost
 * its lease: then its plan may have put another one. If the put is refused, no
 * record says so. */
static int over_limit_by_now(const struct qo *o, const struct qo_want *w,
			     const struct qo_item *old, uint64_t now_us)
{
	struct qo after;

	if (!old || !old->token)
		return over_limit(o, w, old);
	after = *o;
	qo_lost(&after, old->id, now_us);
	return over_limit(&after, w, qo_find(&after, old->id));
}

static void renew(struct qo_item *it, const struct qo_want *w, uint64_t id,
		  uint64_t seq)
{
	struct qo_item new = { 0 };

	new.id = id;
	new.seq = seq;
	new.want = *w;
	*it = new;
}

/* It stays what it is to its plan. */
static void replace(struct qo_item *it, const struct qo_want *w, uint64_t seq)
{
	uint64_t plan = it->plan;
	int started = it->started;

	renew(it, w, it->id, seq);
	it->plan = plan;
	it->started = started;
}

int qo_put(struct qo *o, uint64_t now_us, const struct qo_want *w, uint64_t *id)
{
	struct qo_item *old = qo_find_same(o, w);
	int err;

	if (old && w->held == 0)
		return -EEXIST;
	if (old && w->held == 2) {
		*id = old->id;
		return 0;
	}
	if (old && qo_state_of(old, now_us / 1000) == QO_TAKEN)
		return -EBUSY;
	err = over_limit_by_now(o, w, old, now_us);
	if (err)
		return err;
	if (old) {
		want_recorded(o, old, now_us / 1000);
		*id = old->id;
		o->replaces++;
		replace(old, w, qo_next_number(&o->last_id, now_us));
		return 0;
	}
	*id = qo_next_number(&o->last_id, now_us);
	renew(&o->items[o->count++], w, *id, *id);
	o->puts++;
	return 0;
}

int qo_before(const struct qo_item *a, const struct qo_item *b)
{
	if (a->want.due != b->want.due)
		return a->want.due < b->want.due;
	if (a->seq != b->seq)
		return a->seq < b->seq;
	return a->id < b->id;
}

/* A bucket is 1 ms wide below 8 ms. Then the width doubles after each four. */
static uint32_t bucket_of(uint64_t ms)
{
	uint64_t end = 8;
	uint64_t width = 2;
	uint32_t bucket = 8;

	if (ms < 8)
		return (uint32_t)ms;
	while (ms >= end + width && bucket < QO_BUCKETS - 1) {
		end += width;
		if (bucket++ % 4 == 3)
			width *= 2;
	}
	return bucket;
}

struct qo_item *qo_first(struct qo *o, uint64_t now_ms)
{
	struct qo_item *best = NULL;
	struct qo_item best_view = { 0 };
	uint32_t i;

	for (i = 0; i < o->count && !o->paused; i++) {
		struct qo_item v = qo_view(&o->items[i], now_ms);

		if (qo_state_of(&o->items[i], now_ms) != QO_READY)
			continue;
		if (!best || qo_before(&v, &best_view)) {
			best = &o->items[i];
			best_view = v;
		}
	}
	want_recorded(o, best, now_ms);
	return best;
}

struct qo_item *qo_take(struct qo *o, uint64_t now_us, uint64_t lease_ms)
{
	uint64_t now_ms = now_us / 1000;
	struct qo_item *best = qo_first(o, now_ms);

	if (!best)
		return NULL;
	qo_plan_gives(o, best, now_us);
	best->attempts++;
	best->reason = 0;
	best->token = qo_next_number(&o->last_token, now_us);
	best->lease = later(now_ms, lease_ms);
	o->takes++;
	o->lateness[bucket_of(now_ms - best->want.due)]++;
	qo_plan_gave(o, best, now_us);
	return best;
}

static struct qo_item *held(struct qo *o, uint64_t now_us, uint64_t id,
			    uint64_t token)
{
	struct qo_item *it = qo_find(o, id);

	if (!it || it->token == 0 || it->token != token ||
	    it->lease <= now_us / 1000)
		return NULL;
	return it;
}

void qo_drop(struct qo *o, struct qo_item *it)
{
	*it = o->items[--o->count];
}

int qo_ack(struct qo *o, uint64_t now_us, uint64_t id, uint64_t token)
{
	struct qo_item *it = held(o, now_us, id, token);
	struct qo_item was;

	if (!it)
		return 0;
	was = *it;
	qo_drop(o, it);
	o->acks++;
	qo_plan_ended(o, &was, now_us / 1000, now_us);
	return 1;
}

int qo_extend(struct qo *o, uint64_t now_us, uint64_t id, uint64_t token,
	      uint64_t lease_ms)
{
	struct qo_item *it = held(o, now_us, id, token);

	if (!it)
		return 0;
	it->lease = later(now_us / 1000, lease_ms);
	o->extends++;
	return 1;
}

int qo_nack(struct qo *o, uint64_t now_us, const struct qo_nack *n)
{
	struct qo_item *it = held(o, now_us, n->id, n->token);
	uint64_t now_ms = now_us / 1000;

	if (!it)
		return 0;
	it->token = 0;
	it->reason = n->reason;
	o->nacks++;
	if (used_up(it)) {
		it->dead = 1;
		it->died = now_ms;
		o->deaths++;
		qo_plan_ended(o, it, now_ms, now_us);
		return 1;
	}
	it->want.due =
		later(now_ms, n->delay < 0 ? backoff(it) : (uint64_t)n->delay);
	it->seq = qo_next_number(&o->last_id, now_us);
	return 1;
}

int qo_cancel(struct qo *o, uint64_t now_us, struct qo_item *it)
{
	struct qo_item was;

	want_recorded(o, it, now_us / 1000);
	if (!it || it->token)
		return it ? -1 : 0;
	was = *it;
	qo_drop(o, it);
	o->cancels++;
	/* A dead item was not running. */
	if (!was.dead)
		qo_plan_ended(o, &was, now_us / 1000, now_us);
	return 1;
}

int qo_reschedule(struct qo *o, uint64_t now_us, struct qo_item *it,
		  uint64_t due)
{
	want_recorded(o, it, now_us / 1000);
	if (!it || it->dead)
		return 0;
	if (it->token)
		return -1;
	it->want.due = due;
	it->seq = qo_next_number(&o->last_id, now_us);
	o->reschedules++;
	return 1;
}

int qo_revive(struct qo *o, uint64_t now_us, struct qo_item *it)
{
	want_recorded(o, it, now_us / 1000);
	if (!it || !it->dead)
		return 0;
	it->dead = 0;
	it->attempts = 0;
	it->reason = 0;
	it->want.due = now_us / 1000;
	it->seq = qo_next_number(&o->last_id, now_us);
	o->revivals++;
	return 1;
}

int qo_purge(struct qo *o, uint64_t now_us, struct qo_item *it)
{
	want_recorded(o, it, now_us / 1000);
	if (!it || !it->dead)
		return 0;
	qo_drop(o, it);
	o->purges++;
	return 1;
}

struct qo_item *qo_dead_from(struct qo *o, uint64_t id)
{
	struct qo_item *first = NULL;
	uint32_t i;

	for (i = 0; i < o->count; i++) {
		if (o->items[i].dead && o->items[i].id >= id &&
		    (!first || o->items[i].id < first->id))
			first = &o->items[i];
	}
	return first;
}

uint64_t qo_next(const struct qo *o, uint64_t now_ms)
{
	uint64_t next = UINT64_MAX;
	uint32_t i;

	for (i = 0; i < o->count; i++) {
		const struct qo_item *it = &o->items[i];
		uint64_t at = it->token ? it->lease : it->want.due;

		if (!it->dead && at > now_ms && at < next)
			next = at;
	}
	return next;
}
