/* SPDX-License-Identifier: MIT */
/*
 * test_delayed_exec.c - SPEC 8.5: delayed operations on a timer with an
 * executor: their timeouts wait in its queue, or are refused.
 */
#include <errno.h>

#include "delayed_bed.h"

/* --- timeouts in the queue ------------------------------------------------ */

/* Keeps the jobs until the test runs them. */
struct keeper {
	struct tkw_job jobs[4];
	size_t count;
};

static int keep_job(const struct tkw_job *job, void *ctx)
{
	struct keeper *k = ctx;

	if (k->count == sizeof(k->jobs) / sizeof(k->jobs[0]))
		return -EAGAIN;
	k->jobs[k->count++] = *job;
	return 0;
}

static struct tkw_delayed *open_kept(struct timer_bed *b,
				     const struct tkw_exec *exec)
{
	const struct tkw_timer_config cfg = { .exec = exec };

	bed_reopen(b, &cfg);
	return open_set(b);
}

/* SPEC 8.5: it expires when the executor runs its timeout, not before. */
static void test_8_5_delayed_expires_in_the_executor(struct timer_bed *b)
{
	struct keeper k = { .count = 0 };
	const struct tkw_exec exec = { .submit = keep_job, .ctx = &k };
	struct tkw_delayed *d = open_kept(b, &exec);
	struct waiting w = { .ctx = NULL };

	add(d, &w, 7, TKW_MSEC);
	bed_pass(b, 2 * TKW_MSEC);
	assert_int_equal(k.count, 1);
	assert_waits(&w);
	assert_ledger(d, 1, 1);
	k.jobs[0].run(&k.jobs[0]);
	assert_ended(&w, -ETIMEDOUT);
	assert_ledger(d, 0, 0);
	close_set(d);
	bed_reopen(b, NULL);
}
BED_TEST(test_8_5_delayed_expires_in_the_executor)

/* SPEC 8.5: until then it may end in any other way. The executor then finds
 * nothing to do. */
static void test_8_5_delayed_ends_before_the_executor(struct timer_bed *b)
{
	struct keeper k = { .count = 0 };
	const struct tkw_exec exec = { .submit = keep_job, .ctx = &k };
	struct tkw_delayed *d = open_kept(b, &exec);
	struct waiting completed = { .ctx = NULL };
	struct waiting cancelled = { .ctx = NULL };
	struct waiting left = { .ctx = NULL };
	struct tkw_delayed_ledger l;

	add(d, &completed, 7, TKW_MSEC);
	add(d, &cancelled, 8, TKW_MSEC);
	add(d, &left, 9, TKW_MSEC);
	bed_pass(b, 2 * TKW_MSEC);
	assert_int_equal(k.count, 3);
	atomic_store(&completed.holds, true);
	assert_int_equal(tkw_delayed_event(d, 7), 1);
	assert_int_equal(tkw_delayed_cancel(d, cancelled.id), 0);
	assert_int_equal(tkw_delayed_shutdown(d), 0);
	for (size_t i = 0; i < 3; i++)
		k.jobs[i].run(&k.jobs[i]);
	assert_ended(&completed, 0);
	assert_ended(&cancelled, -ECANCELED);
	assert_ended(&left, -ESHUTDOWN);
	l = assert_ledger(d, 0, 0);
	assert_int_equal(l.expired, 0);
	close_set(d);
	bed_assert_ledger(b, 0);
	bed_reopen(b, NULL);
}
BED_TEST(test_8_5_delayed_ends_before_the_executor)

/* --- timeouts that are refused -------------------------------------------- */

static int refuse_job(const struct tkw_job *job, void *ctx)
{
	(void)ctx;
	(void)job;
	return -EAGAIN;
}

static const struct tkw_exec refusing = { .submit = refuse_job };
static const struct tkw_timer_config dropping = { .exec = &refusing,
						  .refusal = TKW_REFUSED_DROP };

/* If the timer drops the timeout, the operation ends. */
static void test_delayed_timeout_is_dropped(struct timer_bed *b)
{
	struct waiting w = { .ctx = NULL };
	struct tkw_delayed *d;

	bed_reopen(b, &dropping);
	d = open_set(b);
	add(d, &w, 7, TKW_MSEC);
	bed_pass(b, 5 * TKW_MSEC);
	assert_ended(&w, -ECANCELED);
	assert_ledger(d, 0, 0);
	close_set(d);
}
BED_TEST(test_delayed_timeout_is_dropped)

static void let_time_pass(struct waiting *w)
{
	if (w->id.bits == 0)
		return;
	bed_pass(w->ctx, 5 * TKW_MSEC);
	/* on_end waits until holds has returned. */
	assert_waits(w);
}

/* The same while it is asked: it completes if it holds, and is cancelled if
 * not. */
static void test_delayed_timeout_is_dropped_while_asked(struct timer_bed *b)
{
	struct waiting w = { .in_holds = let_time_pass, .ctx = b };
	struct tkw_delayed *d;

	bed_reopen(b, &dropping);
	d = open_set(b);
	add(d, &w, 7, TKW_MSEC);
	assert_int_equal(tkw_delayed_event(d, 7), 0);
	assert_ended(&w, -ECANCELED);
	add(d, &w, 7, TKW_MSEC);
	atomic_store(&w.holds, true);
	assert_int_equal(tkw_delayed_event(d, 7), 1);
	assert_ended(&w, 0);
	assert_ledger(d, 0, 0);
	close_set(d);
}
BED_TEST(test_delayed_timeout_is_dropped_while_asked)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS_BY_HAND(test_8_5_delayed_expires_in_the_executor),
		BED_TESTS_BY_HAND(test_8_5_delayed_ends_before_the_executor),
		BED_TESTS(test_delayed_timeout_is_dropped),
		BED_TESTS(test_delayed_timeout_is_dropped_while_asked),
	};

	return cmocka_run_group_tests_name("delayed_exec", tests, NULL, NULL);
}
