/* SPDX-License-Identifier: MIT */
/* job_times.c - see job_times.h. */
#include "patterns/job_times.h"

#include "base/bits.h"
#include "base/ns.h"
#include "tickwheel/job.h"

/* Up to this time all are decided, or do not belong to the job. */
static int64_t floor_of(const struct tkw__job_times *t)
{
	return tkw__max_i64(t->decided_ms, t->from_ms);
}

/* Looks at the clock. It may have gone back. */
static void look(struct tkw__job_times *t, int64_t now_ms)
{
	if (now_ms < t->from_ms)
		t->from_ms = now_ms;
}

/* The latest planned time that is due by now. Not all up to it belong to the
 * job. */
static int64_t due_by(const struct tkw__job_times *t, int64_t now_ms)
{
	return now_ms - t->shift_ms;
}

/* The last planned time in (after_ms, until_ms], or after_ms. */
static int64_t last_time(const struct tkw__job_times *t, int64_t after_ms,
			 int64_t until_ms)
{
	int64_t at_ms;

	if (until_ms <= after_ms ||
	    tkw_plan_previous(t->plan, until_ms + 1, &at_ms) < 0 ||
	    at_ms < after_ms)
		return after_ms;
	return at_ms;
}

/*
 * Counts the planned times in (after_ms, until_ms], the last ones first.
 *
 * nth  Set it to a number. Receives the time with this number, counted from 0
 *      and from the end, or after_ms if there are not so many.
 */
static uint64_t count_times(const struct tkw__job_times *t, int64_t after_ms,
			    int64_t until_ms, int64_t *nth)
{
	uint64_t wanted = (uint64_t)*nth;
	uint64_t n = 0;
	int64_t at_ms = until_ms < after_ms ? after_ms : until_ms + 1;

	*nth = after_ms;
	while (n < TKW_JOB_MAX_COUNTED &&
	       tkw_plan_previous(t->plan, at_ms, &at_ms) == 0 &&
	       at_ms > after_ms) {
		if (n == wanted)
			*nth = at_ms;
		n++;
	}
	return n;
}

/* Decides the times that are due. All ready ones have begun. */
static void decide(struct tkw__job_times *t, int64_t now_ms)
{
	int64_t after_ms = floor_of(t);
	int64_t due_ms = due_by(t, now_ms);
	int64_t last_ms = last_time(t, after_ms, due_ms);
	int64_t before_ms = (int64_t)t->made_up;
	uint64_t missed;

	if (last_ms == after_ms)
		return;
	t->begun_ms = after_ms;
	t->ready_ms = last_ms;
	t->decided_ms = last_ms;
	if (due_ms - after_ms <= t->grace_ms)
		return;
	missed = count_times(t, after_ms, due_ms - t->grace_ms - 1, &before_ms);
	if (missed > t->made_up) {
		t->missed += missed - t->made_up;
		t->begun_ms = before_ms;
	}
}

int64_t tkw__job_times_first(const struct tkw__job_times *t)
{
	int64_t after_ms =
		t->begun_ms < t->ready_ms ? t->begun_ms : floor_of(t);
	int64_t at_ms;

	if (tkw_plan_next(t->plan, after_ms, &at_ms) < 0)
		return INT64_MAX;
	return at_ms;
}

int64_t tkw__job_times_due(struct tkw__job_times *t, int64_t now_ms)
{
	look(t, now_ms);
	return tkw__ns_add(tkw__job_times_first(t), t->shift_ms);
}

bool tkw__job_times_is_too_late(const struct tkw__job_times *t,
				int64_t planned_ms, int64_t now_ms)
{
	return t->made_up == 0 && due_by(t, now_ms) > planned_ms &&
	       due_by(t, now_ms) - planned_ms > t->grace_ms;
}

void tkw__job_times_decide(struct tkw__job_times *t, int64_t now_ms)
{
	look(t, now_ms);
	if (t->begun_ms == t->ready_ms)
		decide(t, now_ms);
}

/* Counts the ready times that are too late as missed. first_ms is the first of
 * them. With a long grace, there may be millions. */
static void miss_late(struct tkw__job_times *t, int64_t first_ms,
		      int64_t now_ms)
{
	int64_t late_ms = due_by(t, now_ms) - t->grace_ms - 1;
	int64_t unused_ms = 0;

	if (late_ms > t->ready_ms)
		late_ms = t->ready_ms;
	t->missed += count_times(t, first_ms - 1, late_ms, &unused_ms);
	t->begun_ms = last_time(t, first_ms, late_ms);
}

bool tkw__job_times_take(struct tkw__job_times *t, int64_t now_ms,
			 int64_t *planned_ms)
{
	tkw__job_times_decide(t, now_ms);
	while (t->begun_ms < t->ready_ms) {
		int64_t at_ms = tkw__job_times_first(t);

		if (at_ms > t->ready_ms) {
			/* The zone has new rules since they were decided. */
			t->begun_ms = t->ready_ms;
			break;
		}
		if (at_ms > due_by(t, now_ms))
			break; /* the clock went back since then */
		t->begun_ms = at_ms;
		if (!tkw__job_times_is_too_late(t, at_ms, now_ms)) {
			*planned_ms = at_ms;
			return true;
		}
		miss_late(t, at_ms, now_ms);
	}
	return false;
}

void tkw__job_times_overlap(struct tkw__job_times *t, int64_t now_ms)
{
	int64_t last_ms = 0;
	uint64_t n;

	look(t, now_ms);
	n = count_times(t, floor_of(t), due_by(t, now_ms) - 1, &last_ms);
	t->overlaps += n;
	if (n > 0)
		t->decided_ms = last_ms;
}

void tkw__job_times_give_up(struct tkw__job_times *t, int64_t now_ms)
{
	int64_t unused_ms = 0;
	int64_t last_ms = 0;
	uint64_t n;

	look(t, now_ms);
	n = count_times(t, floor_of(t), due_by(t, now_ms), &last_ms);
	t->missed += n + count_times(t, t->begun_ms, t->ready_ms, &unused_ms);
	if (n > 0)
		t->decided_ms = last_ms;
	t->begun_ms = t->decided_ms;
	t->ready_ms = t->decided_ms;
}
