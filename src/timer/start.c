/* SPDX-License-Identifier: MIT */
/*
 * start.c - starts the worker's thread.
 *
 * States: INIT -> STARTED -> STOPPING -> STOPPED, or INIT -> STOPPING. The
 *         state changes under the lock `life`, except for the last step, which
 *         only the thread that won the stop makes: see stop.c.
 */
#include "timer/start.h"

#include <errno.h>

#include "os/thread.h"
#include "tickwheel/timer.h"
#include "timer/for_patterns.h"
#include "timer/lookup.h"
#include "timer/sleep.h"

int tkw__timer_thread_create(struct tkw_timer *t, void *(*run)(void *arg),
			     void *arg, void **handle)
{
	struct tkw__signals were;
	int err;

	tkw__signals_block(&were);
	err = t->hooks.thread_create(run, arg, handle, t->hooks.ctx);
	tkw__signals_restore(&were);
	/* -EAGAIN would say that something is full. */
	return err == 0 ? 0 : -ENOMEM;
}

void tkw__timer_thread_join(struct tkw_timer *t, void *handle)
{
	t->hooks.thread_join(handle, t->hooks.ctx);
}

/* Makes the worker. Signals are blocked meanwhile, so that it blocks them from
 * its start. */
static int make_worker(struct tkw_timer *t)
{
	struct tkw__signals were;
	int err;

	tkw__signals_block(&were);
	err = tkw__watchdog_start(t);
	if (err == 0) {
		err = t->hooks.thread_create(tkw__sleep_run, t, &t->thread,
					     t->hooks.ctx);
		if (err != 0)
			tkw__watchdog_stop(t);
	}
	tkw__signals_restore(&were);
	/* -EAGAIN would say that the timer is full. */
	return err == 0 ? 0 : -ENOMEM;
}

int tkw__start(struct tkw_timer *t)
{
	uint32_t state;
	int err = 0;

	/* Return before taking the lock: the thread that stops the timer may be
	 * waiting for the caller. */
	if (TKW__LOAD(&t->state, RELAXED) >= TKW__STOPPING)
		return -ESHUTDOWN;
	tkw__lock_take(&t->life);
	state = TKW__LOAD(&t->state, RELAXED);
	if (state >= TKW__STOPPING)
		err = -ESHUTDOWN;
	else if (state == TKW__INIT && tkw__has_thread(t))
		err = make_worker(t);
	if (err == 0)
		/* RELEASE pairs with the ACQUIRE of tkw__ensure_started(). */
		TKW__STORE(&t->state, TKW__STARTED, RELEASE);
	tkw__lock_drop(&t->life);
	return err;
}

int tkw_timer_start(struct tkw_timer *t)
{
	int err = tkw__usable(t);

	return err != 0 ? err : tkw__ensure_started(t);
}
