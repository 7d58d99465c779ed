/* SPDX-License-Identifier: MIT */
/*
 * fault_time.c - faults 13 to 20: clocks that stand still, go back or jump, a
 * worker that is frozen, deadlines at the ends of time and at the boundaries of
 * rings.
 *
 * The linker (--wrap) sends each call by which the library could read the time
 * of day to the functions at the end of this file. Fault 19 counts them.
 */
#include "fault_bed.h"

#include <limits.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define DAY (86400 * TKW_SEC)
#define YEAR (365 * DAY)

/* --- an oracle: what must have fired, and in which order --------------- */

struct expected {
	uint64_t tag;
	uint64_t tick;
	int64_t deadline_ns;
};

static uint64_t tick_of(int64_t deadline_ns, int64_t tick_ns)
{
	return (uint64_t)(deadline_ns / tick_ns + (deadline_ns % tick_ns != 0));
}

/* Orders by tick, and inside a tick by tag, which is the order of
 * scheduling. */
static int by_tick(const void *a, const void *b)
{
	const struct expected *x = a;
	const struct expected *y = b;

	if (x->tick != y->tick)
		return x->tick < y->tick ? -1 : 1;
	return (x->tag > y->tag) - (x->tag < y->tag);
}

/* How many of the n sorted ones are due at a time. */
static size_t due_at(const struct expected *e, size_t n, int64_t now_ns,
		     int64_t tick_ns)
{
	size_t due = 0;

	while (due < n && e[due].tick <= (uint64_t)(now_ns / tick_ns))
		due++;
	return due;
}

/* Checks that exactly the first `due` have fired, in order and not early. */
static void expect_fired(struct timer_bed *b, const struct expected *e,
			 size_t due)
{
	size_t i;

	assert_int_equal(b->fired_count, due);
	for (i = 0; i < due; i++) {
		assert_int_equal(b->fired[i].tag, e[i].tag);
		assert_int_equal(b->fired[i].deadline_ns, e[i].deadline_ns);
		assert_true(b->fired[i].now_ns >= e[i].deadline_ns);
		assert_true(b->fired[i].late_ns >= 0);
	}
}

/* Reads the clock of the bed under its lock, because the worker may read it,
 * too. */
static int64_t clock_of(struct timer_bed *b)
{
	int64_t now_ns;

	pthread_mutex_lock(&b->lock);
	now_ns = b->now_ns;
	pthread_mutex_unlock(&b->lock);
	return now_ns;
}

static struct expected schedule(struct timer_bed *b, uint64_t tag,
				int64_t delay_ns)
{
	const int64_t deadline_ns = clock_of(b) + delay_ns;

	bed_schedule(b, tag, delay_ns);
	return (struct expected){ tag, tick_of(deadline_ns, b->tick_ns),
				  deadline_ns };
}

/* --- 13: never early ---------------------------------------------------- */

enum {
	PHASES = 150
};

/* Schedules, and lets time pass, in random steps of a few ticks. */
static void walk(struct timer_bed *b, int64_t tick_ns, uint64_t *seed)
{
	const struct tkw_timer_config cfg = { .tick_ns = tick_ns };
	struct expected e[PHASES];
	size_t due;
	size_t i;

	bed_reopen(b, &cfg);
	b->fired_count = 0;
	for (i = 0; i < PHASES; i++) {
		/* No delay is 0, because that need not wait for its tick. */
		e[i] = schedule(
			b, i,
			1 + (int64_t)fault_below(seed, 20 * (uint64_t)tick_ns));
		qsort(e, i + 1, sizeof(e[0]), by_tick);
		bed_pass(b,
			 (int64_t)fault_below(seed, 2 * (uint64_t)tick_ns + 1));
		due = due_at(e, i + 1, clock_of(b), tick_ns);
		assert_int_equal(b->fired_count, due);
	}
	bed_pass(b, 30 * tick_ns);
	expect_fired(b, e, PHASES);
}

/* SPEC 2.3, 4.1, fault 13: a timeout is also not late by more than a tick. */
static void fault_13_never_early_whatever_the_phase(struct timer_bed *b)
{
	static const int64_t ticks[] = { TKW_MSEC, TKW_USEC, 7, 1,
					 TKW_SEC + 1 };
	uint64_t seed = fault_seed();
	size_t i;

	for (i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++)
		walk(b, ticks[i], &seed);
}
BED_TEST(fault_13_never_early_whatever_the_phase)

/* One timeout on a real clock. */
struct real {
	clockid_t clock;
	int64_t least_ns;
	atomic_ulong *fired;
};

static int64_t read_clock(clockid_t clock)
{
	struct timespec ts;

	must(clock_gettime(clock, &ts) == 0);
	return ts.tv_sec * TKW_SEC + ts.tv_nsec;
}

static void expect_not_early(const struct tkw_firing *f, void *ctx)
{
	const struct real *r = ctx;

	must(read_clock(r->clock) >= r->least_ns);
	must(f->deadline_ns >= r->least_ns);
	must(f->late_ns >= 0);
	atomic_fetch_add(r->fired, 1);
}

static void walk_for_real(int drive, int clock, int64_t tick_ns, uint64_t *seed)
{
	enum {
		COUNT = 2000
	};
	const struct tkw_timer_config cfg = { .tick_ns = tick_ns,
					      .clock = clock };
	static struct real r[COUNT];
	struct tkw_task task = { .fn = expect_not_early };
	atomic_ulong fired = 0;
	struct fault_pump p;
	int64_t delay_ns;
	size_t i;

	fault_pump_open(&p, drive, &cfg);
	for (i = 0; i < COUNT; i++) {
		delay_ns = (int64_t)fault_below(seed, 30 * TKW_MSEC);
		r[i].clock = clock == TKW_CLOCK_BOOTTIME ? CLOCK_BOOTTIME
							 : CLOCK_MONOTONIC;
		r[i].fired = &fired;
		r[i].least_ns = read_clock(r[i].clock) + delay_ns;
		task.ctx = &r[i];
		must(tkw_timer_schedule(p.t, &task, delay_ns, NULL) == 0);
	}
	fault_await(&fired, COUNT);
	fault_pump_close(&p);
}

/* SPEC 4.1, 9.2, fault 13 */
static void fault_13_never_early_on_the_real_clocks(void **state)
{
	uint64_t seed = fault_seed();
	int drive = fault_drive(state);

	walk_for_real(drive, TKW_CLOCK_MONOTONIC, TKW_USEC, &seed);
	walk_for_real(drive, TKW_CLOCK_MONOTONIC, TKW_MSEC, &seed);
	walk_for_real(drive, TKW_CLOCK_BOOTTIME, TKW_USEC, &seed);
}

/* --- 14: the clock stands, or goes back -------------------------------- */

/* SPEC 9.2, fault 14 */
static void fault_14_a_clock_that_stands_fires_nothing_more(struct timer_bed *b)
{
	int i;

	bed_set_clock(b, 2000 * TKW_SEC);
	bed_schedule(b, 1, TKW_MSEC);
	bed_schedule(b, 2, 2 * TKW_MSEC);
	bed_pass(b, TKW_MSEC);
	bed_assert_fired(b, 1);
	for (i = 0; i < 50; i++)
		bed_pass(b, 0);
	bed_assert_nothing_fired(b);
	bed_assert_ledger(b, 1);
	/* A timeout that is due at once still fires, any number of times. */
	for (i = 0; i < 50; i++) {
		bed_schedule(b, 3, 0);
		bed_pass(b, 0);
		bed_assert_fired(b, 3);
	}
	bed_pass(b, TKW_MSEC);
	bed_assert_fired(b, 2);
}
BED_TEST(fault_14_a_clock_that_stands_fires_nothing_more)

/* After a turn has seen the time high_ns, the clock goes back by back_ns. */
static void go_back(struct timer_bed *b, int64_t back_ns)
{
	const int64_t high_ns = clock_of(b);
	struct tkw_timeout_info info;
	struct tkw_timeout_id id;

	bed_pass(b, 0);
	bed_schedule(b, 1, 2 * TKW_MSEC);
	bed_set_clock(b, high_ns - back_ns);
	assert_int_equal(tkw_timer_now_ns(b->t), high_ns);
	/* The delay counts from the highest time that was seen. */
	id = bed_schedule(b, 2, 3 * TKW_MSEC);
	assert_int_equal(tkw_timer_get(b->t, id, &info), 0);
	assert_int_equal(info.deadline_ns, high_ns + 3 * TKW_MSEC);
	bed_schedule(b, 3, 0);
	bed_pass(b, 0);
	bed_assert_fired(b, 3);
	/* The clock goes up again, and no timeout fires early. */
	bed_set_clock(b, high_ns);
	bed_pass(b, 2 * TKW_MSEC - 1000);
	bed_assert_nothing_fired(b);
	bed_pass(b, 1000 + TKW_MSEC);
	bed_assert_fired(b, 1);
	bed_pass(b, TKW_MSEC);
	bed_assert_fired(b, 2);
}

/* SPEC 9.2, fault 14 */
static void fault_14_a_clock_that_goes_back_is_held(struct timer_bed *b)
{
	go_back(b, 1);
	go_back(b, TKW_MSEC);
	go_back(b, TKW_SEC);
	go_back(b, 300 * TKW_SEC);
	go_back(b, clock_of(b)); /* to zero */
	bed_assert_ledger(b, 0);
}
BED_TEST(fault_14_a_clock_that_goes_back_is_held)

/* SPEC 9.2, fault 14: each reading counts, not only those of a turn. */
static void fault_14_each_reading_is_held(struct timer_bed *b)
{
	const int64_t high_ns = BED_START_NS + 5 * TKW_SEC;
	struct tkw_timeout_info info;
	struct tkw_timeout_id id;

	bed_set_clock(b, high_ns);
	assert_int_equal(tkw_timer_now_ns(b->t), high_ns);
	bed_set_clock(b, BED_START_NS);
	assert_int_equal(tkw_timer_now_ns(b->t), high_ns);
	id = bed_schedule(b, 1, TKW_SEC);
	assert_int_equal(tkw_timer_get(b->t, id, &info), 0);
	assert_int_equal(info.deadline_ns, high_ns + TKW_SEC);
	assert_int_equal(info.left_ns, TKW_SEC);
	bed_set_clock(b, high_ns + TKW_SEC);
	id = bed_schedule(b, 2, TKW_SEC);
	bed_set_clock(b, high_ns);
	assert_int_equal(tkw_timer_reschedule(b->t, id, TKW_SEC), 0);
	assert_int_equal(tkw_timer_get(b->t, id, &info), 0);
	assert_int_equal(info.deadline_ns, high_ns + 2 * TKW_SEC);
}
BED_TEST(fault_14_each_reading_is_held)

/* SPEC 9.2, fault 14: the clock goes back and forth. Each timeout fires once,
 * and none early. */
static void fault_14_a_clock_that_trembles_loses_nothing(struct timer_bed *b)
{
	enum {
		COUNT = 200
	};
	uint64_t seed = fault_seed();
	struct expected e[COUNT];
	int64_t high_ns = clock_of(b);
	size_t i;

	for (i = 0; i < COUNT; i++)
		e[i] = schedule(b, i, 1 + (int64_t)fault_below(&seed, TKW_SEC));
	qsort(e, COUNT, sizeof(e[0]), by_tick);
	while (high_ns < BED_START_NS + TKW_SEC + TKW_MSEC) {
		bed_set_clock(b,
			      high_ns - (int64_t)fault_below(&seed, TKW_SEC));
		bed_pass(b, 0);
		high_ns += (int64_t)fault_below(&seed, 50 * TKW_MSEC);
		bed_set_clock(b, high_ns);
		bed_pass(b, 0);
		expect_fired(b, e, due_at(e, COUNT, high_ns, TKW_MSEC));
	}
	assert_int_equal(b->fired_count, COUNT);
}
BED_TEST(fault_14_a_clock_that_trembles_loses_nothing)

/* --- 15: jumps ---------------------------------------------------------- */

enum {
	JUMPERS = 400
};

/*
 * If the timer went from tick to tick, this would not end: ten years are 3e11
 * ticks of a millisecond.
 */
static void jump(struct timer_bed *b, int engine, int64_t jump_ns)
{
	const struct tkw_timer_config cfg = { .engine = engine };
	uint64_t seed = fault_seed();
	struct expected e[JUMPERS];
	int64_t delay_ns = 1;
	size_t due;
	size_t i;

	bed_set_clock(b, BED_START_NS);
	bed_reopen(b, &cfg);
	b->fired_count = 0;
	for (i = 0; i < JUMPERS; i++) {
		/* Each fourth one gets the delay of the one before. */
		if (i % 4 != 0)
			delay_ns = 1 + (int64_t)fault_below(
					       &seed, 2 * (uint64_t)jump_ns);
		e[i] = schedule(b, i, delay_ns);
	}
	qsort(e, JUMPERS, sizeof(e[0]), by_tick);
	bed_pass(b, jump_ns);
	due = due_at(e, JUMPERS, clock_of(b), TKW_MSEC);
	expect_fired(b, e, due);
	bed_assert_ledger(b, JUMPERS - due);
	for (i = 0; i < due; i++)
		assert_int_equal(b->fired[i].late_ns,
				 clock_of(b) - e[i].deadline_ns);
	bed_pass(b, 2 * jump_ns);
	expect_fired(b, e, JUMPERS);
	/* Nothing is pending, so there is nothing to fire on the way. */
	bed_pass(b, 10 * jump_ns);
	bed_assert_ledger(b, 0);
}

/* SPEC 1.5, 4.4, fault 15 */
static void fault_15_jumps_keep_the_order_hierarchical(struct timer_bed *b)
{
	jump(b, TKW_WHEEL_HIERARCHICAL, TKW_SEC);
	jump(b, TKW_WHEEL_HIERARCHICAL, DAY);
	jump(b, TKW_WHEEL_HIERARCHICAL, 10 * YEAR);
}
BED_TEST(fault_15_jumps_keep_the_order_hierarchical)

/* SPEC 1.5, 4.4, fault 15 */
static void fault_15_jumps_keep_the_order_hashed(struct timer_bed *b)
{
	jump(b, TKW_WHEEL_HASHED, TKW_SEC);
	jump(b, TKW_WHEEL_HASHED, DAY);
	jump(b, TKW_WHEEL_HASHED, 10 * YEAR);
}
BED_TEST(fault_15_jumps_keep_the_order_hashed)

/* --- 16: the worker is frozen ------------------------------------------ */

struct freezer {
	struct timer_bed *b;
	struct fault_gate frozen;
	struct fault_gate thaw;
	pthread_t driver; /* manual drive: the thread that is frozen */
};

static void freeze(const struct tkw_firing *f, void *ctx)
{
	struct freezer *z = ctx;

	(void)f;
	fault_gate_open(&z->frozen);
	fault_gate_wait(&z->thaw);
}

static void *pass_nothing(void *arg)
{
	bed_pass(arg, 0);
	return NULL;
}

/* When this returns, the worker is in a task. */
static void freeze_worker(struct freezer *z, struct timer_bed *b)
{
	const struct tkw_task task = { .fn = freeze, .ctx = z };

	z->b = b;
	fault_gate_init(&z->frozen);
	fault_gate_init(&z->thaw);
	must(tkw_timer_schedule(b->t, &task, 0, NULL) == 0);
	fault_spawn(&z->driver, pass_nothing, b);
	fault_gate_wait(&z->frozen);
}

static void thaw_worker(struct freezer *z)
{
	fault_gate_open(&z->thaw);
	fault_join(z->driver);
	bed_pass(z->b, 0);
}

/* SPEC 4.4, fault 16 */
static void fault_16_after_ten_frozen_seconds_all_fire(struct timer_bed *b)
{
	enum {
		BEFORE = 300,
		AFTER = 50
	};
	uint64_t seed = fault_seed();
	struct expected e[BEFORE + AFTER];
	struct freezer z;
	size_t i;

	for (i = 0; i < BEFORE; i++)
		e[i] = schedule(b, i,
				1 + (int64_t)fault_below(&seed, 15 * TKW_SEC));
	freeze_worker(&z, b);
	bed_set_clock(b, clock_of(b) + 10 * TKW_SEC);
	for (; i < BEFORE + AFTER; i++)
		e[i] = schedule(b, i,
				1 + (int64_t)fault_below(&seed, 5 * TKW_SEC));
	bed_assert_nothing_fired(b);
	qsort(e, i, sizeof(e[0]), by_tick);
	thaw_worker(&z);
	expect_fired(b, e, due_at(e, i, clock_of(b), TKW_MSEC));
	bed_pass(b, 5 * TKW_SEC);
	expect_fired(b, e, i);
}
BED_TEST(fault_16_after_ten_frozen_seconds_all_fire)

struct elsewhere {
	struct timer_bed *b;
	uint64_t tag;
	int64_t ns;
	bool delay; /* a delay reads the clock; a deadline does not */
};

static void *schedule_there(void *arg)
{
	const struct elsewhere *e = arg;
	const struct tkw_task task = bed_task(e->b, e->tag);

	if (e->delay)
		must(tkw_timer_schedule(e->b->t, &task, e->ns, NULL) == 0);
	else
		must(tkw_timer_schedule_at(e->b->t, &task, e->ns, NULL) == 0);
	return NULL;
}

/* Uses a new thread each time, because new threads use the shards in turn. */
static void schedule_elsewhere(const struct elsewhere *e)
{
	struct elsewhere copy = *e;
	pthread_t thread;

	fault_spawn(&thread, schedule_there, &copy);
	fault_join(thread);
}

/*
 * SPEC 4.4, fault 16: deadlines that pass while the worker is frozen, scheduled
 * before and during that, in all shards.
 */
static void
fault_16_what_comes_while_frozen_keeps_the_order(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .shards = 4 };
	const int64_t base_ns = clock_of(b);
	struct elsewhere e = { .b = b };
	struct freezer z;

	bed_reopen(b, &cfg);
	e.ns = base_ns + TKW_SEC;
	e.tag = 1;
	schedule_elsewhere(&e);
	freeze_worker(&z, b);
	bed_set_clock(b, base_ns + 10 * TKW_SEC);
	/* This makes each shard read the clock. */
	e.ns = 20 * TKW_SEC;
	e.delay = true;
	for (e.tag = 10; e.tag < 14; e.tag++)
		schedule_elsewhere(&e);
	e.delay = false;
	for (e.tag = 7; e.tag >= 3; e.tag -= 2) {
		e.ns = base_ns + (int64_t)e.tag * TKW_SEC;
		schedule_elsewhere(&e);
	}
	thaw_worker(&z);
	bed_assert_fired(b, 1, 3, 5, 7);
}
BED_TEST(fault_16_what_comes_while_frozen_keeps_the_order)

/* --- 17: the ends of time ---------------------------------------------- */

/* SPEC 3.2, 3.3, fault 17 */
static void fault_17_delays_up_to_one_ns_fire_next(struct timer_bed *b)
{
	static const int64_t delays[] = {
		0, -1, -TKW_SEC, -10 * YEAR, INT64_MIN, INT64_MIN + 1
	};
	uint64_t i;

	for (i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
		bed_schedule(b, i, delays[i]);
		bed_pass(b, 0);
		bed_assert_fired(b, i);
	}
	bed_schedule(b, 10, 1);
	bed_pass(b, 0);
	bed_assert_nothing_fired(b);
	bed_pass(b, TKW_MSEC);
	bed_assert_fired(b, 10);
}
BED_TEST(fault_17_delays_up_to_one_ns_fire_next)

static struct tkw_timeout_id schedule_at(struct timer_bed *b, uint64_t tag,
					 int64_t at_ns)
{
	const struct tkw_task task = bed_task(b, tag);
	struct tkw_timeout_id id = { 0 };

	assert_int_equal(tkw_timer_schedule_at(b->t, &task, at_ns, &id), 0);
	return id;
}

/* SPEC 3.3, 3.4, fault 17 */
static void fault_17_deadlines_of_the_past_fire_next(struct timer_bed *b)
{
	schedule_at(b, 1, INT64_MIN);
	schedule_at(b, 2, -1);
	schedule_at(b, 3, 0);
	schedule_at(b, 4, 1);
	bed_pass(b, 0);
	bed_assert_fired(b, 1, 2, 3, 4);
}
BED_TEST(fault_17_deadlines_of_the_past_fire_next)

static void expect_never(struct timer_bed *b, struct tkw_timeout_id id)
{
	struct tkw_timeout_info info;
	char text[32];

	assert_int_equal(tkw_timer_get(b->t, id, &info), 0);
	assert_true(info.deadline_ns == TKW_NEVER_NS);
	assert_int_equal(info.state, TKW_TIMEOUT_PENDING);
	assert_true(tkw_timer_print_timeout(b->t, id, text, sizeof(text)) > 0);
	assert_string_equal(text, "never due");
}

/* SPEC 3.2, fault 17: the sum saturates. */
static void fault_17_the_largest_delays_never_fire(struct timer_bed *b)
{
	struct tkw_timeout_id ids[4];
	size_t i;

	ids[0] = bed_schedule(b, 0, INT64_MAX);
	ids[1] = bed_schedule(b, 1, INT64_MAX - 1);
	ids[2] = bed_schedule(b, 2, INT64_MAX - clock_of(b));
	ids[3] = schedule_at(b, 3, TKW_NEVER_NS);
	for (i = 0; i < 4; i++)
		expect_never(b, ids[i]);
	bed_set_clock(b, INT64_MAX - 1);
	bed_pass(b, 0);
	bed_schedule(b, 4, 0);
	bed_pass(b, 0);
	bed_assert_fired(b, 4);
	bed_assert_ledger(b, 4);
	for (i = 0; i < 4; i++) {
		expect_never(b, ids[i]);
		assert_int_equal(tkw_timer_cancel(b->t, ids[i]), 0);
	}
	bed_assert_ledger(b, 0);
}
BED_TEST(fault_17_the_largest_delays_never_fire)

/* SPEC 3.2, fault 17 */
static void fault_17_two_hundred_and_ninety_two_years(struct timer_bed *b)
{
	const int64_t long_ns = 292 * YEAR;
	const int64_t last_tick_ns = INT64_MAX / TKW_MSEC * TKW_MSEC;

	bed_schedule(b, 1, long_ns);
	schedule_at(b, 2, last_tick_ns);
	bed_pass(b, long_ns - TKW_MSEC);
	bed_assert_nothing_fired(b);
	bed_pass(b, 2 * TKW_MSEC);
	bed_assert_fired(b, 1);
	bed_set_clock(b, last_tick_ns - 1);
	bed_pass(b, 0);
	bed_assert_nothing_fired(b);
	bed_pass(b, 1);
	bed_assert_fired(b, 2);
}
BED_TEST(fault_17_two_hundred_and_ninety_two_years)

/* SPEC 5.5, fault 17: a timeout can be moved from end to end. */
static void fault_17_reschedule_goes_to_the_ends_of_time(struct timer_bed *b)
{
	struct tkw_timeout_id id = bed_schedule(b, 1, TKW_SEC);

	assert_int_equal(tkw_timer_reschedule(b->t, id, INT64_MAX), 0);
	expect_never(b, id);
	bed_pass(b, 10 * YEAR);
	bed_assert_nothing_fired(b);
	assert_int_equal(tkw_timer_reschedule(b->t, id, TKW_SEC), 0);
	assert_int_equal(tkw_timer_reschedule_at(b->t, id, TKW_NEVER_NS), 0);
	expect_never(b, id);
	assert_int_equal(tkw_timer_reschedule(b->t, id, INT64_MIN), 0);
	bed_pass(b, 0);
	bed_assert_fired(b, 1);
	id = bed_schedule(b, 2, INT64_MAX);
	assert_int_equal(tkw_timer_reschedule_at(b->t, id, INT64_MIN), 0);
	bed_pass(b, 0);
	bed_assert_fired(b, 2);
}
BED_TEST(fault_17_reschedule_goes_to_the_ends_of_time)

/* --- 18: boundaries ----------------------------------------------------- */

enum {
	POWERS = 50, /* ticks of a microsecond: up to 35 years */
	EDGES = 3 * POWERS
};

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a;
	const uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Goes to the last ns before a tick, where nothing of the tick may fire, and
 * then to the tick, where all must fire. */
static void step_to(struct timer_bed *b, uint64_t tick, size_t due_before,
		    size_t due)
{
	bed_pass(b, (int64_t)tick * TKW_USEC - 1 - clock_of(b));
	assert_int_equal(b->fired_count, due_before);
	bed_pass(b, 1);
	assert_int_equal(b->fired_count, due);
	for (; due_before < due; due_before++)
		assert_int_equal(b->fired[due_before].deadline_ns,
				 (int64_t)tick * TKW_USEC);
}

/* Schedules timeouts at all these ticks, and goes from one to the next. */
static void meet(struct timer_bed *b, int engine, uint64_t now,
		 uint64_t ticks[EDGES])
{
	const struct tkw_timer_config cfg = { .tick_ns = TKW_USEC,
					      .engine = engine };
	size_t next;
	size_t i;

	bed_set_clock(b, (int64_t)now * TKW_USEC);
	bed_reopen(b, &cfg);
	b->fired_count = 0;
	for (i = 0; i < EDGES; i++)
		schedule_at(b, i, (int64_t)ticks[i] * TKW_USEC);
	qsort(ticks, EDGES, sizeof(ticks[0]), by_value);
	for (i = 0; i < EDGES; i = next) {
		for (next = i + 1; next < EDGES && ticks[next] == ticks[i];)
			next++;
		step_to(b, ticks[i], i, next);
	}
	bed_assert_ledger(b, 0);
}

/* Ticks at powers of two after a tick, with one less and one more. */
static void meet_powers(struct timer_bed *b, int engine, uint64_t now)
{
	uint64_t ticks[EDGES];
	size_t i;

	for (i = 0; i < EDGES; i++)
		ticks[i] = now + 2 + (UINT64_C(1) << i / 3) + i % 3 - 1;
	meet(b, engine, now, ticks);
}

/* SPEC 1.6, fault 18: absolute ticks, scheduled at tick 0. */
static void fault_18_each_power_of_two_from_zero(struct timer_bed *b)
{
	uint64_t ticks[EDGES];
	int engine;
	size_t i;

	for (engine = 0; engine < 2; engine++) {
		/* None is in the past: the smallest tick is 1. */
		for (i = 0; i < EDGES; i++)
			ticks[i] = (UINT64_C(2) << i / 3) + i % 3 - 1;
		meet(b, engine, 0, ticks);
	}
}
BED_TEST(fault_18_each_power_of_two_from_zero)

/* SPEC 1.6, fault 18: relative ticks, scheduled around a boundary. */
static void fault_18_each_power_of_two_from_a_boundary(struct timer_bed *b)
{
	static const unsigned from[] = { 8, 16, 4, 12, 24, 32, 40 };
	uint64_t boundary;
	size_t i;

	for (i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
		boundary = UINT64_C(1) << from[i];
		meet_powers(b, TKW_WHEEL_HIERARCHICAL, boundary - 2);
		/* One round is enough for the drive with a thread, which is
		 * slow. */
		if (b->drive == TKW_DRIVE_THREAD)
			break;
		meet_powers(b, TKW_WHEEL_HIERARCHICAL, boundary - 1);
		meet_powers(b, TKW_WHEEL_HIERARCHICAL, boundary);
		meet_powers(b, TKW_WHEEL_HASHED, boundary - 1);
	}
}
BED_TEST(fault_18_each_power_of_two_from_a_boundary)

/* SPEC 1.6, fault 18: the same ticks in one jump. */
static void fault_18_all_powers_of_two_in_one_jump(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .tick_ns = TKW_USEC };
	struct expected e[EDGES];
	size_t i;

	bed_set_clock(b, 0);
	bed_reopen(b, &cfg);
	for (i = 0; i < EDGES; i++)
		e[i] = schedule(b, i,
				(int64_t)((UINT64_C(2) << i / 3) + i % 3 - 1) *
					TKW_USEC);
	qsort(e, EDGES, sizeof(e[0]), by_tick);
	bed_pass(b, 100 * YEAR);
	expect_fired(b, e, EDGES);
}
BED_TEST(fault_18_all_powers_of_two_in_one_jump)

/* --- 19: the wall clock ------------------------------------------------ */

static atomic_bool watching;
static atomic_ulong wall_reads;
static atomic_ulong other_reads;
static atomic_ulong wall_alarms;

/* The assembler names are needed because C reserves names with two
 * underscores. */
#define NAMED(name) __asm__(name)

int real_clock_gettime(clockid_t clock, struct timespec *ts)
	NAMED("__real_clock_gettime");
int wrap_clock_gettime(clockid_t clock, struct timespec *ts)
	NAMED("__wrap_clock_gettime");
int real_gettimeofday(struct timeval *tv, void *tz)
	NAMED("__real_gettimeofday");
int wrap_gettimeofday(struct timeval *tv, void *tz)
	NAMED("__wrap_gettimeofday");
time_t real_time(time_t *out) NAMED("__real_time");
time_t wrap_time(time_t *out) NAMED("__wrap_time");
int real_timerfd_create(int clock, int flags) NAMED("__real_timerfd_create");
int wrap_timerfd_create(int clock, int flags) NAMED("__wrap_timerfd_create");
int real_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
				const struct timespec *until)
	NAMED("__real_pthread_cond_timedwait");
int wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
				const struct timespec *until)
	NAMED("__wrap_pthread_cond_timedwait");

static bool is_wall(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ||
	       clock == CLOCK_REALTIME_ALARM || clock == CLOCK_TAI;
}

int wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	const int ret = real_clock_gettime(clock, ts);

	if (!atomic_load(&watching))
		return ret;
	if (!is_wall(clock)) {
		atomic_fetch_add(&other_reads, 1);
		return ret;
	}
	/* The wall clock jumps by years, back and forth. */
	ts->tv_sec =
		1000000000 * (time_t)(atomic_fetch_add(&wall_reads, 1) % 3);
	return ret;
}

int wrap_gettimeofday(struct timeval *tv, void *tz)
{
	atomic_fetch_add(&wall_reads, atomic_load(&watching));
	return real_gettimeofday(tv, tz);
}

time_t wrap_time(time_t *out)
{
	atomic_fetch_add(&wall_reads, atomic_load(&watching));
	return real_time(out);
}

int wrap_timerfd_create(int clock, int flags)
{
	atomic_fetch_add(&wall_alarms, is_wall(clock));
	return real_timerfd_create(clock, flags);
}

/* This waits for a time of day, unless the attributes of c say otherwise. */
int wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
				const struct timespec *until)
{
	atomic_fetch_add(&wall_alarms, atomic_load(&watching));
	return real_pthread_cond_timedwait(c, m, until);
}

static void count_run(const struct tkw_firing *f, void *ctx)
{
	(void)f;
	atomic_fetch_add((atomic_ulong *)ctx, 1);
}

static void run_watched(int drive, int clock)
{
	const struct tkw_timer_config cfg = { .tick_ns = TKW_USEC,
					      .clock = clock };
	atomic_ulong fired = 0;
	const struct tkw_task task = { .fn = count_run, .ctx = &fired };
	struct fault_pump p;
	struct tkw_timeout_id id;
	int i;

	atomic_store(&other_reads, 0);
	atomic_store(&watching, true);
	fault_pump_open(&p, drive, &cfg);
	for (i = 0; i < 100; i++) {
		must(tkw_timer_schedule(p.t, &task, (int64_t)i * 20 * TKW_USEC,
					NULL) == 0);
		must(tkw_timer_schedule(p.t, &task, TKW_SEC, &id) == 0);
		must(tkw_timer_reschedule(p.t, id, 2 * TKW_SEC) == 0);
		must(tkw_timer_cancel(p.t, id) == 0);
	}
	fault_await(&fired, 100);
	fault_pump_close(&p);
	atomic_store(&watching, false);
	assert_true(atomic_load(&other_reads) > 200);
}

/* SPEC 2.1, fault 19: a step of the wall clock cannot be noticed. */
static void fault_19_the_wall_clock_is_never_read(void **state)
{
	run_watched(fault_drive(state), TKW_CLOCK_MONOTONIC);
	run_watched(fault_drive(state), TKW_CLOCK_BOOTTIME);
	assert_int_equal(atomic_load(&wall_reads), 0);
	assert_int_equal(atomic_load(&wall_alarms), 0);
}

/* --- 20: sleep --------------------------------------------------------- */

static uint64_t rings(void)
{
	static uint64_t mem[TKW_WHEEL_BYTES / 8];
	struct tkw_wheel_shape shape;
	struct tkw_wheel *w;

	must(tkw_wheel_init(&w, mem, sizeof(mem), NULL) == 0);
	must(tkw_wheel_get_shape(w, &shape) == 0);
	must(tkw_wheel_fini(w) == 0);
	return shape.rings;
}

/* Makes the turns that are asked for, until n have fired. Returns how many
 * turns fired nothing. */
static uint64_t useless_turns(struct timer_bed *b, size_t n)
{
	uint64_t useless = 0;
	int64_t next_ns;
	int ran;

	while (b->fired_count < n) {
		ran = tkw_timer_turn(b->t, 0, &next_ns);
		assert_true(ran >= 0);
		useless += ran == 0;
		if (b->fired_count < n) {
			assert_true(next_ns > clock_of(b));
			bed_set_clock(b, next_ns);
		}
	}
	return useless;
}

/* SPEC 4.3, fault 20 */
static void fault_20_a_far_timeout_needs_a_turn_per_ring(void **state)
{
	static const int64_t delays[] = { TKW_MSEC, TKW_SEC,    3600 * TKW_SEC,
					  YEAR,     100 * YEAR, 1 };
	struct timer_bed *b = *state;
	size_t i;

	for (i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
		bed_schedule(b, i, delays[i]);
		/* One more: the first turn only learns of the timeout. */
		assert_true(useless_turns(b, i + 1) <= rings() + 1);
	}
}

/* SPEC 4.3, fault 20: each earlier timeout that was cancelled costs one
 * turn. */
static void fault_20_a_cancelled_timeout_costs_one_turn(void **state)
{
	enum {
		CANCELLED = 20
	};
	struct timer_bed *b = *state;
	int64_t next_ns;
	struct tkw_timeout_id id;
	int i;

	bed_schedule(b, 1, DAY);
	for (i = 1; i <= CANCELLED; i++) {
		id = bed_schedule(b, 2, (CANCELLED - i + 1) * TKW_SEC);
		assert_int_equal(tkw_timer_turn(b->t, 0, NULL), 0);
		assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	}
	assert_true(useless_turns(b, 1) <= CANCELLED + rings() + 1);
	assert_int_equal(tkw_timer_next_turn(b->t, &next_ns), 0);
	assert_true(next_ns == TKW_NEVER_NS);
}

/* Counts the readings of a timer's clock. A worker that wakes up reads it. */
static atomic_ulong readings;

static int64_t counted_now(void *ctx)
{
	(void)ctx;
	atomic_fetch_add(&readings, 1);
	return fault_monotonic_ns();
}

/* A task that is due again in the next tick, until it has run often enough. */
struct metronome {
	atomic_ulong beats;
	unsigned long last;
};

static void beat(const struct tkw_firing *f, void *ctx)
{
	const struct tkw_task again = { .fn = beat, .ctx = ctx };
	struct metronome *m = ctx;

	if (atomic_fetch_add(&m->beats, 1) + 1 < m->last)
		must(tkw_timer_schedule(f->timer, &again, TKW_MSEC, NULL) == 0);
}

/* How often the counted clock was read since `before`, while another timer
 * fires a hundred times. */
static unsigned long readings_since(unsigned long before)
{
	struct metronome m = { .beats = 0, .last = 100 };
	const struct tkw_task task = { .fn = beat, .ctx = &m };
	struct tkw_timer *t;

	must(tkw_timer_create(&t, NULL) == 0);
	must(tkw_timer_schedule(t, &task, 0, NULL) == 0);
	fault_await(&m.beats, m.last);
	must(tkw_timer_destroy(t) == 0);
	return atomic_load(&readings) - before;
}

/*
 * SPEC 4.2, 4.3, fault 20: a worker that wakes up each tick would read its
 * clock about a hundred times while another timer fires a hundred times.
 */
static void fault_20_a_worker_with_nothing_due_sleeps(void **state)
{
	const struct tkw_timer_hooks hooks = { .now = counted_now };
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .hooks = &hooks };
	const unsigned long few = rings() + 3;
	atomic_ulong fired = 0;
	const struct tkw_task task = { .fn = count_run, .ctx = &fired };
	const int64_t hour_ns = fault_monotonic_ns() + 3600 * TKW_SEC;
	unsigned long before = atomic_load(&readings);
	struct tkw_timer *t;
	struct tkw_timeout_id id;
	int i;

	(void)state;
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	assert_int_equal(tkw_timer_start(t), 0);
	assert_true(readings_since(before) <= few);
	before = atomic_load(&readings);
	assert_int_equal(tkw_timer_schedule_at(t, &task, hour_ns, &id), 0);
	assert_true(readings_since(before) <= few);
	before = atomic_load(&readings);
	for (i = 1; i <= 1000; i++) /* later ones wake no thread */
		assert_int_equal(tkw_timer_schedule_at(t, &task,
						       hour_ns + i * TKW_MSEC,
						       NULL),
				 0);
	assert_int_equal(tkw_timer_cancel(t, id), 0);
	assert_true(readings_since(before) <= few);
	/* The worker still wakes up when it is needed. */
	assert_int_equal(tkw_timer_schedule(t, &task, 0, NULL), 0);
	fault_await(&fired, 1);
	assert_int_equal(tkw_timer_destroy(t), 0);
}

#define ON_MANUAL_BED(name)                                                    \
	cmocka_unit_test_setup_teardown(name, bed_setup_manual, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(fault_13_never_early_whatever_the_phase),
		FAULT_BOTH(fault_13_never_early_on_the_real_clocks),
		BED_TESTS(fault_14_a_clock_that_stands_fires_nothing_more),
		BED_TESTS(fault_14_a_clock_that_goes_back_is_held),
		BED_TESTS(fault_14_each_reading_is_held),
		BED_TESTS(fault_14_a_clock_that_trembles_loses_nothing),
		BED_TESTS(fault_15_jumps_keep_the_order_hierarchical),
		BED_TESTS(fault_15_jumps_keep_the_order_hashed),
		BED_TESTS(fault_16_after_ten_frozen_seconds_all_fire),
		BED_TESTS(fault_16_what_comes_while_frozen_keeps_the_order),
		BED_TESTS(fault_17_delays_up_to_one_ns_fire_next),
		BED_TESTS(fault_17_deadlines_of_the_past_fire_next),
		BED_TESTS(fault_17_the_largest_delays_never_fire),
		BED_TESTS(fault_17_two_hundred_and_ninety_two_years),
		BED_TESTS(fault_17_reschedule_goes_to_the_ends_of_time),
		BED_TESTS(fault_18_each_power_of_two_from_zero),
		BED_TESTS(fault_18_each_power_of_two_from_a_boundary),
		BED_TESTS(fault_18_all_powers_of_two_in_one_jump),
		FAULT_BOTH(fault_19_the_wall_clock_is_never_read),
		ON_MANUAL_BED(fault_20_a_far_timeout_needs_a_turn_per_ring),
		ON_MANUAL_BED(fault_20_a_cancelled_timeout_costs_one_turn),
		cmocka_unit_test(fault_20_a_worker_with_nothing_due_sleeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
