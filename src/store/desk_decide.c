/* SPDX-License-Identifier: MIT */
/* desk_decide.c - one request: from its arguments to its heart. */
#include <errno.h>

#include "store/desk_state.h"

static int64_t count_done(int err, const enum tkw__queue_answer *answers,
			  size_t count)
{
	int64_t n = 0;

	if (err)
		return err;
	for (size_t i = 0; i < count; i++)
		n += answers[i] == TKW__QUEUE_DONE;
	return n;
}

static int64_t open_queue(struct tkw__desk *d, struct tkw__request *r)
{
	int err;

	r->queue = tkw__desk_find(d, r->open.name);
	if (r->queue)
		return 0;
	err = tkw__desk_add_queue(d, r->open.name, &r->queue);
	if (err)
		return err;
	r->queue->is_new = true;
	tkw__desk_touch(d, r->queue);
	d->calls++;
	return 0;
}

/* First the snapshot makes room. It would not come to it if the reserve were
 * taken back and given free again each time. */
void tkw__desk_ask_reserve(struct tkw__desk *d)
{
	const struct tkw__desk_reserve *re = &d->cfg.reserve;

	if (!d->reserve_gone || d->asked)
		return;
	d->asked = true;
	if (tkw__cycle_needs_room(d))
		return;
	d->reserve_gone = !re->get(re->ctx);
	if (!d->reserve_gone && d->facts.error == -ENOSPC)
		d->facts.error = 0;
}

/* True if puts must be refused because the disk is full. The file does not give
 * pages back to the disk. So it may have as much room inside, when many items
 * have ended: then puts can use what goes beyond the reserve. */
static bool is_full(struct tkw__desk *d, uint64_t bytes)
{
	if (!d->saving)
		tkw__desk_ask_reserve(d);
	if (d->reserve_gone && !tkw__desk_has_spare(d, bytes))
		d->saving = true;
	return d->saving;
}

static uint64_t bytes_of(const struct tkw__request_put *p)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < p->count; i++)
		bytes += p->puts[i].payload.len + p->puts[i].key.len +
			 TKW__DESK_ROW;
	return bytes;
}

static int64_t reschedule(struct tkw__request *r, struct tkw__queue_call *call)
{
	enum tkw__queue_answer answer = TKW__QUEUE_UNKNOWN;
	int err = tkw__queue_reschedule(r->queue->heart, call, r->move.name,
					r->move.when, &answer);

	if (err)
		return err;
	if (answer == TKW__QUEUE_DONE)
		return 0;
	return answer == TKW__QUEUE_TAKEN ? -EBUSY : -ENOENT;
}

static int64_t some(struct tkw__request *r, struct tkw__queue_call *call)
{
	struct tkw__request_some *s = &r->some;
	struct tkw__queue *h = r->queue->heart;
	int64_t n;

	/* It may be decided again, so its walk stays as it is. */
	s->next = s->walk;
	if (r->kind == TKW__REQUEST_REVIVE_SOME)
		n = tkw__queue_revive_some(h, call, &s->next, s->max);
	else
		n = tkw__queue_purge_some(h, call, &s->next, s->max);
	s->more = call->behind;
	return n;
}

/* Requests about claims: ack, nack, extend. */
static int64_t claims(struct tkw__request *r, struct tkw__queue_call *call)
{
	const struct tkw__request_claims *c = &r->claim;
	struct tkw__queue *h = r->queue->heart;
	int err;

	if (r->kind == TKW__REQUEST_ACK)
		err = tkw__queue_ack(h, call, &c->claims);
	else if (r->kind == TKW__REQUEST_NACK)
		err = tkw__queue_nack(h, call, &c->claims, &c->how);
	else
		err = tkw__queue_extend(h, call, &c->claims, c->lease_ms);
	return count_done(err, c->claims.answer, c->claims.count);
}

/* Requests about the dead: revive, purge. */
static int64_t dead(struct tkw__request *r, struct tkw__queue_call *call)
{
	const struct tkw__request_ids *a = &r->ids;
	struct tkw__queue *h = r->queue->heart;
	int err;

	if (r->kind == TKW__REQUEST_REVIVE)
		err = tkw__queue_revive(h, call, a->ids, a->count, a->answers);
	else
		err = tkw__queue_purge(h, call, a->ids, a->count, a->answers);
	return count_done(err, a->answers, a->count);
}

static int64_t cancel(struct tkw__request *r, struct tkw__queue_call *call)
{
	const struct tkw__request_cancel *a = &r->cancel;
	int err = tkw__queue_cancel(r->queue->heart, call, a->names, a->count,
				    a->answers);

	return count_done(err, a->answers, a->count);
}

static uint64_t plan_bytes(const struct tkw__queue_plan *p)
{
	/* A row for the plan, and one for its item. */
	return p->name.len * 2 + p->plan.len + p->zone.len +
	       p->payload.len * 2 + (uint64_t)2 * TKW__DESK_ROW;
}

static int64_t plan(struct tkw__desk *d, struct tkw__request *r,
		    struct tkw__queue_call *call)
{
	const struct tkw__queue_plan *p = r->plan.plan;

	if (is_full(d, d->reserve_gone ? plan_bytes(p) : 0))
		return -ENOSPC;
	return tkw__queue_plan(r->queue->heart, call, p, &r->plan.next_ms);
}

/* A resume of a plan that has stopped puts an item. */
static int resume_plan(struct tkw__desk *d, struct tkw__request *r,
		       struct tkw__queue_call *call,
		       enum tkw__queue_answer *answer)
{
	struct tkw__queue *h = r->queue->heart;
	struct tkw__queue_plan_facts f;
	int err = tkw__queue_get_plan(h, r->plan_name, &f);

	if (!err && (f.paused || f.error) &&
	    is_full(d, d->reserve_gone ? plan_bytes(&f.plan) : 0))
		return -ENOSPC;
	return tkw__queue_resume_plan(h, call, r->plan_name, answer);
}

/* Requests about a plan that is there. */
static int64_t change_plan(struct tkw__desk *d, struct tkw__request *r,
			   struct tkw__queue_call *call)
{
	enum tkw__queue_answer answer = TKW__QUEUE_UNKNOWN;
	struct tkw__queue *h = r->queue->heart;
	int err;

	if (r->kind == TKW__REQUEST_UNPLAN)
		err = tkw__queue_unplan(h, call, r->plan_name, &answer);
	else if (r->kind == TKW__REQUEST_PAUSE_PLAN)
		err = tkw__queue_pause_plan(h, call, r->plan_name, &answer);
	else
		err = resume_plan(d, r, call, &answer);
	if (err)
		return err;
	return answer == TKW__QUEUE_DONE ? 0 : -ENOENT;
}

static int64_t command(struct tkw__desk *d, struct tkw__request *r,
		       struct tkw__queue_call *call)
{
	struct tkw__queue *h = r->queue->heart;

	switch (r->kind) {
	case TKW__REQUEST_PUT:
		if (is_full(d, d->reserve_gone ? bytes_of(&r->put) : 0))
			return -ENOSPC;
		return tkw__queue_put(h, call, r->put.puts, r->put.count,
				      r->put.ids);
	case TKW__REQUEST_ACK:
	case TKW__REQUEST_NACK:
	case TKW__REQUEST_EXTEND:
		return claims(r, call);
	case TKW__REQUEST_CANCEL:
		return cancel(r, call);
	case TKW__REQUEST_RESCHEDULE:
		return reschedule(r, call);
	case TKW__REQUEST_REVIVE:
	case TKW__REQUEST_PURGE:
		return dead(r, call);
	case TKW__REQUEST_REVIVE_SOME:
	case TKW__REQUEST_PURGE_SOME:
		return some(r, call);
	case TKW__REQUEST_PAUSE:
		return tkw__queue_pause(h, call);
	case TKW__REQUEST_RESUME:
		return tkw__queue_resume(h, call);
	case TKW__REQUEST_LIMIT:
		return tkw__queue_limit(h, call, &r->limits);
	case TKW__REQUEST_PLAN:
		return plan(d, r, call);
	case TKW__REQUEST_UNPLAN:
	case TKW__REQUEST_PAUSE_PLAN:
	case TKW__REQUEST_RESUME_PLAN:
		return change_plan(d, r, call);
	default:
		return -EINVAL;
	}
}

static int64_t decide(struct tkw__desk *d, struct tkw__request *r)
{
	struct tkw_queue *q = r->queue;
	struct tkw__queue_call call = tkw__desk_call(d, q);
	size_t from = q->log.len;
	int64_t result = command(d, r, &call);

	d->calls += q->log.len > from;
	tkw__desk_count_rows(d, q, from);
	return result;
}

void tkw__desk_decide(struct tkw__desk *d, struct tkw__request *r)
{
	r->state = TKW__REQUEST_DECIDED;
	if (d->broken)
		r->result = -EIO;
	else if (r->refused)
		r->result = r->refused;
	else if (r->kind == TKW__REQUEST_OPEN)
		r->result = is_full(d, 0) && !tkw__desk_find(d, r->open.name)
				    ? -ENOSPC
				    : open_queue(d, r);
	else if (r->kind == TKW__REQUEST_TAKE)
		tkw__desk_take(d, r);
	else
		r->result = decide(d, r);
}
