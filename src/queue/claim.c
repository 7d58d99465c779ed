/* SPDX-License-Identifier: MIT */
/* claim.c - what the holder of a token may do: ack, nack, extend. */
#include <errno.h>

#include "queue/state.h"

/* The item of a claim; NULL if the claim is stale. A lease that has run out is
 * over at once, whether or not a record says so yet. */
static struct tkw__item *claimed(struct tkw__queue *q,
				 const struct tkw__queue_claim *c)
{
	struct tkw__item *it = tkw__index_find_id(q, c->id);

	if (!it || it->state != TKW__TAKEN || it->token != c->token ||
	    tkw__has_run_out(it, q->now_ms))
		return NULL;
	return it;
}

/* Makes the record for one item of a command. */
typedef void make_fn(const struct tkw__queue *q,
		     const struct tkw__queue_call *call,
		     const struct tkw__item *it, const void *how,
		     struct tkw__record *r);

static int for_each(struct tkw__queue *q, struct tkw__queue_call *call,
		    const struct tkw__queue_claims *c, make_fn *make,
		    const void *how)
{
	struct tkw__mark m;
	int err;

	if (!c || !c->claim || !c->answer || c->count == 0)
		return -EINVAL;
	err = tkw__begin(q, call, &m);
	if (err)
		return err;
	for (size_t i = 0; i < c->count && !err; i++) {
		struct tkw__item *it = claimed(q, &c->claim[i]);
		struct tkw__record r;

		c->answer[i] = it ? TKW__QUEUE_DONE : TKW__QUEUE_UNKNOWN;
		if (!it)
			continue;
		r = (struct tkw__record){ .id = it->id, .item = it };
		make(q, call, it, how, &r);
		err = tkw__emit(q, call, &r);
	}
	return tkw__finish(q, call, &m, err);
}

static void make_ack(const struct tkw__queue *q,
		     const struct tkw__queue_call *call,
		     const struct tkw__item *it, const void *how,
		     struct tkw__record *r)
{
	(void)q;
	(void)call;
	(void)it;
	(void)how;
	r->kind = TKW__RECORD_ACK;
}

int tkw__queue_ack(struct tkw__queue *q, struct tkw__queue_call *call,
		   const struct tkw__queue_claims *claims)
{
	return for_each(q, call, claims, make_ack, NULL);
}

static void make_nack(const struct tkw__queue *q,
		      const struct tkw__queue_call *call,
		      const struct tkw__item *it, const void *how,
		      struct tkw__record *r)
{
	const struct tkw__queue_nack *n = how;
	uint64_t delay = n->has_delay ? n->delay_ms : tkw__item_wait_ms(it);

	r->reason = n->reason;
	if (tkw__item_used_up(it)) {
		r->kind = TKW__RECORD_DEAD;
		r->word[TKW__DEAD_WHEN] = q->now_ms;
		return;
	}
	delay = tkw__min_u64(delay, TKW__QUEUE_MAX_MS);
	r->kind = TKW__RECORD_NACK;
	r->word[TKW__NACK_DUE] = tkw__ms_add(q->now_ms, delay);
	r->word[TKW__NACK_SEQ] = tkw__next_seq(q, call);
}

int tkw__queue_nack(struct tkw__queue *q, struct tkw__queue_call *call,
		    const struct tkw__queue_claims *claims,
		    const struct tkw__queue_nack *how)
{
	if (!how || how->reason.len > TKW__QUEUE_MAX_REASON ||
	    (how->reason.len && !how->reason.at))
		return -EINVAL;
	return for_each(q, call, claims, make_nack, how);
}

static void make_extend(const struct tkw__queue *q,
			const struct tkw__queue_call *call,
			const struct tkw__item *it, const void *how,
			struct tkw__record *r)
{
	const uint64_t *lease_ms = how;

	(void)call;
	(void)it;
	r->kind = TKW__RECORD_EXTEND;
	r->word[TKW__EXTEND_LEASE] = tkw__ms_add(q->now_ms, *lease_ms);
}

int tkw__queue_extend(struct tkw__queue *q, struct tkw__queue_call *call,
		      const struct tkw__queue_claims *claims, uint64_t lease_ms)
{
	if (lease_ms == 0 || lease_ms > TKW__QUEUE_MAX_MS)
		return -EINVAL;
	return for_each(q, call, claims, make_extend, &lease_ms);
}
