/* SPDX-License-Identifier: MIT */
/*
 * stress_meeting.h - arranges races that hardly ever happen by chance.
 *
 * Two threads meet while one of them is inside a callback of the timer. The
 * callback says that it runs, and waits until the other thread has come. This
 * needs neither a clock nor luck, even on a single CPU.
 */
#ifndef STRESS_MEETING_H
#define STRESS_MEETING_H

#include "stress_actor.h"

/* Meets a task, or an on_cancel on another thread, while it runs. */
void meeting_hold(struct actor *a);

/* Takes part in a meeting of another actor, if there is one. */
void meeting_join(struct actor *a);

/* Starts a task that runs until its timer is being stopped, and returns when it
 * runs. The task reports a fault if the stop does not wait for it. */
void meeting_before_stop(struct actor *a);

/*
 * All threads schedule one timeout each and wait for all of them to fire, again
 * and again. So the worker falls asleep while threads wake it. If a wake-up is
 * lost, nobody wakes it again, and the test hangs.
 */
void meeting_drill(struct actor *a, uint32_t threads);

#endif /* STRESS_MEETING_H */
