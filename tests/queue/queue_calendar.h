/* SPDX-License-Identifier: MIT */
/*
 * queue_calendar.h - a calendar for tests, with times that a test can foretell.
 *
 * The text of a plan is PERIOD, PERIOD/SKIP or PERIOD/SKIP..LAST, in ms. The
 * times are the multiples of PERIOD up to LAST, but each SKIP-th multiple is
 * left out. 0 for SKIP or LAST means none.
 */
#ifndef QUEUE_CALENDAR_H
#define QUEUE_CALENDAR_H

#include "queue/heart.h"

struct queue_calendar {
	struct tkw__queue_calendar calls; /* for the queue */
	int error;                        /* not 0: compile fails with it */
	uint64_t open;     /* plans that were compiled and not freed */
	uint64_t compiles; /* plans that were compiled */
	uint64_t anew;     /* plans whose zone was read anew */
};

void queue_calendar_init(struct queue_calendar *c);

#endif /* QUEUE_CALENDAR_H */
