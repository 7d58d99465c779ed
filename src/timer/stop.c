/* SPDX-License-Identifier: MIT */
/*
 * stop.c - stop and destroy.
 *
 * Stop closes each shard under its lock. A timeout that was accepted before is
 * seen by the steps that follow, and one that comes after is refused, so none
 * is lost. Then stop waits until nothing of the timer runs, and hands over what
 * is left.
 */
#include <errno.h>

#include "os/frame.h"
#include "os/thread.h"
#include "tickwheel/timer.h"
#include "timer/create.h"
#include "timer/drive.h"
#include "timer/ending.h"
#include "timer/facts.h"
#include "timer/ledger.h"
#include "timer/lookup.h"
#include "timer/sleep.h"
#include "timer/turn.h"

/* Begins the stop, unless another thread has. Returns 1 if there is a worker, 0
 * if there is none, and -1 if another thread stops the timer. */
static int begin_stop(struct tkw_timer *t)
{
	uint32_t state;

	tkw__lock_take(&t->life);
	state = TKW__LOAD(&t->state, RELAXED);
	if (state < TKW__STOPPING)
		/* SEQ_CST: see enter() in drive.c. */
		TKW__STORE(&t->state, TKW__STOPPING, SEQ_CST);
	tkw__lock_drop(&t->life);
	if (state >= TKW__STOPPING)
		return -1;
	return state == TKW__STARTED && tkw__has_thread(t);
}

static void close_shards(struct tkw_timer *t)
{
	for (uint32_t i = 0; i <= t->shard_mask; i++) {
		tkw__lock_take(&t->shards[i].lock);
		t->shards[i].closed = true;
		tkw__lock_drop(&t->shards[i].lock);
	}
}

/* Waits until nothing of the timer runs. */
static void end_drive(struct tkw_timer *t, bool has_worker)
{
	if (!tkw__has_thread(t))
		tkw__drive_await(t);
	if (t->drive == TKW_DRIVE_LOOP)
		tkw__sleep_disarm(t);
	if (has_worker) {
		tkw__sleep_end(t);
		t->hooks.thread_join(t->thread, t->hooks.ctx);
		tkw__watchdog_stop(t);
	}
	if (t->jobs) {
		tkw__jobs_close(t->jobs);
		tkw__turn_tell_dropped(t);
	}
}

/* Takes any pending timeout out of a shard. Returns NULL if there is none. */
static struct tkw__timeout *claim(struct tkw_timer *t, struct tkw__shard *s)
{
	struct tkw__timeout *to;

	tkw__lock_take(&s->lock);
	to = tkw__shard_any(s);
	if (to)
		tkw__ledger_settle(t, s, to, &s->ledger.handed_over,
				   TKW__ENDING);
	tkw__lock_drop(&s->lock);
	return to;
}

static void show(struct tkw_timer *t, const struct tkw_timeout_info *info,
		 tkw_visit_fn *visit, void *ctx)
{
	struct tkw__frame frame;

	tkw__frame_enter(&frame, t);
	visit(info, ctx);
	tkw__frame_leave(&frame);
}

/* Hands over what is left. The worker is gone, but other threads may still
 * cancel. */
static void hand_over(struct tkw_timer *t, tkw_visit_fn *visit, void *ctx)
{
	int64_t now = tkw__now(t);

	for (uint32_t i = 0; i <= t->shard_mask; i++) {
		struct tkw__shard *s = &t->shards[i];
		struct tkw__timeout *to;

		while ((to = claim(t, s))) {
			struct tkw_timeout_info info =
				tkw__facts_of(t, s, to, now);

			info.state = TKW_TIMEOUT_PENDING;
			if (visit)
				show(t, &info, visit, ctx);
			tkw__finish_ending(t, s, to);
		}
	}
}

int tkw_timer_stop(struct tkw_timer *t, tkw_visit_fn *visit, void *ctx)
{
	int err = tkw__usable(t);
	int has_worker;
	int was;

	if (err != 0)
		return err;
	if (tkw__frame_inside(t))
		return -EDEADLK;
	has_worker = begin_stop(t);
	if (has_worker < 0)
		return 1;
	/* If the thread were cancelled from here on, in the join or in a
	 * visitor, the timer would stay half stopped for ever. */
	was = tkw__thread_no_cancel();
	close_shards(t);
	end_drive(t, has_worker);
	hand_over(t, visit, ctx);
	tkw__thread_restore_cancel(was);
	/* RELEASE pairs with the ACQUIRE of destroy. */
	TKW__STORE(&t->state, TKW__STOPPED, RELEASE);
	tkw__unpark_all(&t->state);
	return 0;
}

int tkw_timer_is_stopped(struct tkw_timer *t)
{
	return t && tkw__is_stopping(t);
}

int tkw_timer_destroy(struct tkw_timer *t)
{
	if (t == NULL)
		return 0;
	if (tkw__frame_inside(t))
		return -EDEADLK;
	if (!tkw__is_child(t->epoch)) {
		tkw_timer_stop(t, NULL, NULL);
		while (TKW__LOAD(&t->state, ACQUIRE) != TKW__STOPPED)
			tkw__park(&t->state, TKW__STOPPING);
	} else if (t->jobs) {
		tkw__jobs_close_child(t->jobs);
	}
	tkw__timer_free(t);
	return 0;
}
