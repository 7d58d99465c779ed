/* SPDX-License-Identifier: MIT */
/* plans_change.c - plan, unplan, pause and resume of a plan. */
#include <errno.h>

#include "queue/state.h"

/* --- plan ----------------------------------------------------------------- */

static bool legal_text(struct tkw__queue_text t, size_t least, size_t most)
{
	return t.len >= least && t.len <= most && (t.at || t.len == 0);
}

static bool legal_missed(const struct tkw__queue_plan *p)
{
	if (p->misfire == TKW__QUEUE_MISSED_ALL)
		return p->max_missed > 0 &&
		       p->max_missed <= TKW__QUEUE_MAX_MISSED;
	return p->misfire <= TKW__QUEUE_MISSED_SKIP && p->max_missed == 0;
}

static bool legal(const struct tkw__queue_plan *p)
{
	return legal_text(p->name, 1, TKW__QUEUE_MAX_PLAN_NAME) &&
	       legal_text(p->plan, 1, TKW__QUEUE_MAX_PLAN_TEXT) &&
	       legal_text(p->zone, 0, TKW__QUEUE_MAX_ZONE) &&
	       legal_text(p->payload, 0, SIZE_MAX) && legal_missed(p) &&
	       p->grace_ms <= TKW__QUEUE_MAX_MS;
}

static bool same_text(struct tkw__queue_text a, struct tkw__queue_text b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

static bool same_times(const struct tkw__plan *old,
		       const struct tkw__queue_plan *p)
{
	return same_text(tkw__plan_text(old), p->plan) &&
	       same_text(tkw__plan_zone(old), p->zone);
}

/* True if nothing but the calendar could make a difference. */
static bool same_plan(const struct tkw__plan *old,
		      const struct tkw__queue_plan *p)
{
	return same_times(old, p) &&
	       same_text(tkw__plan_payload(old), p->payload) &&
	       old->grace_ms == p->grace_ms && old->misfire == p->misfire &&
	       old->max_missed == p->max_missed &&
	       old->allow_overlap == p->allow_overlap &&
	       old->next_on_end == p->next_on_end &&
	       old->max_attempts == p->max_attempts &&
	       old->backoff_ms == p->backoff_ms &&
	       old->max_backoff_ms == p->max_backoff_ms &&
	       old->state->error == 0;
}

/* What a command knows about a plan that it makes. */
struct making {
	const struct tkw__queue_plan *plan;
	struct tkw__plan *old;
	uint64_t from_ms; /* its times begin after this */
	bool puts;        /* an item, for next_ms */
	uint64_t next_ms;
};

/* Finds the first planned time, even if no item is put now, because the plan
 * must have one. */
static int find_first(struct tkw__queue *q, struct making *m)
{
	const struct tkw__queue_plan *plan = m->plan;
	const struct tkw__plan *old = m->old;
	struct tkw__plan_search s = { plan->name, plan->plan, plan->zone, true,
				      old ? old->fresh : NULL };
	uint64_t from = q->now_ms;

	if (old) {
		if (old->fresh && same_times(old, plan))
			from = tkw__min_u64(
				from,
				tkw__item_planned(old->fresh).planned_ms - 1);
		from = tkw__max_u64(from, old->state->decided_ms);
	}
	m->from_ms = from;
	return tkw__plan_find_next(q, &s, from, &m->next_ms);
}

static int within_limits(const struct tkw__queue *q, const struct making *m)
{
	const struct tkw__queue_plan *p = m->plan;
	const struct tkw__queue_totals *t = &q->totals;
	uint64_t max =
		t->max_payload ? t->max_payload : TKW__QUEUE_DEFAULT_PAYLOAD;
	uint64_t bytes = q->bytes + p->name.len + p->plan.len + p->zone.len +
			 p->payload.len;
	uint64_t items = q->by_id.count;
	struct tkw__plan_key key;

	if (p->payload.len > max)
		return -EMSGSIZE;
	if (!m->old && q->plans.count >= TKW__QUEUE_MAX_PLANS)
		return -EAGAIN;
	if (m->puts) {
		tkw__plan_make_key(&key, p->name, m->next_ms);
		bytes += key.len + p->payload.len;
		items++;
	}
	if (m->old)
		bytes -= tkw__plan_bytes(m->old);
	if (m->old && m->old->fresh) {
		bytes -= (uint64_t)m->old->fresh->key_len +
			 m->old->fresh->payload_len;
		items--;
	}
	/* Items of plans may have filled the queue beyond its limits. A plan
	 * that is replaced adds none, and need not add bytes. */
	if ((t->max_items && items > t->max_items && items > q->by_id.count) ||
	    (t->max_bytes && bytes > t->max_bytes && bytes > q->bytes))
		return -EAGAIN;
	return 0;
}

/* True if missed times are being given out in turn, and go on after the item
 * that is running. */
static bool keeps_turn(const struct making *m)
{
	const struct tkw__plan *old = m->old;

	return old->running > 0 && old->state->in_turn &&
	       same_times(old, m->plan) && !m->plan->allow_overlap &&
	       m->plan->misfire == TKW__QUEUE_MISSED_ALL;
}

/* True if an item can be put now. */
static bool puts_now(const struct making *m)
{
	const struct tkw__plan *old = m->old;

	return !old ||
	       (!old->state->paused &&
		!(m->plan->next_on_end && old->running > 0) && !keeps_turn(m));
}

/* The first item is put when one that is running ends. If the plan has new
 * times, those that passed before now never come. */
static int begin_later(struct tkw__queue *q, struct tkw__queue_call *call,
		       const struct making *m)
{
	const struct tkw__plan *p = tkw__plans_find(q, m->plan->name);
	struct tkw__plan_state s = *p->state;

	if (s.paused)
		return 0;
	s.in_turn = keeps_turn(m);
	if (!same_times(m->old, m->plan))
		s.decided_ms = m->from_ms;
	return tkw__plan_step(q, call, p, &s);
}

static int emit_plan(struct tkw__queue *q, struct tkw__queue_call *call,
		     const struct making *m)
{
	struct tkw__plan *old = m->old;
	struct tkw__record r = { .kind = TKW__RECORD_PLAN };
	int err = 0;

	if (old && old->fresh)
		err = tkw__plan_drop(q, call, old);
	if (err)
		return err;
	tkw__plan_settings(m->plan, &r);
	r.id = tkw__next_seq(q, call);
	if (old) {
		r.kind = TKW__RECORD_REPLAN;
		r.id = old->id;
	}
	err = tkw__emit(q, call, &r);
	if (err)
		return err;
	if (!m->puts)
		return begin_later(q, call, m);
	return tkw__plan_put(q, call, tkw__plans_find(q, m->plan->name),
			     m->next_ms);
}

static int make_plan(struct tkw__queue *q, struct tkw__queue_call *call,
		     struct making *m)
{
	const struct tkw__plan *old = m->old;
	int err = find_first(q, m);
	uint64_t fresh_ms = 0;

	if (err)
		return err;
	m->puts = puts_now(m);
	if (old && old->fresh)
		fresh_ms = tkw__item_planned(old->fresh).planned_ms;
	/* Many processes may make the same plan each time they start. */
	if (old && same_plan(old, m->plan) &&
	    (fresh_ms == m->next_ms || tkw__plan_waits(old) ||
	     old->state->paused)) {
		m->puts = fresh_ms != 0;
		m->next_ms = fresh_ms;
		return 0;
	}
	err = within_limits(q, m);
	return err ? err : emit_plan(q, call, m);
}

int tkw__queue_plan(struct tkw__queue *q, struct tkw__queue_call *call,
		    const struct tkw__queue_plan *plan, uint64_t *next_ms)
{
	struct making m = { .plan = plan };
	struct tkw__mark mark;
	int err;

	if (!plan || !legal(plan))
		return -EINVAL;
	err = tkw__begin(q, call, &mark);
	if (err)
		return err;
	m.old = tkw__plans_find(q, plan->name);
	err = tkw__finish(q, call, &mark, make_plan(q, call, &m));
	if (!err && next_ms)
		*next_ms = m.puts ? m.next_ms : 0;
	return err;
}

/* --- unplan, pause, resume ------------------------------------------------ */

static int end_plan(struct tkw__queue *q, struct tkw__queue_call *call,
		    struct tkw__plan *p)
{
	struct tkw__record r = { .kind = TKW__RECORD_UNPLAN,
				 .id = p->id,
				 .key = tkw__plan_name(p) };
	int err = p->fresh ? tkw__plan_drop(q, call, p) : 0;

	return err ? err : tkw__emit(q, call, &r);
}

static int pause_plan(struct tkw__queue *q, struct tkw__queue_call *call,
		      struct tkw__plan *p)
{
	struct tkw__plan_state s = *p->state;
	int err = p->fresh ? tkw__plan_drop(q, call, p) : 0;

	if (err)
		return err;
	s.paused = true;
	s.in_turn = false;
	return tkw__plan_step(q, call, p, &s);
}

static int resume_plan(struct tkw__queue *q, struct tkw__queue_call *call,
		       struct tkw__plan *p)
{
	struct tkw__plan_move m = { .state = *p->state, .anew = true };

	if (!p->state->paused && !p->state->error)
		return 0;
	m.state.paused = false;
	m.state.error = 0;
	m.from_ms = tkw__max_u64(q->now_ms, p->state->decided_ms);
	/* What has passed does not come when the running item ends. */
	if (tkw__plan_waits(p))
		m.state.decided_ms = m.from_ms;
	return tkw__plan_go_on(q, call, p, &m);
}

typedef int change_fn(struct tkw__queue *q, struct tkw__queue_call *call,
		      struct tkw__plan *p);

static int change_plan(struct tkw__queue *q, struct tkw__queue_call *call,
		       struct tkw__queue_text name,
		       enum tkw__queue_answer *answer, change_fn *change)
{
	struct tkw__plan *p;
	struct tkw__mark m;
	int err;

	if (!answer || !legal_text(name, 1, TKW__QUEUE_MAX_PLAN_NAME))
		return -EINVAL;
	err = tkw__begin(q, call, &m);
	if (err)
		return err;
	p = tkw__plans_find(q, name);
	*answer = p ? TKW__QUEUE_DONE : TKW__QUEUE_UNKNOWN;
	return tkw__finish(q, call, &m, p ? change(q, call, p) : 0);
}

int tkw__queue_unplan(struct tkw__queue *q, struct tkw__queue_call *call,
		      struct tkw__queue_text name,
		      enum tkw__queue_answer *answer)
{
	return change_plan(q, call, name, answer, end_plan);
}

int tkw__queue_pause_plan(struct tkw__queue *q, struct tkw__queue_call *call,
			  struct tkw__queue_text name,
			  enum tkw__queue_answer *answer)
{
	return change_plan(q, call, name, answer, pause_plan);
}

int tkw__queue_resume_plan(struct tkw__queue *q, struct tkw__queue_call *call,
			   struct tkw__queue_text name,
			   enum tkw__queue_answer *answer)
{
	return change_plan(q, call, name, answer, resume_plan);
}
