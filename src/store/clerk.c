/* SPDX-License-Identifier: MIT */
/*
 * clerk.c - turns frames into requests, and answers into frames.
 *
 * What a client sends is not trusted. Counts are bounded by what the frame
 * holds, so that memory is bounded by the frame. The heart checks the values.
 */
#include "store/clerk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/name.h"

enum {
	/* The least bytes of things that come in numbers. */
	LEAST_PUT = 4 + 8 + 8 + 1 + 1 + 4 + 4 + 4,
	LEAST_CLAIM = 8 + 8,
	LEAST_NAME = 8 + 1,
	LEAST_ID = 8,
	/* How many dead items a piece of revive_all or purge_all has. */
	PIECE = 1024
};

static const char gone[] = "client gone";

/* --- the answer ---------------------------------------------------------- */

static void begin_answer(struct tkw__clerk *c, int64_t result)
{
	tkw__wire_begin(&c->out);
	tkw__wire_put_i64(&c->out, result);
}

void tkw__clerk_answer(struct tkw__clerk *c, int64_t result)
{
	begin_answer(c, result);
	(void)tkw__wire_end(&c->out);
}

/* If there is no memory for taken items, the answer stays failed: then the
 * connection ends, and the items are given back. */
static void end_answer(struct tkw__clerk *c)
{
	bool taken = c->call == TKW__WIRE_TAKE && c->count > 0;

	if (!tkw__wire_end(&c->out) && !taken)
		tkw__clerk_answer(c, -ENOMEM);
}

static void forget(struct tkw__clerk *c)
{
	free(c->args);
	free(c->answers);
	free(c->stats);
	c->args = NULL;
	c->answers = NULL;
	c->stats = NULL;
	c->count = 0;
	c->sum = 0;
}

/* Ends the frame with an answer that is only a result. After some errors the
 * connection is closed. */
static enum tkw__clerk_step refuse(struct tkw__clerk *c, int64_t result)
{
	forget(c);
	tkw__clerk_answer(c, result);
	if (result == -EPROTO || result == -EPROTONOSUPPORT ||
	    result == -ESHUTDOWN)
		return TKW__CLERK_CLOSE;
	return TKW__CLERK_ANSWER;
}

/* A request is used again only after it was cleared. */
static void renew(struct tkw__clerk *c)
{
	c->request = (struct tkw__request){ .done = c->request.done,
					    .ctx = c->request.ctx };
}

/* --- arguments ----------------------------------------------------------- */

static int read_array(struct tkw__clerk *c, size_t least, size_t size)
{
	uint32_t n = tkw__wire_get_count(&c->in, least);

	if (c->in.bad)
		return -EPROTO;
	if (n == 0 || n > TKW__WIRE_MAX_COUNT)
		return -EINVAL;
	c->count = n;
	c->args = calloc(n, size);
	/* Large enough for an id and for an enum. */
	c->answers = calloc(n, sizeof(uint64_t));
	return c->args && c->answers ? 0 : -ENOMEM;
}

static struct tkw__queue_when read_when(struct tkw__wire_in *in)
{
	int64_t delay_ms = tkw__wire_get_i64(in);
	int64_t due_ms = tkw__wire_get_i64(in);

	return (struct tkw__queue_when){ .absolute = due_ms != 0,
					 .ms = due_ms ? due_ms : delay_ms };
}

static struct tkw__queue_name read_name(struct tkw__wire_in *in)
{
	struct tkw__queue_name name = { .id = tkw__wire_get_u64(in) };

	name.key.at = tkw__wire_get_option(in, &name.key.len);
	return name;
}

static int read_puts(struct tkw__clerk *c)
{
	int err = read_array(c, LEAST_PUT, sizeof(struct tkw__queue_put));
	struct tkw__queue_put *puts = c->args;

	for (size_t i = 0; !err && i < c->count; i++) {
		struct tkw__queue_put *p = &puts[i];

		p->payload.at = tkw__wire_get_text(&c->in, &p->payload.len);
		p->when = read_when(&c->in);
		p->key.at = tkw__wire_get_option(&c->in, &p->key.len);
		p->held = (enum tkw__queue_held)tkw__wire_get_u8(&c->in);
		p->max_attempts = tkw__wire_get_u32(&c->in);
		p->backoff_ms = tkw__wire_get_u32(&c->in);
		p->max_backoff_ms = tkw__wire_get_u32(&c->in);
	}
	c->request.kind = TKW__REQUEST_PUT;
	c->request.put =
		(struct tkw__request_put){ puts, c->count, c->answers };
	return err;
}

/* 0 means the default. */
static int read_lease(struct tkw__clerk *c, uint64_t *lease_ms)
{
	int64_t ms = tkw__wire_get_i64(&c->in);

	if (ms < 0)
		return -EINVAL;
	*lease_ms = ms ? (uint64_t)ms : TKW_QUEUE_DEFAULT_LEASE_MS;
	return 0;
}

static int read_take(struct tkw__clerk *c)
{
	struct tkw__request_take take = { .max = tkw__wire_get_u32(&c->in),
					  .max_bytes = TKW__WIRE_MAX_BYTES };
	int err = read_lease(c, &take.lease_ms);
	int64_t wait_ms = tkw__wire_get_i64(&c->in);

	if (take.max > TKW_QUEUE_MAX_TAKE || wait_ms < 0)
		err = -EINVAL;
	if (take.max == 0)
		take.max = 1;
	if (take.max > TKW__WIRE_MAX_ITEMS)
		take.max = TKW__WIRE_MAX_ITEMS;
	take.wait_us = wait_ms > INT64_MAX / 1000 ? UINT64_MAX
						  : (uint64_t)wait_ms * 1000;
	c->request.kind = TKW__REQUEST_TAKE;
	c->request.take = take;
	/* The claims, in case that the client goes away. */
	c->args = calloc(take.max, sizeof(struct tkw__queue_claim));
	c->answers = calloc(take.max, sizeof(enum tkw__queue_answer));
	return c->args && c->answers ? err : -ENOMEM;
}

static int read_claims(struct tkw__clerk *c, enum tkw__request_kind kind)
{
	struct tkw__request_claims *to = &c->request.claim;
	struct tkw__queue_claim *claims;
	int64_t delay_ms;
	int err = 0;

	c->request.kind = kind;
	if (kind == TKW__REQUEST_NACK) {
		to->how.has_delay = tkw__wire_get_u8(&c->in) != 0;
		delay_ms = tkw__wire_get_i64(&c->in);
		to->how.delay_ms = delay_ms > 0 ? (uint64_t)delay_ms : 0;
		to->how.reason.at =
			tkw__wire_get_text(&c->in, &to->how.reason.len);
	} else if (kind == TKW__REQUEST_EXTEND) {
		err = read_lease(c, &to->lease_ms);
	}
	if (!err)
		err = read_array(c, LEAST_CLAIM, sizeof(*claims));
	claims = c->args;
	for (size_t i = 0; !err && i < c->count; i++) {
		claims[i].id = tkw__wire_get_u64(&c->in);
		claims[i].token = tkw__wire_get_u64(&c->in);
	}
	to->claims = (struct tkw__queue_claims){ claims, c->count, c->answers };
	return err;
}

static int read_cancel(struct tkw__clerk *c)
{
	int err = read_array(c, LEAST_NAME, sizeof(struct tkw__queue_name));
	struct tkw__queue_name *names = c->args;

	for (size_t i = 0; !err && i < c->count; i++)
		names[i] = read_name(&c->in);
	c->request.kind = TKW__REQUEST_CANCEL;
	c->request.cancel =
		(struct tkw__request_cancel){ names, c->count, c->answers };
	return err;
}

static int read_ids(struct tkw__clerk *c, enum tkw__request_kind kind)
{
	int err = read_array(c, LEAST_ID, sizeof(uint64_t));
	uint64_t *ids = c->args;

	for (size_t i = 0; !err && i < c->count; i++)
		ids[i] = tkw__wire_get_u64(&c->in);
	c->request.kind = kind;
	c->request.ids = (struct tkw__request_ids){ ids, c->count, c->answers };
	return err;
}

static int read_reschedule(struct tkw__clerk *c)
{
	c->item = read_name(&c->in);
	c->request.kind = TKW__REQUEST_RESCHEDULE;
	c->request.move.name = &c->item;
	c->request.move.when = read_when(&c->in);
	return 0;
}

static int read_limit(struct tkw__clerk *c)
{
	c->request.kind = TKW__REQUEST_LIMIT;
	c->request.limits.items = tkw__wire_get_u64(&c->in);
	c->request.limits.bytes = tkw__wire_get_u64(&c->in);
	c->request.limits.payload = tkw__wire_get_u64(&c->in);
	return 0;
}

static int read_some(struct tkw__clerk *c, enum tkw__request_kind kind)
{
	c->request.kind = kind;
	c->request.some = (struct tkw__request_some){ .max = PIECE };
	return 0;
}

static int read_plain(struct tkw__clerk *c, enum tkw__request_kind kind)
{
	c->request.kind = kind;
	return 0;
}

static int look(struct tkw__clerk *c, tkw__look_fn *fn, void *arg)
{
	c->request.kind = TKW__REQUEST_LOOK;
	c->request.look = (struct tkw__request_look){ .fn = fn, .arg = arg };
	return 0;
}

static int read_list(struct tkw__clerk *c)
{
	uint8_t state = tkw__wire_get_u8(&c->in);
	uint32_t max = tkw__wire_get_u32(&c->in);

	if (state > TKW_ITEM_STATES || max == 0 || max > TKW_QUEUE_MAX_TAKE)
		return c->in.bad ? -EPROTO : -EINVAL;
	if (max > TKW__WIRE_MAX_ITEMS)
		max = TKW__WIRE_MAX_ITEMS;
	c->at_list = (struct tkw__look_list){
		.state = (enum tkw__queue_state)state,
		.max = max,
		.max_bytes = TKW__WIRE_MAX_BYTES,
		.cursor = tkw__wire_get_u64(&c->in),
	};
	(void)look(c, tkw__look_at_list, &c->at_list);
	c->request.look.quiet = state == TKW_ITEM_DEAD;
	return 0;
}

static int read_get(struct tkw__clerk *c)
{
	c->at_item = (struct tkw__look_item){ .name = read_name(&c->in) };
	return look(c, tkw__look_at_item, &c->at_item);
}

static int read_stats(struct tkw__clerk *c)
{
	c->stats = calloc(1, sizeof(*c->stats));
	if (!c->stats)
		return -ENOMEM;
	(void)look(c, tkw__look_at_stats, c->stats);
	c->request.look.quiet = true;
	return 0;
}

/* Reads the arguments, and makes the request of the call. */
static int read_arguments(struct tkw__clerk *c)
{
	switch (c->call) {
	case TKW__WIRE_PUT:
		return read_puts(c);
	case TKW__WIRE_TAKE:
		return read_take(c);
	case TKW__WIRE_ACK:
		return read_claims(c, TKW__REQUEST_ACK);
	case TKW__WIRE_NACK:
		return read_claims(c, TKW__REQUEST_NACK);
	case TKW__WIRE_EXTEND:
		return read_claims(c, TKW__REQUEST_EXTEND);
	case TKW__WIRE_CANCEL:
		return read_cancel(c);
	case TKW__WIRE_RESCHEDULE:
		return read_reschedule(c);
	case TKW__WIRE_GET:
		return read_get(c);
	case TKW__WIRE_LIST:
		return read_list(c);
	case TKW__WIRE_REVIVE:
		return read_ids(c, TKW__REQUEST_REVIVE);
	case TKW__WIRE_PURGE:
		return read_ids(c, TKW__REQUEST_PURGE);
	case TKW__WIRE_REVIVE_ALL:
		return read_some(c, TKW__REQUEST_REVIVE_SOME);
	case TKW__WIRE_PURGE_ALL:
		return read_some(c, TKW__REQUEST_PURGE_SOME);
	case TKW__WIRE_PAUSE:
		return read_plain(c, TKW__REQUEST_PAUSE);
	case TKW__WIRE_RESUME:
		return read_plain(c, TKW__REQUEST_RESUME);
	case TKW__WIRE_LIMIT:
		return read_limit(c);
	case TKW__WIRE_STATS:
		return read_stats(c);
	default:
		return tkw__clerk_read_plan_call(c);
	}
}

/* --- finding the queue --------------------------------------------------- */

static int64_t look_for_queue(struct tkw__desk *d, struct tkw__request *r)
{
	struct tkw__clerk *c = r->look.arg;

	c->queue = tkw__desk_find(d, c->name);
	return c->queue ? 0 : -ENOENT;
}

/* The name of the queue after this one. */
static int64_t look_for_next(struct tkw__desk *d, struct tkw__request *r)
{
	struct tkw__clerk *c = r->look.arg;
	struct tkw_queue *q = NULL;

	if (*c->name) {
		q = tkw__desk_find(d, c->name);
		if (!q)
			return -ENOENT;
	}
	q = tkw__desk_queue(d, q);
	if (!q)
		return 0;
	memcpy(c->name, q->name, sizeof(c->name));
	return 1;
}

static bool knows_queue(const struct tkw__clerk *c)
{
	return c->queue && !strcmp(c->queue_name, c->name);
}

/* Makes a request that finds the queue by its name. */
static void find_queue(struct tkw__clerk *c)
{
	renew(c);
	(void)look(c, look_for_queue, c);
	c->finding = true;
}

/* What was done must not be answered with an error. So there is memory for an
 * answer with an id for each thing, or with a time, before anything is done.
 * What a take or a look gives is not known yet. */
static int make_room(struct tkw__clerk *c)
{
	begin_answer(c, 0);
	(void)tkw__wire_grow(&c->out, (c->count + 1) * sizeof(uint64_t));
	return c->out.failed ? -ENOMEM : 0;
}

/* Makes the request of the call, whose queue is known. */
static enum tkw__clerk_step start(struct tkw__clerk *c)
{
	int err;

	renew(c);
	c->request.queue = c->queue;
	err = read_arguments(c);
	if (!err && !tkw__wire_is_done(&c->in))
		err = -EPROTO;
	if (!err)
		err = make_room(c);
	return err ? refuse(c, c->in.bad ? -EPROTO : err) : TKW__CLERK_SUBMIT;
}

static enum tkw__clerk_step start_find(struct tkw__clerk *c)
{
	uint8_t make = tkw__wire_get_u8(&c->in);

	if (!tkw__wire_is_done(&c->in) || make > 1)
		return refuse(c, -EPROTO);
	if (!tkw__name_is_legal(c->name))
		return refuse(c, -EINVAL);
	find_queue(c);
	if (make) {
		c->request.kind = TKW__REQUEST_OPEN;
		c->request.open = (struct tkw__request_open){ c->name };
	}
	return TKW__CLERK_SUBMIT;
}

static enum tkw__clerk_step start_next(struct tkw__clerk *c)
{
	if (!tkw__wire_is_done(&c->in))
		return refuse(c, -EPROTO);
	renew(c);
	(void)look(c, look_for_next, c);
	return TKW__CLERK_SUBMIT;
}

static enum tkw__clerk_step greet(struct tkw__clerk *c, int64_t pid)
{
	uint32_t version = tkw__wire_get_u32(&c->in);

	if (c->in.bad)
		return refuse(c, -EPROTO);
	if (version != TKW__WIRE_VERSION)
		return refuse(c, -EPROTONOSUPPORT);
	if (!tkw__wire_is_done(&c->in))
		return refuse(c, -EPROTO);
	c->greeted = true;
	begin_answer(c, 0);
	tkw__wire_put_u32(&c->out, TKW__WIRE_VERSION);
	tkw__wire_put_u64(&c->out, (uint64_t)pid);
	end_answer(c);
	return TKW__CLERK_ANSWER;
}

enum tkw__clerk_step tkw__clerk_read(struct tkw__clerk *c, const void *frame,
				     size_t len, int64_t pid)
{
	c->in = (struct tkw__wire_in){ frame, len, false };
	c->call = (enum tkw__wire_call)tkw__wire_get_u8(&c->in);
	tkw__wire_get_name(&c->in, c->name);
	if (c->in.bad || c->call < TKW__WIRE_HELLO ||
	    c->call >= TKW__WIRE_CALLS ||
	    (!c->greeted && c->call != TKW__WIRE_HELLO))
		return refuse(c, -EPROTO);
	switch (c->call) {
	case TKW__WIRE_HELLO:
		return greet(c, pid);
	case TKW__WIRE_NEXT:
		return start_next(c);
	case TKW__WIRE_FIND:
		return start_find(c);
	default:
		if (knows_queue(c))
			return start(c);
		find_queue(c);
		return TKW__CLERK_SUBMIT;
	}
}

/* --- answers ------------------------------------------------------------- */

/* The public answer for an item. */
static int to_done(const struct tkw__clerk *c, enum tkw__queue_answer answer)
{
	bool claim = c->call == TKW__WIRE_ACK || c->call == TKW__WIRE_NACK ||
		     c->call == TKW__WIRE_EXTEND;

	if (answer == TKW__QUEUE_DONE)
		return 1;
	if (claim)
		return 0;
	return answer == TKW__QUEUE_TAKEN ? -EBUSY : -ENOENT;
}

static void write_ids(struct tkw__clerk *c)
{
	const uint64_t *ids = c->answers;

	for (size_t i = 0; i < c->count; i++)
		tkw__wire_put_u64(&c->out, ids[i]);
}

static void write_done(struct tkw__clerk *c)
{
	const enum tkw__queue_answer *answers = c->answers;

	for (size_t i = 0; i < c->count; i++)
		tkw__wire_put_u32(&c->out, (uint32_t)to_done(c, answers[i]));
}

/* Writes items and frees them. */
static void write_items(struct tkw__clerk *c, struct tkw_items *items)
{
	for (size_t i = 0; items && i < items->count; i++)
		tkw__wire_put_item(&c->out, &items->item[i]);
	tkw_items_free(items);
}

static void write_taken(struct tkw__clerk *c)
{
	struct tkw_items *items = c->request.take.items;
	struct tkw__queue_claim *claims = c->args;

	c->count = items ? items->count : 0;
	for (size_t i = 0; i < c->count; i++) {
		claims[i].id = items->item[i].claim.id.bits;
		claims[i].token = items->item[i].claim.token;
	}
	write_items(c, items);
	c->request.take.items = NULL;
}

static void write_answer(struct tkw__clerk *c)
{
	switch (c->call) {
	case TKW__WIRE_NEXT:
		if (c->request.result > 0)
			tkw__wire_put_name(&c->out, c->name);
		break;
	case TKW__WIRE_PUT:
		write_ids(c);
		break;
	case TKW__WIRE_TAKE:
		write_taken(c);
		break;
	case TKW__WIRE_ACK:
	case TKW__WIRE_NACK:
	case TKW__WIRE_EXTEND:
	case TKW__WIRE_CANCEL:
	case TKW__WIRE_REVIVE:
	case TKW__WIRE_PURGE:
		write_done(c);
		break;
	case TKW__WIRE_GET:
		write_items(c, c->at_item.items);
		break;
	case TKW__WIRE_LIST:
		tkw__wire_put_u64(&c->out, c->at_list.cursor);
		write_items(c, c->at_list.items);
		break;
	case TKW__WIRE_STATS:
		tkw__wire_put_stats(&c->out, c->stats);
		break;
	case TKW__WIRE_PLAN:
		tkw__wire_put_u64(&c->out, c->request.plan.next_ms);
		break;
	case TKW__WIRE_GET_PLAN:
		tkw__clerk_write_plans(c, c->at_plan.plans);
		break;
	case TKW__WIRE_LIST_PLANS:
		tkw__clerk_write_plans(c, c->at_plans.plans);
		break;
	default:
		break;
	}
}

/* The queue was looked for. Goes on with the call, unless that was all. */
static enum tkw__clerk_step found(struct tkw__clerk *c)
{
	c->finding = false;
	if (c->request.kind == TKW__REQUEST_OPEN)
		c->queue = c->request.queue;
	if (c->request.result < 0) {
		c->queue = NULL;
		return refuse(c, c->request.result);
	}
	memcpy(c->queue_name, c->name, sizeof(c->queue_name));
	return c->call == TKW__WIRE_FIND ? refuse(c, 0) : start(c);
}

/* A piece of all dead items was done. Returns true if there are more. */
static bool has_more(struct tkw__clerk *c)
{
	enum tkw__request_kind kind = c->request.kind;
	struct tkw__queue_walk next;

	if (c->call != TKW__WIRE_REVIVE_ALL && c->call != TKW__WIRE_PURGE_ALL)
		return false;
	if (c->request.result < 0)
		return false;
	c->sum += c->request.result;
	c->request.result = c->sum;
	if (!c->request.some.more)
		return false;
	next = c->request.some.next;
	renew(c);
	c->request.queue = c->queue;
	(void)read_some(c, kind);
	c->request.some.walk = next;
	return true;
}

enum tkw__clerk_step tkw__clerk_go_on(struct tkw__clerk *c)
{
	if (c->finding)
		return found(c);
	if (has_more(c))
		return TKW__CLERK_SUBMIT;
	if (c->request.result < 0)
		return refuse(c, c->request.result);
	begin_answer(c, c->request.result);
	write_answer(c);
	end_answer(c);
	return TKW__CLERK_ANSWER;
}

bool tkw__clerk_takes(const struct tkw__clerk *c)
{
	return c->call == TKW__WIRE_TAKE && !c->finding;
}

bool tkw__clerk_give_back(struct tkw__clerk *c)
{
	if (c->call != TKW__WIRE_TAKE || c->finding || c->count == 0)
		return false;
	renew(c);
	c->call = TKW__WIRE_NACK;
	c->request.kind = TKW__REQUEST_NACK;
	c->request.queue = c->queue;
	c->request.claim = (struct tkw__request_claims){
		.claims = { c->args, c->count, c->answers },
		.how = { .has_delay = true,
			 .reason = { gone, sizeof(gone) - 1 } },
	};
	return true;
}

void tkw__clerk_sent(struct tkw__clerk *c)
{
	forget(c);
}

void tkw__clerk_fini(struct tkw__clerk *c)
{
	forget(c);
	tkw__wire_free(&c->out);
}
