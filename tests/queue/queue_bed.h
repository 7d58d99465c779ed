/* SPDX-License-Identifier: MIT */
/*
 * queue_bed.h - the test bed of the queue's unit tests: one queue, a clock in
 * ms, a log, memory that is counted and can run out. Each helper calls the
 * checker.
 */
#ifndef TKW_TESTS_QUEUE_BED_H
#define TKW_TESTS_QUEUE_BED_H

/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "queue/heart.h"
#include "queue/item.h"
#include "queue/record.h"
#include "queue_calendar.h"

#define BED_START UINT64_C(1700000000000)

struct queue_bed {
	struct tkw__queue *q;
	struct tkw__queue_config cfg;
	struct tkw__queue_log log;
	struct queue_calendar calendar;
	uint64_t now; /* ms */
	uint64_t bytes;
	uint64_t allocs;
	uint64_t fail_at; /* this allocation fails; 0: none */
	bool behind;      /* the last call was */
};

/* Setup and teardown of each test. Teardown requires that nothing leaks. */
int queue_bed_begin(void **state);
int queue_bed_end(void **state);

#define BED_TEST(test)                                                         \
	cmocka_unit_test_setup_teardown(test, queue_bed_begin, queue_bed_end)

/* Begins anew with these numbers instead of the defaults. */
void bed_restart(struct queue_bed *b, uint32_t small, uint32_t take_steps);

/* A call at the bed's time. */
struct tkw__queue_call bed_call(struct queue_bed *b);
/* Puts an item that is due at a time. It must succeed; returns the id. */
uint64_t bed_put(struct queue_bed *b, uint64_t due);
/* The same with options. Returns the id, or an error. */
int64_t bed_put_with(struct queue_bed *b, const struct tkw__queue_put *p);
/* Takes one item. Its id is 0 if there is none. */
struct tkw__queue_taken bed_take(struct queue_bed *b, uint64_t lease);
/* Takes what is there: the ids, in order, must be these, and then 0. */
void bed_expect(struct queue_bed *b, ...);
int bed_ack(struct queue_bed *b, uint64_t id, uint64_t token);
int bed_nack(struct queue_bed *b, uint64_t id, uint64_t token,
	     const struct tkw__queue_nack *how);
int bed_cancel(struct queue_bed *b, uint64_t id);
struct tkw__queue_facts bed_get(struct queue_bed *b, uint64_t id);
/* Advances until all is quiet. */
void bed_quiet(struct queue_bed *b);
/* How many items are in a state. */
uint64_t bed_count(struct queue_bed *b, enum tkw__queue_state state);
void bed_check(struct queue_bed *b);

/* A text that ends with a zero byte. */
struct tkw__queue_text bed_text(const char *s);
/* Makes a plan with a text of queue_calendar.h, a payload and a grace of 100
 * ms.
 */
struct tkw__queue_plan bed_plan(const char *name, const char *text);
/* Makes the plan, or replaces it. Returns when its fresh item is planned, or an
 * error. */
int64_t bed_make_plan(struct queue_bed *b, const struct tkw__queue_plan *p);
/* The facts of a plan, which must be there. */
struct tkw__queue_plan_facts bed_get_plan(struct queue_bed *b,
					  const char *name);

void *bed_alloc(size_t bytes, void *ctx);
void bed_free(void *mem, size_t bytes, void *ctx);

#endif /* TKW_TESTS_QUEUE_BED_H */
