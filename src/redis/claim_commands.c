/* SPDX-License-Identifier: MIT */
/* claim_commands.c - TKW.ACK, TKW.NACK and TKW.EXTEND: for the consumer of an
 * item. */
#include "redis/args.h"
#include "redis/reply.h"
#include "redis/visit.h"

enum {
	DELAY,
	REASON
};

/* What these commands have in common: pairs of id and token. */
struct claims {
	struct tkw__args args;
	struct tkw__queue_claim *claim;
	struct tkw__queue_claims all;
};

static void begin(struct claims *c, struct rm_ctx *ctx, struct rm_string **argv,
		  int argc)
{
	size_t max = (size_t)argc / 2;

	*c = (struct claims){ .args = tkw__args_begin(argv, argc) };
	c->claim = tkw__args_room(&c->args, ctx, max * sizeof(*c->claim));
	c->all.claim = c->claim;
	c->all.answer =
		tkw__args_room(&c->args, ctx, max * sizeof(*c->all.answer));
}

static void read_claim(struct claims *c)
{
	uint64_t id = (uint64_t)tkw__args_integer(
		&c->args, 0, INT64_MAX, "ERR an id and its token are expected");
	uint64_t token = (uint64_t)tkw__args_integer(
		&c->args, 0, INT64_MAX, "ERR an id needs its token");

	if (!c->args.error)
		c->claim[c->all.count++] =
			(struct tkw__queue_claim){ .id = id, .token = token };
}

/* Opens the queue. Returns false if there is nothing left to do: it has
 * replied. */
static bool open_queue(struct claims *c, struct tkw__visit *v,
		       struct rm_ctx *ctx)
{
	if (!c->args.error && c->all.count == 0)
		tkw__args_refuse(&c->args,
				 "ERR an id and its token are expected");
	if (c->args.error) {
		tkw__rm.ReplyWithError(ctx, c->args.error);
		return false;
	}
	if (!tkw__visit_open(v, ctx, c->args.argv[1], TKW__VISIT_WRITE))
		return false;
	if (v->queue)
		return true;
	for (size_t i = 0; i < c->all.count; i++)
		c->all.answer[i] = TKW__QUEUE_UNKNOWN;
	tkw__visit_close(v);
	tkw__reply_answers(ctx, c->all.answer, c->all.count);
	return false;
}

static int finish(const struct claims *c, struct tkw__visit *v, int err)
{
	if (err)
		return tkw__visit_fail(v, err);
	tkw__visit_close(v);
	return tkw__reply_answers(v->ctx, c->all.answer, c->all.count);
}

int tkw__redis_ack(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct tkw__visit v;
	struct claims c;

	if (argc < 4)
		return tkw__rm.WrongArity(ctx);
	begin(&c, ctx, argv, argc);
	while (tkw__args_more(&c.args))
		read_claim(&c);
	if (!open_queue(&c, &v, ctx))
		return RM_OK;
	return finish(&c, &v, tkw__queue_ack(v.queue, &v.call, &c.all));
}

int tkw__redis_nack(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct tkw__queue_nack how = { 0 };
	struct tkw__visit v;
	struct claims c;

	if (argc < 4)
		return tkw__rm.WrongArity(ctx);
	begin(&c, ctx, argv, argc);
	while (tkw__args_more(&c.args)) {
		if (tkw__args_option(&c.args, "DELAY", DELAY)) {
			int64_t ms = tkw__args_integer(
				&c.args, INT64_MIN, INT64_MAX,
				"ERR DELAY needs a delay in ms");

			how.has_delay = true;
			how.delay_ms = ms > 0 ? (uint64_t)ms : 0;
		} else if (tkw__args_option(&c.args, "REASON", REASON)) {
			how.reason = tkw__args_text(
				&c.args, 0, TKW__QUEUE_MAX_REASON,
				"ERR REASON needs a text of up to 255 bytes");
		} else {
			read_claim(&c);
		}
	}
	if (!open_queue(&c, &v, ctx))
		return RM_OK;
	return finish(&c, &v, tkw__queue_nack(v.queue, &v.call, &c.all, &how));
}

int tkw__redis_extend(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct tkw__visit v;
	struct claims c;
	int64_t lease_ms;

	if (argc < 5)
		return tkw__rm.WrongArity(ctx);
	begin(&c, ctx, argv, argc);
	lease_ms = tkw__args_integer(
		&c.args, 1, (int64_t)TKW__QUEUE_MAX_MS,
		"ERR a lease of 1 to 9223372036854775 ms is expected");
	while (tkw__args_more(&c.args))
		read_claim(&c);
	if (!open_queue(&c, &v, ctx))
		return RM_OK;
	return finish(&c, &v,
		      tkw__queue_extend(v.queue, &v.call, &c.all,
					(uint64_t)lease_ms));
}
