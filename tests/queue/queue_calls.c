/* SPDX-License-Identifier: MIT */
/* queue_calls.c - the commands, made on the queue and on the oracle. */
#include <errno.h>
#include <string.h>

#include "queue_driving.h"

void qd_expect(struct qd *d, int64_t got, int64_t wanted)
{
	if (got != wanted)
		qd_trace(d, "  answer, wanted", (uint64_t)got,
			 (uint64_t)wanted);
	if (d->oracle.wrong)
		qd_fail(d, d->oracle.wrong);
	if (got != wanted)
		qd_fail(d, "a command did not answer what it must");
}

/* Up to the end of time, of any number of digits. */
static uint64_t draw_extreme(struct qd *d)
{
	d->tally->n[QT_EXTREME]++;
	if (qd_below(d, 2))
		return TKW__QUEUE_MAX_MS - qd_below(d, 3);
	return (TKW__QUEUE_MAX_MS >> (1 + qd_below(d, 52))) + qd_below(d, 2);
}

static uint64_t draw_time(struct qd *d)
{
	uint64_t now = qd_now_ms(d);
	uint32_t n = d->oracle.count;

	switch (qd_below(d, 8)) {
	case 0:
		if (qd_below(d, 8) == 0)
			return draw_extreme(d);
		return now;
	case 1:
	case 2:
		if (n)
			return d->oracle.items[qd_below(d, n)].want.due;
		return now;
	case 3:
		return now > 30 ? now - qd_below(d, 30) : 0;
	case 4:
		return now + qd_below(d, 2000);
	case 5:
		return (now | 255) + qd_below(d, 3);
	default:
		return now + qd_below(d, 8);
	}
}

/* A due time at which things are likely to go wrong. */
static uint64_t draw_due(struct qd *d)
{
	uint64_t due = draw_time(d);

	return due < TKW__QUEUE_MAX_MS ? due : TKW__QUEUE_MAX_MS;
}

static void draw_want(struct qd *d, struct qo_want *w)
{
	memset(w, 0, sizeof(*w));
	w->due = draw_due(d);
	if (qd_below(d, 3) == 0) {
		w->key = 1 + qd_below(d, QD_KEYS);
		w->key_len = (uint32_t)qd_key(w->key).len;
		w->held = (int)qd_below(d, 3);
	} else if (qd_below(d, 8) == 0) {
		qd_draw_planned(d, w);
	}
	w->payload = qd_below(d, 256);
	w->payload_len = qd_below(d, 40);
	if (qd_below(d, 2))
		w->max_attempts =
			qd_below(d, 16) ? 1 + qd_below(d, 3) : UINT32_MAX;
	if (qd_below(d, 3) == 0)
		w->backoff = qd_below(d, 16) ? 1 + qd_below(d, 20)
					     : UINT32_MAX >> qd_below(d, 8);
	if (qd_below(d, 4) == 0)
		w->max_backoff = 1 + qd_below(d, 40);
}

static void make_put(struct qd *d, const struct qo_want *w,
		     struct tkw__queue_put *p)
{
	uint64_t now = qd_now_ms(d);

	*p = (struct tkw__queue_put){
		.when = { true, (int64_t)w->due },
		.payload = qd_payload(w->payload, w->payload_len),
		.held = (enum tkw__queue_held)w->held,
		.max_attempts = w->max_attempts,
		.backoff_ms = w->backoff,
		.max_backoff_ms = w->max_backoff,
	};
	if (w->key || w->job)
		p->key = qd_key_of(w);
	if (w->due >= now && qd_below(d, 2))
		p->when = (struct tkw__queue_when){ false,
						    (int64_t)(w->due - now) };
	else if (w->due == now)
		p->when = (struct tkw__queue_when){ false, -3 };
	if (w->due == TKW__QUEUE_MAX_MS)
		p->when.ms = INT64_MAX;
}

static void count_put(struct qd *d, const struct qo_want *w)
{
	struct qo_item *old = qo_find_same(&d->oracle, w);
	uint32_t i;

	d->tally->n[QT_PUT]++;
	d->tally->n[QT_PUT_PLANNED] += w->job && !old;
	d->tally->n[QT_REPLACE_PLANNED] +=
		w->held == 1 && old && old->plan && !old->token;
	d->tally->n[QT_PUT_PAST] += w->due < qd_now_ms(d);
	for (i = 0; i < d->oracle.count; i++) {
		if (d->oracle.items[i].want.due == w->due) {
			d->tally->n[QT_PUT_SHARED]++;
			break;
		}
	}
	if (!old)
		return;
	d->tally->n[QT_KEEP] += w->held == 2;
	d->tally->n[QT_REPLACE] += w->held == 1 && !old->token;
	d->tally->n[QT_REPLACE_DEAD] += w->held == 1 && old->dead;
}

static void count_refusal(struct qd *d, int err)
{
	d->tally->n[QT_PUT_HELD] += err == -EEXIST;
	d->tally->n[QT_PUT_BUSY] += err == -EBUSY;
	d->tally->n[QT_PUT_FULL] += err == -EAGAIN;
	d->tally->n[QT_PUT_LARGE] += err == -EMSGSIZE;
}

void qd_put(struct qd *d)
{
	struct tkw__queue_put put[QD_MANY];
	struct qo_want want[QD_MANY];
	uint64_t id[QD_MANY], wanted[QD_MANY];
	uint32_t n = qd_below(d, 4) ? 1 : 1 + qd_below(d, QD_MANY);
	uint64_t losses = d->oracle.losses;
	struct qo_item *old;
	uint32_t i;
	int got, err = 0;

	if (d->oracle.count + n > QD_FULL)
		return;
	for (i = 0; i < n; i++) {
		draw_want(d, &want[i]);
		/* All or none: what a plan does then is in no record. */
		if (n > 1 && want[i].job) {
			want[i].job = 0;
			want[i].key_len = 0;
		}
		make_put(d, &want[i], &put[i]);
		qd_trace(d, "put, due, key", want[i].due, want[i].key);
	}
	got = tkw__queue_put(d->q, qd_call(d), put, n, id);
	if (qd_answered(d, got))
		return;
	if (n > 1)
		d->before = d->oracle;
	for (i = 0; i < n && !err; i++) {
		count_put(d, &want[i]);
		old = qo_find_same(&d->oracle, &want[i]);
		err = qo_put(&d->oracle, d->now_us, &want[i], &wanted[i]);
		if (!old || want[i].held != 2)
			qd_hear_on(d);
	}
	if (err && n > 1)
		d->oracle = d->before;
	qd_expect(d, got, err);
	count_refusal(d, err);
	d->tally->n[QT_PUT_MANY] += n > 1;
	/* A put records a lost lease only if it replaces its item. */
	d->tally->n[QT_REPLACE_LOST] += d->oracle.losses - losses;
	if (!err && memcmp(id, wanted, n * sizeof(id[0])) != 0)
		qd_fail(d, "a put gave another id");
}

static void remember(struct qd *d, uint64_t id, uint64_t token)
{
	d->token[d->tokens++ % QD_TOKENS] =
		(struct tkw__queue_claim){ id, token };
}

static void expect_taken(struct qd *d, const struct tkw__queue_taken *t,
			 const struct qo_item *it)
{
	static const struct qo_item none;

	if (d->oracle.wrong)
		qd_fail(d, d->oracle.wrong);
	if (!it)
		it = &none;
	if (it->id != t->id)
		qd_fail(d, "the wrong item was given out, or one too many");
	if (it->token != t->token || it->attempts != t->attempt ||
	    it->want.due != t->due_ms ||
	    (it->plan ? it->want.planned : 0) != t->planned_ms)
		qd_fail(d, "an item was given out with wrong facts");
	if (!qd_same(t->payload,
		     qd_payload(it->want.payload, it->want.payload_len)) ||
	    !qd_same(t->key, qd_key_of(&it->want)))
		qd_fail(d, "an item was given out with the wrong bytes");
}

static void count_take(struct qd *d, int got)
{
	if (d->call.behind) {
		/* Looking for the next time of a plan takes steps, too. */
		if (d->quiet_ms == qd_now_ms(d) &&
		    tkw__queue_count_plans(d->q) == 0)
			qd_fail(d, "a take is behind, and all was quiet");
		d->tally->n[QT_TAKE_BEHIND]++;
		d->tally->n[QT_TAKE_BEHIND_SOME] += got > 0;
	}
	d->tally->n[QT_TAKE] += (uint64_t)got;
	d->tally->n[QT_TAKE_NONE] += got == 0;
	d->tally->n[QT_TAKE_PAUSED] += d->oracle.paused != 0;
}

static uint64_t draw_lease(struct qd *d, uint32_t most)
{
	if (qd_below(d, 64) == 0)
		return draw_extreme(d);
	return 1 + qd_below(d, qd_below(d, 2) ? 6 : most);
}

/* The oracle takes what the queue has taken, in the same order. Before an item
 * is taken, items of plans may end that must not be given out. */
static void play_take(struct qd *d, uint64_t lease,
		      const struct tkw__queue_taken *out, int got)
{
	uint64_t due = UINT64_MAX;
	int i = 0;

	while (d->heard < d->log.len) {
		const uint8_t *r = d->log.bytes + d->heard;

		if (r[4] == QD_CANCEL) {
			qd_trace(d, "  ended", qd_id_of(r), 0);
			qo_meet(&d->oracle, d->now_us, qd_id_of(r));
			d->tally->n[QT_MEET]++;
		} else if (r[4] == QD_TAKE && i < got) {
			qd_trace(d, "  taken, token", out[i].id, out[i].token);
			expect_taken(d, &out[i],
				     qo_take(&d->oracle, d->now_us, lease));
			d->tally->n[QT_TAKE_TIE] += due == out[i].due_ms;
			due = out[i].due_ms;
			remember(d, out[i].id, out[i].token);
			i++;
		} else {
			qd_fail(d, "a take has made a strange record");
		}
		qd_hear_on(d);
	}
	qd_expect(d, got, i);
}

void qd_take(struct qd *d)
{
	struct tkw__queue_taken out[QD_MANY];
	uint64_t lease = draw_lease(d, 60);
	uint32_t max = 1 + qd_below(d, QD_MANY);
	uint64_t losses = d->oracle.losses;
	int got;

	if (d->oracle.count > QD_FULL)
		return;
	qd_trace(d, "take, lease", max, lease);
	got = tkw__queue_take(d->q, qd_call(d), max, lease, out);
	if (qd_answered(d, got))
		return;
	if (got < 0)
		qd_fail(d, "a take was refused");
	play_take(d, lease, out, got);
	if ((uint32_t)got < max && !d->call.behind &&
	    qo_first(&d->oracle, qd_now_ms(d)))
		qd_fail(d, "an item that is ready was not given out");
	d->tally->n[QT_TAKE_LOST] += d->oracle.losses > losses;
	count_take(d, got);
}

/* Claims that are good, stale, and made up. */
static uint32_t draw_claims(struct qd *d, struct tkw__queue_claim *claim)
{
	uint32_t n = 1 + qd_below(d, QD_MANY);
	uint32_t i;

	for (i = 0; i < n; i++) {
		uint32_t any = qd_below(d, QD_TOKENS);
		const struct qo_item *it = NULL;

		claim[i] = d->token[any];
		if (qd_below(d, 2) && d->oracle.count) {
			it = &d->oracle.items[qd_below(d, d->oracle.count)];
			claim[i].id = it->id;
			claim[i].token = it->token;
		}
		if (qd_below(d, 16) == 0)
			claim[i].token += qd_below(d, 3);
		qd_trace(d, "  claim", claim[i].id, claim[i].token);
		it = qo_find(&d->oracle, claim[i].id);
		d->tally->n[QT_STALE_BY_TIME] += it && it->token &&
						 it->token == claim[i].token &&
						 it->lease <= qd_now_ms(d);
	}
	return n;
}

static void expect_answer(struct qd *d, enum tkw__queue_answer got, int wanted,
			  enum queue_tally_kind kind)
{
	qd_expect(d, (int)got, wanted);
	d->tally->n[wanted == 1 ? kind : QT_STALE]++;
}

void qd_ack(struct qd *d)
{
	struct tkw__queue_claim claim[QD_MANY];
	enum tkw__queue_answer answer[QD_MANY];
	uint32_t n = draw_claims(d, claim);
	struct tkw__queue_claims claims = { claim, n, answer };
	uint32_t i;
	int got;

	qd_trace(d, "ack", n, 0);
	got = tkw__queue_ack(d->q, qd_call(d), &claims);
	if (qd_answered(d, got))
		return;
	qd_expect(d, got, 0);
	for (i = 0; i < n; i++)
		expect_answer(d, answer[i],
			      qo_ack(&d->oracle, d->now_us, claim[i].id,
				     claim[i].token),
			      QT_ACK);
}

void qd_nack(struct qd *d)
{
	struct tkw__queue_claim claim[QD_MANY];
	enum tkw__queue_answer answer[QD_MANY];
	uint32_t n = draw_claims(d, claim);
	struct tkw__queue_claims claims = { claim, n, answer };
	struct qo_nack nack = { 0, 0, -1, 0 };
	struct tkw__queue_nack how = { .has_delay = false };
	uint64_t deaths = d->oracle.deaths;
	uint32_t i;
	int got;

	if (qd_below(d, 2)) {
		nack.delay = qd_below(d, 64) ? qd_below(d, 30)
					     : (int64_t)draw_extreme(d);
		how.has_delay = true;
		how.delay_ms = (uint64_t)nack.delay;
	}
	if (qd_below(d, 2)) {
		nack.reason = 2 + qd_below(d, 5);
		how.reason = qd_reason(nack.reason);
		d->tally->n[QT_NACK_REASON]++;
	}
	qd_trace(d, "nack, delay", n, (uint64_t)nack.delay);
	got = tkw__queue_nack(d->q, qd_call(d), &claims, &how);
	if (qd_answered(d, got))
		return;
	qd_expect(d, got, 0);
	for (i = 0; i < n; i++) {
		nack.id = claim[i].id;
		nack.token = claim[i].token;
		expect_answer(d, answer[i],
			      qo_nack(&d->oracle, d->now_us, &nack), QT_NACK);
	}
	d->tally->n[QT_DEATH] += d->oracle.deaths - deaths;
}

void qd_extend(struct qd *d)
{
	struct tkw__queue_claim claim[QD_MANY];
	enum tkw__queue_answer answer[QD_MANY];
	uint32_t n = draw_claims(d, claim);
	struct tkw__queue_claims claims = { claim, n, answer };
	uint64_t lease = draw_lease(d, 300);
	uint32_t i;
	int got;

	qd_trace(d, "extend, lease", n, lease);
	got = tkw__queue_extend(d->q, qd_call(d), &claims, lease);
	if (qd_answered(d, got))
		return;
	qd_expect(d, got, 0);
	for (i = 0; i < n; i++) {
		struct qo_item *it = qo_find(&d->oracle, claim[i].id);
		uint64_t was = it ? it->lease : 0;

		expect_answer(d, answer[i],
			      qo_extend(&d->oracle, d->now_us, claim[i].id,
					claim[i].token, lease),
			      QT_EXTEND);
		d->tally->n[QT_EXTEND_SHORTER] += it && it->lease < was;
	}
}

/* An item by id or by key, or one that is not there. */
static struct tkw__queue_name draw_name(struct qd *d, uint32_t *key)
{
	struct tkw__queue_name name = { .id = 0 };

	*key = 0;
	if (qd_below(d, 3) == 0) {
		*key = 1 + qd_below(d, QD_KEYS);
		name.key = qd_key(*key);
	} else if (d->oracle.count && qd_below(d, 8)) {
		name.id = d->oracle.items[qd_below(d, d->oracle.count)].id;
	} else {
		/* Not the next id: a plan may give it in this command. */
		name.id = d->oracle.last_id + (qd_below(d, 2) ? 65536 : 0);
	}
	qd_trace(d, "  name, key", name.id, *key);
	return name;
}

static struct qo_item *named(struct qd *d, const struct tkw__queue_name *name,
			     uint32_t key)
{
	return key ? qo_find_key(&d->oracle, key)
		   : qo_find(&d->oracle, name->id);
}

void qd_cancel(struct qd *d)
{
	struct tkw__queue_name name[QD_MANY];
	enum tkw__queue_answer answer[QD_MANY];
	uint32_t key[QD_MANY];
	uint32_t n = 1 + qd_below(d, 2);
	uint32_t i;
	int got;

	for (i = 0; i < n; i++)
		name[i] = draw_name(d, &key[i]);
	qd_trace(d, "cancel", n, 0);
	got = tkw__queue_cancel(d->q, qd_call(d), name, n, answer);
	if (qd_answered(d, got))
		return;
	qd_expect(d, got, 0);
	for (i = 0; i < n; i++) {
		struct qo_item *it = named(d, &name[i], key[i]);
		bool fresh = it && it->plan && !it->started;
		int wanted;

		if (fresh && !d->call.behind)
			qo_want_leases(&d->oracle, it, d->now_us);
		wanted = qo_cancel(&d->oracle, d->now_us, it);
		if (wanted == 1)
			qd_hear_on(d);
		d->tally->n[QT_CANCEL_FRESH] += fresh;
		qd_expect(d, (int)answer[i], wanted);
		d->tally->n[QT_CANCEL] += wanted == 1;
		d->tally->n[QT_CANCEL_TAKEN] += wanted == -1;
	}
}

void qd_reschedule(struct qd *d)
{
	uint32_t key;
	struct tkw__queue_name name = draw_name(d, &key);
	uint64_t due = draw_due(d);
	enum tkw__queue_answer answer;
	int got, wanted;

	qd_trace(d, "reschedule", due, 0);
	got = tkw__queue_reschedule(
		d->q, qd_call(d), &name,
		(struct tkw__queue_when){ true, (int64_t)due }, &answer);
	if (qd_answered(d, got))
		return;
	qd_expect(d, got, 0);
	wanted =
		qo_reschedule(&d->oracle, d->now_us, named(d, &name, key), due);
	qd_expect(d, (int)answer, wanted);
	d->tally->n[QT_RESCHEDULE] += wanted == 1;
}

void qd_revive_or_purge(struct qd *d)
{
	bool revive = qd_below(d, 2);
	enum tkw__queue_answer answer[QD_MANY];
	uint64_t id[QD_MANY];
	uint32_t n = 1 + qd_below(d, 2);
	uint32_t i, key;
	int got, wanted;

	for (i = 0; i < n; i++) {
		struct qo_item *it = qo_dead_from(&d->oracle, 0);

		id[i] = it && qd_below(d, 2) ? it->id : draw_name(d, &key).id;
	}
	qd_trace(d, "revive or purge", revive, n);
	got = (revive ? tkw__queue_revive : tkw__queue_purge)(d->q, qd_call(d),
							      id, n, answer);
	if (qd_answered(d, got))
		return;
	qd_expect(d, got, 0);
	for (i = 0; i < n; i++) {
		struct qo_item *it = qo_find(&d->oracle, id[i]);

		wanted = (revive ? qo_revive : qo_purge)(&d->oracle, d->now_us,
							 it);
		qd_expect(d, (int)answer[i], wanted);
		if (wanted == 1)
			qd_hear_on(d);
		d->tally->n[revive ? QT_REVIVE : QT_PURGE] += wanted == 1;
	}
}

/* True if an item is dead by time, for a walk, and no record says so. */
static bool has_unrecorded(struct qd *d, uint64_t until)
{
	uint32_t i;

	for (i = 0; i < d->oracle.count; i++) {
		const struct qo_item *it = &d->oracle.items[i];

		if (it->token && it->lease <= until &&
		    qo_state_of(it, qd_now_ms(d)) == QO_DEAD)
			return true;
	}
	return false;
}

/* The oracle's part of a walk over the dead: what was dead by time when it
 * began, by id, each once. */
static int64_t play_walk(struct qd *d, const struct tkw__queue_walk *w,
			 bool revive, uint32_t max)
{
	uint64_t until =
		w->begin_ms < qd_now_ms(d) ? w->begin_ms : qd_now_ms(d);
	uint64_t from = w->from;
	struct qo_item *it;
	int64_t n = 0;

	if (d->call.behind && d->walk.from == w->from) {
		/* It was busy with leases, or was to do nothing. */
		d->tally->n[QT_WALK_BEHIND] += has_unrecorded(d, until);
		return 0;
	}
	if (has_unrecorded(d, until))
		qd_fail(d, "a walk has left out items that are dead by time");
	while ((it = qo_dead_from(&d->oracle, from)) && it->id <= w->last &&
	       n < (int64_t)max) {
		from = it->id + 1;
		(revive ? qo_revive : qo_purge)(&d->oracle, d->now_us, it);
		n++;
	}
	if (d->call.behind != (it && it->id <= w->last))
		qd_fail(d, "a walk does not know whether it is at its end");
	return n;
}

void qd_some_dead(struct qd *d)
{
	bool revive = qd_below(d, 2);
	uint32_t max = qd_below(d, 5);
	struct tkw__queue_walk *walk = &d->walk;
	struct tkw__queue_walk was;
	int64_t got, n;

	if (qd_below(d, 2))
		memset(walk, 0, sizeof(*walk));
	was = *walk;
	qd_trace(d, "revive or purge some, from", max, walk->from);
	got = (revive ? tkw__queue_revive_some
		      : tkw__queue_purge_some)(d->q, qd_call(d), walk, max);
	if (qd_answered(d, got)) {
		if (memcmp(walk, &was, sizeof(was)) != 0)
			qd_fail(d, "a walk without memory has moved");
		return;
	}
	if (was.last == 0) {
		was.last = d->oracle.last_id;
		was.begin_ms = qd_now_ms(d);
	}
	n = play_walk(d, &was, revive, max);
	qd_expect(d, got, n);
	d->tally->n[QT_SOME_DEAD] += n > 0;
	d->tally->n[QT_WALK_ON] += n > 0 && was.from > 0;
}

static void set_limits(struct qd *d)
{
	struct tkw__queue_limits l = { 0, 0, 0 };
	int got;

	if (qd_below(d, 2))
		l.items = 5 + qd_below(d, 40);
	if (qd_below(d, 2))
		l.bytes = 100 + qd_below(d, 1000);
	if (qd_below(d, 3) == 0)
		l.payload = 20 + qd_below(d, 20);
	qd_trace(d, "limit", l.items, l.bytes);
	got = tkw__queue_limit(d->q, qd_call(d), &l);
	if (qd_answered(d, got))
		return;
	qd_expect(d, got, 0);
	d->oracle.max_items = l.items;
	d->oracle.max_bytes = l.bytes;
	d->oracle.max_payload = l.payload;
	d->tally->n[QT_LIMIT]++;
}

void qd_settings(struct qd *d)
{
	bool paused = qd_below(d, 3) == 0;
	int got;

	if (qd_below(d, 4) == 0) {
		set_limits(d);
		return;
	}
	qd_trace(d, "pause", paused, 0);
	got = (paused ? tkw__queue_pause : tkw__queue_resume)(d->q, qd_call(d));
	if (qd_answered(d, got))
		return;
	qd_expect(d, got, 0);
	d->oracle.paused = paused;
	d->tally->n[QT_PAUSE] += paused;
}

void qd_make_quiet(struct qd *d)
{
	struct tkw__queue_call *call = qd_call(d);
	int got;

	d->mem->fail_at = 0;
	got = tkw__queue_advance(d->q, call, UINT64_MAX, TKW__QUEUE_MASTER);
	qd_answered(d, got);
	qd_expect(d, got, 0);
	d->quiet_ms = qd_now_ms(d);
	qd_verify_quiet(d);
}

void qd_advance(struct qd *d)
{
	uint64_t max = qd_below(d, 2) ? UINT64_MAX : qd_below(d, 6);
	uint64_t deaths = d->oracle.deaths;
	int got;

	qd_trace(d, "advance", max, 0);
	got = tkw__queue_advance(d->q, qd_call(d), max, TKW__QUEUE_MASTER);
	if (qd_answered(d, got))
		return;
	if (d->oracle.wrong)
		qd_fail(d, d->oracle.wrong);
	if (got < 0 || got > 1 || (got == 1 && max == UINT64_MAX))
		qd_fail(d, "an advance did not do its work");
	d->tally->n[QT_DEATH] += d->oracle.deaths - deaths;
	d->tally->n[got ? QT_ADVANCE_MORE : QT_ADVANCE_QUIET]++;
	d->quiet_ms = got == 0 ? qd_now_ms(d) : 0;
	if (got == 0)
		qd_verify_quiet(d);
}
