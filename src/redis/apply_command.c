/* SPDX-License-Identifier: MIT */
/*
 * apply_command.c - TKW.APPLY key RECORDS|SNAPSHOT bytes: what the heart has
 * recorded.
 *
 * It comes from the master, or from the AOF, and from nobody else. RECORDS are
 * those of a command. A SNAPSHOT is a piece of a dump: an AOF that is rewritten
 * without an RDB preamble has all pieces of a queue, one after the other.
 */
#include <stdlib.h>

#include "redis/args.h"
#include "redis/visit.h"

/* How many queues have a part of their snapshot, but not its end. */
static int unfinished;

/* A replica that cannot follow its master says so in its log. An AOF that
 * cannot be read must not be half read, so the server ends, as it does when it
 * finds other damage there. */
static void complain(struct rm_ctx *ctx, bool loading, const char *text)
{
	tkw__rm.Log(ctx, "warning", "%s", text);
	if (loading)
		exit(EXIT_FAILURE);
}

static int refuse(struct rm_ctx *ctx, bool loading)
{
	static const char error[] =
		"ERR the records of a queue do not fit, or there is no memory";

	complain(ctx, loading, error + 4);
	return tkw__rm.ReplyWithError(ctx, error);
}

void tkw__redis_apply_end(struct rm_ctx *ctx)
{
	if (unfinished > 0)
		complain(ctx, true, "an AOF ends inside of a queue");
}

/* Applies the records. Returns false if they do not fit. */
static bool apply(struct tkw__visit *v, struct tkw__queue_text bytes,
		  bool snapshot)
{
	bool whole = v->is_new || tkw__queue_is_whole(v->queue);
	size_t used = 0;
	int err =
		snapshot ? tkw__queue_load(v->queue, bytes.at, bytes.len, &used)
			 : tkw__queue_replay(v->queue, bytes.at, bytes.len,
					     &used);

	unfinished += whole - tkw__queue_is_whole(v->queue);
	return err == 0 && used == bytes.len;
}

int tkw__redis_apply(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct tkw__args a = tkw__args_begin(argv, argc);
	int flags = tkw__rm.GetContextFlags(ctx);
	bool loading = flags & RM_IS_LOADING;
	struct tkw__queue_text bytes;
	struct tkw__visit v;
	bool snapshot;

	if (!loading && !(flags & RM_FROM_MASTER))
		return tkw__rm.ReplyWithError(ctx, TKW__NOT_FROM_MASTER);
	snapshot = loading && tkw__args_word(&a, "SNAPSHOT");
	if (!snapshot && !tkw__args_word(&a, "RECORDS"))
		return refuse(ctx, loading);
	bytes = tkw__args_text(&a, 1, SIZE_MAX, "");
	if (a.error || tkw__args_more(&a))
		return refuse(ctx, loading);
	if (!tkw__visit_open(&v, ctx, argv[1], TKW__VISIT_CREATE)) {
		complain(ctx, loading, "a queue cannot be opened");
		return RM_OK;
	}
	if (!apply(&v, bytes, snapshot)) {
		tkw__visit_undo(&v);
		return refuse(ctx, loading);
	}
	tkw__visit_keep(&v);
	tkw__rm.ReplicateVerbatim(ctx);
	return tkw__rm.ReplyWithSimpleString(ctx, "OK");
}
