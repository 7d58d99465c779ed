/* SPDX-License-Identifier: MIT */
/* reply.h - replies that several commands have. */
#ifndef TKW_REDIS_REPLY_H
#define TKW_REDIS_REPLY_H

#include "redis/module.h"

/* An integer for each item: 1 done, 0 unknown, -1 taken. */
int tkw__reply_answers(struct rm_ctx *ctx,
		       const enum tkw__queue_answer *answers, size_t count);
/* Bytes, or null if there are none at all. */
void tkw__reply_text(struct rm_ctx *ctx, struct tkw__queue_text text);
/* A field of a map with a number. */
void tkw__reply_field(struct rm_ctx *ctx, const char *name, uint64_t number);
/* The same with bytes. */
void tkw__reply_text_field(struct rm_ctx *ctx, const char *name,
			   struct tkw__queue_text text);
/* A map with everything about an item. */
void tkw__reply_facts(struct rm_ctx *ctx, const struct tkw__queue_facts *f);

/* The name of a state. */
const char *tkw__state_name(enum tkw__queue_state state);

#endif /* TKW_REDIS_REPLY_H */
