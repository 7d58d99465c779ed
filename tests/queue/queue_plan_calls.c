/* SPDX-License-Identifier: MIT */
/* queue_plan_calls.c - the commands of plans, made on the queue and on the
 * oracle, and their plans compared. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "queue_driving.h"

/* --- what a plan is to be ------------------------------------------------- */

static uint32_t below(struct choice *c, uint32_t n)
{
	return n < 2 ? 0 : choice_below(c, n);
}

static void draw_times(struct choice *c, uint64_t now, struct qo_times *t)
{
	static const uint16_t periods[] = { 5, 7, 30, 100, 1000 };

	*t = (struct qo_times){ .period = periods[below(c, 5)] };
	if (below(c, 3) == 0)
		t->skip = 2 + below(c, 3);
	if (below(c, 6) == 0)
		t->last = now + 1 + below(c, 60);
}

static void draw_job(struct choice *c, uint64_t now, struct qo_job *job)
{
	memset(job, 0, sizeof(*job));
	draw_times(c, now, &job->times);
	job->grace = below(c, 3) ? below(c, 20) : below(c, 2000);
	job->misfire = (enum qo_misfire)below(c, 3);
	if (job->misfire == QO_ALL)
		job->max_missed = 1 + below(c, 5);
	job->overlap = (int)below(c, 2);
	job->on_end = (int)below(c, 2);
	job->item.payload = below(c, 256);
	job->item.payload_len = below(c, 40);
	if (below(c, 2))
		job->item.max_attempts = 1 + below(c, 2);
	if (below(c, 3) == 0)
		job->item.backoff = 1 + below(c, 20);
	if (below(c, 3) == 0)
		job->item.max_backoff = 1 + below(c, 20);
}

void qd_draw_plan(struct choice *c, const struct qo *o, uint64_t now,
		  struct qo_job *job)
{
	uint32_t name = 1 + below(c, QO_PLANS);
	const struct qo_plan *old = &o->plan[name - 1];
	uint32_t how = below(c, 4);

	draw_job(c, now, job);
	if (old->id && how > 0) {
		uint32_t payload = job->item.payload;

		*job = old->job;
		if (how == 1)
			job->item.payload = payload;
		else if (how == 2)
			job->on_end = !job->on_end;
	}
	job->name = name;
	/* All empty payloads are the same. */
	if (job->item.payload_len == 0)
		job->item.payload = 0;
}

/* The text of queue_calendar.h. Valid up to the next call. */
static struct tkw__queue_text times_text(const struct qo_times *t)
{
	static char text[80];
	int n = snprintf(text, sizeof(text),
			 "%" PRIu64 "/%" PRIu64 "..%" PRIu64, t->period,
			 t->skip, t->last);

	return (struct tkw__queue_text){ text, (size_t)n };
}

struct tkw__queue_plan qd_make_plan(struct qo_job *job)
{
	struct tkw__queue_plan p = {
		.name = qd_plan_name(job->name),
		.plan = times_text(&job->times),
		.payload = qd_payload(job->item.payload, job->item.payload_len),
		.grace_ms = job->grace,
		.misfire = (enum tkw__queue_misfire)job->misfire,
		.max_missed = job->max_missed,
		.allow_overlap = job->overlap != 0,
		.next_on_end = job->on_end != 0,
		.max_attempts = job->item.max_attempts,
		.backoff_ms = job->item.backoff,
		.max_backoff_ms = job->item.max_backoff,
	};

	if (job->name == 2)
		p.zone = (struct tkw__queue_text){ "Moon", 4 };
	job->name_len = (uint32_t)p.name.len;
	job->text_len = (uint32_t)(p.plan.len + p.zone.len);
	return p;
}

/* --- commands ------------------------------------------------------------- */

static void count_plan(struct qd *d, const struct qo_plan *was,
		       const struct qo *after, int err, uint64_t next)
{
	uint64_t *n = d->tally->n;

	n[QT_PLAN_OVER] += err == -ENOENT;
	n[QT_PLAN_FULL] += err == -EAGAIN;
	n[QT_PLAN_LARGE] += err == -EMSGSIZE;
	n[QT_PLAN_BROKEN] += err == -EBADMSG;
	if (err)
		return;
	n[QT_PLAN]++;
	n[QT_PLAN_AGAIN] += was->id && d->log.len > d->log_mark;
	n[QT_PLAN_SAME] += was->id && d->log.len == d->log_mark;
	n[QT_PLAN_LATER] +=
		was->id && !was->paused && next == 0 && after->last_id != 0;
}

void qd_plan(struct qd *d)
{
	struct qo_plan was;
	struct qo_job job;
	struct tkw__queue_plan plan;
	uint64_t next = 0, wanted = 0;
	int got, err;

	if (d->oracle.count > QD_FULL)
		return;
	qd_draw_plan(d->choice, &d->oracle, qd_now_ms(d), &job);
	plan = qd_make_plan(&job);
	was = d->oracle.plan[job.name - 1];
	qd_trace(d, "plan, period", job.name, job.times.period);
	qd_trace(d, "  misfire, flags", (uint64_t)job.misfire,
		 (job.overlap ? 1 : 0) | (job.on_end ? 2 : 0));
	got = tkw__queue_plan(d->q, qd_call(d), &plan, &next);
	if (qd_answered(d, got))
		return;
	err = qo_make_plan(&d->oracle, d->now_us, &job, &wanted);
	qd_expect(d, got, err);
	if (!err)
		qd_expect(d, (int64_t)next, (int64_t)wanted);
	count_plan(d, &was, &d->oracle, err, next);
}

void qd_change_plan(struct qd *d)
{
	uint32_t name = 1 + qd_below(d, QO_PLANS);
	const struct qo_plan *p = &d->oracle.plan[name - 1];
	struct tkw__queue_text text = qd_plan_name(name);
	bool running = qo_running(&d->oracle, p) > 0;
	enum tkw__queue_answer answer;
	uint32_t how = qd_below(d, 4);
	int got, wanted;

	if (d->oracle.count > QD_FULL)
		return;
	qd_trace(d, "unplan, pause or resume", name, how);
	if (how == 0)
		got = tkw__queue_unplan(d->q, qd_call(d), text, &answer);
	else if (how == 1)
		got = tkw__queue_pause_plan(d->q, qd_call(d), text, &answer);
	else
		got = tkw__queue_resume_plan(d->q, qd_call(d), text, &answer);
	if (qd_answered(d, got))
		return;
	if (how == 0)
		wanted = qo_unplan(&d->oracle, name);
	else if (how == 1)
		wanted = qo_pause_plan(&d->oracle, name);
	else
		wanted = qo_resume_plan(&d->oracle, d->now_us, name);
	qd_expect(d, got, 0);
	qd_expect(d, (int64_t)answer, wanted);
	d->tally->n[QT_PLAN_UNKNOWN] += wanted == 0;
	d->tally->n[how == 0   ? QT_UNPLAN
		    : how == 1 ? QT_PLAN_PAUSE
			       : QT_PLAN_RESUME] += wanted == 1;
	d->tally->n[QT_UNPLAN_RUNNING] += how == 0 && running;
}

/* Now and then that of an item that is there, else one that may be put soon. */
void qd_draw_planned(struct qd *d, struct qo_want *w)
{
	uint32_t name = 1 + qd_below(d, QO_PLANS);
	const struct qo_plan *p = &d->oracle.plan[name - 1];
	const struct qo_item *it = qo_fresh(&d->oracle, p);
	uint32_t later = qd_below(d, 3);
	uint32_t i;

	if (!p->id)
		return;
	w->job = name;
	w->held = (int)qd_below(d, 3);
	w->planned = it ? it->want.planned : p->decided;
	w->planned += later * p->job.times.period;
	for (i = 0; !later && i < d->oracle.count; i++) {
		if (d->oracle.items[i].plan == p->id &&
		    d->oracle.items[i].started)
			w->planned = d->oracle.items[i].want.planned;
	}
	w->key_len = (uint32_t)qd_key_of(w).len;
}

/* --- compare -------------------------------------------------------------- */

static void count_states(struct qd *d, const struct qo_plan *p)
{
	uint32_t running = qo_running(&d->oracle, p);
	uint64_t *n = d->tally->n;

	n[QT_RUN_AGAIN] += running > 1;
	n[QT_IN_TURN] += p->in_turn != 0;
	n[QT_PLAN_WAITS] += !p->paused && p->job.on_end && running > 0 &&
			    !qo_fresh(&d->oracle, p);
	n[QT_PLAN_ENDED] += p->error == -ENOENT;
	n[QT_PLAN_STOPPED] += p->error == -EBADMSG;
	n[QT_PLAN_MISSED] += p->missed > 0;
	n[QT_PLAN_OVERLAP] += p->overlaps > 0;
}

static const char *compare_settings(const struct tkw__queue_plan *got,
				    struct qo_job *job)
{
	struct tkw__queue_plan want = qd_make_plan(job);

	if (!qd_same(got->name, want.name) || !qd_same(got->plan, want.plan) ||
	    !qd_same(got->zone, want.zone) ||
	    !qd_same(got->payload, want.payload))
		return "a plan has the wrong bytes";
	if (got->grace_ms != want.grace_ms || got->misfire != want.misfire ||
	    got->max_missed != want.max_missed ||
	    got->allow_overlap != want.allow_overlap ||
	    got->next_on_end != want.next_on_end ||
	    got->max_attempts != want.max_attempts ||
	    got->backoff_ms != want.backoff_ms ||
	    got->max_backoff_ms != want.max_backoff_ms)
		return "a plan has the wrong settings";
	return NULL;
}

static const char *compare_plan(struct qo *o,
				const struct tkw__queue_plan_facts *f,
				struct qo_plan *p)
{
	const struct qo_item *it = qo_fresh(o, p);
	const char *wrong = compare_settings(&f->plan, &p->job);

	if (wrong)
		return wrong;
	if (f->paused != (p->paused != 0) || f->error != p->error ||
	    f->decided_ms != p->decided)
		return "a plan is in the wrong state";
	if (f->runs != p->runs || f->missed != p->missed ||
	    f->overlaps != p->overlaps)
		return "a plan has counted wrongly";
	if (f->fresh_id != (it ? it->id : 0) ||
	    f->next_ms != (it ? it->want.planned : 0) ||
	    f->running != qo_running(o, p))
		return "a plan does not know its items";
	/* However it came to this: it must not stop without a reason. */
	if (!it && !f->running && !f->paused && !f->error)
		return "a plan has stopped and does not say why";
	return NULL;
}

static void count_listed(const struct tkw__queue_plan_facts *f, void *ctx)
{
	struct tkw__queue_text *last = ctx;

	*last = f->plan.name;
}

const char *qd_compare_plans(struct tkw__queue *q, struct qo *o)
{
	struct tkw__queue_text last = { NULL, 0 };
	const char *wrong = NULL;
	uint32_t there = 0;
	uint32_t listed = 0;
	uint32_t i;

	for (i = 0; i < QO_PLANS && !wrong; i++) {
		struct qo_plan *p = &o->plan[i];
		struct tkw__queue_plan_facts f;
		int got = tkw__queue_get_plan(q, qd_plan_name(i + 1), &f);

		if (got != (p->id ? 0 : -ENOENT))
			return "a plan is there, or not, and should not";
		if (!p->id)
			continue;
		wrong = compare_plan(o, &f, p);
		there++;
	}
	if (wrong)
		return wrong;
	while (tkw__queue_list_plans(q, last, 1, count_listed, &last) == 1)
		listed++;
	if (listed != there || tkw__queue_count_plans(q) != there)
		return "a list of plans is not complete";
	return NULL;
}

void qd_verify_plans(struct qd *d)
{
	const char *wrong = qd_compare_plans(d->q, &d->oracle);
	uint32_t i;

	if (wrong)
		qd_fail(d, wrong);
	for (i = 0; i < QO_PLANS; i++) {
		if (d->oracle.plan[i].id)
			count_states(d, &d->oracle.plan[i]);
	}
}
