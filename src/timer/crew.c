/* SPDX-License-Identifier: MIT */
/*
 * crew.c - from the executor's threads into the timer, and out again.
 *
 * `inside` is one word: whoever adds itself learns whether it is closed, and
 * who closes it learns who is inside. The timer stays as long as someone is.
 */
#include "timer/crew.h"

#include <stdbool.h>
#include <stddef.h>

#include "os/memory.h"
#include "os/thread.h"
#include "timer/core.h"

#define CLOSED (UINT32_C(1) << 31)

struct tkw__crew *tkw__crew_make(struct tkw_timer *t)
{
	struct tkw__crew *c =
		tkw__memory_take(sizeof(*c), _Alignof(max_align_t));

	if (c)
		*c = (struct tkw__crew){ .timer = t, .holders = { 1 } };
	return c;
}

void tkw__crew_release(struct tkw__crew *c)
{
	/* ACQ_REL: whoever frees it comes after all others. */
	if (TKW__SUB(&c->holders, 1, ACQ_REL) == 1)
		tkw__memory_free(c, sizeof(*c));
}

static void leave(struct tkw__crew *c)
{
	/* RELEASE pairs with the ACQUIRE of tkw__crew_close(). */
	if (TKW__SUB(&c->inside, 1, RELEASE) == CLOSED + 1)
		tkw__unpark_all(&c->inside);
}

static bool enter(struct tkw__crew *c)
{
	if (TKW__ADD(&c->inside, 1, ACQUIRE) < CLOSED)
		return true;
	leave(c);
	return false;
}

void tkw__crew_close(struct tkw__crew *c)
{
	uint32_t inside = TKW__ADD(&c->inside, CLOSED, ACQUIRE) + CLOSED;

	while (inside != CLOSED) {
		tkw__park(&c->inside, inside);
		inside = TKW__LOAD(&c->inside, ACQUIRE);
	}
}

void tkw__crew_close_child(struct tkw__crew *c)
{
	TKW__STORE(&c->inside, CLOSED, RELAXED);
}

/* Do something with the timeout of a job, if the timer is still there. */
static void with_timer(const struct tkw_job *job,
		       void (*act)(struct tkw_timer *t, uint64_t id))
{
	struct tkw__crew *c = job->ctx;
	/* Were the thread cancelled in a task, it would be inside for ever. */
	int was = tkw__thread_no_cancel();

	if (enter(c)) {
		act(c->timer, job->number);
		leave(c);
	}
	tkw__crew_release(c);
	tkw__thread_restore_cancel(was);
}

static void run(const struct tkw_job *job)
{
	with_timer(job, tkw__job_run);
}

static void abandon(const struct tkw_job *job)
{
	with_timer(job, tkw__job_abandon);
}

int tkw__crew_submit(struct tkw__crew *c, uint64_t id)
{
	const struct tkw_exec *exec = &c->timer->exec;
	const struct tkw_job job = {
		.run = run,
		.abandon = abandon,
		.ctx = c,
		.number = id,
	};
	int err;

	TKW__ADD(&c->holders, 1, RELAXED);
	err = exec->submit(exec->ctx, &job);
	if (err != 0)
		tkw__crew_release(c);
	return err;
}
