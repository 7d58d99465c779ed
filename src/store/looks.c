/* SPDX-License-Identifier: MIT */
/* looks.c - the looks at a desk. See items.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/items.h"

int64_t tkw__look_at_item(struct tkw__desk *d, struct tkw__request *r)
{
	struct tkw__look_item *a = r->look.arg;
	struct tkw__queue_facts f;
	int err = tkw__queue_get(r->queue->heart, r->look.now_us, &a->name, &f);

	(void)d;
	if (err)
		return err;
	a->items = tkw__items_copy(&f, 1);
	return a->items ? 0 : -ENOMEM;
}

/* Items of a list, as many as come. */
struct gathered {
	struct tkw__queue_facts *facts;
	size_t count;
	size_t room;
	uint64_t bytes;
	bool failed;
};

static void gather(const struct tkw__queue_facts *facts, void *ctx)
{
	struct gathered *g = ctx;

	if (g->count == g->room && !g->failed) {
		size_t room = g->room ? g->room * 2 : 64;
		struct tkw__queue_facts *more =
			realloc(g->facts, room * sizeof(*more));

		g->failed = !more;
		if (more) {
			g->facts = more;
			g->room = room;
		}
	}
	if (g->failed)
		return;
	g->facts[g->count++] = *facts;
	g->bytes += facts->payload.len + facts->key.len + facts->reason.len;
}

/* Lists items: one by one if their bytes are to be counted. */
static uint64_t list_some(const struct tkw__look_list *a, struct tkw__queue *q,
			  struct tkw__queue_list *list)
{
	const struct gathered *g = list->ctx;
	uint64_t cursor = a->cursor;

	list->max = a->max_bytes ? 1 : a->max;
	for (uint32_t n = 0; n < a->max; n += list->max) {
		cursor = tkw__queue_list(q, list, cursor);
		if (!cursor || g->count >= a->max ||
		    (a->max_bytes && g->bytes >= a->max_bytes))
			break;
	}
	return cursor;
}

int64_t tkw__look_at_list(struct tkw__desk *d, struct tkw__request *r)
{
	struct tkw__look_list *a = r->look.arg;
	struct gathered g = { 0 };
	struct tkw__queue_list list = { .now_us = r->look.now_us,
					.state = a->state,
					.visit = gather,
					.ctx = &g };
	uint64_t cursor = list_some(a, r->queue->heart, &list);
	struct tkw_items *items = NULL;

	(void)d;
	if (g.count && !g.failed)
		items = tkw__items_copy(g.facts, g.count);
	free(g.facts);
	if (g.failed || (g.count && !items))
		return -ENOMEM;
	a->items = items;
	a->cursor = cursor;
	return (int64_t)g.count;
}

static void fill_totals(struct tkw_queue_stats *out,
			const struct tkw__queue_totals *t)
{
	out->paused = t->paused != 0;
	out->all_puts = t->puts;
	out->all_takes = t->takes;
	out->all_acks = t->acks;
	out->all_nacks = t->nacks;
	out->all_losses = t->losses;
	out->all_deaths = t->deaths;
	out->all_revivals = t->revivals;
	out->all_cancels = t->cancels;
	out->all_purges = t->purges;
	out->all_replaces = t->replaces;
	out->limits.max_items = t->max_items;
	out->limits.max_bytes = t->max_bytes;
	out->limits.max_payload_bytes = t->max_payload;
}

int64_t tkw__look_at_stats(struct tkw__desk *d, struct tkw__request *r)
{
	struct tkw_queue_stats *out = r->look.arg;
	struct tkw__desk_facts facts;
	struct tkw__queue_stats s;

	tkw__queue_get_stats(r->queue->heart, r->look.now_us, &s);
	tkw__desk_get_facts(d, &facts);
	*out = (struct tkw_queue_stats){
		.waiting = s.count[TKW__QUEUE_IS_WAITING],
		.ready = s.count[TKW__QUEUE_IS_READY],
		.taken = s.count[TKW__QUEUE_IS_TAKEN],
		.dead = s.count[TKW__QUEUE_IS_DEAD],
		.bytes = s.bytes,
		.memory_bytes = s.allocated,
		.oldest_age_ms = (int64_t)s.oldest_age_ms,
		.plans = tkw__queue_count_plans(r->queue->heart),
		.waiting_takes = r->queue->parked.count,
		.commits = facts.commits,
		.commit_calls = facts.commit_calls,
		.commit_bytes = facts.commit_bytes,
	};
	fill_totals(out, &s.totals);
	_Static_assert(sizeof(out->lateness) == sizeof(s.lateness),
		       "the same buckets");
	memcpy(out->lateness, s.lateness, sizeof(out->lateness));
	return 0;
}

int64_t tkw__look_at_queue(struct tkw__desk *d, struct tkw__request *r)
{
	struct tkw__look_queue *a = r->look.arg;

	a->queue = tkw__desk_queue(d, a->queue);
	return 0;
}
