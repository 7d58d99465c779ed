/* SPDX-License-Identifier: MIT */
/* plans_look.c - calls about plans that change nothing. */
#include <errno.h>

#include "queue/state.h"

static void plan_facts(const struct tkw__plan *p,
		       struct tkw__queue_plan_facts *f)
{
	*f = (struct tkw__queue_plan_facts){
		.paused = p->state->paused,
		.error = p->state->error,
		.decided_ms = p->state->decided_ms,
		.running = p->running,
		.runs = p->state->runs,
		.missed = p->state->missed,
		.overlaps = p->state->overlaps,
	};
	tkw__plan_get(p, &f->plan);
	if (p->fresh) {
		f->fresh_id = p->fresh->id;
		f->next_ms = tkw__item_planned(p->fresh).planned_ms;
	}
}

int tkw__queue_get_plan(struct tkw__queue *q, struct tkw__queue_text name,
			struct tkw__queue_plan_facts *out)
{
	const struct tkw__plan *p = tkw__plans_find(q, name);

	if (!p)
		return -ENOENT;
	plan_facts(p, out);
	return 0;
}

uint32_t tkw__queue_list_plans(struct tkw__queue *q,
			       struct tkw__queue_text after, uint32_t max,
			       tkw__queue_visit_plan_fn *visit, void *ctx)
{
	uint32_t i = after.at ? tkw__plans_seek_behind(q, after) : 0;
	uint32_t n = 0;

	for (; n < max && i < q->plans.count; n++) {
		struct tkw__queue_plan_facts f;

		q->steps++;
		plan_facts(q->plans.at[i++], &f);
		visit(&f, ctx);
	}
	return n;
}

uint32_t tkw__queue_count_plans(const struct tkw__queue *q)
{
	return q->plans.count;
}

uint64_t tkw__plan_digest(const struct tkw__plan *p)
{
	struct tkw__record r;
	uint64_t h;

	tkw__plan_record(p, &r);
	h = tkw__hash_word(2, r.id);
	for (int i = 0; i < TKW__RECORD_WORDS; i++)
		h = tkw__hash_word(h, r.word[i]);
	h = tkw__hash_text(h, r.key.at, r.key.len);
	h = tkw__hash_text(h, r.reason.at, r.reason.len);
	h = tkw__hash_text(h, r.zone.at, r.zone.len);
	return tkw__hash_text(h, r.payload.at, r.payload.len);
}

uint64_t tkw__plans_digest(struct tkw__queue *q)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < q->plans.count; i++)
		sum += tkw__plan_digest(q->plans.at[i]);
	return sum;
}
