/* SPDX-License-Identifier: MIT */
/*
 * sleep.c - the worker's thread, its sleep between turns, and who wakes it.
 *
 * Sleep:  publish the tick for which the alarm is set (`armed`), then look at
 *         each shard once more, under its lock. Who schedules something earlier
 *         looks at `armed` under the lock of its shard, too. If that is before
 *         the worker's look, the worker finds the timeout; if it is after it,
 *         `armed` is seen, by the order of the lock, and the alarm is set to
 *         the earlier time. The alarm lock keeps two who do that from
 *         overwriting each other. Nobody is woken for a later time than that
 *         of the alarm, and a cancel leaves it as it is.
 *
 * Stop:   sets the state, then the alarm. The worker sets the alarm, then looks
 *         at the state. Both under the alarm lock: one sees the other. Stop
 *         says that the worker is awake besides, so that an executor which
 *         gives up a timeout just then does not set the alarm to the later
 *         time of the next try. (Schedules are refused by now.)
 *
 * Lost:   if somebody has closed the alarm's fd, a call that needs the worker
 *         earlier is refused with -EBADF, and the log hook is told. When the
 *         worker next goes to sleep it does without the fd, and such calls
 *         are taken again.
 */
#include "timer/sleep.h"

#include "os/thread.h"
#include "timer/due.h"
#include "timer/turn.h"

void tkw__sleep_tell_lost(struct tkw_timer *t)
{
	if (TKW__EXCHANGE(&t->lost_told, 1, RELAXED) == 0)
		tkw__log(t, "tickwheel: somebody has closed the timer's file "
			    "descriptor");
}

/* When the alarm is to ring for a tick. */
static int64_t alarm_ns(struct tkw_timer *t, uint64_t tick)
{
	int64_t at = tkw__ns_of_tick(t, tick);

	/* Only the system's own clock can be waited for; another one is taken
	 * to go at about the same pace. */
	return t->own_clock && at != TKW_NEVER_NS ? at - tkw__now(t) : at;
}

static void note_armed(struct tkw_timer *t, uint64_t tick)
{
	t->alarm_tick = tick;
	TKW__STORE(&t->armed, tick, RELAXED);
}

/* Set the alarm for a tick. The alarm lock is held. */
static int set_alarm(struct tkw_timer *t, uint64_t tick)
{
	int err = tkw__alarm_set(&t->alarm, alarm_ns(t, tick), t->own_clock);

	if (err == 0)
		note_armed(t, tick);
	return err;
}

/* Let it ring at once. The alarm lock is held. */
static int ring(struct tkw_timer *t)
{
	int err = tkw__alarm_set(&t->alarm, 0, true);

	/* Whoever still comes with a tick must not set it to a later time. */
	if (err == 0)
		note_armed(t, 0);
	return err;
}

int tkw__sleep_rearm(struct tkw_timer *t, uint64_t tick)
{
	int err = 0;

	tkw__lock_take(&t->alarm_lock);
	if (tick < TKW__LOAD(&t->armed, RELAXED)) {
		/* It is the worker's business to read another clock. */
		err = t->own_clock ? ring(t) : set_alarm(t, tick);
	}
	tkw__lock_drop(&t->alarm_lock);
	return err;
}

void tkw__sleep_end(struct tkw_timer *t)
{
	tkw__lock_take(&t->alarm_lock);
	note_armed(t, 0);
	tkw__alarm_end(&t->alarm);
	tkw__lock_drop(&t->alarm_lock);
}

void tkw__sleep_awake(struct tkw_timer *t)
{
	TKW__STORE(&t->armed, 0, RELAXED); /* see sleep_until() */
	t->wake_ups++;
}

int tkw__sleep_arm(struct tkw_timer *t, uint64_t tick)
{
	uint64_t now;
	int err = 0;

	tkw__lock_take(&t->alarm_lock);
	/* One that is to ring, and in time, need not be set again: that is a
	 * system call. Of another clock it is not known whether it has rung. */
	if (tick == 0)
		err = ring(t);
	else if (!t->own_clock && !t->alarm.lost &&
		 t->alarm_tick > t->turn_to && t->alarm_tick <= tick)
		TKW__STORE(&t->armed, t->alarm_tick, RELAXED);
	else
		err = set_alarm(t, tick);
	tkw__lock_drop(&t->alarm_lock);
	if (err == 0) {
		now = tkw__turn_next(t);
		err = now < tick ? tkw__sleep_rearm(t, now) : 0;
	}
	if (err != 0) {
		/* It never rings again: whatever comes now would need it. */
		TKW__STORE(&t->armed, TKW_TICK_NEVER, RELAXED);
		tkw__sleep_tell_lost(t);
	}
	return err;
}

void tkw__sleep_disarm(struct tkw_timer *t)
{
	tkw__lock_take(&t->alarm_lock);
	(void)tkw__alarm_set(&t->alarm, TKW_NEVER_NS, false);
	TKW__STORE(&t->armed, 0, RELAXED);
	tkw__lock_drop(&t->alarm_lock);
}

static void sleep_until(struct tkw_timer *t, uint64_t tick)
{
	int err;

	tkw__lock_take(&t->alarm_lock);
	err = tkw__alarm_prepare(&t->alarm, alarm_ns(t, tick), t->own_clock);
	note_armed(t, tick);
	tkw__lock_drop(&t->alarm_lock);
	if (err != 0)
		tkw__sleep_tell_lost(t);
	if (tkw__turn_next(t) >= tick && !tkw__is_stopping(t)) {
		tkw__alarm_wait(&t->alarm);
		t->wake_ups++;
	}
	/* Awake: nobody needs to call. One who does so now all the same, having
	 * seen the old value, sets an alarm that the next sleep replaces. */
	TKW__STORE(&t->armed, 0, RELAXED);
}

void *tkw__sleep_run(void *timer)
{
	struct tkw_timer *t = timer;

	tkw__thread_become_worker(t->name);
	tkw__thread_load_unwinder(); /* see tkw__alarm_end() */
	while (!tkw__is_stopping(t)) {
		uint64_t next;

		tkw__turn(t, UINT64_MAX, &next);
		if (!tkw__is_stopping(t) && next > tkw__tick_at(t, tkw__now(t)))
			sleep_until(t, next);
	}
	tkw__lock_take(&t->alarm_lock);
	t->alarm.has_sleeper = false;
	tkw__lock_drop(&t->alarm_lock);
	tkw__alarm_leave(&t->alarm);
	return NULL;
}
