/* SPDX-License-Identifier: MIT */
/*
 * plans_apply.c - the only place where a plan changes.
 *
 * While a snapshot is loaded, a record about a plan that is not known is
 * skipped: the plan has ended, or its PLAN_FACTS record follows.
 */
#include <errno.h>

#include "queue/state.h"

/* --- a plan as words, and back -------------------------------------------- */

void tkw__plan_settings(const struct tkw__queue_plan *plan,
			struct tkw__record *r)
{
	r->key = plan->name;
	r->reason = plan->plan;
	r->zone = plan->zone;
	r->payload = plan->payload;
	r->word[TKW__PLAN_GRACE] = plan->grace_ms;
	r->word[TKW__PLAN_POLICY] =
		(uint64_t)plan->max_missed << 32 |
		(plan->next_on_end ? TKW__POLICY_ON_END : 0) |
		(plan->allow_overlap ? TKW__POLICY_OVERLAP : 0) | plan->misfire;
	r->word[TKW__PLAN_OPTIONS] =
		(uint64_t)plan->backoff_ms << 32 | plan->max_attempts;
	r->word[TKW__PLAN_MAX_BACKOFF] = plan->max_backoff_ms;
}

void tkw__plan_step_words(const struct tkw__plan_state *s, uint64_t *word)
{
	word[TKW__STEP_DECIDED] = s->decided_ms;
	word[TKW__STEP_STATUS] = (uint64_t)-s->error |
				 (s->paused ? TKW__STATUS_PAUSED : 0) |
				 (s->in_turn ? TKW__STATUS_IN_TURN : 0);
	word[TKW__STEP_RUNS] = s->runs;
	word[TKW__STEP_MISSED] = s->missed;
	word[TKW__STEP_OVERLAPS] = s->overlaps;
}

static struct tkw__plan_state read_step(const uint64_t *word)
{
	uint64_t status = word[TKW__STEP_STATUS];

	return (struct tkw__plan_state){
		.decided_ms = word[TKW__STEP_DECIDED],
		.runs = word[TKW__STEP_RUNS],
		.missed = word[TKW__STEP_MISSED],
		.overlaps = word[TKW__STEP_OVERLAPS],
		.error = -(int32_t)(status & TKW__STATUS_ERROR),
		.paused = (status & TKW__STATUS_PAUSED) != 0,
		.in_turn = (status & TKW__STATUS_IN_TURN) != 0,
	};
}

void tkw__plan_get(const struct tkw__plan *p, struct tkw__queue_plan *out)
{
	*out = (struct tkw__queue_plan){
		.name = tkw__plan_name(p),
		.plan = tkw__plan_text(p),
		.zone = tkw__plan_zone(p),
		.payload = tkw__plan_payload(p),
		.grace_ms = p->grace_ms,
		.misfire = p->misfire,
		.max_missed = p->max_missed,
		.allow_overlap = p->allow_overlap,
		.next_on_end = p->next_on_end,
		.max_attempts = p->max_attempts,
		.backoff_ms = p->backoff_ms,
		.max_backoff_ms = p->max_backoff_ms,
	};
}

void tkw__plan_record(const struct tkw__plan *p, struct tkw__record *r)
{
	struct tkw__queue_plan plan;

	*r = (struct tkw__record){ .kind = TKW__RECORD_PLAN_FACTS,
				   .id = p->id };
	tkw__plan_get(p, &plan);
	tkw__plan_settings(&plan, r);
	tkw__plan_step_words(p->state, r->word + TKW__PLAN_STATE);
}

/* --- make, replace, end --------------------------------------------------- */

static unsigned char *add_text(unsigned char *at, struct tkw__queue_text t)
{
	if (t.len)
		memcpy(at, t.at, t.len);
	return at + t.len;
}

static void fill_plan(struct tkw__plan *p, const struct tkw__record *r)
{
	uint64_t policy = r->word[TKW__PLAN_POLICY];
	unsigned char *at = p->tail;

	*p = (struct tkw__plan){
		.id = r->id,
		.grace_ms = r->word[TKW__PLAN_GRACE],
		.max_missed = (uint32_t)(policy >> 32),
		.max_attempts = (uint32_t)r->word[TKW__PLAN_OPTIONS],
		.backoff_ms = (uint32_t)(r->word[TKW__PLAN_OPTIONS] >> 32),
		.max_backoff_ms = (uint32_t)r->word[TKW__PLAN_MAX_BACKOFF],
		.payload_len = (uint32_t)r->payload.len,
		.misfire = (uint8_t)(policy & TKW__POLICY_MISFIRE),
		.allow_overlap = (policy & TKW__POLICY_OVERLAP) != 0,
		.next_on_end = (policy & TKW__POLICY_ON_END) != 0,
		.name_len = (uint8_t)r->key.len,
		.text_len = (uint8_t)r->reason.len,
		.zone_len = (uint8_t)r->zone.len,
	};
	at = add_text(at, r->key);
	at = add_text(at, r->reason);
	at = add_text(at, r->zone);
	add_text(at, r->payload);
}

/* Allocates a plan. The state comes from the old one, or from the record. */
static int make_plan(struct tkw__queue *q, const struct tkw__record *r,
		     const struct tkw__plan *old, struct tkw__plan **out)
{
	size_t bytes = sizeof(struct tkw__plan) + r->key.len + r->reason.len +
		       r->zone.len + r->payload.len;
	struct tkw__plan_state *s = tkw__queue_alloc(q, sizeof(*s));
	struct tkw__plan *p = tkw__queue_alloc(q, bytes);

	if (!s || !p)
		goto no_memory;
	fill_plan(p, r);
	*s = (struct tkw__plan_state){ .error = 0 };
	if (r->kind == TKW__RECORD_PLAN_FACTS)
		*s = read_step(r->word + TKW__PLAN_STATE);
	else if (old)
		*s = *old->state;
	if (r->kind != TKW__RECORD_PLAN_FACTS) {
		s->error = 0;
		s->in_turn = false;
	}
	p->state = s;
	*out = p;
	return 0;
no_memory:
	if (s)
		tkw__queue_free(q, s, sizeof(*s));
	if (p)
		tkw__queue_free(q, p, bytes);
	return -ENOMEM;
}

static int swap_plans(struct tkw__queue *q, const struct tkw__record *r,
		      struct tkw__plan *old)
{
	struct tkw__plan *p = NULL;
	int err = tkw__plans_reserve(q);

	if (!err)
		err = tkw__undo_reserve(q, 2);
	if (!err)
		err = make_plan(q, r, old, &p);
	if (err)
		return err;
	if (old) {
		p->fresh = old->fresh;
		p->running = old->running;
		tkw__undo_push_plan(q, TKW__PLAN_ENDED, old);
		tkw__plans_remove(q, old);
	}
	tkw__undo_push_plan(q, TKW__PLAN_MADE, p);
	tkw__plans_insert(q, p);
	q->totals.last_id = tkw__max_u64(q->totals.last_id, r->id);
	return 0;
}

static int apply_facts(struct tkw__queue *q, const struct tkw__record *r,
		       struct tkw__plan *old)
{
	struct tkw__plan *p = NULL;
	bool same;

	if (q->past == TKW__LOADING)
		return q->plans.count >= TKW__QUEUE_MAX_PLANS && !old
			       ? -EBADMSG
			       : swap_plans(q, r, old);
	/* A whole queue knows what the record can tell. */
	if (!old || make_plan(q, r, NULL, &p))
		return old ? -ENOMEM : -EBADMSG;
	same = tkw__plan_digest(p) == tkw__plan_digest(old);
	tkw__plan_free(q, p);
	return same ? 0 : -EBADMSG;
}

static int apply_end(struct tkw__queue *q, struct tkw__plan *p)
{
	if (tkw__undo_reserve(q, 1))
		return -ENOMEM;
	tkw__undo_push_plan(q, TKW__PLAN_ENDED, p);
	tkw__plans_remove(q, p);
	return 0;
}

/* --- step ----------------------------------------------------------------- */

static int apply_step(struct tkw__queue *q, const struct tkw__record *r,
		      struct tkw__plan *p)
{
	struct tkw__plan_state s = read_step(r->word);
	struct tkw__plan_state *made;

	/* A step never takes back what is decided. */
	if (q->past != TKW__LOADING && (s.decided_ms < p->state->decided_ms ||
					!tkw__plan_allows(&s, p->fresh)))
		return -EBADMSG;
	if (tkw__undo_reserve(q, 1))
		return -ENOMEM;
	made = tkw__queue_alloc(q, sizeof(*made));
	if (!made)
		return -ENOMEM;
	*made = s;
	tkw__undo_push_plan(q, TKW__PLAN_CHANGED, p);
	p->state = made;
	return 0;
}

/* --- all of them ---------------------------------------------------------- */

bool tkw__plan_takes_item(struct tkw__queue *q, const struct tkw__record *r)
{
	struct tkw__plan *p;

	if (q->past == TKW__LOADING)
		return true;
	p = tkw__plans_find(q, tkw__plan_name_in(r->key));
	return p && p->id == r->word[TKW__PLANNED_PLAN] && !p->fresh &&
	       !p->state->paused && p->state->error == 0 &&
	       r->word[TKW__PUT_DUE] > p->state->decided_ms;
}

static int apply_new(struct tkw__queue *q, const struct tkw__record *r,
		     const struct tkw__plan *old)
{
	if (old || r->id <= q->totals.last_id ||
	    q->plans.count >= TKW__QUEUE_MAX_PLANS)
		return -EBADMSG;
	return swap_plans(q, r, NULL);
}

int tkw__plan_apply(struct tkw__queue *q, const struct tkw__record *r)
{
	bool loading = q->past == TKW__LOADING;
	struct tkw__plan *p = tkw__plans_find(q, r->key);

	if (r->kind == TKW__RECORD_PLAN)
		return apply_new(q, r, p);
	if (p && p->id != r->id)
		return -EBADMSG;
	if (r->kind == TKW__RECORD_PLAN_FACTS)
		return apply_facts(q, r, p);
	if (!p)
		return loading ? 1 : -EBADMSG;
	if (r->kind == TKW__RECORD_STEP)
		return apply_step(q, r, p);
	if (!loading && p->fresh)
		return -EBADMSG;
	return r->kind == TKW__RECORD_UNPLAN ? apply_end(q, p)
					     : swap_plans(q, r, p);
}
