/* SPDX-License-Identifier: MIT */
/* plan_answers.c - the commands of plan.cases over the C calls. */
#include "plan_answers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* --- make ----------------------------------------------------------------- */

static void read_misfire(const struct words *w, size_t *i,
			 struct tkw_queue_plan_spec *p)
{
	++*i;
	if (words_is(w, *i, "all")) {
		p->misfire = TKW_MISFIRE_ALL;
		p->max_missed = (uint32_t)cases_value(w, i);
	} else if (words_is(w, *i, "skip")) {
		p->misfire = TKW_MISFIRE_SKIP;
	} else {
		cases_must(words_is(w, *i, "once"), "no misfire");
	}
}

/* For the library, 0 is the default. */
static int64_t read_grace(const struct words *w, size_t *i)
{
	int64_t ms = cases_value(w, i);

	return ms ? ms : -1;
}

static void read_option(const struct words *w, size_t *i,
			struct tkw_queue_plan_spec *p)
{
	if (words_is(w, *i, "ZONE"))
		p->zone = w->word[++*i].at;
	else if (words_is(w, *i, "MISFIRE"))
		read_misfire(w, i, p);
	else if (words_is(w, *i, "GRACE"))
		p->grace_ms = read_grace(w, i);
	else if (words_is(w, *i, "OVERLAP"))
		p->overlap = words_is(w, ++*i, "allow") ? TKW_OVERLAP_ALLOW
							: TKW_OVERLAP_SKIP;
	else if (words_is(w, *i, "NEXT"))
		p->next_on_ack = words_is(w, ++*i, "ack");
	else if (words_is(w, *i, "ATTEMPTS"))
		p->max_attempts = (uint32_t)cases_value(w, i);
	else if (words_is(w, *i, "BACKOFF"))
		p->backoff_ms = (uint32_t)cases_value(w, i);
	else if (words_is(w, *i, "MAX"))
		p->max_backoff_ms = (uint32_t)cases_value(w, i);
	else
		cases_must(false, "an option that a plan does not have");
}

static const char *error_word(int err, const struct tkw_plan_error *error)
{
	switch (err) {
	case -ENOENT:
	case -ENXIO:
		return "TKWPLAN";
	case -EAGAIN:
	case -EMSGSIZE:
		return "TKWFULL";
	case -EEXIST:
		return "TKWEXISTS";
	default:
		return error->text[0] ? "TKWPLAN" : "ERR";
	}
}

void plan_command_plan(struct tkw_queue *q, int64_t now_ms,
		       const struct words *w, struct reply_text *t)
{
	struct tkw_queue_plan_spec p = { .name = NULL };
	struct tkw_plan_error error;
	int64_t next_ms;
	int err;

	(void)now_ms;
	cases_must(w->count >= 4, "a plan has three words");
	p.name = w->word[1].at;
	p.text = w->word[2].at;
	p.payload = w->word[3].at;
	p.payload_len = w->word[3].len;
	for (size_t i = 4; i < w->count; i++)
		read_option(w, &i, &p);
	err = tkw_queue_plan(q, &p, &next_ms, &error);
	if (err)
		reply_text_add(t, "%s", error_word(err, &error));
	else
		reply_text_add(t, "%" PRId64, next_ms);
}

/* --- change --------------------------------------------------------------- */

static void add_found(struct reply_text *t, int err)
{
	if (err && err != -ENOENT)
		reply_text_add(t, "error %d", err);
	else
		reply_text_add(t, err ? "0" : "1");
}

void plan_command_unplan(struct tkw_queue *q, int64_t now_ms,
			 const struct words *w, struct reply_text *t)
{
	(void)now_ms;
	add_found(t, tkw_queue_unplan(q, w->word[1].at));
}

void plan_command_pause(struct tkw_queue *q, int64_t now_ms,
			const struct words *w, struct reply_text *t)
{
	(void)now_ms;
	add_found(t, tkw_queue_pause_plan(q, w->word[1].at));
}

void plan_command_resume(struct tkw_queue *q, int64_t now_ms,
			 const struct words *w, struct reply_text *t)
{
	(void)now_ms;
	add_found(t, tkw_queue_resume_plan(q, w->word[1].at));
}

/* --- look ----------------------------------------------------------------- */

static void quote(struct reply_text *t, const char *text)
{
	reply_text_quote(t, text, strlen(text));
}

/* In pieces of two. */
void plan_command_list(struct tkw_queue *q, int64_t now_ms,
		       const struct words *w, struct reply_text *t)
{
	char after[TKW_QUEUE_MAX_PLAN_NAME + 1] = "";
	struct tkw_queue_plans *plans;
	const char *more = "";
	int n;

	(void)now_ms;
	(void)w;
	reply_text_add(t, "[");
	while ((n = tkw_queue_list_plans(q, *after ? after : NULL, 2, &plans)) >
	       0) {
		for (int i = 0; i < n; i++) {
			const char *name = plans->plan[i].plan.name;

			reply_text_add(t, "%s", more);
			quote(t, name);
			more = ", ";
			memcpy(after, name, strlen(name) + 1);
		}
		tkw_queue_plans_free(plans);
	}
	cases_must(n == 0, "a list of plans fails");
	reply_text_add(t, "]");
}

static const char *misfire_word(enum tkw_misfire misfire)
{
	if (misfire == TKW_MISFIRE_ALL)
		return "all";
	return misfire == TKW_MISFIRE_SKIP ? "skip" : "once";
}

static const char *fault_word(int err)
{
	switch (err) {
	case 0:
		return "";
	case -ENOENT:
		return "the plan has no more times";
	case -EEXIST:
		return "the keys of the next times are held";
	default:
		return "the time zone cannot be read";
	}
}

static void add_text_fact(struct reply_text *t,
			  const struct tkw_queue_plan_facts *f,
			  const char *name)
{
	const struct tkw_queue_plan_spec *p = &f->plan;
	const struct {
		const char *name;
		const char *value;
	} facts[] = {
		{ "plan", p->text },
		{ "zone", *p->zone ? p->zone : "UTC" },
		{ "payload", p->payload },
		{ "misfire", misfire_word(p->misfire) },
		{ "overlap",
		  p->overlap == TKW_OVERLAP_ALLOW ? "allow" : "skip" },
		{ "next_on", p->next_on_ack ? "ack" : "take" },
		{ "error", fault_word(f->error) },
	};

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		if (strcmp(facts[i].name, name) == 0)
			quote(t, facts[i].value);
	}
}

static void add_number_fact(struct reply_text *t,
			    const struct tkw_queue_plan_facts *f,
			    const char *name)
{
	const struct tkw_queue_plan_spec *p = &f->plan;
	const struct {
		const char *name;
		uint64_t value;
	} facts[] = {
		{ "max_missed", p->max_missed },
		{ "grace", (uint64_t)p->grace_ms },
		{ "max_attempts", p->max_attempts },
		{ "backoff", p->backoff_ms },
		{ "max_backoff", p->max_backoff_ms },
		{ "paused", (uint64_t)f->paused },
		{ "next_id", f->next_id.bits },
		{ "next", (uint64_t)f->next_ms },
		{ "decided", (uint64_t)f->decided_ms },
		{ "running", f->running },
		{ "runs", f->runs },
		{ "missed", f->missed },
		{ "overlaps", f->overlaps },
	};

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		if (strcmp(facts[i].name, name) == 0)
			reply_text_add(t, "%" PRIu64, facts[i].value);
	}
}

void plan_command_facts(struct tkw_queue *q, int64_t now_ms,
			const struct words *w, struct reply_text *t)
{
	struct tkw_queue_plans *plans;
	int err = tkw_queue_get_plan(q, w->word[1].at, &plans);

	(void)now_ms;
	if (err) {
		reply_text_add(t, err == -ENOENT ? "nil" : "ERR");
		return;
	}
	for (size_t i = 2; i < w->count; i++) {
		reply_text_add(t, i == 2 ? "{" : ", ");
		quote(t, w->word[i].at);
		reply_text_add(t, ": ");
		add_text_fact(t, &plans->plan[0], w->word[i].at);
		add_number_fact(t, &plans->plan[0], w->word[i].at);
	}
	reply_text_add(t, "}");
	tkw_queue_plans_free(plans);
}

/* The time of the fresh item, and then those that are not decided. */
static void add_times(struct reply_text *t,
		      const struct tkw_queue_plan_facts *f, int64_t after_ms,
		      int64_t count)
{
	struct tkw_plan *plan;
	int64_t ms = f->next_ms;

	cases_must(!tkw_plan_create(&plan, f->plan.text, NULL, NULL),
		   "no plan");
	if (f->decided_ms > after_ms)
		after_ms = f->decided_ms;
	for (int64_t i = 0; i < count; i++) {
		if (i > 0 || !f->next_ms) {
			if (tkw_plan_next(plan, after_ms, &ms))
				break;
		}
		reply_text_add(t, "%s%" PRId64, i ? ", " : "", ms);
		if (ms > after_ms)
			after_ms = ms;
	}
	(void)tkw_plan_destroy(plan);
}

void plan_command_times(struct tkw_queue *q, int64_t now_ms,
			const struct words *w, struct reply_text *t)
{
	struct tkw_queue_plans *plans;
	size_t i = 1;

	if (tkw_queue_get_plan(q, w->word[1].at, &plans)) {
		reply_text_add(t, "nil");
		return;
	}
	reply_text_add(t, "[");
	add_times(t, &plans->plan[0], now_ms, cases_value(w, &i));
	reply_text_add(t, "]");
	tkw_queue_plans_free(plans);
}
