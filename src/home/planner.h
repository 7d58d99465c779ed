/* SPDX-License-Identifier: MIT */
/*
 * planner.h - where the planned times of a queue come from, for both homes
 *
 * The heart of a queue asks a struct tkw__queue_calendar for planned times. A
 * planner is such a calendar, made of tickwheel/calendar.h. Many queues may
 * share one: it reads the file of each zone once, and again when the heart asks
 * for this (a plan is made, replaced or resumed).
 *
 *   Threads  A planner is used by one thread at a time, as the hearts that
 *            share it. tkw__planner_list() may be called at any time.
 *   Errors   of compile and of tkw__planner_list():
 *     -EINVAL       the text is not a plan
 *     -ENXIO        there is no zone of this name
 *     -EBADMSG      the file of the zone is damaged
 *     -EMEDIUMTYPE  the file of the zone is of another kind
 *     -ENOMEM       for compile, also if too many files are open
 *     another one   the system refuses to read the file of the zone
 */
#ifndef TKW_HOME_PLANNER_H
#define TKW_HOME_PLANNER_H

#include <stddef.h>
#include <stdint.h>

#include "queue/heart.h"
#include "tickwheel/calendar.h"

struct tkw__planner_zone;

struct tkw__planner {
	/* For struct tkw__queue_config. */
	struct tkw__queue_calendar calendar;
	const char *folder;
	struct tkw__planner_zone *zones; /* those that were read */
};

/* folder: of the files of zones; NULL: that of the system. It must stay valid,
 * and so must the planner while a heart uses it. */
void tkw__planner_init(struct tkw__planner *p, const char *folder);
void tkw__planner_fini(struct tkw__planner *p);

/* What to list. */
struct tkw__planner_query {
	struct tkw__queue_text plan;
	struct tkw__queue_text zone; /* empty: UTC */
	uint64_t after_ms;
	int max; /* 0: only check the plan */
};

/*
 * Checks a plan and lists its times after a time, the first one first. It reads
 * the file of the zone anew.
 *
 * out_ms  Receives up to max times.
 * error   Receives what is wrong if the call returns -EINVAL. May be NULL.
 *
 * Returns how many; fewer than max if there are no more. Or an error.
 */
int tkw__planner_list(const struct tkw__planner *p,
		      const struct tkw__planner_query *query, uint64_t *out_ms,
		      struct tkw_plan_error *error);

#endif /* TKW_HOME_PLANNER_H */
