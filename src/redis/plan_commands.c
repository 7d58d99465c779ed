/* SPDX-License-Identifier: MIT */
/* plan_commands.c - TKW.PLAN, TKW.UNPLAN, TKW.PLANS, TKW.PLANPAUSE and
 * TKW.PLANRESUME. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "redis/args.h"
#include "redis/list.h"
#include "redis/reply.h"
#include "redis/visit.h"

enum {
	ZONE,
	MISFIRE,
	GRACE,
	OVERLAP,
	NEXT
};
enum {
	NAME,
	AFTER,
	COUNT,
	TIMES
};
enum {
	DEFAULT_GRACE_MS = 60000,
	/* How many times of a plan PLANS can be asked for. */
	MAX_TIMES = 100
};

static struct tkw__queue_text read_name(struct tkw__args *a)
{
	return tkw__args_text(a, 1, TKW__QUEUE_MAX_PLAN_NAME,
			      "ERR the name of a plan is expected, 1 to 200 "
			      "bytes");
}

/* --- make ----------------------------------------------------------------- */

static void read_misfire(struct tkw__args *a, struct tkw__queue_plan *p)
{
	static const char error[] =
		"ERR MISFIRE needs once, skip, or all and a number from 1 to "
		"100";

	if (tkw__args_word(a, "once")) {
		p->misfire = TKW__QUEUE_MISSED_ONCE;
	} else if (tkw__args_word(a, "skip")) {
		p->misfire = TKW__QUEUE_MISSED_SKIP;
	} else if (tkw__args_word(a, "all")) {
		p->misfire = TKW__QUEUE_MISSED_ALL;
		p->max_missed = (uint32_t)tkw__args_integer(
			a, 1, TKW__QUEUE_MAX_MISSED, error);
	} else {
		tkw__args_refuse(a, error);
	}
}

/* Reads one of two words. Returns true for the second one. */
static bool read_choice(struct tkw__args *a, const char *no, const char *yes,
			const char *error)
{
	bool chosen = tkw__args_word(a, yes);

	if (!chosen && !tkw__args_word(a, no))
		tkw__args_refuse(a, error);
	return chosen;
}

static bool read_option(struct tkw__args *a, struct tkw__queue_plan *p,
			struct tkw__args_retries *retries)
{
	if (tkw__args_option(a, "ZONE", ZONE))
		p->zone = tkw__args_text(a, 1, SIZE_MAX,
					 "ERR ZONE needs the name of a zone");
	else if (tkw__args_option(a, "MISFIRE", MISFIRE))
		read_misfire(a, p);
	else if (tkw__args_option(a, "GRACE", GRACE))
		p->grace_ms = (uint64_t)tkw__args_integer(
			a, 0, (int64_t)TKW__QUEUE_MAX_MS,
			"ERR GRACE needs a time in ms");
	else if (tkw__args_option(a, "OVERLAP", OVERLAP))
		p->allow_overlap = read_choice(
			a, "skip", "allow", "ERR OVERLAP needs skip or allow");
	else if (tkw__args_option(a, "NEXT", NEXT))
		p->next_on_end = read_choice(a, "take", "ack",
					     "ERR NEXT needs take or ack");
	else
		return tkw__args_retry(a, retries);
	return true;
}

static void read_plan(struct tkw__args *a, struct tkw__queue_plan *p)
{
	struct tkw__args_retries retries = { 0 };

	*p = (struct tkw__queue_plan){ .grace_ms = DEFAULT_GRACE_MS };
	p->name = read_name(a);
	p->plan = tkw__args_text(a, 0, SIZE_MAX, "ERR a plan is expected");
	p->payload = tkw__args_text(a, 0, TKW__QUEUE_MAX_PAYLOAD,
				    "ERR a payload is expected");
	while (read_option(a, p, &retries))
		;
	if (tkw__args_more(a))
		tkw__args_refuse(a, "ERR an unknown option");
	tkw__args_check_retries(a);
	p->max_attempts = retries.max_attempts;
	p->backoff_ms = retries.backoff_ms;
	p->max_backoff_ms = retries.max_backoff_ms;
}

/* The calendar says "Expected a minute, 0 to 59.". */
static const char *text_error(const struct tkw_plan_error *e)
{
	static char wrong[sizeof(*e) + 32];
	size_t len = strlen(e->text);

	(void)snprintf(wrong, sizeof(wrong), "TKWPLAN at byte %zu: e%.*s",
		       e->position, (int)len - 2, e->text + 1);
	return wrong;
}

/* Tells what is wrong with the text or the zone of a plan, or returns NULL. */
static const char *check_text(const struct tkw__queue_plan *p)
{
	const struct tkw__planner_query check = { .plan = p->plan,
						  .zone = p->zone };
	struct tkw_plan_error e;

	switch (tkw__planner_list(tkw__redis_planner(), &check, NULL, &e)) {
	case 0:
		return NULL;
	case -EINVAL:
		return text_error(&e);
	case -ENXIO:
		return "TKWPLAN the server has no time zone of this name";
	case -ENOMEM:
		return tkw__visit_error(-ENOMEM);
	default:
		return "TKWPLAN the server cannot read the file of the time "
		       "zone";
	}
}

int tkw__redis_plan(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct tkw__args a = tkw__args_begin(argv, argc);
	struct tkw__queue_plan plan;
	struct tkw__visit v;
	uint64_t next_ms;
	int err;

	if (argc < 5)
		return tkw__rm.WrongArity(ctx);
	read_plan(&a, &plan);
	if (!a.error)
		a.error = check_text(&plan);
	if (!a.error && tkw__redis_may_evict(ctx))
		a.error = TKW__MAY_EVICT;
	if (a.error)
		return tkw__rm.ReplyWithError(ctx, a.error);
	if (!tkw__visit_open(&v, ctx, argv[1], TKW__VISIT_CREATE))
		return RM_OK;
	err = tkw__queue_plan(v.queue, &v.call, &plan, &next_ms);
	if (err)
		return tkw__visit_fail(&v, err);
	tkw__visit_close(&v);
	return tkw__rm.ReplyWithLongLong(ctx, (long long)next_ms);
}

/* --- change --------------------------------------------------------------- */

typedef int change_fn(struct tkw__queue *q, struct tkw__queue_call *call,
		      struct tkw__queue_text name,
		      enum tkw__queue_answer *answer);

static int change(struct rm_ctx *ctx, struct rm_string **argv, int argc,
		  change_fn *fn)
{
	struct tkw__args a = tkw__args_begin(argv, argc);
	enum tkw__queue_answer answer = TKW__QUEUE_UNKNOWN;
	struct tkw__queue_text name;
	struct tkw__visit v;
	int err = 0;

	if (argc != 3)
		return tkw__rm.WrongArity(ctx);
	name = read_name(&a);
	if (a.error)
		return tkw__rm.ReplyWithError(ctx, a.error);
	if (!tkw__visit_open(&v, ctx, argv[1], TKW__VISIT_WRITE))
		return RM_OK;
	if (v.queue)
		err = fn(v.queue, &v.call, name, &answer);
	if (err)
		return tkw__visit_fail(&v, err);
	tkw__visit_close(&v);
	return tkw__rm.ReplyWithLongLong(ctx, answer);
}

int tkw__redis_unplan(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	return change(ctx, argv, argc, tkw__queue_unplan);
}

int tkw__redis_planpause(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	return change(ctx, argv, argc, tkw__queue_pause_plan);
}

int tkw__redis_planresume(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	return change(ctx, argv, argc, tkw__queue_resume_plan);
}

/* --- look ----------------------------------------------------------------- */

/* What PLANS is asked for. */
struct question {
	struct tkw__queue_text name; /* at = NULL: a list */
	struct tkw__queue_text after;
	uint32_t count;
	int times;
};

/* What a visitor of plans needs. */
struct answer {
	struct rm_ctx *ctx;
	uint64_t now_ms;
	int times;
};

static void reply_word(struct rm_ctx *ctx, const char *name, const char *word)
{
	tkw__rm.ReplyWithCString(ctx, name);
	tkw__rm.ReplyWithCString(ctx, word);
}

/* Bytes, which may be none. */
static void reply_bytes(struct rm_ctx *ctx, const char *name,
			struct tkw__queue_text text, const char *none)
{
	if (text.len == 0)
		text = (struct tkw__queue_text){ none, strlen(none) };
	tkw__reply_text_field(ctx, name, text);
}

static const char *error_word(int32_t err)
{
	switch (err) {
	case 0:
		return "";
	case -ENOENT:
		return "the plan has no more times";
	case -EEXIST:
		return "the keys of the next times are held";
	case -EOVERFLOW:
		return "there is no id left for an item";
	case -EINVAL:
		/* It comes from a server with a newer module. */
		return "this server does not understand the plan";
	default:
		return "the time zone cannot be read";
	}
}

static void reply_plan(struct rm_ctx *ctx, const struct tkw__queue_plan *p)
{
	static const char *const misfires[] = {
		[TKW__QUEUE_MISSED_ONCE] = "once",
		[TKW__QUEUE_MISSED_ALL] = "all",
		[TKW__QUEUE_MISSED_SKIP] = "skip",
	};

	reply_bytes(ctx, "name", p->name, "");
	reply_bytes(ctx, "plan", p->plan, "");
	reply_bytes(ctx, "zone", p->zone, "UTC");
	reply_word(ctx, "misfire", misfires[p->misfire]);
	tkw__reply_field(ctx, "max_missed", p->max_missed);
	tkw__reply_field(ctx, "grace", p->grace_ms);
	reply_word(ctx, "overlap", p->allow_overlap ? "allow" : "skip");
	reply_word(ctx, "next_on", p->next_on_end ? "ack" : "take");
	tkw__reply_field(ctx, "max_attempts", p->max_attempts);
	tkw__reply_field(ctx, "backoff", p->backoff_ms);
	tkw__reply_field(ctx, "max_backoff", p->max_backoff_ms);
}

/* The time of the fresh item, and then those that are not decided. Returns how
 * many, or an error. */
static int list_times(const struct answer *to,
		      const struct tkw__queue_plan_facts *f, uint64_t *out_ms)
{
	int fresh = f->fresh_id != 0;
	struct tkw__planner_query query = { .plan = f->plan.plan,
					    .zone = f->plan.zone,
					    .after_ms = to->now_ms,
					    .max = to->times - fresh };
	int n;

	if (f->decided_ms > query.after_ms)
		query.after_ms = f->decided_ms;
	if (fresh) {
		out_ms[0] = f->next_ms;
		if (f->next_ms > query.after_ms)
			query.after_ms = f->next_ms;
	}
	n = tkw__planner_list(tkw__redis_planner(), &query, out_ms + fresh,
			      NULL);
	return n < 0 ? n : n + fresh;
}

static void reply_times(const struct answer *to,
			const struct tkw__queue_plan_facts *f)
{
	uint64_t times_ms[MAX_TIMES];
	int n = list_times(to, f, times_ms);

	tkw__rm.ReplyWithCString(to->ctx, "times");
	if (n < 0) {
		tkw__rm.ReplyWithNull(to->ctx);
		return;
	}
	tkw__rm.ReplyWithArray(to->ctx, n);
	for (int i = 0; i < n; i++)
		tkw__rm.ReplyWithLongLong(to->ctx, (long long)times_ms[i]);
}

static void reply_facts(const struct tkw__queue_plan_facts *f, void *data)
{
	const struct answer *to = data;
	struct rm_ctx *ctx = to->ctx;

	tkw__rm.ReplyWithMap(ctx, 21 + (to->times > 0));
	reply_plan(ctx, &f->plan);
	tkw__reply_field(ctx, "paused", f->paused);
	reply_word(ctx, "error", error_word(f->error));
	tkw__reply_field(ctx, "next_id", f->fresh_id);
	tkw__reply_field(ctx, "next", f->next_ms);
	tkw__reply_field(ctx, "decided", f->decided_ms);
	tkw__reply_field(ctx, "running", f->running);
	tkw__reply_field(ctx, "runs", f->runs);
	tkw__reply_field(ctx, "missed", f->missed);
	tkw__reply_field(ctx, "overlaps", f->overlaps);
	reply_bytes(ctx, "payload", f->plan.payload, "");
	if (to->times > 0)
		reply_times(to, f);
}

static void count_one(const struct tkw__queue_plan_facts *facts, void *ctx)
{
	(void)facts;
	(void)ctx;
}

/* The number of plans comes before them, so the list is read twice. */
static void reply_list(struct tkw__visit *v, const struct question *q,
		       struct answer *to)
{
	uint32_t n = 0;

	if (v->queue)
		n = tkw__queue_list_plans(v->queue, q->after, q->count,
					  count_one, NULL);
	tkw__rm.ReplyWithArray(v->ctx, n);
	if (n > 0)
		(void)tkw__queue_list_plans(v->queue, q->after, n, reply_facts,
					    to);
}

static void reply_one(struct tkw__visit *v, const struct question *q,
		      struct answer *to)
{
	struct tkw__queue_plan_facts facts;
	bool found =
		v->queue && tkw__queue_get_plan(v->queue, q->name, &facts) == 0;

	tkw__rm.ReplyWithArray(v->ctx, found);
	if (found)
		reply_facts(&facts, to);
}

static struct question read_question(struct tkw__args *a)
{
	struct question q = { .count = TKW__LIST_DEFAULT };

	while (tkw__args_more(a)) {
		if (tkw__args_option(a, "NAME", NAME))
			q.name = read_name(a);
		else if (tkw__args_option(a, "AFTER", AFTER))
			q.after = read_name(a);
		else if (tkw__args_option(a, "COUNT", COUNT))
			q.count = tkw__redis_read_count(a);
		else if (tkw__args_option(a, "TIMES", TIMES))
			q.times = (int)tkw__args_integer(
				a, 1, MAX_TIMES,
				"ERR TIMES needs a number from 1 to 100");
		else
			tkw__args_refuse(a, "ERR an unknown option");
	}
	if (a->seen & 1 << NAME && a->seen & (1 << AFTER | 1 << COUNT))
		tkw__args_refuse(a, "ERR NAME excludes AFTER and COUNT");
	if (a->seen & 1 << TIMES && !(a->seen & 1 << NAME))
		tkw__args_refuse(a, "ERR TIMES needs NAME");
	return q;
}

int tkw__redis_plans(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
	struct tkw__args a = tkw__args_begin(argv, argc);
	struct question q;
	struct answer to;
	struct tkw__visit v;

	if (argc < 2)
		return tkw__rm.WrongArity(ctx);
	q = read_question(&a);
	if (a.error)
		return tkw__rm.ReplyWithError(ctx, a.error);
	if (!tkw__visit_open(&v, ctx, argv[1], TKW__VISIT_READ))
		return RM_OK;
	tkw__visit_settle(&v);
	to = (struct answer){ ctx, v.call.now_us / 1000, q.times };
	if (q.name.at)
		reply_one(&v, &q, &to);
	else
		reply_list(&v, &q, &to);
	tkw__visit_close(&v);
	return RM_OK;
}
