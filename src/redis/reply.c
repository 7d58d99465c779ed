/* SPDX-License-Identifier: MIT */
/* reply.c - replies that several commands have. */
#include "redis/reply.h"

int tkw__reply_answers(struct rm_ctx *ctx,
		       const enum tkw__queue_answer *answers, size_t count)
{
	tkw__rm.ReplyWithArray(ctx, (long)count);
	for (size_t i = 0; i < count; i++)
		tkw__rm.ReplyWithLongLong(ctx, answers[i]);
	return RM_OK;
}

void tkw__reply_text(struct rm_ctx *ctx, struct tkw__queue_text text)
{
	if (text.at)
		tkw__rm.ReplyWithStringBuffer(ctx, text.at, text.len);
	else
		tkw__rm.ReplyWithNull(ctx);
}

void tkw__reply_field(struct rm_ctx *ctx, const char *name, uint64_t number)
{
	tkw__rm.ReplyWithCString(ctx, name);
	tkw__rm.ReplyWithLongLong(ctx, (long long)number);
}

void tkw__reply_text_field(struct rm_ctx *ctx, const char *name,
			   struct tkw__queue_text text)
{
	tkw__rm.ReplyWithCString(ctx, name);
	tkw__reply_text(ctx, text);
}

/* Empty instead of null. */
static struct tkw__queue_text some(struct tkw__queue_text text)
{
	return text.at ? text : (struct tkw__queue_text){ .at = "" };
}

const char *tkw__state_name(enum tkw__queue_state state)
{
	static const char *const names[TKW__QUEUE_STATES] = { "waiting",
							      "ready", "taken",
							      "dead" };

	return names[state];
}

void tkw__reply_facts(struct rm_ctx *ctx, const struct tkw__queue_facts *f)
{
	bool taken = f->state == TKW__QUEUE_IS_TAKEN;
	bool dead = f->state == TKW__QUEUE_IS_DEAD;

	tkw__rm.ReplyWithMap(ctx, 14);
	tkw__reply_field(ctx, "id", f->id);
	tkw__rm.ReplyWithCString(ctx, "state");
	tkw__rm.ReplyWithCString(ctx, tkw__state_name(f->state));
	tkw__reply_field(ctx, "due", f->due_ms);
	tkw__reply_field(ctx, "attempts", f->attempts);
	tkw__reply_field(ctx, "max_attempts", f->max_attempts);
	tkw__reply_field(ctx, "backoff", f->backoff_ms);
	tkw__reply_field(ctx, "max_backoff", f->max_backoff_ms);
	tkw__reply_field(ctx, "token", taken ? f->token : 0);
	tkw__reply_field(ctx, "expires", taken ? f->lease_ms : 0);
	tkw__reply_field(ctx, "died", dead ? f->died_ms : 0);
	tkw__reply_field(ctx, "planned", f->planned_ms);
	tkw__reply_text_field(ctx, "key", f->key);
	tkw__reply_text_field(ctx, "reason", some(f->reason));
	tkw__reply_text_field(ctx, "payload", some(f->payload));
}
