/* SPDX-License-Identifier: MIT */
/* test_retry.c - tasks that are tried until they succeed. */
#include "tickwheel/retry.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate.h"
#include "timer_bed.h"

enum {
	TRIES = 64
};

/* A task, and what became of it. */
struct attempt {
	struct timer_bed *b;
	struct tkw_retries *g;
	int succeed_at; /* the try that does; 0: none */
	int64_t at_ns[TRIES];
	int64_t tries;
	unsigned ends;
	int how;
	int64_t end_ns;
	/* What it does besides. */
	void (*in_try)(struct attempt *a);
	void (*in_end)(struct attempt *a);
	uint64_t id;
	int result;
	struct gate *gate;
};

static int try_it(void *arg, int64_t number)
{
	struct attempt *a = arg;

	__atomic_fetch_add(&a->tries, 1, __ATOMIC_SEQ_CST);
	if (number != a->tries || a->ends != 0)
		abort();
	if (number <= TRIES)
		a->at_ns[number - 1] = tkw_timer_now(a->b->t);
	if (a->in_try)
		a->in_try(a);
	return number == a->succeed_at ? 0 : -EIO;
}

static void note_end(void *arg, int how)
{
	struct attempt *a = arg;

	a->how = how;
	a->end_ns = tkw_timer_now(a->b->t);
	__atomic_fetch_add(&a->ends, 1, __ATOMIC_SEQ_CST);
	if (a->in_end)
		a->in_end(a);
}

static int add(struct attempt *a, int64_t first_ns)
{
	const struct tkw_retry task = { .fn = try_it,
					.arg = a,
					.on_end = note_end };

	return tkw_retries_add(a->g, &task, first_ns, &a->id);
}

static struct tkw_retries *open_group(struct timer_bed *b,
				      const struct tkw_retries_config *how)
{
	struct tkw_retries_config cfg = *how;
	struct tkw_retries *g = NULL;

	cfg.timer = b->t;
	cfg.size = sizeof(cfg);
	assert_int_equal(tkw_retries_create(&g, &cfg), 0);
	if (g == NULL)
		abort();
	return g;
}

static void close_group(struct timer_bed *b, struct tkw_retries *g)
{
	assert_int_equal(tkw_retries_destroy(g), 0);
	assert_int_equal(tkw_timer_pending(b->t), 0);
}

/* SPEC 8.1: until it succeeds; every five seconds if nothing else is said. */
static void test_retry_until_it_succeeds(struct timer_bed *b)
{
	struct tkw_retries *g =
		open_group(b, &(struct tkw_retries_config){ 0 });
	struct attempt a = { .b = b, .g = g, .succeed_at = 3 };
	int64_t begin_ns = tkw_timer_now(b->t);

	assert_int_equal(add(&a, 5 * TKW_SEC), 0);
	assert_int_not_equal(a.id, 0);
	assert_int_equal(tkw_retries_pending(g), 1);
	for (int i = 0; i < 30; i++)
		bed_pass(b, TKW_SEC);
	assert_int_equal(a.tries, 3);
	assert_int_equal(a.ends, 1);
	assert_int_equal(a.how, 0);
	for (int i = 0; i < 3; i++)
		assert_true(a.at_ns[i] >= begin_ns + 5 * TKW_SEC * (i + 1));
	assert_true(a.end_ns < begin_ns + 19 * TKW_SEC);
	assert_int_equal(tkw_retries_pending(g), 0);
	assert_int_equal(tkw_retries_cancel(g, a.id), -ENOENT);
	close_group(b, g);
}
BED_TEST(test_retry_until_it_succeeds)

/* SPEC 8.1: failback: three tries, five seconds apart, then it is told. */
static void test_retry_gives_up(struct timer_bed *b)
{
	struct tkw_retries *g =
		open_group(b, &(struct tkw_retries_config){ .tries = 3 });
	struct attempt a = { .b = b, .g = g };

	assert_int_equal(add(&a, 0), 0);
	if (bed_by_hand(b))
		assert_int_equal(a.tries, 0); /* not inside of the call */
	for (int i = 0; i < 60; i++)
		bed_pass(b, TKW_SEC);
	assert_int_equal(a.tries, 3);
	assert_int_equal(a.ends, 1);
	assert_int_equal(a.how, -ETIMEDOUT);
	close_group(b, g);
}
BED_TEST(test_retry_gives_up)

/* SPEC 8.1: times <= 0 = for ever. */
static void test_retry_for_ever(struct timer_bed *b)
{
	struct tkw_retries *g =
		open_group(b, &(struct tkw_retries_config){ .tries = -1 });
	struct attempt a = { .b = b, .g = g, .succeed_at = 1000 };

	assert_int_equal(add(&a, -7), 0);
	for (int i = 0; i < 1000; i++)
		bed_pass(b, 6 * TKW_SEC);
	assert_int_equal(a.tries, 1000);
	assert_int_equal(a.how, 0);
	close_group(b, g);
}
BED_TEST(test_retry_for_ever)

/* SPEC 8.1: each delay is twice the one before, up to the largest. */
static void test_retry_backs_off(struct timer_bed *b)
{
	static const int64_t delays[] = { 100, 200, 400, 800, 1000, 1000 };
	struct tkw_retries *g = open_group(
		b, &(struct tkw_retries_config){ .delay_ns = 100 * TKW_MSEC,
						 .backoff_percent = 200,
						 .tries = 7 });
	struct attempt a = { .b = b, .g = g };

	assert_int_equal(add(&a, 0), 0);
	for (int i = 0; i < 5000; i++)
		bed_pass(b, TKW_MSEC);
	assert_int_equal(a.tries, 7);
	for (int i = 0; i < 6; i++) {
		int64_t gap_ns = a.at_ns[i + 1] - a.at_ns[i];

		/* Up to a tick for the deadline, and one for the clock. */
		assert_true(gap_ns >= delays[i] * TKW_MSEC);
		assert_true(gap_ns <= (delays[i] + 2) * TKW_MSEC);
	}
	close_group(b, g);
}
BED_TEST(test_retry_backs_off)

static void run_jitter(struct timer_bed *b, uint64_t seed, int64_t *gaps)
{
	struct tkw_retries *g = open_group(
		b, &(struct tkw_retries_config){ .delay_ns = 100 * TKW_MSEC,
						 .jitter_percent = 50,
						 .seed = seed,
						 .tries = 33 });
	struct attempt a = { .b = b, .g = g };

	assert_int_equal(add(&a, 0), 0);
	for (int i = 0; i < 4000; i++)
		bed_pass(b, TKW_MSEC);
	assert_int_equal(a.tries, 33);
	for (int i = 0; i < 32; i++)
		gaps[i] = a.at_ns[i + 1] - a.at_ns[i];
	close_group(b, g);
}

/* SPEC 8.1: jitter takes from a delay, never adds; the seed says how much. */
static void test_retry_with_jitter(struct timer_bed *b)
{
	int64_t one[32], same[32], other[32];
	bool short_one = false, long_one = false;

	run_jitter(b, 7, one);
	run_jitter(b, 7, same);
	run_jitter(b, 8, other);
	assert_memory_equal(one, same, sizeof(one));
	assert_memory_not_equal(one, other, sizeof(one));
	for (int i = 0; i < 32; i++) {
		assert_true(one[i] >= 50 * TKW_MSEC);
		assert_true(one[i] <= 102 * TKW_MSEC);
		short_one = short_one || one[i] < 70 * TKW_MSEC;
		long_one = long_one || one[i] > 80 * TKW_MSEC;
	}
	assert_true(short_one && long_one);
}
BED_TEST(test_retry_with_jitter)

/* SPEC 8.1: cancelled between two tries, which is told inside of the call. */
static void test_retry_cancelled(struct timer_bed *b)
{
	struct tkw_retries *g =
		open_group(b, &(struct tkw_retries_config){ 0 });
	struct attempt a = { .b = b, .g = g };

	assert_int_equal(add(&a, 0), 0);
	bed_pass(b, TKW_SEC);
	assert_int_equal(a.tries, 1);
	assert_int_equal(tkw_retries_cancel(g, a.id), 0);
	assert_int_equal(a.ends, 1);
	assert_int_equal(a.how, -ECANCELED);
	assert_int_equal(tkw_retries_pending(g), 0);
	assert_int_equal(tkw_timer_pending(b->t), 0);
	assert_int_equal(tkw_retries_cancel(g, a.id), -ENOENT);
	bed_pass(b, 20 * TKW_SEC);
	assert_int_equal(a.tries, 1);
	close_group(b, g);
}
BED_TEST(test_retry_cancelled)

static void cancel_self(struct attempt *a)
{
	a->result = tkw_retries_cancel(a->g, a->id);
}

/* SPEC 8.1: the try inside of which a task is cancelled is the last one. */
static void test_retry_cancelled_inside_a_try(struct timer_bed *b)
{
	struct tkw_retries *g =
		open_group(b, &(struct tkw_retries_config){ 0 });
	struct attempt a = { .b = b, .g = g, .in_try = cancel_self };
	struct attempt s = a;

	s.succeed_at = 1;
	assert_int_equal(add(&a, 0), 0);
	assert_int_equal(add(&s, 0), 0);
	bed_pass(b, 20 * TKW_SEC);
	assert_int_equal(a.result, 1);
	assert_int_equal(a.tries, 1);
	assert_int_equal(a.ends, 1);
	assert_int_equal(a.how, -ECANCELED);
	/* The success is worth more. */
	assert_int_equal(s.result, 1);
	assert_int_equal(s.tries, 1);
	assert_int_equal(s.ends, 1);
	assert_int_equal(s.how, 0);
	close_group(b, g);
}
BED_TEST(test_retry_cancelled_inside_a_try)

/* SPEC 8.1: at most M at a time; a place is free again when a task has ended.
 */
static void test_retry_limit_of_tasks(struct timer_bed *b)
{
	struct tkw_retries *g =
		open_group(b, &(struct tkw_retries_config){ 0 });
	struct attempt a[101];

	for (int i = 0; i < 101; i++)
		a[i] = (struct attempt){ .b = b, .g = g };
	for (int i = 0; i < 100; i++)
		assert_int_equal(add(&a[i], TKW_SEC), 0);
	a[100].id = 77;
	assert_int_equal(add(&a[100], TKW_SEC), -EAGAIN);
	assert_int_equal(a[100].id, 77);
	assert_int_equal(a[100].ends, 0);
	assert_int_equal(tkw_retries_pending(g), 100);
	assert_int_equal(tkw_retries_cancel(g, a[40].id), 0);
	assert_int_equal(add(&a[100], TKW_SEC), 0);
	assert_int_not_equal(a[100].id, a[40].id);
	assert_int_equal(tkw_retries_cancel(g, a[40].id), -ENOENT);
	assert_int_equal(a[100].ends, 0);
	close_group(b, g);
	for (int i = 0; i < 101; i++) {
		assert_int_equal(a[i].ends, 1);
		assert_int_equal(a[i].how, i == 40 ? -ECANCELED : -ESHUTDOWN);
	}
}
BED_TEST(test_retry_limit_of_tasks)

static void add_another(struct attempt *a)
{
	struct attempt *next = a + 1;

	*next = (struct attempt){ .b = a->b, .g = a->g, .succeed_at = 1 };
	a->result = add(next, 0);
}

/* A task that has ended may add one from on_end, when others leave room. */
static void test_retry_added_from_on_end(struct timer_bed *b)
{
	struct tkw_retries *g =
		open_group(b, &(struct tkw_retries_config){ .max_tasks = 2 });
	struct attempt a[2] = { {
		.b = b,
		.g = g,
		.succeed_at = 1,
		.in_end = add_another,
	} };

	assert_int_equal(add(&a[0], 0), 0);
	bed_pass(b, TKW_SEC);
	bed_pass(b, TKW_MSEC);
	assert_int_equal(a[0].result, 0);
	assert_int_equal(a[1].tries, 1);
	assert_int_equal(a[1].ends, 1);
	close_group(b, g);
}
BED_TEST(test_retry_added_from_on_end)

static void destroy_inside(struct attempt *a)
{
	a->result = tkw_retries_destroy(a->g);
}

/* It would wait for itself. */
static void test_retry_destroyed_from_inside_is_refused(struct timer_bed *b)
{
	struct tkw_retries *g =
		open_group(b, &(struct tkw_retries_config){ 0 });
	struct attempt in_try = { .b = b, .g = g, .in_try = destroy_inside };
	struct attempt in_end = { .b = b, .g = g, .in_end = destroy_inside };

	assert_int_equal(add(&in_try, 0), 0);
	assert_int_equal(add(&in_end, TKW_SEC), 0);
	bed_pass(b, TKW_MSEC);
	assert_int_equal(in_try.tries, 1);
	assert_int_equal(in_try.result, -EDEADLK);
	assert_int_equal(tkw_retries_cancel(g, in_end.id), 0);
	assert_int_equal(in_end.result, -EDEADLK);
	assert_int_equal(tkw_retries_pending(g), 1);
	close_group(b, g);
	assert_int_equal(in_try.how, -ESHUTDOWN);
}
BED_TEST(test_retry_destroyed_from_inside_is_refused)

static void test_retry_stop(struct timer_bed *b)
{
	struct tkw_retries *g =
		open_group(b, &(struct tkw_retries_config){ 0 });
	struct attempt a = { .b = b, .g = g };
	struct attempt late = { .b = b, .g = g };

	assert_int_equal(add(&a, TKW_SEC), 0);
	assert_int_equal(tkw_retries_stop(g), 0);
	assert_int_equal(a.ends, 1);
	assert_int_equal(a.how, -ESHUTDOWN);
	assert_int_equal(tkw_retries_stop(g), 1);
	assert_int_equal(add(&late, 0), -ESHUTDOWN);
	bed_pass(b, 20 * TKW_SEC);
	assert_int_equal(a.tries, 0);
	assert_int_equal(late.tries + late.ends, 0);
	close_group(b, g);
}
BED_TEST(test_retry_stop)

/* The timer is stopped underneath: all are told, none is lost. */
static void test_retry_timer_stopped(struct timer_bed *b)
{
	struct tkw_retries *g =
		open_group(b, &(struct tkw_retries_config){ 0 });
	struct attempt a[10];

	for (int i = 0; i < 10; i++) {
		a[i] = (struct attempt){ .b = b, .g = g };
		assert_int_equal(add(&a[i], TKW_SEC), 0);
	}
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(a[i].ends, 1);
		assert_int_equal(a[i].how, -ESHUTDOWN);
	}
	a[0].ends = 0;
	assert_int_equal(add(&a[0], 0), -ESHUTDOWN);
	assert_int_equal(a[0].ends, 0);
	assert_int_equal(tkw_retries_pending(g), 0);
	close_group(b, g);
}
BED_TEST(test_retry_timer_stopped)

static int ignore(void *arg, int64_t number)
{
	(void)arg;
	(void)number;
	return -EIO;
}

static void test_retry_bad_input(struct timer_bed *b)
{
	const struct tkw_retry task = { .fn = ignore };
	const struct tkw_retry no_fn = { .arg = b };
	const struct tkw_retries_config bad[] = {
		{ .timer = NULL },
		{ .timer = b->t, .size = 1 },
		{ .timer = b->t, .delay_ns = -1 },
		{ .timer = b->t, .delay_ns = INT64_MIN },
		{ .timer = b->t, .backoff_percent = 99 },
		{ .timer = b->t, .backoff_percent = 1001 },
		{ .timer = b->t, .backoff_percent = -1 },
		{ .timer = b->t, .max_delay_ns = -1 },
		{ .timer = b->t, .max_delay_ns = TKW_SEC },
		{ .timer = b->t, .jitter_percent = -1 },
		{ .timer = b->t, .jitter_percent = 101 },
		{ .timer = b->t, .max_tasks = -1 },
		{ .timer = b->t, .max_tasks = (1 << 20) + 1 },
	};
	struct tkw_retries *g = (struct tkw_retries *)b;
	uint64_t id = 1;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(tkw_retries_create(&g, &bad[i]), -EINVAL);
		assert_ptr_equal(g, b);
	}
	assert_int_equal(tkw_retries_create(&g, NULL), -EINVAL);
	assert_int_equal(tkw_retries_create(NULL, &bad[0]), -EINVAL);
	g = open_group(b, &(struct tkw_retries_config){ .max_tasks = 2 });
	assert_int_equal(tkw_retries_add(NULL, &task, 0, &id), -EINVAL);
	assert_int_equal(tkw_retries_add(g, NULL, 0, &id), -EINVAL);
	assert_int_equal(tkw_retries_add(g, &no_fn, 0, &id), -EINVAL);
	assert_int_equal(id, 1);
	assert_int_equal(tkw_retries_cancel(NULL, 1), -EINVAL);
	for (id = 0; id < 4; id++)
		assert_int_equal(tkw_retries_cancel(g, id), -ENOENT);
	assert_int_equal(tkw_retries_cancel(g, UINT64_MAX), -ENOENT);
	assert_int_equal(tkw_retries_pending(NULL), 0);
	assert_int_equal(tkw_retries_stop(NULL), -EINVAL);
	assert_int_equal(tkw_retries_destroy(NULL), -EINVAL);
	/* Nobody wants to know the id, or the end. */
	assert_int_equal(tkw_retries_add(g, &task, 0, NULL), 0);
	close_group(b, g);
}
BED_TEST(test_retry_bad_input)

/* The largest delays there are do not overflow. */
static void test_retry_delays_saturate(struct timer_bed *b)
{
	struct tkw_retries *g = open_group(
		b, &(struct tkw_retries_config){ .delay_ns = TKW_NEVER_NS / 5,
						 .backoff_percent = 1000,
						 .jitter_percent = 100 });
	struct attempt a = { .b = b, .g = g };

	assert_int_equal(add(&a, 0), 0);
	for (int i = 0; i < 8; i++)
		bed_pass(b, TKW_NEVER_NS / 10);
	assert_true(a.tries >= 2);
	close_group(b, g);
	g = open_group(b, &(struct tkw_retries_config){ 0 });
	a = (struct attempt){ .b = b, .g = g };
	assert_int_equal(add(&a, TKW_NEVER_NS), 0);
	bed_pass(b, TKW_SEC);
	assert_int_equal(a.tries, 0);
	close_group(b, g);
}
BED_TEST(test_retry_delays_saturate)

/* The timer's own limit: refused at the begin without a trace, and later the
 * task ends, and is told why. */
static void test_retry_timer_is_full(struct timer_bed *b)
{
	struct tkw_retries *g;
	struct attempt a = { .b = b };
	struct attempt none = { .b = b };

	bed_reopen(b, &(struct tkw_timer_config){ .max_pending = 1 });
	g = open_group(b, &(struct tkw_retries_config){ 0 });
	a.g = none.g = g;
	assert_int_equal(add(&a, TKW_SEC), 0);
	assert_int_equal(add(&none, TKW_SEC), -EAGAIN);
	assert_int_equal(none.ends, 0);
	assert_int_equal(tkw_retries_pending(g), 1);
	close_group(b, g);
	assert_int_equal(a.how, -ESHUTDOWN);
}
BED_TEST(test_retry_timer_is_full)

static void take_last_place(struct attempt *a)
{
	bed_schedule(a->b, 1, TKW_SEC);
}

/* By hand: the marks of a thread would take the place. */
static void test_retry_timer_gets_full(struct timer_bed *b)
{
	struct tkw_retries *g;
	struct attempt a = { .b = b, .in_try = take_last_place };

	bed_reopen(b, &(struct tkw_timer_config){ .max_pending = 1 });
	g = open_group(b, &(struct tkw_retries_config){ 0 });
	a.g = g;
	assert_int_equal(add(&a, 0), 0);
	bed_pass(b, TKW_MSEC);
	bed_pass(b, 2 * TKW_SEC);
	assert_int_equal(a.tries, 1);
	assert_int_equal(a.ends, 1);
	assert_int_equal(a.how, -EAGAIN);
	close_group(b, g);
}
BED_TEST(test_retry_timer_gets_full)

/* --- memory -------------------------------------------------------------- */

static int allocations_left = -1; /* then they fail; -1: they do not */

void *real_aligned_alloc(size_t align,
			 size_t size) __asm__("__real_aligned_alloc");
void *wrap_aligned_alloc(size_t align,
			 size_t size) __asm__("__wrap_aligned_alloc");

void *wrap_aligned_alloc(size_t align, size_t size)
{
	if (allocations_left == 0)
		return NULL;
	if (allocations_left > 0)
		allocations_left--;
	return real_aligned_alloc(align, size);
}

/* Fault 1: refused, and as before. */
static void test_retry_without_memory(struct timer_bed *b)
{
	const struct tkw_retries_config cfg = { .timer = b->t };
	struct tkw_retries *g = NULL;
	struct attempt a = { .b = b };

	allocations_left = 0;
	assert_int_equal(tkw_retries_create(&g, &cfg), -ENOMEM);
	assert_null(g);
	allocations_left = -1;
	a.g = g = open_group(b, &cfg);
	allocations_left = 0;
	assert_int_equal(add(&a, 0), -ENOMEM);
	allocations_left = -1;
	assert_int_equal(a.ends, 0);
	assert_int_equal(tkw_retries_pending(g), 0);
	assert_int_equal(add(&a, 0), 0);
	close_group(b, g);
	assert_int_equal(a.ends, 1);
}
BED_TEST(test_retry_without_memory)

/* --- fork ---------------------------------------------------------------- */

static bool ends_well(pid_t child)
{
	int status = 0;

	return waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

/* In a child the group is inert, and the parent notices nothing. */
static void test_retry_in_a_child(struct timer_bed *b)
{
	struct tkw_retries *g =
		open_group(b, &(struct tkw_retries_config){ 0 });
	struct attempt a = { .b = b, .g = g, .succeed_at = 1 };
	const struct tkw_retries_config cfg = { .timer = b->t };
	struct tkw_retries *child_group = NULL;
	pid_t child;

	assert_int_equal(add(&a, TKW_SEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		bool inert = add(&a, 0) == -EPERM &&
			     tkw_retries_cancel(g, a.id) == -EPERM &&
			     tkw_retries_pending(g) == 0 &&
			     tkw_retries_stop(g) == -EPERM &&
			     tkw_retries_create(&child_group, &cfg) == -EPERM &&
			     tkw_retries_destroy(g) == 0 && a.ends == 0;

		_exit(inert ? 0 : 1);
	}
	assert_true(ends_well(child));
	bed_pass(b, 2 * TKW_SEC);
	assert_int_equal(a.how, 0);
	assert_int_equal(a.ends, 1);
	close_group(b, g);
}
BED_TEST(test_retry_in_a_child)

static pid_t child_of_try;

static void fork_in_try(struct attempt *a)
{
	child_of_try = fork();
	if (child_of_try == 0 && tkw_retries_destroy(a->g) != 0)
		_exit(2);
}

/* A child that a try has forked frees the group, and returns from the try. */
static void test_retry_forks_in_a_try(struct timer_bed *b)
{
	struct tkw_retries *g =
		open_group(b, &(struct tkw_retries_config){ 0 });
	struct attempt a = { .b = b, .g = g, .in_try = fork_in_try };
	pid_t parent = getpid();
	int ran;

	a.succeed_at = 1;
	assert_int_equal(add(&a, 0), 0);
	bed_set_clock(b, tkw_timer_now(b->t) + TKW_MSEC);
	ran = tkw_timer_turn(b->t, NULL);
	if (getpid() != parent)
		_exit(ran == -EPERM ? 0 : 1);
	assert_int_equal(ran, 1);
	assert_true(ends_well(child_of_try));
	assert_int_equal(a.how, 0);
	close_group(b, g);
}
BED_TEST(test_retry_forks_in_a_try)

/* On the next turn, also in the middle of a tick. */
static void test_retry_at_once_is_on_the_next_turn(struct timer_bed *b)
{
	struct tkw_retries *g =
		open_group(b, &(struct tkw_retries_config){ 0 });
	struct attempt a = { .b = b, .g = g, .succeed_at = 1 };

	bed_pass(b, TKW_MSEC / 3);
	assert_int_equal(add(&a, 0), 0);
	assert_int_equal(tkw_timer_turn(b->t, NULL), 1);
	assert_int_equal(a.ends, 1);
	close_group(b, g);
}
BED_TEST(test_retry_at_once_is_on_the_next_turn)

/* --- threads ------------------------------------------------------------- */

static void *cancelled_in_on_end(void *arg)
{
	struct attempt *a = arg;

	a->result = tkw_retries_cancel(a->g, a->id);
	return NULL;
}

static void come_to_cancellation(struct attempt *a)
{
	(void)a;
	pthread_cancel(pthread_self());
	pthread_testcancel();
}

/* A thread that is cancelled in an on_end is so after it only. */
static void test_retry_thread_is_cancelled_later(struct timer_bed *b)
{
	struct tkw_retries *g =
		open_group(b, &(struct tkw_retries_config){ 0 });
	struct attempt a = { .b = b, .g = g, .in_end = come_to_cancellation };
	pthread_t thread;

	assert_int_equal(add(&a, TKW_SEC), 0);
	assert_int_equal(pthread_create(&thread, NULL, cancelled_in_on_end, &a),
			 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(a.ends, 1);
	assert_int_equal(tkw_retries_pending(g), 0);
	close_group(b, g);
}
BED_TEST(test_retry_thread_is_cancelled_later)

static void wait_at_gate(struct attempt *a)
{
	gate_pass(a->gate);
}

struct destroyer {
	struct tkw_retries *g;
	pid_t tid;
	int result;
};

static void *destroy_group(void *arg)
{
	struct destroyer *d = arg;

	__atomic_store_n(&d->tid, gettid(), __ATOMIC_SEQ_CST);
	d->result = tkw_retries_destroy(d->g);
	return NULL;
}

/* destroy waits for the running try; stop and cancel do not. */
static void test_retry_ends_after_the_running_try(struct timer_bed *b)
{
	struct gate gate = GATE_INIT;
	struct tkw_pool *pool = NULL;
	struct tkw_pool_config cfg = { .threads = 3 };
	struct attempt a[2];
	struct destroyer d = { .tid = 0 };
	pthread_t thread;
	pid_t tid;

	assert_int_equal(tkw_pool_create(&pool, &cfg), 0);
	bed_reopen(b,
		   &(struct tkw_timer_config){ .exec = tkw_pool_exec(pool) });
	d.g = open_group(b, &(struct tkw_retries_config){ 0 });
	for (int i = 0; i < 2; i++) {
		a[i] = (struct attempt){ .b = b,
					 .g = d.g,
					 .succeed_at = i,
					 .in_try = wait_at_gate,
					 .gate = &gate };
		assert_int_equal(add(&a[i], 0), 0);
	}
	bed_pass(b, TKW_MSEC);
	gate_await(&gate, 2);
	assert_int_equal(tkw_retries_cancel(d.g, a[0].id), 1);
	assert_int_equal(tkw_retries_cancel(d.g, a[0].id), -ENOENT);
	assert_int_equal(tkw_retries_stop(d.g), 0);
	assert_int_equal(a[0].ends + a[1].ends, 0);
	assert_int_equal(tkw_retries_pending(d.g), 2);
	assert_int_equal(pthread_create(&thread, NULL, destroy_group, &d), 0);
	while ((tid = __atomic_load_n(&d.tid, __ATOMIC_SEQ_CST)) == 0 ||
	       !bed_is_asleep(tid))
		sched_yield();
	gate_open(&gate);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(d.result, 0);
	assert_int_equal(a[0].ends, 1);
	assert_int_equal(a[0].how, -ECANCELED);
	assert_int_equal(a[1].ends, 1);
	assert_int_equal(a[1].how, 0);
	assert_int_equal(tkw_timer_destroy(b->t), 0);
	b->t = NULL;
	assert_int_equal(tkw_pool_destroy(pool), 0);
}
BED_TEST(test_retry_ends_after_the_running_try)

enum {
	RACE_ROUNDS = 300,
	RACE_TASKS = 16
};

struct race {
	struct tkw_retries *g;
	struct attempt a[RACE_TASKS];
	unsigned results[3]; /* 0, 1, -ENOENT */
};

static void *cancel_all(void *arg)
{
	struct race *r = arg;

	for (int i = 0; i < RACE_TASKS; i++) {
		int err = tkw_retries_cancel(r->g, r->a[i].id);

		__atomic_fetch_add(&r->results[err < 0 ? 2 : err], 1,
				   __ATOMIC_SEQ_CST);
	}
	return NULL;
}

/* Two threads cancel while the worker tries: each task ends once, in one way.
 */
static void test_retry_cancels_race_tries(struct timer_bed *b)
{
	unsigned ends[3] = { 0, 0, 0 }; /* success, given up, cancelled */
	unsigned won = 0, told = 0;

	for (int round = 0; round < RACE_ROUNDS; round++) {
		struct race r = { .g = open_group(b,
						  &(struct tkw_retries_config){
							  .delay_ns = 1,
							  .tries = 3 }) };
		pthread_t threads[2];

		for (int i = 0; i < RACE_TASKS; i++) {
			r.a[i] = (struct attempt){ .b = b,
						   .g = r.g,
						   .succeed_at = i % 5 };
			assert_int_equal(add(&r.a[i], 0), 0);
		}
		for (int i = 0; i < 2; i++)
			assert_int_equal(pthread_create(&threads[i], NULL,
							cancel_all, &r),
					 0);
		bed_pass(b, 3 * TKW_MSEC);
		for (int i = 0; i < 2; i++)
			assert_int_equal(pthread_join(threads[i], NULL), 0);
		close_group(b, r.g);
		won += r.results[0] + r.results[1];
		told += r.results[0];
		for (int i = 0; i < RACE_TASKS; i++) {
			assert_int_equal(r.a[i].ends, 1);
			ends[0] += r.a[i].how == 0;
			ends[1] += r.a[i].how == -ETIMEDOUT;
			ends[2] += r.a[i].how == -ECANCELED;
		}
	}
	print_message("%u succeeded, %u given up, %u cancelled\n", ends[0],
		      ends[1], ends[2]);
	assert_int_equal(ends[0] + ends[1] + ends[2], RACE_ROUNDS * RACE_TASKS);
	/* Who was told 1 may see a success, who was told 0 may not. */
	assert_true(ends[2] <= won && ends[2] >= told);
}
BED_TEST(test_retry_cancels_race_tries)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_retry_until_it_succeeds),
		BED_TESTS(test_retry_gives_up),
		BED_TESTS(test_retry_for_ever),
		BED_TESTS(test_retry_backs_off),
		BED_TESTS(test_retry_with_jitter),
		BED_TESTS(test_retry_cancelled),
		BED_TESTS(test_retry_cancelled_inside_a_try),
		BED_TESTS(test_retry_limit_of_tasks),
		BED_TESTS(test_retry_added_from_on_end),
		BED_TESTS(test_retry_destroyed_from_inside_is_refused),
		BED_TESTS(test_retry_stop),
		BED_TESTS(test_retry_timer_stopped),
		BED_TESTS(test_retry_bad_input),
		BED_TESTS(test_retry_delays_saturate),
		BED_TESTS(test_retry_timer_is_full),
		BED_TEST_UNDER(test_retry_timer_gets_full, manual),
		BED_TESTS(test_retry_without_memory),
		BED_TESTS(test_retry_in_a_child),
		BED_TEST_UNDER(test_retry_forks_in_a_try, manual),
		BED_TEST_UNDER(test_retry_at_once_is_on_the_next_turn, manual),
		BED_TESTS(test_retry_thread_is_cancelled_later),
		BED_TESTS(test_retry_ends_after_the_running_try),
		BED_TESTS(test_retry_cancels_race_tries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
