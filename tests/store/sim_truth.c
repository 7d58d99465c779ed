/* SPDX-License-Identifier: MIT */
/* sim_truth.c - what the requests do, told by the oracle. */
#include <errno.h>
#include <string.h>

#include "queue_driving.h"
#include "sim_life.h"

static uint64_t due_of(const struct tkw__queue_when *w, uint64_t now_ms)
{
	uint64_t ms = w->ms < 0 ? 0 : (uint64_t)w->ms;

	return w->absolute ? ms : now_ms + ms;
}

static void play_put(struct life *l, struct call *c, struct qo *o,
		     struct wanted *w)
{
	int err = 0;
	uint32_t i;

	l->before = *o;
	for (i = 0; i < c->count && !err; i++) {
		struct qo_want want = c->want[i];
		uint64_t changes = o->puts + o->replaces;

		want.due = due_of(&c->put[i].when, life_now_ms(l));
		/* A refused put has no records. */
		if (c->r.result >= 0)
			hear_lost_of(l, c->q, o, qo_find_same(o, &want));
		err = qo_put(o, l->now_us, &want, &w->id[i]);
		if (c->r.result >= 0 && o->puts + o->replaces > changes)
			hear_own(l, c->q, o);
	}
	if (err)
		*o = l->before;
	w->result = err;
}

/* What a take finds. A queue that is paused does not look. */
static struct qo_item *first(struct life *l, const struct call *c, struct qo *o)
{
	if (!o->paused)
		hear_lost(l, c->q, o);
	return qo_first(o, life_now_ms(l));
}

/* A take ends an item of a plan instead of giving it out. */
static void meet(struct life *l, const struct call *c, struct qo *o,
		 const struct qo_item *it)
{
	const struct qo_plan *p = &o->plan[it->want.job - 1];
	enum life_tally_kind kind = LT_PLAN_ONCE + p->job.misfire;

	if (!p->job.overlap && qo_running(o, p) > 0)
		kind = LT_PLAN_OVERLAP;
	qo_meet(o, l->now_us, it->id);
	hear_own(l, c->q, o);
	if (l->rows)
		l->tally->n[kind]++;
}

static bool play_take(struct life *l, struct call *c, struct qo *o,
		      struct wanted *w)
{
	const struct tkw__request_take *t = &c->r.take;

	while ((size_t)w->result < t->max) {
		struct qo_item *it = first(l, c, o);

		if (!it)
			break;
		if (qo_must_meet(o, it, l->now_us)) {
			meet(l, c, o, it);
			continue;
		}
		it = qo_take(o, l->now_us, t->lease_ms);
		w->item[w->result++] = *it;
		hear_own(l, c->q, o);
	}
	return w->result > 0 || t->wait_us == 0;
}

void call_play_look(struct life *l, struct call *c, struct truth *t)
{
	struct qo *o = &t->q[c->q].o;
	struct qo_item *it;

	/* Only the records tell how far it came. */
	while (!o->paused) {
		hear_lost(l, c->q, o);
		it = hear_cancel(l, c->q, o);
		if (!it || qo_state_of(it, life_now_ms(l)) != QO_READY ||
		    !qo_must_meet(o, it, l->now_us))
			return;
		meet(l, c, o, it);
	}
}

static void play_claims(struct life *l, struct call *c, struct qo *o,
			struct wanted *w)
{
	uint32_t i;

	for (i = 0; i < c->count; i++) {
		uint64_t id = c->claim[i].id;
		uint64_t token = c->claim[i].token;
		uint64_t puts = o->puts;
		struct qo_nack n = c->nack;

		n.id = id;
		n.token = token;
		if (c->r.kind == TKW__REQUEST_ACK)
			w->answer[i] = qo_ack(o, l->now_us, id, token);
		else if (c->r.kind == TKW__REQUEST_NACK)
			w->answer[i] = qo_nack(o, l->now_us, &n);
		else
			w->answer[i] = qo_extend(o, l->now_us, id, token,
						 c->r.claim.lease_ms);
		w->result += w->answer[i];
		if (w->answer[i] == 1)
			hear_own(l, c->q, o);
		if (l->rows)
			l->tally->n[LT_PLAN_ON_END] += o->puts - puts;
	}
}

static struct qo_item *named(const struct call *c, uint32_t i, struct qo *o)
{
	return c->key[i] ? qo_find_key(o, c->key[i])
			 : qo_find(o, c->name[i].id);
}

static void play_cancel(struct life *l, struct call *c, struct qo *o,
			struct wanted *w)
{
	uint32_t i;

	for (i = 0; i < c->count; i++) {
		const struct qo_item *it = named(c, i, o);

		if (it && qo_overlaps(o, it))
			hear_lost(l, c->q, o);
		else
			hear_lost_of(l, c->q, o, it);
		w->answer[i] = qo_cancel(o, l->now_us, named(c, i, o));
		w->result += w->answer[i] == 1;
		if (w->answer[i] == 1)
			hear_own(l, c->q, o);
	}
}

static void play_reschedule(struct life *l, struct call *c, struct qo *o,
			    struct wanted *w)
{
	int done;

	hear_lost_of(l, c->q, o, named(c, 0, o));
	done = qo_reschedule(o, l->now_us, named(c, 0, o),
			     due_of(&c->r.move.when, life_now_ms(l)));
	if (done == 1)
		hear_own(l, c->q, o);
	w->result = done == 1 ? 0 : done == 0 ? -ENOENT : -EBUSY;
}

static void play_ids(struct life *l, struct call *c, struct qo *o,
		     struct wanted *w)
{
	uint32_t i;

	for (i = 0; i < c->count; i++) {
		struct qo_item *it = qo_find(o, c->id[i]);

		hear_lost_of(l, c->q, o, it);
		it = qo_find(o, c->id[i]);
		if (c->r.kind == TKW__REQUEST_REVIVE)
			w->answer[i] = qo_revive(o, l->now_us, it);
		else
			w->answer[i] = qo_purge(o, l->now_us, it);
		w->result += w->answer[i];
		if (w->answer[i] == 1)
			hear_own(l, c->q, o);
	}
}

static void play_some(struct life *l, struct call *c, struct qo *o,
		      struct wanted *w)
{
	hear_lost(l, c->q, o);
	while (w->result < (int64_t)c->r.some.max) {
		struct qo_item *it = qo_dead_from(o, 0);

		if (!it)
			break;
		if (c->r.kind == TKW__REQUEST_REVIVE_SOME)
			qo_revive(o, l->now_us, it);
		else
			qo_purge(o, l->now_us, it);
		hear_own(l, c->q, o);
		w->result++;
	}
	w->more = qo_dead_from(o, 0) != NULL;
}

static void play_setting(struct life *l, const struct call *c,
			 struct truth_queue *t)
{
	struct qo *o = &t->o;
	uint64_t was = o->paused;
	uint64_t settings = t->settings;

	if (c->r.kind == TKW__REQUEST_LIMIT) {
		t->settings++;
		o->max_items = c->r.limits.items;
		o->max_bytes = c->r.limits.bytes;
		o->max_payload = c->r.limits.payload;
	} else {
		o->paused = c->r.kind == TKW__REQUEST_PAUSE;
		t->settings += o->paused != was;
	}
	if (t->settings > settings)
		hear_own(l, c->q, o);
}

bool call_play(struct life *l, struct call *c, struct truth *t,
	       struct wanted *w)
{
	struct qo *o = &t->q[c->q].o;

	memset(w, 0, sizeof(*w));
	switch (c->r.kind) {
	case TKW__REQUEST_OPEN:
		t->q[c->q].exists = true;
		break;
	case TKW__REQUEST_PUT:
		play_put(l, c, o, w);
		break;
	case TKW__REQUEST_TAKE:
		return play_take(l, c, o, w);
	case TKW__REQUEST_ACK:
	case TKW__REQUEST_NACK:
	case TKW__REQUEST_EXTEND:
		play_claims(l, c, o, w);
		break;
	case TKW__REQUEST_CANCEL:
		play_cancel(l, c, o, w);
		break;
	case TKW__REQUEST_RESCHEDULE:
		play_reschedule(l, c, o, w);
		break;
	case TKW__REQUEST_REVIVE:
	case TKW__REQUEST_PURGE:
		play_ids(l, c, o, w);
		break;
	case TKW__REQUEST_REVIVE_SOME:
	case TKW__REQUEST_PURGE_SOME:
		play_some(l, c, o, w);
		break;
	case TKW__REQUEST_LOOK:
		w->result = 7;
		break;
	case TKW__REQUEST_WITHDRAW:
		break;
	case TKW__REQUEST_PLAN:
	case TKW__REQUEST_UNPLAN:
	case TKW__REQUEST_PAUSE_PLAN:
	case TKW__REQUEST_RESUME_PLAN:
		call_play_plan(l, c, o, w);
		break;
	default:
		play_setting(l, c, &t->q[c->q]);
	}
	return true;
}

/* --- answers ------------------------------------------------------------- */

static void compare_item(struct life *l, const struct tkw_item *it,
			 const struct qo_item *want)
{
	struct tkw__queue_text payload = { it->payload, it->payload_len };
	struct tkw__queue_text key = { it->key, it->key_len };

	if (it->claim.id.bits != want->id)
		life_fail(l, "the wrong item was given out");
	if (it->claim.token != want->token ||
	    (uint64_t)it->expires_ms != want->lease ||
	    (uint64_t)it->due_ms != want->want.due ||
	    it->attempts != want->attempts || it->state != TKW_ITEM_TAKEN ||
	    (uint64_t)it->planned_ms != (want->plan ? want->want.planned : 0))
		life_fail(l, "an item was given out with wrong facts");
	if (!qd_same(payload,
		     qd_payload(want->want.payload, want->want.payload_len)) ||
	    !qd_same(key, qd_key_of(&want->want)))
		life_fail(l, "an item was given out with the wrong bytes");
}

static void compare_taken(struct life *l, const struct call *c,
			  const struct wanted *w)
{
	const struct tkw_items *items = c->r.take.items;
	size_t n = items ? items->count : 0;
	size_t i;

	if (n != (size_t)w->result)
		life_fail(l, "a take did not give its items");
	for (i = 0; i < n; i++)
		compare_item(l, &items->item[i], &w->item[i]);
}

static void compare_answers(struct life *l, const struct call *c,
			    const struct wanted *w)
{
	uint32_t i;

	for (i = 0; i < c->count; i++) {
		if ((int)c->answer[i] != w->answer[i])
			life_fail(l, "an answer about an item is wrong");
	}
}

void call_compare(struct life *l, const struct call *c, const struct wanted *w)
{
	if (c->result != w->result)
		life_fail(l, "a request was not answered what it must be");
	switch (c->r.kind) {
	case TKW__REQUEST_OPEN:
		if (!c->r.queue ||
		    strcmp(c->r.queue->name, call_queue_name(c->q)) != 0)
			life_fail(l, "another queue was opened");
		break;
	case TKW__REQUEST_PUT:
		if (w->result == 0 &&
		    memcmp(c->id, w->id, c->count * sizeof(c->id[0])) != 0)
			life_fail(l, "a put gave another id");
		break;
	case TKW__REQUEST_TAKE:
		compare_taken(l, c, w);
		break;
	case TKW__REQUEST_ACK:
	case TKW__REQUEST_NACK:
	case TKW__REQUEST_EXTEND:
	case TKW__REQUEST_CANCEL:
	case TKW__REQUEST_REVIVE:
	case TKW__REQUEST_PURGE:
		compare_answers(l, c, w);
		break;
	case TKW__REQUEST_REVIVE_SOME:
	case TKW__REQUEST_PURGE_SOME:
		if (c->r.some.more != w->more)
			life_fail(l, "it is not told if there are more dead");
		break;
	case TKW__REQUEST_PLAN:
		if (w->result == 0 && c->r.plan.next_ms != w->next)
			life_fail(l, "a plan has another next time");
		break;
	default:
		break;
	}
}

/* --- what callers remember ----------------------------------------------- */

static void has_ended(struct memory *m, uint64_t id)
{
	m->ended[m->ends++ % LIFE_ENDED] = id;
}

static void learn_put(struct life *l, const struct call *c, struct memory *m)
{
	uint32_t i;

	for (i = 0; i < c->count; i++) {
		if (c->id[i] > m->last_id)
			m->last_id = c->id[i];
		else if (!c->want[i].key || c->want[i].held == 0)
			life_fail(l, "an id did not grow");
	}
}

static void learn_taken(struct life *l, const struct call *c, struct memory *m)
{
	const struct tkw_items *items = c->r.take.items;
	size_t i;

	for (i = 0; items && i < items->count; i++) {
		const struct tkw_claim *got = &items->item[i].claim;

		if (got->token <= m->last_token)
			life_fail(l, "a token did not grow");
		m->last_token = got->token;
		m->claim[m->claims++ % LIFE_CLAIMS] =
			(struct tkw__queue_claim){ got->id.bits, got->token };
		if (c->wanted.item[i].plan)
			call_learn_time(l, &c->wanted.item[i], m);
	}
}

void call_learn(struct life *l, const struct call *c)
{
	struct memory *m = &l->memory[c->q];
	uint32_t i;

	if (c->result < 0)
		return;
	switch (c->r.kind) {
	case TKW__REQUEST_OPEN:
		l->queue[c->q] = c->r.queue;
		return;
	case TKW__REQUEST_PUT:
		learn_put(l, c, m);
		return;
	case TKW__REQUEST_TAKE:
		learn_taken(l, c, m);
		return;
	case TKW__REQUEST_ACK:
		for (i = 0; i < c->count; i++) {
			if (c->answer[i] == TKW__QUEUE_DONE)
				has_ended(m, c->claim[i].id);
		}
		return;
	case TKW__REQUEST_CANCEL:
		for (i = 0; i < c->count; i++) {
			if (c->answer[i] == TKW__QUEUE_DONE && !c->key[i])
				has_ended(m, c->name[i].id);
		}
		return;
	case TKW__REQUEST_PURGE:
		for (i = 0; i < c->count; i++) {
			if (c->answer[i] == TKW__QUEUE_DONE)
				has_ended(m, c->id[i]);
		}
		return;
	case TKW__REQUEST_PLAN:
	case TKW__REQUEST_UNPLAN:
	case TKW__REQUEST_PAUSE_PLAN:
	case TKW__REQUEST_RESUME_PLAN:
		call_learn_plan(l, c);
		return;
	default:
		return;
	}
}
