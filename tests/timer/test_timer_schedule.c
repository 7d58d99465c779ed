/* SPDX-License-Identifier: MIT */
/*
 * test_timer_schedule.c - SPEC 3: what schedule accepts and refuses, and what
 * an id can be used for.
 */
#include "timer_bed.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gate.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The value of an id before a call that must not write it. */
#define UNTOUCHED UINT64_C(0x5a5a5a5a5a5a5a5a)

/* The bed's clock, rounded down to a tick. */
#define BASE_NS (BED_START_NS - 300)

static struct tkw_timeout_id schedule_at(struct timer_bed *b, uint64_t tag,
					 int64_t deadline_ns)
{
	const struct tkw_task task = bed_task(b, tag);
	struct tkw_timeout_id id = { 0 };

	assert_int_equal(tkw_timer_schedule_at(b->t, &task, deadline_ns, &id),
			 0);
	assert_true(id.bits != 0);
	return id;
}

static int64_t deadline_of(struct timer_bed *b, struct tkw_timeout_id id)
{
	struct tkw_timeout_info info;

	assert_int_equal(tkw_timer_get(b->t, id, &info), 0);
	assert_true(info.id.bits == id.bits);
	assert_int_equal(info.state, TKW_TIMEOUT_PENDING);
	return info.deadline_ns;
}

static void nothing(const struct tkw_firing *firing, void *ctx)
{
	(void)ctx;
	(void)firing;
}

/* A task waits here until it may go on. */
static void pass_gate(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	gate_pass(ctx);
}

/* The same for another thread, which is not counted. */
static void gate_wait_open(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	while (!g->open)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

/* --- 3.1 from any thread ------------------------------------------------- */

/* A task, or an on-cancel callback, that schedules the next one. */
struct chain {
	struct timer_bed *b;
	int64_t delay_ns;
	unsigned left; /* how many a task still schedules */
	int ret;
	struct gate *end; /* the last one opens it; may be NULL */
};

static int chain_schedule(struct chain *c);

static void chain_next(struct chain *c)
{
	c->left--;
	c->ret = chain_schedule(c);
}

static void chain_fired(const struct tkw_firing *firing, void *ctx)
{
	struct chain *c = ctx;

	(void)firing;
	if (c->left > 0 && c->ret == 0)
		chain_next(c);
	else if (c->end)
		gate_open(c->end);
}

/* Schedules the first one. After that only the worker writes to the chain. */
static int chain_schedule(struct chain *c)
{
	const struct tkw_task task = { .fn = chain_fired, .ctx = c };

	return tkw_timer_schedule(c->b->t, &task, c->delay_ns, NULL);
}

static void chain_cancelled(void *ctx)
{
	chain_next(ctx);
}

/* SPEC 3.1, 4.6 */
static void test_timer_schedule_from_a_task(struct timer_bed *b)
{
	struct chain c = { .b = b, .delay_ns = TKW_MSEC, .left = 99 };
	unsigned i;

	bed_set_clock(b, BASE_NS + TKW_MSEC);
	assert_int_equal(chain_schedule(&c), 0);
	for (i = 0; i < 100; i++) {
		assert_int_equal(c.left, 99 - i);
		bed_assert_ledger(b, 1);
		bed_pass(b, TKW_MSEC);
	}
	assert_int_equal(c.ret, 0);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_schedule_from_a_task)

/* SPEC 3.1 */
static void test_timer_schedule_from_an_on_cancel(struct timer_bed *b)
{
	struct chain c = { .b = b, .delay_ns = TKW_MSEC, .left = 1 };
	const struct tkw_task task = { .fn = nothing,
				       .ctx = &c,
				       .on_cancel = chain_cancelled };
	struct tkw_timeout_id id;

	assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_SEC, &id), 0);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	assert_int_equal(c.left, 0);
	assert_int_equal(c.ret, 0);
	bed_assert_ledger(b, 1);
	bed_pass(b, 2 * TKW_MSEC);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_schedule_from_an_on_cancel)

static void *turn_once(void *arg)
{
	struct timer_bed *b = arg;

	return bed_turn(b, NULL) == 1 ? b : NULL;
}

/* SPEC 3.1: this would hang if schedule waited for the worker or the task. */
static void test_timer_schedule_waits_for_no_task(struct timer_bed *b)
{
	struct gate g;
	const struct tkw_task task = { .fn = pass_gate, .ctx = &g };
	pthread_t turner;
	void *turned = NULL;
	uint64_t pending;
	uint64_t i;

	gate_init(&g);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	if (bed_by_hand(b))
		assert_int_equal(pthread_create(&turner, NULL, turn_once, b),
				 0);
	gate_await(&g, 1);
	for (i = 0; i < 200; i++) {
		bed_schedule(b, i, (int64_t)(i % 2) * TKW_MSEC);
		schedule_at(b, i, BASE_NS + (int64_t)(i % 3) * TKW_MSEC);
	}
	pending = tkw_timer_count(b->t);
	/* Asserts come later, when no thread can hang any more. */
	gate_open(&g);
	if (bed_by_hand(b)) {
		pthread_join(turner, &turned);
		assert_ptr_equal(turned, b);
	}
	assert_true(pending == 400);
	bed_pass(b, 2 * TKW_MSEC);
	assert_true(b->fired_count == 400);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_schedule_waits_for_no_task)

enum {
	THREADS = 4,
	PER_THREAD = 2000
};

/* The part of one of many threads, and its results. */
struct crew {
	struct timer_bed *b;
	pthread_barrier_t *begin;
	unsigned number;
	unsigned accepted;
	unsigned refused; /* got -EAGAIN */
	unsigned wrong;
	struct tkw_timeout_id ids[PER_THREAD];
};

static void run_crew(struct timer_bed *b, struct crew crew[THREADS],
		     void *(*run)(void *))
{
	pthread_t threads[THREADS];
	pthread_barrier_t begin;
	unsigned i;

	pthread_barrier_init(&begin, NULL, THREADS);
	memset(crew, 0, THREADS * sizeof(*crew));
	for (i = 0; i < THREADS; i++) {
		crew[i].b = b;
		crew[i].begin = &begin;
		crew[i].number = i;
		assert_int_equal(
			pthread_create(&threads[i], NULL, run, &crew[i]), 0);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&begin);
}

static void *schedule_many(void *arg)
{
	struct crew *c = arg;
	struct tkw_task task;
	unsigned i;
	int ret;

	pthread_barrier_wait(c->begin);
	for (i = 0; i < PER_THREAD; i++) {
		task = bed_task(c->b, c->number * PER_THREAD + i);
		ret = tkw_timer_schedule(c->b->t, &task,
					 (int64_t)(i % 7 + 1) * TKW_MSEC,
					 &c->ids[c->accepted]);
		c->accepted += ret == 0;
		c->refused += ret == -EAGAIN;
		c->wrong += ret != 0 && ret != -EAGAIN;
	}
	return NULL;
}

static int compare_ids(const void *a, const void *b)
{
	const struct tkw_timeout_id *x = a;
	const struct tkw_timeout_id *y = b;

	return (x->bits > y->bits) - (x->bits < y->bits);
}

/* SPEC 3.1, 3.5, the law */
static void test_timer_schedule_from_many_threads(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .shards = THREADS };
	static struct crew crew[THREADS];
	static unsigned char fired[THREADS * PER_THREAD];
	size_t i;

	bed_reopen(b, &cfg);
	run_crew(b, crew, schedule_many);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(crew[i].accepted, PER_THREAD);
	bed_pass(b, 8 * TKW_MSEC);
	assert_true(b->fired_count == COUNT_OF(fired));
	memset(fired, 0, sizeof(fired));
	for (i = 0; i < b->fired_count; i++)
		assert_int_equal(fired[b->fired[i].tag]++, 0);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_schedule_from_many_threads)

/* --- 3.2 deadlines ------------------------------------------------------- */

/* SPEC 3.2: the deadline is now + delay, rounded up to a tick. */
static void test_timer_deadline_is_rounded_up_to_a_tick(struct timer_bed *b)
{
	static const int64_t nows[] = { 0, 1, 300, TKW_MSEC / 2, TKW_MSEC - 1 };
	static const int64_t delays[] = { 1,
					  2,
					  TKW_MSEC - 301,
					  TKW_MSEC - 300,
					  TKW_MSEC - 299,
					  TKW_MSEC - 1,
					  TKW_MSEC,
					  TKW_MSEC + 1,
					  17 * TKW_MSEC - 1,
					  5 * TKW_SEC };
	int64_t base_ns = BASE_NS;
	int64_t due_ns;
	struct tkw_timeout_id id;
	size_t i;

	for (i = 0; i < COUNT_OF(nows) * COUNT_OF(delays); i++) {
		base_ns += 100 * TKW_SEC;
		due_ns = base_ns + nows[i % COUNT_OF(nows)];
		bed_pass(b, due_ns - b->now_ns);
		due_ns += delays[i / COUNT_OF(nows)];
		id = bed_schedule(b, i, due_ns - b->now_ns);
		assert_true(deadline_of(b, id) == due_ns);
		bed_assert_fires_at(
			b, i, (due_ns + TKW_MSEC - 1) / TKW_MSEC * TKW_MSEC);
		assert_true(b->fired[i].deadline_ns == due_ns);
		assert_true(b->fired[i].id.bits == id.bits);
		assert_true(b->fired[i].late_ns == b->now_ns - due_ns);
	}
}
BED_TEST(test_timer_deadline_is_rounded_up_to_a_tick)

/* Checks that a timeout is scheduled for never. */
static void assert_never(struct timer_bed *b, struct tkw_timeout_id id)
{
	assert_true(deadline_of(b, id) == TKW_NEVER_NS);
	bed_pass(b, 0);
	bed_assert_nothing_fired(b);
	bed_assert_ledger(b, 1);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
	bed_assert_ledger(b, 0);
}

/* SPEC 3.2, fault 17 */
static void test_timer_delay_saturates_to_never(struct timer_bed *b)
{
	static const int64_t clocks[] = { BED_START_NS, INT64_MAX / 2,
					  INT64_MAX - 2 * TKW_SEC };
	size_t i;

	for (i = 0; i < COUNT_OF(clocks); i++) {
		bed_pass(b, clocks[i] - b->now_ns);
		assert_never(b, bed_schedule(b, 1, INT64_MAX));
		assert_never(b, bed_schedule(b, 2, INT64_MAX - 1));
		assert_never(b, bed_schedule(b, 3, INT64_MAX - clocks[i]));
		assert_never(b, bed_schedule(b, 4, INT64_MAX - clocks[i] + 1));
		assert_never(b, schedule_at(b, 5, INT64_MAX));
	}
}
BED_TEST(test_timer_delay_saturates_to_never)

/* SPEC 3.2: no jump of the clock makes it fire, on either engine. */
static void test_timer_never_does_not_come(struct timer_bed *b)
{
	static const int64_t tick_ns[] = { 1, TKW_USEC, TKW_MSEC,
					   3600 * TKW_SEC };
	struct tkw_timer_config cfg = { .engine = TKW_WHEEL_HIERARCHICAL };
	struct tkw_timeout_id ids[2];
	size_t i;

	for (i = 0; i < 2 * COUNT_OF(tick_ns); i++) {
		cfg.engine = i % 2 ? TKW_WHEEL_HASHED : TKW_WHEEL_HIERARCHICAL;
		cfg.tick_ns = tick_ns[i / 2];
		bed_set_clock(b, BED_START_NS);
		bed_reopen(b, &cfg);
		ids[0] = bed_schedule(b, 1, INT64_MAX);
		ids[1] = schedule_at(b, 2, INT64_MAX);
		bed_pass(b, 1000 * TKW_SEC);
		bed_pass(b, INT64_MAX - 1 - b->now_ns);
		bed_pass(b, 1);
		bed_assert_nothing_fired(b);
		bed_assert_ledger(b, 2);
		assert_int_equal(tkw_timer_cancel(b->t, ids[0]), 0);
		assert_int_equal(tkw_timer_cancel(b->t, ids[1]), 0);
		bed_assert_ledger(b, 0);
	}
}
BED_TEST(test_timer_never_does_not_come)

/* SPEC 3.2, fault 17: the last deadlines that are not never. */
static void test_timer_last_deadlines_come(struct timer_bed *b)
{
	struct tkw_timer_config cfg = { .tick_ns = 1 };
	int64_t last_ns = INT64_MAX / TKW_MSEC * TKW_MSEC;

	bed_reopen(b, &cfg);
	schedule_at(b, 1, INT64_MAX - 2);
	bed_schedule(b, 2, INT64_MAX - 1 - BED_START_NS);
	bed_assert_fires_at(b, 1, INT64_MAX - 2);
	bed_pass(b, 1);
	bed_assert_fired(b, 2);
	/* With a coarser tick, the last deadline that the clock can reach. */
	bed_set_clock(b, BED_START_NS);
	bed_reopen(b, NULL);
	schedule_at(b, 3, last_ns);
	schedule_at(b, 4, last_ns + 1);
	assert_true(deadline_of(b, schedule_at(b, 5, INT64_MAX - 1)) ==
		    INT64_MAX - 1);
	bed_assert_fires_at(b, 3, last_ns);
	bed_pass(b, INT64_MAX - 1 - last_ns);
	bed_assert_nothing_fired(b);
	bed_assert_ledger(b, 2);
}
BED_TEST(test_timer_last_deadlines_come)

/* --- 3.3 no delay -------------------------------------------------------- */

/* On which thread a task has run, and how often. */
struct ran {
	pthread_mutex_t lock;
	unsigned runs;
	pthread_t thread;
	int64_t late_ns;
};

static void note_thread(const struct tkw_firing *firing, void *ctx)
{
	struct ran *r = ctx;

	pthread_mutex_lock(&r->lock);
	r->runs++;
	r->thread = pthread_self();
	r->late_ns = firing->late_ns;
	pthread_mutex_unlock(&r->lock);
}

/* SPEC 3.3, fault 17 */
static void
test_timer_delay_of_nothing_fires_on_the_next_turn(struct timer_bed *b)
{
	static const int64_t delays[] = {
		0,        -1, -TKW_MSEC, -TKW_SEC, -BED_START_NS, INT64_MIN + 1,
		INT64_MIN
	};
	size_t i;

	for (i = 0; i < COUNT_OF(delays); i++) {
		/* The clock stands still, at the begin of this tick. */
		bed_schedule(b, i, delays[i]);
		if (bed_by_hand(b))
			bed_assert_nothing_fired(b);
		bed_pass(b, 0);
		bed_assert_fired(b, i);
		assert_true(b->fired[i].late_ns >= 0);
		bed_assert_ledger(b, 0);
	}
	bed_pass(b, 2 * TKW_MSEC - 300);
	bed_schedule(b, 99, 0);
	bed_pass(b, 0);
	bed_assert_fired(b, 99);
}
BED_TEST(test_timer_delay_of_nothing_fires_on_the_next_turn)

/* SPEC 3.3 */
static void test_timer_schedule_does_not_run_the_task(struct timer_bed *b)
{
	struct ran r = { .runs = 0 };
	const struct tkw_task task = { .fn = note_thread, .ctx = &r };
	unsigned i;

	pthread_mutex_init(&r.lock, NULL);
	for (i = 0; i < 100; i++) {
		assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
		if (bed_by_hand(b))
			assert_int_equal(r.runs, i);
		bed_pass(b, 0);
		assert_int_equal(r.runs, i + 1);
		assert_true(r.late_ns == 0);
		/* Without a worker, the turn ran on this thread. */
		assert_int_equal(!pthread_equal(r.thread, pthread_self()),
				 b->drive == TKW_DRIVE_THREAD);
	}
}
BED_TEST(test_timer_schedule_does_not_run_the_task)

/* SPEC 3.3, 4.6, fault 6: inside a task it is the next turn. */
static void
test_timer_delay_of_nothing_in_a_task_ends_the_turn(struct timer_bed *b)
{
	struct chain c = { .b = b, .delay_ns = 0, .left = 4 };
	int i;

	assert_int_equal(chain_schedule(&c), 0);
	for (i = 4; i >= 0; i--) {
		assert_int_equal(c.left, i);
		assert_int_equal(bed_turn(b, NULL), 1);
	}
	assert_int_equal(bed_turn(b, NULL), 0);
}
BED_TEST(test_timer_delay_of_nothing_in_a_task_ends_the_turn)

/* --- 3.4 absolute deadlines ---------------------------------------------- */

/* SPEC 3.4: it reads no clock, neither for a later timeout nor to wake the
 * worker for an earlier one. */
static void test_timer_schedule_at_reads_no_clock(struct timer_bed *b)
{
	const struct tkw_task task = bed_task(b, 1);
	uint64_t calls;
	int64_t i;
	int n;

	bed_pass(b, 0);
	calls = bed_now_calls();
	for (i = 0; i < 100; i++) {
		assert_int_equal(tkw_timer_schedule_at(
					 b->t, &task,
					 BASE_NS + (500 + i) * TKW_SEC, NULL),
				 0);
		assert_int_equal(tkw_timer_schedule_at(
					 b->t, &task,
					 BASE_NS + (500 - i) * TKW_SEC, NULL),
				 0);
		/* Gives the worker time to fall asleep. The test also works
		 * without that. */
		for (n = 0; n < 20; n++)
			sched_yield();
	}
	assert_true(bed_now_calls() == calls);
	/* The counter works. */
	bed_schedule(b, 2, TKW_SEC);
	assert_true(bed_now_calls() > calls);
}
BED_TEST(test_timer_schedule_at_reads_no_clock)

/* SPEC 3.4 */
static void test_timer_schedule_at_fires_at_its_time(struct timer_bed *b)
{
	struct tkw_timeout_id id = schedule_at(b, 1, BASE_NS + 70 * TKW_MSEC);

	assert_true(deadline_of(b, id) == BASE_NS + 70 * TKW_MSEC);
	bed_assert_fires_at(b, 1, BASE_NS + 70 * TKW_MSEC);
	id = schedule_at(b, 2, BASE_NS + 80 * TKW_MSEC + 1);
	assert_true(deadline_of(b, id) == BASE_NS + 80 * TKW_MSEC + 1);
	bed_assert_fires_at(b, 2, BASE_NS + 81 * TKW_MSEC);
	assert_true(b->fired[1].late_ns == TKW_MSEC - 1);
}
BED_TEST(test_timer_schedule_at_fires_at_its_time)

/* SPEC 3.4, fault 17 */
static void test_timer_schedule_at_a_time_that_has_passed(struct timer_bed *b)
{
	static const int64_t times[] = { BASE_NS, BASE_NS - 1, 1,
					 0,       -1,          INT64_MIN };
	int64_t deadline_ns;
	size_t i;

	for (i = 0; i < COUNT_OF(times); i++) {
		deadline_ns = times[i] > 0 ? times[i] : 0;
		schedule_at(b, i, times[i]);
		bed_pass(b, 0);
		bed_assert_fired(b, i);
		assert_true(b->fired[i].deadline_ns == deadline_ns);
		assert_true(b->fired[i].late_ns == b->now_ns - deadline_ns);
	}
}
BED_TEST(test_timer_schedule_at_a_time_that_has_passed)

/* --- 3.5 ids ------------------------------------------------------------- */

/* Checks that each call returns -ENOENT for this id. */
static void assert_unknown(struct timer_bed *b, struct tkw_timeout_id id)
{
	struct tkw_timeout_info info;
	struct tkw_timeout_info was;
	char text[32] = "as it was";

	memset(&info, 0x5a, sizeof(info));
	memcpy(&was, &info, sizeof(info));
	assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
	assert_int_equal(tkw_timer_cancel_wait(b->t, id), -ENOENT);
	assert_int_equal(tkw_timer_reschedule(b->t, id, 0), -ENOENT);
	assert_int_equal(tkw_timer_reschedule_at(b->t, id, 0), -ENOENT);
	assert_int_equal(tkw_timer_get(b->t, id, &info), -ENOENT);
	assert_memory_equal(&info, &was, sizeof(info));
	assert_int_equal(tkw_timer_print_timeout(b->t, id, text, sizeof(text)),
			 -ENOENT);
	assert_string_equal(text, "as it was");
}

/* SPEC 3.5, fault 21: timeouts that use its place later are not changed. */
static void test_timer_stale_id_touches_no_other(struct timer_bed *b)
{
	struct tkw_timeout_id stale[8];
	struct tkw_timeout_id live;
	uint64_t i;
	uint64_t j;

	for (i = 0; i < COUNT_OF(stale); i++) {
		stale[i] = bed_schedule(b, i, TKW_MSEC);
		if (i % 2)
			bed_pass(b, 2 * TKW_MSEC);
		else
			assert_int_equal(tkw_timer_cancel(b->t, stale[i]), 0);
		live = bed_schedule(b, 100 + i, TKW_SEC);
		for (j = 0; j <= i; j++) {
			assert_true(stale[j].bits != live.bits);
			assert_unknown(b, stale[j]);
		}
		assert_true(deadline_of(b, live) == b->now_ns + TKW_SEC);
		assert_int_equal(tkw_timer_cancel(b->t, live), 0);
		assert_unknown(b, live);
	}
	bed_assert_fired(b, 1, 3, 5, 7);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_stale_id_touches_no_other)

/* SPEC 3.5, fault 21: an id that its place will have later is not valid
 * either. */
static void test_timer_id_of_an_ended_one_can_be_made_up(struct timer_bed *b)
{
	struct tkw_timeout_id id = bed_schedule(b, 1, TKW_SEC);
	struct tkw_timeout_id next;

	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	for (next.bits = id.bits - 3; next.bits <= id.bits + 3; next.bits++)
		assert_unknown(b, next);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_id_of_an_ended_one_can_be_made_up)

enum {
	MANY = 100000
};

static void schedule_ids(struct timer_bed *b, struct tkw_timeout_id ids[MANY])
{
	const struct tkw_task task = { .fn = nothing };
	size_t i;

	for (i = 0; i < MANY; i++)
		assert_int_equal(
			tkw_timer_schedule(b->t, &task, TKW_SEC, &ids[i]), 0);
}

static void cancel_ids(struct timer_bed *b,
		       const struct tkw_timeout_id ids[MANY])
{
	size_t i;

	for (i = 0; i < MANY; i++)
		assert_int_equal(tkw_timer_cancel(b->t, ids[i]), 0);
}

/* SPEC 3.5, 5.4: the memory of the ids was given back to the system, and other
 * memory may be in its place. */
static void test_timer_stale_ids_outlive_their_memory(struct timer_bed *b)
{
	static struct tkw_timeout_id stale[MANY];
	static struct tkw_timeout_id live[MANY];
	size_t i;

	schedule_ids(b, stale);
	cancel_ids(b, stale);
	for (i = 0; i < MANY; i++)
		assert_unknown(b, stale[i]);
	bed_assert_ledger(b, 0);
	schedule_ids(b, live);
	for (i = 0; i < MANY; i++)
		assert_unknown(b, stale[i]);
	bed_assert_ledger(b, MANY);
	cancel_ids(b, live);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	for (i = 0; i < MANY; i += 1000)
		assert_int_equal(tkw_timer_cancel(b->t, stale[i]), -ENOENT);
}
BED_TEST(test_timer_stale_ids_outlive_their_memory)

/* SPEC 3.5 */
static void test_timer_ids_are_distinct_and_not_zero(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .shards = THREADS };
	static struct tkw_timeout_id ids[THREADS * PER_THREAD];
	static struct crew crew[THREADS];
	size_t i;

	bed_reopen(b, &cfg);
	run_crew(b, crew, schedule_many);
	for (i = 0; i < THREADS; i++)
		memcpy(&ids[i * PER_THREAD], crew[i].ids, sizeof(crew[i].ids));
	qsort(ids, COUNT_OF(ids), sizeof(ids[0]), compare_ids);
	assert_true(ids[0].bits != 0);
	for (i = 1; i < COUNT_OF(ids); i++)
		assert_true(ids[i - 1].bits < ids[i].bits);
}
BED_TEST(test_timer_ids_are_distinct_and_not_zero)

/* SPEC 3.5: the id may be NULL. */
static void test_timer_schedule_without_an_id(struct timer_bed *b)
{
	const struct tkw_task task = bed_task(b, 1);

	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	assert_int_equal(tkw_timer_schedule_at(b->t, &task, 0, NULL), 0);
	bed_pass(b, 0);
	bed_assert_fired(b, 1, 1);
}
BED_TEST(test_timer_schedule_without_an_id)

enum {
	LIVE = 1000
};

static void schedule_live(struct timer_bed *b, struct tkw_timeout_id ids[LIVE])
{
	const struct tkw_task task = { .fn = nothing };
	size_t i;

	for (i = 0; i < LIVE; i++)
		assert_int_equal(
			tkw_timer_schedule(b->t, &task, TKW_SEC, &ids[i]), 0);
	qsort(ids, LIVE, sizeof(ids[0]), compare_ids);
}

static bool is_live(const struct tkw_timeout_id ids[LIVE],
		    struct tkw_timeout_id id)
{
	return bsearch(&id, ids, LIVE, sizeof(id), compare_ids) != NULL;
}

/* SPEC 3.5, fault 21: each bit of an id matters. */
static void test_timer_id_with_a_wrong_bit_names_nothing(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .shards = 4 };
	static struct tkw_timeout_id ids[LIVE];
	struct tkw_timeout_id id;
	size_t i;
	int bit;

	bed_reopen(b, &cfg);
	assert_unknown(b, BED_NO_ID);
	schedule_live(b, ids);
	for (i = 0; i < LIVE; i++) {
		for (bit = 0; bit < 64; bit++) {
			id.bits = ids[i].bits ^ UINT64_C(1) << bit;
			if (!is_live(ids, id))
				assert_unknown(b, id);
		}
	}
	assert_unknown(b, BED_NO_ID);
	assert_unknown(b, BED_ID(UINT64_MAX));
	bed_assert_ledger(b, LIVE);
	for (i = 0; i < LIVE; i++)
		assert_true(deadline_of(b, ids[i]) == b->now_ns + TKW_SEC);
}
BED_TEST(test_timer_id_with_a_wrong_bit_names_nothing)

static uint64_t random_state;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* A new seed for each run, unless TKW_TEST_SEED asks for an old one. */
static void random_begin(void)
{
	const char *wanted = getenv("TKW_TEST_SEED");
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	random_state = (uint64_t)ts.tv_sec * 1000000007u + (uint64_t)ts.tv_nsec;
	if (wanted)
		random_state = strtoull(wanted, NULL, 10);
	if (random_state == 0)
		random_state = 1;
	print_message("replay: TKW_TEST_SEED=%" PRIu64 "\n", random_state);
}

/* Half of them are any numbers, half are similar to the id of a live
 * timeout. */
static uint64_t made_up(const struct tkw_timeout_id ids[LIVE])
{
	const uint64_t r = random_next();

	if (r % 2)
		return random_next();
	return ids[r / 2 % LIVE].bits ^
	       (random_next() & UINT64_C(0xff0000003f00000f));
}

/* SPEC 3.5, fault 21: an id is valid if and only if it is that of a live
 * timeout. */
static void test_timer_made_up_ids_end_nothing_else(struct timer_bed *b)
{
	static struct tkw_timeout_id ids[LIVE];
	static bool ended[LIVE];
	uint64_t live = LIVE;
	const struct tkw_timeout_id *at;
	struct tkw_timeout_id id;
	int expected;
	long i;

	random_begin();
	memset(ended, 0, sizeof(ended));
	schedule_live(b, ids);
	for (i = 0; i < 1000000; i++) {
		id.bits = made_up(ids);
		at = bsearch(&id, ids, LIVE, sizeof(id), compare_ids);
		expected = at && !ended[at - ids] ? 0 : -ENOENT;
		if (i % 2) {
			assert_int_equal(
				tkw_timer_reschedule(b->t, id, TKW_SEC),
				expected);
			continue;
		}
		assert_int_equal(tkw_timer_cancel(b->t, id), expected);
		if (expected == 0) {
			ended[at - ids] = true;
			live--;
		}
	}
	bed_assert_ledger(b, live);
}
BED_TEST(test_timer_made_up_ids_end_nothing_else)

/* --- 3.6 max pending ----------------------------------------------------- */

static void assert_full(struct timer_bed *b, uint64_t max)
{
	const struct tkw_task task = bed_task(b, 77);
	struct tkw_timeout_id id = { UNTOUCHED };

	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, &id), -EAGAIN);
	assert_int_equal(tkw_timer_schedule_at(b->t, &task, 0, &id), -EAGAIN);
	assert_true(id.bits == UNTOUCHED);
	bed_assert_ledger(b, max);
}

/* SPEC 3.6, fault 34 */
static void test_timer_max_pending_is_exact(struct timer_bed *b)
{
	static const int64_t limits[] = { 1, 2, 3, 64, 1000 };
	struct tkw_timer_config cfg = { .shards = 1 };
	struct tkw_timeout_id id = { 0 };
	size_t i;
	int64_t n;

	for (i = 0; i < COUNT_OF(limits); i++) {
		cfg.max_pending = limits[i];
		bed_reopen(b, &cfg);
		for (n = 0; n < limits[i]; n++)
			id = bed_schedule(b, 1, 3 * TKW_MSEC);
		assert_full(b, (uint64_t)limits[i]);
		/* A place is free after a cancel, */
		assert_int_equal(tkw_timer_cancel(b->t, id), 0);
		bed_schedule(b, 2, 3 * TKW_MSEC);
		assert_full(b, (uint64_t)limits[i]);
		/* and after a fire; a reschedule takes none. */
		bed_pass(b, 4 * TKW_MSEC);
		for (n = 0; n < limits[i]; n++)
			id = bed_schedule(b, 3, TKW_SEC);
		assert_int_equal(tkw_timer_reschedule(b->t, id, 1), 0);
		assert_full(b, (uint64_t)limits[i]);
	}
	assert_true(bed_fired_times(b, 77) == 0);
	assert_true(bed_cancelled_times(b, 77) == 0);
}
BED_TEST(test_timer_max_pending_is_exact)

/* SPEC 3.6 */
static void test_timer_max_pending_of_none_is_no_limit(struct timer_bed *b)
{
	static const int64_t limits[] = { 0, -1, INT64_MIN, INT64_MAX };
	const struct tkw_task task = { .fn = nothing };
	struct tkw_timer_config cfg = { .shards = 1 };
	size_t i;
	int n;

	for (i = 0; i < COUNT_OF(limits); i++) {
		cfg.max_pending = limits[i];
		bed_reopen(b, &cfg);
		for (n = 0; n < 10000; n++)
			assert_int_equal(
				tkw_timer_schedule(b->t, &task, TKW_SEC, NULL),
				0);
		bed_assert_ledger(b, 10000);
	}
}
BED_TEST(test_timer_max_pending_of_none_is_no_limit)

/*
 * SPEC 3.6, 4.5: the own place of a task is free while it runs. With a thread
 * this does not use bed_pass(), because its marker might take the only place.
 */
static void test_timer_task_can_schedule_at_the_limit(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .max_pending = 1 };
	struct gate end;
	struct chain c = { .b = b, .delay_ns = 0, .left = 19, .end = &end };

	gate_init(&end);
	bed_reopen(b, &cfg);
	assert_int_equal(chain_schedule(&c), 0);
	if (bed_by_hand(b))
		bed_pass(b, 0);
	gate_wait_open(&end);
	assert_int_equal(c.ret, 0);
	assert_int_equal(c.left, 0);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_task_can_schedule_at_the_limit)

/* SPEC 3.6, fault 34 */
static void test_timer_max_pending_is_exact_among_threads(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .shards = 4,
					      .max_pending = 1000 };
	static struct crew crew[THREADS];
	unsigned accepted = 0;
	unsigned refused = 0;
	size_t i;

	bed_reopen(b, &cfg);
	run_crew(b, crew, schedule_many);
	for (i = 0; i < THREADS; i++) {
		assert_int_equal(crew[i].wrong, 0);
		accepted += crew[i].accepted;
		refused += crew[i].refused;
	}
	assert_int_equal(accepted, 1000);
	assert_int_equal(refused, THREADS * PER_THREAD - 1000);
	assert_full(b, 1000);
}
BED_TEST(test_timer_max_pending_is_exact_among_threads)

static void *schedule_and_cancel(void *arg)
{
	const struct tkw_task task = { .fn = nothing };
	struct crew *c = arg;
	struct tkw_timeout_id id;
	unsigned i;
	int ret;

	pthread_barrier_wait(c->begin);
	for (i = 0; i < 10 * PER_THREAD; i++) {
		ret = tkw_timer_schedule(c->b->t, &task, TKW_SEC, &id);
		c->accepted += ret == 0;
		c->refused += ret == -EAGAIN;
		if (ret == 0)
			ret = tkw_timer_cancel(c->b->t, id);
		c->wrong += ret != 0 && ret != -EAGAIN;
	}
	return NULL;
}

/* SPEC 3.6: no call is refused if there is room, not even for a moment. */
static void test_timer_max_pending_refuses_nobody_too_many(struct timer_bed *b)
{
	struct tkw_timer_config cfg = { .shards = 4, .max_pending = THREADS };
	static struct crew crew[THREADS];
	size_t i;

	bed_reopen(b, &cfg);
	run_crew(b, crew, schedule_and_cancel);
	for (i = 0; i < THREADS; i++) {
		assert_int_equal(crew[i].refused, 0);
		assert_int_equal(crew[i].wrong, 0);
	}
	/* With too few places some calls are refused, and no timeout is
	 * lost. */
	cfg.max_pending = THREADS - 1;
	bed_reopen(b, &cfg);
	run_crew(b, crew, schedule_and_cancel);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(crew[i].wrong, 0);
	bed_assert_ledger(b, 0);
	for (i = 0; i < THREADS - 1; i++)
		bed_schedule(b, i, TKW_SEC);
	assert_full(b, THREADS - 1);
}
BED_TEST(test_timer_max_pending_refuses_nobody_too_many)

enum {
	TRIES = 20000
};

/* Two threads that want the same place, again and again. */
struct rivals {
	struct timer_bed *b;
	pthread_barrier_t begin;
	pthread_mutex_t lock; /* protects `tried` and `had` */
	pthread_cond_t changed;
	unsigned tried; /* tries of the second thread */
	bool had[TRIES + 1];
	unsigned wrong;
};

/* Takes the place if it is free, and leaves it. */
static bool take_place(struct timer_bed *b, unsigned *wrong)
{
	const struct tkw_task task = { .fn = nothing };
	struct tkw_timeout_id id;
	int ret = tkw_timer_schedule(b->t, &task, TKW_SEC, &id);

	*wrong += ret != 0 && ret != -EAGAIN;
	if (ret == 0)
		*wrong += tkw_timer_cancel(b->t, id) != 0;
	return ret == 0;
}

static void *be_the_second(void *arg)
{
	struct rivals *r = arg;
	unsigned wrong = 0;
	unsigned i;
	bool had;

	pthread_barrier_wait(&r->begin);
	for (i = 0; i < TRIES; i++) {
		had = take_place(r->b, &wrong);
		pthread_mutex_lock(&r->lock);
		r->had[r->tried++] = had;
		pthread_cond_signal(&r->changed);
		pthread_mutex_unlock(&r->lock);
	}
	pthread_mutex_lock(&r->lock);
	r->wrong += wrong;
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

static unsigned tries_of_the_second(struct rivals *r, unsigned at_least)
{
	unsigned tried;

	pthread_mutex_lock(&r->lock);
	while (r->tried < at_least && r->tried < TRIES)
		pthread_cond_wait(&r->changed, &r->lock);
	tried = r->tried;
	pthread_mutex_unlock(&r->lock);
	return tried;
}

/* The first thread is refused only if the second one had the place meanwhile,
 * in a try that overlapped with the try of the first. */
static void be_the_first(struct rivals *r)
{
	unsigned wrong = 0;
	unsigned from;
	unsigned to;
	bool had;

	while ((from = tries_of_the_second(r, 0)) < TRIES) {
		had = take_place(r->b, &wrong);
		to = tries_of_the_second(r, 0);
		if (had)
			continue;
		to = tries_of_the_second(r, to + 1);
		pthread_mutex_lock(&r->lock);
		while (from < to && !r->had[from])
			from++;
		r->wrong += from == to;
		pthread_mutex_unlock(&r->lock);
	}
	assert_int_equal(wrong, 0);
}

/* SPEC 3.6: a refused call does not block another one, not even for a
 * moment. */
static void test_timer_max_pending_two_are_not_both_refused(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .shards = 2, .max_pending = 1 };
	static struct rivals r;
	pthread_t second;

	memset(&r, 0, sizeof(r));
	r.b = b;
	bed_reopen(b, &cfg);
	pthread_mutex_init(&r.lock, NULL);
	pthread_cond_init(&r.changed, NULL);
	pthread_barrier_init(&r.begin, NULL, 2);
	assert_int_equal(pthread_create(&second, NULL, be_the_second, &r), 0);
	pthread_barrier_wait(&r.begin);
	be_the_first(&r);
	pthread_join(second, NULL);
	assert_int_equal(r.wrong, 0);
	bed_assert_ledger(b, 0);
	pthread_barrier_destroy(&r.begin);
}
BED_TEST(test_timer_max_pending_two_are_not_both_refused)

/* When nothing is pending, there is room for one timeout. */
static struct tkw_timeout_id schedule_when_free(struct timer_bed *b)
{
	const struct tkw_task task = { .fn = nothing };
	unsigned polls = 0;
	struct tkw_timeout_id id = { 0 };

	/* Poll without a pause, because this takes only nanoseconds. */
	while (tkw_timer_count(b->t) > 0) {
		if (++polls % 256 == 0)
			sched_yield();
	}
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, &id), 0);
	return id;
}

/* SPEC 3.6, 4.5: a place is free as soon as its timeout is not counted as
 * pending. */
static void test_timer_max_pending_counts_what_is_pending(void **state)
{
	const struct tkw_timer_config cfg = { .max_pending = 1 };
	struct timer_bed b;
	int i;

	(void)state;
	bed_open(&b, TKW_DRIVE_THREAD, &cfg);
	for (i = 0; i < 5000; i++)
		schedule_when_free(&b);
	bed_close(&b);
}

/* A thread that cancels the timeouts that it is given. */
struct canceller {
	struct timer_bed *b;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct tkw_timeout_id id; /* 0 if there is none yet */
	bool end;
	unsigned wrong;
};

static void *cancel_them(void *arg)
{
	struct canceller *c = arg;
	struct tkw_timeout_id id;

	pthread_mutex_lock(&c->lock);
	for (;;) {
		while (c->id.bits == 0 && !c->end)
			pthread_cond_wait(&c->changed, &c->lock);
		id = c->id;
		c->id = BED_NO_ID;
		if (id.bits == 0)
			break;
		pthread_mutex_unlock(&c->lock);
		c->wrong += tkw_timer_cancel(c->b->t, id) != 0;
		pthread_mutex_lock(&c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

static void canceller_give(struct canceller *c, struct tkw_timeout_id id,
			   bool end)
{
	pthread_mutex_lock(&c->lock);
	c->id = id;
	c->end = end;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

/* SPEC 3.6: the same for timeouts that another thread cancels. */
static void test_timer_max_pending_counts_no_cancelled_ones(void **state)
{
	const struct tkw_timer_config cfg = { .max_pending = 1 };
	struct timer_bed b;
	struct canceller c = { .b = &b };
	pthread_t thread;
	int i;

	(void)state;
	/* With the manual drive nothing fires here. All are cancelled. */
	bed_open(&b, TKW_DRIVE_MANUAL, &cfg);
	pthread_mutex_init(&c.lock, NULL);
	pthread_cond_init(&c.changed, NULL);
	assert_int_equal(pthread_create(&thread, NULL, cancel_them, &c), 0);
	for (i = 0; i < 5000; i++)
		canceller_give(&c, schedule_when_free(&b), false);
	while (tkw_timer_count(b.t) > 0)
		sched_yield();
	canceller_give(&c, BED_NO_ID, true);
	pthread_join(thread, NULL);
	assert_int_equal(c.wrong, 0);
	bed_close(&b);
}

/* --- 3.7 refused calls leave no trace ------------------------------------ */

struct trace {
	struct tkw_ledger ledger;
	uint64_t pending;
	int64_t next_ns;
	size_t cancelled;
};

static struct trace trace_of(struct timer_bed *b)
{
	struct trace t;

	memset(&t, 0, sizeof(t));
	assert_null(tkw_timer_check(b->t));
	assert_int_equal(tkw_timer_get_ledger(b->t, &t.ledger), 0);
	assert_int_equal(tkw_timer_next_turn(b->t, &t.next_ns), 0);
	t.pending = tkw_timer_count(b->t);
	t.cancelled = b->cancelled_count;
	return t;
}

/* Checks that both ways to schedule are refused, and nothing has changed. */
static void assert_refused(struct timer_bed *b, const struct tkw_task *task,
			   int error)
{
	const struct trace before = trace_of(b);
	struct trace after;
	struct tkw_timeout_id id = { UNTOUCHED };

	assert_int_equal(tkw_timer_schedule(b->t, task, 0, &id), error);
	assert_int_equal(tkw_timer_schedule(b->t, task, TKW_SEC, &id), error);
	assert_int_equal(tkw_timer_schedule(b->t, task, INT64_MAX, &id), error);
	assert_int_equal(tkw_timer_schedule_at(b->t, task, 0, &id), error);
	assert_int_equal(tkw_timer_schedule_at(b->t, task, INT64_MAX, NULL),
			 error);
	assert_true(id.bits == UNTOUCHED);
	after = trace_of(b);
	assert_memory_equal(&before, &after, sizeof(before));
}

/* Opens a bed in which each term of the ledger is set that can be set without a
 * stop. */
static void begin_trace(struct timer_bed *b, const struct tkw_timer_config *cfg)
{
	bed_reopen(b, cfg);
	bed_schedule(b, 1, TKW_MSEC);
	bed_pass(b, 2 * TKW_MSEC);
	bed_assert_fired(b, 1);
	assert_int_equal(tkw_timer_cancel(b->t, bed_schedule(b, 2, TKW_MSEC)),
			 0);
	bed_schedule(b, 3, 5 * TKW_MSEC);
}

static void end_trace(struct timer_bed *b)
{
	bed_schedule(b, 4, 5 * TKW_MSEC);
	bed_pass(b, 6 * TKW_MSEC);
	bed_assert_fired(b, 3, 4);
	bed_assert_ledger(b, 0);
}

/* SPEC 3.7 */
static void test_timer_schedule_refuses_what_it_cannot_call(struct timer_bed *b)
{
	struct tkw_task task = bed_task(b, 9);
	struct tkw_timeout_id id = { UNTOUCHED };

	task.fn = NULL;
	begin_trace(b, NULL);
	assert_refused(b, &task, -EINVAL);
	assert_refused(b, NULL, -EINVAL);
	end_trace(b);
	task = bed_task(b, 9);
	assert_int_equal(tkw_timer_schedule(NULL, &task, 0, &id), -EINVAL);
	assert_int_equal(tkw_timer_schedule_at(NULL, &task, 0, &id), -EINVAL);
	assert_true(id.bits == UNTOUCHED);
}
BED_TEST(test_timer_schedule_refuses_what_it_cannot_call)

/* SPEC 3.7 */
static void test_timer_refused_when_full_leaves_no_trace(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .max_pending = 2 };
	const struct tkw_task task = bed_task(b, 9);
	struct tkw_timeout_id id;

	begin_trace(b, &cfg);
	id = bed_schedule(b, 5, TKW_SEC);
	assert_refused(b, &task, -EAGAIN);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	end_trace(b);
}
BED_TEST(test_timer_refused_when_full_leaves_no_trace)

/* SPEC 3.7, 2.5: in Netty the count of pending timeouts leaks here. */
static void test_timer_refused_when_stopped_leaves_no_trace(struct timer_bed *b)
{
	static const int64_t limits[] = { 0, 5 };
	const struct tkw_task task = bed_task(b, 9);
	struct tkw_timer_config cfg = { .shards = 1 };
	size_t i;

	for (i = 0; i < COUNT_OF(limits); i++) {
		cfg.max_pending = limits[i];
		begin_trace(b, &cfg);
		assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
		assert_true(tkw_timer_count(b->t) == 0);
		assert_refused(b, &task, -ESHUTDOWN);
		assert_refused(b, &task, -ESHUTDOWN);
		bed_assert_ledger(b, 0);
	}
}
BED_TEST(test_timer_refused_when_stopped_leaves_no_trace)

/* How many can be scheduled before an allocation is needed. */
static uint64_t fill_up(struct timer_bed *b)
{
	const struct tkw_task task = { .fn = nothing };
	uint64_t accepted = 0;
	int ret;

	while ((ret = tkw_timer_schedule(b->t, &task, TKW_SEC, NULL)) == 0)
		accepted++;
	assert_int_equal(ret, -ENOMEM);
	return accepted;
}

/* SPEC 3.7, fault 1 */
static void
test_timer_refused_without_memory_leaves_no_trace(struct timer_bed *b)
{
	static struct bed_memory m;
	const struct tkw_timer_hooks hooks = bed_memory_hooks(&m);
	const struct tkw_timer_config cfg = { .hooks = &hooks,
					      .max_pending = 1000000 };
	const struct tkw_task task = bed_task(b, 9);
	uint64_t more;

	bed_reopen(b, &cfg);
	assert_int_equal(tkw_timer_start(b->t), 0);
	bed_memory_refuse(&m, true);
	assert_refused(b, &task, -ENOMEM);
	assert_true(m.refused >= 5);
	bed_memory_refuse(&m, false);
	begin_trace(b, &cfg);
	bed_memory_refuse(&m, true);
	more = fill_up(b);
	assert_refused(b, &task, -ENOMEM);
	bed_assert_ledger(b, 1 + more);
	bed_memory_refuse(&m, false);
	bed_schedule(b, 4, 5 * TKW_MSEC);
	bed_assert_ledger(b, 2 + more);
	bed_pass(b, 2 * TKW_SEC);
	bed_assert_fired(b, 3, 4);
	bed_assert_ledger(b, 0);
	assert_int_equal(tkw_timer_destroy(b->t), 0);
	b->t = NULL;
	assert_true(m.live == 0);
}
BED_TEST(test_timer_refused_without_memory_leaves_no_trace)

/* SPEC 3.7, 3.6, fault 1 */
static void
test_timer_refused_without_memory_takes_no_place(struct timer_bed *b)
{
	static struct bed_memory m;
	const struct tkw_timer_hooks hooks = bed_memory_hooks(&m);
	const struct tkw_timer_config cfg = { .hooks = &hooks,
					      .max_pending = 3 };
	const struct tkw_task task = bed_task(b, 9);
	uint64_t i;

	bed_reopen(b, &cfg);
	bed_memory_refuse(&m, true);
	assert_refused(b, &task, -ENOMEM);
	bed_memory_refuse(&m, false);
	for (i = 0; i < 3; i++)
		bed_schedule(b, i, TKW_SEC);
	assert_full(b, 3);
	assert_int_equal(tkw_timer_destroy(b->t), 0);
	b->t = NULL;
}
BED_TEST(test_timer_refused_without_memory_takes_no_place)

/* Returns false if there are fewer allocations than that. */
static bool survive_refusal(struct timer_bed *b, size_t refuse_at)
{
	static struct bed_memory m;
	const struct tkw_timer_hooks hooks = bed_memory_hooks(&m);
	const struct tkw_timer_config cfg = { .hooks = &hooks };
	const struct tkw_task task = { .fn = nothing };
	uint64_t accepted = 0;
	uint64_t i;
	int ret;

	bed_reopen(b, &cfg);
	bed_memory_refuse_at(&m, refuse_at);
	for (i = 0; i < MANY && m.refused == 0; i++) {
		ret = tkw_timer_schedule(b->t, &task, TKW_SEC, NULL);
		accepted += ret == 0;
		assert_int_equal(ret, m.refused ? -ENOMEM : 0);
	}
	assert_true(accepted == i - m.refused);
	for (i = 0; i < 1000; i++)
		assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_SEC, NULL),
				 0);
	accepted += i;
	bed_assert_ledger(b, accepted);
	assert_int_equal(tkw_timer_destroy(b->t), 0);
	b->t = NULL;
	assert_true(m.live == 0);
	return m.refused == 1;
}

/* SPEC 3.7, fault 1: refuses each allocation in turn, up to 40. */
static void
test_timer_nth_refused_memory_refuses_one_schedule(struct timer_bed *b)
{
	size_t n = 1;

	while (n <= 40 && survive_refusal(b, n))
		n++;
	assert_true(n > 3);
}
BED_TEST(test_timer_nth_refused_memory_refuses_one_schedule)

/* SPEC 3.7, 6.7 */
static void test_timer_refused_in_a_child_leaves_no_trace(struct timer_bed *b)
{
	const struct tkw_task task = bed_task(b, 9);
	struct trace before;
	struct trace after;
	struct tkw_timeout_id id = { UNTOUCHED };
	int status = -1;
	pid_t pid;

	begin_trace(b, NULL);
	before = trace_of(b);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (tkw_timer_schedule(b->t, &task, 0, &id) != -EPERM ||
		    tkw_timer_schedule_at(b->t, &task, 0, &id) != -EPERM ||
		    tkw_timer_start(b->t) != -EPERM || id.bits != UNTOUCHED)
			_exit(1);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	assert_int_equal(status, 0);
	after = trace_of(b);
	assert_memory_equal(&before, &after, sizeof(before));
	end_trace(b);
}
BED_TEST(test_timer_refused_in_a_child_leaves_no_trace)

/* --- 3.9 slack ----------------------------------------------------------- */

static void schedule_with_slack(struct timer_bed *b, uint64_t tag,
				int64_t deadline_ns, int64_t slack_ns)
{
	struct tkw_task task = bed_task(b, tag);

	task.slack_ns = slack_ns;
	assert_int_equal(tkw_timer_schedule_at(b->t, &task, deadline_ns, NULL),
			 0);
}

/* SPEC 3.9, 1.10: they fire at the coarsest boundary within the slack. */
static void test_timer_slack_makes_many_share_a_tick(struct timer_bed *b)
{
	const int64_t from_ns = (BASE_NS / TKW_MSEC / 64 + 1) * 64 * TKW_MSEC;
	int64_t i;

	for (i = 1; i < 64; i++)
		schedule_with_slack(b, (uint64_t)i, from_ns + i * TKW_MSEC,
				    64 * TKW_MSEC);
	bed_pass(b, from_ns + 64 * TKW_MSEC - 1 - b->now_ns);
	bed_assert_nothing_fired(b);
	bed_pass(b, 1);
	assert_true(b->fired_count == 63);
	for (i = 1; i < 64; i++) {
		/* A task gets its own deadline, without the slack. */
		assert_true(b->fired[i - 1].tag == (uint64_t)i);
		assert_true(b->fired[i - 1].deadline_ns ==
			    from_ns + i * TKW_MSEC);
		assert_true(b->fired[i - 1].late_ns == (64 - i) * TKW_MSEC);
	}
}
BED_TEST(test_timer_slack_makes_many_share_a_tick)

/* When a timeout with this slack fires, in ns. */
static int64_t time_with_slack(struct timer_bed *b, int64_t deadline_ns,
			       int64_t slack_ns)
{
	const uint64_t tick =
		(uint64_t)((deadline_ns + b->tick_ns - 1) / b->tick_ns);
	const uint64_t slack = (uint64_t)(slack_ns / b->tick_ns);
	const uint64_t late = tkw_tick_with_slack(tick, slack);

	assert_true(tick <= late && late <= tick + slack);
	return (int64_t)late * b->tick_ns;
}

/* SPEC 3.9, 4.1 */
static void test_timer_slack_bounds_how_late(struct timer_bed *b)
{
	static const int64_t slacks[] = {
		1, 2, 3, 4, 7, 8, 15, 100, 1024, 2000
	};
	int64_t deadline_ns;
	uint64_t i;

	for (i = 0; i < 20 * COUNT_OF(slacks); i++) {
		deadline_ns = b->now_ns + (int64_t)(i * i + 1) * 12345678;
		schedule_with_slack(b, i, deadline_ns,
				    slacks[i % COUNT_OF(slacks)] * TKW_MSEC);
		bed_assert_fires_at(
			b, i,
			time_with_slack(b, deadline_ns,
					slacks[i % COUNT_OF(slacks)] *
						TKW_MSEC));
		assert_true(b->fired[i].deadline_ns == deadline_ns);
	}
}
BED_TEST(test_timer_slack_bounds_how_late)

/* SPEC 3.9: a slack of less than a tick, and a negative one. */
static void test_timer_slack_of_nothing_changes_nothing(struct timer_bed *b)
{
	static const int64_t slacks[] = { 0,  1,        TKW_MSEC - 1,
					  -1, -TKW_SEC, INT64_MIN };
	int64_t deadline_ns;
	size_t i;

	for (i = 0; i < COUNT_OF(slacks); i++) {
		deadline_ns = BASE_NS + (int64_t)i * TKW_SEC + 7 * TKW_MSEC;
		schedule_with_slack(b, i, deadline_ns, slacks[i]);
		bed_assert_fires_at(b, i, deadline_ns);
	}
}
BED_TEST(test_timer_slack_of_nothing_changes_nothing)

/* SPEC 3.9: the largest slack is two seconds, or two ticks. */
static void test_timer_slack_has_a_most(struct timer_bed *b)
{
	static const int64_t slacks[] = { 2 * TKW_SEC + 1, 3600 * TKW_SEC,
					  INT64_MAX };
	struct tkw_timer_config cfg = { .tick_ns = 10 * TKW_SEC };
	int64_t deadline_ns;
	size_t i;

	for (i = 0; i < COUNT_OF(slacks); i++) {
		deadline_ns = b->now_ns + 12345 * TKW_MSEC;
		schedule_with_slack(b, i, deadline_ns, slacks[i]);
		bed_assert_fires_at(
			b, i, time_with_slack(b, deadline_ns, 2 * TKW_SEC));
	}
	bed_reopen(b, &cfg);
	for (i = 0; i < 8; i++) {
		deadline_ns = b->now_ns + (int64_t)(i + 2) * 10 * TKW_SEC;
		schedule_with_slack(b, i, deadline_ns, INT64_MAX);
		bed_assert_fires_at(
			b, i, time_with_slack(b, deadline_ns, 20 * TKW_SEC));
	}
}
BED_TEST(test_timer_slack_has_a_most)

/* SPEC 3.9, 3.2 */
static void test_timer_slack_brings_never_no_nearer(struct timer_bed *b)
{
	schedule_with_slack(b, 1, INT64_MAX, TKW_SEC);
	schedule_with_slack(b, 2, INT64_MAX, INT64_MAX);
	bed_pass(b, INT64_MAX - 1 - b->now_ns);
	bed_assert_nothing_fired(b);
	bed_assert_ledger(b, 2);
}
BED_TEST(test_timer_slack_brings_never_no_nearer)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_timer_schedule_from_a_task),
		BED_TESTS(test_timer_schedule_from_an_on_cancel),
		BED_TESTS(test_timer_schedule_waits_for_no_task),
		BED_TESTS(test_timer_schedule_from_many_threads),
		BED_TESTS(test_timer_deadline_is_rounded_up_to_a_tick),
		BED_TESTS(test_timer_delay_saturates_to_never),
		BED_TESTS(test_timer_never_does_not_come),
		BED_TESTS(test_timer_last_deadlines_come),
		BED_TESTS(test_timer_delay_of_nothing_fires_on_the_next_turn),
		BED_TESTS(test_timer_schedule_does_not_run_the_task),
		BED_TESTS_BY_HAND(
			test_timer_delay_of_nothing_in_a_task_ends_the_turn),
		BED_TESTS(test_timer_schedule_at_reads_no_clock),
		BED_TESTS(test_timer_schedule_at_fires_at_its_time),
		BED_TESTS(test_timer_schedule_at_a_time_that_has_passed),
		BED_TESTS(test_timer_stale_id_touches_no_other),
		BED_TESTS(test_timer_id_of_an_ended_one_can_be_made_up),
		BED_TESTS(test_timer_stale_ids_outlive_their_memory),
		BED_TESTS(test_timer_ids_are_distinct_and_not_zero),
		BED_TESTS(test_timer_schedule_without_an_id),
		BED_TESTS(test_timer_id_with_a_wrong_bit_names_nothing),
		BED_TESTS(test_timer_made_up_ids_end_nothing_else),
		BED_TESTS(test_timer_max_pending_is_exact),
		BED_TESTS(test_timer_max_pending_of_none_is_no_limit),
		BED_TESTS(test_timer_task_can_schedule_at_the_limit),
		BED_TESTS(test_timer_max_pending_is_exact_among_threads),
		BED_TESTS(test_timer_max_pending_refuses_nobody_too_many),
		BED_TESTS(test_timer_max_pending_two_are_not_both_refused),
		cmocka_unit_test(test_timer_max_pending_counts_what_is_pending),
		cmocka_unit_test(
			test_timer_max_pending_counts_no_cancelled_ones),
		BED_TESTS(test_timer_schedule_refuses_what_it_cannot_call),
		BED_TESTS(test_timer_refused_when_full_leaves_no_trace),
		BED_TESTS(test_timer_refused_when_stopped_leaves_no_trace),
		BED_TESTS(test_timer_refused_without_memory_leaves_no_trace),
		BED_TESTS(test_timer_refused_without_memory_takes_no_place),
		BED_TESTS(test_timer_nth_refused_memory_refuses_one_schedule),
		BED_TESTS(test_timer_refused_in_a_child_leaves_no_trace),
		BED_TESTS(test_timer_slack_makes_many_share_a_tick),
		BED_TESTS(test_timer_slack_bounds_how_late),
		BED_TESTS(test_timer_slack_of_nothing_changes_nothing),
		BED_TESTS(test_timer_slack_has_a_most),
		BED_TESTS(test_timer_slack_brings_never_no_nearer),
	};

	return cmocka_run_group_tests_name("timer_schedule", tests, NULL, NULL);
}
