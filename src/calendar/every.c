/* SPDX-License-Identifier: MIT */
/* every.c - plans with a period: "every 90s from 2026-01-01T00:00Z". */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calendar/civil.h"
#include "calendar/plan_state.h"

/* All times of a plan are in these. */
#define BEGIN_MS (TKW__LOCAL_BEGIN * 1000)
#define END_MS (TKW__LOCAL_END * 1000)
/* Longer than all the years, and so short that no sum overflows. */
#define MAX_PERIOD_MS (INT64_C(10000) * 366 * TKW__DAY_S * 1000)

/* --- read ---------------------------------------------------------------- */

/* Reads a unit. Returns its milliseconds, or 0. */
static int64_t read_unit(struct tkw__scan *s)
{
	if (tkw__scan_skip(s, 'w'))
		return 7 * TKW__DAY_S * 1000;
	if (tkw__scan_skip(s, 'd'))
		return TKW__DAY_S * 1000;
	if (tkw__scan_skip(s, 'h'))
		return INT64_C(3600) * 1000;
	if (tkw__scan_skip(s, 's'))
		return 1000;
	if (!tkw__scan_skip(s, 'm'))
		return 0;
	return tkw__scan_skip(s, 's') ? 1 : 60000;
}

/* Reads one number with its unit, which must be smaller than the last one. */
static bool read_length(struct tkw__scan *s, int64_t *last_ms, int64_t *sum_ms)
{
	size_t from = s->at;
	size_t at;
	int64_t value;
	int64_t unit_ms;

	if (!tkw__scan_number(s, MAX_PERIOD_MS, &value))
		return tkw__scan_fail(s, from,
				      "Expected a length, such as 90s.");
	at = s->at;
	unit_ms = read_unit(s);
	if (unit_ms == 0)
		return tkw__scan_fail(s, at,
				      "Expected a unit: ms, s, m, h, d or w.");
	if (unit_ms >= *last_ms)
		return tkw__scan_fail(s, at, "Expected a smaller unit.");
	if (value > (MAX_PERIOD_MS - *sum_ms) / unit_ms)
		return tkw__scan_fail(s, from, "Expected a shorter length.");
	*last_ms = unit_ms;
	*sum_ms += value * unit_ms;
	return true;
}

/* Reads 90s or 1h30m. */
static bool read_period(struct tkw__scan *s, int64_t *period_ms)
{
	size_t from = s->at;
	int64_t last_ms = INT64_MAX;
	int64_t sum_ms = 0;

	do {
		if (!read_length(s, &last_ms, &sum_ms))
			return false;
	} while (s->at < s->end && tkw__scan_peek(s) != ' ' &&
		 tkw__scan_peek(s) != '\t');
	*period_ms = sum_ms;
	return sum_ms > 0 ||
	       tkw__scan_fail(s, from, "Expected a length that is not 0.");
}

/* Reads so many digits, with a value from least to most. Further digits are
 * left for the next part of the text, which says what it expects instead. */
static bool read_digits(struct tkw__scan *s, int digits, int least, int most,
			int *out)
{
	size_t from = s->at;
	size_t end = s->end;
	int64_t value;
	bool found;

	if (end - from > (size_t)digits)
		s->end = from + (size_t)digits;
	found = tkw__scan_number(s, most, &value) &&
		s->at - from == (size_t)digits;
	s->end = end;
	if (!found || value < least || value > most)
		return tkw__scan_fail(s, from,
				      "Expected %d digits, %0*d to %0*d.",
				      digits, digits, least, digits, most);
	*out = (int)value;
	return true;
}

static bool read_mark(struct tkw__scan *s, char c)
{
	return tkw__scan_skip(s, c) ||
	       tkw__scan_fail(s, s->at, "Expected %c, as in 2026-01-01T00:00Z.",
			      c);
}

static bool read_date(struct tkw__scan *s, int64_t *day)
{
	struct tkw__date date = { 0, 1, 1 };
	int year = 0;

	if (!read_digits(s, 4, 1900, 9999, &year) || !read_mark(s, '-') ||
	    !read_digits(s, 2, 1, 12, &date.month) || !read_mark(s, '-') ||
	    !read_digits(s, 2, 1, tkw__days_in(tkw__is_leap(year), date.month),
			 &date.day))
		return false;
	date.year = year;
	*day = tkw__date_to_day(date);
	return true;
}

static bool read_minutes(struct tkw__scan *s, int *minutes)
{
	int hours = 0;

	*minutes = 0;
	if (!read_digits(s, 2, 0, 23, &hours) || !read_mark(s, ':') ||
	    !read_digits(s, 2, 0, 59, minutes))
		return false;
	*minutes += hours * 60;
	return true;
}

/* Reads hh:mm[:ss[.mmm]]. */
static bool read_clock(struct tkw__scan *s, int64_t *ms)
{
	int minutes = 0;
	int seconds = 0;
	int rest = 0;

	if (!read_minutes(s, &minutes))
		return false;
	if (tkw__scan_skip(s, ':')) {
		if (!read_digits(s, 2, 0, 59, &seconds))
			return false;
		if (tkw__scan_skip(s, '.') && !read_digits(s, 3, 0, 999, &rest))
			return false;
	}
	*ms = ((int64_t)minutes * 60 + seconds) * 1000 + rest;
	return true;
}

/* Reads Z or +02:00. */
static bool read_offset(struct tkw__scan *s, int64_t *ms)
{
	int sign = tkw__scan_peek(s) == '-' ? -1 : 1;
	int minutes = 0;

	*ms = 0;
	if (tkw__scan_skip(s, 'Z'))
		return true;
	if (!tkw__scan_skip(s, '+') && !tkw__scan_skip(s, '-'))
		return tkw__scan_fail(
			s, s->at, "Expected Z or an offset such as +02:00.");
	if (!read_minutes(s, &minutes))
		return false;
	*ms = (int64_t)sign * minutes * 60000;
	return true;
}

static bool read_from(struct tkw__scan *s, int64_t *from_ms)
{
	size_t from = s->at;
	int64_t day = 0;
	int64_t clock_ms = 0;
	int64_t offset_ms = 0;

	if (!read_date(s, &day) || !read_mark(s, 'T') ||
	    !read_clock(s, &clock_ms) || !read_offset(s, &offset_ms))
		return false;
	*from_ms = day * TKW__DAY_S * 1000 + clock_ms - offset_ms;
	if (*from_ms < BEGIN_MS || *from_ms >= END_MS)
		return tkw__scan_fail(
			s, from, "Expected a time in the years 1900 to 9999.");
	return true;
}

bool tkw__every_read(struct tkw__scan *s, struct tkw__every *e)
{
	tkw__scan_blanks(s);
	if (!read_period(s, &e->period_ms))
		return false;
	tkw__scan_blanks(s);
	if (s->at < s->end) {
		if (!tkw__scan_word(s, "from"))
			return tkw__scan_fail(
				s, s->at,
				"Expected \"from\" or the end of the plan.");
		e->has_from = true;
		tkw__scan_blanks(s);
		if (!read_from(s, &e->from_ms))
			return false;
		tkw__scan_blanks(s);
	}
	return s->at == s->end ||
	       tkw__scan_fail(s, s->at, "Expected the end of the plan.");
}

/* --- next and previous --------------------------------------------------- */

static int64_t begin_of(const struct tkw__every *e)
{
	return e->has_from ? e->from_ms : BEGIN_MS;
}

/* The last time of the endless series that is not later than at_ms, which is
 * near the years 1900 to 9999. */
static int64_t floor_to_series(const struct tkw__every *e, int64_t at_ms)
{
	int64_t count = tkw__floor_div(at_ms - e->from_ms, e->period_ms);

	return e->from_ms + count * e->period_ms;
}

int tkw__every_next(const struct tkw__every *e, int64_t after_ms,
		    int64_t *out_ms)
{
	int64_t begin_ms = begin_of(e);
	int64_t next_ms;

	if (after_ms >= END_MS)
		return -ENOENT;
	if (after_ms < begin_ms)
		after_ms = begin_ms - 1;
	next_ms = floor_to_series(e, after_ms) + e->period_ms;
	if (next_ms >= END_MS)
		return -ENOENT;
	*out_ms = next_ms;
	return 0;
}

int tkw__every_previous(const struct tkw__every *e, int64_t before_ms,
			int64_t *out_ms)
{
	int64_t last_ms;

	if (before_ms <= begin_of(e))
		return -ENOENT;
	if (before_ms > END_MS)
		before_ms = END_MS;
	last_ms = floor_to_series(e, before_ms - 1);
	if (last_ms < begin_of(e))
		return -ENOENT;
	*out_ms = last_ms;
	return 0;
}
