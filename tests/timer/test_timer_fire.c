/* SPDX-License-Identifier: MIT */
/*
 * test_timer_fire.c - SPEC 4: when timeouts fire, in which order, what wakes
 * the worker, and what a task may do.
 */
#include "timer_bed.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOUR_NS (3600 * TKW_SEC)
#define YEAR_NS (HOUR_NS * 24 * 365)

enum {
	HIER = TKW_WHEEL_HIERARCHICAL,
	HASHED = TKW_WHEEL_HASHED
};

/* --- helpers ------------------------------------------------------------ */

static int64_t clock_of(struct timer_bed *b)
{
	int64_t now_ns;

	pthread_mutex_lock(&b->lock);
	now_ns = b->now_ns;
	pthread_mutex_unlock(&b->lock);
	return now_ns;
}

static void pass_to(struct timer_bed *b, int64_t now_ns)
{
	bed_pass(b, now_ns - clock_of(b));
}

static void do_nothing(const struct tkw_firing *firing, void *ctx)
{
	(void)ctx;
	(void)firing;
}

/*
 * Lets time pass. If the worker sleeps for a timeout that is now overdue, this
 * wakes it at once.
 */
static void stall(struct timer_bed *b, int64_t ns)
{
	const struct tkw_task task = { .fn = do_nothing };

	bed_set_clock(b, clock_of(b) + ns);
	assert_int_equal(tkw_timer_schedule_at(b->t, &task, 0, NULL), 0);
	bed_pass(b, 0);
}

/* The first moment at which a timeout with this deadline may fire. */
static int64_t edge_of(const struct timer_bed *b, int64_t deadline_ns)
{
	return (deadline_ns + b->tick_ns - 1) / b->tick_ns * b->tick_ns;
}

/* Pseudo-random numbers, the same in each run. */
static uint64_t shuffled(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void sem_take(sem_t *s)
{
	while (sem_wait(s) != 0)
		;
}

/* Lets the timer run until s is posted. A worker runs by itself. */
static void drive_until(struct timer_bed *b, sem_t *s)
{
	if (b->drive == TKW_DRIVE_THREAD) {
		sem_take(s);
		return;
	}
	while (sem_trywait(s) != 0)
		assert_true(bed_turn(b, NULL) >= 0);
}

static void wait_asleep(pid_t tid)
{
	while (!bed_is_asleep(tid))
		sched_yield();
}

struct visit {
	sem_t done;
	pid_t tid;
	uint64_t looks; /* readings of a bed's clock by this thread */
};

static void note_thread(const struct tkw_firing *firing, void *ctx)
{
	struct visit *v = ctx;

	(void)firing;
	v->tid = gettid();
	v->looks = bed_now_calls();
	sem_post(&v->done);
}

static void visit(struct tkw_timer *t, int64_t delay_ns, struct visit *v)
{
	const struct tkw_task task = { .fn = note_thread, .ctx = v };

	sem_init(&v->done, 0, 0);
	assert_int_equal(tkw_timer_schedule(t, &task, delay_ns, NULL), 0);
	sem_take(&v->done);
	sem_destroy(&v->done);
}

/* Waits for a task with this delay. Returns the thread on which it ran. */
static pid_t run_one(struct tkw_timer *t, int64_t delay_ns)
{
	struct visit v;

	visit(t, delay_ns, &v);
	return v.tid;
}

/* How often the worker has read its clock. A turn begins with that. */
static uint64_t looks_of_worker(struct timer_bed *b)
{
	struct visit v;

	visit(b->t, 0, &v);
	wait_asleep(v.tid);
	return v.looks;
}

/* --- 4.1: never early --------------------------------------------------- */

static void expect_at_edge(struct timer_bed *b, int64_t deadline_ns)
{
	const struct tkw_task task = bed_task(b, 1);
	const int64_t edge_ns = edge_of(b, deadline_ns);

	assert_int_equal(tkw_timer_schedule_at(b->t, &task, deadline_ns, NULL),
			 0);
	pass_to(b, edge_ns - 1);
	bed_assert_nothing_fired(b);
	pass_to(b, edge_ns);
	bed_assert_fired(b, 1);
}

static void expect_around_edges(struct timer_bed *b, int engine,
				int64_t tick_ns)
{
	static const int64_t ticks[] = { 1,   2,   3,    15,   16,   17,
					 63,  64,  65,   255,  256,  257,
					 511, 512, 4095, 4096, 4097, 1000000 };
	const struct tkw_timer_config cfg = { .tick_ns = tick_ns,
					      .engine = engine };
	int64_t base_ns;
	size_t i;
	int64_t off;

	bed_reopen(b, &cfg);
	for (i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++) {
		for (off = -1; off <= 1; off++) {
			base_ns = clock_of(b) / tick_ns * tick_ns;
			base_ns += ticks[i] * tick_ns + off;
			if (base_ns > clock_of(b))
				expect_at_edge(b, base_ns);
		}
	}
}

/* SPEC 4.1, fault 13, fault 18 */
static void test_timer_fires_at_its_tick_and_not_before(struct timer_bed *b)
{
	expect_around_edges(b, HIER, TKW_MSEC);
	expect_around_edges(b, HIER, TKW_USEC);
	expect_around_edges(b, HIER, 2 * TKW_SEC);
	expect_around_edges(b, HASHED, TKW_MSEC);
}
BED_TEST(test_timer_fires_at_its_tick_and_not_before)

/* SPEC 4.1, 3.2 */
static void test_timer_delay_counts_from_the_clock(struct timer_bed *b)
{
	static const int64_t delays_ns[] = {
		1,        TKW_MSEC - 301,   TKW_MSEC - 300, TKW_MSEC - 299,
		TKW_MSEC, 5 * TKW_MSEC + 1, HOUR_NS
	};
	int64_t edge_ns;
	size_t i;

	for (i = 0; i < sizeof(delays_ns) / sizeof(delays_ns[0]); i++) {
		/* Begin at a time that is not a multiple of a tick. */
		pass_to(b, edge_of(b, clock_of(b)) + 300);
		edge_ns = edge_of(b, clock_of(b) + delays_ns[i]);
		bed_schedule(b, i, delays_ns[i]);
		pass_to(b, edge_ns - 1);
		bed_assert_nothing_fired(b);
		pass_to(b, edge_ns);
		bed_assert_fired(b, i);
	}
}
BED_TEST(test_timer_delay_counts_from_the_clock)

enum {
	MANY = 600
};

static size_t count_due(const int64_t *edges_ns, int64_t now_ns)
{
	size_t due = 0;
	size_t i;

	for (i = 0; i < MANY; i++)
		due += edges_ns[i] <= now_ns;
	return due;
}

/* SPEC 4.1: exactly what is due has fired. */
static void test_timer_fires_what_is_due_and_no_more(struct timer_bed *b)
{
	int64_t edges_ns[MANY];
	uint64_t seed = 41;
	int64_t delay_ns;
	size_t i;

	for (i = 0; i < MANY; i++) {
		delay_ns = (int64_t)(shuffled(&seed) % (3 * TKW_SEC));
		delay_ns = (delay_ns >> shuffled(&seed) % 20) + 1;
		edges_ns[i] = edge_of(b, clock_of(b) + delay_ns);
		bed_schedule(b, i, delay_ns);
	}
	while (b->fired_count < MANY) {
		bed_pass(b, (int64_t)(shuffled(&seed) % (30 * TKW_MSEC)));
		assert_int_equal(b->fired_count,
				 count_due(edges_ns, clock_of(b)));
	}
	for (i = 0; i < MANY; i++) {
		assert_true(b->fired[i].now_ns >= edges_ns[b->fired[i].tag]);
		assert_int_equal(bed_fired_times(b, i), 1);
	}
}
BED_TEST(test_timer_fires_what_is_due_and_no_more)

/* A task that reads the clock of the system. */
static void look_at_clock(const struct tkw_firing *firing, void *ctx)
{
	struct visit *v = ctx;

	if (tkw_timer_now_ns(firing->timer) >= firing->deadline_ns &&
	    firing->late_ns >= 0)
		v->tid++;
	sem_post(&v->done);
}

static void never_early_by(int clock)
{
	enum {
		TIMEOUTS = 200
	};
	const struct tkw_timer_config cfg = { .clock = clock,
					      .tick_ns = 50 * TKW_USEC };
	struct visit v = { .tid = 0 };
	const struct tkw_task task = { .fn = look_at_clock, .ctx = &v };
	struct tkw_timer *t;
	int i;

	sem_init(&v.done, 0, 0);
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	for (i = 0; i < TIMEOUTS; i++)
		assert_int_equal(
			tkw_timer_schedule(t, &task, i * 77777 + 1, NULL), 0);
	for (i = 0; i < TIMEOUTS; i++)
		sem_take(&v.done);
	assert_int_equal(tkw_timer_destroy(t), 0);
	assert_int_equal(v.tid, TIMEOUTS);
	sem_destroy(&v.done);
}

/* SPEC 4.1, 9.2, fault 13 */
static void test_timer_is_never_early_by_the_system_clock(void **state)
{
	(void)state;
	never_early_by(TKW_CLOCK_MONOTONIC);
	never_early_by(TKW_CLOCK_BOOTTIME);
}

/* --- 4.2, 4.3: what wakes the worker ------------------------------------ */

/* SPEC 4.2: the worker sleeps for an hour, then until an earlier timeout, and
 * so on. */
static void test_timer_an_earlier_timeout_wakes_the_worker(void **state)
{
	const struct tkw_task far = { .fn = note_thread };
	struct tkw_timer *t;
	int64_t delay_ns;
	pid_t tid;

	(void)state;
	assert_int_equal(tkw_timer_create(&t, NULL), 0);
	tid = run_one(t, TKW_MSEC);
	wait_asleep(tid); /* for ever: nothing is pending */
	assert_int_equal(run_one(t, TKW_MSEC), tid);
	for (delay_ns = HOUR_NS; delay_ns > 60 * TKW_SEC; delay_ns /= 2) {
		assert_int_equal(tkw_timer_schedule(t, &far, delay_ns, NULL),
				 0);
		wait_asleep(tid);
		assert_int_equal(run_one(t, TKW_MSEC), tid);
		wait_asleep(tid);
		assert_int_equal(run_one(t, 0), tid);
	}
	assert_int_equal(tkw_timer_destroy(t), 0);
}

static void *run_some(void *arg)
{
	struct tkw_timer *t = arg;
	int i;

	for (i = 0; i < 20; i++)
		run_one(t, i % 2 * TKW_MSEC);
	return NULL;
}

/* SPEC 4.2: a timer with many shards. Each of them can wake the worker. */
static void test_timer_any_shard_wakes_the_worker(void **state)
{
	const struct tkw_timer_config cfg = { .shards = 8 };
	const struct tkw_task far = { .fn = note_thread };
	pthread_t threads[8];
	struct tkw_timer *t;
	size_t i;

	(void)state;
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	assert_int_equal(tkw_timer_schedule(t, &far, HOUR_NS, NULL), 0);
	for (i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_some, t),
				 0);
	for (i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(tkw_timer_count(t), 1);
	assert_int_equal(tkw_timer_destroy(t), 0);
}

/* SPEC 4.2 */
static void test_timer_a_later_timeout_wakes_nobody(struct timer_bed *b)
{
	enum {
		ROUNDS = 100
	};
	const struct tkw_task task = bed_task(b, 1);
	const pid_t tid = run_one(b->t, 0);
	uint64_t before;
	int64_t i;

	bed_schedule(b, 0, HOUR_NS);
	before = looks_of_worker(b);
	for (i = 1; i <= ROUNDS; i++) {
		assert_int_equal(tkw_timer_schedule_at(b->t, &task,
						       BED_START_NS + HOUR_NS +
							       i * TKW_SEC,
						       NULL),
				 0);
		wait_asleep(tid);
	}
	assert_true(looks_of_worker(b) - before < ROUNDS / 4);
}
BED_TEST(test_timer_a_later_timeout_wakes_nobody)

struct beats {
	sem_t done;
	int left;
};

static void beat(const struct tkw_firing *firing, void *ctx)
{
	const struct tkw_task again = { .fn = beat, .ctx = ctx };
	struct beats *m = ctx;

	if (--m->left == 0 ||
	    tkw_timer_schedule(firing->timer, &again, TKW_MSEC, NULL) != 0)
		sem_post(&m->done);
}

/* Returns when at least this many milliseconds of real time have passed. */
static void beat_times(int count)
{
	struct beats m = { .left = count };
	const struct tkw_task first = { .fn = beat, .ctx = &m };
	struct tkw_timer *t;

	sem_init(&m.done, 0, 0);
	assert_int_equal(tkw_timer_create(&t, NULL), 0);
	assert_int_equal(tkw_timer_schedule(t, &first, TKW_MSEC, NULL), 0);
	sem_take(&m.done);
	assert_int_equal(tkw_timer_destroy(t), 0);
	assert_int_equal(m.left, 0);
	sem_destroy(&m.done);
}

/* SPEC 4.3, fault 20: the worker sleeps while another timer ticks a hundred
 * times. */
static void test_timer_sleeps_while_nothing_is_due(struct timer_bed *b)
{
	uint64_t before = looks_of_worker(b);

	beat_times(100);
	assert_true(looks_of_worker(b) - before < 20);
	bed_schedule(b, 1, HOUR_NS);
	before = looks_of_worker(b);
	beat_times(100);
	assert_true(looks_of_worker(b) - before < 20);
}
BED_TEST(test_timer_sleeps_while_nothing_is_due)

static unsigned count_rings(void)
{
	struct tkw_wheel_shape shape;
	struct tkw_wheel *w;
	size_t bytes;
	void *mem;

	assert_int_equal(tkw_wheel_bytes(NULL, &bytes), 0);
	mem = malloc(bytes);
	assert_non_null(mem);
	assert_int_equal(tkw_wheel_init(&w, mem, bytes, NULL), 0);
	assert_int_equal(tkw_wheel_get_shape(w, &shape), 0);
	assert_int_equal(tkw_wheel_fini(w), 0);
	free(mem);
	return shape.rings;
}

/* Goes from one needed turn to the next until a task has run. */
static unsigned useless_turns(struct timer_bed *b)
{
	unsigned turns = 0;
	int64_t next_ns;
	int64_t told_ns;
	int ran;

	assert_int_equal(tkw_timer_next_turn(b->t, &next_ns), 0);
	for (;;) {
		assert_true(next_ns < TKW_NEVER_NS);
		if (next_ns > clock_of(b))
			bed_set_clock(b, next_ns);
		ran = bed_turn(b, &next_ns);
		if (ran != 0)
			break;
		assert_true(++turns < 1000);
		assert_int_equal(tkw_timer_next_turn(b->t, &told_ns), 0);
		assert_true(told_ns == next_ns);
	}
	assert_int_equal(ran, 1);
	return turns;
}

/* SPEC 4.3 */
static void test_timer_needs_at_most_a_turn_per_ring(struct timer_bed *b)
{
	static const int64_t delays_ns[] = {
		1,       16 * TKW_MSEC, TKW_SEC, HOUR_NS, 30 * HOUR_NS,
		YEAR_NS, 100 * YEAR_NS
	};
	const unsigned rings = count_rings();
	int64_t next_ns;
	size_t i;

	for (i = 0; i < sizeof(delays_ns) / sizeof(delays_ns[0]); i++) {
		bed_schedule(b, i, delays_ns[i]);
		assert_true(useless_turns(b) <= rings);
		bed_assert_fired(b, i);
		assert_int_equal(b->fired[i].late_ns < TKW_MSEC, 1);
	}
	assert_int_equal(tkw_timer_next_turn(b->t, &next_ns), 0);
	assert_true(next_ns == TKW_NEVER_NS);
}
BED_TEST(test_timer_needs_at_most_a_turn_per_ring)

/* SPEC 4.3 */
static void test_timer_a_cancelled_one_costs_at_most_a_turn(struct timer_bed *b)
{
	enum {
		CANCELLED = 5
	};
	const unsigned rings = count_rings();
	struct tkw_timeout_id ids[CANCELLED];
	int64_t next_ns;
	int64_t i;

	bed_schedule(b, 99, HOUR_NS);
	for (i = 0; i < CANCELLED; i++)
		ids[i] = bed_schedule(b, 1, (CANCELLED - i) * TKW_SEC);
	for (i = 0; i < CANCELLED; i++)
		assert_int_equal(tkw_timer_cancel(b->t, ids[i]), 0);
	assert_true(useless_turns(b) <= rings + CANCELLED);
	bed_assert_fired(b, 99);
	assert_int_equal(bed_turn(b, &next_ns), 0);
	assert_true(next_ns == TKW_NEVER_NS);
}
BED_TEST(test_timer_a_cancelled_one_costs_at_most_a_turn)

/* --- 4.4: order --------------------------------------------------------- */

enum {
	PRODUCERS = 6,
	EACH = 300,
	SHOTS = PRODUCERS * EACH
};

struct shot {
	struct salvo *salvo;
	unsigned producer;
	unsigned number; /* in the order of scheduling, per producer */
	int64_t deadline_ns;
};

/* Written by the tasks, which run one at a time; read when all have run. */
struct salvo {
	struct timer_bed *b;
	struct shot shots[SHOTS];
	const struct shot *order[SHOTS];
	size_t fired;
	atomic_int refused;
};

static void note_shot(const struct tkw_firing *firing, void *ctx)
{
	const struct shot *s = ctx;
	struct salvo *v = s->salvo;

	(void)firing;
	if (v->fired < SHOTS)
		v->order[v->fired] = s;
	v->fired++;
}

/* Schedules the shots of one producer. arg is its first one. */
static void *produce(void *arg)
{
	struct shot *s = arg;
	struct tkw_task task = { .fn = note_shot };
	size_t i;

	for (i = 0; i < EACH; i++) {
		task.ctx = &s[i];
		if (tkw_timer_schedule_at(s->salvo->b->t, &task,
					  s[i].deadline_ns, NULL) != 0)
			atomic_fetch_add(&s->salvo->refused, 1);
	}
	return NULL;
}

/* Schedules all shots, with one thread per producer, at the same time. */
static struct salvo *produce_all(struct timer_bed *b, int64_t range_ns)
{
	struct salvo *v = calloc(1, sizeof(*v));
	pthread_t threads[PRODUCERS];
	uint64_t seed = 44;
	unsigned i;

	assert_non_null(v);
	v->b = b;
	for (i = 0; i < SHOTS; i++) {
		v->shots[i].salvo = v;
		v->shots[i].producer = i / EACH;
		v->shots[i].number = i % EACH;
		v->shots[i].deadline_ns =
			clock_of(b) + 1 +
			(int64_t)(shuffled(&seed) % (uint64_t)range_ns);
	}
	for (i = 0; i < PRODUCERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, produce,
						&v->shots[i * (size_t)EACH]),
				 0);
	for (i = 0; i < PRODUCERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(v->refused, 0);
	return v;
}

/* Checks that ticks ascend, and inside a tick the numbers of each producer. */
static void assert_order(const struct salvo *v)
{
	int64_t last_edge_ns[PRODUCERS] = { 0 };
	unsigned last_number[PRODUCERS] = { 0 };
	const struct shot *s;
	int64_t tick_ns = 0;
	int64_t edge_ns;
	size_t i;

	assert_int_equal(v->fired, SHOTS);
	for (i = 0; i < SHOTS; i++) {
		s = v->order[i];
		edge_ns = edge_of(v->b, s->deadline_ns);
		assert_true(edge_ns >= tick_ns);
		tick_ns = edge_ns;
		if (last_edge_ns[s->producer] == edge_ns)
			assert_true(s->number > last_number[s->producer]);
		last_edge_ns[s->producer] = edge_ns;
		last_number[s->producer] = s->number;
	}
}

static void expect_order(struct timer_bed *b, int engine, int64_t range_ns,
			 int64_t step_ns)
{
	const struct tkw_timer_config cfg = { .engine = engine, .shards = 4 };
	struct salvo *v;
	int64_t left_ns;

	bed_reopen(b, &cfg);
	v = produce_all(b, range_ns);
	bed_assert_ledger(b, SHOTS);
	for (left_ns = range_ns + TKW_MSEC; left_ns > 0; left_ns -= step_ns)
		stall(b, step_ns);
	bed_assert_ledger(b, 0);
	assert_order(v);
	free(v);
}

/* SPEC 4.4 */
static void test_timer_ticks_ascend_over_all_shards(struct timer_bed *b)
{
	expect_order(b, HIER, 20 * TKW_MSEC, TKW_MSEC);
	expect_order(b, HASHED, 20 * TKW_MSEC, 3 * TKW_MSEC);
}
BED_TEST(test_timer_ticks_ascend_over_all_shards)

/* SPEC 4.4, fault 15, fault 16 */
static void test_timer_after_a_stall_all_fire_in_order(struct timer_bed *b)
{
	expect_order(b, HIER, 20 * TKW_MSEC, TKW_SEC);
	expect_order(b, HIER, TKW_SEC, 24 * HOUR_NS);
	expect_order(b, HIER, 10 * YEAR_NS, 11 * YEAR_NS);
	expect_order(b, HASHED, 20 * TKW_MSEC, TKW_SEC);
	expect_order(b, HASHED, 5 * TKW_SEC, 10 * TKW_SEC);
}
BED_TEST(test_timer_after_a_stall_all_fire_in_order)

struct stand {
	struct timer_bed *b;
	sem_t entered;
	sem_t open;
};

static void stand_still(const struct tkw_firing *firing, void *ctx)
{
	struct stand *s = ctx;

	(void)firing;
	sem_post(&s->entered);
	sem_take(&s->open);
}

static void *schedule_overdue(void *arg)
{
	const struct stand *s = arg;
	const struct tkw_task task = bed_task(s->b, 2);

	bed_schedule(s->b, 3, HOUR_NS);
	tkw_timer_schedule_at(s->b->t, &task, BED_START_NS + 500 * TKW_MSEC,
			      NULL);
	return NULL;
}

/* SPEC 4.4: timeouts that were overdue when they were scheduled, in an empty
 * shard, while the worker was blocked. */
static void test_timer_overdue_ones_keep_the_order(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .shards = 4 };
	struct stand s = { .b = b };
	const struct tkw_task task = { .fn = stand_still, .ctx = &s };
	pthread_t thread;

	sem_init(&s.entered, 0, 0);
	sem_init(&s.open, 0, 0);
	bed_reopen(b, &cfg);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	sem_take(&s.entered);
	bed_schedule(b, 1, 100 * TKW_MSEC);
	bed_set_clock(b, BED_START_NS + TKW_SEC);
	assert_int_equal(pthread_create(&thread, NULL, schedule_overdue, &s),
			 0);
	pthread_join(thread, NULL);
	sem_post(&s.open);
	bed_pass(b, 0);
	bed_assert_fired(b, 1, 2);
	sem_destroy(&s.entered);
	sem_destroy(&s.open);
}
BED_TEST(test_timer_overdue_ones_keep_the_order)

/* SPEC 4.4: one thread schedules into one tick. */
static void test_timer_fires_fifo_inside_a_tick(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .shards = 4 };
	struct tkw_timeout_id ids[8];
	uint64_t i;

	bed_reopen(b, &cfg);
	for (i = 0; i < 8; i++) /* different deadlines, descending */
		ids[i] = bed_schedule(b, i, 5500 * TKW_USEC - (int64_t)i);
	assert_int_equal(tkw_timer_cancel(b->t, ids[3]), 0);
	bed_schedule(b, 8, 4 * TKW_MSEC);
	bed_schedule(b, 9, 5 * TKW_MSEC);
	bed_pass(b, 4 * TKW_MSEC);
	bed_assert_nothing_fired(b);
	bed_pass(b, 2 * TKW_MSEC);
	bed_assert_fired(b, 8, 0, 1, 2, 4, 5, 6, 7, 9);
}
BED_TEST(test_timer_fires_fifo_inside_a_tick)

/* Schedules, cancels, moves and lets time pass, by a seed. Returns how many
 * fired. */
static size_t play(struct timer_bed *b, uint64_t seed, uint64_t *tags)
{
	enum {
		STEPS = 2000
	};
	struct tkw_timeout_id ids[64] = { 0 };
	size_t begin = b->fired_count;
	uint64_t tag;
	uint64_t i;
	size_t n;

	for (tag = 0; tag < STEPS; tag++) {
		i = shuffled(&seed) % 64;
		if (tag % 7 == 0)
			tkw_timer_cancel(b->t, ids[i]);
		else if (tag % 7 == 1)
			tkw_timer_reschedule(b->t, ids[i], 9 * TKW_MSEC);
		else
			ids[i] = bed_schedule(
				b, tag,
				(int64_t)(shuffled(&seed) % (40 * TKW_MSEC)));
		bed_pass(b, (int64_t)(shuffled(&seed) % TKW_MSEC));
	}
	bed_pass(b, TKW_SEC);
	n = b->fired_count - begin;
	for (i = 0; i < n; i++)
		tags[i] = b->fired[begin + i].tag;
	return n;
}

/* SPEC 4.4: with the manual drive, whatever number of shards was asked for. */
static void test_timer_by_hand_is_deterministic(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .shards = 8 };
	static uint64_t first[2000];
	static uint64_t second[2000];
	size_t n;

	bed_reopen(b, &cfg);
	n = play(b, 7, first);
	assert_true(n > 500);
	/* Begins at the same place in a tick and in the rings. */
	bed_set_clock(b, BED_START_NS);
	bed_reopen(b, NULL);
	bed_set_clock(b, BED_START_NS);
	assert_int_equal(play(b, 7, first), n);
	bed_set_clock(b, BED_START_NS);
	bed_reopen(b, &cfg);
	assert_int_equal(play(b, 7, second), n);
	assert_memory_equal(first, second, n * sizeof(first[0]));
}
BED_TEST(test_timer_by_hand_is_deterministic)

struct scheduler {
	struct timer_bed *b;
	uint64_t tag;
};

static void *schedule_one(void *arg)
{
	struct scheduler *s = arg;

	bed_schedule(s->b, s->tag, 5 * TKW_MSEC);
	return NULL;
}

/* SPEC 4.4: there is one shard, so threads do not matter either. */
static void test_timer_by_hand_is_fifo_over_threads(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .shards = 8 };
	struct scheduler s = { .b = b };
	pthread_t thread;

	bed_reopen(b, &cfg);
	for (s.tag = 0; s.tag < 6; s.tag++) {
		assert_int_equal(
			pthread_create(&thread, NULL, schedule_one, &s), 0);
		pthread_join(thread, NULL);
	}
	bed_schedule(b, 6, 5 * TKW_MSEC);
	bed_pass(b, TKW_SEC);
	bed_assert_fired(b, 0, 1, 2, 3, 4, 5, 6);
}
BED_TEST(test_timer_by_hand_is_fifo_over_threads)

static void schedule_within(const struct tkw_firing *firing, void *ctx)
{
	const struct tkw_task task = bed_task(ctx, 2);

	tkw_timer_schedule_at(firing->timer, &task,
			      firing->deadline_ns + 2 * TKW_MSEC, NULL);
}

/* SPEC 4.4, 4.6: it waits, although the running turn covers its tick. */
static void test_timer_scheduled_inside_a_turn_waits(struct timer_bed *b)
{
	const struct tkw_task task = { .fn = schedule_within, .ctx = b };
	int64_t next_ns;

	assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_MSEC, NULL), 0);
	bed_schedule(b, 1, 7 * TKW_MSEC);
	bed_set_clock(b, BED_START_NS + TKW_SEC);
	assert_int_equal(bed_turn(b, &next_ns), 2);
	bed_assert_fired(b, 1);
	assert_true(next_ns <= BED_START_NS + TKW_SEC);
	assert_int_equal(bed_turn(b, NULL), 1);
	bed_assert_fired(b, 2);
	assert_true(b->fired[1].late_ns == TKW_SEC - 3 * TKW_MSEC);
}
BED_TEST(test_timer_scheduled_inside_a_turn_waits)

/* --- 4.5: until its run begins ------------------------------------------ */

struct meddler {
	struct tkw_timeout_id peers[4];
	int results[4];
	int state;
	int64_t left_ns;
	uint64_t pending;
};

static void meddle(const struct tkw_firing *firing, void *ctx)
{
	struct tkw_timeout_info info = { .state = 0 };
	struct meddler *m = ctx;

	m->pending = tkw_timer_count(firing->timer);
	tkw_timer_get(firing->timer, m->peers[1], &info);
	m->state = info.state;
	m->left_ns = info.left_ns;
	m->results[0] = tkw_timer_cancel(firing->timer, m->peers[0]);
	m->results[1] = tkw_timer_cancel(firing->timer, m->peers[1]);
	m->results[2] = tkw_timer_cancel_wait(firing->timer, m->peers[2]);
	m->results[3] =
		tkw_timer_reschedule(firing->timer, m->peers[3], TKW_SEC);
}

/* SPEC 4.5, fault 8: a task cancels others that are due in the same turn. */
static void test_timer_can_be_cancelled_while_it_is_due(struct timer_bed *b)
{
	struct meddler m = { .state = 0 };
	const struct tkw_task task = { .fn = meddle, .ctx = &m };

	m.peers[0] = bed_schedule(b, 0, 2 * TKW_MSEC);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 3 * TKW_MSEC, NULL),
			 0);
	m.peers[1] = bed_schedule(b, 1, 3 * TKW_MSEC); /* in the same tick */
	m.peers[2] = bed_schedule(b, 2, 4 * TKW_MSEC);
	m.peers[3] = bed_schedule(b, 3, 4 * TKW_MSEC);
	bed_schedule(b, 4, 4 * TKW_MSEC);
	bed_pass(b, 10 * TKW_MSEC);
	bed_assert_fired(b, 0, 4);
	assert_int_equal(m.results[0], -ENOENT);
	assert_int_equal(m.results[1], 0);
	assert_int_equal(m.results[2], 0);
	assert_int_equal(m.results[3], 0);
	assert_int_equal(m.state, TKW_TIMEOUT_PENDING);
	assert_true(m.left_ns == -7 * TKW_MSEC);
	assert_int_equal(bed_cancelled_times(b, 1), 1);
	assert_int_equal(bed_cancelled_times(b, 2), 1);
	bed_assert_ledger(b, 1);
	bed_pass(b, 2 * TKW_SEC);
	bed_assert_fired(b, 3);
}
BED_TEST(test_timer_can_be_cancelled_while_it_is_due)

/* SPEC 4.5: a due timeout counts as pending, a running one does not. */
static void test_timer_running_is_not_pending(struct timer_bed *b)
{
	struct meddler m = { .state = 0 };
	const struct tkw_task task = { .fn = meddle, .ctx = &m };

	assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_MSEC, NULL), 0);
	bed_schedule(b, 1, HOUR_NS);
	bed_schedule(b, 2, HOUR_NS);
	assert_int_equal(tkw_timer_count(b->t), 3);
	if (bed_by_hand(b))
		bed_schedule(b, 3, 2 * TKW_MSEC);
	bed_pass(b, 10 * TKW_MSEC);
	if (bed_by_hand(b))
		assert_int_equal(m.pending, 3);
	else /* there may be a marker of the bed */
		assert_true(m.pending == 2 || m.pending == 3);
	assert_int_equal(tkw_timer_count(b->t), 2);
}
BED_TEST(test_timer_running_is_not_pending)

struct again {
	sem_t done;
	int left;
	int second; /* second of two schedules at the limit */
	int first;
};

static void schedule_again(const struct tkw_firing *firing, void *ctx)
{
	const struct tkw_task task = { .fn = schedule_again, .ctx = ctx };
	struct again *a = ctx;

	if (a->left-- > 0) {
		a->first = tkw_timer_schedule(firing->timer, &task, 0, NULL);
		a->second = tkw_timer_schedule(firing->timer, &task, 0, NULL);
	}
	if (a->left < 0 || a->first != 0 || a->second != -EAGAIN)
		sem_post(&a->done);
}

/* SPEC 4.5, 3.6, fault 34: the place of a timeout is free before its task
 * runs. */
static void test_timer_task_may_schedule_at_the_limit(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .max_pending = 1 };
	struct again a = { .left = 10 };
	const struct tkw_task task = { .fn = schedule_again, .ctx = &a };

	sem_init(&a.done, 0, 0);
	bed_reopen(b, &cfg);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	drive_until(b, &a.done);
	assert_int_equal(a.first, 0);
	assert_int_equal(a.second, -EAGAIN);
	assert_int_equal(a.left, -1);
	assert_int_equal(tkw_timer_count(b->t), 0);
	sem_destroy(&a.done);
}
BED_TEST(test_timer_task_may_schedule_at_the_limit)

/* SPEC 4.5: another timeout in the due batch still has its place. */
static void test_timer_due_peers_hold_their_places(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .max_pending = 2 };
	struct again a = { .left = 1 };
	const struct tkw_task task = { .fn = schedule_again, .ctx = &a };

	sem_init(&a.done, 0, 0);
	bed_reopen(b, &cfg);
	assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_MSEC, NULL), 0);
	bed_schedule(b, 1, 2 * TKW_MSEC);
	bed_set_clock(b, BED_START_NS + TKW_SEC);
	assert_int_equal(bed_turn(b, NULL), 2);
	assert_int_equal(a.first, 0);
	assert_int_equal(a.second, -EAGAIN);
	bed_assert_ledger(b, 1);
	sem_destroy(&a.done);
}
BED_TEST(test_timer_due_peers_hold_their_places)

/* --- 4.6: what a task may do -------------------------------------------- */

struct tries {
	struct timer_bed *b;
	struct tkw_timeout_id to_cancel;
	struct tkw_timeout_id to_move;
	int cancel_own;
	int move_own;
	int move_own_at;
	int state_own;
	int cancel_other;
	int move_other;
	int schedule;
	int schedule_at;
};

static void try_all(const struct tkw_firing *firing, void *ctx)
{
	struct tkw_timeout_info info = { .state = 0 };
	struct tries *m = ctx;
	struct tkw_timer *t = firing->timer;
	const struct tkw_task task = bed_task(m->b, 7);

	m->cancel_own = tkw_timer_cancel(t, firing->id);
	m->move_own = tkw_timer_reschedule(t, firing->id, TKW_SEC);
	m->move_own_at = tkw_timer_reschedule_at(t, firing->id, TKW_SEC);
	if (tkw_timer_get(t, firing->id, &info) == 0)
		m->state_own = info.state;
	m->cancel_other = tkw_timer_cancel(t, m->to_cancel);
	m->move_other = tkw_timer_reschedule(t, m->to_move, TKW_SEC);
	m->schedule = tkw_timer_schedule(t, &task, 2 * TKW_SEC, NULL);
	m->schedule_at = tkw_timer_schedule_at(t, &task, 0, NULL);
}

/* SPEC 4.6, fault 7 */
static void test_timer_task_may_make_any_call(struct timer_bed *b)
{
	struct tries m = { .b = b };
	const struct tkw_task task = { .fn = try_all, .ctx = &m };
	struct tkw_timeout_id id;

	assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_MSEC, &id), 0);
	m.to_cancel = bed_schedule(b, 1, 20 * TKW_MSEC);
	m.to_move = bed_schedule(b, 2, 20 * TKW_MSEC);
	bed_pass(b, 5 * TKW_MSEC);
	assert_int_equal(m.cancel_own, -EBUSY);
	assert_int_equal(m.move_own, -EBUSY);
	assert_int_equal(m.move_own_at, -EBUSY);
	assert_int_equal(m.state_own, TKW_TIMEOUT_RUNNING);
	assert_int_equal(m.cancel_other, 0);
	assert_int_equal(m.move_other, 0);
	assert_int_equal(m.schedule, 0);
	assert_int_equal(m.schedule_at, 0);
	bed_assert_fired(b, 7);
	bed_assert_ledger(b, 2);
	bed_pass(b, 5 * TKW_SEC);
	bed_assert_fired(b, 2, 7);
	assert_int_equal(bed_cancelled_times(b, 1), 1);
	assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
}
BED_TEST(test_timer_task_may_make_any_call)

struct chain {
	atomic_bool over;
	sem_t done;
	int64_t delay_ns;
	atomic_int rounds;
	atomic_int refused;
};

static void next_of_chain(const struct tkw_firing *firing, void *ctx)
{
	const struct tkw_task task = { .fn = next_of_chain, .ctx = ctx };
	struct chain *c = ctx;

	atomic_fetch_add(&c->rounds, 1);
	if (!atomic_load(&c->over) &&
	    tkw_timer_schedule(firing->timer, &task, c->delay_ns, NULL) != 0)
		atomic_fetch_add(&c->refused, 1);
}

static void end_chain(const struct tkw_firing *firing, void *ctx)
{
	struct chain *c = ctx;

	(void)firing;
	atomic_store(&c->over, true);
	sem_post(&c->done);
}

static void zero_delay_loop(struct timer_bed *b, int64_t delay_ns)
{
	struct chain c = { .delay_ns = delay_ns };
	const struct tkw_task loop = { .fn = next_of_chain, .ctx = &c };
	const struct tkw_task end = { .fn = end_chain, .ctx = &c };
	const int64_t begin_ns = clock_of(b);

	sem_init(&c.done, 0, 0);
	assert_int_equal(tkw_timer_schedule(b->t, &loop, delay_ns, NULL), 0);
	assert_int_equal(tkw_timer_schedule(b->t, &loop, delay_ns, NULL), 0);
	if (bed_by_hand(b)) {
		assert_int_equal(bed_turn(b, NULL), 2);
		assert_int_equal(bed_turn(b, NULL), 2);
		assert_int_equal(c.rounds, 4);
	}
	assert_int_equal(
		tkw_timer_schedule_at(b->t, &end, begin_ns + TKW_MSEC, NULL),
		0);
	bed_set_clock(b, begin_ns + 10 * TKW_MSEC);
	drive_until(b, &c.done);
	bed_pass(b, TKW_MSEC);
	bed_assert_ledger(b, 0);
	assert_int_equal(c.refused, 0);
	sem_destroy(&c.done);
}

/* SPEC 4.6, 3.3, fault 6: a turn ends, so that other timeouts get theirs. */
static void test_timer_a_turn_ends(struct timer_bed *b)
{
	zero_delay_loop(b, 0);
	zero_delay_loop(b, -TKW_SEC);
	zero_delay_loop(b, INT64_MIN);
}
BED_TEST(test_timer_a_turn_ends)

struct crowd {
	struct timer_bed *b;
	atomic_int inside;
	atomic_int overlaps;
	atomic_int refused;
	atomic_int fired;
	atomic_int tids; /* changes of the thread that runs the tasks */
	pid_t tid;
};

enum {
	CROWD_THREADS = 4,
	CROWD_EACH = 500
};

static void be_alone(const struct tkw_firing *firing, void *ctx)
{
	struct crowd *c = ctx;

	(void)firing;
	if (atomic_fetch_add(&c->inside, 1) != 0)
		atomic_fetch_add(&c->overlaps, 1);
	sched_yield();
	if (c->tid != gettid()) {
		c->tid = gettid();
		atomic_fetch_add(&c->tids, 1);
	}
	atomic_fetch_sub(&c->inside, 1);
	atomic_fetch_add(&c->fired, 1);
}

static void *join_crowd(void *arg)
{
	struct crowd *c = arg;
	const struct tkw_task task = { .fn = be_alone, .ctx = c };
	int i;

	for (i = 0; i < CROWD_EACH; i++) {
		if (tkw_timer_schedule(c->b->t, &task, 0, NULL) != 0)
			atomic_fetch_add(&c->refused, 1);
	}
	return NULL;
}

/* Two threads make turns of a timer without a worker, one at a time. */
static void *turn_for_crowd(void *arg)
{
	struct crowd *c = arg;

	while (atomic_load(&c->fired) < CROWD_THREADS * CROWD_EACH) {
		if (bed_turn(c->b, NULL) <= 0)
			sched_yield();
	}
	return NULL;
}

/* SPEC 4.6 */
static void test_timer_runs_one_task_at_a_time(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .shards = 4 };
	const bool by_hand = bed_by_hand(b);
	struct crowd c = { .b = b };
	pthread_t threads[CROWD_THREADS];
	pthread_t turners[2];
	size_t i;

	bed_reopen(b, &cfg);
	for (i = 0; i < CROWD_THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, join_crowd, &c), 0);
	for (i = 0; by_hand && i < 2; i++)
		assert_int_equal(
			pthread_create(&turners[i], NULL, turn_for_crowd, &c),
			0);
	for (i = 0; i < CROWD_THREADS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; by_hand && i < 2; i++)
		pthread_join(turners[i], NULL);
	bed_pass(b, TKW_MSEC);
	assert_int_equal(c.refused, 0);
	assert_int_equal(c.overlaps, 0);
	assert_int_equal(c.fired, CROWD_THREADS * CROWD_EACH);
	if (!by_hand)
		assert_int_equal(c.tids, 1);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_runs_one_task_at_a_time)

/* --- 4.7: what a task is told ------------------------------------------- */

/* SPEC 4.7 */
static void test_timer_task_knows_its_id_and_deadline(struct timer_bed *b)
{
	struct tkw_timeout_id ids[2];

	ids[0] = bed_schedule(b, 0, 5 * TKW_MSEC + 17);
	ids[1] = bed_schedule(b, 1, 8 * TKW_MSEC);
	bed_pass(b, 20 * TKW_MSEC);
	bed_assert_fired(b, 0, 1);
	assert_true(b->fired[0].id.bits == ids[0].bits);
	assert_true(b->fired[1].id.bits == ids[1].bits);
	assert_true(b->fired[0].deadline_ns ==
		    BED_START_NS + 5 * TKW_MSEC + 17);
	assert_true(b->fired[1].deadline_ns == BED_START_NS + 8 * TKW_MSEC);
	assert_true(b->fired[0].late_ns == 15 * TKW_MSEC - 17);
	assert_true(b->fired[1].late_ns == 12 * TKW_MSEC);
}
BED_TEST(test_timer_task_knows_its_id_and_deadline)

struct told {
	struct timer_bed *b;
	const struct tkw_timer *timer;
};

static void take_long(const struct tkw_firing *firing, void *ctx)
{
	struct told *s = ctx;

	s->timer = firing->timer;
	bed_set_clock(s->b, BED_START_NS + TKW_SEC);
}

/* SPEC 4.7: lateness counts until the turn begins, without the time that other
 * tasks took. */
static void test_timer_lateness_counts_to_the_turn(struct timer_bed *b)
{
	struct told s = { .b = b };
	const struct tkw_task task = { .fn = take_long, .ctx = &s };

	assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_MSEC, NULL), 0);
	bed_schedule(b, 1, TKW_MSEC);
	bed_set_clock(b, BED_START_NS + 5 * TKW_MSEC);
	assert_int_equal(bed_turn(b, NULL), 2);
	bed_assert_fired(b, 1);
	assert_ptr_equal(s.timer, b->t);
	assert_true(b->fired[0].late_ns == 4 * TKW_MSEC);
}
BED_TEST(test_timer_lateness_counts_to_the_turn)

/* --- 4.9: exit from a task ---------------------------------------------- */

/* Static, so that the child does not report a leak. */
static struct tkw_timer *child_timer;
static int child_says;

static void say_farewell(void)
{
	if (write(child_says, "x", 1) != 1)
		_exit(3);
}

static void leave(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	exit(*(const int *)ctx);
}

static void live_as_child(int drive)
{
	static const int status = 7;
	const struct tkw_timer_config cfg = { .drive = drive };
	const struct tkw_task task = { .fn = leave, .ctx = (void *)&status };
	const struct tkw_task far = { .fn = leave };

	if (atexit(say_farewell) != 0 ||
	    tkw_timer_create(&child_timer, &cfg) != 0 ||
	    tkw_timer_schedule(child_timer, &far, HOUR_NS, NULL) != 0 ||
	    tkw_timer_schedule(child_timer, &task, 0, NULL) != 0)
		_exit(4);
	if (drive != TKW_DRIVE_THREAD) {
		tkw_timer_turn(child_timer, 0, NULL);
		_exit(5);
	}
	for (;;)
		pause();
}

static void exit_in_child(int drive)
{
	int ends[2];
	int status;
	char c = '\0';
	pid_t pid;

	/* Otherwise both processes would write the buffered output. */
	fflush(NULL);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		child_says = ends[1];
		live_as_child(drive);
	}
	close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(read(ends[0], &c, 1), 1);
	assert_int_equal(c, 'x');
	close(ends[0]);
}

/* SPEC 4.9, fault 12 */
static void test_timer_task_may_exit_the_process(void **state)
{
	(void)state;
	exit_in_child(TKW_DRIVE_THREAD);
	exit_in_child(TKW_DRIVE_MANUAL);
	exit_in_child(TKW_DRIVE_LOOP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_timer_fires_at_its_tick_and_not_before),
		BED_TESTS(test_timer_delay_counts_from_the_clock),
		BED_TESTS(test_timer_fires_what_is_due_and_no_more),
		cmocka_unit_test(test_timer_is_never_early_by_the_system_clock),
		cmocka_unit_test(
			test_timer_an_earlier_timeout_wakes_the_worker),
		cmocka_unit_test(test_timer_any_shard_wakes_the_worker),
		BED_TEST_UNDER(test_timer_a_later_timeout_wakes_nobody, thread),
		BED_TEST_UNDER(test_timer_sleeps_while_nothing_is_due, thread),
		BED_TEST_UNDER(test_timer_needs_at_most_a_turn_per_ring,
			       manual),
		BED_TEST_UNDER(test_timer_a_cancelled_one_costs_at_most_a_turn,
			       manual),
		BED_TESTS(test_timer_ticks_ascend_over_all_shards),
		BED_TESTS(test_timer_after_a_stall_all_fire_in_order),
		BED_TEST_UNDER(test_timer_overdue_ones_keep_the_order, thread),
		BED_TESTS(test_timer_fires_fifo_inside_a_tick),
		BED_TEST_UNDER(test_timer_by_hand_is_deterministic, manual),
		BED_TEST_UNDER(test_timer_by_hand_is_fifo_over_threads, manual),
		BED_TEST_UNDER(test_timer_scheduled_inside_a_turn_waits,
			       manual),
		BED_TESTS(test_timer_can_be_cancelled_while_it_is_due),
		BED_TESTS(test_timer_running_is_not_pending),
		BED_TESTS(test_timer_task_may_schedule_at_the_limit),
		BED_TESTS_BY_HAND(test_timer_due_peers_hold_their_places),
		BED_TESTS(test_timer_task_may_make_any_call),
		BED_TESTS(test_timer_a_turn_ends),
		BED_TESTS(test_timer_runs_one_task_at_a_time),
		BED_TESTS(test_timer_task_knows_its_id_and_deadline),
		BED_TESTS_BY_HAND(test_timer_lateness_counts_to_the_turn),
		cmocka_unit_test(test_timer_task_may_exit_the_process),
	};

	return cmocka_run_group_tests_name("timer_fire", tests, NULL, NULL);
}
