/* SPDX-License-Identifier: MIT */
/*
 * queue_oracle_plans.c - which item of a plan comes next, by the rules alone.
 *
 * A plan knows none of its items: they are looked for each time.
 */
#include <errno.h>
#include <stddef.h>

#include "queue_oracle.h"

static const uint64_t latest = INT64_MAX / 1000;

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* --- what is there -------------------------------------------------------- */

static struct qo_plan *plan_of(struct qo *o, const struct qo_item *it)
{
	uint32_t i;

	for (i = 0; i < QO_PLANS; i++) {
		if (it->plan && o->plan[i].id == it->plan)
			return &o->plan[i];
	}
	return NULL;
}

struct qo_item *qo_fresh(struct qo *o, const struct qo_plan *p)
{
	uint32_t i;

	for (i = 0; i < o->count; i++) {
		if (p->id && o->items[i].plan == p->id && !o->items[i].started)
			return &o->items[i];
	}
	return NULL;
}

uint32_t qo_running(const struct qo *o, const struct qo_plan *p)
{
	uint32_t n = 0;
	uint32_t i;

	for (i = 0; i < o->count; i++)
		n += p->id && o->items[i].plan == p->id &&
		     o->items[i].started && !o->items[i].dead;
	return n;
}

uint64_t qo_plan_bytes(const struct qo_plan *p)
{
	return p->id ? (uint64_t)p->job.name_len + p->job.text_len +
			       p->job.item.payload_len
		     : 0;
}

/* The name, "@", and the time in decimal. */
static uint32_t key_len(const struct qo_job *job, uint64_t ms)
{
	uint32_t len = job->name_len + 2;

	for (; ms >= 10; ms /= 10)
		len++;
	return len;
}

/* --- times ---------------------------------------------------------------- */

static int is_time(const struct qo_times *t, uint64_t ms)
{
	return ms % t->period == 0 &&
	       !(t->skip && ms / t->period % t->skip == 0) &&
	       !(t->last && ms > t->last);
}

/* The first time after this one whose key is free. own does not count. */
static int find(struct qo *o, const struct qo_job *job, uint64_t ms,
		const struct qo_item *own, uint64_t *out)
{
	const struct qo_times *t = &job->times;
	int held = 0;

	if (o->calendar)
		return o->calendar;
	for (ms = ms - ms % t->period + t->period;; ms += t->period) {
		const struct qo_item *it;

		if (ms > latest || (t->last && ms > t->last) || t->skip == 1)
			return -ENOENT;
		if (!is_time(t, ms))
			continue;
		it = qo_find_planned(o, job->name, ms);
		if (!it || it == own)
			break;
		if (held++ == QO_HELD)
			return -EEXIST;
	}
	*out = ms;
	return 0;
}

static int is_missed(const struct qo_plan *p, const struct qo_item *it,
		     uint64_t now_ms)
{
	uint64_t since = larger(it->want.planned, it->want.due);

	return now_ms > since && now_ms - since > p->job.grace;
}

/* The time that misfire wants, from the fresh item on: of those that passed
 * before end, the latest one or few. end itself if it wants none of them. */
static uint64_t wanted(const struct qo *o, const struct qo_plan *p,
		       uint64_t planned, uint64_t end)
{
	uint32_t most = p->job.misfire == QO_ALL ? p->job.max_missed : 1;
	uint64_t found = planned;
	uint64_t ms = end - 1;

	if (p->job.misfire == QO_SKIP)
		return end;
	if (o->calendar)
		return planned;
	if (p->job.times.last && ms > p->job.times.last)
		ms = p->job.times.last;
	for (ms -= ms % p->job.times.period; ms > planned && most > 0;
	     ms -= p->job.times.period) {
		if (is_time(&p->job.times, ms)) {
			found = ms;
			most--;
		}
	}
	return most ? planned : found;
}

/* The time that the plan wants first by now: that of the fresh item, unless it
 * is missed. */
static uint64_t wanted_by_now(const struct qo *o, const struct qo_plan *p,
			      const struct qo_item *it, uint64_t now_ms)
{
	uint64_t planned = it->want.planned;

	return is_missed(p, it, now_ms)
		       ? wanted(o, p, planned, now_ms - p->job.grace)
		       : planned;
}

/* --- a plan goes on ------------------------------------------------------- */

static void put_fresh(struct qo *o, const struct qo_plan *p, uint64_t ms,
		      uint64_t now_us)
{
	struct qo_item none = { 0 };
	struct qo_item *it;

	if (qo_fresh(o, p))
		o->wrong = "a plan has two fresh items";
	it = &o->items[o->count++];
	*it = none;
	it->id = qo_next_number(&o->last_id, now_us);
	it->seq = it->id;
	it->plan = p->id;
	it->want = p->job.item;
	it->want.job = p->job.name;
	it->want.planned = ms;
	it->want.due = ms;
	it->want.key_len = key_len(&p->job, ms);
	o->puts++;
}

static int waits(const struct qo *o, const struct qo_plan *p)
{
	return qo_running(o, p) > 0 && (p->job.on_end || p->in_turn);
}

static void go_on(struct qo *o, struct qo_plan *p, uint64_t from,
		  uint64_t now_us)
{
	uint64_t ms;

	if (waits(o, p))
		return;
	p->in_turn = 0;
	p->error = find(o, &p->job, from, NULL, &ms);
	if (!p->error)
		put_fresh(o, p, ms, now_us);
}

static void end_fresh(struct qo *o, struct qo_item *it)
{
	qo_drop(o, it);
	o->cancels++;
}

/* --- what happens to its items -------------------------------------------- */

/* The fresh item was ready while another one was running. */
static void leave_out(struct qo *o, struct qo_plan *p, uint64_t at_ms,
		      uint64_t now_us)
{
	struct qo_item *it = qo_fresh(o, p);

	p->decided = it->want.planned;
	p->overlaps++;
	end_fresh(o, it);
	go_on(o, p, larger(p->decided, at_ms), now_us);
}

/* Whether an item is running is only known if all leases are recorded. */
static void want_leases(struct qo *o, const struct qo_plan *p, uint64_t now_ms)
{
	uint32_t i;

	for (i = 0; i < o->count; i++) {
		const struct qo_item *it = &o->items[i];

		if (it->plan == p->id && it->token && it->lease <= now_ms)
			o->wrong = "a time was left out for a lost lease";
	}
}

int qo_overlaps(struct qo *o, const struct qo_item *it)
{
	const struct qo_plan *p = plan_of(o, it);

	return p && !it->started && !p->job.overlap && qo_running(o, p) > 0;
}

void qo_want_leases(struct qo *o, const struct qo_item *it, uint64_t now_us)
{
	if (qo_overlaps(o, it))
		want_leases(o, plan_of(o, it), now_us / 1000);
}

int qo_must_meet(struct qo *o, const struct qo_item *it, uint64_t now_us)
{
	const struct qo_plan *p = plan_of(o, it);

	if (!p || it->started)
		return 0;
	return (!p->job.overlap && qo_running(o, p) > 0) ||
	       wanted_by_now(o, p, it, now_us / 1000) != it->want.planned;
}

void qo_meet(struct qo *o, uint64_t now_us, uint64_t id)
{
	uint64_t now_ms = now_us / 1000;
	struct qo_item *it = qo_find(o, id);
	struct qo_plan *p = it ? plan_of(o, it) : NULL;
	uint64_t from;

	if (!p || qo_first(o, now_ms) != it || it->started) {
		o->wrong = "a take has ended an item that it must not end";
		return;
	}
	if (!p->job.overlap && qo_running(o, p) > 0) {
		want_leases(o, p, now_ms);
		leave_out(o, p, now_ms, now_us);
		return;
	}
	from = wanted_by_now(o, p, it, now_ms);
	if (from == it->want.planned) {
		o->wrong = "a take has ended an item that was wanted";
		return;
	}
	p->decided = it->want.planned;
	p->missed++;
	end_fresh(o, it);
	go_on(o, p, from - 1, now_us);
}

void qo_plan_gives(struct qo *o, struct qo_item *it, uint64_t now_us)
{
	struct qo_plan *p = plan_of(o, it);
	uint64_t now_ms = now_us / 1000;

	if (!p || it->started)
		return;
	if (!p->job.overlap && qo_running(o, p) > 0)
		o->wrong = "two items of a plan are running";
	if (wanted_by_now(o, p, it, now_ms) != it->want.planned)
		o->wrong = "a missed time was given out";
	if (it->want.planned <= p->latest)
		o->wrong = "a planned time has come twice";
	if (!is_time(&p->job.times, it->want.planned))
		o->wrong = "an item was planned for a time that is none";
	p->latest = it->want.planned;
}

void qo_plan_gave(struct qo *o, struct qo_item *it, uint64_t now_us)
{
	struct qo_plan *p = plan_of(o, it);
	int first = it->plan && !it->started;
	uint64_t from = it->want.planned;

	it->started = it->plan != 0;
	if (!p || !first)
		return;
	p->decided = from;
	p->runs++;
	if (!p->job.overlap) {
		p->in_turn = p->job.misfire == QO_ALL &&
			     is_missed(p, it, now_us / 1000);
		from = larger(from, now_us / 1000);
	}
	go_on(o, p, from, now_us);
}

void qo_plan_ended(struct qo *o, const struct qo_item *was, uint64_t at_ms,
		   uint64_t now_us)
{
	struct qo_plan *p = plan_of(o, was);
	const struct qo_item *it;
	uint64_t from;

	if (!p || p->paused || p->error)
		return;
	it = qo_fresh(o, p);
	if (!was->started) {
		/* A user has cancelled the fresh item. */
		p->decided = was->want.planned;
		from = p->decided;
		if (!p->job.overlap && qo_running(o, p) > 0)
			from = larger(from, at_ms);
		go_on(o, p, from, now_us);
	} else if (qo_running(o, p) > 0) {
		return;
	} else if (it && !p->job.overlap && it->want.due <= at_ms) {
		leave_out(o, p, at_ms, now_us);
	} else if (!it) {
		from = p->decided;
		if (!p->job.overlap && !p->in_turn)
			from = larger(from, at_ms);
		go_on(o, p, from, now_us);
	}
}

/* --- commands ------------------------------------------------------------- */

static int same_times(const struct qo_job *a, const struct qo_job *b)
{
	return a->times.period == b->times.period &&
	       a->times.skip == b->times.skip && a->times.last == b->times.last;
}

static int same_job(const struct qo_job *a, const struct qo_job *b)
{
	return same_times(a, b) && a->grace == b->grace &&
	       a->misfire == b->misfire && a->max_missed == b->max_missed &&
	       a->overlap == b->overlap && a->on_end == b->on_end &&
	       a->item.payload == b->item.payload &&
	       a->item.payload_len == b->item.payload_len &&
	       a->item.max_attempts == b->item.max_attempts &&
	       a->item.backoff == b->item.backoff &&
	       a->item.max_backoff == b->item.max_backoff;
}

/* The limits, as if the old plan and its fresh item were gone. What adds
 * nothing is not refused. */
static int is_full(struct qo *o, const struct qo_job *job, int puts,
		   uint64_t next)
{
	const struct qo_plan *old = &o->plan[job->name - 1];
	const struct qo_item *it = qo_fresh(o, old);
	uint64_t max = o->max_payload ? o->max_payload : 1 << 20;
	uint64_t bytes =
		(uint64_t)job->name_len + job->text_len + job->item.payload_len;
	uint64_t items = o->count - (it != NULL) + (uint64_t)puts;
	uint64_t before = 0;
	uint32_t i;

	if (job->item.payload_len > max)
		return -EMSGSIZE;
	if (puts)
		bytes += (uint64_t)key_len(job, next) + job->item.payload_len;
	for (i = 0; i < o->count; i++) {
		uint64_t n = (uint64_t)o->items[i].want.key_len +
			     o->items[i].want.payload_len;

		before += n;
		bytes += &o->items[i] != it ? n : 0;
	}
	for (i = 0; i < QO_PLANS; i++) {
		uint64_t n = qo_plan_bytes(&o->plan[i]);

		before += n;
		bytes += &o->plan[i] != old ? n : 0;
	}
	return (o->max_items && items > o->max_items && items > o->count) ||
			       (o->max_bytes && bytes > o->max_bytes &&
				bytes > before)
		       ? -EAGAIN
		       : 0;
}

int qo_make_plan(struct qo *o, uint64_t now_us, const struct qo_job *job,
		 uint64_t *next)
{
	struct qo_plan *p = &o->plan[job->name - 1];
	struct qo_item *it = qo_fresh(o, p);
	uint64_t planned = it ? it->want.planned : 0;
	uint64_t from = now_us / 1000;
	int same = p->id && same_times(&p->job, job);
	int runs = qo_running(o, p) > 0;
	int turn = p->in_turn && runs && same && job->misfire == QO_ALL &&
		   !job->overlap;
	int puts = !p->paused && !(runs && (job->on_end || turn));
	int err;

	if (it && same && planned <= from)
		from = planned - 1;
	from = larger(from, p->decided);
	err = find(o, job, from, it, next);
	if (err)
		return err;
	if (p->id && same_job(&p->job, job) && !p->error &&
	    (planned == *next || p->paused || waits(o, p))) {
		*next = planned;
		return 0;
	}
	err = is_full(o, job, puts, *next);
	if (err)
		return err;
	if (it)
		end_fresh(o, it);
	if (!p->id)
		p->id = qo_next_number(&o->last_id, now_us);
	/* Times of other plans that passed before it was made never come. */
	if (!puts && !p->paused && !same)
		p->decided = from;
	p->job = *job;
	o->plan_changes++;
	p->error = 0;
	p->in_turn = turn;
	if (puts)
		put_fresh(o, p, *next, now_us);
	else
		*next = 0;
	return 0;
}

int qo_unplan(struct qo *o, uint32_t name)
{
	struct qo_plan *p = &o->plan[name - 1];
	struct qo_plan none = { 0 };
	struct qo_item *it = qo_fresh(o, p);

	if (!p->id)
		return 0;
	if (it)
		end_fresh(o, it);
	*p = none;
	o->plan_changes++;
	return 1;
}

int qo_pause_plan(struct qo *o, uint32_t name)
{
	struct qo_plan *p = &o->plan[name - 1];
	struct qo_item *it = qo_fresh(o, p);

	if (!p->id)
		return 0;
	if (it)
		end_fresh(o, it);
	p->paused = 1;
	p->in_turn = 0;
	return 1;
}

int qo_resume_plan(struct qo *o, uint64_t now_us, uint32_t name)
{
	struct qo_plan *p = &o->plan[name - 1];
	uint64_t from = larger(now_us / 1000, p->decided);

	if (!p->id)
		return 0;
	if (!p->paused && !p->error)
		return 1;
	p->paused = 0;
	p->error = 0;
	/* What has passed meanwhile does not come when the running one ends. */
	if (waits(o, p))
		p->decided = from;
	go_on(o, p, from, now_us);
	return 1;
}
