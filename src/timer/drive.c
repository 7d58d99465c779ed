/* SPDX-License-Identifier: MIT */
/*
 * drive.c - a timer without a thread: its caller, or an event loop, makes the
 * turns.
 *
 * With an event loop, the fd is the timer's alarm, on which a worker's thread
 * would sleep. A turn does not sleep at its end, but sets the alarm. Everything
 * else is as in sleep.c, including how other threads set the alarm earlier.
 */
#include "timer/drive.h"

#include <errno.h>
#include <limits.h>

#include "os/frame.h"
#include "os/thread.h"
#include "tickwheel/timer.h"
#include "timer/due.h"
#include "timer/lookup.h"
#include "timer/sleep.h"
#include "timer/turn.h"

/* States of `turning`. AWAITED means that a stop waits for the end of the
 * turn. */
enum {
	IDLE = 0,
	TURNING = 1,
	AWAITED = 2
};

static void leave(struct tkw_timer *t)
{
	/* RELEASE pairs with the ACQUIREs of enter() and tkw__drive_await(). */
	if (TKW__EXCHANGE(&t->turning, IDLE, RELEASE) == AWAITED)
		tkw__unpark_all(&t->turning);
}

/*
 * Begins a turn, unless the timer is being stopped. Either this sees the stop,
 * or the stop sees that there is a turn to wait for: each writes its own word
 * and then reads the other's, all with SEQ_CST.
 */
static int enter(struct tkw_timer *t)
{
	uint32_t idle = IDLE;

	if (!TKW__CAS(&t->turning, &idle, TURNING, SEQ_CST))
		return -EBUSY;
	if (TKW__LOAD(&t->state, SEQ_CST) < TKW__STOPPING)
		return 0;
	leave(t);
	return -ESHUTDOWN;
}

void tkw__drive_await(struct tkw_timer *t)
{
	uint32_t turning = TKW__LOAD(&t->turning, SEQ_CST);

	while (turning != IDLE) {
		if (turning == AWAITED ||
		    TKW__CAS(&t->turning, &turning, AWAITED, RELAXED))
			tkw__park(&t->turning, AWAITED);
		turning = TKW__LOAD(&t->turning, ACQUIRE);
	}
}

/* Begins a turn for the caller, or returns why that is not allowed. */
static int begin(struct tkw_timer *t)
{
	int err = tkw__usable(t);

	if (err != 0)
		return err;
	if (tkw__has_thread(t))
		return -EINVAL;
	return tkw__frame_inside(t) ? -EDEADLK : enter(t);
}

/* A tick as a time. 0 means now. */
static int64_t ns_of_next(struct tkw_timer *t, uint64_t tick)
{
	return tick == 0 ? tkw__now(t) : tkw__ns_of_tick(t, tick);
}

int tkw_timer_turn(struct tkw_timer *t, int max_tasks, int64_t *next_ns)
{
	uint64_t fired;
	uint64_t next;
	int was;
	int err = begin(t);

	if (err != 0)
		return err;
	/* If the thread were cancelled in a task, the turn would never end. */
	was = tkw__thread_no_cancel();
	if (tkw__has_alarm(t))
		tkw__sleep_awake(t);
	fired = tkw__turn(t, max_tasks > 0 ? (uint64_t)max_tasks : UINT64_MAX,
			  &next);
	if (tkw__has_alarm(t))
		err = tkw__sleep_arm(t, next);
	if (err == 0 && next_ns)
		*next_ns = ns_of_next(t, next);
	leave(t);
	tkw__thread_restore_cancel(was);
	if (err != 0)
		return err;
	return fired < INT_MAX ? (int)fired : INT_MAX;
}

int tkw_timer_next_turn(struct tkw_timer *t, int64_t *next_ns)
{
	int err = next_ns ? tkw__usable(t) : -EINVAL;

	if (err == 0)
		*next_ns = ns_of_next(t, tkw__turn_next(t));
	return err;
}

int tkw_timer_fd(struct tkw_timer *t)
{
	if (t == NULL || t->drive != TKW_DRIVE_LOOP)
		return -EINVAL;
	return tkw__is_child(t->epoch) ? -EPERM : t->alarm.fd;
}
