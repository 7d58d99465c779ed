/* SPDX-License-Identifier: MIT */
/*
 * plan_looks.h - copies of plans for callers, and the looks at plans.
 *
 * The looks are functions for requests of the kind TKW__REQUEST_LOOK. `arg` of
 * the request points to the struct that stands before each of them.
 */
#ifndef TKW_STORE_PLAN_LOOKS_H
#define TKW_STORE_PLAN_LOOKS_H

#include <stddef.h>
#include <stdint.h>

#include "queue/heart.h"
#include "store/desk.h"

/* Copies plans with all their texts into one piece of memory, for
 * tkw_queue_plans_free(). Returns NULL if there is no memory. */
struct tkw_queue_plans *
tkw__plans_copy(const struct tkw__queue_plan_facts *facts, size_t count);

/* One plan. The result is 0, -ENOENT or -ENOMEM. */
struct tkw__look_plan {
	struct tkw__queue_text name;
	struct tkw_queue_plans *plans; /* answer */
};
int64_t tkw__look_at_plan(struct tkw__desk *d, struct tkw__request *r);

/* A piece of the list of plans. The result is how many, or -ENOMEM. */
struct tkw__look_plans {
	struct tkw__queue_text after; /* at = NULL: from the first one */
	uint32_t max;
	/* When the plans have so many bytes, the piece ends; 0: no bound. */
	uint64_t max_bytes;
	struct tkw_queue_plans *plans; /* answer; NULL if there are none */
};
int64_t tkw__look_at_plans(struct tkw__desk *d, struct tkw__request *r);

#endif /* TKW_STORE_PLAN_LOOKS_H */
