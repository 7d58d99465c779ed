/* SPDX-License-Identifier: MIT */
/*
 * civil.h - dates of the Gregorian calendar, which is taken to hold for ever.
 *
 * A day is a count from 1970-01-01, which is day 0. A local time is a count of
 * seconds from the first moment of day 0, without regard to any zone.
 */
#ifndef TKW_CALENDAR_CIVIL_H
#define TKW_CALENDAR_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

#define TKW__DAY_S INT64_C(86400)
/* The first local time of the year 1900, and the first one after 9999. */
#define TKW__LOCAL_BEGIN INT64_C(-2208988800)
#define TKW__LOCAL_END INT64_C(253402300800)

struct tkw__date {
	int64_t year;
	int month; /* from 1 */
	int day;   /* from 1 */
};

/* Division that rounds down. b is positive. */
static inline int64_t tkw__floor_div(int64_t a, int64_t b)
{
	int64_t q = a / b;

	return q - (a % b < 0);
}

static inline bool tkw__is_leap(int64_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* The day of January 1. */
static inline int64_t tkw__year_to_day(int64_t year)
{
	int64_t past = year - 1;

	/* There were 477 leap days before 1970. */
	return 365 * (year - 1970) + tkw__floor_div(past, 4) -
	       tkw__floor_div(past, 100) + tkw__floor_div(past, 400) - 477;
}

/* 400 years have 146097 days. */
static inline int64_t tkw__day_to_year(int64_t day)
{
	int64_t year = 1970 + tkw__floor_div(day * 400, 146097);

	while (tkw__year_to_day(year) > day)
		year--;
	while (tkw__year_to_day(year + 1) <= day)
		year++;
	return year;
}

/* How many days of a year are before a month. Month 13 gives the length of the
 * year. */
static inline int tkw__days_before(bool leap, int month)
{
	static const int16_t before[16] = { 0,   0,   31,  59,  90,  120, 151,
					    181, 212, 243, 273, 304, 334, 365 };

	/* The mask tells analyzers that the place is in the table. */
	return before[month & 15] + (leap && month > 2);
}

static inline int tkw__days_in(bool leap, int month)
{
	return tkw__days_before(leap, month + 1) -
	       tkw__days_before(leap, month);
}

static inline int64_t tkw__date_to_day(struct tkw__date date)
{
	bool leap = tkw__is_leap(date.year);

	return tkw__year_to_day(date.year) +
	       tkw__days_before(leap, date.month) + date.day - 1;
}

static inline struct tkw__date tkw__day_to_date(int64_t day)
{
	struct tkw__date date = { tkw__day_to_year(day), 1, 1 };
	int rest = (int)(day - tkw__year_to_day(date.year));
	bool leap = tkw__is_leap(date.year);

	/* No month is shorter than 28 days or longer than 31. */
	date.month = rest / 32 + 1;
	while (tkw__days_before(leap, date.month + 1) <= rest)
		date.month++;
	date.day = rest - tkw__days_before(leap, date.month) + 1;
	return date;
}

/* Sunday is 0. 1970-01-01 was a Thursday. */
static inline int tkw__weekday(int64_t day)
{
	int64_t rest = (day + 4) % 7;

	return (int)(rest < 0 ? rest + 7 : rest);
}

#endif /* TKW_CALENDAR_CIVIL_H */
