/* SPDX-License-Identifier: MIT */
/*
 * jobs.c - the way of the executor's threads into the timer and out again. The
 * timer is not freed while a thread is inside.
 */
#include "timer/jobs.h"

#include <stddef.h>

#include "os/memory.h"
#include "os/thread.h"
#include "timer/fire.h"

struct tkw__jobs *tkw__jobs_make(struct tkw_timer *t)
{
	struct tkw__jobs *j =
		tkw__memory_take(sizeof(*j), _Alignof(max_align_t));

	if (j)
		*j = (struct tkw__jobs){ .timer = t, .holders = { 1 } };
	return j;
}

void tkw__jobs_release(struct tkw__jobs *j)
{
	/* ACQ_REL, so that the thread that frees it comes after all others. */
	if (TKW__SUB(&j->holders, 1, ACQ_REL) == 1)
		tkw__memory_free(j, sizeof(*j));
}

void tkw__jobs_close(struct tkw__jobs *j)
{
	tkw__rundown_close(&j->inside);
}

void tkw__jobs_close_child(struct tkw__jobs *j)
{
	tkw__rundown_close_child(&j->inside);
}

/* Calls act() for the timeout of a job, if the timer still exists. */
static void with_timer(const struct tkw_job *job,
		       void (*act)(struct tkw_timer *t,
				   struct tkw_timeout_id id))
{
	struct tkw__jobs *j = job->ctx;
	/* A thread that is cancelled in a task would be inside for ever. */
	int was = tkw__thread_no_cancel();

	if (tkw__rundown_enter(&j->inside)) {
		/* In a forked child the executor may give up its jobs. Ignore
		 * that. */
		if (!tkw__is_child(j->timer->epoch))
			act(j->timer, (struct tkw_timeout_id){ job->number });
		tkw__rundown_leave(&j->inside);
	}
	tkw__jobs_release(j);
	tkw__thread_restore_cancel(was);
}

static void run(const struct tkw_job *job)
{
	with_timer(job, tkw__fire_job);
}

static void abandon(const struct tkw_job *job)
{
	with_timer(job, tkw__fire_abandoned);
}

int tkw__jobs_submit(struct tkw__jobs *j, struct tkw_timeout_id id)
{
	const struct tkw_exec *exec = &j->timer->exec;
	const struct tkw_job job = {
		.run = run,
		.abandon = abandon,
		.ctx = j,
		.number = id.bits,
	};
	int err;

	TKW__ADD(&j->holders, 1, RELAXED);
	err = exec->submit(&job, exec->ctx);
	if (err != 0)
		tkw__jobs_release(j);
	return err;
}
