/* SPDX-License-Identifier: MIT */
/* change.c - cancel, reschedule, revive, purge, and settings of the queue. */
#include <errno.h>

#include "queue/state.h"

static int emit_kind(struct tkw__queue *q, struct tkw__queue_call *call,
		     enum tkw__record_kind kind, struct tkw__item *it)
{
	struct tkw__record r = { .kind = kind,
				 .id = it ? it->id : 0,
				 .item = it };

	return tkw__emit(q, call, &r);
}

static bool legal_name(const struct tkw__queue_name *n)
{
	return n->key.at == NULL || n->key.len <= TKW__QUEUE_MAX_KEY;
}

/* Finds an item that is to be changed by someone who does not hold it. */
static int find_free(struct tkw__queue *q, struct tkw__queue_call *call,
		     const struct tkw__queue_name *name, struct tkw__item **out,
		     enum tkw__queue_answer *answer)
{
	struct tkw__item *it;

	*out = NULL;
	*answer = TKW__QUEUE_UNKNOWN;
	if (!legal_name(name))
		return -EINVAL;
	it = tkw__find(q, name);
	if (it) {
		int err = tkw__settle(q, call, it);

		if (err)
			return err;
		*answer = it->state == TKW__TAKEN ? TKW__QUEUE_TAKEN
						  : TKW__QUEUE_DONE;
		if (it->state != TKW__TAKEN)
			*out = it;
	}
	return 0;
}

/* Where a plan goes on when its fresh item is cancelled depends on whether
 * another one is running. So leases that have run out are recorded first, as
 * many as the budget allows. This may end the fresh item. */
static int settle_plan(struct tkw__queue *q, struct tkw__queue_call *call,
		       const struct tkw__queue_name *name, uint64_t *budget)
{
	const struct tkw__item *it =
		legal_name(name) ? tkw__find(q, name) : NULL;
	int err;

	if (!it || !tkw__plan_overlaps(q, it) ||
	    tkw__line_bound(q, &q->taken) > q->now_ms)
		return 0;
	err = tkw__lose_leases(q, call, q->now_ms, budget);
	if (tkw__line_bound(q, &q->taken) <= q->now_ms)
		call->behind = true;
	return err;
}

int tkw__queue_cancel(struct tkw__queue *q, struct tkw__queue_call *call,
		      const struct tkw__queue_name *names, size_t count,
		      enum tkw__queue_answer *answers)
{
	uint64_t budget = q->take_steps;
	struct tkw__mark m;
	int err;

	if (!names || !answers || count == 0)
		return -EINVAL;
	err = tkw__begin(q, call, &m);
	if (err)
		return err;
	for (size_t i = 0; i < count && !err; i++) {
		struct tkw__item *it;

		err = settle_plan(q, call, &names[i], &budget);
		if (!err)
			err = find_free(q, call, &names[i], &it, &answers[i]);
		if (!err && it)
			err = emit_kind(q, call, TKW__RECORD_CANCEL, it);
	}
	return tkw__finish(q, call, &m, err);
}

/* RESCHEDULE or REVIVE. */
static int emit_due(struct tkw__queue *q, struct tkw__queue_call *call,
		    enum tkw__record_kind kind, struct tkw__item *it,
		    uint64_t due_ms)
{
	struct tkw__record r = { .kind = kind, .id = it->id, .item = it };

	r.word[TKW__NACK_DUE] = due_ms;
	r.word[TKW__NACK_SEQ] = tkw__next_seq(q, call);
	return tkw__emit(q, call, &r);
}

int tkw__queue_reschedule(struct tkw__queue *q, struct tkw__queue_call *call,
			  const struct tkw__queue_name *name,
			  struct tkw__queue_when when,
			  enum tkw__queue_answer *answer)
{
	struct tkw__item *it;
	struct tkw__mark m;
	int err;

	if (!name || !answer)
		return -EINVAL;
	err = tkw__begin(q, call, &m);
	if (err)
		return err;
	err = find_free(q, call, name, &it, answer);
	if (!err && it && it->state == TKW__DEAD)
		*answer = TKW__QUEUE_UNKNOWN;
	else if (!err && it)
		err = emit_due(q, call, TKW__RECORD_RESCHEDULE, it,
			       tkw__when_ms(q, when));
	return tkw__finish(q, call, &m, err);
}

static int end_death(struct tkw__queue *q, struct tkw__queue_call *call,
		     enum tkw__record_kind kind, struct tkw__item *it)
{
	if (kind == TKW__RECORD_REVIVE)
		return emit_due(q, call, kind, it, q->now_ms);
	return emit_kind(q, call, kind, it);
}

/* Revives or purges items by id. */
static int for_dead(struct tkw__queue *q, struct tkw__queue_call *call,
		    enum tkw__record_kind kind,
		    const struct tkw__queue_claims *c, const uint64_t *ids)
{
	struct tkw__mark m;
	int err;

	if (!ids || !c->answer || c->count == 0)
		return -EINVAL;
	err = tkw__begin(q, call, &m);
	if (err)
		return err;
	for (size_t i = 0; i < c->count && !err; i++) {
		struct tkw__queue_name name = { .id = ids[i] };
		struct tkw__item *it;

		err = find_free(q, call, &name, &it, &c->answer[i]);
		if (err)
			break;
		if (it && it->state == TKW__DEAD)
			err = end_death(q, call, kind, it);
		else
			c->answer[i] = TKW__QUEUE_UNKNOWN;
	}
	return tkw__finish(q, call, &m, err);
}

int tkw__queue_revive(struct tkw__queue *q, struct tkw__queue_call *call,
		      const uint64_t *ids, size_t count,
		      enum tkw__queue_answer *answers)
{
	return for_dead(q, call, TKW__RECORD_REVIVE,
			&(struct tkw__queue_claims){ NULL, count, answers },
			ids);
}

int tkw__queue_purge(struct tkw__queue *q, struct tkw__queue_call *call,
		     const uint64_t *ids, size_t count,
		     enum tkw__queue_answer *answers)
{
	return for_dead(q, call, TKW__RECORD_PURGE,
			&(struct tkw__queue_claims){ NULL, count, answers },
			ids);
}

/* Where a walk is now; NULL: at its end. Items that were put after it began do
 * not belong to it: otherwise it need not end. */
static struct tkw__item *walk_at(const struct tkw__queue *q,
				 const struct tkw__queue_walk *w)
{
	struct tkw__item *it = tkw__treap_from_id(&q->dead, w->from);

	return it && it->id <= w->last ? it : NULL;
}

/* Items may be dead without a record that says so. Sets call->behind if some
 * are left. */
static int find_dead(struct tkw__queue *q, struct tkw__queue_call *call,
		     struct tkw__queue_walk *w, uint32_t max)
{
	uint64_t steps = q->take_steps + max;
	uint64_t until;
	int err;

	if (w->last == 0) {
		w->last = q->totals.last_id;
		w->begin_ms = q->now_ms;
	}
	until = tkw__min_u64(w->begin_ms, q->now_ms);
	err = tkw__lose_leases(q, call, until, &steps);
	call->behind = tkw__line_bound(q, &q->taken) <= until;
	return err;
}

/* Revives or purges some of the items of a walk. */
static int64_t some_dead(struct tkw__queue *q, struct tkw__queue_call *call,
			 enum tkw__record_kind kind,
			 struct tkw__queue_walk *walk, uint32_t max)
{
	struct tkw__queue_walk w = *walk;
	struct tkw__mark m;
	uint32_t n = 0;
	int err = tkw__begin(q, call, &m);

	if (err)
		return err;
	err = find_dead(q, call, &w, max);
	while (!err && !call->behind && n < max) {
		struct tkw__item *it = walk_at(q, &w);

		if (!it)
			break;
		w.from = it->id + 1;
		err = end_death(q, call, kind, it);
		n++;
	}
	call->behind = call->behind || walk_at(q, &w);
	err = tkw__finish(q, call, &m, err);
	if (err)
		return err;
	*walk = w;
	return n;
}

int64_t tkw__queue_revive_some(struct tkw__queue *q,
			       struct tkw__queue_call *call,
			       struct tkw__queue_walk *walk, uint32_t max)
{
	return some_dead(q, call, TKW__RECORD_REVIVE, walk, max);
}

int64_t tkw__queue_purge_some(struct tkw__queue *q,
			      struct tkw__queue_call *call,
			      struct tkw__queue_walk *walk, uint32_t max)
{
	return some_dead(q, call, TKW__RECORD_PURGE, walk, max);
}

static int set_paused(struct tkw__queue *q, struct tkw__queue_call *call,
		      bool paused)
{
	struct tkw__mark m;
	int err = tkw__begin(q, call, &m);

	if (err)
		return err;
	if ((q->totals.paused != 0) != paused)
		err = emit_kind(q, call,
				paused ? TKW__RECORD_PAUSE : TKW__RECORD_RESUME,
				NULL);
	return tkw__finish(q, call, &m, err);
}

int tkw__queue_pause(struct tkw__queue *q, struct tkw__queue_call *call)
{
	return set_paused(q, call, true);
}

int tkw__queue_resume(struct tkw__queue *q, struct tkw__queue_call *call)
{
	return set_paused(q, call, false);
}

int tkw__queue_limit(struct tkw__queue *q, struct tkw__queue_call *call,
		     const struct tkw__queue_limits *limits)
{
	struct tkw__record r = { .kind = TKW__RECORD_LIMIT };
	struct tkw__mark m;
	int err;

	if (!limits || limits->payload > TKW__QUEUE_MAX_PAYLOAD)
		return -EINVAL;
	r.word[TKW__LIMIT_ITEMS] = limits->items;
	r.word[TKW__LIMIT_BYTES] = limits->bytes;
	r.word[TKW__LIMIT_PAYLOAD] = limits->payload;
	err = tkw__begin(q, call, &m);
	if (err)
		return err;
	return tkw__finish(q, call, &m, tkw__emit(q, call, &r));
}
