/* SPDX-License-Identifier: MIT */
/*
 * plan_search.c - the next and the previous time of a plan.
 *
 * Idea:   search the local time first, without a zone: day by sets of bits,
 *         then hour, minute and second. Then find the piece of the zone's time
 *         in which the clocks show this local time. Pieces in which no time of
 *         the plan can lie are skipped.
 * Clock:  with a star as hour, each piece counts for itself. Any other plan
 *         looks at the marks of the pieces (zone_state.h): a time comes when
 *         the clocks show it, or a later time, for the first time.
 * Bound:  the table months_of leads from one year to the next that has a time,
 *         which is 40 years later at most (February 29 on a given weekday, over
 *         a year such as 2100), and to its month. If no year has a time,
 *         nothing is searched.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calendar/civil.h"
#include "calendar/plan_state.h"
#include "calendar/zone_state.h"

/* Longer than any offset. */
#define FAR_S (INT64_C(27) * 3600)

struct search {
	const struct tkw__cron *cron;
	const struct tkw_zone *zone;
	unsigned steps;
};

static int lowest(uint64_t bits)
{
	return __builtin_ctzll(bits);
}

static int highest(uint64_t bits)
{
	return 63 - __builtin_clzll(bits);
}

/* The bits from n on, and the bits up to n. n is from 0 to 63. */
static uint64_t from_bit(uint64_t bits, int n)
{
	return bits >> n << n;
}

static uint64_t to_bit(uint64_t bits, int n)
{
	return bits << (63 - n) >> (63 - n);
}

/* --- days ---------------------------------------------------------------- */

/* The months of a year that have a day of the plan. */
static uint16_t months_of(struct search *s, int64_t year)
{
	int first = tkw__weekday(tkw__year_to_day(year));

	s->steps++;
	return s->cron->months_of[tkw__is_leap(year)][first];
}

/* The days of a month that the plan has. */
static uint32_t days_of(struct search *s, int64_t year, int month)
{
	struct tkw__date date = { year, month, 1 };

	s->steps++;
	return tkw__cron_days(s->cron, tkw__days_in(tkw__is_leap(year), month),
			      tkw__weekday(tkw__date_to_day(date)));
}

/* The first day of the plan that is not before a day. Returns false if there is
 * none until 9999. */
static bool next_day(struct search *s, int64_t *day)
{
	struct tkw__date date = tkw__day_to_date(*day);
	uint64_t months = from_bit(months_of(s, date.year), date.month);

	if (months >> date.month & 1) {
		uint64_t days =
			from_bit(days_of(s, date.year, date.month), date.day);

		if (days) {
			*day += lowest(days) - date.day;
			return true;
		}
		months &= months - 1; /* not this month */
	}
	while (months == 0) {
		if (++date.year > 9999)
			return false;
		months = months_of(s, date.year);
	}
	date.month = lowest(months);
	date.day = lowest(days_of(s, date.year, date.month));
	*day = tkw__date_to_day(date);
	return true;
}

static bool previous_day(struct search *s, int64_t *day)
{
	struct tkw__date date = tkw__day_to_date(*day);
	uint64_t months = to_bit(months_of(s, date.year), date.month);

	if (months >> date.month & 1) {
		uint64_t days =
			to_bit(days_of(s, date.year, date.month), date.day);

		if (days) {
			*day += highest(days) - date.day;
			return true;
		}
		months ^= UINT64_C(1) << date.month;
	}
	while (months == 0) {
		if (--date.year < 1900)
			return false;
		months = months_of(s, date.year);
	}
	date.month = highest(months);
	date.day = highest(days_of(s, date.year, date.month));
	*day = tkw__date_to_day(date);
	return true;
}

/* --- times of a day ------------------------------------------------------ */

/* The first time of the plan on a day that is not before a second of the day,
 * or -1. */
static int next_in_day(const struct tkw__cron *c, int at)
{
	int hour = at / 3600;
	int minute = at / 60 % 60;
	uint64_t hours = from_bit(c->hours, hour);
	uint64_t minutes = from_bit(c->minutes, minute);
	uint64_t seconds = from_bit(c->seconds, at % 60);

	if (hours >> hour & 1) {
		if (minutes >> minute & 1 && seconds)
			return hour * 3600 + minute * 60 + lowest(seconds);
		minutes &= ~(UINT64_C(1) << minute);
		if (minutes)
			return hour * 3600 + lowest(minutes) * 60 +
			       lowest(c->seconds);
		hours ^= UINT64_C(1) << hour;
	}
	if (hours == 0)
		return -1;
	return lowest(hours) * 3600 + lowest(c->minutes) * 60 +
	       lowest(c->seconds);
}

static int previous_in_day(const struct tkw__cron *c, int at)
{
	int hour = at / 3600;
	int minute = at / 60 % 60;
	uint64_t hours = to_bit(c->hours, hour);
	uint64_t minutes = to_bit(c->minutes, minute);
	uint64_t seconds = to_bit(c->seconds, at % 60);

	if (hours >> hour & 1) {
		if (minutes >> minute & 1 && seconds)
			return hour * 3600 + minute * 60 + highest(seconds);
		minutes &= ~(UINT64_C(1) << minute);
		if (minutes)
			return hour * 3600 + highest(minutes) * 60 +
			       highest(c->seconds);
		hours ^= UINT64_C(1) << hour;
	}
	if (hours == 0)
		return -1;
	return highest(hours) * 3600 + highest(c->minutes) * 60 +
	       highest(c->seconds);
}

/* --- local times --------------------------------------------------------- */

/* The first local time of the plan that is not before `from`, or
 * TKW__LOCAL_END. */
static int64_t next_local(struct search *s, int64_t from)
{
	int64_t first = from < TKW__LOCAL_BEGIN ? TKW__LOCAL_BEGIN : from;
	int64_t today = tkw__floor_div(first, TKW__DAY_S);
	int64_t day = today;
	int at;

	if (first >= TKW__LOCAL_END || !next_day(s, &day))
		return TKW__LOCAL_END;
	at = next_in_day(s->cron,
			 day == today ? (int)(first - day * TKW__DAY_S) : 0);
	if (at < 0) {
		day++;
		if (day * TKW__DAY_S >= TKW__LOCAL_END || !next_day(s, &day))
			return TKW__LOCAL_END;
		at = next_in_day(s->cron, 0);
	}
	return day * TKW__DAY_S + at;
}

/* The last local time of the plan that is not after `from`, or
 * TKW__LOCAL_BEGIN - 1. */
static int64_t previous_local(struct search *s, int64_t from)
{
	const int end_of_day = (int)TKW__DAY_S - 1;
	int64_t last = from >= TKW__LOCAL_END ? TKW__LOCAL_END - 1 : from;
	int64_t today = tkw__floor_div(last, TKW__DAY_S);
	int64_t day = today;
	int at;

	if (last < TKW__LOCAL_BEGIN || !previous_day(s, &day))
		return TKW__LOCAL_BEGIN - 1;
	at = previous_in_day(s->cron, day == today
					      ? (int)(last - day * TKW__DAY_S)
					      : end_of_day);
	if (at < 0) {
		day--;
		if (day * TKW__DAY_S < TKW__LOCAL_BEGIN ||
		    !previous_day(s, &day))
			return TKW__LOCAL_BEGIN - 1;
		at = previous_in_day(s->cron, end_of_day);
	}
	return day * TKW__DAY_S + at;
}

/* --- pieces of a zone ---------------------------------------------------- */

static struct tkw__piece piece_at(struct search *s, int64_t at_s)
{
	s->steps++;
	return tkw__zone_piece(s->zone, at_s);
}

/* The first local time of the plan that a piece counts. It may be before the
 * local time at its begin, and then comes at its begin. */
static int64_t first_local(const struct search *s,
			   const struct tkw__piece *piece)
{
	if (piece->begin_s == INT64_MIN)
		return TKW__LOCAL_BEGIN;
	return piece->begin_s +
	       (s->cron->any_hour ? piece->offset_s : piece->mark_s);
}

/* The first local time behind a piece. */
static int64_t end_local(const struct tkw__piece *piece)
{
	if (piece->end_s == INT64_MAX)
		return INT64_MAX;
	return piece->end_s + piece->offset_s;
}

/* When a local time that a piece counts comes. */
static int64_t to_time(const struct tkw__piece *piece, int64_t local_s)
{
	int64_t at_s = local_s - piece->offset_s;

	return at_s < piece->begin_s ? piece->begin_s : at_s;
}

static bool next_time(struct search *s, int64_t from_s, int64_t *out_s)
{
	struct tkw__piece piece = piece_at(s, from_s);
	int64_t from = from_s + piece.offset_s;
	int64_t least = first_local(s, &piece);
	int64_t searched; /* there is no local time from here to `found` */
	int64_t found;

	/* At its begin, a piece also counts the times before it. */
	if (from_s == piece.begin_s || from < least)
		from = least;
	searched = from;
	found = next_local(s, from);
	while (found >= end_local(&piece)) {
		int64_t next_s = piece.end_s;

		/* These pieces begin behind `searched` and end before
		 * `found`. */
		if (next_s - FAR_S >= searched && found - FAR_S > next_s)
			next_s = found - FAR_S;
		piece = piece_at(s, next_s);
		from = first_local(s, &piece);
		if (from < searched || from > found) {
			searched = from;
			found = next_local(s, from);
		}
	}
	*out_s = to_time(&piece, found);
	return found < TKW__LOCAL_END;
}

static bool previous_time(struct search *s, int64_t from_s, int64_t *out_s)
{
	struct tkw__piece piece = piece_at(s, from_s);
	int64_t from = from_s + piece.offset_s;
	int64_t searched = from; /* nothing from behind `found` to here */
	int64_t found = previous_local(s, from);

	while (found < first_local(s, &piece)) {
		int64_t last_s;

		if (piece.begin_s == INT64_MIN)
			return false;
		last_s = piece.begin_s - 1;
		/* These pieces end before `searched` and begin behind
		 * `found`. */
		if (last_s + FAR_S <= searched && found + FAR_S < last_s)
			last_s = found + FAR_S;
		piece = piece_at(s, last_s);
		from = end_local(&piece) - 1;
		if (from > searched || from < found) {
			searched = from;
			found = previous_local(s, from);
		}
	}
	*out_s = to_time(&piece, found);
	return found >= TKW__LOCAL_BEGIN;
}

/* --- plans --------------------------------------------------------------- */

/* Keeps a time so near to the years of plans that sums cannot overflow. */
static int64_t clamp(int64_t at_s)
{
	if (at_s < TKW__LOCAL_BEGIN - 2 * FAR_S)
		return TKW__LOCAL_BEGIN - 2 * FAR_S;
	if (at_s > TKW__LOCAL_END + 2 * FAR_S)
		return TKW__LOCAL_END + 2 * FAR_S;
	return at_s;
}

/* Has the plan any time at all? */
static bool comes_ever(const struct tkw__cron *c)
{
	unsigned months = 0;
	int i;

	for (i = 0; i < 7; i++)
		months |= c->months_of[0][i] | c->months_of[1][i];
	return months != 0;
}

int tkw__plan_next(const struct tkw_plan *p, int64_t after_ms, int64_t *out_ms,
		   unsigned *steps)
{
	struct search s = { &p->cron, p->zone, 0 };
	int64_t from_s = clamp(tkw__floor_div(after_ms, 1000) + 1);
	int64_t found_s = 0;
	bool found;

	*steps = 1;
	if (!p->is_cron)
		return tkw__every_next(&p->every, after_ms, out_ms);
	if (!comes_ever(&p->cron))
		return -ENOENT;
	found = next_time(&s, from_s, &found_s);
	*steps = s.steps;
	if (!found)
		return -ENOENT;
	*out_ms = found_s * 1000;
	return 0;
}

int tkw__plan_previous(const struct tkw_plan *p, int64_t before_ms,
		       int64_t *out_ms, unsigned *steps)
{
	struct search s = { &p->cron, p->zone, 0 };
	int64_t from_s;
	int64_t found_s = 0;
	bool found;

	*steps = 1;
	if (!p->is_cron)
		return tkw__every_previous(&p->every, before_ms, out_ms);
	if (!comes_ever(&p->cron) || before_ms == INT64_MIN)
		return -ENOENT;
	from_s = clamp(tkw__floor_div(before_ms - 1, 1000));
	found = previous_time(&s, from_s, &found_s);
	*steps = s.steps;
	if (!found)
		return -ENOENT;
	*out_ms = found_s * 1000;
	return 0;
}

int tkw_plan_next(const struct tkw_plan *p, int64_t after_ms, int64_t *out_ms)
{
	unsigned steps;

	if (p == NULL || out_ms == NULL)
		return -EINVAL;
	return tkw__plan_next(p, after_ms, out_ms, &steps);
}

int tkw_plan_previous(const struct tkw_plan *p, int64_t before_ms,
		      int64_t *out_ms)
{
	unsigned steps;

	if (p == NULL || out_ms == NULL)
		return -EINVAL;
	return tkw__plan_previous(p, before_ms, out_ms, &steps);
}

int tkw_plan_list(const struct tkw_plan *p, int64_t after_ms, int64_t *out_ms,
		  size_t max)
{
	int64_t at_ms = after_ms;
	size_t count = 0;

	if (p == NULL || (out_ms == NULL && max > 0) || max > INT_MAX)
		return -EINVAL;
	while (count < max && tkw_plan_next(p, at_ms, &at_ms) == 0)
		out_ms[count++] = at_ms;
	return (int)count;
}
