/* SPDX-License-Identifier: MIT */
/* test_retry_later.c - SPEC 8.1: tries that answer later. */
#include "retry_bed.h"

/* A set with a delay of 100 ms after a failure, and 30 ms for an answer. */
static struct tkw_retries *open_later(struct timer_bed *b)
{
	return open_set(
		b, &(struct tkw_retries_config){ .delay_ns = MS(100),
						 .try_timeout_ns = MS(30) });
}

static struct attempt make_later(struct timer_bed *b, struct tkw_retries *rs)
{
	return (struct attempt){ .b = b, .rs = rs, .later = true };
}

/* Adds a task, and lets it make its first try. */
static void await_first(struct attempt *a)
{
	assert_int_equal(add(a, 0), 0);
	bed_pass(a->b, 0);
	assert_int_equal(a->tries, 1);
	assert_int_equal(a->ends, 0);
}

/* --- answers ------------------------------------------------------------- */

/* A success ends the task, inside the call. After that the id is stale. */
static void test_retry_is_answered_with_success(struct timer_bed *b)
{
	struct tkw_retries *rs = open_later(b);
	struct attempt a = make_later(b, rs);

	await_first(&a);
	assert_int_equal(tkw_timer_count(b->t), 1);
	pass_to(b, 20);
	assert_int_equal(answer(&a, 1, 0), 0);
	assert_ended(&a, 0);
	assert_int_equal(a.end.tries, 1);
	assert_int_equal(a.end_ns, MS(20));
	assert_true(pthread_equal(a.by, pthread_self()));
	assert_int_equal(tkw_retries_count(rs), 0);
	assert_int_equal(tkw_timer_count(b->t), 0);
	assert_int_equal(answer(&a, 1, 0), -ENOENT);
	assert_int_equal(answer(&a, 1, -EIO), -ENOENT);
	assert_int_equal(tkw_retries_cancel(rs, a.id), -ENOENT);
	pass_to(b, 500);
	assert_tries(&a, 0);
	close_set(b, rs);
}
BED_TEST(test_retry_is_answered_with_success)

/* The delay counts from the answer. Any result but 0 is a failure, even
 * TKW_TRY_LATER. A failed try cannot be answered again. */
static void test_retry_is_answered_with_failure(struct timer_bed *b)
{
	struct tkw_retries *rs = open_later(b);
	struct attempt a = make_later(b, rs);

	await_first(&a);
	pass_to(b, 20);
	assert_int_equal(answer(&a, 1, -EIO), 0);
	assert_int_equal(answer(&a, 1, -EIO), -ENOENT);
	assert_int_equal(tkw_timer_count(b->t), 1);
	pass_to(b, 125);
	assert_tries(&a, 0, 120);
	assert_int_equal(answer(&a, 1, -EIO), -ENOENT);
	assert_int_equal(answer(&a, 2, TKW_TRY_LATER), 0);
	pass_to(b, 230);
	assert_tries(&a, 0, 120, 225);
	assert_int_equal(answer(&a, 3, INT32_MIN), 0);
	pass_to(b, 330);
	assert_tries(&a, 0, 120, 225, 330);
	assert_int_equal(answer(&a, 4, 0), 0);
	assert_ended(&a, 0);
	close_set(b, rs);
}
BED_TEST(test_retry_is_answered_with_failure)

/* A try that returns neither 0 nor TKW_TRY_LATER has failed, and no answer is
 * expected. */
static void test_retry_any_other_value_is_a_failure(struct timer_bed *b)
{
	static const int values[] = { 1,         -1,        TKW_TRY_LATER - 1,
				      INT32_MAX, INT32_MIN, TKW_TRY_LATER + 1 };
	struct tkw_retries *rs =
		open_set(b, &(struct tkw_retries_config){ .max_tries = 2 });

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct attempt a = { .b = b, .rs = rs, .failure = values[i] };

		assert_int_equal(add(&a, 0), 0);
		bed_pass(b, 0);
		assert_int_equal(a.tries, 1);
		assert_int_equal(answer(&a, 1, -EIO), -ENOENT);
		bed_pass(b, 5 * TKW_SEC);
		assert_int_equal(a.tries, 2);
		assert_ended(&a, -ETIMEDOUT);
	}
	close_set(b, rs);
}
BED_TEST(test_retry_any_other_value_is_a_failure)

/* An answer that does not come in time is a failure. Without a time limit, the
 * task waits for the answer for ever. */
static void test_retry_answer_does_not_come(struct timer_bed *b)
{
	struct tkw_retries *rs = open_later(b);
	struct attempt a = make_later(b, rs);

	await_first(&a);
	pass_to(b, 400);
	/* 30 ms for the answer, and 100 ms for the delay. */
	assert_tries(&a, 0, 130, 260, 390);
	assert_int_equal(tkw_timer_count(b->t), 1);
	assert_int_equal(answer(&a, 4, 0), 0);
	assert_ended(&a, 0);
	close_set(b, rs);
	begin_anew(b, NULL);
	rs = open_set(b, &(struct tkw_retries_config){ .delay_ns = MS(100) });
	a = make_later(b, rs);
	await_first(&a);
	bed_pass(b, 1000000 * TKW_SEC);
	assert_tries(&a, 0);
	assert_int_equal(tkw_timer_count(b->t), 1);
	assert_int_equal(answer(&a, 1, -EIO), 0);
	bed_pass(b, MS(99));
	assert_int_equal(a.tries, 1);
	bed_pass(b, MS(1));
	assert_int_equal(a.tries, 2);
	close_set(b, rs);
	assert_ended(&a, -ESHUTDOWN);
}
BED_TEST(test_retry_answer_does_not_come)

static void take_50_ms(struct attempt *a)
{
	bed_set_clock(a->b, tkw_timer_now_ns(a->b->t) + MS(50));
}

static void take_10_ms(struct attempt *a)
{
	bed_set_clock(a->b, tkw_timer_now_ns(a->b->t) + MS(10));
}

/* The time limit of a try counts from its begin. It does not hold for a try
 * that does not answer later. */
static void test_retry_time_of_a_try(struct timer_bed *b)
{
	struct tkw_retries *rs = open_later(b);
	struct attempt a = make_later(b, rs);

	a.in_try = take_10_ms;
	await_first(&a);
	pass_to(b, 270);
	assert_tries(&a, 0, 130, 260);
	/* It is in time by one nanosecond. */
	bed_set_clock(b, ZERO_NS + MS(290) - 1);
	assert_int_equal(answer(&a, 3, 0), 0);
	assert_ended(&a, 0);
	close_set(b, rs);

	begin_anew(b, NULL);
	rs = open_later(b);
	a = make_later(b, rs);
	a.in_try = take_50_ms;
	await_first(&a); /* its time is over when it returns */
	pass_to(b, 200);
	assert_tries(&a, 0, 150);
	close_set(b, rs);

	begin_anew(b, NULL);
	rs = open_later(b);
	a = make_later(b, rs);
	a.later = false;
	a.in_try = take_50_ms;
	await_first(&a);
	pass_to(b, 310);
	assert_tries(&a, 0, 150, 300);
	close_set(b, rs);
}
BED_TEST(test_retry_time_of_a_try)

/* After the last try the task ends, whether that fails by its answer, which
 * ends the task inside the call, or by its timeout. */
static void test_retry_gives_up_later(struct timer_bed *b)
{
	const struct tkw_retries_config cfg = { .delay_ns = MS(100),
						.try_timeout_ns = MS(30),
						.max_tries = 2 };
	struct tkw_retries *rs = open_set(b, &cfg);
	struct attempt a = make_later(b, rs);

	await_first(&a);
	pass_to(b, 140);
	assert_tries(&a, 0, 130);
	assert_int_equal(answer(&a, 2, -EIO), 0);
	assert_ended(&a, -ETIMEDOUT);
	assert_int_equal(a.end.tries, 2);
	assert_true(pthread_equal(a.by, pthread_self()));
	assert_int_equal(answer(&a, 2, 0), -ENOENT);
	close_set(b, rs);

	begin_anew(b, NULL);
	rs = open_set(b, &cfg);
	a = make_later(b, rs);
	await_first(&a);
	pass_to(b, 400);
	assert_tries(&a, 0, 130);
	assert_ended(&a, -ETIMEDOUT);
	assert_int_equal(a.end_ns, MS(160));
	assert_int_equal(answer(&a, 2, 0), -ENOENT);
	assert_int_equal(tkw_retries_count(rs), 0);
	close_set(b, rs);
}
BED_TEST(test_retry_gives_up_later)

/* Each failure makes the next delay longer, however it came. */
static void test_retry_backs_off_later(struct timer_bed *b)
{
	struct tkw_retries *rs = open_set(
		b, &(struct tkw_retries_config){ .delay_ns = MS(100),
						 .backoff_percent = 200,
						 .max_delay_ns = MS(600),
						 .try_timeout_ns = MS(30) });
	struct attempt a = make_later(b, rs);

	await_first(&a);
	pass_to(b, 10);
	assert_int_equal(answer(&a, 1, -EIO), 0); /* 10 + 100 */
	pass_to(b, 339);
	assert_tries(&a, 0, 110);
	a.later = false;
	pass_to(b, 340); /* 110 + 30 + 200 */
	assert_tries(&a, 0, 110, 340);
	a.later = true;
	pass_to(b, 1370); /* + 400, + 30 + 600 */
	assert_tries(&a, 0, 110, 340, 740, 1370);
	close_set(b, rs);
}
BED_TEST(test_retry_backs_off_later)

/* --- late answers -------------------------------------------------------- */

/* A failure that is answered after the timeout has no effect. */
static void test_retry_late_failure(struct timer_bed *b)
{
	struct tkw_retries *rs = open_later(b);
	struct attempt a = make_later(b, rs);

	await_first(&a);
	pass_to(b, 30);
	assert_int_equal(answer(&a, 1, -EIO), -ENOENT);
	pass_to(b, 80);
	assert_int_equal(answer(&a, 1, -EIO), -ENOENT);
	pass_to(b, 140);
	assert_tries(&a, 0, 130);
	/* The task waits for the answer of the second try. */
	assert_int_equal(answer(&a, 1, -EIO), -ENOENT);
	pass_to(b, 262);
	assert_tries(&a, 0, 130, 260);
	close_set(b, rs);
}
BED_TEST(test_retry_late_failure)

/* A success ends the task, whichever try it answers: after a timeout, while the
 * next answer is expected, or after a failure. */
static void test_retry_late_success(struct timer_bed *b)
{
	struct tkw_retries *rs = open_later(b);
	struct attempt a = make_later(b, rs);

	await_first(&a);
	pass_to(b, 60);
	assert_int_equal(answer(&a, 1, 0), 0);
	assert_ended(&a, 0);
	assert_int_equal(a.end.tries, 1);
	assert_int_equal(tkw_timer_count(b->t), 0);

	begin_anew(b, NULL);
	close_set(b, rs);
	rs = open_later(b);
	a = make_later(b, rs);
	await_first(&a);
	pass_to(b, 265);
	assert_tries(&a, 0, 130, 260);
	assert_int_equal(answer(&a, 2, 0), 0);
	assert_ended(&a, 0);
	assert_int_equal(a.end.tries, 3);

	begin_anew(b, NULL);
	close_set(b, rs);
	rs = open_later(b);
	a = make_later(b, rs);
	await_first(&a);
	assert_int_equal(answer(&a, 1, -EIO), 0);
	assert_int_equal(answer(&a, 1, 0), 0);
	assert_ended(&a, 0);
	pass_to(b, 500);
	assert_tries(&a, 0);
	close_set(b, rs);
}
BED_TEST(test_retry_late_success)

/* An answer for a try that was not made yet is refused. */
static void test_retry_numbers_that_are_not_tries(struct timer_bed *b)
{
	static const int64_t none[] = { INT64_MIN, -1, 0, 2, 3, INT64_MAX };
	struct tkw_retries *rs = open_later(b);
	struct attempt a = make_later(b, rs);

	assert_int_equal(add(&a, MS(10)), 0);
	for (int result = -1; result <= 0; result++) {
		assert_int_equal(answer(&a, 0, result), -ENOENT);
		assert_int_equal(answer(&a, 1, result), -ENOENT);
	}
	pass_to(b, 10);
	assert_tries(&a, 10);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		assert_int_equal(answer(&a, none[i], 0), -ENOENT);
		assert_int_equal(answer(&a, none[i], -EIO), -ENOENT);
	}
	a.id.bits ^= 1;
	assert_int_equal(answer(&a, 1, 0), -ENOENT);
	a.id.bits ^= 1;
	assert_int_equal(a.ends, 0);
	pass_to(b, 140);
	assert_tries(&a, 10, 140);
	close_set(b, rs);
}
BED_TEST(test_retry_numbers_that_are_not_tries)

/* --- answers inside a try ------------------------------------------------ */

static void succeed_inside(struct attempt *a)
{
	a->said = answer(a, a->tries, 0);
	must(a->ends == 0); /* on_end comes after the try */
	must(answer(a, a->tries, 0) == -ENOENT);
	must(answer(a, a->tries, -EIO) == -ENOENT);
	must(tkw_retries_cancel(a->rs, a->id) == -ENOENT);
}

/* The answer comes before the try has returned. The task succeeds, whatever the
 * try returns. */
static void test_retry_succeeds_before_it_returns(struct timer_bed *b)
{
	struct tkw_retries *rs = open_later(b);
	struct attempt a[3];

	for (int i = 0; i < 3; i++) {
		a[i] = make_later(b, rs);
		a[i].in_try = succeed_inside;
		a[i].said = -1;
		a[i].later = i == 0;
		a[i].succeed_at = i == 1;
		assert_int_equal(add(&a[i], 0), 0);
	}
	bed_pass(b, 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(a[i].said, 0);
		assert_ended(&a[i], 0);
		assert_int_equal(a[i].end.tries, 1);
	}
	pass_to(b, 500);
	assert_int_equal(tkw_retries_count(rs), 0);
	close_set(b, rs);
}
BED_TEST(test_retry_succeeds_before_it_returns)

static void fail_inside(struct attempt *a)
{
	a->said = answer(a, a->tries, -EIO);
	must(answer(a, a->tries, -EIO) == -ENOENT);
	take_10_ms(a);
}

/* A failure is answered before the try has returned. The delay counts from the
 * return. If the try then returns 0, it has succeeded. */
static void test_retry_fails_before_it_returns(struct timer_bed *b)
{
	struct tkw_retries *rs = open_later(b);
	struct attempt a = make_later(b, rs);

	a.in_try = fail_inside;
	a.succeed_at = 3;
	a.said = -1;
	await_first(&a);
	assert_int_equal(a.said, 0);
	pass_to(b, 115);
	assert_tries(&a, 0, 110);
	pass_to(b, 225);
	assert_tries(&a, 0, 110, 220);
	assert_ended(&a, 0);
	close_set(b, rs);
}
BED_TEST(test_retry_fails_before_it_returns)

/* The same from another thread while the try runs. */
static void test_retry_is_answered_while_it_runs(struct timer_bed *b)
{
	struct gate gate = GATE_INIT;
	struct tkw_retries *rs = open_later(b);
	struct attempt a = make_later(b, rs);
	struct passer p;

	a.in_try = wait_at_gate;
	a.gate = &gate;
	assert_int_equal(add(&a, 0), 0);
	pass_to_gate(&p, &a);
	assert_int_equal(answer(&a, 1, -EIO), 0);
	assert_int_equal(answer(&a, 1, -EIO), -ENOENT);
	pass_the_gate(&p, &a);
	a.in_try = NULL;
	pass_to(b, 105);
	assert_tries(&a, 0, 100);
	close_set(b, rs);

	begin_anew(b, NULL);
	gate_init(&gate);
	rs = open_later(b);
	a = make_later(b, rs);
	a.in_try = wait_at_gate;
	a.gate = &gate;
	assert_int_equal(add(&a, 0), 0);
	pass_to_gate(&p, &a);
	assert_int_equal(answer(&a, 1, 0), 0);
	assert_int_equal(answer(&a, 1, 0), -ENOENT);
	assert_int_equal(a.ends, 0);
	assert_int_equal(tkw_retries_count(rs), 1);
	pass_the_gate(&p, &a);
	assert_ended(&a, 0);
	assert_int_equal(tkw_retries_count(rs), 0);
	close_set(b, rs);
}
BED_TEST(test_retry_is_answered_while_it_runs)

/* Waits in the second try. */
static void wait_in_second(struct attempt *a)
{
	if (a->tries == 2)
		gate_pass(a->gate);
}

/* The first try succeeds late, while the second one runs. */
static void test_retry_late_success_while_another_runs(struct timer_bed *b)
{
	struct gate gate = GATE_INIT;
	struct tkw_retries *rs = open_later(b);
	struct attempt a = make_later(b, rs);
	struct passer p;

	a.in_try = wait_in_second;
	a.gate = &gate;
	await_first(&a);
	pass_to(b, 129);
	bed_set_clock(b, ZERO_NS + MS(130));
	pass_to_gate(&p, &a);
	assert_int_equal(answer(&a, 1, -EIO), -ENOENT);
	assert_int_equal(answer(&a, 1, 0), 0);
	assert_int_equal(answer(&a, 2, 0), -ENOENT);
	assert_int_equal(a.ends, 0);
	pass_the_gate(&p, &a);
	assert_ended(&a, 0);
	assert_tries(&a, 0, 130);
	close_set(b, rs);
}
BED_TEST(test_retry_late_success_while_another_runs)

/* --- cancel, shutdown, and the timer's stop ------------------------------ */

/* A cancel ends the task at once if an answer is expected. */
static void test_retry_cancelled_while_awaited(struct timer_bed *b)
{
	struct tkw_retries *rs = open_later(b);
	struct attempt a = make_later(b, rs);

	await_first(&a);
	assert_int_equal(tkw_retries_cancel(rs, a.id), 0);
	assert_ended(&a, -ECANCELED);
	assert_true(pthread_equal(a.by, pthread_self()));
	assert_int_equal(tkw_timer_count(b->t), 0);
	assert_int_equal(answer(&a, 1, 0), -ENOENT);
	assert_int_equal(answer(&a, 1, -EIO), -ENOENT);
	pass_to(b, 500);
	assert_tries(&a, 0);
	close_set(b, rs);
}
BED_TEST(test_retry_cancelled_while_awaited)

static void cancel_and_answer(struct attempt *a)
{
	must(tkw_retries_cancel(a->rs, a->id) == 1);
	must(answer(a, 1, -EIO) == -ENOENT);
	a->said = a->succeed_at == 2 ? answer(a, 1, 0) : 0;
	if (a->succeed_at == 2)
		must(answer(a, 1, 0) == -ENOENT);
}

/* Cancelled inside a try. A later answer is refused, but a success before the
 * try returns counts. */
static void test_retry_cancelled_inside_a_later_try(struct timer_bed *b)
{
	struct tkw_retries *rs = open_later(b);
	struct attempt a = make_later(b, rs);
	struct attempt s = make_later(b, rs);

	a.in_try = s.in_try = cancel_and_answer;
	s.succeed_at = 2;
	s.said = -1;
	assert_int_equal(add(&a, 0), 0);
	assert_int_equal(add(&s, 0), 0);
	bed_pass(b, 0);
	assert_ended(&a, -ECANCELED);
	assert_int_equal(s.said, 0);
	assert_ended(&s, 0);
	assert_int_equal(answer(&a, 1, 0), -ENOENT);
	pass_to(b, 500);
	assert_tries(&a, 0);
	assert_tries(&s, 0);
	close_set(b, rs);
}
BED_TEST(test_retry_cancelled_inside_a_later_try)

/* Shutdown ends tasks that wait for an answer. Destroy does not wait for
 * answers. */
static void test_retry_shutdown_while_awaited(struct timer_bed *b)
{
	struct tkw_retries *rs = open_later(b);
	struct attempt a = make_later(b, rs);

	await_first(&a);
	assert_int_equal(tkw_retries_shutdown(rs), 0);
	assert_ended(&a, -ESHUTDOWN);
	assert_int_equal(answer(&a, 1, 0), -ENOENT);
	close_set(b, rs);
	rs = open_later(b);
	a = make_later(b, rs);
	await_first(&a);
	close_set(b, rs);
	assert_ended(&a, -ESHUTDOWN);
}
BED_TEST(test_retry_shutdown_while_awaited)

/* The timer of the set is stopped, also while a task waits for an answer
 * without a time limit. */
static void test_retry_timer_stopped_while_awaited(struct timer_bed *b)
{
	struct tkw_retries *rs = open_later(b);
	struct tkw_retries *patient =
		open_set(b, &(struct tkw_retries_config){ 0 });
	struct attempt a = make_later(b, rs);
	struct attempt p = make_later(b, patient);

	await_first(&a);
	await_first(&p);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_ended(&a, -ESHUTDOWN);
	assert_ended(&p, -ESHUTDOWN);
	assert_int_equal(answer(&a, 1, 0), -ENOENT);
	close_set(b, rs);
	close_set(b, patient);
}
BED_TEST(test_retry_timer_stopped_while_awaited)

static struct {
	struct attempt *a;
	int said;
} visited;

static void answer_in_visitor(const struct tkw_timeout_info *info, void *ctx)
{
	(void)info;
	(void)ctx;
	visited.said = answer(visited.a, 1, -EIO);
}

/* A failure is answered while the timer is being stopped. The next try cannot
 * be scheduled, so the task ends, once. */
static void test_retry_answered_in_a_stop(struct timer_bed *b)
{
	struct tkw_retries *rs = open_later(b);
	struct attempt a = make_later(b, rs);

	await_first(&a);
	visited.a = &a;
	visited.said = -1;
	assert_int_equal(tkw_timer_stop(b->t, answer_in_visitor, NULL), 0);
	assert_int_equal(visited.said, 0);
	assert_ended(&a, -ESHUTDOWN);
	assert_int_equal(tkw_retries_count(rs), 0);
	close_set(b, rs);
}
BED_TEST(test_retry_answered_in_a_stop)

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

/* SPEC 4.8: the executor drops the timeout of a try that waits for its
 * answer. */
static void test_retry_timeout_is_dropped(struct timer_bed *b)
{
	static const struct tkw_exec exec = { .submit = refuse_some };
	struct tkw_retries *rs;
	struct attempt a;

	begin_anew(b, &(struct tkw_timer_config){
			      .exec = &exec, .refusal = TKW_REFUSED_DROP });
	rs = open_later(b);
	a = make_later(b, rs);
	await_first(&a);
	refusals = 1;
	pass_to(b, 60);
	assert_ended(&a, -ECANCELED);
	assert_int_equal(a.end_ns, MS(30));
	assert_int_equal(answer(&a, 1, 0), -ENOENT);
	close_set(b, rs);
}
BED_TEST(test_retry_timeout_is_dropped)

/* At the limit of the timer, an answer needs no additional place. */
static void test_retry_answered_at_the_limit(struct timer_bed *b)
{
	struct tkw_retries *rs;
	struct attempt a;

	begin_anew(b, &(struct tkw_timer_config){ .max_pending = 1 });
	rs = open_later(b);
	a = make_later(b, rs);
	await_first(&a);
	assert_int_equal(answer(&a, 1, -EIO), 0);
	assert_int_equal(a.ends, 0);
	pass_to(b, 101);
	assert_tries(&a, 0, 100);
	close_set(b, rs);
}
BED_TEST(test_retry_answered_at_the_limit)

/* --- calls inside an on_end ---------------------------------------------- */

static void answer_in_end(struct attempt *a)
{
	must(answer(a, 1, 0) == -ENOENT);
	must(tkw_retries_cancel(a->rs, a->id) == -ENOENT);
	a[0].said = answer(&a[1], 1, 0);
}

/* Inside on_end its own task has ended. Another task may be answered there. */
static void test_retry_answered_inside_on_end(struct timer_bed *b)
{
	struct tkw_retries *rs = open_later(b);
	struct attempt a[2] = { make_later(b, rs), make_later(b, rs) };

	a[0].in_end = answer_in_end;
	a[0].said = -1;
	await_first(&a[0]);
	await_first(&a[1]);
	assert_int_equal(answer(&a[0], 1, 0), 0);
	assert_ended(&a[0], 0);
	assert_int_equal(a[0].said, 0);
	assert_ended(&a[1], 0);
	close_set(b, rs);
}
BED_TEST(test_retry_answered_inside_on_end)

/* --- many ---------------------------------------------------------------- */

enum {
	MANY = 1000
};

/* A thousand tasks are answered in another order, in four ways: a success; a
 * failure, then a success; a timeout, then a success; only timeouts. */
static void test_retry_thousand_tasks(struct timer_bed *b)
{
	static struct attempt a[MANY];
	struct tkw_retries *rs = open_set(
		b, &(struct tkw_retries_config){ .delay_ns = MS(100),
						 .try_timeout_ns = MS(30),
						 .max_tries = 2,
						 .max_tasks = MANY });

	for (int i = 0; i < MANY; i++) {
		a[i] = make_later(b, rs);
		assert_int_equal(add(&a[i], 0), 0);
	}
	bed_pass(b, 0);
	assert_int_equal(tkw_timer_count(b->t), MANY);
	for (int i = 0; i < MANY; i++) {
		int n = i * 37 % MANY; /* visits each one once */

		assert_int_equal(a[n].tries, 1);
		if (n % 4 <= 1)
			assert_int_equal(answer(&a[n], 1, -(n % 4)), 0);
	}
	assert_int_equal(tkw_retries_count(rs), MANY / 4 * 3);
	pass_to(b, 131); /* 100, and 30 + 100 */
	assert_int_equal(tkw_timer_count(b->t), MANY / 2);
	for (int i = 0; i < MANY; i++) {
		int n = i * 73 % MANY;

		assert_int_equal(a[n].tries, n % 4 == 0 ? 1 : 2);
		if (n % 4 == 2)
			assert_int_equal(answer(&a[n], 1 + n / 4 % 2, 0), 0);
	}
	pass_to(b, 300);
	assert_int_equal(tkw_retries_count(rs), 0);
	for (int i = 0; i < MANY; i++)
		assert_ended(&a[i], i % 4 == 0 || i % 4 == 2 ? 0 : -ETIMEDOUT);
	close_set(b, rs);
}
BED_TEST(test_retry_thousand_tasks)

/* --- two threads --------------------------------------------------------- */

enum {
	RACE_ROUNDS = 500,
	RACE_TASKS = 8
};

struct race {
	struct tkw_retries *rs;
	struct attempt a[RACE_TASKS];
	int said[RACE_TASKS];
	int cancelled[RACE_TASKS];
	struct gate gate;
};

static void open_race(struct race *r, struct timer_bed *b, int64_t max_tries)
{
	const struct tkw_retries_config cfg = { .delay_ns = MS(100),
						.try_timeout_ns = MS(30),
						.max_tries = max_tries };

	memset(r, 0, sizeof(*r));
	gate_init(&r->gate);
	r->rs = open_set(b, &cfg);
	for (int i = 0; i < RACE_TASKS; i++) {
		r->a[i] = make_later(b, r->rs);
		assert_int_equal(add(&r->a[i], 0), 0);
	}
	bed_pass(b, 0);
}

/* Answers 0 and a failure in turn. */
static void *answer_all(void *arg)
{
	struct race *r = arg;

	gate_pass(&r->gate);
	for (int i = 0; i < RACE_TASKS; i++)
		r->said[i] = answer(&r->a[i], 1, i % 2 == 0 ? 0 : -EIO);
	return NULL;
}

static void *cancel_all(void *arg)
{
	struct race *r = arg;

	gate_pass(&r->gate);
	for (int i = 0; i < RACE_TASKS; i++)
		r->cancelled[i] = tkw_retries_cancel(r->rs, r->a[i].id);
	return NULL;
}

/* An answer races the timeout. Whichever comes first, a failure counts once,
 * and a success in time counts. */
static void test_retry_answers_race_timeouts(struct timer_bed *b)
{
	unsigned in_time = 0, late = 0;

	for (int round = 0; round < RACE_ROUNDS; round++) {
		static struct race r;
		pthread_t thread;

		open_race(&r, b, 2);
		assert_int_equal(pthread_create(&thread, NULL, answer_all, &r),
				 0);
		gate_await(&r.gate, 1);
		gate_open(&r.gate);
		bed_pass(b, MS(30));
		assert_int_equal(pthread_join(thread, NULL), 0);
		for (int i = 0; i < RACE_TASKS; i++) {
			assert_int_equal(r.a[i].tries, 1);
			if (i % 2 == 0) { /* a late success counts */
				assert_int_equal(r.said[i], 0);
				assert_ended(&r.a[i], 0);
				continue;
			}
			assert_int_equal(r.a[i].ends, 0);
			in_time += r.said[i] == 0;
			late += r.said[i] == -ENOENT;
		}
		bed_pass(b, MS(100));
		for (int i = 1; i < RACE_TASKS; i += 2)
			assert_int_equal(r.a[i].tries, 2);
		bed_pass(b, MS(30));
		for (int i = 1; i < RACE_TASKS; i += 2)
			assert_ended(&r.a[i], -ETIMEDOUT);
		close_set(b, r.rs);
	}
	print_message("%u in time, %u late\n", in_time, late);
	assert_int_equal(in_time + late, RACE_ROUNDS * RACE_TASKS / 2);
}
BED_TEST(test_retry_answers_race_timeouts)

/* The last try. Its answer or its timeout ends the task. */
static void test_retry_answers_race_the_last_timeouts(struct timer_bed *b)
{
	for (int round = 0; round < RACE_ROUNDS; round++) {
		static struct race r;
		pthread_t thread;

		open_race(&r, b, 1);
		assert_int_equal(pthread_create(&thread, NULL, answer_all, &r),
				 0);
		gate_await(&r.gate, 1);
		gate_open(&r.gate);
		bed_pass(b, MS(30));
		assert_int_equal(pthread_join(thread, NULL), 0);
		for (int i = 0; i < RACE_TASKS; i++) {
			bool won = r.said[i] == 0;

			assert_true(won || r.said[i] == -ENOENT);
			assert_ended(&r.a[i],
				     won && i % 2 == 0 ? 0 : -ETIMEDOUT);
		}
		assert_int_equal(tkw_retries_count(r.rs), 0);
		close_set(b, r.rs);
	}
}
BED_TEST(test_retry_answers_race_the_last_timeouts)

/* Answers race cancels and timeouts. Each task ends once, by the call that
 * returned 0. */
static void test_retry_answers_race_cancels(struct timer_bed *b)
{
	for (int round = 0; round < RACE_ROUNDS; round++) {
		static struct race r;
		pthread_t threads[2];

		open_race(&r, b, 0);
		assert_int_equal(
			pthread_create(&threads[0], NULL, answer_all, &r), 0);
		assert_int_equal(
			pthread_create(&threads[1], NULL, cancel_all, &r), 0);
		gate_await(&r.gate, 2);
		gate_open(&r.gate);
		bed_pass(b, MS(30));
		for (int i = 0; i < 2; i++)
			assert_int_equal(pthread_join(threads[i], NULL), 0);
		bed_pass(b, 0);
		for (int i = 0; i < RACE_TASKS; i++) {
			bool success = i % 2 == 0 && r.said[i] == 0;

			assert_ended(&r.a[i], success ? 0 : -ECANCELED);
			assert_int_equal(r.cancelled[i], success ? -ENOENT : 0);
			assert_int_equal(r.a[i].tries, 1);
		}
		close_set(b, r.rs);
	}
}
BED_TEST(test_retry_answers_race_cancels)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_retry_is_answered_with_success),
		BED_TESTS(test_retry_is_answered_with_failure),
		BED_TESTS(test_retry_any_other_value_is_a_failure),
		BED_TESTS(test_retry_answer_does_not_come),
		BED_TESTS(test_retry_time_of_a_try),
		BED_TESTS(test_retry_gives_up_later),
		BED_TESTS(test_retry_backs_off_later),
		BED_TESTS(test_retry_late_failure),
		BED_TESTS(test_retry_late_success),
		BED_TESTS(test_retry_numbers_that_are_not_tries),
		BED_TESTS(test_retry_succeeds_before_it_returns),
		BED_TESTS(test_retry_fails_before_it_returns),
		BED_TESTS(test_retry_is_answered_while_it_runs),
		BED_TESTS(test_retry_late_success_while_another_runs),
		BED_TESTS(test_retry_cancelled_while_awaited),
		BED_TESTS(test_retry_cancelled_inside_a_later_try),
		BED_TESTS(test_retry_shutdown_while_awaited),
		BED_TESTS(test_retry_timer_stopped_while_awaited),
		BED_TESTS(test_retry_answered_in_a_stop),
		BED_TESTS_BY_HAND(test_retry_timeout_is_dropped),
		BED_TEST_UNDER(test_retry_answered_at_the_limit, manual),
		BED_TESTS(test_retry_answered_inside_on_end),
		BED_TESTS(test_retry_thousand_tasks),
		BED_TESTS(test_retry_answers_race_timeouts),
		BED_TESTS(test_retry_answers_race_the_last_timeouts),
		BED_TESTS(test_retry_answers_race_cancels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
