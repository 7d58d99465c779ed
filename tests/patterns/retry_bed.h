/* SPDX-License-Identifier: MIT */
/*
 * retry_bed.h - sets of retries on the bed of the timer's tests, and tasks that
 * record what happens to them, for the tests of retry.h.
 *
 * Tries and ends may run on the worker, where cmocka's asserts cannot end the
 * test. So they use must() instead. The test's own thread reads what they have
 * written when nothing runs, after bed_pass().
 */
#ifndef TKW_TESTS_RETRY_BED_H
#define TKW_TESTS_RETRY_BED_H

#include "timer_bed.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gate.h"
#include "tickwheel/retry.h"

#define must(condition)                                                        \
	((condition) ? (void)0 : must_fail(__FILE__, __LINE__, #condition))
static inline _Noreturn void must_fail(const char *file, int line,
				       const char *condition)
{
	fprintf(stderr, "%s:%d: failed: %s\n", file, line, condition);
	abort();
}

/* The time at which a set is opened. It is at a tick. */
#define ZERO_NS (2000 * TKW_SEC)
#define MS(n) ((n)*TKW_MSEC)

enum {
	TRIES = 64
};

/* A task, and what happened to it. */
struct attempt {
	struct timer_bed *b;
	struct tkw_retries *rs;
	struct tkw_retry_id id;
	int succeed_at;       /* the number of the try that succeeds, or 0 */
	bool later;           /* tries that do not succeed answer later */
	int failure;          /* result of the other tries; 0 means -EIO */
	int64_t at_ns[TRIES]; /* when the tries began, from ZERO_NS */
	int64_t tries;
	bool trying;
	unsigned ends;
	struct tkw_retry_end end;
	int64_t end_ns; /* when it ended, from ZERO_NS */
	pthread_t by;   /* the thread of on_end */
	/* Called in addition, if it is not NULL. */
	void (*in_try)(struct attempt *a);
	void (*in_end)(struct attempt *a);
	int said; /* what a call inside has returned */
	struct gate *gate;
};

static inline int try_it(const struct tkw_try *attempt, void *ctx)
{
	struct attempt *a = ctx;
	int64_t number = attempt->number;

	must(attempt->retries == a->rs && attempt->id.bits == a->id.bits);
	must(number == ++a->tries && !a->trying && a->ends == 0);
	a->trying = true;
	if (number <= TRIES)
		a->at_ns[number - 1] = tkw_timer_now_ns(a->b->t) - ZERO_NS;
	if (a->in_try)
		a->in_try(a);
	a->trying = false;
	if (number == a->succeed_at)
		return 0;
	if (a->later)
		return TKW_TRY_LATER;
	return a->failure != 0 ? a->failure : -EIO;
}

static inline void note_end(const struct tkw_retry_end *end, void *ctx)
{
	struct attempt *a = ctx;

	must(a->ends == 0 && !a->trying && end->id.bits == a->id.bits);
	a->end = *end;
	a->end_ns = tkw_timer_now_ns(a->b->t) - ZERO_NS;
	a->by = pthread_self();
	a->ends++;
	if (a->in_end)
		a->in_end(a);
}

static inline int add(struct attempt *a, int64_t first_ns)
{
	const struct tkw_retry task = { .fn = try_it,
					.on_end = note_end,
					.ctx = a };

	return tkw_retries_add(a->rs, &task, first_ns, &a->id);
}

/* Answers one of the task's tries. */
static inline int answer(const struct attempt *a, int64_t number, int result)
{
	return tkw_retries_done(a->rs, a->id, number, result);
}

/* Opens a set on the bed's timer. Moves the clock to ZERO_NS, if it was
 * before. */
static inline struct tkw_retries *open_set(struct timer_bed *b,
					   const struct tkw_retries_config *how)
{
	struct tkw_retries_config cfg = *how;
	struct tkw_retries *rs = NULL;

	if (tkw_timer_now_ns(b->t) < ZERO_NS)
		bed_set_clock(b, ZERO_NS);
	cfg.size = sizeof(cfg);
	cfg.timer = b->t;
	assert_int_equal(tkw_retries_create(&rs, &cfg), 0);
	must(rs != NULL);
	return rs;
}

static inline void close_set(struct timer_bed *b, struct tkw_retries *rs)
{
	assert_int_equal(tkw_retries_destroy(rs), 0);
	assert_int_equal(tkw_timer_count(b->t), 0);
}

/* Makes another timer, whose clock begins at ZERO_NS. */
static inline void begin_anew(struct timer_bed *b,
			      const struct tkw_timer_config *cfg)
{
	bed_set_clock(b, ZERO_NS);
	bed_reopen(b, cfg);
}

/* Lets time pass up to ms milliseconds from ZERO_NS. */
static inline void pass_to(struct timer_bed *b, int64_t ms)
{
	bed_pass_to(b, ZERO_NS + MS(ms));
}

/* Asserts at which milliseconds the task was tried in all. */
#define assert_tries(a, ...)                                                   \
	check_tries(a, (const int64_t[]){ __VA_ARGS__ },                       \
		    sizeof((const int64_t[]){ __VA_ARGS__ }) / 8)
static inline void check_tries(const struct attempt *a, const int64_t *ms,
			       size_t count)
{
	assert_int_equal(a->tries, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(a->at_ns[i], MS(ms[i]));
}

/* Asserts that the task ended once with this status, after all of its tries. */
static inline void assert_ended(const struct attempt *a, int status)
{
	assert_int_equal(a->ends, 1);
	assert_int_equal(a->end.status, status);
	assert_int_equal(a->end.tries, a->tries);
}

/* For in_try. */
static inline void wait_at_gate(struct attempt *a)
{
	gate_pass(a->gate);
}

/* A thread that lets time pass beside the test. A timer with its own worker
 * needs none. */
struct passer {
	struct timer_bed *b;
	pthread_t thread;
};

static inline void *pass_beside(void *arg)
{
	struct passer *p = arg;

	bed_pass(p->b, 0);
	return NULL;
}

/* Lets what is due run, up to a task that waits at its gate. */
static inline void pass_to_gate(struct passer *p, struct attempt *a)
{
	*p = (struct passer){ .b = a->b };
	bed_wake(a->b);
	if (bed_by_hand(a->b))
		must(pthread_create(&p->thread, NULL, pass_beside, p) == 0);
	gate_await(a->gate, 1);
}

/* Lets the task go on, and everything that is due. */
static inline void pass_the_gate(struct passer *p, struct attempt *a)
{
	gate_open(a->gate);
	if (bed_by_hand(p->b))
		must(pthread_join(p->thread, NULL) == 0);
	else
		bed_pass(p->b, 0);
}

#endif /* TKW_TESTS_RETRY_BED_H */
