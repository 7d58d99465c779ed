/* SPDX-License-Identifier: MIT */
/* group_bed.h - what the tests of groups share. */
#ifndef TKW_TESTS_GROUP_BED_H
#define TKW_TESTS_GROUP_BED_H

#include <stdio.h>
#include <stdlib.h>

#include "tickwheel/group.h"
#include "timer_bed.h"

#define HOUR_NS (3600 * TKW_SEC)

/* An assert of cmocka does not work in a child, or on a thread that is not the
 * test's. */
#define must(condition)                                                        \
	((condition) ? (void)0 : must_fail(__FILE__, __LINE__, #condition))
static inline _Noreturn void must_fail(const char *file, int line,
				       const char *condition)
{
	fprintf(stderr, "%s:%d: failed: %s\n", file, line, condition);
	abort();
}

static inline struct tkw_group *open_limited_group(struct timer_bed *b,
						   int64_t max_pending)
{
	const struct tkw_group_config cfg = { .size = sizeof(cfg),
					      .timer = b->t,
					      .max_pending = max_pending };
	struct tkw_group *g = NULL;

	assert_int_equal(tkw_group_create(&g, &cfg), 0);
	assert_non_null(g);
	return g;
}

static inline struct tkw_group *open_group(struct timer_bed *b)
{
	return open_limited_group(b, 0);
}

static inline struct tkw_timeout_id
join(struct timer_bed *b, struct tkw_group *g, uint64_t tag, int64_t delay_ns)
{
	const struct tkw_task task = bed_task(b, tag);
	struct tkw_timeout_id id = BED_NO_ID;

	assert_int_equal(tkw_group_schedule(g, &task, delay_ns, &id), 0);
	assert_true(id.bits != 0);
	return id;
}

static inline void close_group(struct tkw_group *g)
{
	assert_int_equal(tkw_group_destroy(g), 0);
}

/* A task that does nothing. */
static inline void noop(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	(void)ctx;
}

#endif /* TKW_TESTS_GROUP_BED_H */
