/* SPDX-License-Identifier: MIT */
/* plan_looks.c - the looks at plans. See plan_looks.h. */
#include "store/plan_looks.h"

#include <errno.h>
#include <stdlib.h>

int64_t tkw__look_at_plan(struct tkw__desk *d, struct tkw__request *r)
{
	struct tkw__look_plan *a = r->look.arg;
	struct tkw__queue_plan_facts facts;
	int err = tkw__queue_get_plan(r->queue->heart, a->name, &facts);

	(void)d;
	if (err)
		return err;
	a->plans = tkw__plans_copy(&facts, 1);
	return a->plans ? 0 : -ENOMEM;
}

/* Plans of a list, up to the bound of their bytes. */
struct gathered {
	struct tkw__queue_plan_facts *facts;
	size_t count;
	uint64_t bytes;
	uint64_t max_bytes;
};

static void gather(const struct tkw__queue_plan_facts *facts, void *ctx)
{
	const struct tkw__queue_plan *p = &facts->plan;
	struct gathered *g = ctx;

	if (g->max_bytes && g->bytes >= g->max_bytes)
		return;
	g->facts[g->count++] = *facts;
	g->bytes += p->name.len + p->plan.len + p->zone.len + p->payload.len;
}

int64_t tkw__look_at_plans(struct tkw__desk *d, struct tkw__request *r)
{
	struct tkw__look_plans *a = r->look.arg;
	struct tkw__queue *heart = r->queue->heart;
	uint32_t most = tkw__queue_count_plans(heart);
	struct gathered g = { .max_bytes = a->max_bytes };

	(void)d;
	if (most > a->max)
		most = a->max;
	if (most == 0)
		return 0;
	g.facts = malloc(most * sizeof(*g.facts));
	if (!g.facts)
		return -ENOMEM;
	(void)tkw__queue_list_plans(heart, a->after, most, gather, &g);
	if (g.count)
		a->plans = tkw__plans_copy(g.facts, g.count);
	free(g.facts);
	return g.count && !a->plans ? -ENOMEM : (int64_t)g.count;
}
