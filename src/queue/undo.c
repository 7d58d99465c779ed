/* SPDX-License-Identifier: MIT */
/* undo.c - a stack of changes. See undo.h. */
#include "queue/undo.h"

#include <errno.h>

#include "queue/state.h"

int tkw__undo_reserve(struct tkw__queue *q, uint32_t n)
{
	struct tkw__undo *u = &q->undo;
	struct tkw__undo_block *b = u->block;

	if (b && b->used + n <= TKW__UNDO_BLOCK)
		return 0;
	b = u->spare;
	u->spare = NULL;
	if (!b)
		b = tkw__queue_alloc(q, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->used = 0;
	b->below = u->block;
	u->block = b;
	return 0;
}

static struct tkw__undo_entry *push(struct tkw__queue *q,
				    enum tkw__undo_kind kind)
{
	struct tkw__undo *u = &q->undo;
	struct tkw__undo_entry *e;

	assert(u->block && u->block->used < TKW__UNDO_BLOCK);
	e = &u->block->entry[u->block->used++];
	*e = (struct tkw__undo_entry){ .below = u->top, .kind = (uint8_t)kind };
	u->top = e;
	return e;
}

struct tkw__undo_entry *tkw__undo_push(struct tkw__queue *q,
				       enum tkw__undo_kind kind,
				       struct tkw__item *it)
{
	struct tkw__undo_entry *e = push(q, kind);

	e->item = it;
	if (kind == TKW__CHANGED)
		e->saved = tkw__item_save(it);
	return e;
}

void tkw__undo_push_plan(struct tkw__queue *q, enum tkw__undo_kind kind,
			 struct tkw__plan *p)
{
	struct tkw__undo_entry *e = push(q, kind);

	e->plan = p;
	e->saved.plan_state = p->state;
}

/* One empty block is kept. */
static void retire_block(struct tkw__queue *q)
{
	struct tkw__undo *u = &q->undo;
	struct tkw__undo_block *b = u->block;

	u->block = b->below;
	if (u->spare)
		tkw__queue_free(q, b, sizeof(*b));
	else
		u->spare = b;
}

static struct tkw__undo_entry pop(struct tkw__queue *q)
{
	struct tkw__undo *u = &q->undo;
	struct tkw__undo_entry e = *u->top;

	while (u->block->used == 0)
		retire_block(q);
	u->block->used--;
	u->top = e.below;
	q->steps++;
	return e;
}

static void restore(struct tkw__queue *q, const struct tkw__undo_entry *e)
{
	struct tkw__item *it = e->item;
	bool same =
		e->saved.state != TKW__TAKEN && e->saved.reason == it->reason;

	tkw__unplace(q, it);
	if (it->state != TKW__TAKEN && !same)
		tkw__reason_free(q, it->reason);
	tkw__item_restore(it, &e->saved);
	tkw__place(q, it);
	if (e->sample)
		tkw__lateness_undo(q, e->sample - 1U);
}

static void undo_plan(struct tkw__queue *q, const struct tkw__undo_entry *e)
{
	struct tkw__plan *p = e->plan;

	switch (e->kind) {
	case TKW__PLAN_MADE:
		tkw__plans_remove(q, p);
		tkw__plan_free(q, p);
		break;
	case TKW__PLAN_CHANGED:
		tkw__plan_state_free(q, p->state);
		p->state = e->saved.plan_state;
		break;
	default:
		/* Its place is still there: the array does not shrink. */
		tkw__plans_insert(q, p);
	}
}

void tkw__undo_to(struct tkw__queue *q, const struct tkw__undo_entry *top)
{
	while (q->undo.top != top) {
		struct tkw__undo_entry e = pop(q);

		switch (e.kind) {
		case TKW__MADE:
			tkw__detach(q, e.item);
			tkw__item_free(q, e.item);
			break;
		case TKW__CHANGED:
			restore(q, &e);
			break;
		case TKW__ENDED:
			tkw__attach(q, e.item);
			break;
		default:
			undo_plan(q, &e);
		}
	}
}

static void commit_plan(struct tkw__queue *q, const struct tkw__undo_entry *e)
{
	if (e->kind == TKW__PLAN_CHANGED)
		tkw__plan_state_free(q, e->saved.plan_state);
	else if (e->kind == TKW__PLAN_ENDED)
		tkw__plan_free(q, e->plan);
}

void tkw__queue_commit(struct tkw__queue *q)
{
	while (q->undo.top) {
		struct tkw__undo_entry e = pop(q);

		if (e.kind == TKW__ENDED)
			tkw__item_free(q, e.item);
		else if (e.kind == TKW__CHANGED && e.drops)
			tkw__reason_free(q, e.saved.reason);
		else if (e.kind > TKW__ENDED)
			commit_plan(q, &e);
	}
	q->committed = q->totals;
	q->committed_past = q->past;
}

void tkw__queue_undo(struct tkw__queue *q)
{
	tkw__undo_to(q, NULL);
	q->totals = q->committed;
	q->past = q->committed_past;
}

void tkw__undo_fini(struct tkw__queue *q)
{
	assert(!q->undo.top);
	while (q->undo.block)
		retire_block(q);
	if (q->undo.spare)
		tkw__queue_free(q, q->undo.spare, sizeof(*q->undo.spare));
	q->undo.spare = NULL;
}
