/* SPDX-License-Identifier: MIT */
/* job_run.c - the runs of jobs: when they start, how they end. See
 * job_state.h. */
#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stddef.h>

#include "base/ns.h"
#include "os/frame.h"
#include "os/memory.h"
#include "os/thread.h"
#include "patterns/job_state.h"
#include "timer/for_patterns.h"

/* The longest sleep before the clock is looked at again: 30 years. Times that
 * far ahead do not fit into nanoseconds. */
#define MAX_SLEEP_MS (INT64_C(30) * 365 * 86400 * 1000)

static const struct tkw_timeout_id NO_ID = { 0 };

/* --- callbacks ----------------------------------------------------------- */

/* A running callback. Its thread cannot be cancelled, and a destroy in there
 * finds the frame. */
struct callback {
	struct tkw__frame frame;
	int cancel;
};

static void callback_begin(struct callback *c, const struct tkw_jobs *js)
{
	c->cancel = tkw__thread_no_cancel();
	tkw__frame_enter_set(&c->frame, js);
}

static void callback_end(const struct callback *c)
{
	tkw__frame_leave(&c->frame);
	tkw__thread_restore_cancel(c->cancel);
}

/* --- the timeout --------------------------------------------------------- */

static tkw_task_fn come_due;
static tkw_cancel_fn lose;

/* How long until the job has something to do: 0 if at once, TKW_NEVER_NS if
 * never. */
static int64_t time_left(struct tkw__job *j)
{
	int64_t us = tkw__jobs_now_us(j->set);
	int64_t due_ms, left_ms;

	if (tkw__job_is_busy(j))
		return TKW_NEVER_NS;
	if (j->wanted)
		return 0;
	if (j->paused)
		return TKW_NEVER_NS;
	due_ms = tkw__job_times_due(&j->times, us / 1000);
	if (due_ms == INT64_MAX)
		return TKW_NEVER_NS;
	if (due_ms <= us / 1000)
		return 0;
	left_ms = due_ms - us / 1000;
	if (left_ms > MAX_SLEEP_MS)
		left_ms = MAX_SLEEP_MS;
	return left_ms * TKW_MSEC - us % 1000 * TKW_USEC;
}

static int schedule(struct tkw__job *j, int64_t left_ns)
{
	const struct tkw_task task = { .fn = come_due,
				       .ctx = j,
				       .on_cancel = lose };
	int err = tkw_timer_schedule(j->set->cfg.timer, &task, left_ns,
				     &j->timeout);

	if (err == 0)
		tkw__job_hold(j);
	return err;
}

int tkw__job_arm(struct tkw__job *j)
{
	int64_t left_ns = time_left(j);
	int err;

	if (j->timeout.bits == 0)
		return schedule(j, left_ns);
	err = tkw_timer_reschedule(j->set->cfg.timer, j->timeout, left_ns);
	/* It is on its way to come_due() or to lose(), which look again. */
	if (err == -EBUSY || err == -ENOENT || err == -ESHUTDOWN)
		return 0;
	return err;
}

void tkw__job_follow(struct tkw__job *j)
{
	int err = tkw__job_arm(j);

	if (err < 0)
		(void)tkw__job_end(j, err);
}

/* --- the end of a job ---------------------------------------------------- */

/* Gives up the timeout. The caller holds the job, too. */
static void disarm(struct tkw__job *j)
{
	if (j->timeout.bits != 0 &&
	    tkw__timer_cancel_own(j->set->cfg.timer, j->timeout) == 0) {
		j->holds--;
		tkw__jobs_unhold(j->set);
	}
	j->timeout = NO_ID;
}

bool tkw__job_end(struct tkw__job *j, int status)
{
	struct tkw__run **at = &j->runs;

	if (!tkw__job_is_live(j))
		return false;
	tkw__record_set_state(&j->record, TKW__JOB_ENDING);
	j->status = status;
	disarm(j);
	while (*at) {
		struct tkw__run *r = *at;

		if (r->state == TKW__RUN_RUNNING ||
		    r->state == TKW__RUN_ANSWERED) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		j->running--;
		r->job = NULL;
		if (r->state == TKW__RUN_LATER)
			tkw__run_free(r);
	}
	tkw__run_free(j->spare);
	j->spare = NULL;
	return true;
}

/* The lock is held, but not during on_end. */
static void tell_end(struct tkw__job *j)
{
	struct tkw_jobs *js = j->set;
	const struct tkw_job_end end = { js, tkw__job_id(j), j->status };
	struct callback c;

	j->told = true;
	if (j->on_end) {
		tkw__lock_drop(&js->lock);
		callback_begin(&c, js);
		j->on_end(&end, j->ctx);
		callback_end(&c);
		tkw__lock_take(&js->lock);
	}
	(void)tkw_plan_destroy(j->times.plan);
	tkw__record_set_state(&j->record, TKW__JOB_OVER);
	js->count--;
	j->holds--; /* not the last one: the caller has one */
	tkw__jobs_unhold(js);
	tkw__bell_ring(&js->bell);
}

void tkw__job_leave(struct tkw__job *j)
{
	struct tkw_jobs *js = j->set;

	if (tkw__record_state(&j->record) == TKW__JOB_ENDING && j->calls == 0 &&
	    !j->told)
		tell_end(j);
	if (--j->holds == 0)
		tkw__table_put(&js->table, &j->record);
	tkw__lock_drop(&js->lock);
	tkw__jobs_unhold(js);
}

/* --- runs ---------------------------------------------------------------- */

struct tkw__run *tkw__run_make(struct tkw_jobs *js)
{
	struct tkw__run *r = tkw__memory_take(sizeof(*r), alignof(max_align_t));

	if (r)
		*r = (struct tkw__run){ .set = js, .epoch = js->epoch };
	return r;
}

void tkw__run_free(struct tkw__run *r)
{
	if (r)
		tkw__memory_free(r, sizeof(*r));
}

/* Makes a run of a job, which is QUEUED. Returns NULL without memory. */
static struct tkw__run *add_run(struct tkw__job *j)
{
	struct tkw__run *r = j->spare;

	j->spare = NULL;
	if (r == NULL)
		r = tkw__run_make(j->set);
	if (r == NULL)
		return NULL;
	r->job = j;
	r->state = TKW__RUN_QUEUED;
	r->number = 0;
	r->by_hand = false;
	r->next = j->runs;
	j->runs = r;
	j->running++;
	return r;
}

static void remove_run(struct tkw__job *j, struct tkw__run *r)
{
	struct tkw__run **at = &j->runs;

	while (*at != r) {
		assert(*at != NULL);
		at = &(*at)->next;
	}
	*at = r->next;
	j->running--;
	if (j->spare || !tkw__job_is_live(j)) {
		tkw__run_free(r);
	} else {
		r->job = NULL;
		j->spare = r;
	}
}

/* A run is over, and was removed. The job goes on. */
static void go_on(struct tkw__job *j)
{
	if (!tkw__job_is_live(j))
		return;
	if (!j->times.overlap && j->running == 0 && !j->paused)
		tkw__job_times_overlap(&j->times, tkw__jobs_now_ms(j->set));
	tkw__job_follow(j);
}

/* The timer has dropped the timeout, or the executor has refused or abandoned a
 * run. So the planned times that are due are missed, and not offered one by one
 * to somebody who is overloaded. The job goes on. */
static void miss_due(struct tkw__job *j)
{
	assert(tkw__job_is_live(j)); /* a run that was not begun has no other */
	if (!j->paused && !tkw__job_is_busy(j))
		tkw__job_times_give_up(&j->times, tkw__jobs_now_ms(j->set));
	tkw__job_follow(j);
}

void tkw__run_end(struct tkw__job *j, struct tkw__run *r, int result)
{
	remove_run(j, r);
	j->last_result = result;
	j->failed += result != 0;
	go_on(j);
}

/* Called when the task has returned. The lock is held. */
static void task_returned(struct tkw__job *j, struct tkw__run *r, int result)
{
	j->calls--;
	if (result != TKW_JOB_LATER)
		tkw__run_end(j, r, result);
	else if (r->state == TKW__RUN_ANSWERED)
		tkw__run_end(j, r, r->result);
	else if (tkw__job_is_live(j))
		r->state = TKW__RUN_LATER;
	else
		remove_run(j, r);
}

/* Tells a task what it has not been told yet. */
static void tell_counts(struct tkw__job_times *t, struct tkw_job_run *facts)
{
	facts->missed = t->missed - t->missed_told;
	facts->overlaps = t->overlaps - t->overlaps_told;
	t->missed_told = t->missed;
	t->overlaps_told = t->overlaps;
}

/* Makes a run on this thread. The lock is held, but not during the call. */
static void make_run(struct tkw__job *j, struct tkw__run *r)
{
	struct tkw_jobs *js = j->set;
	struct tkw_job_run facts = { .jobs = js,
				     .id = tkw__job_id(j),
				     .number = ++j->number,
				     .planned_ms = r->planned_ms,
				     .now_ms = r->now_ms,
				     .run_now = r->by_hand };
	struct callback c;
	int result;

	r->state = TKW__RUN_RUNNING;
	r->number = facts.number;
	j->calls++;
	j->last_ms = r->planned_ms;
	j->last_start_ms = facts.now_ms;
	if (r->by_hand) {
		j->started_by_hand++;
	} else {
		j->started++;
		tell_counts(&j->times, &facts);
	}
	tkw__lock_drop(&js->lock);
	callback_begin(&c, js);
	result = j->fn(&facts, j->ctx);
	callback_end(&c);
	tkw__lock_take(&js->lock);
	task_returned(j, r, result);
}

/* --- runs on an executor ------------------------------------------------- */

/* Makes a queued run, or gives it up: then its time is missed. The lock is
 * held, and dropped. */
static void leave_queue(struct tkw__run *r, bool is_abandoned)
{
	struct tkw_jobs *js = r->set;
	struct tkw__job *j = r->job;

	tkw__job_hold(j);
	r->now_ms = tkw__jobs_now_ms(js);
	if (is_abandoned) {
		j->times.missed += !r->by_hand;
		remove_run(j, r);
		miss_due(j);
	} else if (!r->by_hand &&
		   tkw__job_times_is_too_late(&j->times, r->planned_ms,
					      r->now_ms)) {
		j->times.missed++;
		remove_run(j, r);
		go_on(j);
	} else {
		make_run(j, r);
	}
	tkw__job_leave(j);
}

/* The end of a run in the queue of an executor. */
static void end_queued(struct tkw__run *r, bool is_abandoned)
{
	struct tkw_jobs *js = r->set;

	if (tkw__is_child(r->epoch)) {
		tkw__run_free(r);
		return;
	}
	tkw__lock_take(&js->lock);
	if (r->job) {
		leave_queue(r, is_abandoned);
	} else {
		tkw__lock_drop(&js->lock);
		tkw__run_free(r);
	}
	tkw__jobs_unhold(js);
}

static void run_queued(const struct tkw_job *job)
{
	end_queued(job->ctx, false);
}

static void abandon_queued(const struct tkw_job *job)
{
	end_queued(job->ctx, true);
}

/* The lock is held, but not during the call. */
static void submit(struct tkw_jobs *js, struct tkw__run *r)
{
	const struct tkw_job job = { .run = run_queued,
				     .abandon = abandon_queued,
				     .ctx = r };

	tkw__jobs_hold(js);
	tkw__lock_drop(&js->lock);
	if (js->exec.submit(&job, js->exec.ctx) != 0)
		abandon_queued(&job);
	tkw__lock_take(&js->lock);
}

/* --- what is due --------------------------------------------------------- */

/* The next run to start now, or NULL. */
static struct tkw__run *next_run(struct tkw__job *j)
{
	int64_t at_ms = tkw__jobs_now_ms(j->set);
	int64_t planned_ms = at_ms;
	bool by_hand = j->wanted;
	struct tkw__run *r;

	if (tkw__job_is_busy(j))
		return NULL;
	if (by_hand && !j->paused)
		tkw__job_times_decide(&j->times, at_ms);
	if (!by_hand &&
	    (j->paused || !tkw__job_times_take(&j->times, at_ms, &planned_ms)))
		return NULL;
	j->wanted = false;
	r = add_run(j);
	if (r == NULL) {
		j->times.overlaps += !by_hand;
		return NULL;
	}
	r->planned_ms = planned_ms;
	/* Not read again, because the clock may go back at any moment. */
	r->now_ms = at_ms;
	r->by_hand = by_hand;
	return r;
}

/* The timeout of a job fires. The next one is scheduled first, because its
 * place among the timer's timeouts has just become free. */
static void come_due(const struct tkw_firing *firing, void *ctx)
{
	struct tkw__job *j = ctx;
	struct tkw_jobs *js = j->set;
	struct tkw__run *r = NULL;

	tkw__lock_take(&js->lock);
	if (tkw__job_is_live(j)) {
		assert(j->timeout.bits == firing->id.bits);
		(void)firing;
		j->timeout = NO_ID;
		r = next_run(j);
		tkw__job_follow(j);
	}
	if (r && r->job == NULL) /* the job has ended */
		tkw__run_free(r);
	else if (r && js->exec.submit)
		submit(js, r);
	else if (r)
		make_run(j, r);
	tkw__job_leave(j);
}

/* The timer was stopped, or it drops the timeout. */
static void lose(void *ctx)
{
	struct tkw__job *j = ctx;
	struct tkw_jobs *js = j->set;

	tkw__lock_take(&js->lock);
	if (tkw__job_is_live(j)) {
		j->timeout = NO_ID;
		j->wanted = false;
		if (tkw_timer_is_stopped(js->cfg.timer))
			(void)tkw__job_end(j, -ESHUTDOWN);
		else
			miss_due(j);
	}
	tkw__job_leave(j);
}
