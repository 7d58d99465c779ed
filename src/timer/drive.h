/* SPDX-License-Identifier: MIT */
/* drive.h - turns that a caller makes, for a timer without a thread. */
#ifndef TKW_TIMER_DRIVE_H
#define TKW_TIMER_DRIVE_H

#include "timer/object.h"

/* Waits for the turn that is under way. Called by a stop. */
void tkw__drive_await(struct tkw_timer *t);

#endif /* TKW_TIMER_DRIVE_H */
