/* SPDX-License-Identifier: MIT */
/* plan_bed.h - what the tests of plans share, on the bed of file_bed.h. */
#ifndef TKW_TESTS_PLAN_BED_H
#define TKW_TESTS_PLAN_BED_H

#include "file_bed.h"

/* The times of "every 10s" after the start of the bed. */
#define T(n) (FILE_BED_START_MS + (n)*INT64_C(10000))

struct tkw_queue_plan_spec plan_bed_every_10s(const char *name);

/* Makes a plan. It must succeed. Returns its next time. */
int64_t plan_bed_plan(struct file_bed *b, const struct tkw_queue_plan_spec *p);
/* Returns a copy of the facts of a plan. Its texts are not valid. */
struct tkw_queue_plan_facts plan_bed_facts(struct file_bed *b,
					   const char *name);
/* Takes the item of a planned time. Returns its claim. */
struct tkw_claim plan_bed_take(struct file_bed *b, int64_t planned_ms);
void plan_bed_ack(struct file_bed *b, struct tkw_claim claim);
void plan_bed_take_nothing(struct file_bed *b);

#endif /* TKW_TESTS_PLAN_BED_H */
