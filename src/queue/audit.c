/* SPDX-License-Identifier: MIT */
/*
 * audit.c - checks every invariant of a queue, and the law.
 *
 * (Q1) The indexes are sound, and each item is found by its id and its key.
 * (Q2) The lines are sound (line.h), and so is the tree of the dead.
 * (Q3) Each item is in the structure of its state: the counts agree.
 * (Q4) The fields of an item are legal for its state.
 * (Q5) No id, sequence or token is above the last one given.
 * (Q6) `bytes` is the sum of all keys and payloads, and of the plans.
 * (Q7) The law: puts = acks + cancels + purges + items. It binds when the end
 *      of a snapshot has been loaded.
 * (Q8) The plans are sound (plans.h).
 */
#include "queue/state.h"

struct audit {
	const char *wrong;
	uint64_t items;
	uint64_t bytes;
	uint64_t keys;
	uint64_t by_state[3];
};

static const char *check_planned(const struct tkw__item *it)
{
	struct tkw__queue_text key = { tkw__item_key(it), it->key_len };
	uint64_t planned_ms = tkw__item_planned(it).planned_ms;

	if (!(it->has & TKW__HAS_PLAN))
		return it->started ? "an item without a plan has started"
				   : NULL;
	if (!tkw__plan_is_key(key, planned_ms))
		return "an item of a plan has another key";
	if (!it->started && (it->state != TKW__IDLE || it->attempts))
		return "an item of a plan has not started, but was taken";
	return NULL;
}

static const char *check_fields(const struct tkw__queue *q,
				const struct tkw__item *it)
{
	bool taken = it->state == TKW__TAKEN;

	if (it->state > TKW__DEAD || it->place == TKW__NOWHERE)
		return "an item has no state or no place";
	if (it->node.tick > TKW__QUEUE_MAX_MS)
		return "an item has a time that is none";
	if ((taken && it->token == 0) || (taken && it->lost))
		return "a taken item has no token";
	if (taken && it->attempts == 0)
		return "a taken item was never taken";
	if (it->max_attempts &&
	    (uint64_t)it->attempts + (it->state == TKW__IDLE) >
		    it->max_attempts)
		return "an item was taken too often";
	if (it->state == TKW__DEAD && !tkw__item_used_up(it))
		return "a dead item has attempts left";
	if (it->stray && it->place != TKW__IN_WHEEL)
		return "an item that is not in a wheel is a stray";
	if (it->timed && !(it->state == TKW__IDLE && it->lost))
		return "an item has a time for a sequence";
	if (it->id == 0 || it->id > q->totals.last_id ||
	    (it->state == TKW__IDLE && !it->timed &&
	     it->other > q->totals.last_id))
		return "an id or a sequence is above the last one";
	if (taken && it->token > q->totals.last_token)
		return "a token is above the last one";
	if ((it->key_len != 0) != ((it->has & TKW__HAS_KEY) != 0))
		return "an item does not know whether it has a key";
	return check_planned(it);
}

static void check_item(struct tkw__queue *q, struct tkw__item *it, void *ctx)
{
	struct audit *a = ctx;

	if (a->wrong)
		return;
	a->wrong = check_fields(q, it);
	if (a->wrong)
		return;
	a->items++;
	a->by_state[it->state]++;
	a->bytes += (uint64_t)it->key_len + it->payload_len;
	if (tkw__index_find_id(q, it->id) != it)
		a->wrong = "an item is not found by its id";
	if (it->key_len) {
		struct tkw__queue_text key = { tkw__item_key(it), it->key_len };

		a->keys++;
		if (tkw__index_find_key(q, key) != it)
			a->wrong = "an item is not found by its key";
	}
}

static const char *check_sums(const struct tkw__queue *q, const struct audit *a)
{
	uint64_t bytes = a->bytes;

	if (a->items != q->by_id.count || a->keys != q->by_key.count)
		return "an index has the wrong count";
	if (a->by_state[TKW__IDLE] != tkw__line_count(&q->idle) ||
	    a->by_state[TKW__TAKEN] != tkw__line_count(&q->taken) ||
	    a->by_state[TKW__DEAD] != tkw__treap_size(q->dead.root))
		return "the counts by state are wrong";
	for (uint32_t i = 0; i < q->plans.count; i++)
		bytes += tkw__plan_bytes(q->plans.at[i]);
	if (bytes != q->bytes)
		return "the sum of bytes is wrong";
	if (q->past != TKW__LOADING && !tkw__law_holds(&q->totals, a->items))
		return "the law is broken";
	return NULL;
}

const char *tkw__queue_check(struct tkw__queue *q)
{
	uint64_t steps = q->steps;
	struct audit a = { .wrong = NULL };
	const char *wrong = tkw__index_check(q, &q->by_id);

	if (!wrong)
		wrong = tkw__index_check(q, &q->by_key);
	if (!wrong)
		wrong = tkw__line_check(q, &q->idle);
	if (!wrong)
		wrong = tkw__line_check(q, &q->taken);
	if (!wrong)
		wrong = tkw__treap_check(&q->dead);
	if (!wrong)
		wrong = tkw__plans_check(q);
	if (!wrong) {
		tkw__index_each(q, &q->by_id, check_item, &a);
		wrong = a.wrong ? a.wrong : check_sums(q, &a);
	}
	q->steps = steps;
	return wrong;
}
