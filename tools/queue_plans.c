/* SPDX-License-Identifier: MIT */
/* queue_plans.c - the commands of `tkw queue` about plans. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tickwheel/calendar.h>

#include "queue_tool.h"
#include "tool.h"

enum {
	DEFAULT_TIMES = 10
};

static int fail_plan(const struct queue_session *s, int error)
{
	static const struct {
		int error;
		const char *why;
	} reasons[] = {
		{ -ENOENT, "it has no time after now" },
		{ -EEXIST, "other items have the keys of its next times" },
		{ -ENXIO, "the owner of the file knows no such time zone" },
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (reasons[i].error == error) {
			tool_complain("plan: %s", reasons[i].why);
			return TOOL_EXIT_FAILURE;
		}
	}
	return queue_session_fail(s, "plan", error);
}

int queue_plan(struct queue_session *s, const struct queue_options *o,
	       struct queue_words *w)
{
	struct tkw_queue_plan_spec p = o->plan;
	char buf[QUEUE_TIME];
	int64_t next_ms = 0;
	int r;

	p.name = o->words[0];
	p.text = o->words[1];
	p.payload = w->payloads[2].bytes;
	p.payload_len = w->payloads[2].len;
	p.max_attempts = (uint32_t)o->attempts;
	p.backoff_ms = (uint32_t)o->backoff_ms;
	p.max_backoff_ms = (uint32_t)o->max_backoff_ms;
	QUEUE_CALL(r, s, s->ops->plan(s->way, &p, &next_ms));
	if (r < 0)
		return fail_plan(s, r);
	if (o->json)
		(void)printf("{\"next_ms\":%lld}\n", (long long)next_ms);
	else
		(void)printf("%s\n",
			     next_ms ? queue_word_time(buf, next_ms) : "-");
	return TOOL_EXIT_OK;
}

/* --- change -------------------------------------------------------------- */

/* The way may be another one each time. */
typedef int change_fn(struct queue_session *s, const char *name);

static int end_plan(struct queue_session *s, const char *name)
{
	return s->ops->unplan(s->way, name);
}

static int pause_plan(struct queue_session *s, const char *name)
{
	return s->ops->pause_plan(s->way, name);
}

static int resume_plan(struct queue_session *s, const char *name)
{
	return s->ops->resume_plan(s->way, name);
}

static void print_json_change(const char *name, const char *what, int r)
{
	(void)putchar('{');
	queue_print_json_bytes("plan", name, strlen(name));
	(void)printf(",\"%s\":%s}\n", what, r ? "false" : "true");
}

/* Changes each plan that is named. what: the member of the JSON object. */
static int change(struct queue_session *s, const struct queue_options *o,
		  change_fn *fn, const char *what)
{
	int status = TOOL_EXIT_OK;

	for (size_t i = 0; i < o->word_count; i++) {
		const char *name = o->words[i];
		int r;

		QUEUE_CALL(r, s, fn(s, name));
		if (r < 0 && r != -ENOENT)
			return queue_session_fail(s, o->words[i], r);
		if (o->json)
			print_json_change(name, what, r);
		if (!r)
			continue;
		status = TOOL_EXIT_FAILURE;
		tool_complain("'%.60s': no such plan", name);
	}
	return status;
}

int queue_unplan(struct queue_session *s, const struct queue_options *o,
		 struct queue_words *w)
{
	(void)w;
	return change(s, o, end_plan, "ended");
}

int queue_plan_pause(struct queue_session *s, const struct queue_options *o,
		     struct queue_words *w)
{
	(void)w;
	return change(s, o, pause_plan, "paused");
}

int queue_plan_resume(struct queue_session *s, const struct queue_options *o,
		      struct queue_words *w)
{
	(void)w;
	return change(s, o, resume_plan, "resumed");
}

/* --- look ---------------------------------------------------------------- */

static struct tkw_plan *open_plan(const struct tkw_queue_plan_spec *p)
{
	struct tkw_zone *zone = NULL;
	struct tkw_plan *plan = NULL;

	if (*p->zone && tkw_zone_open(&zone, p->zone, NULL))
		return NULL;
	if (tkw_plan_create(&plan, p->text, zone, NULL))
		plan = NULL;
	(void)tkw_zone_close(zone);
	return plan;
}

/* Finds the next times: that of the item that waits, and those after it.
 * Returns how many. */
static size_t find_times(const struct tkw_queue_plan_facts *f,
			 int64_t *times_ms, size_t max)
{
	struct tkw_plan *plan = open_plan(&f->plan);
	int64_t after_ms = queue_wall_ms();
	size_t n = 0;

	if (f->decided_ms > after_ms)
		after_ms = f->decided_ms;
	if (f->next_ms) {
		times_ms[n++] = f->next_ms;
		if (f->next_ms > after_ms)
			after_ms = f->next_ms;
	}
	while (plan && n < max && !tkw_plan_next(plan, after_ms, &times_ms[n]))
		after_ms = times_ms[n++];
	(void)tkw_plan_destroy(plan);
	return n;
}

static int show(struct queue_session *s, const struct queue_options *o)
{
	int64_t times_ms[QUEUE_TIMES_MAX];
	struct queue_plans plans = { NULL, NULL };
	const struct tkw_queue_plan_facts *f;
	size_t n = o->count ? (size_t)o->count : DEFAULT_TIMES;
	int r;

	if (n > QUEUE_TIMES_MAX) {
		tool_complain("plans: at most %d times", QUEUE_TIMES_MAX);
		return TOOL_EXIT_USAGE;
	}
	QUEUE_CALL(r, s, s->ops->get_plan(s->way, o->words[0], &plans));
	if (r == -ENOENT) {
		tool_complain("'%.60s': no such plan", o->words[0]);
		return TOOL_EXIT_FAILURE;
	}
	if (r < 0)
		return queue_session_fail(s, "plans", r);
	f = &plans.list->plan[0];
	n = find_times(f, times_ms, n);
	if (o->json)
		queue_print_json_plan(f, times_ms, n);
	else
		queue_print_plan(f, times_ms, n);
	queue_plans_free(&plans);
	return TOOL_EXIT_OK;
}

static void print_listed(const struct queue_options *o,
			 const struct tkw_queue_plan_facts *f)
{
	if (o->json)
		queue_print_json_plan(f, NULL, 0);
	else
		queue_print_listed_plan(f);
}

static int list(struct queue_session *s, const struct queue_options *o)
{
	char after[TKW_QUEUE_MAX_PLAN_NAME + 1] = "";
	uint64_t left = o->count ? o->count : UINT64_MAX;
	int r;

	do {
		struct queue_plans plans = { NULL, NULL };

		QUEUE_CALL(r, s,
			   s->ops->list_plans(s->way, *after ? after : NULL,
					      256, &plans));
		if (r < 0)
			return queue_session_fail(s, "plans", r);
		for (int i = 0; i < r && left > 0; i++, left--)
			print_listed(o, &plans.list->plan[i]);
		if (r > 0)
			(void)snprintf(after, sizeof(after), "%s",
				       plans.list->plan[r - 1].plan.name);
		queue_plans_free(&plans);
	} while (r > 0 && left > 0 && !tool_flush());
	return TOOL_EXIT_OK;
}

int queue_plans(struct queue_session *s, const struct queue_options *o,
		struct queue_words *w)
{
	(void)w;
	return o->word_count ? show(s, o) : list(s, o);
}
