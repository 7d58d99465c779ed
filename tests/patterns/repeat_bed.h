/* SPDX-License-Identifier: MIT */
/*
 * repeat_bed.h - a repeat on the bed of the timer's tests, with a book of its
 * rounds, for the tests of repeat.h.
 *
 * What the callbacks write is read by the test's own thread at quiet moments,
 * after bed_pass(). They may run on the worker, from which no test can be left:
 * there must() takes the place of cmocka's asserts. The book is static, for
 * a test that fails leaves its repeat behind, on a timer that lives on for a
 * moment.
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

/* Where the clock is when a test begins: at a tick. */
#define ZERO_NS (2000 * TKW_SEC)
#define MS(n) ((n)*TKW_MSEC)

enum {
	ROUNDS_MOST = 4096
};

struct book {
	struct timer_bed *b;
	struct tkw_repeat *r;
	unsigned rounds;            /* begun */
	int64_t at_ns[ROUNDS_MOST]; /* their times, from ZERO_NS on */
	unsigned checked;           /* by assert_rounds() */
	unsigned asked;             /* calls of adjust */
	unsigned broken;            /* calls of on_broken */
	int err;                    /* the last one's */
	unsigned ends;              /* calls of on_end */
	unsigned early;             /* those of them while a round ran */
	bool inside;                /* of a round */
	void (*in_round)(struct book *k, struct tkw_repeat *r); /* or NULL */
	void (*in_broken)(struct book *k);
	void (*in_end)(struct book *k);
	int (*in_visitor)(struct tkw_repeat *r); /* of a stop */
	int said[8];     /* what calls inside callbacks have returned */
	int64_t long_ns; /* how long a round takes: it moves the clock */
	pthread_t by;    /* who made the last round */
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

/* A repeat every 50 ms, on a timer that the bed has by now. */
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

/* The same, started. */
static inline void start_repeat(struct book *k, struct timer_bed *b)
{
	open_repeat(k, b);
	assert_int_equal(tkw_repeat_start(k->r), 0);
}

/* Shut down by now or not: its end is told once. */
static inline void close_repeat(struct book *k)
{
	assert_int_equal(tkw_repeat_destroy(k->r), 0);
	k->r = NULL;
	assert_int_equal(k->ends, 1);
	assert_int_equal(k->early, 0);
	assert_int_equal(tkw_timer_count(k->b->t), 0);
}

/* Let time pass up to so many milliseconds from ZERO_NS. */
static inline void pass_to(struct timer_bed *b, int64_t ms)
{
	bed_pass_to(b, ZERO_NS + MS(ms));
}

/* Assert at which milliseconds there were rounds since the last call. */
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

/* There is one chain, or none. */
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

static struct gate gate; /* of this header, and of the test */

/* The first one waits. */
static inline void wait_inside(struct book *k, struct tkw_repeat *r)
{
	(void)r;
	if (k->rounds == 1)
		gate_pass(&gate);
}

/* A pass beside the test; a worker of the timer's own needs none. */
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

/* Let time pass up to a round that comes to the gate in this way. */
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
}

/* Let time pass up to a round that waits at the gate. */
static inline void pass_to_gate(struct passer *p, struct book *k, int64_t ms)
{
	pass_to_gate_in(p, k, ms, wait_inside);
}

/* Let it end, and all that is due. */
static inline void pass_the_gate(struct passer *p)
{
	gate_open(&gate);
	if (bed_by_hand(p->b))
		must(pthread_join(p->thread, NULL) == 0);
	else
		bed_pass(p->b, 0);
}

/* --- a destroy that waits ----------------------------------------------- */

/* One on a thread of its own, for it waits. */
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

/* Begin to destroy it, and return when that waits. */
static inline void destroy_and_wait(struct destroyer *d, struct book *k)
{
	pid_t tid;

	*d = (struct destroyer){ .k = k, .said = -1 };
	must(pthread_create(&d->thread, NULL, destroy_beside, d) == 0);
	while ((tid = __atomic_load_n(&d->tid, __ATOMIC_SEQ_CST)) == 0 ||
	       !bed_is_asleep(tid))
		sched_yield();
}

/* What it waited for is over. */
static inline void end_destroy(struct destroyer *d)
{
	must(pthread_join(d->thread, NULL) == 0);
	assert_int_equal(d->said, 0);
	assert_int_equal(d->k->early, 0);
	assert_int_equal(tkw_timer_count(d->k->b->t), 0);
}

#endif /* TKW_TESTS_REPEAT_BED_H */
