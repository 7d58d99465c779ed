/* SPDX-License-Identifier: MIT */
/* plan_bed.c - see plan_bed.h. */
#include "plan_bed.h"

struct tkw_queue_plan_spec plan_bed_every_10s(const char *name)
{
	return (struct tkw_queue_plan_spec){
		.name = name,
		.text = "every 10s",
		.payload = "work",
		.payload_len = 4,
	};
}

int64_t plan_bed_plan(struct file_bed *b, const struct tkw_queue_plan_spec *p)
{
	int64_t next_ms = -1;

	assert_int_equal(tkw_queue_plan(b->q, p, &next_ms, NULL), 0);
	return next_ms;
}

struct tkw_queue_plan_facts plan_bed_facts(struct file_bed *b, const char *name)
{
	struct tkw_queue_plans *plans = NULL;
	struct tkw_queue_plan_facts f;

	assert_int_equal(tkw_queue_get_plan(b->q, name, &plans), 0);
	assert_int_equal(plans->count, 1);
	f = plans->plan[0];
	assert_string_equal(f.plan.name, name);
	tkw_queue_plans_free(plans);
	return f;
}

struct tkw_claim plan_bed_take(struct file_bed *b, int64_t planned_ms)
{
	struct tkw_items *items = file_bed_take(b, 0);
	struct tkw_claim claim = items->item[0].claim;

	assert_int_equal(items->item[0].planned_ms, planned_ms);
	tkw_items_free(items);
	return claim;
}

void plan_bed_ack(struct file_bed *b, struct tkw_claim claim)
{
	assert_int_equal(tkw_queue_ack(b->q, &claim, 1, NULL), 1);
}

void plan_bed_take_nothing(struct file_bed *b)
{
	struct tkw_items *items;

	assert_int_equal(tkw_queue_take(b->q, NULL, &items), 0);
}
