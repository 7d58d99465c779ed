/* SPDX-License-Identifier: MIT */
/* put.c - items come in: put, replace, keep. */
#include <errno.h>

#include "queue/state.h"

static bool legal(const struct tkw__queue_put *p)
{
	return (p->payload.at || p->payload.len == 0) &&
	       (p->key.at ? p->key.len > 0 && p->key.len <= TKW__QUEUE_MAX_KEY
			  : p->key.len == 0) &&
	       p->held <= TKW__QUEUE_KEEP;
}

static int within_limits(const struct tkw__queue *q,
			 const struct tkw__queue_put *p,
			 const struct tkw__item *old)
{
	const struct tkw__queue_totals *t = &q->totals;
	uint64_t max =
		t->max_payload ? t->max_payload : TKW__QUEUE_DEFAULT_PAYLOAD;
	uint64_t bytes = q->bytes + p->key.len + p->payload.len;

	if (p->payload.len > max)
		return -EMSGSIZE;
	if (old)
		bytes -= (uint64_t)old->key_len + old->payload_len;
	else if (t->max_items && q->by_id.count >= t->max_items)
		return -EAGAIN;
	return t->max_bytes && bytes > t->max_bytes ? -EAGAIN : 0;
}

/* Makes the record of a put or of a replacement. */
static void make_record(const struct tkw__queue *q,
			const struct tkw__queue_put *p,
			const struct tkw__queue_call *call,
			struct tkw__record *r)
{
	*r = (struct tkw__record){
		.kind = TKW__RECORD_PUT,
		.id = tkw__next_seq(q, call),
		.key = p->key,
		.payload = p->payload,
	};
	r->word[TKW__PUT_DUE] = tkw__when_ms(q, p->when);
	r->word[TKW__PUT_OPTIONS] =
		(uint64_t)p->backoff_ms << 32 | p->max_attempts;
	r->word[TKW__PUT_MAX_BACKOFF] = p->max_backoff_ms;
}

static int replace(struct tkw__queue *q, struct tkw__queue_call *call,
		   const struct tkw__queue_put *p, struct tkw__item *old)
{
	struct tkw__record r;
	int err = tkw__settle(q, call, old);

	if (err)
		return err;
	if (old->state == TKW__TAKEN)
		return -EBUSY;
	err = within_limits(q, p, old);
	if (err)
		return err;
	make_record(q, p, call, &r);
	r.kind = TKW__RECORD_REPLACE;
	r.word[TKW__REPLACE_SEQ] = r.id;
	r.id = old->id;
	return tkw__emit(q, call, &r);
}

static int put_one(struct tkw__queue *q, struct tkw__queue_call *call,
		   const struct tkw__queue_put *p, uint64_t *id)
{
	struct tkw__item *old = NULL;
	struct tkw__record r;
	int err;

	if (!legal(p))
		return -EINVAL;
	if (p->key.at)
		old = tkw__index_find_key(q, p->key);
	if (old) {
		*id = old->id;
		if (p->held == TKW__QUEUE_REPLACE)
			return replace(q, call, p, old);
		return p->held == TKW__QUEUE_KEEP ? 0 : -EEXIST;
	}
	err = within_limits(q, p, NULL);
	if (err)
		return err;
	make_record(q, p, call, &r);
	*id = r.id;
	return tkw__emit(q, call, &r);
}

int tkw__queue_put(struct tkw__queue *q, struct tkw__queue_call *call,
		   const struct tkw__queue_put *puts, size_t count,
		   uint64_t *ids)
{
	struct tkw__mark m;
	int err;

	if (!puts || !ids || count == 0)
		return -EINVAL;
	err = tkw__begin(q, call, &m);
	if (err)
		return err;
	for (size_t i = 0; i < count && !err; i++)
		err = put_one(q, call, &puts[i], &ids[i]);
	return tkw__finish(q, call, &m, err);
}
