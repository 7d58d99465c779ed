/* SPDX-License-Identifier: MIT */
/*
 * scenarios_job.c - a job every millisecond. When its first time is due, other
 * threads make calls.
 *
 * In each scenario, no planned time is started twice or too early, on_end comes
 * once, and no task runs after it. Runs do not overlap.
 */
#include <errno.h>
#include <string.h>

#include "scenario_timer.h"
#include "tickwheel/job.h"

#define DUE_NS (EXPLORE_START_NS + TKW_MSEC)
#define DUE_MS (DUE_NS / TKW_MSEC)

static struct {
	struct tkw_jobs *js;
	struct tkw_job_id id;
	struct tkw_plan *plans[2]; /* each has the first planned time */
	int64_t ahead_ms;          /* the wall clock, of the timer's */
	unsigned busy;             /* running tasks and on_ends */
	unsigned runs;
	unsigned ends;
	int status;
	int64_t last_ms;       /* planned time of the last run */
	int answer;            /* what the task returns */
	bool over;             /* no run may begin any more */
	bool paused;           /* the same, but a resume may come */
	struct tkw_job queued; /* of the executor */
	unsigned submitted;
	unsigned offered;  /* to an executor that drops the first */
	unsigned accepted; /* calls that returned 0 */
} job;

static int64_t wall_us(void *ctx)
{
	(void)ctx;
	explore_yield();
	return explore_now() / 1000 + job.ahead_ms * 1000;
}

static int on_run(const struct tkw_job_run *r, void *ctx)
{
	(void)ctx;
	explore_tell("run begins", r->planned_ms);
	explore_check(job.busy++ == 0);
	explore_check(job.ends == 0 && !job.over && !job.paused);
	explore_check(r->planned_ms > job.last_ms || r->run_now);
	explore_check(r->now_ms >= r->planned_ms);
	if (!r->run_now)
		job.last_ms = r->planned_ms;
	job.runs++;
	explore_yield();
	explore_check(job.ends == 0);
	job.busy--;
	explore_tell("run ends", r->planned_ms);
	return job.answer;
}

static void on_end(const struct tkw_job_end *end, void *ctx)
{
	(void)ctx;
	explore_tell("on_end", end->status);
	explore_check(job.busy++ == 0);
	explore_check(job.ends == 0);
	job.status = end->status;
	explore_yield();
	job.busy--;
	job.ends++;
}

static const char *const texts[] = { "every 1ms",
				     "every 1ms from 1970-01-01T00:00Z" };

/* Adds the job to a set on the timer. */
static void add_job(struct tkw_jobs_config cfg)
{
	struct tkw_job_config one = { .fn = on_run, .on_end = on_end };

	cfg.timer = run.t;
	for (int i = 0; i < 2; i++)
		explore_check(tkw_plan_create(&job.plans[i], texts[i], NULL,
					      NULL) == 0);
	one.plan = job.plans[0];
	explore_check(tkw_jobs_create(&job.js, &cfg) == 0);
	explore_check(tkw_jobs_add(job.js, &one, &job.id) == 0);
}

static void open_job(const struct tkw_exec *exec)
{
	memset(&job, 0, sizeof(job));
	open_timer(1);
	add_job((struct tkw_jobs_config){ .exec = exec, .now_us = wall_us });
}

/* Time goes on only when no thread can. So what has begun has ended then. */
static void let_it_end(void)
{
	explore_sleep_until(explore_now() + TKW_MSEC / 2);
}

static void close_job_timer(void)
{
	let_it_end();
	explore_check(job.busy == 0);
	explore_check(job.ends == 1);
	explore_check(tkw_timer_count(run.t) == 0);
	check_balance();
	job.over = true;
	explore_check(tkw_timer_destroy(run.t) == 0);
	for (int i = 0; i < 2; i++)
		(void)tkw_plan_destroy(job.plans[i]);
}

static void close_job(void)
{
	explore_check(tkw_jobs_destroy(job.js) == 0);
	explore_check(job.ends == 1);
	close_job_timer();
}

/* --- remove -------------------------------------------------------------- */

/* After remove_wait has returned, nothing runs. */
static void *remove_and_wait(void *unused)
{
	int err;

	explore_sleep_until(DUE_NS);
	err = tkw_jobs_remove_wait(job.js, job.id);
	explore_check(err == 0 || err == 1 || err == -ENOENT);
	explore_check(err != 1 || job.runs == 1);
	explore_check(job.busy == 0 && job.ends == 1);
	job.over = true;
	return unused;
}

/* SPEC 12.3: two threads remove the job while it fires. One of them wins, and
 * both wait. */
void job_remove_against_fire(void)
{
	int a, b;

	open_job(NULL);
	a = explore_spawn("remove a", remove_and_wait, NULL);
	b = explore_spawn("remove b", remove_and_wait, NULL);
	explore_join(a);
	explore_join(b);
	explore_check(job.runs <= 1 && job.status == -ECANCELED);
	close_job();
}

/* --- change -------------------------------------------------------------- */

/* The second plan is another one, but has the same times. */
static void *change_it(void *plan)
{
	struct tkw_job_config cfg = { .plan = plan };

	explore_sleep_until(DUE_NS);
	explore_check(tkw_jobs_change(job.js, job.id, &cfg) == 0);
	return NULL;
}

/* SPEC 12.3: a change of the rules, and a change of the plan, while it fires.
 * One chain goes on, and the first time is decided once. */
void job_change_against_fire(void)
{
	struct tkw_job_info info;
	int a, b;

	open_job(NULL);
	a = explore_spawn("change rules", change_it, job.plans[0]);
	b = explore_spawn("change plan", change_it, job.plans[1]);
	explore_join(a);
	explore_join(b);
	let_it_end();
	explore_check(tkw_timer_count(run.t) == 1);
	explore_check(tkw_jobs_get(job.js, job.id, &info) == 0);
	explore_check(info.runs == job.runs && info.overlaps == 0);
	explore_check(info.runs + info.missed == 1);
	explore_check(info.next_ms == DUE_MS + 1);
	close_job();
}

/* --- pause and resume ---------------------------------------------------- */

static void *pause_it(void *unused)
{
	explore_sleep_until(DUE_NS);
	explore_check(tkw_jobs_pause(job.js, job.id) == 0);
	/* One run may have begun before. */
	job.paused = job.busy == 0;
	explore_yield();
	job.paused = false;
	explore_check(tkw_jobs_resume(job.js, job.id) == 0);
	return unused;
}

/* SPEC 12.3: a pause and a resume while it fires. */
void job_pause_against_fire(void)
{
	struct tkw_job_info info;
	int a;

	open_job(NULL);
	a = explore_spawn("pause resume", pause_it, NULL);
	explore_join(a);
	let_it_end();
	explore_check(tkw_timer_count(run.t) == 1);
	explore_check(tkw_jobs_get(job.js, job.id, &info) == 0);
	explore_check(info.runs == job.runs && info.runs + info.missed == 1);
	close_job();
}

/* A run may have begun between. */
static void *run_it_now(void *unused)
{
	int err;

	explore_sleep_until(DUE_NS);
	err = tkw_jobs_run_now(job.js, job.id);
	explore_check(err == 0 || err == -EBUSY);
	job.accepted += err == 0;
	return unused;
}

/* SPEC 12.3: two threads ask for a run while it fires. Each accepted request
 * gives one run, and so does the plan. */
void job_run_now_against_fire(void)
{
	struct tkw_job_info info;
	int a, b;

	open_job(NULL);
	a = explore_spawn("run now a", run_it_now, NULL);
	b = explore_spawn("run now b", run_it_now, NULL);
	explore_join(a);
	explore_join(b);
	let_it_end();
	explore_check(tkw_timer_count(run.t) == 1);
	explore_check(tkw_jobs_get(job.js, job.id, &info) == 0);
	explore_check(info.runs == 1 && info.runs + info.runs_now == job.runs);
	explore_check(info.runs_now == job.accepted);
	explore_check(info.missed + info.overlaps == 0);
	close_job();
}

/* --- the clock is set ---------------------------------------------------- */

static void *step_forth_and_back(void *unused)
{
	explore_sleep_until(DUE_NS - TKW_MSEC / 2);
	job.ahead_ms = 1;
	explore_yield();
	explore_check(tkw_jobs_reread_clock(job.js) == 0);
	explore_yield();
	job.ahead_ms = 0;
	explore_yield();
	explore_check(tkw_jobs_reread_clock(job.js) == 0);
	return unused;
}

/* SPEC 12.3: the clock goes forward over the first time, and back again, while
 * the job fires. The time is started once, at the latest when the clock comes
 * there again. */
void job_clock_against_fire(void)
{
	struct tkw_job_info info;
	int a;

	open_job(NULL);
	a = explore_spawn("step", step_forth_and_back, NULL);
	explore_join(a);
	explore_sleep_until(DUE_NS + TKW_MSEC / 2);
	explore_check(job.runs == 1 && job.last_ms == DUE_MS);
	explore_check(tkw_timer_count(run.t) == 1);
	explore_check(tkw_jobs_get(job.js, job.id, &info) == 0);
	explore_check(info.next_ms == DUE_MS + 1);
	close_job();
}

static void *step_ahead(void *unused)
{
	explore_step_wall(1000);
	return unused;
}

static void *step_back(void *unused)
{
	explore_step_wall(0);
	return unused;
}

/* SPEC 12.3: the thread of the set notices a step, also if it has just begun
 * to watch, and it ends, also if the clock is set meanwhile. */
void job_watch_against_steps(void)
{
	int a;

	memset(&job, 0, sizeof(job));
	open_timer(1);
	explore_step_wall(0);
	add_job((struct tkw_jobs_config){ 0 });
	a = explore_spawn("step", step_ahead, NULL);
	explore_join(a);
	let_it_end();
	explore_check(job.runs == 1 && job.last_ms == DUE_MS);
	a = explore_spawn("step back", step_back, NULL);
	explore_check(tkw_jobs_destroy(job.js) == 0);
	explore_join(a);
	close_job_timer();
}

/* --- an answer ----------------------------------------------------------- */

static void *answer_it(void *unused)
{
	int err;

	explore_sleep_until(DUE_NS);
	err = tkw_jobs_done(job.js, job.id, 1, -EIO);
	explore_check(err == 0 || err == -ENOENT);
	job.accepted += err == 0;
	return unused;
}

/* SPEC 12.3: two threads answer a run while its task returns. One answer
 * counts, and ends it. */
void job_answers_against_return(void)
{
	struct tkw_job_info info;
	int a, b;

	open_job(NULL);
	job.answer = TKW_JOB_LATER;
	a = explore_spawn("answer a", answer_it, NULL);
	b = explore_spawn("answer b", answer_it, NULL);
	explore_join(a);
	explore_join(b);
	let_it_end();
	explore_check(job.runs == 1 && job.accepted <= 1);
	explore_check(tkw_jobs_get(job.js, job.id, &info) == 0);
	explore_check(info.running + job.accepted == 1);
	explore_check(info.failed == job.accepted);
	close_job();
}

/* --- the end ------------------------------------------------------------- */

static void *shut_it_down(void *unused)
{
	explore_sleep_until(DUE_NS);
	explore_check(tkw_jobs_shutdown(job.js) == 0);
	if (job.busy == 0)
		job.over = true;
	return unused;
}

static void *done_it(void *unused)
{
	int err;

	explore_sleep_until(DUE_NS);
	err = tkw_jobs_done(job.js, job.id, 1, 0);
	explore_check(err == 0 || err == -ENOENT);
	return unused;
}

/* SPEC 12.3: a run that answers later is answered while the set is shut
 * down. */
void job_shutdown_against_done(void)
{
	int a, b;

	open_job(NULL);
	job.answer = TKW_JOB_LATER;
	a = explore_spawn("shutdown", shut_it_down, NULL);
	b = explore_spawn("done", done_it, NULL);
	explore_join(a);
	explore_join(b);
	explore_await(&job.ends, 1);
	explore_check(job.status == -ESHUTDOWN && job.runs <= 1);
	close_job();
}

static void *stop_the_timer(void *unused)
{
	explore_sleep_until(DUE_NS);
	explore_check(tkw_timer_stop(run.t, NULL, NULL) == 0);
	return unused;
}

/* SPEC 12.3: the timer is stopped while the job fires and is removed. The job
 * ends once. */
void job_timer_stop_against_fire(void)
{
	int a, b;

	open_job(NULL);
	a = explore_spawn("stop", stop_the_timer, NULL);
	b = explore_spawn("remove", remove_and_wait, NULL);
	explore_join(a);
	explore_join(b);
	close_job();
}

/* A firing that has begun reaches a set that is being destroyed. */
static void *change_and_destroy(void *unused)
{
	struct tkw_job_config cfg = { .plan = job.plans[1] };

	explore_sleep_until(DUE_NS);
	explore_check(tkw_jobs_change(job.js, job.id, &cfg) == 0);
	explore_check(tkw_jobs_destroy(job.js) == 0);
	explore_check(job.busy == 0 && job.ends == 1);
	job.over = true;
	return unused;
}

/* SPEC 12.3: the memory is freed only when the firing has left. */
void job_destroy_against_fire(void)
{
	int a;

	open_job(NULL);
	a = explore_spawn("destroy", change_and_destroy, NULL);
	explore_join(a);
	explore_check(job.runs <= 1);
	close_job_timer();
}

/* --- an executor --------------------------------------------------------- */

static int keep(const struct tkw_job *queued, void *ctx)
{
	(void)ctx;
	if (job.submitted > 0)
		return -EAGAIN;
	job.queued = *queued;
	explore_yield();
	job.submitted++;
	return 0;
}

static void *run_queued(void *unused)
{
	explore_await(&job.submitted, 1);
	job.queued.run(&job.queued);
	return unused;
}

static void *destroy_it(void *unused)
{
	explore_sleep_until(DUE_NS);
	explore_await(&job.submitted, 1);
	explore_check(tkw_jobs_destroy(job.js) == 0);
	explore_check(job.busy == 0 && job.ends == 1);
	job.over = true;
	return unused;
}

/* SPEC 12.3: the set is destroyed while a run is in the queue of its executor,
 * or begins. */
void job_queue_against_destroy(void)
{
	static const struct tkw_exec exec = { .submit = keep };
	int a, b;

	open_job(&exec);
	a = explore_spawn("executor", run_queued, NULL);
	b = explore_spawn("destroy", destroy_it, NULL);
	explore_join(a);
	explore_join(b);
	explore_check(job.runs <= 1);
	close_job_timer();
}

static int refuse_first(const struct tkw_job *offered, void *ctx)
{
	(void)ctx;
	explore_yield();
	if (job.offered++ == 0)
		return -EAGAIN;
	offered->run(offered);
	return 0;
}

/* SPEC 12.3: the timer's executor drops the first timeout, while the job is
 * changed. Its time is missed, and one chain goes on. */
void job_change_against_drop(void)
{
	static const struct tkw_exec exec = { .submit = refuse_first };
	struct tkw_job_info info;
	int a, b;

	memset(&job, 0, sizeof(job));
	open_exec(&exec, TKW_REFUSED_DROP);
	run.may_drop = true;
	add_job((struct tkw_jobs_config){ .now_us = wall_us });
	a = explore_spawn("change rules", change_it, job.plans[0]);
	b = explore_spawn("change plan", change_it, job.plans[1]);
	explore_join(a);
	explore_join(b);
	let_it_end();
	explore_check(tkw_timer_count(run.t) == 1);
	explore_check(tkw_jobs_get(job.js, job.id, &info) == 0);
	explore_check(info.runs == job.runs && info.runs + info.missed == 1);
	explore_check(info.next_ms == DUE_MS + 1);
	/* The drop is over now, whether it was the first time or the second. */
	explore_sleep_until(DUE_NS + 2 * TKW_MSEC + TKW_MSEC / 2);
	explore_check(job.last_ms == DUE_MS + 2);
	explore_check(tkw_jobs_get(job.js, job.id, &info) == 0);
	explore_check(info.runs == job.runs && info.runs + info.missed == 3);
	close_job();
}
