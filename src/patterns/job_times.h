/* SPDX-License-Identifier: MIT */
/*
 * job_times.h - decides what happens to each planned time of a job.
 *
 * Idea:       times are decided in order, so a few marks on the time line say
 *             everything. Up to `decided_ms` all times are decided. Among them,
 *             those in (begun_ms, ready_ms] are to be started, but have not
 *             begun yet. These are always neighbours: the latest of the missed
 *             ones, and those that are late but within the grace. If the
 *             clock goes back, they wait until it has come to them again.
 * Invariants: (J1) begun_ms <= ready_ms <= decided_ms.
 *             (J2) New times are decided only when all ready ones have begun.
 * Back:       decided_ms never goes back. But if the clock goes back behind
 *             from_ms, from_ms follows: the times between were never decided.
 * Threads:    none. The caller holds the lock of the set. Times are
 *             milliseconds of the wall clock.
 */
#ifndef TKW_PATTERNS_JOB_TIMES_H
#define TKW_PATTERNS_JOB_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "tickwheel/calendar.h"

struct tkw__job_times {
	struct tkw_plan *plan; /* a reference of its own */
	int64_t grace_ms;
	int64_t spread_ms;
	int64_t shift_ms; /* each run starts this much later than planned */
	uint64_t made_up; /* how many missed times are made up for, at most */
	bool overlap;     /* runs may overlap */

	int64_t from_ms; /* times up to this one do not belong to the job */
	int64_t decided_ms;
	int64_t begun_ms;
	int64_t ready_ms;
	uint64_t missed;
	uint64_t overlaps;
	uint64_t missed_told; /* how many of them a task knows */
	uint64_t overlaps_told;
};

/* The first time that has not begun, or INT64_MAX. */
int64_t tkw__job_times_first(const struct tkw__job_times *t);

/* When the next run starts, or INT64_MAX if never. */
int64_t tkw__job_times_due(struct tkw__job_times *t, int64_t now_ms);

/* Is it too late to start a planned time? Only if no missed time is made up
 * for. It may have become late while it was ready, or in a queue. */
bool tkw__job_times_is_too_late(const struct tkw__job_times *t,
				int64_t planned_ms, int64_t now_ms);

/* Decides the times that are due, unless some are ready. A run that was asked
 * for goes before them, and they do not overlap with it. */
void tkw__job_times_decide(struct tkw__job_times *t, int64_t now_ms);

/* Takes the next time that is to be started. Returns false if none is due. */
bool tkw__job_times_take(struct tkw__job_times *t, int64_t now_ms,
			 int64_t *planned_ms);

/* A run has ended now: the times that came before are left out. */
void tkw__job_times_overlap(struct tkw__job_times *t, int64_t now_ms);

/* Counts all times that are due, but have not begun, as missed. */
void tkw__job_times_give_up(struct tkw__job_times *t, int64_t now_ms);

#endif /* TKW_PATTERNS_JOB_TIMES_H */
