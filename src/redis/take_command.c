/* SPDX-License-Identifier: MIT */
/* take_command.c - TKW.TAKE, also for clients that wait. */
#include "redis/args.h"
#include "redis/reply.h"
#include "redis/visit.h"
#include "redis/waiters.h"

enum {
	COUNT,
	LEASE,
	BLOCK
};
enum {
	DEFAULT_LEASE_MS = 30000,
	/* How often a take may try to find out what is first, and how many
	 * steps it may make meanwhile. A try advances the queue before. */
	MOST_TRIES = 64,
	MOST_STEPS = 16384,
	ADVANCE_STEPS = 1024
};

/* What a client asks for. */
struct order {
	size_t count;
	uint64_t lease_ms;
	int64_t block_ms; /* negative: it does not wait */
};

/* A client that waits. */
struct waiter {
	struct order order;
	struct tkw__place *place; /* NULL when it waits no more */
};

static struct order read_order(struct tkw__args *a)
{
	struct order o = { .count = 1,
			   .lease_ms = DEFAULT_LEASE_MS,
			   .block_ms = -1 };

	while (tkw__args_more(a)) {
		if (tkw__args_option(a, "COUNT", COUNT))
			o.count = (size_t)tkw__args_integer(
				a, 1, TKW__QUEUE_MAX_TAKE,
				"ERR COUNT needs a number from 1 to 4096");
		else if (tkw__args_option(a, "LEASE", LEASE))
			o.lease_ms = (uint64_t)tkw__args_integer(
				a, 1, (int64_t)TKW__QUEUE_MAX_MS,
				"ERR LEASE needs a time of 1 to "
				"9223372036854775 ms");
		else if (tkw__args_option(a, "BLOCK", BLOCK))
			o.block_ms = tkw__args_integer(
				a, 0, (int64_t)TKW__QUEUE_MAX_MS,
				"ERR BLOCK needs a time in ms, 0 for ever");
		else
			tkw__args_refuse(a, "ERR an unknown option");
	}
	return o;
}

/* Takes what is ready. Returns how many, or an error. */
static int take(struct tkw__visit *v, const struct order *o,
		struct tkw__queue_taken *out)
{
	uint64_t end = tkw__queue_count_steps(v->queue) + MOST_STEPS;
	int n = tkw__queue_take(v->queue, &v->call, o->count, o->lease_ms, out);

	for (int i = 0; n == 0 && v->call.behind && i < MOST_TRIES &&
			tkw__queue_count_steps(v->queue) < end;
	     i++) {
		n = tkw__queue_advance(v->queue, &v->call, ADVANCE_STEPS,
				       TKW__QUEUE_MASTER);
		if (n < 0)
			break;
		n = tkw__queue_take(v->queue, &v->call, o->count, o->lease_ms,
				    out);
	}
	return n;
}

static void reply_items(struct rm_ctx *ctx, const struct tkw__queue_taken *t,
			int count)
{
	tkw__rm.ReplyWithArray(ctx, count);
	for (int i = 0; i < count; i++, t++) {
		tkw__rm.ReplyWithArray(ctx, 7);
		tkw__rm.ReplyWithLongLong(ctx, (long long)t->id);
		tkw__rm.ReplyWithStringBuffer(ctx, t->payload.at,
					      t->payload.len);
		tkw__rm.ReplyWithLongLong(ctx, (long long)t->token);
		tkw__rm.ReplyWithLongLong(ctx, t->attempt);
		tkw__rm.ReplyWithLongLong(ctx, (long long)t->due_ms);
		tkw__reply_text(ctx, t->key);
		tkw__rm.ReplyWithLongLong(ctx, (long long)t->planned_ms);
	}
}

/* --- waiting -------------------------------------------------------------- */

static void leave(struct waiter *w)
{
	if (w->place)
		tkw__waiters_remove(w->place);
	w->place = NULL;
}

static void free_waiter(struct rm_ctx *ctx, void *data)
{
	(void)ctx;
	leave(data);
	tkw__rm.Free(data);
}

static int on_timeout(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	(void)argv;
	(void)argc;
	leave(tkw__rm.GetBlockedClientPrivateData(ctx));
	return tkw__rm.ReplyWithNullArray(ctx);
}

/* A queue that has something, or may have. If nothing comes of it, nothing may
 * be left: waiters.c says why. */
static int serve(struct tkw__visit *v, struct waiter *w)
{
	struct tkw__args a = { 0 };
	struct tkw__queue_taken *out =
		tkw__args_room(&a, v->ctx, w->order.count * sizeof(*out));
	int n = tkw__queue_take(v->queue, &v->call, w->order.count,
				w->order.lease_ms, out);

	if (n == 0) {
		tkw__visit_undo(v);
		tkw__waiters_work(v);
		return RM_ERR;
	}
	if (n < 0) {
		tkw__visit_undo(v);
		tkw__rm.ReplyWithError(v->ctx, tkw__visit_error(n));
	} else {
		tkw__visit_commit(v);
		reply_items(v->ctx, out, n);
	}
	leave(w);
	return RM_OK;
}

/* The server asks if a client can be served. Returns RM_OK if it was. */
static int on_ready(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct waiter *w = tkw__rm.GetBlockedClientPrivateData(ctx);
	struct tkw__visit v;
	bool none;

	(void)argc;
	if (!tkw__visit_open(&v, ctx, argv[1], TKW__VISIT_READ)) {
		leave(w);
		return RM_OK;
	}
	none = !v.queue || tkw__waiters_is_dry(&v);
	if (!none && tkw__queue_has_ready(v.queue, v.call.now_us) ==
			     TKW__QUEUE_NONE_READY) {
		tkw__waiters_dry(&v);
		none = true;
	}
	tkw__visit_undo(&v);
	if (none || !tkw__waiters_may_serve(ctx, argv[1]) ||
	    !tkw__visit_find(&v, ctx, argv[1]))
		return RM_ERR;
	return serve(&v, w);
}

static int wait_for_item(struct tkw__visit *v, const struct order *o)
{
	struct waiter *w = tkw__rm.Alloc(sizeof(*w));
	struct rm_string *name = v->name;

	*w = (struct waiter){ .order = *o,
			      .place = tkw__waiters_add(v->ctx, name) };
	tkw__rm.BlockClientOnKeys(v->ctx, on_ready, on_timeout, free_waiter,
				  o->block_ms, &name, 1, w);
	tkw__visit_close(v);
	return RM_OK;
}

static bool may_wait(struct rm_ctx *ctx, const struct order *o)
{
	return o->block_ms >= 0 &&
	       !(tkw__rm.GetContextFlags(ctx) &
		 (RM_IN_SCRIPT | RM_IN_MULTI | RM_DENY_BLOCKING));
}

int tkw__redis_take(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct tkw__args a = tkw__args_begin(argv, argc);
	struct tkw__queue_taken *out;
	struct tkw__visit v;
	struct order o;
	int n = 0;

	if (argc < 2)
		return tkw__rm.WrongArity(ctx);
	o = read_order(&a);
	if (a.error)
		return tkw__rm.ReplyWithError(ctx, a.error);
	if (!tkw__visit_open(&v, ctx, argv[1], TKW__VISIT_WRITE))
		return RM_OK;
	/* Those who came earlier are served first. */
	if (tkw__waiters_count(ctx, argv[1]) > 0 && may_wait(ctx, &o))
		return wait_for_item(&v, &o);
	out = tkw__args_room(&a, ctx, o.count * sizeof(*out));
	if (v.queue)
		n = take(&v, &o, out);
	if (n < 0)
		return tkw__visit_fail(&v, n);
	if (n == 0 && may_wait(ctx, &o))
		return wait_for_item(&v, &o);
	tkw__visit_close(&v);
	if (n == 0)
		return tkw__rm.ReplyWithNullArray(ctx);
	reply_items(ctx, out, n);
	return RM_OK;
}
