/* SPDX-License-Identifier: MIT */
/*
 * test_timer_stats.c - SPEC 10.1: the histogram, each counter, how late tasks
 * were, and the dump.
 */
#include "timer_bed.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tickwheel/exec.h"
#include "tickwheel/stats.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define HOUR_NS (3600 * TKW_SEC)
#define BASE_NS (BED_START_NS - 300)

/* An assert of cmocka does not work in a task, or on a thread that is not the
 * test's. */
#define must(condition) ((condition) ? (void)0 : not_so(__LINE__, #condition))

static void not_so(int line, const char *condition)
{
	fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, line, condition);
	abort();
}

static uint64_t seed_of_today(void)
{
	const char *given = getenv("TKW_SEED");
	struct timespec ts;
	uint64_t seed;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	seed = (uint64_t)ts.tv_sec * 1000000007 + (uint64_t)ts.tv_nsec;
	if (given)
		seed = strtoull(given, NULL, 0);
	print_message("TKW_SEED=%" PRIu64 "\n", seed);
	return seed;
}

static uint64_t draw(uint64_t *seed)
{
	uint64_t x = *seed += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

/* --- the histogram ------------------------------------------------------- */

/* From this time on, all times are in the last bucket. */
#define BEYOND_NS (INT64_C(1) << 44)

/* SPEC 10.1: the functions bucket and least are inverse to each other. */
static void test_histogram_buckets_have_their_times(void **state)
{
	int64_t least;
	int64_t next;
	uint32_t i;

	(void)state;
	assert_true(tkw_histogram_least_ns(0) == 0);
	for (i = 0; i < TKW_HISTOGRAM_BUCKETS; i++) {
		least = tkw_histogram_least_ns(i);
		next = tkw_histogram_least_ns(i + 1);
		assert_true(least < next);
		assert_int_equal(tkw_histogram_bucket(least), i);
		assert_int_equal(tkw_histogram_bucket((least + next) / 2), i);
		assert_int_equal(tkw_histogram_bucket(next - 1), i);
	}
	assert_true(tkw_histogram_least_ns(TKW_HISTOGRAM_BUCKETS) == BEYOND_NS);
}

/* SPEC 10.1: a bucket is at most 1/64 wide, and exact for small times. */
static void test_histogram_buckets_are_narrow(void **state)
{
	int64_t least;
	int64_t width;
	uint32_t i;

	(void)state;
	for (i = 0; i < TKW_HISTOGRAM_BUCKETS; i++) {
		least = tkw_histogram_least_ns(i);
		width = tkw_histogram_least_ns(i + 1) - least;
		if (least < 128)
			assert_true(width == 1);
		else
			assert_true(width * 64 <= least);
	}
}

/* Around each power of two, which is where a shift goes wrong. */
static void test_histogram_at_powers_of_two(void **state)
{
	uint32_t last = 0;
	uint32_t bucket;
	int64_t ns;
	int i;

	(void)state;
	for (i = 0; i < 3 * 63; i++) {
		ns = (INT64_C(1) << (i / 3)) + i % 3 - 1;
		bucket = tkw_histogram_bucket(ns);
		assert_true(bucket < TKW_HISTOGRAM_BUCKETS);
		assert_true(i < 6 || bucket >= last);
		last = bucket;
		if (ns >= BEYOND_NS) {
			assert_int_equal(bucket, TKW_HISTOGRAM_BUCKETS - 1);
			continue;
		}
		assert_true(tkw_histogram_least_ns(bucket) <= ns);
		assert_true(tkw_histogram_least_ns(bucket + 1) > ns);
	}
}

static void test_histogram_of_impossible_times(void **state)
{
	(void)state;
	assert_int_equal(tkw_histogram_bucket(-1), 0);
	assert_int_equal(tkw_histogram_bucket(-HOUR_NS), 0);
	assert_int_equal(tkw_histogram_bucket(INT64_MIN), 0);
	assert_int_equal(tkw_histogram_bucket(INT64_MAX),
			 TKW_HISTOGRAM_BUCKETS - 1);
	assert_int_equal(tkw_histogram_bucket(BEYOND_NS),
			 TKW_HISTOGRAM_BUCKETS - 1);
}

/* Checks that any two times are in the order of their buckets. */
static void test_histogram_buckets_ascend(void **state)
{
	uint64_t seed = seed_of_today();
	int64_t a;
	int64_t b;
	int i;

	(void)state;
	for (i = 0; i < 100000; i++) {
		a = (int64_t)(draw(&seed) >> (1 + draw(&seed) % 63));
		b = (int64_t)(draw(&seed) >> (1 + draw(&seed) % 63));
		assert_true((a <= b ? tkw_histogram_bucket(a)
				    : tkw_histogram_bucket(b)) <=
			    (a <= b ? tkw_histogram_bucket(b)
				    : tkw_histogram_bucket(a)));
	}
}

enum {
	SAMPLES = 5000
};

struct samples {
	size_t n;
	int64_t ns[SAMPLES]; /* sorted */
	struct tkw_histogram h;
};

static int compare_ns(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a;
	const int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void add_sample(struct tkw_histogram *h, int64_t ns)
{
	h->count++;
	h->bucket[tkw_histogram_bucket(ns)]++;
	if (h->max_ns < ns)
		h->max_ns = ns;
}

/* From nanoseconds to hours, with as many of each magnitude. */
static void take_samples(struct samples *s, size_t n, uint64_t *seed)
{
	size_t i;

	memset(s, 0, sizeof(*s));
	s->n = n;
	for (i = 0; i < n; i++) {
		s->ns[i] = (int64_t)(draw(seed) >> (20 + draw(seed) % 43));
		add_sample(&s->h, s->ns[i]);
	}
	qsort(s->ns, n, sizeof(s->ns[0]), compare_ns);
}

/* The first sample up to which this share of the samples lies. */
static int64_t exact_quantile(const struct samples *s, double share)
{
	/* A variable, because a product in a comparison may have more
	 * precision. */
	const double wanted = share * (double)s->n;
	size_t i = 0;

	while (i + 1 < s->n && (double)(i + 1) < wanted)
		i++;
	return s->ns[i];
}

static void assert_quantile(const struct samples *s, double share)
{
	const int64_t exact = exact_quantile(s, share);
	const int64_t got = tkw_histogram_quantile_ns(&s->h, share);
	const double off = fabs((double)got - (double)exact);

	if (off > 0 && !(off < 0.008 * (double)exact))
		fail_msg("%zu samples, share %.17g: %" PRId64
			 " instead of %" PRId64,
			 s->n, share, got, exact);
	assert_true(got <= s->h.max_ns);
}

/* SPEC 10.1: compared with all samples, sorted. */
static void test_histogram_quantiles_are_near(void **state)
{
	static const double shares[] = { 0,   0.001, 0.01,  0.25,   0.5,
					 0.9, 0.99,  0.999, 0.9999, 1 };
	static const size_t sizes[] = { 1, 2, 3, 10, 100, 1000, SAMPLES };
	uint64_t seed = seed_of_today();
	static struct samples s;
	size_t i;
	size_t k;

	(void)state;
	for (i = 0; i < 5 * COUNT_OF(sizes); i++) {
		take_samples(&s, sizes[i % COUNT_OF(sizes)], &seed);
		for (k = 0; k < COUNT_OF(shares); k++)
			assert_quantile(&s, shares[k]);
		for (k = 0; k < 100; k++)
			assert_quantile(&s, (double)(draw(&seed) >> 11) /
						    9007199254740992.0);
	}
}

/* A share below 0 counts as 0. */
static void test_histogram_quantiles_of_shares_below_0(void **state)
{
	uint64_t seed = seed_of_today();
	static struct samples s;
	unsigned i;

	(void)state;
	for (i = 0; i < 20; i++) {
		take_samples(&s, 1 + (size_t)(draw(&seed) % 50), &seed);
		assert_true(tkw_histogram_quantile_ns(&s.h, -0.5) ==
			    tkw_histogram_quantile_ns(&s.h, 0));
		assert_true(
			tkw_histogram_quantile_ns(&s.h, -(double)INFINITY) ==
			tkw_histogram_quantile_ns(&s.h, 0));
	}
}

/* A share above 1 counts as 1. */
static void test_histogram_quantiles_of_shares_above_1(void **state)
{
	static struct tkw_histogram h;
	int64_t all;

	(void)state;
	memset(&h, 0, sizeof(h));
	add_sample(&h, 1000);
	add_sample(&h, 1007); /* the last time of its bucket */
	all = tkw_histogram_quantile_ns(&h, 1);
	assert_true(tkw_histogram_quantile_ns(&h, 1.0000001) == all);
	assert_true(tkw_histogram_quantile_ns(&h, 2) == all);
	assert_true(tkw_histogram_quantile_ns(&h, (double)INFINITY) == all);
}

static void test_histogram_quantiles_of_nothing(void **state)
{
	static struct tkw_histogram h;

	(void)state;
	memset(&h, 0, sizeof(h));
	assert_true(tkw_histogram_quantile_ns(NULL, 0.5) == 0);
	assert_true(tkw_histogram_quantile_ns(&h, 0) == 0);
	assert_true(tkw_histogram_quantile_ns(&h, 0.5) == 0);
	assert_true(tkw_histogram_quantile_ns(&h, 1) == 0);
}

/* A quantile is never larger than the largest sample, however wide its bucket
 * is. */
static void test_histogram_quantiles_do_not_exceed_the_maximum(void **state)
{
	static struct tkw_histogram h;
	uint32_t i;

	(void)state;
	for (i = 0; i < TKW_HISTOGRAM_BUCKETS; i++) {
		memset(&h, 0, sizeof(h));
		add_sample(&h, tkw_histogram_least_ns(i));
		assert_true(tkw_histogram_quantile_ns(&h, 0) == h.max_ns);
		assert_true(tkw_histogram_quantile_ns(&h, 0.5) == h.max_ns);
		assert_true(tkw_histogram_quantile_ns(&h, 1) == h.max_ns);
	}
	/* Of the last bucket only the lower bound is known. */
	memset(&h, 0, sizeof(h));
	add_sample(&h, 10 * BEYOND_NS);
	assert_true(tkw_histogram_quantile_ns(&h, 0.5) >=
		    tkw_histogram_least_ns(TKW_HISTOGRAM_BUCKETS - 1));
	assert_true(tkw_histogram_quantile_ns(&h, 0.5) <= h.max_ns);
}

/* --- counters ------------------------------------------------------------ */

/* Returns the statistics. Checks that the ledger in them balances, and that the
 * timer is sound. */
static struct tkw_stats *stats_of(struct timer_bed *b)
{
	static struct tkw_stats st;
	const struct tkw_ledger *l = &st.ledger;

	memset(&st, 0xff, sizeof(st));
	assert_int_equal(tkw_timer_get_stats(b->t, &st), 0);
	assert_true(l->accepted == l->fired + l->cancelled + l->dropped +
					   l->handed_over + l->pending);
	assert_null(tkw_timer_check(b->t));
	return &st;
}

static void nothing(const struct tkw_firing *firing, void *ctx)
{
	(void)ctx;
	(void)firing;
}

/* SPEC 10.1 */
static void test_timer_stats_of_a_new_timer_are_zero(struct timer_bed *b)
{
	static const struct tkw_stats none;

	assert_memory_equal(stats_of(b), &none, sizeof(none));
}
BED_TEST(test_timer_stats_of_a_new_timer_are_zero)

/* SPEC 10.1: numbers that are there twice are equal. */
static void test_timer_stats_have_the_ledger(struct timer_bed *b)
{
	struct tkw_ledger l;
	uint64_t i;

	for (i = 0; i < 30; i++)
		bed_schedule(b, i, (int64_t)(i + 1) * TKW_MSEC);
	bed_pass(b, 10 * TKW_MSEC + TKW_MSEC);
	assert_int_equal(tkw_timer_cancel(b->t, bed_schedule(b, 99, TKW_SEC)),
			 0);
	memset(&l, 0, sizeof(l));
	assert_int_equal(tkw_timer_get_ledger(b->t, &l), 0);
	assert_memory_equal(&stats_of(b)->ledger, &l, sizeof(l));
	assert_int_equal(l.fired, 10 + b->markers);
	assert_int_equal(l.cancelled, 1);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_int_equal(stats_of(b)->ledger.handed_over, 20);
	assert_int_equal(stats_of(b)->ledger.pending, 0);
}
BED_TEST(test_timer_stats_have_the_ledger)

/* Makes the four calls that schedule. Each is refused with err. */
static void try_all(struct timer_bed *b, int err)
{
	const struct tkw_batch_item items[3] = { { { .fn = nothing }, HOUR_NS },
						 { { .fn = nothing }, HOUR_NS },
						 { { .fn = nothing },
						   HOUR_NS } };
	const struct tkw_task *task = &items[0].task;

	assert_int_equal(tkw_timer_schedule(b->t, task, HOUR_NS, NULL), err);
	assert_int_equal(tkw_timer_schedule_at(b->t, task, HOUR_NS, NULL), err);
	assert_int_equal(tkw_timer_schedule_batch(b->t, items, 3, NULL), err);
	assert_int_equal(tkw_timer_schedule_batch_at(b->t, items, 3, NULL),
			 err);
}

static void assert_refusals(struct timer_bed *b, uint64_t full, uint64_t memory,
			    uint64_t stopped)
{
	assert_int_equal(stats_of(b)->refused_full, full);
	assert_int_equal(stats_of(b)->refused_memory, memory);
	assert_int_equal(stats_of(b)->refused_stopped, stopped);
	assert_int_equal(stats_of(b)->refused_by_exec, 0);
}

/* SPEC 10.1: calls are counted, so a batch counts once. */
static void test_timer_stats_count_refusals_by_reason(struct timer_bed *b)
{
	static struct bed_memory m;
	struct tkw_timer_hooks hooks = bed_memory_hooks(&m);
	const struct tkw_timer_config cfg = { .max_pending = 3,
					      .hooks = &hooks };
	const struct tkw_task bad = { .fn = NULL };
	struct tkw_task good = { .fn = nothing };
	int i;

	bed_reopen(b, &cfg);
	bed_memory_refuse(&m, true);
	assert_int_equal(tkw_timer_start(b->t), 0);
	try_all(b, -ENOMEM);
	assert_refusals(b, 0, 4, 0);
	bed_memory_refuse(&m, false);
	for (i = 0; i < 3; i++)
		assert_int_equal(tkw_timer_schedule(b->t, &good, HOUR_NS, NULL),
				 0);
	try_all(b, -EAGAIN);
	try_all(b, -EAGAIN);
	assert_refusals(b, 8, 4, 0);
	/* A mistake of the caller does not count as a refusal. */
	assert_int_equal(tkw_timer_schedule(b->t, &bad, 0, NULL), -EINVAL);
	assert_int_equal(tkw_timer_schedule_batch(b->t, NULL, 1, NULL),
			 -EINVAL);
	assert_refusals(b, 8, 4, 0);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	try_all(b, -ESHUTDOWN);
	assert_refusals(b, 8, 4, 4);
	bed_reopen(b, NULL);
	assert_int_equal(m.live, 0);
}
BED_TEST(test_timer_stats_count_refusals_by_reason)

/* SPEC 10.1, 5.5: only reschedules that succeeded are counted. */
static void test_timer_stats_count_reschedules(struct timer_bed *b)
{
	struct tkw_timeout_id id = bed_schedule(b, 1, TKW_SEC);
	struct tkw_timeout_id other = bed_schedule(b, 2, TKW_SEC);

	assert_int_equal(stats_of(b)->rescheduled, 0);
	assert_int_equal(tkw_timer_reschedule(b->t, id, 2 * TKW_SEC), 0);
	assert_int_equal(tkw_timer_reschedule_at(b->t, id, BASE_NS + TKW_SEC),
			 0);
	assert_int_equal(tkw_timer_reschedule(b->t, other, HOUR_NS), 0);
	assert_int_equal(stats_of(b)->rescheduled, 3);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	assert_int_equal(tkw_timer_reschedule(b->t, id, 1), -ENOENT);
	assert_int_equal(tkw_timer_reschedule_at(b->t, BED_NO_ID, 1), -ENOENT);
	assert_int_equal(stats_of(b)->rescheduled, 3);
	/* It is not part of the ledger. */
	assert_int_equal(stats_of(b)->ledger.accepted, 2);
}
BED_TEST(test_timer_stats_count_reschedules)

static void pass_by(struct tkw_wheel *w, struct tkw_entry *e, void *ctx)
{
	(void)w;
	(void)e;
	(void)ctx;
}

/* How many steps except the last one a bare wheel makes for one entry. */
static uint64_t moves_of(uint64_t now, uint64_t tick, int engine,
			 uint64_t slots)
{
	const struct tkw_wheel_config cfg = { .engine = engine,
					      .slots = slots,
					      .now_tick = now };
	struct tkw_entry e = TKW_ENTRY_INIT;
	struct tkw_wheel *w;
	uint64_t steps;
	size_t bytes;
	void *mem;

	assert_int_equal(tkw_wheel_bytes(&cfg, &bytes), 0);
	mem = aligned_alloc(64, (bytes + 63) / 64 * 64);
	assert_non_null(mem);
	assert_int_equal(tkw_wheel_init(&w, mem, bytes, &cfg), 0);
	assert_int_equal(tkw_wheel_add(w, &e, tick), 0);
	while (tkw_wheel_count(w) > 0)
		assert_int_equal(tkw_wheel_advance(w, tkw_wheel_next_tick(w),
						   TKW_STEPS_UNBOUNDED, pass_by,
						   NULL),
				 0);
	steps = tkw_wheel_count_steps(w);
	assert_int_equal(tkw_wheel_fini(w), 0);
	free(mem);
	return steps - 1;
}

/* SPEC 10.1, 1.5: the counts are those of a bare wheel, for near and far
 * timeouts. */
static void test_timer_stats_count_moves(struct timer_bed *b)
{
	static const int64_t delays[] = { 2 * TKW_MSEC, 20 * TKW_MSEC,
					  TKW_SEC,      100 * TKW_SEC,
					  HOUR_NS,      100 * HOUR_NS };
	const uint64_t now = BED_START_NS / TKW_MSEC;
	uint64_t moves;
	uint64_t tick;
	size_t i;

	for (i = 0; i < COUNT_OF(delays); i++) {
		bed_set_clock(b, BED_START_NS);
		bed_reopen(b, NULL);
		tick = (uint64_t)(BASE_NS + delays[i]) / TKW_MSEC;
		moves = moves_of(now, tick, TKW_WHEEL_HIERARCHICAL, 0);
		bed_schedule(b, i, delays[i] - 300);
		assert_int_equal(stats_of(b)->moved, 0);
		bed_pass(b, delays[i]);
		bed_assert_fired(b, i);
		assert_int_equal(stats_of(b)->moved, moves);
	}
	/* The last delay is long enough for a move in any build. */
	assert_true(moves > 0);
}
BED_TEST(test_timer_stats_count_moves)

/* SPEC 10.1: the hashed engine counts each look at an entry before its
 * round. */
static void test_timer_stats_count_looks_of_the_hashed(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .engine = TKW_WHEEL_HASHED,
					      .slots = 4 };

	bed_reopen(b, &cfg);
	bed_schedule(b, 1, 2 * TKW_MSEC - 300);
	bed_pass(b, 2 * TKW_MSEC);
	bed_assert_fired(b, 1);
	assert_int_equal(stats_of(b)->moved, 0);
	/* Two in one slot. The second one has to wait for another round. */
	bed_schedule(b, 2, 2 * TKW_MSEC - 300);
	bed_schedule(b, 3, 6 * TKW_MSEC - 300);
	bed_pass(b, 2 * TKW_MSEC);
	bed_assert_fired(b, 2);
	assert_int_equal(stats_of(b)->moved, 1);
	bed_pass(b, 4 * TKW_MSEC);
	bed_assert_fired(b, 3);
	assert_int_equal(stats_of(b)->moved, 1);
}
BED_TEST(test_timer_stats_count_looks_of_the_hashed)

/* SPEC 10.1 */
static void test_timer_stats_count_turns(void **state)
{
	struct timer_bed *b = *state;
	unsigned i;

	assert_int_equal(stats_of(b)->turns, 0);
	for (i = 0; i < 10; i++) {
		bed_schedule(b, i, 0);
		assert_int_equal(bed_turn(b, NULL), 1);
		assert_int_equal(stats_of(b)->turns, 2 * i + 1);
		/* A turn without a due timeout counts, too. */
		assert_int_equal(bed_turn(b, NULL), 0);
		assert_int_equal(stats_of(b)->turns, 2 * i + 2);
	}
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_int_equal(bed_turn(b, NULL), -ESHUTDOWN);
	assert_int_equal(stats_of(b)->turns, 20);
	/* No worker sleeps here. An event loop is woken for each run. */
	assert_int_equal(stats_of(b)->wake_ups,
			 b->drive == TKW_DRIVE_LOOP ? 20 : 0);
}

/*
 * The linker (--wrap) sends each wait for an alarm here. The assembler names
 * are needed because C reserves names with two underscores.
 */
#define NAMED(name) __asm__(name)
ssize_t real_read(int fd, void *buf, size_t size) NAMED("__real_read");
ssize_t wrap_read(int fd, void *buf, size_t size) NAMED("__wrap_read");

static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sleep_changed = PTHREAD_COND_INITIALIZER;
static unsigned sleeps; /* sleeps that have begun */

ssize_t wrap_read(int fd, void *buf, size_t size)
{
	pthread_mutex_lock(&sleep_lock);
	sleeps++;
	pthread_cond_broadcast(&sleep_changed);
	pthread_mutex_unlock(&sleep_lock);
	return real_read(fd, buf, size);
}

static void wait_for_sleeps(unsigned count)
{
	pthread_mutex_lock(&sleep_lock);
	while (sleeps < count)
		pthread_cond_wait(&sleep_changed, &sleep_lock);
	pthread_mutex_unlock(&sleep_lock);
}

/* SPEC 10.1, 4.2, 4.3: there is one for each timeout that is earlier than all
 * others. */
static void test_timer_stats_count_wake_ups(void **state)
{
	struct timer_bed *b = *state;
	unsigned i;

	sleeps = 0;
	assert_int_equal(tkw_timer_start(b->t), 0);
	for (i = 0; i < 20; i++) {
		wait_for_sleeps(i + 1);
		assert_int_equal(stats_of(b)->wake_ups, i);
		assert_int_equal(stats_of(b)->turns, i + 1);
		bed_schedule(b, i, 0);
		bed_wait_fired(b, i + 1);
	}
	/* Later timeouts wake no thread. */
	wait_for_sleeps(21);
	bed_schedule(b, 30, HOUR_NS);
	wait_for_sleeps(22);
	for (i = 0; i < 20; i++)
		bed_schedule(b, 31 + i, HOUR_NS + TKW_SEC);
	assert_int_equal(stats_of(b)->wake_ups, 21);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	/* The last one may not be counted, because no turn comes after it. */
	assert_true(stats_of(b)->wake_ups <= 22);
}

/* --- executors ----------------------------------------------------------- */

enum {
	SHELF = 64
};

/* An executor that puts its jobs on a shelf, where the test finds them. */
struct shelf {
	int says;
	size_t count;
	struct tkw_job jobs[SHELF];
};

static int put_on_shelf(const struct tkw_job *job, void *ctx)
{
	struct shelf *s = ctx;

	must(s->count < SHELF);
	if (s->says == 0)
		s->jobs[s->count++] = *job;
	return s->says;
}

static void open_with(struct timer_bed *b, struct shelf *s, int refusal)
{
	const struct tkw_exec exec = { put_on_shelf, s };
	const struct tkw_timer_config cfg = { .exec = &exec,
					      .refusal = refusal };

	s->count = 0;
	s->says = -EAGAIN;
	bed_reopen(b, &cfg);
}

static void schedule_ten(struct timer_bed *b)
{
	uint64_t i;

	for (i = 0; i < 10; i++)
		bed_schedule(b, i, TKW_MSEC - 300);
	bed_set_clock(b, b->now_ns + TKW_MSEC);
}

/* SPEC 10.1, 4.8: each refusal counts, whatever happens to the timeout then. */
static void test_timer_stats_count_what_the_executor_refuses(void **state)
{
	struct timer_bed *b = *state;
	static struct shelf s;

	open_with(b, &s, TKW_REFUSED_INLINE);
	schedule_ten(b);
	assert_int_equal(bed_turn(b, NULL), 10);
	assert_int_equal(stats_of(b)->refused_by_exec, 10);
	assert_int_equal(stats_of(b)->ledger.fired, 10);

	open_with(b, &s, TKW_REFUSED_DROP);
	schedule_ten(b);
	assert_int_equal(bed_turn(b, NULL), 0);
	assert_int_equal(stats_of(b)->refused_by_exec, 10);
	assert_int_equal(stats_of(b)->ledger.dropped, 10);

	open_with(b, &s, TKW_REFUSED_RETRY);
	schedule_ten(b);
	assert_int_equal(bed_turn(b, NULL), 0);
	bed_set_clock(b, b->now_ns + TKW_MSEC);
	assert_int_equal(bed_turn(b, NULL), 0);
	assert_int_equal(stats_of(b)->refused_by_exec, 20);
	assert_int_equal(stats_of(b)->ledger.pending, 10);
	assert_int_equal(stats_of(b)->refused_full, 0);
}

/* SPEC 10.1, 4.8: a job that is abandoned counts as refused. */
static void test_timer_stats_count_what_is_abandoned(void **state)
{
	struct timer_bed *b = *state;
	static struct shelf s;
	size_t i;

	open_with(b, &s, TKW_REFUSED_DROP);
	s.says = 0;
	schedule_ten(b);
	assert_int_equal(bed_turn(b, NULL), 0);
	assert_int_equal(s.count, 10);
	assert_int_equal(stats_of(b)->refused_by_exec, 0);
	assert_int_equal(stats_of(b)->ledger.pending, 10);
	for (i = 0; i < 4; i++)
		s.jobs[i].abandon(&s.jobs[i]);
	for (; i < 10; i++)
		s.jobs[i].run(&s.jobs[i]);
	assert_int_equal(stats_of(b)->refused_by_exec, 4);
	assert_int_equal(stats_of(b)->ledger.dropped, 4);
	assert_int_equal(stats_of(b)->ledger.fired, 6);
	assert_int_equal(stats_of(b)->lateness.count, 6);
}

/* --- lateness ------------------------------------------------------------ */

/* Compares the lateness with what the bed has seen. */
static void assert_lateness(struct timer_bed *b)
{
	static struct tkw_histogram h;
	size_t i;

	memset(&h, 0, sizeof(h));
	for (i = 0; i < b->fired_count; i++)
		add_sample(&h, b->fired[i].late_ns);
	assert_memory_equal(&stats_of(b)->lateness, &h, sizeof(h));
}

/* SPEC 10.1: exact if the clock stands still during a turn. */
static void test_timer_stats_say_how_late(void **state)
{
	static const int64_t late[] = {
		0,       1,       63,          64,
		127,     129,     TKW_USEC,    TKW_MSEC - 1,
		TKW_SEC, HOUR_NS, 5 * HOUR_NS, 1000 * HOUR_NS
	};
	struct timer_bed *b = *state;
	int64_t most = 0;
	int64_t at_ns;
	size_t i;

	for (i = 0; i < COUNT_OF(late); i++) {
		at_ns = (b->now_ns / TKW_MSEC + 2) * TKW_MSEC;
		bed_schedule(b, i, at_ns - b->now_ns);
		bed_set_clock(b, at_ns + late[i]);
		assert_int_equal(bed_turn(b, NULL), 1);
		assert_true(b->fired[i].late_ns == late[i]);
		most = late[i] > most ? late[i] : most;
		assert_true(stats_of(b)->lateness.max_ns == most);
		assert_int_equal(stats_of(b)->lateness.count, i + 1);
		assert_lateness(b);
	}
	/* A smaller value follows a larger one. */
	bed_schedule(b, i, TKW_MSEC);
	bed_pass(b, TKW_MSEC);
	bed_pass(b, TKW_MSEC);
	assert_lateness(b);
}

/* SPEC 10.1: many at once, each compared with its own deadline. Slack makes no
 * difference. */
static void test_timer_stats_say_how_late_each_was(void **state)
{
	struct timer_bed *b = *state;
	uint64_t seed = seed_of_today();
	struct tkw_task task;
	uint64_t i;

	for (i = 0; i < 100; i++) {
		task = bed_task(b, i);
		task.slack_ns = i % 3 == 0 ? 20 * TKW_MSEC : 0;
		assert_int_equal(
			tkw_timer_schedule(b->t, &task,
					   (int64_t)(draw(&seed) % TKW_SEC) -
						   TKW_SEC / 10,
					   NULL),
			0);
	}
	bed_pass(b, TKW_SEC / 3);
	bed_pass(b, TKW_SEC / 3);
	bed_pass(b, TKW_SEC);
	assert_int_equal(b->fired_count, 100);
	assert_lateness(b);
}

/* Each task moves the clock by a microsecond. */
static void take_a_while(const struct tkw_firing *firing, void *ctx)
{
	struct timer_bed *b = ctx;

	(void)firing;
	bed_set_clock(b, b->now_ns + TKW_USEC);
}

/* SPEC 10.1: timeouts that wait for others are later. The reading of the clock
 * for that is at most 128 tasks old. */
static void test_timer_stats_see_that_tasks_wait_for_others(void **state)
{
	enum {
		TASKS = 2000
	};
	struct timer_bed *b = *state;
	const struct tkw_task task = { .fn = take_a_while, .ctx = b };
	const struct tkw_histogram *h;
	int64_t number;
	uint64_t seen = 0;
	uint32_t i;

	bed_set_clock(b, BASE_NS + TKW_MSEC);
	for (i = 0; i < TASKS; i++)
		assert_int_equal(
			tkw_timer_schedule(b->t, &task, TKW_MSEC, NULL), 0);
	bed_set_clock(b, BASE_NS + 2 * TKW_MSEC);
	assert_int_equal(bed_turn(b, NULL), TASKS);
	h = &stats_of(b)->lateness;
	assert_int_equal(h->count, TASKS);
	assert_true(h->max_ns <= (TASKS - 1) * TKW_USEC);
	assert_true(h->max_ns >= (TASKS - 1 - 128) * TKW_USEC);
	/* Checks that none is reported as later than it was, nor as earlier by
	 * more than that. */
	for (i = 0; i < TKW_HISTOGRAM_BUCKETS; i++) {
		seen += h->bucket[i];
		number = (int64_t)seen - 1; /* the last one up to this bucket */
		if (h->bucket[i] == 0)
			continue;
		assert_true(tkw_histogram_least_ns(i) <= number * TKW_USEC);
		assert_true(tkw_histogram_least_ns(i + 1) >
			    (number - 128) * TKW_USEC);
	}
}

/* SPEC 10.1: on a thread of an executor, it counts until the task begins. */
static void test_timer_stats_say_how_late_an_executor_is(void **state)
{
	struct timer_bed *b = *state;
	static struct shelf s;
	size_t i;

	open_with(b, &s, TKW_REFUSED_INLINE);
	s.says = 0;
	schedule_ten(b);
	assert_int_equal(bed_turn(b, NULL), 0);
	assert_int_equal(stats_of(b)->lateness.count, 0);
	for (i = 0; i < 10; i++) {
		bed_set_clock(b, b->now_ns + (int64_t)i * TKW_SEC);
		s.jobs[i].run(&s.jobs[i]);
		assert_true(b->fired[i].late_ns ==
			    b->now_ns - b->fired[i].deadline_ns);
	}
	assert_lateness(b);
	assert_true(stats_of(b)->lateness.max_ns >= 45 * TKW_SEC);
}

/* SPEC 10.1: there is one value for each timeout that has fired, and no
 * other. */
static void test_timer_stats_lateness_is_of_what_fired(struct timer_bed *b)
{
	const struct tkw_stats *st;
	uint64_t sum = 0;
	uint64_t i;

	for (i = 0; i < 500; i++) {
		struct tkw_timeout_id id =
			bed_schedule(b, i, (int64_t)i * TKW_MSEC / 7);

		if (i % 5 == 4)
			(void)tkw_timer_cancel(b->t, id);
	}
	bed_pass(b, 50 * TKW_MSEC);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	st = stats_of(b);
	assert_true(st->ledger.handed_over > 0);
	assert_int_equal(st->lateness.count, st->ledger.fired);
	for (i = 0; i < TKW_HISTOGRAM_BUCKETS; i++)
		sum += st->lateness.bucket[i];
	assert_int_equal(sum, st->lateness.count);
}
BED_TEST(test_timer_stats_lateness_is_of_what_fired)

enum {
	CREW = 4,
	EACH = 500
};

static void *schedule_each(void *arg)
{
	struct timer_bed *b = arg;
	const struct tkw_task task = { .fn = nothing };
	struct tkw_timeout_id id;
	unsigned i;

	for (i = 0; i < EACH; i++) {
		must(tkw_timer_schedule(b->t, &task, HOUR_NS, &id) == 0);
		must(tkw_timer_reschedule(b->t, id, TKW_MSEC) == 0);
	}
	return NULL;
}

/* SPEC 10.1: the numbers of all shards are added up. */
static void test_timer_stats_are_of_all_shards(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .shards = CREW };
	pthread_t threads[CREW];
	size_t i;

	bed_reopen(b, &cfg);
	for (i = 0; i < CREW; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, schedule_each, b), 0);
	for (i = 0; i < CREW; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	bed_pass(b, TKW_SEC);
	assert_int_equal(stats_of(b)->rescheduled, CREW * EACH);
	assert_int_equal(stats_of(b)->ledger.fired,
			 (size_t)CREW * EACH + b->markers);
	assert_int_equal(stats_of(b)->lateness.count,
			 (size_t)CREW * EACH + b->markers);
}
BED_TEST(test_timer_stats_are_of_all_shards)

/* --- who asks ------------------------------------------------------------ */

static struct tkw_stats untouched;

/* SPEC 10.1 */
static void test_timer_stats_refuse_null(struct timer_bed *b)
{
	struct tkw_stats *before = malloc(sizeof(*before));

	assert_non_null(before);
	memset(&untouched, 0x5a, sizeof(untouched));
	*before = untouched;
	assert_int_equal(tkw_timer_get_stats(NULL, &untouched), -EINVAL);
	assert_int_equal(tkw_timer_get_stats(b->t, NULL), -EINVAL);
	assert_int_equal(tkw_timer_get_stats(NULL, NULL), -EINVAL);
	assert_memory_equal(before, &untouched, sizeof(untouched));
	free(before);
}
BED_TEST(test_timer_stats_refuse_null)

static int ask_in_a_child(struct timer_bed *b)
{
	struct tkw_stats before;
	char text[8] = "before";

	memset(&untouched, 0x5a, sizeof(untouched));
	before = untouched;
	if (tkw_timer_get_stats(b->t, &untouched) != -EPERM ||
	    tkw_timer_print(b->t, text, sizeof(text)) != -EPERM ||
	    tkw_timer_print(b->t, NULL, 0) != -EPERM)
		return 1;
	return memcmp(&before, &untouched, sizeof(before)) != 0 ||
	       strcmp(text, "before") != 0;
}

/* SPEC 10.1, 6.7 */
static void test_timer_stats_in_a_child_are_refused(struct timer_bed *b)
{
	int status = -1;
	pid_t pid;

	bed_schedule(b, 1, HOUR_NS);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(ask_in_a_child(b));
	while (waitpid(pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	assert_int_equal(status, 0);
}
BED_TEST(test_timer_stats_in_a_child_are_refused)

static void ask_inside(const struct tkw_firing *firing, void *ctx)
{
	int *wrong = ctx;
	static struct tkw_stats st;
	char text[2000];

	*wrong = tkw_timer_get_stats(firing->timer, &st) != 0 ||
		 st.ledger.fired != st.lateness.count ||
		 tkw_timer_print(firing->timer, text, sizeof(text)) <= 0;
}

/* SPEC 10.1: a task may ask, too, because no lock is held. */
static void test_timer_stats_from_a_task(struct timer_bed *b)
{
	int wrong = 77;
	const struct tkw_task task = { .fn = ask_inside, .ctx = &wrong };

	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	bed_pass(b, 0);
	assert_int_equal(wrong, 0);
}
BED_TEST(test_timer_stats_from_a_task)

/* --- the dump ------------------------------------------------------------ */

/* Makes a timer whose counts are all different. */
static void make_history(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .max_pending = 9,
					      .thread_name = "hourglass" };
	const struct tkw_task task = { .fn = nothing };
	struct tkw_timeout_id id;
	uint64_t i;

	bed_reopen(b, &cfg);
	for (i = 0; i < 6; i++)
		bed_schedule(b, i, TKW_MSEC);
	bed_pass(b, 3 * TKW_MSEC);
	for (i = 0; i < 9; i++)
		id = bed_schedule(b, i, HOUR_NS);
	for (i = 0; i < 3; i++)
		assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL),
				 -EAGAIN);
	assert_int_equal(tkw_timer_reschedule(b->t, id, 2 * HOUR_NS), 0);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
}

static void assert_count(const char *text, const char *name, uint64_t count)
{
	unsigned long long said;
	char form[64];
	const char *line;
	char *end;

	snprintf(form, sizeof(form), "\n  %s ", name);
	line = strstr(text, form);
	assert_non_null(line);
	line += strlen(form);
	said = strtoull(line, &end, 10);
	assert_true(end > line);
	assert_int_equal(said, count);
}

static void assert_says(const char *text, const char *before, uint64_t count,
			const char *after)
{
	char words[80];

	snprintf(words, sizeof(words), "%s%" PRIu64 "%s", before, count, after);
	if (strstr(text, words) == NULL)
		fail_msg("\"%s\" is not in:\n%s", words, text);
}

/* SPEC 10.1 */
static void test_timer_dump_says_what_there_is(void **state)
{
	struct timer_bed *b = *state;
	const struct tkw_stats *st;
	char text[4000];
	int length;

	make_history(b);
	length = tkw_timer_print(b->t, text, sizeof(text));
	assert_true(length > 0 && (size_t)length < sizeof(text));
	assert_int_equal(strlen(text), length);
	st = stats_of(b);
	assert_count(text, "accepted", 15);
	assert_count(text, "fired", 6);
	assert_count(text, "cancelled", 1);
	assert_count(text, "dropped", 0);
	assert_count(text, "handed over", 0);
	assert_count(text, "pending", 8);
	assert_says(text, "", 3, " full");
	assert_says(text, "", 0, " no memory");
	assert_says(text, "", 0, " stopped");
	assert_says(text, "", 0, " no descriptor");
	assert_says(text, "", 0, " by the executor");
	assert_says(text, "", st->turns, " turns");
	assert_says(text, "", 0, " slow");
	assert_says(text, "", 1, " reschedules");
	assert_says(text, "shard 0: ", 8, " pending, 8 of them");
	assert_says(text, "lateness of ", 6, " firings:");
	assert_non_null(strstr(text, "hourglass"));
	assert_int_equal(text[length - 1], '\n');
}

/* SPEC 10.1: the text is cut as by snprintf(), at each size. */
static void test_timer_dump_is_cut_as_asked(void **state)
{
	struct timer_bed *b = *state;
	char whole[4000];
	char text[4000];
	size_t length;
	size_t size;
	size_t i;

	make_history(b);
	length = (size_t)tkw_timer_print(b->t, NULL, 0);
	assert_true(length > 100 && length < sizeof(whole));
	assert_int_equal(tkw_timer_print(b->t, whole, sizeof(whole)), length);
	for (size = 0; size < length + 10; size++) {
		memset(text, 0x5a, sizeof(text));
		assert_int_equal(tkw_timer_print(b->t, text, size), length);
		i = size > length ? length : size > 0 ? size - 1 : 0;
		assert_memory_equal(text, whole, i);
		if (size > 0)
			assert_int_equal(text[i++], '\0');
		for (; i < sizeof(text); i++)
			assert_int_equal(text[i], i < size ? text[i] : 0x5a);
	}
}

/* SPEC 10.1 */
static void test_timer_dump_refuses_null(struct timer_bed *b)
{
	char text[10] = "before";

	assert_int_equal(tkw_timer_print(NULL, text, sizeof(text)), -EINVAL);
	assert_int_equal(tkw_timer_print(NULL, NULL, 0), -EINVAL);
	assert_int_equal(tkw_timer_print(b->t, NULL, 1), -EINVAL);
	assert_string_equal(text, "before");
}
BED_TEST(test_timer_dump_refuses_null)

/* SPEC 10.1: there is a line for each shard, even if the timer is stopped. */
static void test_timer_dump_of_many_shards_and_after_stop(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .shards = 64 };
	const bool many = b->drive != TKW_DRIVE_MANUAL;
	static char text[20000];

	bed_reopen(b, &cfg);
	bed_schedule(b, 1, HOUR_NS);
	assert_true(tkw_timer_print(b->t, text, sizeof(text)) > 0);
	assert_int_equal(strstr(text, "\nshard 63:") != NULL, many);
	assert_non_null(strstr(text, "\nshard 0:"));
	assert_count(text, "pending", 1);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_true(tkw_timer_print(b->t, text, sizeof(text)) > 0);
	assert_count(text, "pending", 0);
	assert_count(text, "handed over", 1);
}
BED_TEST(test_timer_dump_of_many_shards_and_after_stop)

#define UNDER(drive_, name_)                                                   \
	{                                                                      \
		.name = #name_ " (" #drive_ ")", .test_func = (name_),         \
		.setup_func = bed_setup_##drive_,                              \
		.teardown_func = bed_teardown                                  \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_histogram_buckets_have_their_times),
		cmocka_unit_test(test_histogram_buckets_are_narrow),
		cmocka_unit_test(test_histogram_at_powers_of_two),
		cmocka_unit_test(test_histogram_of_impossible_times),
		cmocka_unit_test(test_histogram_buckets_ascend),
		cmocka_unit_test(test_histogram_quantiles_are_near),
		cmocka_unit_test(test_histogram_quantiles_of_shares_below_0),
		cmocka_unit_test(test_histogram_quantiles_of_shares_above_1),
		cmocka_unit_test(test_histogram_quantiles_of_nothing),
		cmocka_unit_test(
			test_histogram_quantiles_do_not_exceed_the_maximum),
		BED_TESTS(test_timer_stats_of_a_new_timer_are_zero),
		BED_TESTS(test_timer_stats_have_the_ledger),
		BED_TESTS(test_timer_stats_count_refusals_by_reason),
		BED_TESTS(test_timer_stats_count_reschedules),
		BED_TESTS(test_timer_stats_count_moves),
		BED_TESTS(test_timer_stats_count_looks_of_the_hashed),
		UNDER(manual, test_timer_stats_count_turns),
		UNDER(loop, test_timer_stats_count_turns),
		UNDER(thread, test_timer_stats_count_wake_ups),
		UNDER(manual, test_timer_stats_count_what_the_executor_refuses),
		UNDER(loop, test_timer_stats_count_what_the_executor_refuses),
		UNDER(manual, test_timer_stats_count_what_is_abandoned),
		UNDER(loop, test_timer_stats_count_what_is_abandoned),
		UNDER(manual, test_timer_stats_say_how_late),
		UNDER(loop, test_timer_stats_say_how_late),
		UNDER(manual, test_timer_stats_say_how_late_each_was),
		UNDER(loop, test_timer_stats_say_how_late_each_was),
		UNDER(manual, test_timer_stats_see_that_tasks_wait_for_others),
		UNDER(loop, test_timer_stats_see_that_tasks_wait_for_others),
		UNDER(manual, test_timer_stats_say_how_late_an_executor_is),
		UNDER(loop, test_timer_stats_say_how_late_an_executor_is),
		BED_TESTS(test_timer_stats_lateness_is_of_what_fired),
		BED_TESTS(test_timer_stats_are_of_all_shards),
		BED_TESTS(test_timer_stats_refuse_null),
		BED_TESTS(test_timer_stats_in_a_child_are_refused),
		BED_TESTS(test_timer_stats_from_a_task),
		UNDER(manual, test_timer_dump_says_what_there_is),
		UNDER(loop, test_timer_dump_says_what_there_is),
		UNDER(manual, test_timer_dump_is_cut_as_asked),
		UNDER(loop, test_timer_dump_is_cut_as_asked),
		BED_TESTS(test_timer_dump_refuses_null),
		BED_TESTS(test_timer_dump_of_many_shards_and_after_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
