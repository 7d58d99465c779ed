/* SPDX-License-Identifier: MIT */
/*
 * test_retry.c - SPEC 8.1: tasks that are tried until they succeed. Tries that
 * answer later are in test_retry_later.c.
 */
#include "retry_bed.h"

#include <sys/wait.h>

/* SPEC 8.1: a task is tried until it succeeds, by default every five
 * seconds. */
static void test_retry_until_it_succeeds(struct timer_bed *b)
{
	struct tkw_retries *rs = open_set(b, &(struct tkw_retries_config){ 0 });
	struct attempt a = { .b = b, .rs = rs, .succeed_at = 3 };

	assert_int_equal(add(&a, 5 * TKW_SEC), 0);
	assert_int_not_equal(a.id.bits, 0);
	assert_int_equal(tkw_retries_count(rs), 1);
	pass_to(b, 30000);
	assert_tries(&a, 5000, 10000, 15000);
	assert_ended(&a, 0);
	assert_int_equal(a.end_ns, MS(15000));
	assert_int_equal(tkw_retries_count(rs), 0);
	assert_int_equal(tkw_timer_count(b->t), 0);
	assert_int_equal(tkw_retries_cancel(rs, a.id), -ENOENT);
	close_set(b, rs);
}
BED_TEST(test_retry_until_it_succeeds)

/* SPEC 8.1: three tries, five seconds apart, and then on_end (failback). The
 * first try is not made inside add. */
static void test_retry_gives_up(struct timer_bed *b)
{
	struct tkw_retries *rs =
		open_set(b, &(struct tkw_retries_config){ .max_tries = 3 });
	struct attempt a = { .b = b, .rs = rs };

	assert_int_equal(add(&a, 0), 0);
	if (bed_by_hand(b))
		assert_int_equal(a.tries, 0);
	bed_pass(b, 0);
	pass_to(b, 60000);
	assert_tries(&a, 0, 5000, 10000);
	assert_ended(&a, -ETIMEDOUT);
	assert_int_equal(a.end_ns, MS(10000));
	close_set(b, rs);
}
BED_TEST(test_retry_gives_up)

/* SPEC 8.1: max_tries <= 0 means for ever. */
static void test_retry_for_ever(struct timer_bed *b)
{
	struct tkw_retries *rs =
		open_set(b, &(struct tkw_retries_config){ .max_tries = -1 });
	struct attempt a = { .b = b, .rs = rs, .succeed_at = 1000 };

	assert_int_equal(add(&a, -7), 0);
	for (int i = 0; i < 1000; i++)
		bed_pass(b, 6 * TKW_SEC);
	assert_int_equal(a.tries, 1000);
	assert_ended(&a, 0);
	close_set(b, rs);
}
BED_TEST(test_retry_for_ever)

static void take_20_ms(struct attempt *a)
{
	bed_set_clock(a->b, tkw_timer_now_ns(a->b->t) + MS(20));
}

/* SPEC 8.1: a delay counts from the end of a try. */
static void test_retry_delay_counts_from_the_end(struct timer_bed *b)
{
	struct tkw_retries *rs =
		open_set(b, &(struct tkw_retries_config){ .delay_ns = MS(50) });
	struct attempt a = {
		.b = b, .rs = rs, .succeed_at = 4, .in_try = take_20_ms
	};

	assert_int_equal(add(&a, MS(30)), 0);
	pass_to(b, 300);
	assert_tries(&a, 30, 100, 170, 240);
	assert_ended(&a, 0);
	close_set(b, rs);
}
BED_TEST(test_retry_delay_counts_from_the_end)

/* SPEC 8.1: each delay is twice the one before, up to ten times the first. */
static void test_retry_backs_off(struct timer_bed *b)
{
	struct tkw_retries *rs = open_set(
		b, &(struct tkw_retries_config){ .delay_ns = MS(100),
						 .backoff_percent = 200,
						 .max_tries = 7 });
	struct attempt a = { .b = b, .rs = rs };

	assert_int_equal(add(&a, 0), 0);
	bed_pass(b, 0);
	pass_to(b, 4000);
	assert_tries(&a, 0, 100, 300, 700, 1500, 2500, 3500);
	assert_ended(&a, -ETIMEDOUT);
	close_set(b, rs);
}
BED_TEST(test_retry_backs_off)

/* Opens a set on a timer whose tick is a nanosecond, and measures the delays
 * between tries. */
static void delays_of(struct timer_bed *b, struct tkw_retries_config cfg,
		      int64_t *delays_ns, int count)
{
	const struct tkw_timer_config fine = { .tick_ns = 1 };
	struct attempt a = { .b = b };
	int64_t next_ns;

	begin_anew(b, &fine);
	cfg.max_tries = count + 1;
	a.rs = open_set(b, &cfg);
	assert_int_equal(add(&a, 0), 0);
	bed_pass(b, 0);
	while (a.ends == 0) {
		assert_int_equal(tkw_timer_next_turn(b->t, &next_ns), 0);
		next_ns -= tkw_timer_now_ns(b->t);
		bed_pass(b, next_ns > 0 ? next_ns : 0);
	}
	assert_ended(&a, -ETIMEDOUT);
	for (int i = 0; i < count; i++)
		delays_ns[i] = a.at_ns[i + 1] - a.at_ns[i];
	close_set(b, a.rs);
}

/* Delays are rounded down, but grow by at least one nanosecond, and never
 * exceed the cap. */
static void test_retry_backs_off_exactly(struct timer_bed *b)
{
	static const struct {
		int64_t delay_ns, max_ns;
		int percent;
		int64_t delays_ns[12];
	} cases[] = {
		{ 3,
		  100,
		  150,
		  { 3, 4, 6, 9, 13, 19, 28, 42, 63, 94, 100, 100 } },
		{ 1, 7, 101, { 1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7, 7 } },
		{ 99,
		  0,
		  101,
		  { 99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109,
		    110 } },
		{ 7,
		  0,
		  1000,
		  { 7, 70, 70, 70, 70, 70, 70, 70, 70, 70, 70, 70 } },
		{ 7, 0, 100, { 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 } },
		{ 7, 9, 0, { 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 } },
		{ 5, 5, 200, { 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5 } },
		{ 123456789,
		  0,
		  123,
		  { 123456789, 151851850, 186777775, 229736663, 282576095,
		    347568596, 427509373, 525836528, 646778929, 795538082,
		    978511840, 1203569563 } },
	};
	int64_t delays_ns[12];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		delays_of(b,
			  (struct tkw_retries_config){
				  .delay_ns = cases[i].delay_ns,
				  .max_delay_ns = cases[i].max_ns,
				  .backoff_percent = cases[i].percent },
			  delays_ns, 12);
		assert_memory_equal(delays_ns, cases[i].delays_ns,
				    sizeof(delays_ns));
	}
}
BED_TEST(test_retry_backs_off_exactly)

/* Only a part of each delay is random. The next delay grows from the delay
 * without jitter. */
static void test_retry_backs_off_with_jitter(struct timer_bed *b)
{
	static const int64_t whole_ns[] = { 1000, 2000, 4000, 8000, 8000 };
	int64_t delays_ns[5];

	for (uint64_t seed = 1; seed < 20; seed++) {
		delays_of(b,
			  (struct tkw_retries_config){ .delay_ns = 1000,
						       .max_delay_ns = 8000,
						       .backoff_percent = 200,
						       .jitter_percent = 30,
						       .seed = seed },
			  delays_ns, 5);
		for (int i = 0; i < 5; i++)
			assert_in_range(delays_ns[i], whole_ns[i] / 10 * 7 + 1,
					whole_ns[i]);
	}
	/* A delay of 1 ns leaves no room for jitter. */
	delays_of(b,
		  (struct tkw_retries_config){ .delay_ns = 1,
					       .max_delay_ns = 1,
					       .jitter_percent = 100 },
		  delays_ns, 5);
	for (int i = 0; i < 5; i++)
		assert_int_equal(delays_ns[i], 1);
}
BED_TEST(test_retry_backs_off_with_jitter)

static void run_jitter(struct timer_bed *b, uint64_t seed, int64_t *gaps)
{
	const struct tkw_retries_config cfg = { .delay_ns = 100 * TKW_MSEC,
						.jitter_percent = 50,
						.seed = seed,
						.max_tries = 33 };
	struct tkw_retries *rs;
	struct attempt a = { .b = b };

	begin_anew(b, NULL);
	a.rs = rs = open_set(b, &cfg);
	assert_int_equal(add(&a, 0), 0);
	bed_pass(b, 0);
	pass_to(b, 4000);
	assert_int_equal(a.tries, 33);
	for (int i = 0; i < 32; i++)
		gaps[i] = a.at_ns[i + 1] - a.at_ns[i];
	close_set(b, rs);
}

/* SPEC 8.1: jitter shortens a delay, and never makes it longer. The seed
 * decides by how much. */
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
		assert_true(one[i] <= 100 * TKW_MSEC);
		short_one = short_one || one[i] < 70 * TKW_MSEC;
		long_one = long_one || one[i] > 80 * TKW_MSEC;
	}
	assert_true(short_one && long_one);
}
BED_TEST(test_retry_with_jitter)

/* SPEC 8.1: cancelled between two tries. on_end is called inside the call. */
static void test_retry_cancelled(struct timer_bed *b)
{
	struct tkw_retries *rs = open_set(b, &(struct tkw_retries_config){ 0 });
	struct attempt a = { .b = b, .rs = rs };

	assert_int_equal(add(&a, 0), 0);
	bed_pass(b, TKW_SEC);
	assert_int_equal(a.tries, 1);
	assert_int_equal(tkw_retries_cancel(rs, a.id), 0);
	assert_ended(&a, -ECANCELED);
	assert_true(pthread_equal(a.by, pthread_self()));
	assert_int_equal(tkw_retries_count(rs), 0);
	assert_int_equal(tkw_timer_count(b->t), 0);
	assert_int_equal(tkw_retries_cancel(rs, a.id), -ENOENT);
	bed_pass(b, 20 * TKW_SEC);
	assert_int_equal(a.tries, 1);
	close_set(b, rs);
}
BED_TEST(test_retry_cancelled)

static void cancel_self(struct attempt *a)
{
	a->said = tkw_retries_cancel(a->rs, a->id);
	must(tkw_retries_cancel(a->rs, a->id) == -ENOENT);
}

/* SPEC 8.1: if a task is cancelled inside a try, that try is the last one. */
static void test_retry_cancelled_inside_a_try(struct timer_bed *b)
{
	struct tkw_retries *rs = open_set(b, &(struct tkw_retries_config){ 0 });
	struct attempt a = { .b = b, .rs = rs, .in_try = cancel_self };
	struct attempt s = a;

	s.succeed_at = 1;
	assert_int_equal(add(&a, 0), 0);
	assert_int_equal(add(&s, 0), 0);
	bed_pass(b, 20 * TKW_SEC);
	assert_int_equal(a.said, 1);
	assert_int_equal(a.tries, 1);
	assert_ended(&a, -ECANCELED);
	/* The success counts more than the cancel. */
	assert_int_equal(s.said, 1);
	assert_int_equal(s.tries, 1);
	assert_ended(&s, 0);
	close_set(b, rs);
}
BED_TEST(test_retry_cancelled_inside_a_try)

/* SPEC 8.1: at most max_tasks at a time. The end of a task frees its place. */
static void test_retry_limit_of_tasks(struct timer_bed *b)
{
	struct tkw_retries *rs = open_set(b, &(struct tkw_retries_config){ 0 });
	struct attempt a[101];

	for (int i = 0; i < 101; i++)
		a[i] = (struct attempt){ .b = b, .rs = rs };
	for (int i = 0; i < 100; i++)
		assert_int_equal(add(&a[i], TKW_SEC), 0);
	a[100].id.bits = 77;
	assert_int_equal(add(&a[100], TKW_SEC), -EAGAIN);
	assert_int_equal(a[100].id.bits, 77);
	assert_int_equal(a[100].ends, 0);
	assert_int_equal(tkw_retries_count(rs), 100);
	assert_int_equal(tkw_retries_cancel(rs, a[40].id), 0);
	assert_int_equal(add(&a[100], TKW_SEC), 0);
	assert_int_not_equal(a[100].id.bits, a[40].id.bits);
	assert_int_equal(tkw_retries_cancel(rs, a[40].id), -ENOENT);
	assert_int_equal(a[100].ends, 0);
	close_set(b, rs);
	for (int i = 0; i < 101; i++) {
		assert_int_equal(a[i].ends, 1);
		assert_int_equal(a[i].end.status,
				 i == 40 ? -ECANCELED : -ESHUTDOWN);
	}
}
BED_TEST(test_retry_limit_of_tasks)

static void add_another(struct attempt *a)
{
	struct attempt *next = a + 1;

	*next = (struct attempt){ .b = a->b, .rs = a->rs, .succeed_at = 1 };
	a->said = add(next, 0);
}

/* on_end may add a task if there is room. The place of the ended task is free
 * only afterwards. */
static void test_retry_added_from_on_end(struct timer_bed *b)
{
	for (int room = 1; room <= 2; room++) {
		struct tkw_retries *rs = open_set(
			b, &(struct tkw_retries_config){ .max_tasks = room });
		struct attempt a[2] = { { .b = b,
					  .rs = rs,
					  .succeed_at = 1,
					  .in_end = add_another } };
		struct attempt after = { .b = b, .rs = rs };

		assert_int_equal(add(&a[0], 0), 0);
		bed_pass(b, 0);
		assert_ended(&a[0], 0);
		assert_int_equal(a[0].said, room == 1 ? -EAGAIN : 0);
		assert_int_equal(a[1].ends, room - 1);
		assert_int_equal(add(&after, TKW_SEC), 0);
		close_set(b, rs);
	}
}
BED_TEST(test_retry_added_from_on_end)

static int compare_ids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The set is filled again and again, and no id is given out twice. */
static void test_retry_many_tasks(struct timer_bed *b)
{
	enum {
		MANY = 1000,
		TIMES = 20
	};
	static struct attempt a[MANY];
	static uint64_t ids[MANY * TIMES];
	struct tkw_retries *rs =
		open_set(b, &(struct tkw_retries_config){ .max_tasks = MANY });
	struct attempt none = { .b = b, .rs = rs };

	for (int i = 0; i < MANY * TIMES; i++) {
		struct attempt *one = &a[i % MANY];

		if (i >= MANY) {
			assert_int_equal(tkw_retries_cancel(rs, one->id), 0);
			assert_ended(one, -ECANCELED);
			assert_int_equal(tkw_retries_cancel(rs, one->id),
					 -ENOENT);
		}
		*one = (struct attempt){ .b = b, .rs = rs, .succeed_at = 2 };
		assert_int_equal(add(one, TKW_SEC), 0);
		ids[i] = one->id.bits;
		if (i >= MANY - 1)
			assert_int_equal(add(&none, 0), -EAGAIN);
	}
	qsort(ids, sizeof(ids) / sizeof(ids[0]), sizeof(ids[0]), compare_ids);
	for (int i = 1; i < MANY * TIMES; i++)
		assert_true(ids[i - 1] < ids[i]);
	assert_int_equal(tkw_retries_count(rs), MANY);
	bed_pass(b, 5 * TKW_SEC);
	bed_pass(b, 5 * TKW_SEC);
	for (int i = 0; i < MANY; i++)
		assert_ended(&a[i], 0);
	assert_int_equal(tkw_retries_count(rs), 0);
	close_set(b, rs);
}
BED_TEST(test_retry_many_tasks)

static void destroy_inside(struct attempt *a)
{
	a->said = tkw_retries_destroy(a->rs);
}

static void destroy_in_task(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	destroy_inside(ctx);
}

static void destroy_in_on_cancel(void *ctx)
{
	destroy_inside(ctx);
}

/* Destroy would wait for itself in a try, in an on_end, and in any task and
 * on-cancel callback of the timer. */
static void test_retry_destroyed_from_inside_is_refused(struct timer_bed *b)
{
	struct tkw_retries *rs = open_set(b, &(struct tkw_retries_config){ 0 });
	struct attempt in_try = { .b = b, .rs = rs, .in_try = destroy_inside };
	struct attempt in_end = { .b = b, .rs = rs, .in_end = destroy_inside };
	struct attempt in_task = { .b = b, .rs = rs };
	const struct tkw_task task = { .fn = destroy_in_task,
				       .ctx = &in_task,
				       .on_cancel = destroy_in_on_cancel };
	struct tkw_timeout_id id;

	assert_int_equal(add(&in_try, 0), 0);
	assert_int_equal(add(&in_end, TKW_SEC), 0);
	bed_pass(b, TKW_MSEC);
	assert_int_equal(in_try.tries, 1);
	assert_int_equal(in_try.said, -EDEADLK);
	assert_int_equal(tkw_retries_cancel(rs, in_end.id), 0);
	assert_int_equal(in_end.said, -EDEADLK);
	assert_int_equal(tkw_timer_schedule(b->t, &task, 0, NULL), 0);
	bed_pass(b, 0);
	assert_int_equal(in_task.said, -EDEADLK);
	in_task.said = 0;
	assert_int_equal(tkw_timer_schedule(b->t, &task, TKW_SEC, &id), 0);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	assert_int_equal(in_task.said, -EDEADLK);
	assert_int_equal(tkw_retries_count(rs), 1);
	assert_int_equal(add(&in_task, TKW_SEC), 0);
	close_set(b, rs);
	assert_ended(&in_try, -ESHUTDOWN);
}
BED_TEST(test_retry_destroyed_from_inside_is_refused)

/* Waiting tasks end inside the call, new ones are refused, and a second call
 * changes nothing. */
static void test_retry_shutdown(struct timer_bed *b)
{
	struct tkw_retries *rs = open_set(b, &(struct tkw_retries_config){ 0 });
	struct attempt a = { .b = b, .rs = rs };
	struct attempt late = { .b = b, .rs = rs };

	assert_int_equal(add(&a, TKW_SEC), 0);
	assert_int_equal(tkw_retries_shutdown(rs), 0);
	assert_ended(&a, -ESHUTDOWN);
	assert_true(pthread_equal(a.by, pthread_self()));
	assert_int_equal(tkw_retries_shutdown(rs), 0);
	assert_int_equal(tkw_retries_count(rs), 0);
	assert_int_equal(tkw_retries_cancel(rs, a.id), -ENOENT);
	assert_int_equal(add(&late, 0), -ESHUTDOWN);
	bed_pass(b, 20 * TKW_SEC);
	assert_int_equal(a.tries, 0);
	assert_int_equal(late.tries + late.ends, 0);
	close_set(b, rs);
}
BED_TEST(test_retry_shutdown)

/* The timer of the set is stopped. on_end is called for each task. */
static void test_retry_timer_stopped(struct timer_bed *b)
{
	struct tkw_retries *rs = open_set(b, &(struct tkw_retries_config){ 0 });
	struct attempt a[10];

	for (int i = 0; i < 10; i++) {
		a[i] = (struct attempt){ .b = b, .rs = rs };
		assert_int_equal(add(&a[i], TKW_SEC), 0);
	}
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(a[i].ends, 1);
		assert_int_equal(a[i].end.status, -ESHUTDOWN);
	}
	a[0].ends = 0;
	assert_int_equal(add(&a[0], 0), -ESHUTDOWN);
	assert_int_equal(a[0].ends, 0);
	assert_int_equal(tkw_retries_count(rs), 0);
	close_set(b, rs);
}
BED_TEST(test_retry_timer_stopped)

/* --- an executor that refuses -------------------------------------------- */

static int refusals;

static int refuse_some(const struct tkw_job *job, void *ctx)
{
	(void)ctx;
	if (refusals > 0) {
		refusals--;
		return -EAGAIN;
	}
	job->run(job);
	return 0;
}

/* SPEC 4.8: if a try is dropped, its task ends. */
static void test_retry_try_is_dropped(struct timer_bed *b)
{
	static const struct tkw_exec exec = { .submit = refuse_some };
	struct tkw_retries *rs;
	struct attempt a = { .b = b };

	begin_anew(b, &(struct tkw_timer_config){
			      .exec = &exec, .refusal = TKW_REFUSED_DROP });
	a.rs = rs = open_set(b, &(struct tkw_retries_config){ 0 });
	assert_int_equal(add(&a, 0), 0);
	bed_pass(b, 0);
	assert_tries(&a, 0);
	refusals = 1;
	pass_to(b, 6000);
	assert_tries(&a, 0);
	assert_ended(&a, -ECANCELED);
	assert_int_equal(a.end_ns, MS(5000));
	assert_int_equal(tkw_retries_count(rs), 0);
	close_set(b, rs);
}
BED_TEST(test_retry_try_is_dropped)

/* --- bad input ----------------------------------------------------------- */

static int ignore(const struct tkw_try *attempt, void *ctx)
{
	(void)attempt;
	(void)ctx;
	return -EIO;
}

static struct tkw_retry_id made_up(uint64_t bits)
{
	return (struct tkw_retry_id){ bits };
}

/* Only the id of a task itself is valid. */
static void test_retry_made_up_ids(struct timer_bed *b)
{
	struct tkw_retries *rs = open_set(b, &(struct tkw_retries_config){ 0 });
	struct attempt a = { .b = b, .rs = rs };
	uint64_t bits;

	assert_int_equal(add(&a, TKW_SEC), 0);
	bits = a.id.bits;
	for (uint64_t i = 0; i < 64; i++)
		assert_int_equal(tkw_retries_cancel(
					 rs, made_up(bits ^ UINT64_C(1) << i)),
				 -ENOENT);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(tkw_retries_cancel(rs, made_up(i << 32)),
				 -ENOENT);
	assert_int_equal(tkw_retries_cancel(rs, made_up(0)), -ENOENT);
	assert_int_equal(tkw_retries_cancel(rs, made_up(UINT64_MAX)), -ENOENT);
	assert_int_equal(tkw_retries_cancel(rs, a.id), 0);
	/* No id is valid for a free place. */
	for (uint64_t i = 0; i < 16; i++)
		assert_int_equal(tkw_retries_cancel(rs, made_up(bits + i)),
				 -ENOENT);
	close_set(b, rs);
}
BED_TEST(test_retry_made_up_ids)

/* A config that is larger than this library knows. The rest must be zero. */
static void test_retry_takes_a_newer_config(struct timer_bed *b)
{
	struct {
		struct tkw_retries_config cfg;
		unsigned char newer[8192];
	} large = { .cfg = { .timer = b->t } };
	struct tkw_retries *rs = NULL;

	large.cfg.size = sizeof(large.cfg) + 8;
	assert_int_equal(tkw_retries_create(&rs, &large.cfg), 0);
	assert_int_equal(tkw_retries_destroy(rs), 0);
	large.newer[7] = 1;
	assert_int_equal(tkw_retries_create(&rs, &large.cfg), -EINVAL);
	large.newer[7] = 0;
	large.cfg.size = sizeof(large);
	assert_int_equal(tkw_retries_create(&rs, &large.cfg), -EINVAL);
	large.cfg.size = 0;
	assert_int_equal(tkw_retries_create(&rs, &large.cfg), 0);
	assert_int_equal(tkw_retries_destroy(rs), 0);
}
BED_TEST(test_retry_takes_a_newer_config)

static void test_retry_bad_input(struct timer_bed *b)
{
	const struct tkw_retry task = { .fn = ignore };
	const struct tkw_retry no_fn = { .ctx = b };
	const struct tkw_retries_config bad[] = {
		{ .timer = NULL },
		{ .timer = b->t, .size = 1 },
		{ .timer = b->t, .size = sizeof(bad[0]) - 1 },
		{ .timer = b->t, .delay_ns = -1 },
		{ .timer = b->t, .delay_ns = INT64_MIN },
		{ .timer = b->t, .backoff_percent = 99 },
		{ .timer = b->t, .backoff_percent = 1001 },
		{ .timer = b->t, .backoff_percent = -1 },
		{ .timer = b->t, .max_delay_ns = -1 },
		{ .timer = b->t, .max_delay_ns = TKW_SEC },
		{ .timer = b->t, .max_delay_ns = INT64_MIN },
		{ .timer = b->t, .try_timeout_ns = -1 },
		{ .timer = b->t, .jitter_percent = -1 },
		{ .timer = b->t, .jitter_percent = 101 },
		{ .timer = b->t, .max_tasks = -1 },
		{ .timer = b->t, .max_tasks = (1 << 20) + 1 },
	};
	struct tkw_retries *rs = (struct tkw_retries *)b;
	struct tkw_retry_id id = { 1 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(tkw_retries_create(&rs, &bad[i]), -EINVAL);
		assert_ptr_equal(rs, b);
	}
	assert_int_equal(tkw_retries_create(&rs, NULL), -EINVAL);
	assert_int_equal(tkw_retries_create(NULL, &bad[0]), -EINVAL);
	rs = open_set(b, &(struct tkw_retries_config){ .max_tasks = 2 });
	assert_int_equal(tkw_retries_add(NULL, &task, 0, &id), -EINVAL);
	assert_int_equal(tkw_retries_add(rs, NULL, 0, &id), -EINVAL);
	assert_int_equal(tkw_retries_add(rs, &no_fn, 0, &id), -EINVAL);
	assert_int_equal(id.bits, 1);
	assert_int_equal(tkw_retries_cancel(NULL, id), -EINVAL);
	assert_int_equal(tkw_retries_done(NULL, id, 1, 0), -EINVAL);
	assert_int_equal(tkw_retries_count(NULL), 0);
	assert_int_equal(tkw_retries_shutdown(NULL), -EINVAL);
	assert_int_equal(tkw_retries_destroy(NULL), 0);
	/* The id and on_end are optional. */
	assert_int_equal(tkw_retries_add(rs, &task, 0, NULL), 0);
	bed_pass(b, 0);
	close_set(b, rs);
	/* The largest legal values. */
	close_set(b, open_set(b, &(struct tkw_retries_config){
					 .backoff_percent = 1000,
					 .jitter_percent = 100,
					 .delay_ns = INT64_MAX,
					 .max_delay_ns = INT64_MAX,
					 .try_timeout_ns = INT64_MAX,
					 .max_tries = INT64_MIN,
					 .max_tasks = 1 << 20 }));
}
BED_TEST(test_retry_bad_input)

/* The largest delays do not overflow. */
static void test_retry_delays_saturate(struct timer_bed *b)
{
	struct tkw_retries *rs = open_set(
		b, &(struct tkw_retries_config){ .delay_ns = TKW_NEVER_NS / 5,
						 .backoff_percent = 1000,
						 .jitter_percent = 100 });
	struct attempt a = { .b = b, .rs = rs };

	assert_int_equal(add(&a, 0), 0);
	for (int i = 0; i < 8; i++)
		bed_pass(b, TKW_NEVER_NS / 10);
	assert_true(a.tries >= 2);
	close_set(b, rs);
	rs = open_set(b, &(struct tkw_retries_config){ 0 });
	a = (struct attempt){ .b = b, .rs = rs };
	assert_int_equal(add(&a, TKW_NEVER_NS), 0);
	bed_pass(b, TKW_SEC);
	assert_int_equal(a.tries, 0);
	close_set(b, rs);
}
BED_TEST(test_retry_delays_saturate)

/* The limit of the timer: an add is refused without a trace. Later, the task
 * ends, and on_end gets the reason. */
static void test_retry_timer_is_full(struct timer_bed *b)
{
	struct tkw_retries *rs;
	struct attempt a = { .b = b };
	struct attempt none = { .b = b };

	bed_reopen(b, &(struct tkw_timer_config){ .max_pending = 1 });
	rs = open_set(b, &(struct tkw_retries_config){ 0 });
	a.rs = none.rs = rs;
	assert_int_equal(add(&a, TKW_SEC), 0);
	assert_int_equal(add(&none, TKW_SEC), -EAGAIN);
	assert_int_equal(none.ends, 0);
	assert_int_equal(tkw_retries_count(rs), 1);
	close_set(b, rs);
	assert_int_equal(a.end.status, -ESHUTDOWN);
}
BED_TEST(test_retry_timer_is_full)

static void take_last_place(struct attempt *a)
{
	bed_schedule(a->b, 1, TKW_SEC);
}

/* Manual drive only: with a thread, the markers of the bed would take the
 * place. */
static void test_retry_timer_gets_full(struct timer_bed *b)
{
	struct tkw_retries *rs;
	struct attempt a = { .b = b, .in_try = take_last_place };

	bed_reopen(b, &(struct tkw_timer_config){ .max_pending = 1 });
	rs = open_set(b, &(struct tkw_retries_config){ 0 });
	a.rs = rs;
	assert_int_equal(add(&a, 0), 0);
	bed_pass(b, TKW_MSEC);
	bed_pass(b, 2 * TKW_SEC);
	assert_int_equal(a.tries, 1);
	assert_ended(&a, -EAGAIN);
	close_set(b, rs);
}
BED_TEST(test_retry_timer_gets_full)

/* --- memory -------------------------------------------------------------- */

static int allocations_left = -1; /* how many succeed; -1: all */

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

/* Fault 1: the call is refused and changes nothing. */
static void test_retry_without_memory(struct timer_bed *b)
{
	const struct tkw_retries_config cfg = { .timer = b->t };
	struct tkw_retries *rs = NULL;
	struct attempt a = { .b = b };

	allocations_left = 0;
	assert_int_equal(tkw_retries_create(&rs, &cfg), -ENOMEM);
	assert_null(rs);
	allocations_left = -1;
	a.rs = rs = open_set(b, &cfg);
	/* Refuses each of its allocations in turn. */
	for (int left = 0;; left++) {
		int err;

		allocations_left = left;
		a.id.bits = 77;
		err = add(&a, TKW_SEC);
		allocations_left = -1;
		if (err == 0) {
			assert_true(left >= 2);
			break;
		}
		assert_int_equal(err, -ENOMEM);
		assert_int_equal(a.id.bits, 77);
		assert_int_equal(a.ends, 0);
		assert_int_equal(tkw_retries_count(rs), 0);
		assert_int_equal(tkw_timer_count(b->t), 0);
	}
	assert_int_equal(tkw_retries_count(rs), 1);
	close_set(b, rs);
	assert_ended(&a, -ESHUTDOWN);
}
BED_TEST(test_retry_without_memory)

/* --- fork ---------------------------------------------------------------- */

static bool ends_well(pid_t child)
{
	int status = 0;

	return waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

/* In a child the set is inert, and the parent is not affected. */
static void test_retry_in_a_child(struct timer_bed *b)
{
	struct tkw_retries *rs = open_set(b, &(struct tkw_retries_config){ 0 });
	struct attempt a = { .b = b, .rs = rs, .succeed_at = 1 };
	const struct tkw_retries_config cfg = { .timer = b->t };
	struct tkw_retries *childs = NULL;
	pid_t child;

	assert_int_equal(add(&a, TKW_SEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		bool inert = add(&a, 0) == -EPERM &&
			     tkw_retries_cancel(rs, a.id) == -EPERM &&
			     answer(&a, 1, 0) == -EPERM &&
			     tkw_retries_count(rs) == 0 &&
			     tkw_retries_shutdown(rs) == -EPERM &&
			     tkw_retries_create(&childs, &cfg) == -EPERM &&
			     tkw_retries_destroy(rs) == 0 && a.ends == 0;

		_exit(inert ? 0 : 1);
	}
	assert_true(ends_well(child));
	bed_pass(b, 2 * TKW_SEC);
	assert_ended(&a, 0);
	close_set(b, rs);
}
BED_TEST(test_retry_in_a_child)

/* A try at once comes on the next turn, even in the middle of a tick. */
static void test_retry_at_once_is_on_the_next_turn(struct timer_bed *b)
{
	struct tkw_retries *rs = open_set(b, &(struct tkw_retries_config){ 0 });
	struct attempt a = { .b = b, .rs = rs, .succeed_at = 1 };

	bed_pass(b, TKW_MSEC / 3);
	assert_int_equal(add(&a, 0), 0);
	assert_int_equal(tkw_timer_turn(b->t, 0, NULL), 1);
	assert_int_equal(a.ends, 1);
	close_set(b, rs);
}
BED_TEST(test_retry_at_once_is_on_the_next_turn)

/* --- threads ------------------------------------------------------------- */

static void *cancelled_in_on_end(void *arg)
{
	struct attempt *a = arg;

	a->said = tkw_retries_cancel(a->rs, a->id);
	return NULL;
}

static void come_to_cancellation(struct attempt *a)
{
	(void)a;
	pthread_cancel(pthread_self());
	pthread_testcancel();
}

/* If a thread is cancelled in an on_end, the cancellation comes after it. */
static void test_retry_thread_is_cancelled_later(struct timer_bed *b)
{
	struct tkw_retries *rs = open_set(b, &(struct tkw_retries_config){ 0 });
	struct attempt a = { .b = b, .rs = rs, .in_end = come_to_cancellation };
	pthread_t thread;

	assert_int_equal(add(&a, TKW_SEC), 0);
	assert_int_equal(pthread_create(&thread, NULL, cancelled_in_on_end, &a),
			 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(a.ends, 1);
	assert_int_equal(tkw_retries_count(rs), 0);
	close_set(b, rs);
}
BED_TEST(test_retry_thread_is_cancelled_later)

struct destroyer {
	struct tkw_retries *rs;
	pid_t tid;
	int said;
};

static void *destroy_set(void *arg)
{
	struct destroyer *d = arg;

	__atomic_store_n(&d->tid, gettid(), __ATOMIC_SEQ_CST);
	d->said = tkw_retries_destroy(d->rs);
	return NULL;
}

/* Destroy waits for the running try. Shutdown and cancel do not. */
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
	d.rs = open_set(b, &(struct tkw_retries_config){ 0 });
	for (int i = 0; i < 2; i++) {
		a[i] = (struct attempt){ .b = b,
					 .rs = d.rs,
					 .succeed_at = i,
					 .in_try = wait_at_gate,
					 .gate = &gate };
		assert_int_equal(add(&a[i], 0), 0);
	}
	bed_pass(b, TKW_MSEC);
	gate_await(&gate, 2);
	assert_int_equal(tkw_retries_cancel(d.rs, a[0].id), 1);
	assert_int_equal(tkw_retries_cancel(d.rs, a[0].id), -ENOENT);
	assert_int_equal(tkw_retries_shutdown(d.rs), 0);
	assert_int_equal(a[0].ends + a[1].ends, 0);
	assert_int_equal(tkw_retries_count(d.rs), 2);
	assert_int_equal(pthread_create(&thread, NULL, destroy_set, &d), 0);
	while ((tid = __atomic_load_n(&d.tid, __ATOMIC_SEQ_CST)) == 0 ||
	       !bed_is_asleep(tid))
		sched_yield();
	gate_open(&gate);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(d.said, 0);
	assert_ended(&a[0], -ECANCELED);
	assert_ended(&a[1], 0);
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
	struct tkw_retries *rs;
	struct attempt a[RACE_TASKS];
	unsigned results[3]; /* how often 0, 1 and -ENOENT */
};

static void *cancel_all(void *arg)
{
	struct race *r = arg;

	for (int i = 0; i < RACE_TASKS; i++) {
		int err = tkw_retries_cancel(r->rs, r->a[i].id);

		__atomic_fetch_add(&r->results[err < 0 ? 2 : err], 1,
				   __ATOMIC_SEQ_CST);
	}
	return NULL;
}

/* Two threads cancel while the worker tries. Each task ends once, in one
 * way. */
static void test_retry_cancels_race_tries(struct timer_bed *b)
{
	unsigned ends[3] = { 0, 0, 0 }; /* succeeded, given up, cancelled */
	unsigned won = 0, told = 0;

	for (int round = 0; round < RACE_ROUNDS; round++) {
		struct race r = { .rs = open_set(b,
						 &(struct tkw_retries_config){
							 .delay_ns = 1,
							 .max_tries = 3 }) };
		pthread_t threads[2];

		for (int i = 0; i < RACE_TASKS; i++) {
			r.a[i] = (struct attempt){ .b = b,
						   .rs = r.rs,
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
		close_set(b, r.rs);
		won += r.results[0] + r.results[1];
		told += r.results[0];
		for (int i = 0; i < RACE_TASKS; i++) {
			assert_int_equal(r.a[i].ends, 1);
			ends[0] += r.a[i].end.status == 0;
			ends[1] += r.a[i].end.status == -ETIMEDOUT;
			ends[2] += r.a[i].end.status == -ECANCELED;
		}
	}
	print_message("%u succeeded, %u given up, %u cancelled\n", ends[0],
		      ends[1], ends[2]);
	assert_int_equal(ends[0] + ends[1] + ends[2], RACE_ROUNDS * RACE_TASKS);
	/* After a cancel that returned 1, the task may still succeed. After 0
	 * it may not. */
	assert_true(ends[2] <= won && ends[2] >= told);
}
BED_TEST(test_retry_cancels_race_tries)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_retry_until_it_succeeds),
		BED_TESTS(test_retry_gives_up),
		BED_TESTS(test_retry_for_ever),
		BED_TESTS(test_retry_delay_counts_from_the_end),
		BED_TESTS(test_retry_backs_off),
		BED_TESTS(test_retry_backs_off_exactly),
		BED_TESTS(test_retry_backs_off_with_jitter),
		BED_TESTS(test_retry_with_jitter),
		BED_TESTS(test_retry_cancelled),
		BED_TESTS(test_retry_cancelled_inside_a_try),
		BED_TESTS(test_retry_limit_of_tasks),
		BED_TESTS(test_retry_added_from_on_end),
		BED_TESTS(test_retry_many_tasks),
		BED_TESTS(test_retry_destroyed_from_inside_is_refused),
		BED_TESTS(test_retry_shutdown),
		BED_TESTS(test_retry_timer_stopped),
		BED_TESTS_BY_HAND(test_retry_try_is_dropped),
		BED_TESTS(test_retry_made_up_ids),
		BED_TESTS(test_retry_takes_a_newer_config),
		BED_TESTS(test_retry_bad_input),
		BED_TESTS(test_retry_delays_saturate),
		BED_TESTS(test_retry_timer_is_full),
		BED_TEST_UNDER(test_retry_timer_gets_full, manual),
		BED_TESTS(test_retry_without_memory),
		BED_TESTS(test_retry_in_a_child),
		BED_TEST_UNDER(test_retry_at_once_is_on_the_next_turn, manual),
		BED_TESTS(test_retry_thread_is_cancelled_later),
		BED_TESTS(test_retry_ends_after_the_running_try),
		BED_TESTS(test_retry_cancels_race_tries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
