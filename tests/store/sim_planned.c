/* SPDX-License-Identifier: MIT */
/* sim_planned.c - the requests about plans, and the planned times that callers
 * remember. */
#include <errno.h>
#include <string.h>

#include "queue_driving.h"
#include "sim_life.h"

bool call_draw_plan(struct life *l, struct call *c)
{
	qd_draw_plan(&l->choice, &l->now.q[c->q].o, life_now_ms(l), &c->job);
	c->plan = qd_make_plan(&c->job);
	memcpy(c->times, c->plan.plan.at, c->plan.plan.len);
	c->plan.plan.at = c->times;
	c->r.kind = TKW__REQUEST_PLAN;
	c->r.plan.plan = &c->plan;
	return true;
}

bool call_draw_change_plan(struct life *l, struct call *c)
{
	static const enum tkw__request_kind kinds[] = {
		TKW__REQUEST_UNPLAN, TKW__REQUEST_PAUSE_PLAN,
		TKW__REQUEST_RESUME_PLAN, TKW__REQUEST_RESUME_PLAN
	};

	c->plan_name = 1 + life_below(l, QO_PLANS);
	c->r.kind = kinds[life_below(l, 4)];
	c->r.plan_name = qd_plan_name(c->plan_name);
	return true;
}

void call_play_plan(struct life *l, struct call *c, struct qo *o,
		    struct wanted *w)
{
	int done;

	if (c->r.kind == TKW__REQUEST_PLAN) {
		w->result = qo_make_plan(o, l->now_us, &c->job, &w->next);
	} else {
		if (c->r.kind == TKW__REQUEST_UNPLAN)
			done = qo_unplan(o, c->plan_name);
		else if (c->r.kind == TKW__REQUEST_PAUSE_PLAN)
			done = qo_pause_plan(o, c->plan_name);
		else
			done = qo_resume_plan(o, l->now_us, c->plan_name);
		w->result = done ? 0 : -ENOENT;
	}
	l->plan_calls += hear_own_plan(l, c->q, o);
}

/* --- what callers learn --------------------------------------------------- */

void call_learn_plan(struct life *l, const struct call *c)
{
	uint64_t *n = l->tally->n;

	n[LT_PLAN] += c->r.kind == TKW__REQUEST_PLAN;
	n[LT_UNPLAN] += c->r.kind == TKW__REQUEST_UNPLAN;
	n[LT_PLAN_PAUSE] += c->r.kind == TKW__REQUEST_PAUSE_PLAN;
	n[LT_PLAN_RESUME] += c->r.kind == TKW__REQUEST_RESUME_PLAN;
}

/* A planned time has one item, whatever happens. */
void call_learn_time(struct life *l, const struct qo_item *it, struct memory *m)
{
	uint32_t i;

	for (i = 0; i < m->times && i < LIFE_TIMES; i++) {
		const struct life_time *t = &m->time[i];

		if (t->plan != it->plan || t->planned != it->want.planned)
			continue;
		if (t->id != it->id)
			life_fail(l, "a planned time was given out twice");
		return;
	}
	m->time[m->times++ % LIFE_TIMES] =
		(struct life_time){ it->plan, it->want.planned, it->id };
	l->tally->n[LT_PLAN_TIME]++;
}
