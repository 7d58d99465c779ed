/* SPDX-License-Identifier: MIT */
/* api_plans.c - the calls of queue.h about plans. */
#include <errno.h>
#include <string.h>

#include "store/api.h"
#include "store/keeper.h"
#include "store/plan_looks.h"

enum {
	DEFAULT_GRACE_MS = 60000,
	/* When the plans of a list have so many bytes, the piece ends: they
	 * are copied while nothing else is decided. */
	MAX_LIST_BYTES = 4 << 20
};

/* --- arguments ------------------------------------------------------------ */

static struct tkw__queue_text text_of(const char *text)
{
	return (struct tkw__queue_text){ text, text ? strlen(text) : 0 };
}

static bool name_read(struct tkw__queue_text *to, const char *name)
{
	*to = text_of(name);
	return to->len > 0 && to->len <= TKW_QUEUE_MAX_PLAN_NAME;
}

static bool misfire_read(struct tkw__queue_plan *to,
			 const struct tkw_queue_plan_spec *from)
{
	static const enum tkw__queue_misfire misfires[] = {
		[TKW_MISFIRE_ONCE] = TKW__QUEUE_MISSED_ONCE,
		[TKW_MISFIRE_ALL] = TKW__QUEUE_MISSED_ALL,
		[TKW_MISFIRE_SKIP] = TKW__QUEUE_MISSED_SKIP,
	};

	if ((unsigned)from->misfire > TKW_MISFIRE_SKIP)
		return false;
	to->misfire = misfires[from->misfire];
	to->max_missed = from->max_missed;
	if (from->misfire != TKW_MISFIRE_ALL)
		return from->max_missed == 0;
	if (from->max_missed == 0)
		to->max_missed = TKW_QUEUE_MAX_MISSED;
	return to->max_missed <= TKW_QUEUE_MAX_MISSED;
}

int tkw__plan_read_rules(struct tkw__queue_plan *to,
			 const struct tkw_queue_plan_spec *from)
{
	*to = (struct tkw__queue_plan){
		.allow_overlap = from->overlap == TKW_OVERLAP_ALLOW,
		.next_on_end = from->next_on_ack != 0,
		.max_attempts = from->max_attempts,
		.backoff_ms = from->backoff_ms,
		.max_backoff_ms = from->max_backoff_ms,
	};
	if (from->grace_ms == 0)
		to->grace_ms = DEFAULT_GRACE_MS;
	else if (from->grace_ms > 0)
		to->grace_ms = (uint64_t)from->grace_ms;
	if (to->grace_ms > TKW__QUEUE_MAX_MS)
		to->grace_ms = TKW__QUEUE_MAX_MS;
	return misfire_read(to, from) &&
			       (unsigned)from->overlap <= TKW_OVERLAP_ALLOW
		       ? 0
		       : -EINVAL;
}

static int plan_read(struct tkw__queue_plan *to,
		     const struct tkw_queue_plan_spec *from)
{
	int err = tkw__plan_read_rules(to, from);

	if (!name_read(&to->name, from->name) || !from->text ||
	    (!from->payload && from->payload_len))
		return -EINVAL;
	to->plan = text_of(from->text);
	to->zone = text_of(from->zone);
	to->payload =
		(struct tkw__queue_text){ from->payload, from->payload_len };
	return err;
}

/* The heart does not tell what is wrong with a text. */
static int check_text(const char *text, struct tkw_plan_error *error)
{
	struct tkw_plan *plan;
	int err = tkw_plan_create(&plan, text, NULL, error);

	return err ? err : tkw_plan_destroy(plan);
}

/* --- make and change ------------------------------------------------------ */

int tkw_queue_plan(struct tkw_queue *q, const struct tkw_queue_plan_spec *plan,
		   int64_t *next_ms, struct tkw_plan_error *error)
{
	struct tkw__request r = { .kind = TKW__REQUEST_PLAN, .queue = q };
	struct tkw__queue_plan to;
	int err;

	if (error)
		*error = (struct tkw_plan_error){ 0, "" };
	if (!q || !plan || plan_read(&to, plan))
		return -EINVAL;
	err = check_text(plan->text, error);
	r.plan.plan = &to;
	if (!err)
		err = (int)tkw__api_change(q->owner, &r);
	if (!err && next_ms)
		*next_ms = (int64_t)r.plan.next_ms;
	return err;
}

static int change_plan(struct tkw_queue *q, const char *name,
		       enum tkw__request_kind kind)
{
	struct tkw__request r = { .kind = kind, .queue = q };

	if (!q || !name_read(&r.plan_name, name))
		return -EINVAL;
	return (int)tkw__api_change(q->owner, &r);
}

int tkw_queue_unplan(struct tkw_queue *q, const char *name)
{
	return change_plan(q, name, TKW__REQUEST_UNPLAN);
}

int tkw_queue_pause_plan(struct tkw_queue *q, const char *name)
{
	return change_plan(q, name, TKW__REQUEST_PAUSE_PLAN);
}

int tkw_queue_resume_plan(struct tkw_queue *q, const char *name)
{
	return change_plan(q, name, TKW__REQUEST_RESUME_PLAN);
}

/* --- look ----------------------------------------------------------------- */

int tkw_queue_get_plan(struct tkw_queue *q, const char *name,
		       struct tkw_queue_plans **out)
{
	struct tkw__look_plan a = { .plans = NULL };
	int64_t err;

	if (!q || !out || !name_read(&a.name, name))
		return -EINVAL;
	err = tkw__api_look_when_quiet(q, tkw__look_at_plan, &a);
	if (!err)
		*out = a.plans;
	return (int)err;
}

int tkw_queue_list_plans(struct tkw_queue *q, const char *after, uint32_t max,
			 struct tkw_queue_plans **out)
{
	struct tkw__look_plans a = { .after = text_of(after),
				     .max = max,
				     .max_bytes = MAX_LIST_BYTES };
	int64_t n;

	if (!q || !out || max == 0 || max > TKW_QUEUE_MAX_TAKE)
		return -EINVAL;
	n = tkw__api_look_when_quiet(q, tkw__look_at_plans, &a);
	if (n >= 0)
		*out = a.plans;
	return (int)n;
}
