/* SPDX-License-Identifier: MIT */
/*
 * sim_hear.c - a batch is heard record by record, while it is played.
 *
 * The oracle does by itself what a request does. It is told which leases were
 * lost, and at the right moment: a lost lease may let a plan put its next item,
 * and so change which ids the next request gives. So each request that is
 * played passes over its own records.
 */
#include "queue_driving.h"
#include "sim_life.h"

bool hear_is_copy(const struct tkw__row *row)
{
	uint8_t kind = row->record[4];

	return kind == QD_ITEM || kind == QD_TOTALS || kind == QD_PLAN_FACTS ||
	       kind == QD_PLANNED_ITEM;
}

void hear_begin(struct life *l, const struct tkw__row *rows, size_t count)
{
	uint32_t q;

	l->rows = rows;
	l->row_count = count;
	for (q = 0; q < LIFE_QUEUES; q++)
		l->row_at[q] = 0;
}

void hear_end(struct life *l)
{
	l->rows = NULL;
	l->row_count = 0;
}

/* The record of a queue that was not heard yet; NULL if there is none. */
static const uint8_t *next_record(struct life *l, uint32_t q)
{
	size_t *at = &l->row_at[q];

	for (; l->rows && l->queue[q] && *at < l->row_count; ++*at) {
		const struct tkw__row *row = &l->rows[*at];

		if (row->record && row->queue == l->queue[q]->number &&
		    !hear_is_copy(row))
			return row->record;
	}
	return NULL;
}

static bool is_lost(const uint8_t *r)
{
	return (r[4] == QD_NACK || r[4] == QD_DEAD) && (r[6] & 2);
}

/* What a plan does is no news for the oracle: it has done so by itself. A
 * cancel is that of a plan if the item is gone. */
static void pass_over_plans(struct life *l, uint32_t q, struct qo *o)
{
	const uint8_t *r;

	while ((r = next_record(l, q)) != NULL &&
	       (r[4] == QD_STEP || r[4] == QD_PLANNED ||
		(r[4] == QD_CANCEL && !qo_find(o, qd_id_of(r)))))
		l->row_at[q]++;
}

static void hear_one_lost(struct life *l, uint32_t q, struct qo *o, uint64_t id)
{
	life_trace(l, "  lost", id, q);
	l->row_at[q]++;
	qo_lost(o, id, l->now_us);
	l->tally->n[LT_LOSS]++;
	pass_over_plans(l, q, o);
}

void hear_lost(struct life *l, uint32_t q, struct qo *o)
{
	const uint8_t *r;

	while ((r = next_record(l, q)) != NULL && is_lost(r))
		hear_one_lost(l, q, o, qd_id_of(r));
}

void hear_lost_of(struct life *l, uint32_t q, struct qo *o,
		  const struct qo_item *it)
{
	const uint8_t *r = next_record(l, q);

	if (it && r && is_lost(r) && qd_id_of(r) == it->id)
		hear_one_lost(l, q, o, it->id);
}

struct qo_item *hear_cancel(struct life *l, uint32_t q, struct qo *o)
{
	const uint8_t *r = next_record(l, q);

	return r && r[4] == QD_CANCEL ? qo_find(o, qd_id_of(r)) : NULL;
}

void hear_own(struct life *l, uint32_t q, struct qo *o)
{
	const uint8_t *r = next_record(l, q);

	if (r && !is_lost(r))
		l->row_at[q]++;
	pass_over_plans(l, q, o);
}

/* The records are: a cancel of the fresh item; PLAN, REPLAN or UNPLAN; and what
 * the plan does then. */
bool hear_own_plan(struct life *l, uint32_t q, struct qo *o)
{
	size_t from = l->row_at[q];
	const uint8_t *r;

	pass_over_plans(l, q, o);
	r = next_record(l, q);
	if (r && (r[4] == QD_PLAN || r[4] == QD_REPLAN || r[4] == QD_UNPLAN)) {
		l->row_at[q]++;
		pass_over_plans(l, q, o);
	}
	return l->row_at[q] > from;
}
