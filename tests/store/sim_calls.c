/* SPDX-License-Identifier: MIT */
/* sim_calls.c - the requests of the simulated callers, drawn by chance. */
#include <string.h>

#include "queue_driving.h"
#include "sim_life.h"

const char *call_queue_name(uint32_t q)
{
	static const char *const names[LIFE_QUEUES] = { "default", "mail",
							"x" };

	return names[q];
}

static struct qo *oracle_of(struct life *l, const struct call *c)
{
	return &l->now.q[c->q].o;
}

static void on_done(struct tkw__request *r)
{
	struct call *c = r->ctx;

	if (c->life->gone) {
		/* The caller is gone, too. */
		if (r->kind == TKW__REQUEST_TAKE)
			tkw_items_free(r->take.items);
		return;
	}
	if (c->ended)
		life_fail(c->life, "a request was answered twice");
	c->ended = true;
	c->result = r->result;
}

/* --- arguments ----------------------------------------------------------- */

static struct tkw__queue_when draw_when(struct life *l, const struct qo *o)
{
	uint64_t now = life_now_ms(l);
	struct tkw__queue_when w = { true, (int64_t)now };

	switch (life_below(l, 8)) {
	case 0:
		break;
	case 1:
		if (o->count)
			w.ms = (int64_t)o->items[life_below(l, o->count)]
				       .want.due;
		break;
	case 2:
		w.ms = (int64_t)(now - life_below(l, 30));
		break;
	case 3:
		w = (struct tkw__queue_when){ false, life_below(l, 2000) };
		break;
	case 4:
		w.ms = (int64_t)(now + life_below(l, 8));
		break;
	case 5:
		w = (struct tkw__queue_when){ false, -3 };
		break;
	default:
		w = (struct tkw__queue_when){ false, life_below(l, 12) };
	}
	return w;
}

/* The oracle has room for so many items. A take may let a plan put another one
 * for each that it gives out. */
static bool has_room(struct life *l, uint32_t q, uint32_t more)
{
	uint32_t n = l->now.q[q].o.count + QO_PLANS + more;
	uint32_t i;

	for (i = 0; i < l->callers; i++) {
		const struct call *c = &l->call[i];

		if (!c->busy || c->q != q)
			continue;
		if (c->r.kind == TKW__REQUEST_PUT)
			n += c->count;
		else if (c->r.kind == TKW__REQUEST_TAKE)
			n += (uint32_t)c->r.take.max;
	}
	return n <= QO_MAX;
}

static void draw_one_put(struct life *l, struct call *c, uint32_t i)
{
	struct qo_want *w = &c->want[i];

	memset(w, 0, sizeof(*w));
	if (life_below(l, 3) == 0) {
		w->key = 1 + life_below(l, QD_KEYS);
		w->key_len = (uint32_t)qd_key(w->key).len;
		w->held = (int)life_below(l, 3);
	}
	w->payload = life_below(l, 256);
	w->payload_len = life_below(l, 100);
	if (life_below(l, 2))
		w->max_attempts = 1 + life_below(l, 3);
	if (life_below(l, 3) == 0)
		w->backoff = 1 + life_below(l, 20);
	if (life_below(l, 4) == 0)
		w->max_backoff = 1 + life_below(l, 40);
	c->put[i] = (struct tkw__queue_put){
		.when = draw_when(l, oracle_of(l, c)),
		.payload = qd_payload(w->payload, w->payload_len),
		.held = (enum tkw__queue_held)w->held,
		.max_attempts = w->max_attempts,
		.backoff_ms = w->backoff,
		.max_backoff_ms = w->max_backoff,
	};
	if (w->key)
		c->put[i].key = qd_key(w->key);
}

static bool draw_put(struct life *l, struct call *c)
{
	uint32_t i;

	c->count = life_below(l, 4) ? 1 : 1 + life_below(l, LIFE_MANY);
	if (!has_room(l, c->q, c->count))
		return false;
	for (i = 0; i < c->count; i++)
		draw_one_put(l, c, i);
	c->r.kind = TKW__REQUEST_PUT;
	c->r.put.puts = c->put;
	c->r.put.count = c->count;
	c->r.put.ids = c->id;
	return true;
}

static uint64_t draw_lease(struct life *l)
{
	if (l->long_leases)
		return UINT64_C(1000000000000);
	return 1 + life_below(l, life_below(l, 2) ? 20 : 400);
}

static bool draw_take(struct life *l, struct call *c)
{
	c->r.kind = TKW__REQUEST_TAKE;
	c->r.take.max = 1 + life_below(l, LIFE_MANY);
	if (!has_room(l, c->q, (uint32_t)c->r.take.max))
		return false;
	c->r.take.lease_ms = draw_lease(l);
	if (life_below(l, 3) == 0)
		c->r.take.wait_us = UINT64_MAX;
	else if (life_below(l, 2))
		c->r.take.wait_us = life_below(l, 60000);
	return true;
}

/* Claims that are good, stale, and made up. */
static bool draw_claims(struct life *l, struct call *c)
{
	const struct memory *m = &l->memory[c->q];
	const struct qo *o = oracle_of(l, c);
	uint32_t i;

	c->count = 1 + life_below(l, LIFE_MANY);
	for (i = 0; i < c->count; i++) {
		c->claim[i] = m->claim[life_below(l, LIFE_CLAIMS)];
		if (life_below(l, 2) && o->count) {
			const struct qo_item *it =
				&o->items[life_below(l, o->count)];

			c->claim[i].id = it->id;
			c->claim[i].token = it->token;
		}
		if (life_below(l, 16) == 0)
			c->claim[i].token += life_below(l, 3);
	}
	c->r.claim.claims =
		(struct tkw__queue_claims){ c->claim, c->count, c->answer };
	return true;
}

static bool draw_ack(struct life *l, struct call *c)
{
	c->r.kind = TKW__REQUEST_ACK;
	return draw_claims(l, c);
}

static bool draw_extend(struct life *l, struct call *c)
{
	c->r.kind = TKW__REQUEST_EXTEND;
	c->r.claim.lease_ms = draw_lease(l);
	return draw_claims(l, c);
}

static bool draw_nack(struct life *l, struct call *c)
{
	c->r.kind = TKW__REQUEST_NACK;
	c->nack = (struct qo_nack){ .delay = -1 };
	if (life_below(l, 2)) {
		c->nack.delay = life_below(l, 30);
		c->r.claim.how.has_delay = true;
		c->r.claim.how.delay_ms = (uint64_t)c->nack.delay;
	}
	if (life_below(l, 2)) {
		c->nack.reason = 2 + life_below(l, 5);
		c->r.claim.how.reason = qd_reason(c->nack.reason);
	}
	return draw_claims(l, c);
}

/* An item by id or by key, or one that is not there. */
static void draw_name(struct life *l, struct call *c, uint32_t i)
{
	const struct qo *o = oracle_of(l, c);

	c->name[i] = (struct tkw__queue_name){ .id = 0 };
	c->key[i] = 0;
	if (life_below(l, 3) == 0) {
		c->key[i] = 1 + life_below(l, QD_KEYS);
		c->name[i].key = qd_key(c->key[i]);
	} else if (o->count && life_below(l, 8)) {
		c->name[i].id = o->items[life_below(l, o->count)].id;
	} else {
		c->name[i].id = o->last_id + 1 + life_below(l, 2);
	}
}

static bool draw_cancel(struct life *l, struct call *c)
{
	uint32_t i;

	c->r.kind = TKW__REQUEST_CANCEL;
	c->count = 1 + life_below(l, 2);
	for (i = 0; i < c->count; i++)
		draw_name(l, c, i);
	c->r.cancel.names = c->name;
	c->r.cancel.count = c->count;
	c->r.cancel.answers = c->answer;
	return true;
}

static bool draw_reschedule(struct life *l, struct call *c)
{
	c->r.kind = TKW__REQUEST_RESCHEDULE;
	draw_name(l, c, 0);
	c->r.move.name = &c->name[0];
	c->r.move.when = draw_when(l, oracle_of(l, c));
	return true;
}

static bool draw_ids(struct life *l, struct call *c)
{
	const struct qo_item *dead = qo_dead_from(oracle_of(l, c), 0);
	uint32_t i;

	c->r.kind = life_below(l, 2) ? TKW__REQUEST_REVIVE : TKW__REQUEST_PURGE;
	c->count = 1 + life_below(l, 2);
	for (i = 0; i < c->count; i++) {
		draw_name(l, c, i);
		c->id[i] = dead && life_below(l, 2) ? dead->id : c->name[i].id;
	}
	c->r.ids.ids = c->id;
	c->r.ids.count = c->count;
	c->r.ids.answers = c->answer;
	return true;
}

static bool draw_some(struct life *l, struct call *c)
{
	c->r.kind = life_below(l, 2) ? TKW__REQUEST_REVIVE_SOME
				     : TKW__REQUEST_PURGE_SOME;
	c->r.some.max = 1 + life_below(l, 4);
	return true;
}

static bool draw_setting(struct life *l, struct call *c)
{
	c->r.kind = life_below(l, 3) ? TKW__REQUEST_RESUME : TKW__REQUEST_PAUSE;
	if (life_below(l, 4))
		return true;
	c->r.kind = TKW__REQUEST_LIMIT;
	if (life_below(l, 2))
		c->r.limits.items = 20 + life_below(l, 60);
	if (life_below(l, 2))
		c->r.limits.bytes = 1000 + life_below(l, 4000);
	if (life_below(l, 3) == 0)
		c->r.limits.payload = 40 + life_below(l, 60);
	return true;
}

static bool draw_open(struct life *l, struct call *c)
{
	c->q = life_below(l, l->queues);
	c->r.kind = TKW__REQUEST_OPEN;
	c->r.open.name = call_queue_name(c->q);
	return true;
}

/* Somebody reads while others write: only what is on the disk is seen. */
static int64_t look(struct tkw__desk *d, struct tkw__request *r)
{
	struct call *c = r->ctx;

	(void)d;
	if (!c->life->gone) {
		life_verify_undone(c->life);
		life_verify_queue(c->life, c->q);
	}
	/* From now on an event loop watches this queue. */
	r->queue->watched = true;
	return 7;
}

static bool draw_look(struct life *l, struct call *c)
{
	(void)l;
	c->r.kind = TKW__REQUEST_LOOK;
	c->r.look.fn = look;
	return true;
}

static bool draw_withdraw(struct life *l, struct call *c)
{
	struct call *other = &l->call[life_below(l, l->callers)];

	if (!other->busy || other->r.kind != TKW__REQUEST_TAKE ||
	    other->withdrawal)
		return false;
	c->r.kind = TKW__REQUEST_WITHDRAW;
	c->r.target = &other->r;
	other->withdrawal = c;
	return true;
}

/* --- drawing ------------------------------------------------------------- */

/* How many lots each kind gets, before a life shifts the weights. */
static const struct {
	bool (*draw)(struct life *l, struct call *c);
	uint8_t lots;
} kinds[] = {
	{ draw_put, 20 },
	{ draw_take, 12 },
	{ draw_ack, 6 },
	{ draw_nack, 5 },
	{ draw_extend, 4 },
	{ draw_cancel, 4 },
	{ draw_reschedule, 4 },
	{ draw_ids, 3 },
	{ draw_some, 1 },
	{ draw_setting, 2 },
	{ draw_open, 1 },
	{ draw_look, 3 },
	{ draw_withdraw, 2 },
	{ call_draw_plan, 4 },
	{ call_draw_change_plan, 2 },
};
enum {
	KINDS = sizeof(kinds) / sizeof(kinds[0])
};

/* Swarm: each life leans to other requests, so that rare states build up. */
void call_draw_lots(struct life *l)
{
	uint32_t weight[KINDS];
	uint32_t sum = 0;
	uint32_t i, k, got, done = 0;

	for (k = 0; k < KINDS; k++) {
		weight[k] = (uint32_t)kinds[k].lots << life_below(l, 3);
		sum += weight[k];
	}
	for (k = 0, got = 0; k < KINDS; k++) {
		got += weight[k];
		for (i = got * LIFE_LOTS / sum; done < i; done++)
			l->lots[done] = (uint8_t)k;
	}
}

static void submit(struct life *l, struct call *c)
{
	c->r.queue = l->queue[c->q];
	if (c->r.kind == TKW__REQUEST_OPEN ||
	    c->r.kind == TKW__REQUEST_WITHDRAW)
		c->r.queue = NULL;
	c->r.done = on_done;
	c->r.ctx = c;
	c->life = l;
	c->busy = true;
	c->number = ++l->calls;
	c->since_us = l->mono_us;
	life_trace(l, "submit, kind and queue", (uint64_t)c->r.kind, c->q);
	tkw__desk_submit(l->desk, &c->r);
}

void call_draw(struct life *l, struct call *c)
{
	bool made;

	memset(c, 0, sizeof(*c));
	c->q = life_below(l, l->queues);
	if (l->queue[c->q]) {
		made = kinds[l->lots[life_below(l, LIFE_LOTS)]].draw(l, c);
	} else {
		made = draw_open(l, c);
	}
	if (made)
		submit(l, c);
}
