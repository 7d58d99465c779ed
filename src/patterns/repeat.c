/* SPDX-License-Identifier: MIT */
/*
 * repeat.c - one chain of rounds.
 *
 * Idea:       calls from outside only say what is wanted: started or not, ended
 *             or not, which interval. One thread at a time is `busy`: it makes
 *             a round, or asks for the delay of the next one, with the lock
 *             dropped. Then it looks at what is wanted by now, and does that. A
 *             thread that comes meanwhile leaves the rest to the busy one. So
 *             there is never a second chain.
 *
 * Invariants, under the lock:
 * (R1) `pending` is the one timeout that may make a round, or 0.
 * (R2) If it is not 0, the repeat is started and not ended.
 * (R3) While a round runs, pending is 0.
 *
 * Strays:     a timeout that has begun to run cannot be cancelled. When it gets
 *             the lock, it finds that `pending` is not its id or that a thread
 *             is busy, and does nothing.
 *
 * Cancel:     a thread that is cancelled in a callback would be busy for ever,
 *             so cancellation is disabled there.
 *
 * End:        three steps, in this order: ended (shut down), told (on_end is
 *             called), over (on_end has returned, and no callback runs any
 *             more). A destroy from outside waits for the last one.
 *
 * Memory:     counted by `refs`: one for the owner, one for each timeout that
 *             has not ended, one for the busy thread, one for a shutdown.
 */
#include "tickwheel/repeat.h"

#include <errno.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "base/ns.h"
#include "os/bell.h"
#include "os/dice.h"
#include "os/fork.h"
#include "os/frame.h"
#include "os/memory.h"
#include "os/sync.h"
#include "os/thread.h"
#include "timer/for_patterns.h"

enum {
	NAME_BYTES = 32
};

static const struct tkw_timeout_id NO_ID = { 0 };

struct tkw_repeat {
	/* Set by create; only read afterwards. */
	struct tkw_repeat_config cfg;
	uint32_t epoch; /* the process that made the repeat; see fork.h */
	char name[NAME_BYTES];

	struct tkw__a32 refs;
	struct tkw__lock lock; /* for the fields below */
	struct tkw__bell bell; /* rings when it is over */
	bool started;
	bool ended;
	bool busy;
	bool invoking; /* the busy thread makes a round */
	bool fresh;    /* the next interval counts from now */
	bool at_once;  /* the next round comes without a delay */
	/* on_broken must be called if the next round cannot be armed, because
	 * it is not enough to return the error to the caller. */
	bool owed;
	bool told;        /* on_end was called */
	bool over;        /* on_end has returned */
	uint32_t telling; /* calls of on_broken that run */
	uint32_t wishes;
	struct tkw_timeout_id pending;
	int64_t interval_ns;
	int64_t deadline_ns; /* of the last round, or the pending one */
	struct tkw__dice dice;
};

static void drop_ref(struct tkw_repeat *r)
{
	/* ACQ_REL pairs with itself, so that the thread that frees comes after
	 * all others. */
	if (TKW__SUB(&r->refs, 1, ACQ_REL) == 1)
		tkw__memory_free(r, sizeof(*r));
}

/* A running callback. Its thread cannot be cancelled, and a destroy in there
 * finds the frame. */
struct callback {
	struct tkw__frame frame;
	int cancel;
};

static void callback_begin(struct callback *c, const struct tkw_repeat *r)
{
	c->cancel = tkw__thread_no_cancel();
	tkw__frame_enter_set(&c->frame, r);
}

static void callback_end(const struct callback *c)
{
	tkw__frame_leave(&c->frame);
	tkw__thread_restore_cancel(c->cancel);
}

/* --- the next round ------------------------------------------------------ */

/* The deadline of the next round, with this delay after the last one. */
static int64_t next_deadline(const struct tkw_repeat *r, int64_t delay_ns)
{
	int64_t now_ns = tkw_timer_now_ns(r->cfg.timer);
	int64_t beat_ns = tkw__ns_add(r->deadline_ns, delay_ns);

	if (r->fresh || r->cfg.mode == TKW_REPEAT_FIXED_DELAY)
		return tkw__ns_add(now_ns, delay_ns);
	if (beat_ns >= now_ns || r->cfg.mode == TKW_REPEAT_RATE_BURST)
		return beat_ns;
	if (r->cfg.mode == TKW_REPEAT_RATE_DELAY || delay_ns == 0)
		return tkw__ns_add(now_ns, delay_ns);
	/* The first beat that has not passed yet. */
	return tkw__ns_add(now_ns, (delay_ns - (now_ns - beat_ns) % delay_ns) %
					   delay_ns);
}

/* The delay until the next round. The lock is held, but not while the user is
 * asked. */
static int64_t ask_delay(struct tkw_repeat *r)
{
	int64_t interval_ns = r->interval_ns;
	struct callback c;
	int64_t delay_ns;

	if (r->cfg.adjust == NULL)
		return tkw__ns_add(interval_ns,
				   tkw__dice_roll(&r->dice, r->cfg.spread_ns));
	tkw__lock_drop(&r->lock);
	callback_begin(&c, r);
	delay_ns = r->cfg.adjust(r, interval_ns, r->cfg.ctx);
	callback_end(&c);
	tkw__lock_take(&r->lock);
	return delay_ns < 0 ? 0 : delay_ns;
}

static tkw_task_fn come_round;
static tkw_cancel_fn lose_round;

/* Moves the pending round to a deadline. A round without a delay is due in the
 * next turn, not at the next tick. */
static int move_round(struct tkw_repeat *r, int64_t delay_ns,
		      int64_t deadline_ns)
{
	if (delay_ns == 0)
		return tkw_timer_reschedule(r->cfg.timer, r->pending, 0);
	return tkw_timer_reschedule_at(r->cfg.timer, r->pending, deadline_ns);
}

static int schedule_round(struct tkw_repeat *r, int64_t delay_ns,
			  int64_t deadline_ns)
{
	const struct tkw_task task = { .fn = come_round,
				       .ctx = r,
				       .on_cancel = lose_round };

	if (delay_ns == 0)
		return tkw_timer_schedule(r->cfg.timer, &task, 0, &r->pending);
	return tkw_timer_schedule_at(r->cfg.timer, &task, deadline_ns,
				     &r->pending);
}

/* Moves the pending round, or schedules one. The lock is held. */
static int arm(struct tkw_repeat *r, int64_t delay_ns)
{
	int64_t deadline_ns = next_deadline(r, delay_ns);
	int err = -ENOENT;

	if (r->pending.bits != 0)
		err = move_round(r, delay_ns, deadline_ns);
	if (err == -ENOENT || err == -EBUSY) {
		TKW__ADD(&r->refs, 1, RELAXED); /* not the first reference */
		err = schedule_round(r, delay_ns, deadline_ns);
		if (err < 0)
			TKW__SUB(&r->refs, 1, RELAXED);
	}
	if (err == 0) {
		r->deadline_ns = deadline_ns;
		r->fresh = false;
		r->at_once = false;
	}
	return err;
}

/* Gives up the pending round. The lock is held. */
static void disarm(struct tkw_repeat *r)
{
	if (r->pending.bits != 0 &&
	    tkw__timer_cancel_own(r->cfg.timer, r->pending) == 0)
		TKW__SUB(&r->refs, 1, RELAXED); /* not the last reference */
	r->pending = NO_ID;
}

/* Makes this thread the busy one. No thread may be busy yet. The lock is held.
 * owed: see struct tkw_repeat. */
static void get_busy(struct tkw_repeat *r, bool owed)
{
	r->busy = true;
	r->owed = owed;
	TKW__ADD(&r->refs, 1, RELAXED); /* not the first reference */
}

/* If nothing runs any more, and nothing ever will, calls on_end. The lock is
 * held, and dropped. */
static void leave(struct tkw_repeat *r)
{
	struct callback c;

	if (!r->ended || r->busy || r->telling > 0 || r->told) {
		tkw__lock_drop(&r->lock);
		return;
	}
	r->told = true;
	if (r->cfg.on_end) {
		tkw__lock_drop(&r->lock);
		callback_begin(&c, r);
		r->cfg.on_end(r, r->cfg.ctx);
		callback_end(&c);
		tkw__lock_take(&r->lock);
	}
	r->over = true;
	tkw__bell_ring_and_drop(&r->bell, &r->lock);
}

/* Calls on_broken. The lock is held, and dropped. The thread must not be busy,
 * because the callback may start the repeat again. */
static void tell_broken(struct tkw_repeat *r, int err)
{
	struct callback c;

	if (r->cfg.on_broken) {
		r->telling++;
		tkw__lock_drop(&r->lock);
		callback_begin(&c, r);
		r->cfg.on_broken(r, err, r->cfg.ctx);
		callback_end(&c);
		tkw__lock_take(&r->lock);
		r->telling--;
	}
	leave(r);
}

/*
 * Called by the busy thread: does what is wanted by now, and ends being busy.
 * The lock is held, and dropped.
 *
 * Returns 0, or the error with which the next round could not be armed. Then
 * the repeat is paused.
 */
static int go_on(struct tkw_repeat *r)
{
	int err = 0;

	while (r->started) {
		uint32_t wishes = r->wishes;
		int64_t delay_ns = r->at_once ? 0 : ask_delay(r);

		if (wishes == r->wishes) {
			err = arm(r, delay_ns);
			break;
		}
	}
	r->busy = false;
	if (err < 0) {
		r->started = false;
		r->at_once = false;
		disarm(r);
	}
	if (err < 0 && r->owed)
		tell_broken(r, err);
	else
		leave(r);
	drop_ref(r);
	return err;
}

/* Makes a round, and goes on. No thread may be busy yet. The lock is held, and
 * dropped. */
static void invoke(struct tkw_repeat *r)
{
	struct callback c;

	get_busy(r, true);
	r->invoking = true;
	tkw__lock_drop(&r->lock);
	callback_begin(&c, r);
	r->cfg.fn(r, r->cfg.ctx);
	callback_end(&c);
	tkw__lock_take(&r->lock);
	r->invoking = false;
	(void)go_on(r);
}

static void come_round(const struct tkw_firing *firing, void *ctx)
{
	struct tkw_repeat *r = ctx;

	tkw__lock_take(&r->lock);
	if (r->busy || r->pending.bits != firing->id.bits) {
		tkw__lock_drop(&r->lock); /* a stray */
	} else {
		r->pending = NO_ID;
		invoke(r);
	}
	drop_ref(r);
}

/* Called when the timer was stopped, or its executor has dropped a round. */
static void lose_round(void *ctx)
{
	struct tkw_repeat *r = ctx;
	struct tkw_timeout_info info;

	tkw__lock_take(&r->lock);
	/* It may be a stray, while another one is pending. */
	if (!r->busy && r->pending.bits != 0 &&
	    tkw_timer_get(r->cfg.timer, r->pending, &info) == -ENOENT) {
		r->pending = NO_ID;
		r->started = false;
		tell_broken(r, tkw_timer_is_stopped(r->cfg.timer) ? -ESHUTDOWN
								  : -ECANCELED);
	} else {
		leave(r);
	}
	drop_ref(r);
}

/* --- create -------------------------------------------------------------- */

static bool is_sound(const struct tkw_repeat_config *cfg)
{
	return cfg->timer && cfg->fn && cfg->interval_ns > 0 &&
	       cfg->mode >= TKW_REPEAT_FIXED_DELAY &&
	       cfg->mode <= TKW_REPEAT_RATE_DELAY && cfg->spread_ns >= 0 &&
	       (cfg->spread_ns == 0 || cfg->adjust == NULL);
}

int tkw_repeat_create(struct tkw_repeat **out,
		      const struct tkw_repeat_config *cfg)
{
	struct tkw_repeat_config full;
	struct tkw_repeat *r;
	uint32_t epoch;

	if (out == NULL ||
	    tkw__config_read(&full, sizeof(full), cfg,
			     TKW__END_OF(struct tkw_repeat_config, name)) < 0 ||
	    !is_sound(&full))
		return -EINVAL;
	if (tkw__timer_is_child(full.timer))
		return -EPERM;
	if (tkw__epoch_get(&epoch) < 0)
		return -ENOMEM;
	r = tkw__memory_take(sizeof(*r), alignof(max_align_t));
	if (r == NULL)
		return -ENOMEM;
	memset(r, 0, sizeof(*r));
	r->cfg = full;
	r->epoch = epoch;
	snprintf(r->name, sizeof(r->name), "%s",
		 full.name ? full.name : "repeat");
	TKW__STORE(&r->refs, 1, RELAXED);
	r->interval_ns = full.interval_ns;
	r->dice = tkw__dice_make(full.seed);
	*out = r;
	return 0;
}

/* --- what is wanted ------------------------------------------------------ */

/* Takes the lock, for a call that a repeat refuses after its shutdown. */
static int enter(struct tkw_repeat *r)
{
	if (r == NULL)
		return -EINVAL;
	if (tkw__is_child(r->epoch))
		return -EPERM;
	tkw__lock_take(&r->lock);
	if (!r->ended)
		return 0;
	tkw__lock_drop(&r->lock);
	return -ESHUTDOWN;
}

/* Called when the user wants something else of a repeat that is to be started.
 * This thread does it, or leaves it to the busy thread. The lock is held, and
 * dropped. owed is true if the repeat was started before. */
static int have_done(struct tkw_repeat *r, bool owed)
{
	r->wishes++;
	if (r->busy) {
		r->owed = true;
		tkw__lock_drop(&r->lock);
		return 0;
	}
	get_busy(r, owed);
	return go_on(r);
}

int tkw_repeat_start(struct tkw_repeat *r)
{
	int err = enter(r);

	if (err < 0)
		return err;
	if (r->started) {
		tkw__lock_drop(&r->lock);
		return 0;
	}
	r->started = true;
	if (!r->busy)
		r->fresh = true;
	return have_done(r, false);
}

/* Starts with a full interval, or with none, from now or from the end of the
 * running round. */
static int begin_anew(struct tkw_repeat *r, bool at_once)
{
	int err = enter(r);
	bool was;

	if (err < 0)
		return err;
	was = r->started;
	r->started = true;
	r->fresh = true;
	r->at_once = at_once;
	return have_done(r, was);
}

int tkw_repeat_start_now(struct tkw_repeat *r)
{
	return begin_anew(r, true);
}

int tkw_repeat_restart(struct tkw_repeat *r)
{
	return begin_anew(r, false);
}

int tkw_repeat_pause(struct tkw_repeat *r)
{
	int err = enter(r);

	if (err < 0)
		return err;
	r->started = false;
	r->at_once = false;
	r->wishes++;
	disarm(r);
	tkw__lock_drop(&r->lock);
	return 0;
}

int tkw_repeat_reset(struct tkw_repeat *r, int64_t interval_ns)
{
	int err = interval_ns > 0 ? enter(r) : -EINVAL;

	if (err < 0)
		return err;
	r->interval_ns = interval_ns;
	if (r->started) {
		r->fresh = true;
		r->at_once = false;
		return have_done(r, true);
	}
	r->wishes++;
	tkw__lock_drop(&r->lock);
	return 0;
}

/* Takes the pending round away from the timer. The lock is held. */
static int claim_round(struct tkw_repeat *r)
{
	if (r->busy && (r->started || r->invoking))
		return -EBUSY;
	if (r->pending.bits == 0)
		return -ENOENT;
	/* -EBUSY if the round begins; -ENOENT if the timer has given it up. */
	return tkw__timer_cancel_own(r->cfg.timer, r->pending);
}

int tkw_repeat_run_now(struct tkw_repeat *r)
{
	int err = enter(r);

	if (err < 0)
		return err;
	err = claim_round(r);
	if (err < 0) {
		tkw__lock_drop(&r->lock);
		return err;
	}
	r->pending = NO_ID;
	TKW__SUB(&r->refs, 1, RELAXED); /* not the last reference */
	r->fresh = true;
	invoke(r);
	return 0;
}

/* --- the end ------------------------------------------------------------- */

int tkw_repeat_shutdown(struct tkw_repeat *r)
{
	int err = enter(r);

	if (err < 0)
		return err == -ESHUTDOWN ? 0 : err;
	r->ended = true;
	r->started = false;
	r->wishes++;
	disarm(r);
	TKW__ADD(&r->refs, 1, RELAXED); /* on_end may destroy it */
	leave(r);
	drop_ref(r);
	return 0;
}

/* Waits until none of its callbacks runs. */
static void await_end(struct tkw_repeat *r)
{
	tkw__lock_take(&r->lock);
	while (!r->over)
		tkw__bell_wait(&r->bell, &r->lock);
	tkw__lock_drop(&r->lock);
}

int tkw_repeat_destroy(struct tkw_repeat *r)
{
	if (r == NULL)
		return 0;
	if (tkw__is_child(r->epoch)) {
		tkw__memory_free(r, sizeof(*r));
		return 0;
	}
	(void)tkw_repeat_shutdown(r);
	/* A callback must not wait: two callbacks that destroy each other's
	 * repeat would wait for each other. */
	if (!tkw__frame_inside_set() && !tkw__frame_inside(r->cfg.timer))
		await_end(r);
	drop_ref(r);
	return 0;
}

/* --- as text ------------------------------------------------------------- */

int tkw_repeat_print(struct tkw_repeat *r, char *buf, size_t size)
{
	static const struct {
		int64_t ns;
		const char *name;
	} units[] = { { TKW_SEC, "s" },
		      { TKW_MSEC, "ms" },
		      { TKW_USEC, "us" },
		      { 1, "ns" } };
	bool started, ended, invoking;
	int64_t interval_ns;
	size_t u = 0;

	if (r == NULL || (buf == NULL && size != 0))
		return -EINVAL;
	if (tkw__is_child(r->epoch))
		return -EPERM;
	tkw__lock_take(&r->lock);
	started = r->started;
	ended = r->ended;
	invoking = r->invoking;
	interval_ns = r->interval_ns;
	tkw__lock_drop(&r->lock);
	/* The coarsest unit in which it is a whole number. */
	while (interval_ns % units[u].ns != 0)
		u++;
	return snprintf(buf, size, "%s, every %lld %s, %s%s%s", r->name,
			(long long)(interval_ns / units[u].ns), units[u].name,
			started ? "running" : "paused", ended ? ", ended" : "",
			invoking ? ", invoking" : "");
}
