/* SPDX-License-Identifier: MIT */
/*
 * sleep.c - the worker's thread, its sleep between turns, and how it is woken.
 *
 * Sleep:  the worker publishes the tick for which the alarm is set (`armed`),
 *         then looks at each shard once more, under its lock. A thread that
 *         schedules an earlier timeout reads `armed` under the lock of its
 *         shard, too. If that is before the worker's look, the worker finds the
 *         timeout. If it is after the look, the lock's order makes the thread
 *         see `armed`, and it sets the alarm to the earlier time. The alarm
 *         lock keeps two threads that do that from overwriting each other.
 *         Nobody wakes the worker for a tick that is later than the alarm, and
 *         a cancel leaves the alarm alone.
 *
 * Stop:   a stop sets the state, then the alarm. The worker sets the alarm,
 *         then looks at the state. Both do it under the alarm lock, so one sees
 *         the other. The stop also sets `armed` to 0 (awake), so that an
 *         executor that gives up a timeout at that moment does not set the
 *         alarm to the later time of the next try. (Schedules are refused by
 *         then.)
 *
 * Lost:   if somebody has closed the alarm's fd, a call that needs the worker
 *         earlier is refused with -EBADF, and the log hook is told. When the
 *         worker next goes to sleep, it sleeps on a futex instead of the fd,
 *         and such calls are accepted again.
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

/* When the alarm has to ring for a tick. */
static int64_t alarm_ns(struct tkw_timer *t, uint64_t tick)
{
	int64_t at = tkw__ns_of_tick(t, tick);

	/* The alarm can only wait for the system's clock. The user's clock is
	 * assumed to run at about the same speed. */
	return t->own_clock && at != TKW_NEVER_NS ? at - tkw__now(t) : at;
}

static void note_armed(struct tkw_timer *t, uint64_t tick)
{
	t->alarm_tick = tick;
	TKW__STORE(&t->armed, tick, RELAXED);
}

/* Sets the alarm for a tick. The alarm lock is held. */
static int set_alarm(struct tkw_timer *t, uint64_t tick)
{
	int err = tkw__alarm_set(&t->alarm, alarm_ns(t, tick), t->own_clock);

	if (err == 0)
		note_armed(t, tick);
	return err;
}

/* Lets the alarm ring at once. The alarm lock is held. */
static int ring(struct tkw_timer *t)
{
	int err = tkw__alarm_set(&t->alarm, 0, true);

	/* A thread that still comes with a tick must not set it to a later
	 * time. */
	if (err == 0)
		note_armed(t, 0);
	return err;
}

int tkw__sleep_rearm(struct tkw_timer *t, uint64_t tick)
{
	int err = 0;

	tkw__lock_take(&t->alarm_lock);
	if (tick < TKW__LOAD(&t->armed, RELAXED)) {
		/* With the user's clock, wake the worker, which reads it. */
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
	/* An alarm that has yet to ring, and rings in time, is not set again,
	 * because that takes a system call. With the user's clock it is not
	 * known whether the alarm has rung. */
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
		/* The alarm never rings again, so every new timeout would need
		 * it, and is refused. */
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
	/* The worker is awake, and nobody needs to call it. A thread that has
	 * seen the old value may still do so; it sets an alarm that the next
	 * sleep replaces. */
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
