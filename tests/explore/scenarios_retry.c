/* SPDX-License-Identifier: MIT */
/*
 * scenarios_retry.c - tasks of one or two tries, against the calls that end
 * them.
 */
#include <errno.h>
#include <string.h>

#include "scenario_timer.h"
#include "tickwheel/retry.h"

/* When the first try times out. */
#define LATE_NS (EXPLORE_START_NS + TKW_MSEC)

static struct {
	struct tkw_retries *rs;
	struct tkw_retry_id id;
	unsigned first_result; /* of try 1; try 2 succeeds */
	unsigned tries;
	unsigned begun;
	unsigned ends;
	int status;
	bool over;             /* no try may begin any more */
	int64_t not_before_ns; /* try 2 may not begin before this */
	unsigned failures;     /* accepted failures of try 1 */
	int answered;          /* results of calls */
	int cancelled;
} set;

static int try_it(const struct tkw_try *attempt, void *ctx)
{
	(void)ctx;
	explore_tell("try begins", attempt->number);
	explore_check(!set.over);
	explore_check(attempt->number == ++set.begun);
	explore_check(set.begun <= 2 && set.tries == set.begun - 1);
	explore_check(set.begun == 1 || explore_now() >= set.not_before_ns);
	explore_yield();
	explore_check(set.ends == 0);
	set.tries++;
	explore_tell("try ends", attempt->number);
	return set.tries == 1 ? (int)set.first_result : 0;
}

static void note_end(const struct tkw_retry_end *end, void *ctx)
{
	(void)ctx;
	explore_tell("end", end->status);
	explore_check(set.ends++ == 0);
	explore_check(end->tries == set.tries && set.tries == set.begun);
	set.status = end->status;
	explore_yield();
}

/* Opens a set with a task whose first try is due and returns first_result. */
static void open_set(unsigned first_result)
{
	const struct tkw_retry task = { .fn = try_it, .on_end = note_end };
	struct tkw_retries_config cfg = { .delay_ns = TKW_MSEC,
					  .try_timeout_ns = TKW_MSEC,
					  .max_tasks = 2 };

	memset(&set, 0, sizeof(set));
	set.first_result = first_result;
	open_timer(1);
	cfg.timer = run.t;
	explore_check(tkw_retries_create(&set.rs, &cfg) == 0);
	explore_check(tkw_retries_add(set.rs, &task, 0, &set.id) == 0);
}

/* Closes the set. The task has ended once. */
static void close_set(void)
{
	explore_check(tkw_retries_destroy(set.rs) == 0);
	explore_check(set.ends == 1);
	explore_check(tkw_timer_count(run.t) == 0);
	check_balance();
	explore_check(tkw_timer_destroy(run.t) == 0);
}

/* --- cancel and shutdown ------------------------------------------------- */

static void *cancel_task(void *unused)
{
	int ret = tkw_retries_cancel(set.rs, set.id);

	explore_check(ret == 0 || ret == 1 || ret == -ENOENT);
	if (ret == 0) {
		explore_check(set.begun == 0);
		set.over = true;
	}
	return unused;
}

static void *shut_down_set(void *unused)
{
	explore_check(tkw_retries_shutdown(set.rs) == 0);
	return unused;
}

/* SPEC 8.1: the task ends once. After a cancel that returned 0 it is not
 * tried. */
void retry_against_cancel(void)
{
	int a, b;

	open_set(0);
	a = explore_spawn("cancel", cancel_task, NULL);
	b = explore_spawn("shutdown", shut_down_set, NULL);
	explore_join(a);
	explore_join(b);
	close_set();
	explore_check((set.status == 0) == (set.tries == 1));
}

/* --- answers ------------------------------------------------------------- */

/* Answers that try 1 has failed, at the moment of its timeout. */
static void *answer_failure(void *unused)
{
	int err;

	explore_sleep_until(LATE_NS);
	err = tkw_retries_done(set.rs, set.id, 1, -EIO);
	explore_check(err == 0 || err == -ENOENT);
	set.failures += err == 0;
	return unused;
}

/* SPEC 8.1: two answers and the timeout meet for the first try. It fails once,
 * and the second try comes after the delay. */
void retry_done_against_timeout(void)
{
	int a, b;

	open_set(TKW_TRY_LATER);
	set.not_before_ns = LATE_NS + TKW_MSEC;
	a = explore_spawn("answer a", answer_failure, NULL);
	b = explore_spawn("answer b", answer_failure, NULL);
	explore_join(a);
	explore_join(b);
	explore_check(set.failures <= 1);
	explore_await(&set.ends, 1);
	explore_check(set.tries == 2 && set.status == 0);
	close_set();
}

static void *cancel_awaited(void *unused)
{
	explore_sleep_until(LATE_NS);
	explore_check(tkw_retries_cancel(set.rs, set.id) == 0);
	set.over = true;
	return unused;
}

/* SPEC 8.1: at the moment of the timeout, a failure is answered and the task
 * cancelled. The task ends as cancelled. */
void retry_done_against_cancel(void)
{
	int a, b;

	open_set(TKW_TRY_LATER);
	a = explore_spawn("answer", answer_failure, NULL);
	b = explore_spawn("cancel", cancel_awaited, NULL);
	explore_join(a);
	explore_join(b);
	close_set();
	explore_check(set.tries == 1 && set.status == -ECANCELED);
}

static void *answer_success(void *unused)
{
	explore_await(&set.begun, 1);
	set.answered = tkw_retries_done(set.rs, set.id, 1, 0);
	explore_check(set.answered == 0 || set.answered == -ENOENT);
	return unused;
}

static void *cancel_begun(void *unused)
{
	explore_await(&set.begun, 1);
	set.cancelled = tkw_retries_cancel(set.rs, set.id);
	explore_check(set.cancelled >= -ENOENT && set.cancelled <= 1);
	return unused;
}

/* SPEC 8.1: a success is answered and the task cancelled while the try runs, or
 * after it. The call that returned 0 decides how the task ends. */
void retry_done_against_return(void)
{
	int a, b;

	open_set(TKW_TRY_LATER);
	a = explore_spawn("answer", answer_success, NULL);
	b = explore_spawn("cancel", cancel_begun, NULL);
	explore_join(a);
	explore_join(b);
	close_set();
	explore_check(set.status == (set.answered == 0 ? 0 : -ECANCELED));
	explore_check(set.answered == 0 || set.cancelled >= 0);
	explore_check(set.cancelled != 0 || set.status == -ECANCELED);
}
