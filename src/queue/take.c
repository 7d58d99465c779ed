/* SPDX-License-Identifier: MIT */
/*
 * take.c - items go out, in the order of (due, sequence).
 *
 * Before an item is given out, nothing may be before it: neither an item that
 * is still in the wheel, nor one whose lease has run out and that would be due
 * again. An item whose lease ended at e is due at e at the earliest, and its
 * sequence is e in microseconds. So leases that end later than the first item
 * is due need not be looked at.
 */
#include <errno.h>

#include "queue/state.h"

/* Items that the wheel may move before a take gives up: a constant, and some
 * for each item asked for. */
enum {
	STEPS_PER_ITEM = 4,
	STEPS_AT_ONCE = 64
};

static void pump(struct tkw__queue *q, struct tkw__line *l, uint64_t to,
		 uint64_t *budget)
{
	uint64_t steps = tkw__min_u64(*budget, STEPS_AT_ONCE);
	uint64_t left = steps;

	tkw__line_pump(q, l, to, &left);
	/* At least one, so that a take ends. */
	*budget -= tkw__max_u64(steps - left, 1);
}

/* True if a lease that ends at this time or later cannot come before an
 * item. */
static bool is_behind(uint64_t lease_end, const struct tkw__line_head *h,
		      uint64_t now)
{
	if (h->says != TKW__LINE_FIRST)
		return lease_end > now;
	return lease_end > h->tick ||
	       (lease_end == h->tick && lease_end * 1000 > h->item->other);
}

/* Works on the leases that have run out by a time. */
static int work_on_leases(struct tkw__queue *q, struct tkw__queue_call *call,
			  uint64_t until, uint64_t *budget)
{
	struct tkw__line_head h = tkw__line_look(q, &q->taken, until);

	if (h.says == TKW__LINE_PUMP) {
		pump(q, &q->taken, h.tick, budget);
		return 0;
	}
	--*budget;
	return h.says == TKW__LINE_FIRST ? tkw__settle(q, call, h.item) : 0;
}

/* Finds the item to give out. Returns 0 and NULL if there is none, or if the
 * budget is used up. */
static int find_first(struct tkw__queue *q, struct tkw__queue_call *call,
		      uint64_t *budget, struct tkw__item **out)
{
	*out = NULL;
	while (*budget > 0) {
		struct tkw__line_head h =
			tkw__line_look(q, &q->idle, q->now_ms);
		int err;

		if (h.says == TKW__LINE_PUMP) {
			pump(q, &q->idle, h.tick, budget);
			continue;
		}
		if (is_behind(tkw__line_bound(q, &q->taken), &h, q->now_ms)) {
			*out = h.item;
			return 0;
		}
		err = work_on_leases(
			q, call, h.says == TKW__LINE_FIRST ? h.tick : q->now_ms,
			budget);
		if (err)
			return err;
	}
	call->behind = true;
	return 0;
}

/* An item of a plan is first. Says if it has ended, or if it is too early to
 * say anything: then the take looks again. */
static int meet(struct tkw__queue *q, struct tkw__queue_call *call,
		struct tkw__item *it, uint64_t *budget, bool *again)
{
	*again = false;
	if (!(it->has & TKW__HAS_PLAN))
		return 0;
	/* Whether another item of the plan is running may depend on leases
	 * that have run out since this one was due. */
	if (tkw__line_bound(q, &q->taken) <= q->now_ms &&
	    tkw__plan_overlaps(q, it)) {
		*again = true;
		return work_on_leases(q, call, q->now_ms, budget);
	}
	return tkw__plan_meet(q, call, it, budget, again);
}

static int give(struct tkw__queue *q, struct tkw__queue_call *call,
		struct tkw__item *it, uint64_t lease_ms,
		struct tkw__queue_taken *out)
{
	struct tkw__record r = { .kind = TKW__RECORD_TAKE,
				 .id = it->id,
				 .item = it };
	uint64_t late_ms = q->now_ms - it->node.tick;
	bool fresh = (it->has & TKW__HAS_PLAN) && !it->started;
	int err = tkw__lateness_reserve(q, late_ms);

	if (err)
		return err;
	r.word[TKW__TAKE_TOKEN] =
		tkw__stamp(q->totals.last_token, call->now_us);
	r.word[TKW__TAKE_LEASE] = tkw__ms_add(q->now_ms, lease_ms);
	err = tkw__emit(q, call, &r);
	if (err)
		return err;
	q->undo.top->sample = (uint16_t)(tkw__lateness_count(q, late_ms) + 1);
	*out = (struct tkw__queue_taken){
		.id = it->id,
		.token = it->token,
		.due_ms = it->other,
		.planned_ms = tkw__item_planned(it).planned_ms,
		.attempt = it->attempts,
		.payload = { tkw__item_payload(it), it->payload_len },
		.key = { it->key_len ? tkw__item_key(it) : NULL, it->key_len },
	};
	return fresh ? tkw__plan_taken(q, call, it) : 0;
}

int tkw__queue_take(struct tkw__queue *q, struct tkw__queue_call *call,
		    size_t max, uint64_t lease_ms, struct tkw__queue_taken *out)
{
	uint64_t budget = q->take_steps + STEPS_PER_ITEM * (uint64_t)max;
	struct tkw__mark m;
	size_t n = 0;
	int err;

	if (!out || max == 0 || max > TKW__QUEUE_MAX_TAKE || lease_ms == 0 ||
	    lease_ms > TKW__QUEUE_MAX_MS)
		return -EINVAL;
	err = tkw__begin(q, call, &m);
	if (err)
		return err;
	while (!q->totals.paused && n < max) {
		struct tkw__item *it;
		bool again;

		err = find_first(q, call, &budget, &it);
		if (err || !it)
			break;
		err = meet(q, call, it, &budget, &again);
		if (!err && again)
			continue;
		if (!err)
			err = give(q, call, it, lease_ms, &out[n]);
		if (err)
			break;
		n++;
	}
	err = tkw__finish(q, call, &m, err);
	return err ? err : (int)n;
}
