/* SPDX-License-Identifier: MIT */
/* queue_verify.c - holds the queue against the oracle. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "queue/state.h" /* for the tally alone */
#include "queue_driving.h"

_Noreturn void qd_fail(struct qd *d, const char *what)
{
	struct queue_driver_failure *f = d->failure;

	f->what = what;
	f->op = d->op;
	snprintf(f->detail, sizeof(f->detail),
		 "now %" PRIu64 " us, %" PRIu32 " items, small %" PRIu32,
		 d->now_us, d->oracle.count, d->cfg.small);
	longjmp(d->out, 1);
}

void qd_trace(struct qd *d, const char *what, uint64_t a, uint64_t b)
{
	if (!d->opts->trace || d->op < d->opts->trace_from)
		return;
	fprintf(d->opts->trace,
		"  op %" PRIu64 ", now %" PRIu64 ".%03" PRIu64 ": %s %" PRIu64
		" %" PRIu64 "\n",
		d->op, d->now_us / 1000, d->now_us % 1000, what, a, b);
}

/* A key of 1 to 255 bytes. */
struct tkw__queue_text qd_key(uint32_t key)
{
	static char text[QD_KEYS + 1][255];

	memset(text[key], 'a' + (int)key, sizeof(text[key]));
	return (struct tkw__queue_text){ text[key], key == 1 ? 255 : key };
}

/* Names that could be mistaken for keys, and the longest one. */
struct tkw__queue_text qd_plan_name(uint32_t name)
{
	static char text[TKW__QUEUE_MAX_PLAN_NAME];

	if (name == 1)
		return (struct tkw__queue_text){ "job", 3 };
	if (name == 2)
		return (struct tkw__queue_text){ "job@17", 6 };
	memset(text, 'a', sizeof(text));
	return (struct tkw__queue_text){ text, sizeof(text) };
}

struct tkw__queue_text qd_key_of(const struct qo_want *w)
{
	static char text[TKW__QUEUE_MAX_KEY + 1];
	struct tkw__queue_text name;
	int n;

	if (w->key)
		return qd_key(w->key);
	if (!w->job)
		return (struct tkw__queue_text){ NULL, 0 };
	name = qd_plan_name(w->job);
	n = snprintf(text, sizeof(text), "%.*s@%" PRIu64, (int)name.len,
		     (const char *)name.at, w->planned);
	return (struct tkw__queue_text){ text, (size_t)n };
}

/* All payloads are windows of one text. */
struct tkw__queue_text qd_payload(uint32_t payload, uint32_t len)
{
	static char text[512];
	size_t i;

	if (!text[1]) {
		for (i = 0; i < sizeof(text); i++)
			text[i] = (char)(i * 31 + i / 256);
	}
	return (struct tkw__queue_text){ text + payload, len };
}

struct tkw__queue_text qd_reason(uint32_t reason)
{
	static const char text[] = "the printer is on fire";

	if (reason == QO_LOST)
		return (struct tkw__queue_text){ "lease lost", 10 };
	return (struct tkw__queue_text){ text, reason ? reason * 3 : 0 };
}

bool qd_same(struct tkw__queue_text a, struct tkw__queue_text b)
{
	return a.len == b.len && (a.len == 0 || !memcmp(a.at, b.at, a.len));
}

static bool same_totals(const struct tkw__queue_totals *t, const struct qo *o)
{
	return t->last_id == o->last_id && t->last_token == o->last_token &&
	       t->puts == o->puts && t->acks == o->acks &&
	       t->cancels == o->cancels && t->purges == o->purges &&
	       t->replaces == o->replaces && t->takes == o->takes &&
	       t->nacks == o->nacks && t->losses == o->losses &&
	       t->deaths == o->deaths && t->revivals == o->revivals &&
	       t->extends == o->extends && t->reschedules == o->reschedules &&
	       t->paused == o->paused && t->max_items == o->max_items &&
	       t->max_bytes == o->max_bytes && t->max_payload == o->max_payload;
}

/* Says whether something is ready: yes and no are true, and if all is quiet
 * there is nothing in between. */
static void verify_ready(struct qd *d, bool quiet)
{
	enum tkw__queue_ready got = tkw__queue_has_ready(d->q, d->now_us);
	bool any = false;
	uint32_t i;

	for (i = 0; i < d->oracle.count && !d->oracle.paused; i++)
		any |= qo_state_of(&d->oracle.items[i], qd_now_ms(d)) ==
		       QO_READY;
	if (got == TKW__QUEUE_MAYBE_READY
		    ? quiet
		    : any != (got != TKW__QUEUE_NONE_READY))
		qd_fail(d, "it does not know whether something is ready");
	d->tally->n[QT_MAYBE_READY] += got == TKW__QUEUE_MAYBE_READY;
}

/* However much there is to do, the age is never too small. Only leases that
 * have run out may be missing. */
static void verify_age(struct qd *d, uint64_t age)
{
	uint64_t now = qd_now_ms(d);
	uint32_t i;

	for (i = 0; i < d->oracle.count; i++) {
		const struct qo_item *it = &d->oracle.items[i];

		if (!it->token && qo_state_of(it, now) == QO_READY &&
		    now - it->want.due > age)
			qd_fail(d, "the age of the oldest is too small");
	}
}

static uint64_t all_bytes(const struct qd *d)
{
	const struct qo *o = &d->oracle;
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < o->count; i++)
		bytes += (uint64_t)o->items[i].want.key_len +
			 o->items[i].want.payload_len;
	for (i = 0; i < QO_PLANS; i++)
		bytes += qo_plan_bytes(&o->plan[i]);
	return bytes;
}

void qd_verify(struct qd *d)
{
	const char *wrong = tkw__queue_check(d->q);
	struct tkw__queue_stats s;

	if (wrong)
		qd_fail(d, wrong);
	tkw__queue_get_stats(d->q, d->now_us, &s);
	if (s.items != d->oracle.count)
		qd_fail(d, "the number of items is wrong");
	if (!same_totals(&s.totals, &d->oracle))
		qd_fail(d, "the totals are wrong");
	if (s.allocated + d->log.room != d->mem->bytes)
		qd_fail(d, "the memory is counted wrongly");
	_Static_assert(sizeof(s.lateness) == sizeof(d->oracle.lateness),
		       "the same buckets");
	if (memcmp(s.lateness, d->oracle.lateness, sizeof(s.lateness)) != 0)
		qd_fail(d, "the histogram of lateness is wrong");
	if (s.bytes != all_bytes(d))
		qd_fail(d, "the number of bytes is wrong");
	verify_age(d, s.oldest_age_ms);
	if (tkw__queue_next_ms(d->q, d->now_us) >
	    qo_next(&d->oracle, qd_now_ms(d)))
		qd_fail(d, "next is late");
	if (s.quiet)
		qd_verify_quiet(d);
	verify_ready(d, s.quiet);
	qd_verify_plans(d);
	d->tally->n[d->q->idle.wheel ? QT_WITH_WHEEL : QT_WITHOUT_WHEEL]++;
	d->tally->n[QT_WITH_STRAYS] += d->q->idle.strays != 0;
}

static void verify_next(struct qd *d)
{
	uint64_t next = tkw__queue_next_ms(d->q, d->now_us);
	uint64_t wanted = qo_next(&d->oracle, qd_now_ms(d));

	if (next <= qd_now_ms(d))
		qd_fail(d, "next is not after now, and all is quiet");
	if ((next == UINT64_MAX) != (wanted == UINT64_MAX))
		qd_fail(d, "next does not know whether there is anything");
}

void qd_verify_quiet(struct qd *d)
{
	uint64_t count[4] = { 0, 0, 0, 0 };
	uint64_t now = qd_now_ms(d);
	uint64_t oldest = now;
	struct tkw__queue_stats s;
	uint32_t i;

	for (i = 0; i < d->oracle.count; i++) {
		const struct qo_item *it = &d->oracle.items[i];

		if (it->token && it->lease <= now)
			qd_fail(d, "it is quiet, but a lease has run out");
		count[qo_state_of(it, now)]++;
		if (qo_state_of(it, now) == QO_READY && it->want.due < oldest)
			oldest = it->want.due;
	}
	tkw__queue_get_stats(d->q, d->now_us, &s);
	if (!s.quiet)
		qd_fail(d, "it is quiet, and does not say so");
	for (i = 0; i < 4; i++) {
		if (s.count[i] != count[i])
			qd_fail(d, "a count by state is wrong");
	}
	if (s.oldest_age_ms != now - oldest)
		qd_fail(d, "the age of the oldest is wrong");
	verify_next(d);
}

static void verify_facts(struct qd *d, const struct tkw__queue_facts *f,
			 const struct qo_item *it)
{
	struct qo_item v = qo_view(it, qd_now_ms(d));
	enum qo_state state = qo_state_of(it, qd_now_ms(d));

	if ((int)f->state != (int)state || f->id != v.id ||
	    f->due_ms != v.want.due || f->attempts != v.attempts)
		qd_fail(d, "an item has the wrong state");
	if (f->max_attempts != v.want.max_attempts ||
	    f->backoff_ms != v.want.backoff ||
	    f->max_backoff_ms != v.want.max_backoff)
		qd_fail(d, "an item has the wrong options");
	if ((state <= QO_READY && f->seq != v.seq) ||
	    f->token != (state == QO_TAKEN ? v.token : 0) ||
	    f->lease_ms != (state == QO_TAKEN ? v.lease : 0) ||
	    f->died_ms != (state == QO_DEAD ? v.died : 0))
		qd_fail(d, "an item has wrong numbers");
	if (!qd_same(f->payload,
		     qd_payload(v.want.payload, v.want.payload_len)) ||
	    !qd_same(f->reason, qd_reason(v.reason)))
		qd_fail(d, "an item has the wrong bytes");
	if (!qd_same(f->key, qd_key_of(&v.want)) ||
	    f->planned_ms != (v.plan ? v.want.planned : 0))
		qd_fail(d, "an item has the wrong key");
}

struct listed {
	struct qd *d;
	uint32_t count[4];
};

static void visit_listed(const struct tkw__queue_facts *f, void *ctx)
{
	struct listed *l = ctx;
	const struct qo_item *it = qo_find(&l->d->oracle, f->id);

	if (!it)
		qd_fail(l->d, "an item was listed that is not there");
	verify_facts(l->d, f, it);
	l->count[f->state]++;
}

static void verify_list(struct qd *d)
{
	enum tkw__queue_state state = (enum tkw__queue_state)qd_below(d, 3);
	struct listed l = { d, { 0, 0, 0, 0 } };
	struct tkw__queue_list list = { d->now_us, state, 1 + qd_below(d, 9),
					visit_listed, &l };
	uint32_t wanted = 0;
	uint64_t cursor = 0;
	uint32_t i;

	for (i = 0; i < d->oracle.count; i++)
		wanted += (int)qo_state_of(&d->oracle.items[i], qd_now_ms(d)) ==
			  (int)state;
	do {
		cursor = tkw__queue_list(d->q, &list, cursor);
	} while (cursor != 0);
	if (l.count[state] != wanted)
		qd_fail(d, "a list by state is not complete");
}

/* All that are dead by time are listed if the queue is quiet. */
static void verify_dead(struct qd *d)
{
	struct listed l = { d, { 0, 0, 0, 0 } };
	struct tkw__queue_list list = { d->now_us, TKW__QUEUE_IS_DEAD,
					1 + qd_below(d, 9), visit_listed, &l };
	struct tkw__queue_stats s;
	uint32_t wanted = 0;
	uint64_t cursor = 0;
	uint32_t i;

	for (i = 0; i < d->oracle.count; i++)
		wanted += qo_state_of(&d->oracle.items[i], qd_now_ms(d)) ==
			  QO_DEAD;
	do {
		cursor = tkw__queue_list(d->q, &list, cursor);
	} while (cursor != 0);
	tkw__queue_get_stats(d->q, d->now_us, &s);
	if (s.quiet && l.count[TKW__QUEUE_IS_DEAD] != wanted)
		qd_fail(d, "the list of the dead is not complete");
}

void qd_verify_items(struct qd *d)
{
	struct tkw__queue_name name;
	struct tkw__queue_facts f;
	uint32_t i;

	d->tally->n[QT_COMPARE]++;
	for (i = 0; i < d->oracle.count; i++) {
		const struct qo_item *it = &d->oracle.items[i];

		name = (struct tkw__queue_name){ .id = it->id };
		if (tkw__queue_get(d->q, d->now_us, &name, &f) != 0)
			qd_fail(d, "an item is not there");
		verify_facts(d, &f, it);
	}
	for (i = 1; i <= QD_KEYS; i++) {
		const struct qo_item *it = qo_find_key(&d->oracle, i);

		name = (struct tkw__queue_name){ .key = qd_key(i) };
		if (tkw__queue_get(d->q, d->now_us, &name, &f) !=
		    (it ? 0 : -ENOENT))
			qd_fail(d, "a key is held, or not, and should not be");
		if (it)
			verify_facts(d, &f, it);
	}
	verify_list(d);
	verify_dead(d);
	qd_verify_plans(d);
}

static void visit_scanned(const struct tkw__queue_facts *f, void *ctx)
{
	struct qd_scan *s = ctx;
	uint32_t i;

	for (i = 0; i < s->count; i++)
		s->seen[i] |= s->id[i] == f->id;
}

static void begin_scan(struct qd *d)
{
	struct qd_scan *s = &d->scan;
	uint32_t i;

	memset(s, 0, sizeof(*s));
	s->on = true;
	s->dead = qd_below(d, 2);
	for (i = 0; i < d->oracle.count; i++) {
		const struct qo_item *it = &d->oracle.items[i];

		if (!s->dead || qo_state_of(it, qd_now_ms(d)) == QO_DEAD)
			s->id[s->count++] = it->id;
	}
}

/* After each command: what is not there now was not there throughout. */
void qd_scan_watch(struct qd *d)
{
	struct qd_scan *s = &d->scan;
	uint32_t i;

	for (i = 0; s->on && i < s->count; i++) {
		const struct qo_item *it = qo_find(&d->oracle, s->id[i]);

		s->gone[i] |= !it || (s->dead &&
				      qo_state_of(it, qd_now_ms(d)) != QO_DEAD);
	}
}

void qd_scan_some(struct qd *d)
{
	struct qd_scan *s = &d->scan;
	struct tkw__queue_list list = { d->now_us, TKW__QUEUE_STATES,
					1 + qd_below(d, 4), visit_scanned, s };
	uint32_t i;

	if (!s->on)
		begin_scan(d);
	if (s->dead) {
		list.state = TKW__QUEUE_IS_DEAD;
		qd_make_quiet(d);
	}
	s->cursor = tkw__queue_list(d->q, &list, s->cursor);
	if (s->cursor != 0)
		return;
	s->on = false;
	d->tally->n[s->dead ? QT_SCAN_DEAD : QT_SCAN] += s->count > 0;
	for (i = 0; i < s->count; i++) {
		if (!s->seen[i] && !s->gone[i])
			qd_fail(d, "a scan missed an item");
	}
}
