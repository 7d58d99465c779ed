/* SPDX-License-Identifier: MIT */
/* item.c - the memory of items and reasons. */
#include "queue/item.h"

#include <errno.h>

#include "queue/state.h"

void tkw__reason_free(struct tkw__queue *q, struct tkw__reason *r)
{
	if (r)
		tkw__queue_free(q, r, sizeof(*r) + r->len);
}

void tkw__item_free(struct tkw__queue *q, struct tkw__item *it)
{
	if (it->state != TKW__TAKEN)
		tkw__reason_free(q, it->reason);
	tkw__queue_free(q, it,
			tkw__item_bytes(it->has, it->key_len, it->payload_len));
}

int tkw__reason_make(struct tkw__queue *q, struct tkw__queue_text text,
		     struct tkw__reason **out)
{
	struct tkw__reason *r = NULL;

	if (text.len) {
		r = tkw__queue_alloc(q, sizeof(*r) + text.len);
		if (!r)
			return -ENOMEM;
		r->len = (uint8_t)text.len;
		memcpy(r->text, text.at, text.len);
	}
	*out = r;
	return 0;
}

/* Gets of which plan the item of a record is. */
static void get_planned(const struct tkw__record *r,
			const struct tkw__item *old, struct tkw__planned *out)
{
	*out = (struct tkw__planned){ 0, 0 };
	if (r->kind == TKW__RECORD_PUT)
		return;
	if (r->kind == TKW__RECORD_PLANNED)
		*out = (struct tkw__planned){ r->word[TKW__PUT_DUE],
					      r->word[TKW__PLANNED_PLAN] };
	else if (r->kind == TKW__RECORD_PLANNED_ITEM)
		*out = (struct tkw__planned){ r->word[TKW__ITEM_PLANNED],
					      r->word[TKW__ITEM_PLAN] };
	else if (r->kind == TKW__RECORD_REPLACE)
		*out = tkw__item_planned(old);
}

/* Writes the parts of an item that follow its header. */
static void fill_item(struct tkw__item *it, const struct tkw__record *r,
		      struct tkw__backoff b, struct tkw__planned plan)
{
	unsigned has = it->has;
	unsigned char *at = it->tail + tkw__item_parts(has & TKW__HAS_KEY);

	if (has & TKW__HAS_BACKOFF) {
		memcpy(at, &b, sizeof(b));
		at += sizeof(b);
	}
	if (has & TKW__HAS_PLAN) {
		memcpy(at, &plan, sizeof(plan));
		at += sizeof(plan);
	}
	if (r->key.len)
		memcpy(at, r->key.at, r->key.len);
	if (r->payload.len)
		memcpy(at + r->key.len, r->payload.at, r->payload.len);
}

/* Allocates an item with what a PUT, a REPLACE or an ITEM has in common. old is
 * what a REPLACE replaces. */
static int make_item(struct tkw__queue *q, const struct tkw__record *r,
		     const struct tkw__item *old, struct tkw__item **out)
{
	struct tkw__backoff b = {
		.first_ms = (uint32_t)(r->word[TKW__PUT_OPTIONS] >> 32),
		.max_ms = (uint32_t)r->word[TKW__PUT_MAX_BACKOFF],
	};
	unsigned has = (r->key.len ? TKW__HAS_KEY : 0) |
		       (b.first_ms || b.max_ms ? TKW__HAS_BACKOFF : 0);
	struct tkw__planned plan;
	struct tkw__item *it;

	get_planned(r, old, &plan);
	has |= plan.plan_id ? TKW__HAS_PLAN : 0;
	it = tkw__queue_alloc(q,
			      tkw__item_bytes(has, r->key.len, r->payload.len));
	if (!it)
		return -ENOMEM;
	*it = (struct tkw__item){
		.id = r->id,
		.max_attempts = (uint32_t)r->word[TKW__PUT_OPTIONS],
		.payload_len = (uint32_t)r->payload.len,
		.key_len = (uint8_t)r->key.len,
		.has = has & 7u,
	};
	it->node.tick = r->word[TKW__PUT_DUE];
	fill_item(it, r, b, plan);
	*out = it;
	return 0;
}

int tkw__item_make(struct tkw__queue *q, const struct tkw__record *r,
		   const struct tkw__item *old, struct tkw__item **out)
{
	int err = tkw__index_prepare(q, &q->by_id);

	if (!err && r->key.len)
		err = tkw__index_prepare(q, &q->by_key);
	if (!err)
		err = tkw__undo_reserve(q, 2);
	if (!err)
		err = make_item(q, r, old, out);
	return err;
}
