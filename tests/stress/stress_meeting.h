/* SPDX-License-Identifier: MIT */
/*
 * stress_meeting.h - races that hardly happen by themselves, by appointment.
 *
 * Two threads meet while one of them is inside a callback of the timer's: the
 * callback says that it runs, and waits until the other side has come. No clock
 * and no luck is needed for it, on a single CPU neither.
 */
#ifndef STRESS_MEETING_H
#define STRESS_MEETING_H

#include "stress_actor.h"

/* Meet a task while it runs, or an on_cancel while another thread is in it. */
void meeting_hold(struct actor *a);

/* Take part, if there is something, in a meeting of another actor's. */
void meeting_join(struct actor *a);

/* Return when a task runs that goes on until its timer is being stopped, and
 * finds a fault if the stop does not wait for it. */
void meeting_before_stop(struct actor *a);

/*
 * All threads schedule one timeout each, and wait for all of them to fire,
 * again and again: so the worker falls asleep while threads call for it. If a
 * call is lost nobody comes to wake it up, and the test hangs.
 */
void meeting_drill(struct actor *a, uint32_t threads);

#endif /* STRESS_MEETING_H */
