/* SPDX-License-Identifier: MIT */
/*
 * items.c - copies of items, and looks.
 *
 * A copy is one piece of memory: the structs, and then all bytes of all items.
 */
#include "store/items.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t bytes_of(const struct tkw__queue_facts *f)
{
	return f->payload.len + f->key.len + f->reason.len + 1;
}

static const void *copy(unsigned char **at, struct tkw__queue_text t)
{
	const void *copied = *at;

	if (t.len)
		memcpy(*at, t.at, t.len);
	*at += t.len;
	return copied;
}

static enum tkw_item_state state_of(const struct tkw__queue_facts *f)
{
	switch (f->state) {
	case TKW__QUEUE_IS_WAITING:
		return TKW_ITEM_WAITING;
	case TKW__QUEUE_IS_READY:
		return TKW_ITEM_READY;
	case TKW__QUEUE_IS_TAKEN:
		return TKW_ITEM_TAKEN;
	default:
		return TKW_ITEM_DEAD;
	}
}

static void fill(struct tkw_item *it, const struct tkw__queue_facts *f,
		 unsigned char **at)
{
	*it = (struct tkw_item){
		.claim = { { f->id }, f->token },
		.state = state_of(f),
		.attempts = f->attempts,
		.max_attempts = f->max_attempts,
		.backoff_ms = f->backoff_ms,
		.max_backoff_ms = f->max_backoff_ms,
		.due_ms = (int64_t)f->due_ms,
		.expires_ms = (int64_t)f->lease_ms,
		.died_ms = (int64_t)f->died_ms,
		.payload_len = f->payload.len,
		.key_len = f->key.len,
	};
	it->payload = copy(at, f->payload);
	it->key = f->key.len ? copy(at, f->key) : NULL;
	it->reason = copy(at, f->reason);
	*(*at)++ = 0; /* the end of the reason */
}

/* What is allocated: the bytes of the items follow. */
struct block {
	struct tkw_items items;
	struct tkw_item item[];
};

static struct block *make_block(size_t count, size_t bytes)
{
	struct block *b =
		malloc(sizeof(*b) + count * sizeof(b->item[0]) + bytes);

	if (b)
		b->items =
			(struct tkw_items){ .count = count, .item = b->item };
	return b;
}

static unsigned char *bytes_behind(struct block *b)
{
	return (unsigned char *)(b->item + b->items.count);
}

void tkw_items_free(struct tkw_items *items)
{
	free(items);
}

struct tkw_items *tkw__items_copy(const struct tkw__queue_facts *facts,
				  size_t count)
{
	unsigned char *at;
	struct block *b;
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += bytes_of(&facts[i]);
	b = make_block(count, bytes);
	if (!b)
		return NULL;
	at = bytes_behind(b);
	for (size_t i = 0; i < count; i++)
		fill(&b->item[i], &facts[i], &at);
	return &b->items;
}

struct tkw_items *tkw__items_taken(struct tkw__queue *heart, uint64_t now_us,
				   const struct tkw__queue_taken *taken,
				   size_t count)
{
	unsigned char *at;
	struct block *b;
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += taken[i].payload.len + taken[i].key.len + 1;
	b = make_block(count, bytes);
	if (!b)
		return NULL;
	at = bytes_behind(b);
	for (size_t i = 0; i < count; i++) {
		struct tkw__queue_name name = { .id = taken[i].id };
		struct tkw__queue_facts f;

		tkw__queue_get(heart, now_us, &name, &f);
		fill(&b->item[i], &f, &at);
	}
	return &b->items;
}

/* --- looks ---------------------------------------------------------------- */

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
	if (!g->failed)
		g->facts[g->count++] = *facts;
}

int64_t tkw__look_at_list(struct tkw__desk *d, struct tkw__request *r)
{
	struct tkw__look_list *a = r->look.arg;
	struct gathered g = { NULL, 0, 0, false };
	struct tkw__queue_list list = { .now_us = r->look.now_us,
					.state = a->state,
					.max = a->max,
					.visit = gather,
					.ctx = &g };
	uint64_t cursor = tkw__queue_list(r->queue->heart, &list, a->cursor);
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
