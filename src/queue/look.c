/* SPDX-License-Identifier: MIT */
/* look.c - calls that change nothing: get, list, stats, digest, dump. */
#include <errno.h>

#include "queue/hash.h"
#include "queue/state.h"

struct tkw__queue_text tkw__reason_of(const struct tkw__item *it)
{
	static const char lost[] = "lease lost";

	if (it->state == TKW__TAKEN)
		return (struct tkw__queue_text){ NULL, 0 };
	if (it->lost)
		return (struct tkw__queue_text){ lost, sizeof(lost) - 1 };
	if (!it->reason)
		return (struct tkw__queue_text){ NULL, 0 };
	return (struct tkw__queue_text){ it->reason->text, it->reason->len };
}

static enum tkw__queue_state idle_state(uint64_t due_ms, uint64_t now_ms)
{
	return due_ms <= now_ms ? TKW__QUEUE_IS_READY : TKW__QUEUE_IS_WAITING;
}

/* A lease that has run out, and no record says so yet. */
static void lost_facts(const struct tkw__item *it, uint64_t now_ms,
		       struct tkw__queue_facts *f)
{
	static const char lost[] = "lease lost";
	struct tkw__record r;

	tkw__lost_record(it, &r);
	f->reason = (struct tkw__queue_text){ lost, sizeof(lost) - 1 };
	if (r.kind == TKW__RECORD_DEAD) {
		f->state = TKW__QUEUE_IS_DEAD;
		f->died_ms = r.word[TKW__DEAD_WHEN];
		return;
	}
	f->due_ms = r.word[TKW__NACK_DUE];
	f->seq = r.word[TKW__NACK_SEQ];
	f->state = idle_state(f->due_ms, now_ms);
}

static void item_facts(const struct tkw__item *it, uint64_t now_ms,
		       struct tkw__queue_facts *f)
{
	struct tkw__backoff b = tkw__item_backoff(it);

	*f = (struct tkw__queue_facts){
		.id = it->id,
		.due_ms = tkw__item_due(it),
		.attempts = it->attempts,
		.max_attempts = it->max_attempts,
		.backoff_ms = b.first_ms,
		.max_backoff_ms = b.max_ms,
		.planned_ms = tkw__item_planned(it).planned_ms,
		.key = { it->key_len ? tkw__item_key(it) : NULL, it->key_len },
		.payload = { tkw__item_payload(it), it->payload_len },
		.reason = tkw__reason_of(it),
	};
	if (it->state == TKW__IDLE) {
		f->state = idle_state(it->node.tick, now_ms);
		f->seq = it->other;
	} else if (it->state == TKW__DEAD) {
		f->state = TKW__QUEUE_IS_DEAD;
		f->died_ms = it->other;
	} else if (tkw__has_run_out(it, now_ms)) {
		lost_facts(it, now_ms, f);
	} else {
		f->state = TKW__QUEUE_IS_TAKEN;
		f->token = it->token;
		f->lease_ms = it->node.tick;
	}
}

int tkw__queue_get(struct tkw__queue *q, uint64_t now_us,
		   const struct tkw__queue_name *name,
		   struct tkw__queue_facts *out)
{
	const struct tkw__item *it;

	if (!name || !out)
		return -EINVAL;
	it = tkw__find(q, name);
	if (!it)
		return -ENOENT;
	item_facts(it, now_us / 1000, out);
	return 0;
}

struct listing {
	const struct tkw__queue_list *list;
	uint32_t visited;
};

static void visit(struct tkw__queue *q, struct tkw__item *it, void *ctx)
{
	struct listing *l = ctx;
	struct tkw__queue_facts f;

	(void)q;
	l->visited++;
	item_facts(it, l->list->now_us / 1000, &f);
	if (l->list->state == TKW__QUEUE_STATES || l->list->state == f.state)
		l->list->visit(&f, l->list->ctx);
}

/* The dead are few among many, and have a tree by id. */
static uint64_t list_dead(struct tkw__queue *q, struct listing *l,
			  uint64_t cursor)
{
	struct tkw__item *it = tkw__treap_from_id(&q->dead, cursor);

	while (it && l->visited < l->list->max) {
		visit(q, it, l);
		it = tkw__treap_from_id(&q->dead, it->id + 1);
	}
	return it ? it->id : 0;
}

uint64_t tkw__queue_list(struct tkw__queue *q,
			 const struct tkw__queue_list *list, uint64_t cursor)
{
	struct listing l = { list, 0 };
	uint32_t buckets = 0;

	if (list->state == TKW__QUEUE_IS_DEAD)
		return list_dead(q, &l, cursor);
	do {
		cursor = tkw__index_scan(q, &q->by_id, cursor, visit, &l);
		buckets++;
	} while (cursor != 0 && buckets < list->max && l.visited < list->max);
	return cursor;
}

/* The bound may be too early only if the wheel must be pumped. Then the queue
 * is not quiet. */
static uint64_t oldest_age(struct tkw__queue *q, uint64_t now_ms)
{
	uint64_t bound = tkw__line_bound(q, &q->idle);

	return bound < now_ms ? now_ms - bound : 0;
}

enum tkw__queue_ready tkw__queue_has_ready(struct tkw__queue *q,
					   uint64_t now_us)
{
	uint64_t now_ms = now_us / 1000;
	struct tkw__line_head h;

	if (q->totals.paused)
		return TKW__QUEUE_NONE_READY;
	h = tkw__line_look(q, &q->idle, now_ms);
	if (h.says == TKW__LINE_FIRST)
		return TKW__QUEUE_SOME_READY;
	/* The wheel, or a lease that has run out, may have something. */
	if (h.says == TKW__LINE_PUMP || tkw__line_bound(q, &q->taken) <= now_ms)
		return TKW__QUEUE_MAYBE_READY;
	return TKW__QUEUE_NONE_READY;
}

void tkw__queue_get_limits(const struct tkw__queue *q,
			   struct tkw__queue_limits *out)
{
	*out = (struct tkw__queue_limits){ .items = q->totals.max_items,
					   .bytes = q->totals.max_bytes,
					   .payload = q->totals.max_payload };
}

uint64_t tkw__queue_allocated(const struct tkw__queue *q)
{
	return q->allocated;
}

bool tkw__queue_is_paused(const struct tkw__queue *q)
{
	return q->totals.paused != 0;
}

void tkw__queue_get_size(const struct tkw__queue *q, uint64_t *items,
			 uint64_t *bytes)
{
	*items = q->by_id.count;
	*bytes = q->bytes;
}

void tkw__queue_get_stats(struct tkw__queue *q, uint64_t now_us,
			  struct tkw__queue_stats *out)
{
	uint64_t now_ms = now_us / 1000;
	uint64_t idle = tkw__line_count(&q->idle);
	uint64_t ready =
		q->idle.listed + tkw__treap_rank(&q->idle.tree, now_ms);

	*out = (struct tkw__queue_stats){
		.totals = q->totals,
		.items = q->by_id.count,
		.bytes = q->bytes,
		.allocated = q->allocated,
		.oldest_age_ms = oldest_age(q, now_ms),
		.quiet = tkw__is_quiet(q, now_ms, TKW__QUEUE_MASTER),
	};
	out->count[TKW__QUEUE_IS_READY] = ready;
	out->count[TKW__QUEUE_IS_WAITING] = idle - ready;
	out->count[TKW__QUEUE_IS_TAKEN] = tkw__line_count(&q->taken);
	out->count[TKW__QUEUE_IS_DEAD] = tkw__treap_size(q->dead.root);
	tkw__lateness_get(q, out->lateness);
}

uint64_t tkw__hash_word(uint64_t h, uint64_t word)
{
	return tkw__mix(h * 3 + word);
}

uint64_t tkw__hash_text(uint64_t h, const void *at, size_t len)
{
	static const uint64_t seed[2] = { 1, 2 };

	return tkw__hash_word(tkw__hash_word(h, len), tkw__hash(seed, at, len));
}

uint64_t tkw__item_digest(const struct tkw__item *it)
{
	struct tkw__backoff b = tkw__item_backoff(it);
	struct tkw__queue_text reason = tkw__reason_of(it);
	uint64_t h = tkw__hash_word(1, it->id);

	h = tkw__hash_word(h, it->node.tick);
	h = tkw__hash_word(h, it->other);
	h = tkw__hash_word(h, it->state == TKW__TAKEN ? it->token : 0);
	h = tkw__hash_word(h, (uint64_t)it->attempts << 32 | it->max_attempts);
	h = tkw__hash_word(h, (uint64_t)b.first_ms << 32 | b.max_ms);
	h = tkw__hash_word(h, it->state);
	h = tkw__hash_word(h, it->lost);
	h = tkw__hash_word(h, it->timed);
	h = tkw__hash_text(h, tkw__item_key(it), it->key_len);
	h = tkw__hash_text(h, tkw__item_payload(it), it->payload_len);
	if (it->has & TKW__HAS_PLAN) {
		h = tkw__hash_word(h, tkw__item_planned(it).planned_ms);
		h = tkw__hash_word(h, tkw__item_planned(it).plan_id);
		h = tkw__hash_word(h, it->started);
	}
	return tkw__hash_text(h, reason.at ? reason.at : "", reason.len);
}

/* A sum over the items does not depend on their order. */
static void add_item(struct tkw__queue *q, struct tkw__item *it, void *ctx)
{
	uint64_t *sum = ctx;

	(void)q;
	*sum += tkw__item_digest(it);
}

uint64_t tkw__queue_digest(struct tkw__queue *q)
{
	uint64_t words[TKW__RECORD_WORDS];
	uint64_t sum = 0;

	memcpy(words, &q->totals, sizeof(words));
	for (int i = 0; i < TKW__RECORD_WORDS; i++)
		sum = tkw__hash_word(sum, words[i]);
	tkw__index_each(q, &q->by_id, add_item, &sum);
	return sum + tkw__plans_digest(q);
}

static void item_record(const struct tkw__item *it, struct tkw__record *r)
{
	struct tkw__backoff b = tkw__item_backoff(it);
	bool taken = it->state == TKW__TAKEN;

	*r = (struct tkw__record){
		.kind = TKW__RECORD_ITEM,
		.flags = (it->lost ? TKW__RECORD_LOST : 0) |
			 (it->timed ? TKW__RECORD_TIMED : 0),
		.id = it->id,
		.key = { tkw__item_key(it), it->key_len },
		.payload = { tkw__item_payload(it), it->payload_len },
	};
	if (!it->lost)
		r->reason = tkw__reason_of(it);
	r->word[TKW__PUT_DUE] = tkw__item_due(it);
	r->word[TKW__PUT_OPTIONS] =
		(uint64_t)b.first_ms << 32 | it->max_attempts;
	r->word[TKW__PUT_MAX_BACKOFF] = b.max_ms;
	r->word[TKW__ITEM_OTHER] = taken ? it->node.tick : it->other;
	r->word[TKW__ITEM_TOKEN] = taken ? it->token : 0;
	r->word[TKW__ITEM_STATE] = (uint64_t)it->attempts << 32 | it->state;
	if (it->has & TKW__HAS_PLAN) {
		r->kind = TKW__RECORD_PLANNED_ITEM;
		r->flags |= it->started ? TKW__RECORD_STARTED : 0;
		r->word[TKW__ITEM_PLANNED] = tkw__item_planned(it).planned_ms;
		r->word[TKW__ITEM_PLAN] = tkw__item_planned(it).plan_id;
	}
}

struct dumping {
	struct tkw__queue_log *log;
	uint32_t records;
	int err;
};

static void dump_one(struct tkw__queue *q, struct tkw__item *it, void *ctx)
{
	struct dumping *d = ctx;
	struct tkw__record r;

	if (d->err)
		return;
	item_record(it, &r);
	r.flags |= TKW__RECORD_MORE;
	d->err = tkw__record_write(q, d->log, &r);
	d->records++;
}

/* Plans come before the items. Returns the index of the next plan. */
static uint64_t dump_plans(struct tkw__queue *q, struct dumping *d, uint64_t at,
			   uint32_t max)
{
	do {
		struct tkw__record r;

		q->steps++;
		tkw__plan_record(q->plans.at[at++], &r);
		r.flags |= TKW__RECORD_MORE;
		d->err = tkw__record_write(q, d->log, &r);
		d->records++;
	} while (at < q->plans.count && d->records < max && !d->err);
	return at;
}

int tkw__queue_dump_totals(struct tkw__queue *q, struct tkw__queue_log *log)
{
	struct tkw__record r = { .kind = TKW__RECORD_TOTALS };

	memcpy(r.word, &q->totals, sizeof(q->totals));
	return tkw__record_write(q, log, &r);
}

/* The cursor of the items has at least 30 zero bits at its end. So a cursor
 * below this is the index of a plan. If it is behind the last plan, the items
 * begin. */
static uint64_t dump_piece(struct tkw__queue *q, struct dumping *d, uint64_t at,
			   uint32_t max)
{
	if (at < q->plans.count) {
		at = dump_plans(q, d, at, max);
		if (at < q->plans.count || d->records >= max || d->err)
			return at;
	}
	if (at <= TKW__QUEUE_MAX_PLANS)
		at = 0;
	do {
		at = tkw__index_scan(q, &q->by_id, at, dump_one, d);
	} while (at != 0 && d->records < max && !d->err);
	return at;
}

int tkw__queue_dump(struct tkw__queue *q, uint64_t *cursor, uint32_t max,
		    struct tkw__queue_log *log)
{
	struct tkw__queue_call call = { .now_us = q->now_ms * 1000,
					.log = log };
	struct dumping d = { log, 0, 0 };
	struct tkw__mark m;
	uint64_t at;

	tkw__begin(q, &call, &m);
	at = dump_piece(q, &d, *cursor, max);
	if (at == 0 && !d.err)
		d.err = tkw__queue_dump_totals(q, log);
	if (!d.err)
		*cursor = at;
	return tkw__finish(q, &call, &m, d.err);
}

int tkw__queue_dump_item(struct tkw__queue *q, uint64_t id,
			 struct tkw__queue_log *log)
{
	const struct tkw__item *it = tkw__index_find_id(q, id);
	struct tkw__record r;

	if (!it)
		return -ENOENT;
	item_record(it, &r);
	return tkw__record_write(q, log, &r);
}

int tkw__queue_dump_plan(struct tkw__queue *q, struct tkw__queue_text name,
			 struct tkw__queue_log *log)
{
	const struct tkw__plan *p = tkw__plans_find(q, name);
	struct tkw__record r;

	if (!p)
		return -ENOENT;
	tkw__plan_record(p, &r);
	return tkw__record_write(q, log, &r);
}
