/* SPDX-License-Identifier: MIT */
/* put_commands.c - TKW.PUT and TKW.MPUT. */
#include "redis/args.h"
#include "redis/visit.h"

enum {
	KEY,
	REPLACE,
	KEEP
};

static bool read_option(struct tkw__args *a, struct tkw__queue_put *put,
			struct tkw__args_retries *retries)
{
	if (tkw__args_option(a, "KEY", KEY))
		put->key = tkw__args_key(a);
	else if (tkw__args_option(a, "REPLACE", REPLACE))
		put->held = TKW__QUEUE_REPLACE;
	else if (tkw__args_option(a, "KEEP", KEEP))
		put->held = TKW__QUEUE_KEEP;
	else
		return tkw__args_retry(a, retries);
	return true;
}

/* Options that make no sense without another one, or with it. */
static void check_options(struct tkw__args *a)
{
	uint64_t held = a->seen & (1 << REPLACE | 1 << KEEP);

	if (held == (1 << REPLACE | 1 << KEEP))
		tkw__args_refuse(a, "ERR REPLACE and KEEP exclude each other");
	if (held && !(a->seen & 1 << KEY))
		tkw__args_refuse(a, "ERR REPLACE and KEEP need KEY");
	tkw__args_check_retries(a);
}

/* Reads one item: its time, its payload and its options. */
static void read_item(struct tkw__args *a, struct tkw__queue_put *put)
{
	struct tkw__args_retries retries = { 0 };

	*put = (struct tkw__queue_put){ 0 };
	a->seen = 0;
	put->when = tkw__args_when(a);
	put->payload = tkw__args_text(a, 0, TKW__QUEUE_MAX_PAYLOAD,
				      "ERR a payload is expected");
	while (read_option(a, put, &retries))
		;
	check_options(a);
	put->max_attempts = retries.max_attempts;
	put->backoff_ms = retries.backoff_ms;
	put->max_backoff_ms = retries.max_backoff_ms;
}

static int refuse(struct rm_ctx *ctx, const struct tkw__args *a)
{
	if (a->error)
		return tkw__rm.ReplyWithError(ctx, a->error);
	return tkw__rm.ReplyWithError(ctx, TKW__MAY_EVICT);
}

int tkw__redis_put(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct tkw__args a = tkw__args_begin(argv, argc);
	struct tkw__queue_put put;
	struct tkw__visit v;
	uint64_t id;
	int err;

	if (argc < 4)
		return tkw__rm.WrongArity(ctx);
	read_item(&a, &put);
	if (tkw__args_more(&a))
		tkw__args_refuse(&a, "ERR an unknown option");
	if (a.error || tkw__redis_may_evict(ctx))
		return refuse(ctx, &a);
	if (!tkw__visit_open(&v, ctx, argv[1], TKW__VISIT_CREATE))
		return RM_OK;
	err = tkw__queue_put(v.queue, &v.call, &put, 1, &id);
	if (err)
		return tkw__visit_fail(&v, err);
	tkw__visit_close(&v);
	return tkw__rm.ReplyWithLongLong(ctx, (long long)id);
}

static int reply_ids(struct rm_ctx *ctx, const uint64_t *ids, size_t count)
{
	tkw__rm.ReplyWithArray(ctx, (long)count);
	for (size_t i = 0; i < count; i++)
		tkw__rm.ReplyWithLongLong(ctx, (long long)ids[i]);
	return RM_OK;
}

/* An item takes two arguments at least, so an array for half of the arguments
 * is large enough. */
int tkw__redis_mput(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct tkw__args a = tkw__args_begin(argv, argc);
	struct tkw__queue_put *puts;
	struct tkw__visit v;
	size_t count = 0;
	uint64_t *ids;
	int err;

	if (argc < 4)
		return tkw__rm.WrongArity(ctx);
	puts = tkw__args_room(&a, ctx, (size_t)argc / 2 * sizeof(*puts));
	ids = tkw__args_room(&a, ctx, (size_t)argc / 2 * sizeof(*ids));
	while (tkw__args_more(&a))
		read_item(&a, &puts[count++]);
	if (a.error || tkw__redis_may_evict(ctx))
		return refuse(ctx, &a);
	if (!tkw__visit_open(&v, ctx, argv[1], TKW__VISIT_CREATE))
		return RM_OK;
	err = tkw__queue_put(v.queue, &v.call, puts, count, ids);
	if (err)
		return tkw__visit_fail(&v, err);
	tkw__visit_close(&v);
	return reply_ids(ctx, ids, count);
}
