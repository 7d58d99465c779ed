/* SPDX-License-Identifier: MIT */
/* clerk_plans.c - the calls about plans. See clerk.c. */
#include <errno.h>

#include "store/api.h"
#include "store/clerk.h"

static void ask_when_quiet(struct tkw__clerk *c, tkw__look_fn *fn, void *arg)
{
	c->request.kind = TKW__REQUEST_LOOK;
	c->request.look = (struct tkw__request_look){ .fn = fn,
						      .arg = arg,
						      .quiet = true };
}

static int read_plan(struct tkw__clerk *c)
{
	struct tkw_queue_plan_spec from = { .name = NULL };
	struct tkw__queue_plan *to = &c->plan;
	struct tkw__wire_words len;
	int err;

	tkw__wire_get_plan(&c->in, &from, &len);
	err = tkw__plan_read_rules(to, &from);
	to->name = (struct tkw__queue_text){ from.name, len.name };
	to->plan = (struct tkw__queue_text){ from.text, len.text };
	to->zone = (struct tkw__queue_text){ from.zone, len.zone };
	to->payload =
		(struct tkw__queue_text){ from.payload, from.payload_len };
	c->request.kind = TKW__REQUEST_PLAN;
	c->request.plan = (struct tkw__request_plan){ .plan = to };
	return err;
}

static struct tkw__queue_text read_plan_name(struct tkw__clerk *c)
{
	struct tkw__queue_text name;

	name.at = tkw__wire_get_words(&c->in, &name.len);
	return name;
}

static int read_plan_change(struct tkw__clerk *c, enum tkw__request_kind kind)
{
	c->request.kind = kind;
	c->request.plan_name = read_plan_name(c);
	return 0;
}

static int read_get_plan(struct tkw__clerk *c)
{
	c->at_plan = (struct tkw__look_plan){ .name = read_plan_name(c) };
	ask_when_quiet(c, tkw__look_at_plan, &c->at_plan);
	return 0;
}

static int read_list_plans(struct tkw__clerk *c)
{
	uint32_t max = tkw__wire_get_u32(&c->in);
	struct tkw__queue_text after = read_plan_name(c);

	if (max == 0 || max > TKW_QUEUE_MAX_TAKE)
		return c->in.bad ? -EPROTO : -EINVAL;
	if (max > TKW__WIRE_MAX_ITEMS)
		max = TKW__WIRE_MAX_ITEMS;
	if (after.len == 0)
		after.at = NULL;
	c->at_plans = (struct tkw__look_plans){
		.after = after, .max = max, .max_bytes = TKW__WIRE_MAX_BYTES
	};
	ask_when_quiet(c, tkw__look_at_plans, &c->at_plans);
	return 0;
}

int tkw__clerk_read_plan_call(struct tkw__clerk *c)
{
	switch (c->call) {
	case TKW__WIRE_PLAN:
		return read_plan(c);
	case TKW__WIRE_UNPLAN:
		return read_plan_change(c, TKW__REQUEST_UNPLAN);
	case TKW__WIRE_PAUSE_PLAN:
		return read_plan_change(c, TKW__REQUEST_PAUSE_PLAN);
	case TKW__WIRE_RESUME_PLAN:
		return read_plan_change(c, TKW__REQUEST_RESUME_PLAN);
	case TKW__WIRE_GET_PLAN:
		return read_get_plan(c);
	case TKW__WIRE_LIST_PLANS:
		return read_list_plans(c);
	default:
		return -EPROTO;
	}
}

void tkw__clerk_write_plans(struct tkw__clerk *c, struct tkw_queue_plans *plans)
{
	for (size_t i = 0; plans && i < plans->count; i++)
		tkw__wire_put_facts(&c->out, &plans->plan[i]);
	tkw_queue_plans_free(plans);
}
