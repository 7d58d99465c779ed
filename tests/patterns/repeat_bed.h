/* SPDX-License-Identifier: MIT */
/*
 * repeat_bed.h - a repeat on the bed of the timer's tests, and a record of its
 * rounds (the book), for the tests of repeat.h.
 *
 * The test's own thread reads what the callbacks have written when nothing
 * runs, after bed_pass(). Callbacks may run on the worker, where cmocka's
 * asserts cannot end the test. So they use must() instead. The book is static,
 * because a test that fails leaves its repeat behind, on a timer that lives on
 * for a moment.
 */
#ifndef TKW_TESTS_REPEAT_BED_H
#define TKW_TESTS_REPEAT_BED_H

#include "timer_bed.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gate.h"
#include "tickwheel/repeat.h"

#define must(condition)                                                        \
	((condition) ? (void)0 : must_fail(__FILE__, __LINE__, #condition))
static inline _Noreturn void must_fail(const char *file, int line,
				       const char *condition)
{
	fprintf(stderr, "%s:%d: failed: %s\n", file, line, condition);
	abort();
}

/* The time at which a test begins. It is at a tick. */
#define ZERO_NS (2000 * TKW_SEC)
#define MS(n) ((n)*TKW_MSEC)

enum {
	ROUNDS_MOST = 4096
};

struct book {
	struct timer_bed *b;
	struct tkw_repeat *r;
	unsigned rounds;            /* rounds that have begun */
	int64_t at_ns[ROUNDS_MOST]; /* when they began, counted from ZERO_NS */
	unsigned checked; /* rounds that assert_rounds() has checked */
	unsigned asked;   /* calls of adjust */
	unsigned broken;  /* calls of on_broken */
	int err;          /* the error of the last on_broken */
	unsigned ends;    /* calls of on_end */
	unsigned early;   /* calls of on_end while a round ran */
	bool inside;      /* a round is running */
	void (*in_round)(struct book *k, struct tkw_repeat *r); /* or NULL */
	void (*in_broken)(struct book *k);
	void (*in_end)(struct book *k);
	/* Called by the visitor of a stop. */
	int (*in_visitor)(struct tkw_repeat *r);
	int said[8]; /* what calls inside callbacks have returned */
	/* How long a round takes. The round itself moves the clock. */
	int64_t long_ns;
	pthread_t by; /* the thread of the last round */
};

static inline void note_round(struct tkw_repeat *r, void *ctx)
{
	struct book *k = ctx;

	must(r == k->r && !k->inside && k->ends == 0 &&
	     k->rounds < ROUNDS_MOST);
	k->inside = true;
	k->by = pthread_self();
	k->at_ns[k->rounds++] = tkw_timer_now_ns(k->b->t) - ZERO_NS;
	if (k->long_ns != 0)
		bed_set_clock(k->b, tkw_timer_now_ns(k->b->t) + k->long_ns);
	if (k->in_round)
		k->in_round(k, r);
	k->inside = false;
}

static inline void note_broken(struct tkw_repeat *r, int err, void *ctx)
{
	struct book *k = ctx;

	must(r == k->r && k->ends == 0);
	k->broken++;
	k->err = err;
	if (k->in_broken)
		k->in_broken(k);
}

static inline void note_end(struct tkw_repeat *r, void *ctx)
{
	struct book *k = ctx;

	must(r == k->r);
	k->early += k->inside;
	k->ends++;
	if (k->in_end)
		k->in_end(k);
}

/* The config of a repeat every 50 ms, on the bed's timer. */
static inline struct tkw_repeat_config config_of(struct book *k)
{
	return (struct tkw_repeat_config){
		.size = sizeof(struct tkw_repeat_config),
		.timer = k->b->t,
		.interval_ns = MS(50),
		.fn = note_round,
		.ctx = k,
		.on_broken = note_broken,
		.on_end = note_end,
		.name = "heartbeat",
	};
}

static inline void open_book(struct book *k, struct timer_bed *b)
{
	memset(k, 0, sizeof(*k));
	k->b = b;
	bed_set_clock(b, ZERO_NS);
}

static inline void make_repeat(struct book *k,
			       const struct tkw_repeat_config *cfg)
{
	assert_int_equal(tkw_repeat_create(&k->r, cfg), 0);
	assert_non_null(k->r);
}

static inline void open_repeat(struct book *k, struct timer_bed *b)
{
	struct tkw_repeat_config cfg;

	open_book(k, b);
	cfg = config_of(k);
	make_repeat(k, &cfg);
}

/* Opens a repeat and starts it. */
static inline void start_repeat(struct book *k, struct timer_bed *b)
{
	open_repeat(k, b);
	assert_int_equal(tkw_repeat_start(k->r), 0);
}

/* Destroys the repeat, and asserts that on_end was called once, even if it was
 * shut down before. */
static inline void close_repeat(struct book *k)
{
	assert_int_equal(tkw_repeat_destroy(k->r), 0);
	k->r = NULL;
	assert_int_equal(k->ends, 1);
	assert_int_equal(k->early, 0);
	assert_int_equal(tkw_timer_count(k->b->t), 0);
}

/* Lets time pass up to ms milliseconds from ZERO_NS. */
static inline void pass_to(struct timer_bed *b, int64_t ms)
{
	bed_pass_to(b, ZERO_NS + MS(ms));
}

/* Asserts at which milliseconds there were rounds since the last call. */
#define assert_rounds(k, ...)                                                  \
	check_rounds(k, (const int64_t[]){ __VA_ARGS__ },                      \
		     sizeof((const int64_t[]){ __VA_ARGS__ }) / 8)
static inline void check_rounds(struct book *k, const int64_t *ms, size_t count)
{
	size_t i;

	for (i = 0; i < count && k->checked < k->rounds; i++)
		assert_int_equal(k->at_ns[k->checked++], MS(ms[i]));
	assert_int_equal(i, count);
	assert_int_equal(k->checked, k->rounds);
}

static inline void assert_no_round(struct book *k)
{
	assert_int_equal(k->checked, k->rounds);
}

/* Asserts how many chains there are, one or none. */
static inline void assert_chains(struct book *k, uint64_t chains)
{
	assert_int_equal(tkw_timer_count(k->b->t), chains);
}

static inline void assert_described(struct book *k, const char *text)
{
	char buf[128];
	int n = tkw_repeat_print(k->r, buf, sizeof(buf));

	assert_string_equal(buf, text);
	assert_int_equal(n, strlen(text));
}

/* For on_end and on_broken. */
static inline void destroy_it(struct book *k)
{
	must(tkw_repeat_destroy(k->r) == 0);
	k->r = NULL;
}

/* --- a round that waits ------------------------------------------------- */

static struct gate gate; /* used by this header and by the test */

/* The first round waits at the gate. */
static inline void wait_inside(struct book *k, struct tkw_repeat *r)
{
	(void)r;
	if (k->rounds == 1)
		gate_pass(&gate);
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

/* Lets time pass up to a round that comes to the gate in the given way. */
static inline void pass_to_gate_in(struct passer *p, struct book *k, int64_t ms,
				   void (*in_round)(struct book *k,
						    struct tkw_repeat *r))
{
	*p = (struct passer){ .b = k->b };
	gate_init(&gate);
	k->in_round = in_round;
	bed_set_clock(k->b, ZERO_NS + MS(ms));
	bed_wake(k->b);
	if (bed_by_hand(k->b))
		must(pthread_create(&p->thread, NULL, pass_beside, p) == 0);
	gate_await(&gate, 1);
	bed_unwake(k->b); /* assert_chains() counts all that is pending */
}

/* Lets time pass up to a round that waits at the gate. */
static inline void pass_to_gate(struct passer *p, struct book *k, int64_t ms)
{
	pass_to_gate_in(p, k, ms, wait_inside);
}

/* Lets the round end, and everything that is due. */
static inline void pass_the_gate(struct passer *p)
{
	gate_open(&gate);
	if (bed_by_hand(p->b))
		must(pthread_join(p->thread, NULL) == 0);
	else
		bed_pass(p->b, 0);
}

/* --- a destroy that waits ----------------------------------------------- */

/* A thread that destroys the repeat, because destroy waits. */
struct destroyer {
	struct book *k;
	pthread_t thread;
	pid_t tid;
	int said;
};

static inline void *destroy_beside(void *arg)
{
	struct destroyer *d = arg;

	__atomic_store_n(&d->tid, gettid(), __ATOMIC_SEQ_CST);
	d->said = tkw_repeat_destroy(d->k->r);
	/* What ctx points to may be freed now. */
	must(!d->k->inside && d->k->ends == 1);
	return NULL;
}

/* Begins to destroy the repeat, and returns when the destroy waits. */
static inline void destroy_and_wait(struct destroyer *d, struct book *k)
{
	pid_t tid;

	*d = (struct destroyer){ .k = k, .said = -1 };
	must(pthread_create(&d->thread, NULL, destroy_beside, d) == 0);
	while ((tid = __atomic_load_n(&d->tid, __ATOMIC_SEQ_CST)) == 0 ||
	       !bed_is_asleep(tid))
		sched_yield();
}

/* Ends the destroy, when what it waited for is over. */
static inline void end_destroy(struct destroyer *d)
{
	must(pthread_join(d->thread, NULL) == 0);
	assert_int_equal(d->said, 0);
	assert_int_equal(d->k->early, 0);
	assert_int_equal(tkw_timer_count(d->k->b->t), 0);
}

#endif /* TKW_TESTS_REPEAT_BED_H */
