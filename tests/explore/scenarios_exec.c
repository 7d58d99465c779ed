/* SPDX-License-Identifier: MIT */
/*
 * scenarios_exec.c - tasks that run on an executor: the pool, and one that is
 * driven by hand.
 */
#include <errno.h>
#include <string.h>

#include "scenario_timer.h"

static struct tkw_pool *pool;

static void open_pool(int refusal)
{
	const struct tkw_pool_config cfg = { .threads = 1, .max_queued = 2 };

	explore_check(tkw_pool_create(&pool, &cfg) == 0);
	open_exec(tkw_pool_exec(pool), refusal);
	run.side_by_side = true;
}

static void close_pool(void)
{
	close_timer();
	explore_check(tkw_pool_destroy(pool) == 0);
}

/* SPEC 4.5, 4.8: a timeout is either cancelled or run. */
void cancel_against_dequeue(void)
{
	int a, b;

	open_pool(TKW_REFUSED_INLINE);
	explore_check(add(0, 0) == 0);
	explore_check(add(1, 0) == 0);
	a = spawn("cancel a", thread_cancel, 0);
	b = spawn("cancel b", thread_cancel_wait, 1);
	explore_join(a);
	explore_join(b);
	close_pool();
}

static void *move_later(void *tag)
{
	int err = reschedule((unsigned)(uintptr_t)tag, TKW_MSEC);

	explore_check(err == 0 || err == -EBUSY || err == -ENOENT);
	return NULL;
}

/* SPEC 4.1, 5.5: a job in the queue is stale if its timeout was moved. It must
 * not run the timeout early, nor twice. */
void reschedule_against_dequeue(void)
{
	int a, b;

	open_pool(TKW_REFUSED_INLINE);
	explore_check(add(0, 0) == 0);
	a = spawn("move a", move_later, 0);
	b = spawn("move b", move_later, 0);
	/* It is not known which of the two moves comes later. */
	run.stall_ns = TKW_MSEC;
	explore_join(a);
	explore_join(b);
	await_fired(0, 1);
	close_pool();
}

static void *stop_pool(void *unused)
{
	explore_check(tkw_pool_stop(pool) == 0);
	return unused;
}

/* SPEC 5.3: a thread that waits for a task on the pool is woken when it ends.
 * After the pool is stopped, the worker runs what the pool refuses. */
void cancel_wait_against_pool_stop(void)
{
	int a, b;

	open_pool(TKW_REFUSED_INLINE);
	explore_check(add(0, 0) == 0);
	a = spawn("wait", thread_cancel_wait, 0);
	b = explore_spawn("stop pool", stop_pool, NULL);
	explore_check(add(1, 0) == 0);
	await_fired(1, 1);
	explore_join(a);
	explore_join(b);
	close_pool();
}

/* --- an executor by hand ------------------------------------------------- */

static struct {
	unsigned refuse; /* refuses this many at first */
	unsigned count;
	struct tkw_job job[TAGS];
} hand;

static int take_job(const struct tkw_job *job, void *ctx)
{
	(void)ctx;
	explore_yield();
	if (hand.refuse > 0) {
		hand.refuse--;
		return -EAGAIN;
	}
	hand.job[hand.count++] = *job;
	return 0;
}

static void open_hand(int refusal, unsigned refuse)
{
	static const struct tkw_exec exec = { .submit = take_job };

	memset(&hand, 0, sizeof(hand));
	hand.refuse = refuse;
	open_exec(&exec, refusal);
	run.side_by_side = true;
}

/* Calls the jobs that were taken, and forgets them. */
static void run_jobs(void)
{
	while (hand.count > 0) {
		struct tkw_job job = hand.job[--hand.count];

		job.run(&job);
	}
}

static void abandon_jobs(void)
{
	while (hand.count > 0) {
		struct tkw_job job = hand.job[--hand.count];

		job.abandon(&job);
	}
}

/* SPEC 4.8, 6.4, fault 39: a refused timeout is offered again, or handed
 * over. */
void refusal_against_stop(void)
{
	int a, b;

	open_hand(TKW_REFUSED_RETRY, 1);
	explore_check(add(0, 0) == 0);
	a = spawn("stop", thread_stop, 0);
	b = spawn("cancel", thread_cancel, 0);
	thread_try_add_now((void *)1);
	explore_join(a);
	explore_join(b);
	close_timer();
	run_jobs();
	check_book();
}

/* SPEC 4.8, 5.6, fault 39: each is dropped or handed over, with one
 * on-cancel. */
void drop_against_stop(void)
{
	int a, b;

	open_hand(TKW_REFUSED_DROP, 2);
	run.may_drop = true;
	explore_check(add(0, 0) == 0);
	a = spawn("stop", thread_stop, 0);
	b = spawn("cancel", thread_cancel, 0);
	thread_try_add_now((void *)1);
	explore_join(a);
	explore_join(b);
	close_timer();
	run_jobs();
	check_book();
}

static void *abandon_when_there(void *unused)
{
	abandon_jobs();
	return unused;
}

/* Look at once: a later cancel would hide a timeout that stop has forgotten. */
static void *stop_and_look(void *unused)
{
	thread_stop(NULL);
	explore_check(tkw_timer_count(run.t) == 0);
	return unused;
}

/* SPEC 4.8, 6.2: the executor abandons a job while the timer is stopped and the
 * timeout is cancelled. */
void abandon_against_stop(void)
{
	int a, b, c;

	open_hand(TKW_REFUSED_INLINE, 0);
	explore_check(add(0, 0) == 0);
	explore_await(&hand.count, 1);
	/* From now on it refuses all jobs. */
	hand.refuse = TAGS;
	a = explore_spawn("abandon", abandon_when_there, NULL);
	b = explore_spawn("stop", stop_and_look, NULL);
	c = spawn("cancel", thread_cancel, 0);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	close_timer();
	check_book();
}

/* SPEC 4.8, 6.2: an abandoned timeout is offered again in a tick, and the alarm
 * is set for that. A stop does not wait for the alarm. Time does not pass while
 * any thread can go on, so the stop must take no time. */
void abandon_for_a_retry_against_stop(void)
{
	int a, b;

	open_hand(TKW_REFUSED_RETRY, 0);
	explore_check(add(0, 0) == 0);
	explore_await(&hand.count, 1);
	a = explore_spawn("abandon", abandon_when_there, NULL);
	b = spawn("stop", thread_stop, 0);
	explore_join(a);
	explore_join(b);
	explore_check(explore_now() == EXPLORE_START_NS);
	explore_check(run.tag[0].handed == 1);
	close_timer();
	check_book();
}

static void *run_when_there(void *unused)
{
	run_jobs();
	return unused;
}

/* SPEC 6.6: the executor runs a job while its timer is destroyed, or later. */
void job_outlives_its_timer(void)
{
	int a, b;

	open_hand(TKW_REFUSED_INLINE, 0);
	explore_check(add(0, 0) == 0);
	explore_check(add(1, 0) == 0);
	explore_await(&hand.count, 2);
	a = explore_spawn("run a", run_when_there, NULL);
	b = explore_spawn("run b", run_when_there, NULL);
	close_timer();
	explore_join(a);
	explore_join(b);
	check_book();
}

/* --- the pool alone ------------------------------------------------------ */

static struct {
	unsigned taken;
	unsigned run;
	unsigned abandoned;
	unsigned at_stop; /* jobs that were called when stop returned */
} jobs;

static void count_run(const struct tkw_job *job)
{
	explore_check(job->number == 7);
	explore_yield();
	jobs.run++;
}

static void count_abandon(const struct tkw_job *job)
{
	explore_check(job->number == 7);
	jobs.abandoned++;
}

static void *submit_one(void *unused)
{
	const struct tkw_job job = { .run = count_run,
				     .abandon = count_abandon,
				     .number = 7 };
	const struct tkw_exec *exec = tkw_pool_exec(pool);
	int err = exec->submit(&job, exec->ctx);

	explore_check(err == 0 || err == -ESHUTDOWN || err == -EAGAIN);
	jobs.taken += err == 0;
	return unused;
}

static void *stop_pool_or_lose(void *unused)
{
	int err = tkw_pool_stop(pool);

	explore_check(err == 0 || err == 1);
	/* Each job that was taken has been called, even if its submit has not
	 * returned yet. */
	if (err == 0) {
		jobs.at_stop = jobs.run + jobs.abandoned;
		explore_check(jobs.taken <= jobs.at_stop);
	}
	return unused;
}

/* SPEC 4.8: each job that was taken is called once. */
void submit_against_pool_stop(void)
{
	const struct tkw_pool_config cfg = { .threads = 2, .max_queued = 1 };
	int a, b, c;

	memset(&jobs, 0, sizeof(jobs));
	explore_check(tkw_pool_create(&pool, &cfg) == 0);
	a = explore_spawn("submit a", submit_one, NULL);
	b = explore_spawn("submit b", submit_one, NULL);
	c = explore_spawn("stop", stop_pool_or_lose, NULL);
	submit_one(NULL);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	explore_check(tkw_pool_destroy(pool) == 0);
	explore_check(jobs.taken == jobs.run + jobs.abandoned);
	explore_check(jobs.taken == jobs.at_stop);
}

/* When the wait returns, the calls of the jobs taken before have ended. */
static void *submit_and_wait(void *unused)
{
	unsigned before;

	submit_one(NULL);
	before = jobs.taken;
	explore_check(tkw_pool_wait_idle(pool, INT64_MAX) == 0);
	explore_check(jobs.run + jobs.abandoned >= before);
	explore_check(tkw_pool_wait_idle(pool, 0) != -EDEADLK);
	return unused;
}

/* SPEC 4.8: wait_idle waits for all jobs that were taken before it, and is
 * woken, whichever thread ends the last one. */
void wait_idle_of_a_pool(void)
{
	const struct tkw_pool_config cfg = { .threads = 2, .max_queued = 2 };
	int a, b, c;

	memset(&jobs, 0, sizeof(jobs));
	explore_check(tkw_pool_create(&pool, &cfg) == 0);
	a = explore_spawn("wait", submit_and_wait, NULL);
	b = explore_spawn("submit", submit_one, NULL);
	c = explore_spawn("stop", stop_pool_or_lose, NULL);
	explore_check(tkw_pool_wait_idle(pool, INT64_MAX) == 0);
	explore_join(a);
	explore_join(b);
	explore_join(c);
	explore_check(tkw_pool_destroy(pool) == 0);
	explore_check(jobs.taken == jobs.run + jobs.abandoned);
}
