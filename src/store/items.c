/* SPDX-License-Identifier: MIT */
/*
 * items.c - copies of items.
 *
 * A copy is one piece of memory: the structs, and then all bytes of all items.
 */
#include "store/items.h"

#include <assert.h>
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
		.planned_ms = (int64_t)f->planned_ms,
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
	struct tkw_items items; /* first */
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
	return (struct tkw_items *)b;
}

struct tkw_items *tkw__items_taken(struct tkw__queue *heart, uint64_t now_us,
				   const struct tkw__queue_taken *taken,
				   size_t count)
{
	unsigned char *at;
	struct block *b;
	size_t bytes = 0;

	/* While an item is taken, it has no reason. */
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
		assert(f.state == TKW__QUEUE_IS_TAKEN);
		f.reason.len = 0;
		fill(&b->item[i], &f, &at);
	}
	return (struct tkw_items *)b;
}
