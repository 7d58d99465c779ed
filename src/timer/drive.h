/* SPDX-License-Identifier: MIT */
/* drive.h - turns that a caller makes, where there is no thread. */
#ifndef TKW_TIMER_DRIVE_H
#define TKW_TIMER_DRIVE_H

#include "timer/object.h"

/* The timer is being stopped: wait for the turn that is under way. */
void tkw__drive_await(struct tkw_timer *t);

#endif /* TKW_TIMER_DRIVE_H */
