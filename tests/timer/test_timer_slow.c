/* SPDX-License-Identifier: MIT */
/*
 * test_timer_slow.c - SPEC 10.2: a task that takes too long on the worker is
 * reported when it ends, and by the watchdog while it runs.
 */
#include "timer_bed.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tickwheel/exec.h"
#include "tickwheel/stats.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define LIMIT_NS (10 * TKW_MSEC)

/* An assert of cmocka does not work in a task, or on a thread that is not the
 * test's. */
#define must(condition) ((condition) ? (void)0 : not_so(__LINE__, #condition))

static void not_so(int line, const char *condition)
{
	fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, line, condition);
	abort();
}

/* --- what is told -------------------------------------------------------- */

static size_t lines_of(struct timer_bed *b)
{
	size_t count;

	pthread_mutex_lock(&b->lock);
	count = b->log_count;
	pthread_mutex_unlock(&b->lock);
	return count;
}

static void wait_for_lines(struct timer_bed *b, size_t count)
{
	pthread_mutex_lock(&b->lock);
	while (b->log_count < count)
		pthread_cond_wait(&b->changed, &b->lock);
	pthread_mutex_unlock(&b->lock);
}

/* Checks how many lines there are in all, and what the last one contains. */
static void assert_told(struct timer_bed *b, size_t count, const char *name,
			const char *what)
{
	char line[sizeof(b->log)];

	assert_int_equal(lines_of(b), count);
	pthread_mutex_lock(&b->lock);
	memcpy(line, b->log, sizeof(line));
	pthread_mutex_unlock(&b->lock);
	if (!strstr(line, name) || !strstr(line, what))
		fail_msg("\"%s\", \"%s\": not in \"%s\"", name, what, line);
	assert_null(strchr(line, '\n'));
}

static uint64_t slow_of(struct timer_bed *b)
{
	static struct tkw_stats st;

	assert_int_equal(tkw_timer_get_stats(b->t, &st), 0);
	return st.slow;
}

static void open_with(struct timer_bed *b, int64_t slow_task_ns)
{
	const struct tkw_timer_config cfg = { .slow_task_ns = slow_task_ns };

	bed_reopen(b, &cfg);
}

/* --- tasks that take a while --------------------------------------------- */

struct work {
	struct timer_bed *b;
	int64_t takes_ns;
	atomic_uint done;
};

static void let_pass(struct timer_bed *b, int64_t ns)
{
	pthread_mutex_lock(&b->lock);
	b->now_ns += ns;
	pthread_mutex_unlock(&b->lock);
}

/* Not static, so that its name can be found. */
void slow_task_with_a_name(const struct tkw_firing *firing, void *ctx);

void slow_task_with_a_name(const struct tkw_firing *firing, void *ctx)
{
	struct work *w = ctx;

	(void)firing;
	let_pass(w->b, w->takes_ns);
	atomic_fetch_add(&w->done, 1);
}

static void nameless(const struct tkw_firing *firing, void *ctx)
{
	struct work *w = ctx;

	(void)firing;
	let_pass(w->b, w->takes_ns + 1);
	atomic_fetch_add(&w->done, 1);
}

static void run_one(struct work *w, tkw_task_fn *fn)
{
	const struct tkw_task task = { .fn = fn, .ctx = w };

	assert_int_equal(tkw_timer_schedule(w->b->t, &task, 0, NULL), 0);
	bed_pass(w->b, 0);
}

/* SPEC 10.2 */
static void test_timer_slow_task_is_told_when_it_ends(struct timer_bed *b)
{
	struct work w = { .b = b, .takes_ns = 25 * TKW_MSEC };

	open_with(b, LIMIT_NS);
	run_one(&w, slow_task_with_a_name);
	assert_int_equal(w.done, 1);
	assert_told(b, 1, "slow_task_with_a_name", "ran for 25 ms");
	assert_int_equal(slow_of(b), 1);
	w.takes_ns = 3 * TKW_SEC;
	run_one(&w, slow_task_with_a_name);
	assert_told(b, 2, "slow_task_with_a_name", "ran for 3 s");
	assert_int_equal(slow_of(b), 2);
	bed_assert_ledger(b, 0);
}
BED_TEST(test_timer_slow_task_is_told_when_it_ends)

/* SPEC 10.2: if there is no name, the file and the offset in it are
 * reported. */
static void test_timer_slow_task_without_a_name_is_told(struct timer_bed *b)
{
	struct work w = { .b = b, .takes_ns = 25 * TKW_MSEC };

	open_with(b, LIMIT_NS);
	run_one(&w, nameless);
	assert_told(b, 1, "test_timer_slow", "+0x");
}
BED_TEST(test_timer_slow_task_without_a_name_is_told)

/* SPEC 10.2: a task is slow if it takes a nanosecond more than the limit. */
static void test_timer_task_at_the_limit_is_not_slow(struct timer_bed *b)
{
	static const int64_t takes_ns[] = { 0, 1, LIMIT_NS / 2, LIMIT_NS - 1,
					    LIMIT_NS };
	struct work w = { .b = b };
	size_t i;

	open_with(b, LIMIT_NS);
	for (i = 0; i < COUNT_OF(takes_ns); i++) {
		w.takes_ns = takes_ns[i];
		run_one(&w, slow_task_with_a_name);
	}
	assert_int_equal(w.done, COUNT_OF(takes_ns));
	assert_int_equal(lines_of(b), 0);
	assert_int_equal(slow_of(b), 0);
	w.takes_ns = LIMIT_NS + 1;
	run_one(&w, slow_task_with_a_name);
	assert_told(b, 1, "slow_task_with_a_name", "ran for 10");
	assert_int_equal(slow_of(b), 1);
}
BED_TEST(test_timer_task_at_the_limit_is_not_slow)

/* SPEC 10.2: the shortest limit, a nanosecond, and the longest one. */
static void test_timer_slow_limit_is_any_positive_one(struct timer_bed *b)
{
	struct work w = { .b = b, .takes_ns = 2 };

	open_with(b, 1);
	run_one(&w, slow_task_with_a_name);
	assert_told(b, 1, "slow_task_with_a_name", "ran for 2 ns");
	open_with(b, INT64_MAX);
	w.takes_ns = INT64_C(1000) * 3600 * TKW_SEC;
	run_one(&w, slow_task_with_a_name);
	assert_int_equal(lines_of(b), 1);
	assert_int_equal(slow_of(b), 0);
}
BED_TEST(test_timer_slow_limit_is_any_positive_one)

/* SPEC 10.2 */
static void test_timer_without_a_limit_nobody_looks(struct timer_bed *b)
{
	static const int64_t limits[] = { 0, -1, INT64_MIN };
	struct work w = { .b = b, .takes_ns = 3600 * TKW_SEC };
	size_t i;

	for (i = 0; i < COUNT_OF(limits); i++) {
		open_with(b, limits[i]);
		run_one(&w, slow_task_with_a_name);
		assert_int_equal(w.done, i + 1);
		assert_int_equal(lines_of(b), 0);
		assert_int_equal(slow_of(b), 0);
	}
}
BED_TEST(test_timer_without_a_limit_nobody_looks)

/* SPEC 10.2: each slow task is reported, also between others that are not
 * slow. */
static void test_timer_each_slow_task_is_told(struct timer_bed *b)
{
	struct work slow = { .b = b, .takes_ns = LIMIT_NS + 1 };
	struct work quick = { .b = b, .takes_ns = 1 };
	const struct tkw_task tasks[2] = {
		{ .fn = slow_task_with_a_name, .ctx = &quick },
		{ .fn = slow_task_with_a_name, .ctx = &slow }
	};
	unsigned i;

	open_with(b, LIMIT_NS);
	for (i = 0; i < 100; i++)
		assert_int_equal(
			tkw_timer_schedule(b->t, &tasks[i % 10 == 7], 0, NULL),
			0);
	bed_pass(b, 0);
	assert_int_equal(slow.done, 10);
	assert_int_equal(quick.done, 90);
	assert_int_equal(lines_of(b), 10);
	assert_int_equal(slow_of(b), 10);
}
BED_TEST(test_timer_each_slow_task_is_told)

static int64_t work_clock(void *ctx)
{
	struct work *w = ctx;

	return ((struct timer_bed *)w->b)->now_ns;
}

/* SPEC 10.2: without a log, slow tasks are still counted. */
static void test_timer_slow_tasks_are_counted_without_a_log(void **state)
{
	struct timer_bed b = { .now_ns = BED_START_NS };
	struct work w = { .b = &b, .takes_ns = LIMIT_NS + 1 };
	const struct tkw_timer_hooks hooks = { .now = work_clock, .ctx = &w };
	const struct tkw_timer_config cfg = { .size = sizeof(cfg),
					      .drive = TKW_DRIVE_MANUAL,
					      .slow_task_ns = LIMIT_NS,
					      .hooks = &hooks };

	(void)state;
	assert_int_equal(pthread_mutex_init(&b.lock, NULL), 0);
	assert_int_equal(tkw_timer_create(&b.t, &cfg), 0);
	b.drive = TKW_DRIVE_MANUAL;
	run_one(&w, slow_task_with_a_name);
	assert_int_equal(w.done, 1);
	assert_int_equal(slow_of(&b), 1);
	assert_int_equal(tkw_timer_destroy(b.t), 0);
	pthread_mutex_destroy(&b.lock);
}

/* --- executors ----------------------------------------------------------- */

/* SPEC 10.2: on a thread of a pool it delays no other task. */
static void test_timer_slow_task_on_a_pool_is_not_told(struct timer_bed *b)
{
	const struct tkw_pool_config pc = { .size = sizeof(pc), .threads = 1 };
	struct work w = { .b = b, .takes_ns = 3600 * TKW_SEC };
	struct tkw_timer_config cfg = { .slow_task_ns = LIMIT_NS };
	const struct tkw_task task = { .fn = slow_task_with_a_name, .ctx = &w };
	struct tkw_pool *p;

	assert_int_equal(tkw_pool_create(&p, &pc), 0);
	cfg.exec = tkw_pool_exec(p);
	bed_reopen(b, &cfg);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	/* With a thread, a marker of the bed goes to the pool, too. */
	bed_pass(b, 0);
	assert_int_equal(tkw_pool_wait_idle(p, INT64_MAX), 0);
	assert_int_equal(w.done, 1);
	assert_int_equal(tkw_pool_stop(p), 0);
	assert_int_equal(lines_of(b), 0);
	assert_int_equal(slow_of(b), 0);
	/* The pool refuses jobs now, so the worker runs the task. */
	run_one(&w, slow_task_with_a_name);
	assert_int_equal(w.done, 2);
	assert_told(b, 1, "slow_task_with_a_name", "ran for 1 h");
	assert_int_equal(slow_of(b), 1);
	bed_reopen(b, NULL);
	assert_int_equal(tkw_pool_destroy(p), 0);
}
BED_TEST(test_timer_slow_task_on_a_pool_is_not_told)

/* --- the watchdog -------------------------------------------------------- */

/*
 * The linker (--wrap) sends each sleep of a thread of the library here. The
 * assembler names are needed because C reserves names with two underscores.
 */
#define NAMED(name) __asm__(name)
struct tkw__a32;
void real_park(struct tkw__a32 *a, uint32_t value) NAMED("__real_tkw__park");
void wrap_park(struct tkw__a32 *a, uint32_t value) NAMED("__wrap_tkw__park");
void real_park_for(struct tkw__a32 *a, uint32_t value, int64_t ns)
	NAMED("__real_tkw__park_for");
void wrap_park_for(struct tkw__a32 *a, uint32_t value, int64_t ns)
	NAMED("__wrap_tkw__park_for");
void real_unpark_all(struct tkw__a32 *a) NAMED("__real_tkw__unpark_all");
void wrap_unpark_all(struct tkw__a32 *a) NAMED("__wrap_tkw__unpark_all");

static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sleep_changed = PTHREAD_COND_INITIALIZER;
/* How many sleeps the watchdog has begun: naps, which are between two looks,
 * and nights, which last until a task begins. */
static unsigned naps;
static unsigned nights;
static unsigned mornings; /* nights that have ended */
static pid_t watchdog_tid;
/* The word on which the watchdog parks, and how often it was woken. */
static const struct tkw__a32 *watchdog_word;
static unsigned wakes;
/* If naps_last is set, a nap ends only by end_nap(). naps_over tells how many
 * may end. */
static bool naps_last;
static unsigned naps_over;

static bool is_watchdog(void)
{
	char name[16] = "";

	pthread_getname_np(pthread_self(), name, sizeof(name));
	return strcmp(name, "tkw-watchdog") == 0;
}

/* Returns the number of this nap or night. */
static unsigned begin_sleep(unsigned *sleeps, const struct tkw__a32 *a)
{
	unsigned n;

	pthread_mutex_lock(&sleep_lock);
	n = ++*sleeps;
	watchdog_word = a;
	watchdog_tid = (pid_t)syscall(SYS_gettid);
	pthread_cond_broadcast(&sleep_changed);
	pthread_mutex_unlock(&sleep_lock);
	return n;
}

void wrap_park(struct tkw__a32 *a, uint32_t value)
{
	if (!is_watchdog()) {
		real_park(a, value);
		return;
	}
	begin_sleep(&nights, a);
	real_park(a, value);
	pthread_mutex_lock(&sleep_lock);
	mornings++;
	pthread_mutex_unlock(&sleep_lock);
}

void wrap_park_for(struct tkw__a32 *a, uint32_t value, int64_t ns)
{
	unsigned nap;
	bool lasts;

	if (!is_watchdog()) {
		real_park_for(a, value, ns);
		return;
	}
	nap = begin_sleep(&naps, a);
	pthread_mutex_lock(&sleep_lock);
	lasts = naps_last;
	while (naps_last && naps_over < nap)
		pthread_cond_wait(&sleep_changed, &sleep_lock);
	pthread_mutex_unlock(&sleep_lock);
	if (!lasts)
		real_park_for(a, value, ns);
}

void wrap_unpark_all(struct tkw__a32 *a)
{
	pthread_mutex_lock(&sleep_lock);
	wakes += a == watchdog_word;
	pthread_mutex_unlock(&sleep_lock);
	real_unpark_all(a);
}

/* The watchdog looks before it takes a nap. So it looks at least once while
 * this runs. */
static void let_it_look(void)
{
	unsigned before;

	pthread_mutex_lock(&sleep_lock);
	before = naps;
	while (naps < before + 3)
		pthread_cond_wait(&sleep_changed, &sleep_lock);
	pthread_mutex_unlock(&sleep_lock);
}

/* Waits for this nap. It lasts if naps_last is set. */
static void wait_for_nap(unsigned nap)
{
	pthread_mutex_lock(&sleep_lock);
	while (naps < nap)
		pthread_cond_wait(&sleep_changed, &sleep_lock);
	pthread_mutex_unlock(&sleep_lock);
}

/* From now on naps last until end_nap(), or end by themselves. */
static void let_naps_last(bool last)
{
	pthread_mutex_lock(&sleep_lock);
	naps_last = last;
	naps_over = naps;
	pthread_cond_broadcast(&sleep_changed);
	pthread_mutex_unlock(&sleep_lock);
}

/* Ends this nap. */
static void end_nap(unsigned nap)
{
	pthread_mutex_lock(&sleep_lock);
	naps_over = nap;
	pthread_cond_broadcast(&sleep_changed);
	pthread_mutex_unlock(&sleep_lock);
}

static unsigned read_count(const unsigned *count)
{
	unsigned n;

	pthread_mutex_lock(&sleep_lock);
	n = *count;
	pthread_mutex_unlock(&sleep_lock);
	return n;
}

/* Waits until the watchdog sleeps until the next task. Returns how many naps it
 * has taken. */
static unsigned wait_for_night(unsigned night)
{
	unsigned so_far;

	pthread_mutex_lock(&sleep_lock);
	while (nights < night)
		pthread_cond_wait(&sleep_changed, &sleep_lock);
	so_far = naps;
	pthread_mutex_unlock(&sleep_lock);
	return so_far;
}

/* A task waits here until it may go on. */
struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool inside;
	bool open;
};

#define GATE_INIT                                                              \
	{                                                                      \
		PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false,    \
			false                                                  \
	}

void gated_task_with_a_name(const struct tkw_firing *firing, void *ctx);

void gated_task_with_a_name(const struct tkw_firing *firing, void *ctx)
{
	struct gate *g = ctx;

	(void)firing;
	pthread_mutex_lock(&g->lock);
	g->inside = true;
	pthread_cond_broadcast(&g->changed);
	while (!g->open)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

/* Schedules a task that waits at the gate, and returns when it does. */
static struct tkw_timeout_id send_to_gate(struct timer_bed *b, struct gate *g)
{
	const struct tkw_task task = { .fn = gated_task_with_a_name, .ctx = g };
	struct tkw_timeout_id id;

	g->inside = false;
	g->open = false;
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, &id), 0);
	pthread_mutex_lock(&g->lock);
	while (!g->inside)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
	return id;
}

/* Lets the task go on. It has ended when this returns. */
static void let_go(struct timer_bed *b, struct gate *g,
		   struct tkw_timeout_id id)
{
	int ret;

	pthread_mutex_lock(&g->lock);
	g->open = true;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
	ret = tkw_timer_cancel_wait(b->t, id);
	must(ret == 1 || ret == -ENOENT);
}

/* The watchdog looks twice per millisecond, whatever the bed's clock says. */
#define WATCH_NS TKW_MSEC

static void open_watched(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .slow_task_ns = WATCH_NS,
					      .watchdog = 1 };

	bed_reopen(b, &cfg);
}

/* SPEC 10.2: it is reported once while it runs, and once when it ends. */
static void test_timer_watchdog_tells_while_it_runs(void **state)
{
	struct timer_bed *b = *state;
	struct gate g = GATE_INIT;
	struct tkw_timeout_id id;

	open_watched(b);
	id = send_to_gate(b, &g);
	let_it_look();
	assert_int_equal(lines_of(b), 0);
	let_pass(b, 7 * WATCH_NS);
	wait_for_lines(b, 1);
	assert_told(b, 1, "gated_task_with_a_name", "has been running for");
	assert_told(b, 1, "gated_task_with_a_name", "7 ms");
	/* It does not count as slow until it has ended. */
	assert_int_equal(slow_of(b), 0);
	/* It is not reported again, however long it takes. */
	let_pass(b, TKW_SEC);
	let_it_look();
	let_it_look();
	assert_int_equal(lines_of(b), 1);
	let_go(b, &g, id);
	assert_told(b, 2, "gated_task_with_a_name", "ran for 1");
	assert_int_equal(slow_of(b), 1);
}

/* SPEC 10.2: a task at the limit is not reported, as without a watchdog. */
static void test_timer_watchdog_waits_for_the_limit(void **state)
{
	struct timer_bed *b = *state;
	struct gate g = GATE_INIT;
	struct tkw_timeout_id id;

	open_watched(b);
	id = send_to_gate(b, &g);
	let_pass(b, WATCH_NS);
	let_it_look();
	assert_int_equal(lines_of(b), 0);
	let_pass(b, 1);
	wait_for_lines(b, 1);
	let_go(b, &g, id);
	assert_told(b, 2, "gated_task_with_a_name", "ran for");
}

/* SPEC 10.2: each slow task is reported, even if one follows directly after
 * another. */
static void test_timer_watchdog_tells_of_each(void **state)
{
	struct timer_bed *b = *state;
	struct gate g = GATE_INIT;
	struct tkw_timeout_id id;
	unsigned i;

	open_watched(b);
	for (i = 0; i < 5; i++) {
		id = send_to_gate(b, &g);
		let_pass(b, WATCH_NS + 1);
		wait_for_lines(b, 2 * i + 1);
		assert_told(b, 2 * i + 1, "gated_task_with_a_name",
			    "has been running for");
		let_go(b, &g, id);
		assert_told(b, 2 * i + 2, "gated_task_with_a_name", "ran for");
		assert_int_equal(slow_of(b), i + 1);
	}
}

/* SPEC 10.2: while no task runs nothing is reported, and the watchdog does not
 * look. */
static void test_timer_watchdog_is_silent_when_nothing_runs(void **state)
{
	struct timer_bed *b = *state;
	struct gate g = GATE_INIT;
	struct tkw_timeout_id id;
	unsigned looks;
	unsigned i;

	nights = 0;
	open_watched(b);
	for (i = 0; i < 5; i++) {
		let_go(b, &g, send_to_gate(b, &g));
		/* A night may have begun between the start and the task. */
		looks = wait_for_night(2 * i + 1);
		let_pass(b, 3600 * TKW_SEC);
		id = send_to_gate(b, &g);
		let_it_look();
		assert_int_equal(lines_of(b), 0);
		let_go(b, &g, id);
		assert_true(wait_for_night(2 * i + 2) >= looks + 3);
	}
	assert_int_equal(lines_of(b), 0);
	assert_int_equal(slow_of(b), 0);
}

/* Waits until it sleeps in the kernel without a time limit. */
static void assert_asleep_for_good(unsigned night)
{
	unsigned looks = wait_for_night(night);

	while (!bed_is_asleep(watchdog_tid))
		sched_yield();
	assert_int_equal(read_count(&nights), night);
	assert_int_equal(read_count(&mornings), night - 1);
	assert_int_equal(read_count(&naps), looks);
}

/* Opens a timer whose watchdog has begun its first night. Naps last. */
static void open_asleep(struct timer_bed *b)
{
	pthread_mutex_lock(&sleep_lock);
	naps = 0;
	nights = 0;
	mornings = 0;
	naps_last = true;
	naps_over = 0;
	pthread_mutex_unlock(&sleep_lock);
	open_watched(b);
	assert_int_equal(tkw_timer_start(b->t), 0);
	wait_for_nap(1);
	end_nap(1);
	assert_asleep_for_good(1);
	assert_int_equal(read_count(&naps), 1);
}

static int teardown_asleep(void **state)
{
	let_naps_last(false);
	return bed_teardown(state);
}

/* SPEC 10.2: while no task runs it sleeps without a time limit. */
static void test_timer_watchdog_sleeps_while_no_task_runs(void **state)
{
	struct timer_bed *b = *state;
	struct gate g = GATE_INIT;
	struct tkw_timeout_id id;
	unsigned i;

	open_asleep(b);
	for (i = 1; i <= 5; i++) {
		/* Scheduling, moving and cancelling run no task. */
		id = bed_schedule(b, i, 3600 * TKW_SEC);
		assert_int_equal(tkw_timer_reschedule(b->t, id, TKW_SEC), 0);
		assert_int_equal(tkw_timer_cancel(b->t, id), 0);
		assert_asleep_for_good(i);
		/* A task runs. Meanwhile it takes naps, and looks. */
		id = send_to_gate(b, &g);
		wait_for_nap(2 * i);
		end_nap(2 * i);
		wait_for_nap(2 * i + 1);
		assert_int_equal(read_count(&nights), i);
		let_go(b, &g, id);
		end_nap(2 * i + 1);
		assert_asleep_for_good(i + 1);
		assert_int_equal(read_count(&naps), 2 * i + 1);
	}
	assert_int_equal(lines_of(b), 0);
}

/* SPEC 10.2: the first of many short tasks wakes it. It is still awake for the
 * others, which come before its nap ends. */
static void test_timer_watchdog_is_woken_once_by_many_tasks(void **state)
{
	enum {
		MANY = 200
	};
	struct timer_bed *b = *state;
	struct work w = { .b = b };
	unsigned before;
	unsigned i, k;

	open_asleep(b);
	for (i = 1; i <= 5; i++) {
		before = read_count(&wakes);
		run_one(&w, slow_task_with_a_name);
		wait_for_nap(2 * i);
		for (k = 1; k < MANY; k++)
			run_one(&w, slow_task_with_a_name);
		assert_int_equal(w.done, i * MANY);
		assert_int_equal(read_count(&wakes), before + 1);
		assert_int_equal(read_count(&mornings), i);
		/* Tasks began during this nap, but none begins in the next
		 * one. */
		end_nap(2 * i);
		wait_for_nap(2 * i + 1);
		assert_int_equal(read_count(&nights), i);
		end_nap(2 * i + 1);
		assert_asleep_for_good(i + 1);
		assert_int_equal(read_count(&naps), 2 * i + 1);
	}
	assert_int_equal(lines_of(b), 0);
}

/* SPEC 10.2: a task that begins at time 0 is watched like any other. */
static void test_timer_watchdog_sees_what_began_at_0(void **state)
{
	struct timer_bed *b = *state;
	struct gate g = GATE_INIT;
	size_t lines;
	struct tkw_timeout_id id;

	bed_set_clock(b, 0);
	open_watched(b);
	id = send_to_gate(b, &g);
	let_pass(b, TKW_SEC);
	let_it_look();
	lines = lines_of(b);
	let_go(b, &g, id);
	assert_int_equal(lines, 1);
	assert_int_equal(lines_of(b), 2);
}

/* --- what is refused ----------------------------------------------------- */

/* SPEC 10.2, 2.2 */
static void test_timer_watchdog_wants_a_limit_and_a_thread(void **state)
{
	static const int64_t limits[] = { 0, -1, INT64_MIN, 1, TKW_MSEC - 1 };
	struct tkw_timer_config cfg = { .size = sizeof(cfg), .watchdog = 1 };
	struct tkw_timer *const before = (struct tkw_timer *)state;
	struct tkw_timer *t = before;
	size_t i;

	for (i = 0; i < COUNT_OF(limits); i++) {
		cfg.slow_task_ns = limits[i];
		cfg.drive = TKW_DRIVE_THREAD;
		assert_int_equal(tkw_timer_create(&t, &cfg), -EINVAL);
		cfg.drive = TKW_DRIVE_MANUAL;
		assert_int_equal(tkw_timer_create(&t, &cfg), -EINVAL);
	}
	cfg.slow_task_ns = LIMIT_NS;
	assert_int_equal(tkw_timer_create(&t, &cfg), -EINVAL);
	cfg.drive = TKW_DRIVE_LOOP;
	assert_int_equal(tkw_timer_create(&t, &cfg), -EINVAL);
	assert_ptr_equal(t, before);
	cfg.drive = TKW_DRIVE_THREAD;
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	assert_int_equal(tkw_timer_destroy(t), 0);
	/* The shortest limit with a watchdog. Without one, any limit is
	 * legal. */
	cfg.slow_task_ns = TKW_MSEC;
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	assert_int_equal(tkw_timer_destroy(t), 0);
	cfg.slow_task_ns = 1;
	cfg.watchdog = 0;
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	assert_int_equal(tkw_timer_destroy(t), 0);
}

/* --- threads ------------------------------------------------------------- */

/* Thread hooks that can refuse a thread. */
struct makers {
	atomic_uint calls;
	atomic_uint made;
	atomic_uint joined;
	unsigned fail_at; /* number of the call to refuse; 0: none */
};

static int make_thread(void *(*run)(void *arg), void *arg, void **handle,
		       void *ctx)
{
	struct makers *m = ctx;
	pthread_t *thread;

	if (atomic_fetch_add(&m->calls, 1) + 1 == m->fail_at)
		return -EAGAIN;
	thread = malloc(sizeof(*thread));
	must(thread && pthread_create(thread, NULL, run, arg) == 0);
	atomic_fetch_add(&m->made, 1);
	*handle = thread;
	return 0;
}

static void join_thread(void *handle, void *ctx)
{
	struct makers *m = ctx;

	must(pthread_join(*(pthread_t *)handle, NULL) == 0);
	free(handle);
	atomic_fetch_add(&m->joined, 1);
}

static struct makers makers;

static void open_with_makers(struct timer_bed *b, int watchdog)
{
	const struct tkw_timer_hooks hooks = { .thread_create = make_thread,
					       .thread_join = join_thread,
					       .ctx = &makers };
	const struct tkw_timer_config cfg = { .slow_task_ns = LIMIT_NS,
					      .watchdog = watchdog,
					      .hooks = &hooks };

	memset(&makers, 0, sizeof(makers));
	bed_reopen(b, &cfg);
}

static void assert_threads(unsigned made, unsigned joined)
{
	assert_int_equal(makers.made, made);
	assert_int_equal(makers.joined, joined);
}

/* SPEC 10.2, 2.4, 6.2: it begins and ends with the worker. */
static void test_timer_watchdog_lives_as_long_as_the_worker(void **state)
{
	struct timer_bed *b = *state;

	/* If the timer is never started, there is no watchdog. */
	open_with_makers(b, 1);
	assert_threads(0, 0);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_threads(0, 0);
	/* A stop ends it. */
	open_with_makers(b, 1);
	assert_int_equal(tkw_timer_start(b->t), 0);
	assert_int_equal(tkw_timer_start(b->t), 0);
	assert_threads(2, 0);
	bed_schedule(b, 1, TKW_MSEC);
	bed_pass(b, 2 * TKW_MSEC);
	bed_assert_fired(b, 1);
	assert_threads(2, 0);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_threads(2, 2);
	/* A destroy ends it. */
	open_with_makers(b, 1);
	bed_schedule(b, 2, 3600 * TKW_SEC);
	assert_threads(2, 0);
	assert_int_equal(tkw_timer_destroy(b->t), 0);
	b->t = NULL;
	assert_threads(2, 2);
}

/* SPEC 10.2: without a watchdog, the worker is the only thread. */
static void test_timer_without_a_watchdog_has_one_thread(void **state)
{
	struct timer_bed *b = *state;

	open_with_makers(b, 0);
	assert_int_equal(tkw_timer_start(b->t), 0);
	assert_threads(1, 0);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_threads(1, 1);
}

/* Checks that each call that would start it is refused, and leaves nothing
 * behind. */
static void assert_cannot_start(struct timer_bed *b, unsigned fail_at)
{
	const struct tkw_batch_item item = { bed_task(b, 9), 0 };
	static struct tkw_stats st;
	struct tkw_timeout_id id = { 5 };

	makers.calls = 0;
	makers.fail_at = fail_at;
	assert_int_equal(tkw_timer_start(b->t), -ENOMEM);
	assert_int_equal(makers.made, makers.joined);
	makers.calls = 0;
	assert_int_equal(tkw_timer_schedule(b->t, &item.task, 0, &id), -ENOMEM);
	makers.calls = 0;
	assert_int_equal(tkw_timer_schedule_at(b->t, &item.task, 0, &id),
			 -ENOMEM);
	makers.calls = 0;
	assert_int_equal(tkw_timer_schedule_batch(b->t, &item, 1, &id),
			 -ENOMEM);
	assert_true(id.bits == 5);
	assert_int_equal(makers.made, makers.joined);
	assert_int_equal(makers.made, 4 * (fail_at - 1));
	assert_int_equal(tkw_timer_get_stats(b->t, &st), 0);
	assert_int_equal(st.ledger.accepted, 0);
	assert_int_equal(st.refused_memory, 3);
	makers.fail_at = 0;
}

/* SPEC 10.2, 2.4, fault 3: the first or the second thread is refused. */
static void test_timer_watchdog_that_cannot_start(void **state)
{
	struct timer_bed *b = *state;
	unsigned before;
	unsigned i;

	for (i = 1; i <= 2; i++) {
		open_with_makers(b, 1);
		assert_cannot_start(b, i);
		before = makers.made;
		/* A later start may succeed, and makes both threads. */
		assert_int_equal(tkw_timer_start(b->t), 0);
		assert_threads(before + 2, before);
		bed_schedule(b, i, TKW_MSEC);
		bed_pass(b, 2 * TKW_MSEC);
		bed_assert_fired(b, i);
		assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
		assert_threads(before + 2, before + 2);
	}
}

/* SPEC 10.2: after a failed start, a watchdog still reports everything. */
static void test_timer_watchdog_watches_after_a_failed_start(void **state)
{
	struct timer_bed *b = *state;
	const struct tkw_timer_hooks hooks = { .thread_create = make_thread,
					       .thread_join = join_thread,
					       .ctx = &makers };
	const struct tkw_timer_config cfg = { .slow_task_ns = WATCH_NS,
					      .watchdog = 1,
					      .hooks = &hooks };
	struct gate g = GATE_INIT;
	struct tkw_timeout_id id;

	memset(&makers, 0, sizeof(makers));
	makers.fail_at = 2;
	bed_reopen(b, &cfg);
	assert_int_equal(tkw_timer_start(b->t), -ENOMEM);
	assert_threads(1, 1);
	id = send_to_gate(b, &g);
	let_pass(b, 2 * WATCH_NS);
	wait_for_lines(b, 1);
	let_go(b, &g, id);
	assert_told(b, 2, "gated_task_with_a_name", "ran for 2 ms");
	assert_threads(3, 1);
}

/* SPEC 10.2, 2.4: a watchdog that was never started can be destroyed. */
static void test_timer_watchdog_that_never_started_is_destroyed(void **state)
{
	struct timer_bed *b = *state;
	unsigned i;

	for (i = 1; i <= 2; i++) {
		open_with_makers(b, 1);
		assert_cannot_start(b, i);
		assert_int_equal(tkw_timer_destroy(b->t), 0);
		b->t = NULL;
		assert_int_equal(makers.made, makers.joined);
	}
}

/* SPEC 10.2, 6.7: in a child there is no watchdog to wait for. */
static void test_timer_watchdog_of_the_parent_is_no_concern(void **state)
{
	struct timer_bed *b = *state;
	int status = -1;
	pid_t pid;

	open_watched(b);
	assert_int_equal(tkw_timer_start(b->t), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (tkw_timer_stop(b->t, NULL, NULL) != -EPERM)
			_exit(1);
		_exit(tkw_timer_destroy(b->t) == 0 ? 0 : 2);
	}
	while (waitpid(pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	assert_int_equal(status, 0);
	bed_schedule(b, 1, 0);
	bed_pass(b, 0);
	bed_assert_fired(b, 1);
}

#define THREAD_TEST(name_)                                                     \
	{                                                                      \
		.name = #name_, .test_func = (name_),                          \
		.setup_func = bed_setup_thread, .teardown_func = bed_teardown  \
	}
#define ASLEEP_TEST(name_)                                                     \
	{                                                                      \
		.name = #name_, .test_func = (name_),                          \
		.setup_func = bed_setup_thread,                                \
		.teardown_func = teardown_asleep                               \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_timer_slow_task_is_told_when_it_ends),
		BED_TESTS(test_timer_slow_task_without_a_name_is_told),
		BED_TESTS(test_timer_task_at_the_limit_is_not_slow),
		BED_TESTS(test_timer_slow_limit_is_any_positive_one),
		BED_TESTS(test_timer_without_a_limit_nobody_looks),
		BED_TESTS(test_timer_each_slow_task_is_told),
		cmocka_unit_test(
			test_timer_slow_tasks_are_counted_without_a_log),
		BED_TESTS(test_timer_slow_task_on_a_pool_is_not_told),
		THREAD_TEST(test_timer_watchdog_tells_while_it_runs),
		THREAD_TEST(test_timer_watchdog_waits_for_the_limit),
		THREAD_TEST(test_timer_watchdog_tells_of_each),
		THREAD_TEST(test_timer_watchdog_is_silent_when_nothing_runs),
		ASLEEP_TEST(test_timer_watchdog_sleeps_while_no_task_runs),
		ASLEEP_TEST(test_timer_watchdog_is_woken_once_by_many_tasks),
		THREAD_TEST(test_timer_watchdog_sees_what_began_at_0),
		cmocka_unit_test(
			test_timer_watchdog_wants_a_limit_and_a_thread),
		THREAD_TEST(test_timer_watchdog_lives_as_long_as_the_worker),
		THREAD_TEST(test_timer_without_a_watchdog_has_one_thread),
		THREAD_TEST(test_timer_watchdog_that_cannot_start),
		THREAD_TEST(test_timer_watchdog_watches_after_a_failed_start),
		THREAD_TEST(
			test_timer_watchdog_that_never_started_is_destroyed),
		THREAD_TEST(test_timer_watchdog_of_the_parent_is_no_concern),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
