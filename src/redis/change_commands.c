/* SPDX-License-Identifier: MIT */
/* change_commands.c - the commands for those who are not the consumer of an
 * item: TKW.CANCEL, TKW.RESCHEDULE, TKW.DEAD, TKW.PAUSE, TKW.RESUME, TKW.LIMIT.
 */
#include "redis/args.h"
#include "redis/list.h"
#include "redis/reply.h"
#include "redis/visit.h"

enum {
	/* How many dead items one command revives or purges. */
	WALK_ITEMS = 4096,
	/* How often it may record lost leases first, some 4,000 at a time. */
	WALK_ROUNDS = 4
};
enum {
	ITEMS,
	BYTES,
	PAYLOAD
};

static int refuse(struct rm_ctx *ctx, const struct tkw__args *a)
{
	return tkw__rm.ReplyWithError(ctx, a->error);
}

static int done(struct tkw__visit *v, int err)
{
	if (err)
		return tkw__visit_fail(v, err);
	tkw__visit_close(v);
	return tkw__rm.ReplyWithSimpleString(v->ctx, "OK");
}

int tkw__redis_cancel(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct tkw__args a = tkw__args_begin(argv, argc);
	size_t max = (size_t)argc;
	struct tkw__queue_name *names =
		tkw__args_room(&a, ctx, max * sizeof(*names));
	enum tkw__queue_answer *answers =
		tkw__args_room(&a, ctx, max * sizeof(*answers));
	bool by_key = tkw__args_word(&a, "KEY");
	struct tkw__visit v;
	size_t count = 0;
	int err = 0;

	if (argc < 3)
		return tkw__rm.WrongArity(ctx);
	if (by_key && !tkw__args_more(&a))
		tkw__args_refuse(&a, "ERR KEY needs a key of 1 to 255 bytes");
	while (tkw__args_more(&a)) {
		answers[count] = TKW__QUEUE_UNKNOWN;
		if (by_key)
			names[count++] = (struct tkw__queue_name){
				.key = tkw__args_key(&a)
			};
		else
			names[count++] = (struct tkw__queue_name){
				.id = (uint64_t)tkw__args_integer(
					&a, 0, INT64_MAX,
					"ERR an id is expected")
			};
	}
	if (a.error)
		return refuse(ctx, &a);
	if (!tkw__visit_open(&v, ctx, argv[1], TKW__VISIT_WRITE))
		return RM_OK;
	if (v.queue)
		err = tkw__queue_cancel(v.queue, &v.call, names, count,
					answers);
	if (err)
		return tkw__visit_fail(&v, err);
	tkw__visit_close(&v);
	return tkw__reply_answers(ctx, answers, count);
}

int tkw__redis_reschedule(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct tkw__args a = tkw__args_begin(argv, argc);
	struct tkw__queue_name name = tkw__args_name(&a);
	struct tkw__queue_when when = tkw__args_when(&a);
	enum tkw__queue_answer answer = TKW__QUEUE_UNKNOWN;
	struct tkw__visit v;
	int err = 0;

	if (argc < 4)
		return tkw__rm.WrongArity(ctx);
	if (tkw__args_more(&a))
		tkw__args_refuse(&a, "ERR there is an argument too many");
	if (a.error)
		return refuse(ctx, &a);
	if (!tkw__visit_open(&v, ctx, argv[1], TKW__VISIT_WRITE))
		return RM_OK;
	if (v.queue)
		err = tkw__queue_reschedule(v.queue, &v.call, &name, when,
					    &answer);
	if (err)
		return tkw__visit_fail(&v, err);
	tkw__visit_close(&v);
	return tkw__rm.ReplyWithLongLong(ctx, answer);
}

int tkw__redis_pause(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct tkw__visit v;

	if (argc != 2)
		return tkw__rm.WrongArity(ctx);
	if (!tkw__visit_open(&v, ctx, argv[1], TKW__VISIT_CREATE))
		return RM_OK;
	return done(&v, tkw__queue_pause(v.queue, &v.call));
}

int tkw__redis_resume(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct tkw__visit v;

	if (argc != 2)
		return tkw__rm.WrongArity(ctx);
	if (!tkw__visit_open(&v, ctx, argv[1], TKW__VISIT_WRITE))
		return RM_OK;
	return done(&v, v.queue ? tkw__queue_resume(v.queue, &v.call) : 0);
}

/* Reads one limit into the place of the present one. */
static bool read_limit(struct tkw__args *a, struct tkw__queue_limits *l)
{
	static const char error[] = "ERR a limit of 0 or more is expected";

	if (tkw__args_option(a, "ITEMS", ITEMS))
		l->items = (uint64_t)tkw__args_integer(a, 0, INT64_MAX, error);
	else if (tkw__args_option(a, "BYTES", BYTES))
		l->bytes = (uint64_t)tkw__args_integer(a, 0, INT64_MAX, error);
	else if (tkw__args_option(a, "PAYLOAD", PAYLOAD))
		l->payload = (uint64_t)tkw__args_integer(
			a, 0, TKW__QUEUE_MAX_PAYLOAD,
			"ERR a limit of 0 to 536870912 bytes is expected");
	else
		return false;
	return true;
}

int tkw__redis_limit(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct tkw__args a = tkw__args_begin(argv, argc);
	struct tkw__queue_limits limits = { 0 };
	struct tkw__visit v;

	if (argc < 4)
		return tkw__rm.WrongArity(ctx);
	/* Once to find errors, once more over the present limits. */
	while (read_limit(&a, &limits))
		;
	if (tkw__args_more(&a))
		tkw__args_refuse(&a, "ERR ITEMS, BYTES or PAYLOAD is expected");
	if (a.error)
		return refuse(ctx, &a);
	if (!tkw__visit_open(&v, ctx, argv[1], TKW__VISIT_CREATE))
		return RM_OK;
	tkw__queue_get_limits(v.queue, &limits);
	a = tkw__args_begin(argv, argc);
	while (read_limit(&a, &limits))
		;
	return done(&v, tkw__queue_limit(v.queue, &v.call, &limits));
}

/* --- the dead ------------------------------------------------------------- */

typedef int one_by_one_fn(struct tkw__queue *q, struct tkw__queue_call *call,
			  const uint64_t *ids, size_t count,
			  enum tkw__queue_answer *answers);
typedef int64_t some_fn(struct tkw__queue *q, struct tkw__queue_call *call,
			struct tkw__queue_walk *walk, uint32_t max);

static int dead_all(struct tkw__visit *v, some_fn *some)
{
	struct tkw__queue_walk walk = { 0 };
	int64_t n = 0;

	for (int i = 0; v->queue && i < WALK_ROUNDS; i++) {
		n = some(v->queue, &v->call, &walk, WALK_ITEMS);
		if (n != 0 || !v->call.behind)
			break;
	}
	if (n < 0)
		return tkw__visit_fail(v, (int)n);
	tkw__visit_close(v);
	tkw__rm.ReplyWithArray(v->ctx, 2);
	tkw__rm.ReplyWithLongLong(v->ctx, n);
	return tkw__rm.ReplyWithLongLong(v->ctx, v->call.behind);
}

static int dead_ids(struct tkw__args *a, struct tkw__visit *v,
		    one_by_one_fn *each)
{
	size_t max = (size_t)a->argc;
	uint64_t *ids = tkw__args_room(a, v->ctx, max * sizeof(*ids));
	enum tkw__queue_answer *answers =
		tkw__args_room(a, v->ctx, max * sizeof(*answers));
	size_t count = 0;
	int err = 0;

	while (tkw__args_more(a)) {
		answers[count] = TKW__QUEUE_UNKNOWN;
		ids[count++] = (uint64_t)tkw__args_integer(
			a, 0, INT64_MAX, "ERR an id is expected, or ALL");
	}
	if (a->error) {
		tkw__visit_close(v);
		return refuse(v->ctx, a);
	}
	if (v->queue)
		err = each(v->queue, &v->call, ids, count, answers);
	if (err)
		return tkw__visit_fail(v, err);
	tkw__visit_close(v);
	return tkw__reply_answers(v->ctx, answers, count);
}

static int dead_change(struct tkw__args *a, struct rm_ctx *ctx, some_fn *some,
		       one_by_one_fn *each)
{
	struct tkw__visit v;
	bool all = tkw__args_word(a, "ALL");

	if (all && tkw__args_more(a))
		tkw__args_refuse(a, "ERR nothing may follow ALL");
	if (!all && !tkw__args_more(a))
		tkw__args_refuse(a, "ERR an id is expected, or ALL");
	if (a->error)
		return refuse(ctx, a);
	if (!tkw__visit_open(&v, ctx, a->argv[1], TKW__VISIT_WRITE))
		return RM_OK;
	return all ? dead_all(&v, some) : dead_ids(a, &v, each);
}

int tkw__redis_dead(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct tkw__args a = tkw__args_begin(argv, argc);

	if (argc < 3)
		return tkw__rm.WrongArity(ctx);
	if (tkw__args_word(&a, "REVIVE"))
		return dead_change(&a, ctx, tkw__queue_revive_some,
				   tkw__queue_revive);
	if (tkw__args_word(&a, "PURGE"))
		return dead_change(&a, ctx, tkw__queue_purge_some,
				   tkw__queue_purge);
	if (tkw__args_word(&a, "LIST"))
		return tkw__redis_list_state(ctx, &a, TKW__QUEUE_IS_DEAD);
	return tkw__rm.ReplyWithError(ctx,
				      "ERR LIST, REVIVE or PURGE is expected");
}
