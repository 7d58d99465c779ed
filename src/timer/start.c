/* SPDX-License-Identifier: MIT */
/*
 * start.c - the worker's thread is made.
 *
 * States: INIT -> STARTED -> STOPPING -> STOPPED, or INIT -> STOPPING. Changed
 * under the lock `life`, but for the last step, which only the winner of a stop
 * makes: see stop.c.
 */
#include "timer/start.h"

#include <errno.h>

#include "os/thread.h"
#include "tickwheel/timer.h"
#include "timer/lookup.h"
#include "timer/sleep.h"

/* Make the worker. What it blocks, it blocks from its first moment. */
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
	/* EAGAIN is for a full timer. */
	return err == 0 ? 0 : -ENOMEM;
}

int tkw__start(struct tkw_timer *t)
{
	uint32_t state;
	int err = 0;

	/* Who stops it may be waiting for the caller. */
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
