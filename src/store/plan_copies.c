/* SPDX-License-Identifier: MIT */
/*
 * plan_copies.c - copies of plans. See plan_looks.h.
 *
 * A copy is one piece of memory: the structs, and then all texts, each with a 0
 * at its end.
 */
#include <stdlib.h>
#include <string.h>

#include "store/plan_looks.h"

/* What is allocated: the texts of the plans follow. */
struct block {
	struct tkw_queue_plans plans; /* first */
	struct tkw_queue_plan_facts plan[];
};

void tkw_queue_plans_free(struct tkw_queue_plans *plans)
{
	free(plans);
}

static size_t bytes_of(const struct tkw__queue_plan_facts *f)
{
	const struct tkw__queue_plan *p = &f->plan;

	return p->name.len + p->plan.len + p->zone.len + p->payload.len + 4;
}

static const char *copy_text(char **at, struct tkw__queue_text t)
{
	char *copied = *at;

	if (t.len)
		memcpy(copied, t.at, t.len);
	copied[t.len] = 0;
	*at += t.len + 1;
	return copied;
}

static void copy_settings(struct tkw_queue_plan_spec *to,
			  const struct tkw__queue_plan *p, char **at)
{
	static const enum tkw_misfire misfires[] = {
		[TKW__QUEUE_MISSED_ONCE] = TKW_MISFIRE_ONCE,
		[TKW__QUEUE_MISSED_ALL] = TKW_MISFIRE_ALL,
		[TKW__QUEUE_MISSED_SKIP] = TKW_MISFIRE_SKIP,
	};

	*to = (struct tkw_queue_plan_spec){
		.payload_len = p->payload.len,
		.grace_ms = (int64_t)p->grace_ms,
		.misfire = misfires[p->misfire],
		.max_missed = p->max_missed,
		.overlap =
			p->allow_overlap ? TKW_OVERLAP_ALLOW : TKW_OVERLAP_SKIP,
		.next_on_ack = p->next_on_end,
		.max_attempts = p->max_attempts,
		.backoff_ms = p->backoff_ms,
		.max_backoff_ms = p->max_backoff_ms,
	};
	to->name = copy_text(at, p->name);
	to->text = copy_text(at, p->plan);
	to->zone = copy_text(at, p->zone);
	to->payload = copy_text(at, p->payload);
}

static void fill(struct tkw_queue_plan_facts *to,
		 const struct tkw__queue_plan_facts *f, char **at)
{
	*to = (struct tkw_queue_plan_facts){
		.paused = f->paused,
		.error = f->error,
		.next_id = { f->fresh_id },
		.next_ms = (int64_t)f->next_ms,
		.decided_ms = (int64_t)f->decided_ms,
		.running = f->running,
		.runs = f->runs,
		.missed = f->missed,
		.overlaps = f->overlaps,
	};
	copy_settings(&to->plan, &f->plan, at);
}

struct tkw_queue_plans *
tkw__plans_copy(const struct tkw__queue_plan_facts *facts, size_t count)
{
	struct block *b;
	size_t bytes = 0;
	char *at;

	for (size_t i = 0; i < count; i++)
		bytes += bytes_of(&facts[i]);
	b = malloc(sizeof(*b) + count * sizeof(b->plan[0]) + bytes);
	if (!b)
		return NULL;
	b->plans = (struct tkw_queue_plans){ count, b->plan };
	at = (char *)(b->plan + count);
	for (size_t i = 0; i < count; i++)
		fill(&b->plan[i], &facts[i], &at);
	return (struct tkw_queue_plans *)b;
}
