/* SPDX-License-Identifier: MIT */
/* look_commands.c - TKW.GET, TKW.LIST, TKW.COUNT, TKW.INFO and TKW.DIGEST. On a
 * master, lists and counts first record leases that have run out. */
#include <inttypes.h>
#include <stdio.h>

#include "redis/args.h"
#include "redis/list.h"
#include "redis/reply.h"
#include "redis/visit.h"
#include "redis/waiters.h"

enum {
	CURSOR,
	COUNT
};

int tkw__redis_get(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct tkw__args a = tkw__args_begin(argv, argc);
	struct tkw__queue_name name = tkw__args_name(&a);
	struct tkw__queue_facts facts;
	struct tkw__visit v;

	if (argc < 3)
		return tkw__rm.WrongArity(ctx);
	if (tkw__args_more(&a))
		tkw__args_refuse(&a, "ERR there is an argument too many");
	if (a.error)
		return tkw__rm.ReplyWithError(ctx, a.error);
	if (!tkw__visit_open(&v, ctx, argv[1], TKW__VISIT_READ))
		return RM_OK;
	if (v.queue &&
	    tkw__queue_get(v.queue, v.call.now_us, &name, &facts) == 0)
		tkw__reply_facts(ctx, &facts);
	else
		tkw__rm.ReplyWithNull(ctx);
	tkw__visit_close(&v);
	return RM_OK;
}

/* --- list ----------------------------------------------------------------- */

static void count_one(const struct tkw__queue_facts *facts, void *ctx)
{
	long *count = ctx;

	(void)facts;
	++*count;
}

static void reply_one(const struct tkw__queue_facts *facts, void *ctx)
{
	tkw__reply_facts(ctx, facts);
}

/* Cursors use all 64 bits, so they travel as text. */
uint64_t tkw__redis_read_cursor(struct tkw__args *a)
{
	static const char error[] =
		"ERR CURSOR needs the cursor of an earlier reply, or 0";
	struct tkw__queue_text t = tkw__args_text(a, 1, 20, error);
	const char *c = t.at;
	uint64_t cursor = 0;

	for (size_t i = 0; i < t.len; i++) {
		uint64_t digit = (uint64_t)(c[i] - '0');

		if (digit > 9 || cursor > (UINT64_MAX - digit) / 10) {
			tkw__args_refuse(a, error);
			return 0;
		}
		cursor = cursor * 10 + digit;
	}
	return cursor;
}

uint32_t tkw__redis_read_count(struct tkw__args *a)
{
	return (uint32_t)tkw__args_integer(
		a, 1, TKW__LIST_MAX, "ERR COUNT needs a number from 1 to 4096");
}

/* The number of items and the next cursor come before the items. So the list is
 * read twice: the queue does not change meanwhile. */
static void reply_list(struct tkw__visit *v, struct tkw__queue_list list,
		       uint64_t cursor)
{
	char text[24] = "0";
	uint64_t next = 0;
	long count = 0;

	list.now_us = v->call.now_us;
	if (v->queue) {
		list.visit = count_one;
		list.ctx = &count;
		next = tkw__queue_list(v->queue, &list, cursor);
	}
	(void)snprintf(text, sizeof(text), "%" PRIu64, next);
	tkw__rm.ReplyWithArray(v->ctx, 2);
	tkw__rm.ReplyWithCString(v->ctx, text);
	tkw__rm.ReplyWithArray(v->ctx, count);
	if (count > 0) {
		list.visit = reply_one;
		list.ctx = v->ctx;
		(void)tkw__queue_list(v->queue, &list, cursor);
	}
}

int tkw__redis_list_state(struct rm_ctx *ctx, struct tkw__args *a,
			  enum tkw__queue_state state)
{
	struct tkw__queue_list list = { .state = state,
					.max = TKW__LIST_DEFAULT };
	struct tkw__visit v;
	uint64_t cursor = 0;

	while (tkw__args_more(a)) {
		if (tkw__args_option(a, "CURSOR", CURSOR))
			cursor = tkw__redis_read_cursor(a);
		else if (tkw__args_option(a, "COUNT", COUNT))
			list.max = tkw__redis_read_count(a);
		else
			tkw__args_refuse(a, "ERR an unknown option");
	}
	if (a->error)
		return tkw__rm.ReplyWithError(ctx, a->error);
	if (!tkw__visit_open(&v, ctx, a->argv[1], TKW__VISIT_READ))
		return RM_OK;
	tkw__visit_settle(&v);
	reply_list(&v, list, cursor);
	tkw__visit_close(&v);
	return RM_OK;
}

static bool read_state(struct tkw__args *a, enum tkw__queue_state *state)
{
	for (*state = 0; *state < TKW__QUEUE_STATES; ++*state) {
		if (tkw__args_word(a, tkw__state_name(*state)))
			return true;
	}
	return tkw__args_word(a, "all");
}

int tkw__redis_list(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct tkw__args a = tkw__args_begin(argv, argc);
	enum tkw__queue_state state;

	if (argc < 4)
		return tkw__rm.WrongArity(ctx);
	if (!tkw__args_word(&a, "STATE") || !read_state(&a, &state))
		return tkw__rm.ReplyWithError(
			ctx, "ERR STATE is expected, and waiting, ready, "
			     "taken, dead or all");
	return tkw__redis_list_state(ctx, &a, state);
}

/* --- numbers -------------------------------------------------------------- */

static void reply_counts(struct rm_ctx *ctx, const struct tkw__queue_stats *s)
{
	for (enum tkw__queue_state i = 0; i < TKW__QUEUE_STATES; i++)
		tkw__reply_field(ctx, tkw__state_name(i), s->count[i]);
}

/* Opens a queue and gets its facts, which are zero if there is none. */
static bool open_stats(struct tkw__visit *v, struct rm_ctx *ctx,
		       struct rm_string *name, struct tkw__queue_stats *s)
{
	*s = (struct tkw__queue_stats){ 0 };
	if (!tkw__visit_open(v, ctx, name, TKW__VISIT_READ))
		return false;
	tkw__visit_settle(v);
	if (v->queue)
		tkw__queue_get_stats(v->queue, v->call.now_us, s);
	return true;
}

int tkw__redis_count(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct tkw__queue_stats s;
	struct tkw__visit v;

	if (argc != 2)
		return tkw__rm.WrongArity(ctx);
	if (!open_stats(&v, ctx, argv[1], &s))
		return RM_OK;
	tkw__rm.ReplyWithMap(ctx, TKW__QUEUE_STATES);
	reply_counts(ctx, &s);
	tkw__visit_close(&v);
	return RM_OK;
}

static void reply_lateness(struct rm_ctx *ctx, const struct tkw__queue_stats *s)
{
	char text[24];
	long used = 0;

	for (uint32_t i = 0; i < TKW__QUEUE_LATENESS_BUCKETS; i++)
		used += s->lateness[i] > 0;
	tkw__rm.ReplyWithCString(ctx, "lateness");
	tkw__rm.ReplyWithMap(ctx, used);
	for (uint32_t i = 0; i < TKW__QUEUE_LATENESS_BUCKETS; i++) {
		if (s->lateness[i] == 0)
			continue;
		(void)snprintf(text, sizeof(text), "%" PRIu64,
			       tkw__queue_lateness_least_ms(i));
		tkw__reply_field(ctx, text, s->lateness[i]);
	}
}

static void reply_info(const struct tkw__visit *v,
		       const struct tkw__queue_stats *s)
{
	struct rm_ctx *ctx = v->ctx;
	const struct tkw__queue_totals *t = &s->totals;
	const struct {
		const char *name;
		uint64_t number;
	} fields[] = {
		{ "items", s->items },
		{ "plans", tkw__queue_count_plans(v->queue) },
		{ "bytes", s->bytes },
		{ "memory", s->allocated },
		{ "paused", t->paused },
		{ "oldest_age", s->oldest_age_ms },
		{ "puts", t->puts },
		{ "takes", t->takes },
		{ "acks", t->acks },
		{ "nacks", t->nacks },
		{ "losses", t->losses },
		{ "deaths", t->deaths },
		{ "revivals", t->revivals },
		{ "cancels", t->cancels },
		{ "purges", t->purges },
		{ "replaces", t->replaces },
		{ "extends", t->extends },
		{ "reschedules", t->reschedules },
		{ "last_id", t->last_id },
		{ "last_token", t->last_token },
		{ "max_items", t->max_items },
		{ "max_bytes", t->max_bytes },
		{ "max_payload", t->max_payload },
		{ "waiting_clients", tkw__waiters_count(ctx, v->name) },
		{ "quiet", s->quiet },
	};
	const size_t count = sizeof(fields) / sizeof(fields[0]);

	tkw__rm.ReplyWithMap(ctx, (long)(TKW__QUEUE_STATES + count + 1));
	reply_counts(ctx, s);
	for (size_t i = 0; i < count; i++)
		tkw__reply_field(ctx, fields[i].name, fields[i].number);
	reply_lateness(ctx, s);
}

int tkw__redis_info(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct tkw__queue_stats s;
	struct tkw__visit v;

	if (argc != 2)
		return tkw__rm.WrongArity(ctx);
	if (!open_stats(&v, ctx, argv[1], &s))
		return RM_OK;
	if (v.queue)
		reply_info(&v, &s);
	else
		tkw__rm.ReplyWithNull(ctx);
	tkw__visit_close(&v);
	return RM_OK;
}

int tkw__redis_digest(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct tkw__visit v;
	char text[24];

	if (argc != 2)
		return tkw__rm.WrongArity(ctx);
	if (!tkw__visit_open(&v, ctx, argv[1], TKW__VISIT_READ))
		return RM_OK;
	if (v.queue) {
		(void)snprintf(text, sizeof(text), "%016" PRIx64,
			       tkw__queue_digest(v.queue));
		tkw__rm.ReplyWithCString(ctx, text);
	} else {
		tkw__rm.ReplyWithNull(ctx);
	}
	tkw__visit_close(&v);
	return RM_OK;
}
