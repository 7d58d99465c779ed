/* SPDX-License-Identifier: MIT */
/* test_plan.c - plans: their texts, their times, and their bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calendar/plan_state.h"
#include "tickwheel/calendar.h"

enum {
	TEXT = 512,
	/* 41 years, the months of two of them, and the pieces of a zone around
	 * the start and around the end. */
	MAX_STEPS = 60
};

#define BEGIN_MS (INT64_C(-2208988800) * 1000)
#define END_MS (INT64_C(253402300800) * 1000)

static struct tkw_zone *zone_of(const char *name)
{
	struct tkw_zone *z = NULL;

	if (name)
		assert_int_equal(tkw_zone_open(&z, name, NULL), 0);
	return z;
}

static struct tkw_plan *plan_of(const char *text, const char *zone)
{
	struct tkw_zone *z = zone_of(zone);
	struct tkw_plan_error error = { 0, "" };
	struct tkw_plan *p = NULL;

	if (tkw_plan_create(&p, text, z, &error) < 0)
		fail_msg("\"%s\": %zu: %s", text, error.position, error.text);
	/* The plan keeps the zone. */
	assert_int_equal(tkw_zone_close(z), 0);
	return p;
}

/* A time as "every ... from" reads it. */
static int64_t ms_of(const char *when)
{
	char text[80];
	struct tkw_plan *p;
	int64_t at_ms = 0;

	(void)snprintf(text, sizeof(text), "every 1ms from %s", when);
	p = plan_of(text, NULL);
	assert_int_equal(tkw_plan_next(p, INT64_MIN, &at_ms), 0);
	tkw_plan_destroy(p);
	return at_ms;
}

/* Checks the times of a plan after a time, and the same backwards. `want` ends
 * with NULL. */
static void times_are(const char *text, const char *zone, const char *after,
		      const char *const *want)
{
	struct tkw_plan *p = plan_of(text, zone);
	struct tkw_zone *z = zone_of(zone);
	int64_t at_ms = ms_of(after);
	int64_t back_ms;
	char got[TEXT];

	for (; *want; want++) {
		int64_t before_ms = at_ms;

		assert_int_equal(tkw_plan_next(p, at_ms, &at_ms), 0);
		assert_true(at_ms > before_ms);
		tkw_zone_print(z, at_ms, got, sizeof(got));
		if (strcmp(got, *want) != 0)
			fail_msg("\"%s\": %s instead of %s", text, got, *want);
		assert_int_equal(tkw_plan_previous(p, at_ms + 1, &back_ms), 0);
		assert_int_equal(back_ms, at_ms);
	}
	tkw_plan_destroy(p);
	tkw_zone_close(z);
}

#define TIMES(text, zone, after, ...)                                          \
	times_are(text, zone, after, (const char *const[]){ __VA_ARGS__, NULL })

/* --- the text ------------------------------------------------------------ */

static void is_refused(const char *text, size_t position, const char *word)
{
	struct tkw_plan *p = (struct tkw_plan *)1;
	struct tkw_plan_error error = { SIZE_MAX, "" };

	assert_int_equal(tkw_plan_create(&p, text, NULL, &error), -EINVAL);
	assert_ptr_equal(p, (struct tkw_plan *)1);
	if (error.position != position || strstr(error.text, word) == NULL)
		fail_msg("\"%s\": %zu: %s", text, error.position, error.text);
	assert_true(strncmp(error.text, "Expected ", 9) == 0);
	assert_int_equal(error.text[strlen(error.text) - 1], '.');
	assert_int_equal(tkw_plan_create(&p, text, NULL, NULL), -EINVAL);
}

/* SPEC 12.2 */
static void test_plan_bad_text_has_a_position(void **state)
{
	char longest[TKW_PLAN_MAX_TEXT + 2];

	(void)state;
	is_refused("", 0, "fields");
	is_refused("   ", 3, "fields");
	is_refused("* * * *", 7, "weekday");
	is_refused("* * * * * * *", 12, "end of the plan");
	is_refused("60 * * * *", 0, "a minute, 0 to 59");
	is_refused("* 24 * * *", 2, "an hour, 0 to 23");
	is_refused("* * 0 * *", 4, "a day, 1 to 31");
	is_refused("* * 32 * *", 4, "a day, 1 to 31");
	is_refused("* * * 13 *", 6, "a month, 1 to 12");
	is_refused("* * * jann *", 9, "comma");
	is_refused("* * * * 8", 8, "a weekday, 0 to 7");
	is_refused("* * * * fri#6", 12, "1 to 5");
	is_refused("* * * * fri#", 12, "1 to 5");
	is_refused("60 * * * * *", 0, "a second");
	is_refused("1,2,x * * * *", 4, "a minute");
	is_refused("1,, * * * *", 2, "a minute");
	is_refused("5-3 * * * *", 2, "not less than 5");
	is_refused("5- * * * *", 2, "a minute");
	is_refused("*/0 * * * *", 2, "a step, 1 to 60");
	is_refused("*/61 * * * *", 2, "a step, 1 to 60");
	is_refused("*/ * * * *", 2, "a step");
	is_refused("99999999999999999999999 * * * *", 0, "a minute");
	is_refused("* * L-31 * *", 6, "0 to 30");
	is_refused("* * L-3W * *", 7, "comma");
	is_refused("* * 1-5W * *", 7, "comma");
	is_refused("* L * * *", 2, "an hour");
	is_refused("* * 5L * *", 5, "comma");
	is_refused("* * * * 5W", 9, "comma");
	is_refused("**", 1, "comma");
	is_refused("@reboot", 0, "@reboot");
	is_refused("@weakly", 0, "@weekly");
	is_refused("@daily x", 7, "end of the plan");
	is_refused("every", 5, "90s");
	is_refused("every 90", 8, "a unit");
	is_refused("every 0s", 6, "not 0");
	is_refused("every 5m1h", 9, "smaller unit");
	is_refused("every 99999999999w", 6, "shorter");
	is_refused("every 1s till", 9, "from");
	is_refused("every 1s from 2026-13-01T00:00Z", 19, "01 to 12");
	is_refused("every 1s from 2026-02-29T00:00Z", 22, "01 to 28");
	is_refused("every 1s from 2026-01-01T00:00", 30, "Z or an offset");
	is_refused("every 1d from 2026-01-01T00:00:00.123456Z", 37,
		   "Z or an offset");
	is_refused("every 1s from 2026-01-01T00:00:00.12Z", 34, "3 digits");
	is_refused("every 1s from 20266-01-01T00:00Z", 18, "Expected -");
	is_refused("every 1s from 2026-01-01 00:00Z", 24, "Expected T");
	is_refused("every 1s from 1900-01-01T00:00+01:00", 14, "1900");
	is_refused("every 1s from 2026-01-01T00:00Zx", 31, "end");
	memset(longest, ' ', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	is_refused(longest, TKW_PLAN_MAX_TEXT, "255 bytes");
	is_refused("\xff * * * *", 0, "a minute");
	is_refused("1\n* * * *", 1, "comma");
}

static void test_plan_keeps_its_text(void **state)
{
	char longest[TKW_PLAN_MAX_TEXT + 1];
	struct tkw_plan *p;

	(void)state;
	memset(longest, ' ', sizeof(longest) - 1);
	memcpy(longest, "@daily", 6);
	longest[sizeof(longest) - 1] = 0;
	p = plan_of(longest, NULL);
	assert_string_equal(tkw_plan_text(p), longest);
	tkw_plan_destroy(p);
	assert_null(tkw_plan_text(NULL));
}

static void prints(const char *text, const char *zone, const char *words)
{
	struct tkw_plan *p = plan_of(text, zone);
	char got[TEXT];
	char cut[8];
	int len = tkw_plan_print(p, got, sizeof(got));

	if (strcmp(got, words) != 0)
		fail_msg("\"%s\": \"%s\" instead of \"%s\"", text, got, words);
	assert_int_equal(len, strlen(words));
	assert_int_equal(tkw_plan_print(p, cut, sizeof(cut)), len);
	assert_int_equal(strncmp(cut, words, 7), 0);
	assert_int_equal(cut[7], 0);
	assert_int_equal(tkw_plan_print(p, NULL, 0), len);
	tkw_plan_destroy(p);
}

static void test_plan_prints_in_words(void **state)
{
	(void)state;
	prints("30 2 * * 5L", "Europe/Berlin",
	       "at 02:30 on the last Friday of each month, Europe/Berlin");
	prints("* * * * *", NULL, "every minute, UTC");
	prints("* * * * * *", NULL, "every second, UTC");
	prints("*/15 * * * *", NULL, "every 15 minutes, UTC");
	prints("@hourly", NULL, "every hour, UTC");
	prints("0 */2 * * *", NULL, "every 2 hours, UTC");
	prints("@daily", NULL, "at 00:00 each day, UTC");
	prints("0 9,17 * * 1-5", NULL,
	       "at 09:00 and 17:00 on Monday to Friday, UTC");
	prints("5 4 3 2 1 *", NULL, "at 03:04:05 on day 2 of January, UTC");
	prints("0 0 1 jan *", NULL, "at 00:00 on day 1 of January, UTC");
	prints("0 0 L * *", NULL,
	       "at 00:00 on the last day of each month, UTC");
	prints("0 0 L-3,LW * *", NULL,
	       "at 00:00 on the 3rd day before the last day or the last "
	       "weekday "
	       "of each month, UTC");
	prints("0 0 L-1 * *", NULL,
	       "at 00:00 on the day before the last day of each month, UTC");
	prints("0 0 L-22,L-21,L-12 * *", NULL,
	       "at 00:00 on the 22nd day before the last day or the 21st day "
	       "before the last day or the 12th day before the last day of "
	       "each "
	       "month, UTC");
	prints("0 0 15W * *", NULL,
	       "at 00:00 on the weekday next to day 15 of each month, UTC");
	prints("0 0 13 * fri", NULL,
	       "at 00:00 on day 13 of each month or on Friday, UTC");
	prints("0 0 */10 * fri", NULL,
	       "at 00:00 on days 1, 11, 21 and 31 of each month, but only on "
	       "Friday, UTC");
	prints("0 0 */10 jan 5L", NULL,
	       "at 00:00 on days 1, 11, 21 and 31 of January, but only on the "
	       "last Friday of January, UTC");
	prints("0 0 */10 jan mon,wed", NULL,
	       "at 00:00 on days 1, 11, 21 and 31 of January, but only on "
	       "Monday and Wednesday, UTC");
	prints("0 0 29 feb mon", NULL,
	       "at 00:00 on day 29 of February or on Monday in February, UTC");
}

static void test_plan_prints_steps_in_words(void **state)
{
	(void)state;
	prints("5 */2 * * *", NULL, "at minute 5 of every 2nd hour, UTC");
	prints("*/15 */3 * * *", NULL,
	       "every 15 minutes of every 3rd hour, UTC");
	prints("* */4 * * *", NULL, "every minute of every 4th hour, UTC");
	prints("*/20 9-17 * * *", NULL,
	       "every 20 minutes of hours 9 to 17, UTC");
	prints("5 * * * * *", NULL, "at second 5 of every minute, UTC");
	prints("*/10 */5 * * * *", NULL,
	       "every 10 seconds of every 5th minute, UTC");
	prints("* 5 * * * *", NULL,
	       "every second of minute 5 of every hour, UTC");
	prints("*/10 * 9 * * *", NULL, "every 10 seconds of hour 9, UTC");
	prints("5,10 */20 */2 * * *", NULL,
	       "at seconds 5 and 10 of every 20th minute of every 2nd hour, "
	       "UTC");
}

/* Without a star, an hour that the clocks repeat counts once. */
static void test_plan_prints_hours_without_a_star(void **state)
{
	(void)state;
	prints("30 * * * *", NULL, "at minute 30 of every hour, UTC");
	prints("30 0-23 * * *", NULL, "at minute 30 of hours 0 to 23, UTC");
	prints("0 * * * *", NULL, "every hour, UTC");
	prints("0 0-23 * * *", NULL, "at minute 0 of hours 0 to 23, UTC");
	prints("* 0-23 * * *", NULL, "every minute of hours 0 to 23, UTC");
	prints("5 0-23/2 * * *", NULL,
	       "at minute 5 of hours 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20 and "
	       "22, UTC");
	prints("0 0/3 * * *", NULL,
	       "at minute 0 of hours 0, 3, 6, 9, 12, 15, 18 and 21, UTC");
}

static void test_plan_prints_days_in_words(void **state)
{
	(void)state;
	prints("0 0 * jun-aug sun", NULL,
	       "at 00:00 on Sunday in June to August, UTC");
	prints("0 0 * 6 *", NULL, "at 00:00 each day in June, UTC");
	/* A 7 is Sunday everywhere. */
	prints("0 0 * * 1/2", NULL,
	       "at 00:00 on Monday, Wednesday, Friday and Sunday, UTC");
	prints("0 0 * * 7-2", NULL,
	       "at 00:00 on Monday, Tuesday and Sunday, UTC");
	prints("0 0 * * sat-7", NULL, "at 00:00 on Saturday and Sunday, UTC");
	prints("0 0 * * 7L,7#2", NULL,
	       "at 00:00 on the second Sunday or the last Sunday of each "
	       "month, UTC");
	prints("0 12 * * mon#2", NULL,
	       "at 12:00 on the second Monday of each month, UTC");
	prints("5 9-17 * * *", NULL, "at minute 5 of hours 9 to 17, UTC");
	prints("1,2,9 * * * *", NULL,
	       "at minutes 1, 2 and 9 of every hour, UTC");
	prints("*/10 * * * * *", NULL, "every 10 seconds, UTC");
	prints("every 90s", NULL, "every 1 minute 30 seconds");
	prints("every 60m", NULL, "every hour");
	prints("every 2h", NULL, "every 2 hours");
	prints("every 1w2d from 2026-01-01T00:00:00.500Z", NULL,
	       "every 1 week 2 days from 2026-01-01T00:00:00.500Z");
}

/* --- times --------------------------------------------------------------- */

/* SPEC 12.1 */
static void test_plan_days(void **state)
{
	(void)state;
	TIMES("0 0 15W * *", NULL, "2026-01-01T00:00Z", "2026-01-15T00:00:00Z",
	      "2026-02-16T00:00:00Z", "2026-03-16T00:00:00Z",
	      "2026-04-15T00:00:00Z", "2026-05-15T00:00:00Z");
	/* In the same month, also at its ends. */
	TIMES("0 0 1W 8 *", NULL, "2026-01-01T00:00Z", "2026-08-03T00:00:00Z",
	      "2027-08-02T00:00:00Z");
	TIMES("0 0 31W 5 *", NULL, "2026-01-01T00:00Z", "2026-05-29T00:00:00Z",
	      "2027-05-31T00:00:00Z");
	TIMES("0 0 31W * *", NULL, "2026-03-31T00:00Z", "2026-05-29T00:00:00Z");
	TIMES("0 0 LW * *", NULL, "2026-01-01T00:00Z", "2026-01-30T00:00:00Z",
	      "2026-02-27T00:00:00Z", "2026-03-31T00:00:00Z",
	      "2026-04-30T00:00:00Z", "2026-05-29T00:00:00Z");
	TIMES("0 0 L-1 2 *", NULL, "2027-01-01T00:00Z", "2027-02-27T00:00:00Z",
	      "2028-02-28T00:00:00Z");
	TIMES("0 0 13 * fri", NULL, "2026-11-01T00:00Z", "2026-11-06T00:00:00Z",
	      "2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z",
	      "2026-11-27T00:00:00Z", "2026-12-04T00:00:00Z",
	      "2026-12-11T00:00:00Z", "2026-12-13T00:00:00Z");
	TIMES("0 0 * * mon#5", NULL, "2026-10-01T00:00Z",
	      "2026-11-30T00:00:00Z", "2027-03-29T00:00:00Z");
	TIMES("0 0 * * 7", NULL, "2026-11-18T00:00Z", "2026-11-22T00:00:00Z");
	TIMES("0 0 * * L", NULL, "2026-11-18T00:00Z", "2026-11-21T00:00:00Z");
	TIMES("0 0 ? * fri-mon", NULL, "2026-11-18T00:00Z",
	      "2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z",
	      "2026-11-22T00:00:00Z", "2026-11-23T00:00:00Z",
	      "2026-11-27T00:00:00Z");
	TIMES("5/25 0 1 1 *", NULL, "2026-12-01T00:00Z", "2027-01-01T00:05:00Z",
	      "2027-01-01T00:30:00Z", "2027-01-01T00:55:00Z",
	      "2028-01-01T00:05:00Z");
	TIMES("58/1 59 23 31 DEC ?", NULL, "2026-12-01T00:00Z",
	      "2026-12-31T23:59:58Z", "2026-12-31T23:59:59Z",
	      "2027-12-31T23:59:58Z");
}

static void test_plan_skipped_times_come_once_after_the_gap(void **state)
{
	(void)state;
	TIMES("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z",
	      "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00");
	TIMES("*/20 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00Z",
	      "2026-03-29T03:00:00+02:00", "2026-03-29T03:20:00+02:00");
	/* Midnight does not exist. */
	TIMES("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00Z",
	      "2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00");
	TIMES("30 0 * * *", "Asia/Beirut", "2022-03-26T12:00Z",
	      "2022-03-27T01:00:00+03:00", "2022-03-28T00:30:00+03:00");
	/* Half an hour. */
	TIMES("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00Z",
	      "2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00");
	/* A whole day. */
	TIMES("0 12 * * *", "Pacific/Apia", "2011-12-29T12:00Z",
	      "2011-12-29T12:00:00-10:00", "2011-12-31T00:00:00+14:00",
	      "2011-12-31T12:00:00+14:00");
	/* By the rule at the end of the file. */
	TIMES("30 2 * * *", "Europe/Berlin", "2300-03-24T12:00Z",
	      "2300-03-25T03:00:00+02:00", "2300-03-26T02:30:00+02:00");
	/* The evening before, in the west of Greenland. */
	TIMES("30 23 * * *", "America/Nuuk", "2026-03-28T12:00Z",
	      "2026-03-29T00:00:00-01:00", "2026-03-29T23:30:00-01:00");
}

static void test_plan_repeated_times_come_the_first_time(void **state)
{
	(void)state;
	TIMES("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z",
	      "2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00");
	TIMES("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00Z",
	      "2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30");
	/* In Ireland the winter is the exception. */
	TIMES("30 1 * * *", "Europe/Dublin", "2026-10-24T12:00Z",
	      "2026-10-25T01:30:00+01:00", "2026-10-26T01:30:00+00:00");
	TIMES("30 2 * * *", "Africa/Casablanca", "2026-02-14T12:00Z",
	      "2026-02-15T02:30:00+01:00", "2026-02-16T02:30:00+00:00");
	/* The standard time changed by half an hour. */
	TIMES("45 23 * * *", "Asia/Pyongyang", "2015-08-13T16:00Z",
	      "2015-08-14T23:45:00+09:00", "2015-08-15T23:45:00+08:30");
}

/* The next local time is a year away, but this one is repeated before. */
static void test_plan_repeats_a_rare_time(void **state)
{
	struct tkw_plan *p = plan_of("30 */24 25 10 *", "Atlantic/Azores");
	int64_t at_ms = ms_of("2026-10-25T01:30Z");

	(void)state;
	TIMES("30 */24 25 10 *", "Atlantic/Azores", "2026-10-01T00:00Z",
	      "2026-10-25T00:30:00+00:00", "2026-10-25T00:30:00-01:00",
	      "2027-10-25T00:30:00+00:00");
	assert_int_equal(tkw_plan_previous(p, at_ms, &at_ms), 0);
	assert_int_equal(at_ms, ms_of("2026-10-25T00:30Z"));
	tkw_plan_destroy(p);
}

/* A search may begin right at a change of the clock, or in what it repeats. */
static void test_plan_searches_from_a_change_of_the_clock(void **state)
{
	struct tkw_plan *p = plan_of("30 2 * * *", "Europe/Berlin");
	int64_t at_ms = 0;

	(void)state;
	TIMES("30 2 * * *", "Europe/Berlin", "2026-03-29T00:59:59.999Z",
	      "2026-03-29T03:00:00+02:00");
	TIMES("30 2 * * *", "Europe/Berlin", "2026-03-29T01:00Z",
	      "2026-03-30T02:30:00+02:00");
	TIMES("30 2 * * *", "Europe/Berlin", "2026-10-25T00:59:59.999Z",
	      "2026-10-26T02:30:00+01:00");
	TIMES("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10Z",
	      "2026-10-26T02:30:00+01:00");
	assert_int_equal(
		tkw_plan_previous(p, ms_of("2026-10-25T01:40Z"), &at_ms), 0);
	assert_int_equal(at_ms, ms_of("2026-10-25T00:30Z"));
	assert_int_equal(
		tkw_plan_previous(p, ms_of("2026-03-29T01:00Z"), &at_ms), 0);
	assert_int_equal(at_ms, ms_of("2026-03-28T01:30Z"));
	tkw_plan_destroy(p);
	/* 02:30 was skipped. */
	p = plan_of("30 */2 * * *", "Europe/Berlin");
	assert_int_equal(
		tkw_plan_previous(p, ms_of("2026-03-29T02:00Z"), &at_ms), 0);
	assert_int_equal(at_ms, ms_of("2026-03-28T23:30Z"));
	tkw_plan_destroy(p);
}

static void test_plan_with_any_hour_follows_the_clock(void **state)
{
	(void)state;
	TIMES("30 * * * *", "Europe/Berlin", "2026-03-29T00:00Z",
	      "2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00");
	TIMES("30 */2 * * *", "Europe/Berlin", "2026-03-29T00:00Z",
	      "2026-03-29T04:30:00+02:00");
	TIMES("30 * * * *", "Europe/Berlin", "2026-10-24T23:45Z",
	      "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00",
	      "2026-10-25T03:30:00+01:00");
	TIMES("30 */2 * * *", "Europe/Berlin", "2026-10-24T23:45Z",
	      "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00",
	      "2026-10-25T04:30:00+01:00");
}

static void test_plan_every(void **state)
{
	static const int64_t far[] = { INT64_MIN, INT64_MIN + 1, INT64_MAX };
	struct tkw_plan *p =
		plan_of("every 7s from 2026-01-01T00:00+01:00", NULL);
	int64_t from_ms = ms_of("2025-12-31T23:00Z");
	int64_t got_ms = 0;
	size_t i;

	(void)state;
	assert_int_equal(tkw_plan_next(p, INT64_MIN, &got_ms), 0);
	assert_int_equal(got_ms, from_ms);
	assert_int_equal(tkw_plan_next(p, from_ms - 1, &got_ms), 0);
	assert_int_equal(got_ms, from_ms);
	assert_int_equal(tkw_plan_next(p, from_ms, &got_ms), 0);
	assert_int_equal(got_ms, from_ms + 7000);
	assert_int_equal(tkw_plan_previous(p, from_ms, &got_ms), -ENOENT);
	assert_int_equal(tkw_plan_previous(p, from_ms + 1, &got_ms), 0);
	assert_int_equal(got_ms, from_ms);
	assert_int_equal(tkw_plan_previous(p, INT64_MAX, &got_ms), 0);
	assert_true(got_ms < END_MS && got_ms >= END_MS - 7000);
	assert_int_equal(tkw_plan_next(p, got_ms, &got_ms), -ENOENT);
	tkw_plan_destroy(p);

	p = plan_of("every 520000w", NULL);
	assert_int_equal(tkw_plan_next(p, -1, &got_ms), 0);
	assert_int_equal(got_ms, 0);
	assert_int_equal(tkw_plan_next(p, 0, &got_ms), -ENOENT);
	for (i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
		int err = tkw_plan_next(p, far[i], &got_ms);

		assert_int_equal(err, far[i] > 0 ? -ENOENT : 0);
		err = tkw_plan_previous(p, far[i], &got_ms);
		assert_int_equal(err, far[i] > 0 ? 0 : -ENOENT);
	}
	tkw_plan_destroy(p);
}

static void test_plan_knows_the_years_1900_to_9999(void **state)
{
	static const char *const zones[] = { NULL, "Pacific/Apia",
					     "America/New_York" };
	struct tkw_plan *back;
	int64_t at_ms = 0;
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct tkw_plan *p = plan_of("* * * * * *", zones[i]);
		struct tkw_zone *z = zone_of(zones[i]);
		char got[TEXT];

		assert_int_equal(tkw_plan_next(p, INT64_MIN, &at_ms), 0);
		tkw_zone_print(z, at_ms, got, sizeof(got));
		assert_int_equal(strncmp(got, "1900-01-01T00:00:00", 19), 0);
		assert_int_equal(tkw_plan_previous(p, at_ms, &at_ms), -ENOENT);
		assert_int_equal(tkw_plan_previous(p, INT64_MAX, &at_ms), 0);
		tkw_zone_print(z, at_ms, got, sizeof(got));
		assert_int_equal(strncmp(got, "9999-12-31T23:59:59", 19), 0);
		assert_int_equal(tkw_plan_next(p, at_ms, &at_ms), -ENOENT);
		assert_int_equal(tkw_plan_next(p, INT64_MAX, &at_ms), -ENOENT);
		assert_int_equal(tkw_plan_previous(p, INT64_MIN, &at_ms),
				 -ENOENT);
		tkw_plan_destroy(p);
		tkw_zone_close(z);
	}
	/* The time before 1970 would be in 1870. */
	back = plan_of("every 36525d", NULL);
	assert_int_equal(tkw_plan_previous(back, 0, &at_ms), -ENOENT);
	assert_int_equal(tkw_plan_previous(back, 1, &at_ms), 0);
	assert_int_equal(at_ms, 0);
	tkw_plan_destroy(back);
}

/* Counts the steps of a plan from many years, to both sides. */
static unsigned max_steps(const char *text, const char *zone, bool comes)
{
	struct tkw_plan *p = plan_of(text, zone);
	unsigned most = 0;
	int64_t at_ms;

	for (at_ms = BEGIN_MS; at_ms < END_MS;
	     at_ms += INT64_C(86400000) * 1461) {
		unsigned steps = 0;
		int64_t got_ms = 0;
		int err = tkw__plan_next(p, at_ms, &got_ms, &steps);

		assert_true(comes || err == -ENOENT);
		assert_true(err < 0 || got_ms > at_ms);
		most = steps > most ? steps : most;
		err = tkw__plan_previous(p, at_ms, &got_ms, &steps);
		assert_true(comes || err == -ENOENT);
		assert_true(err < 0 || got_ms < at_ms);
		most = steps > most ? steps : most;
	}
	tkw_plan_destroy(p);
	return most;
}

/* A plan that never comes says so, and a rare one is found, in bounded steps.
 */
static void test_plan_search_is_bounded(void **state)
{
	static const char *const zones[] = { NULL, "Europe/Berlin",
					     "Africa/Casablanca",
					     "Australia/Lord_Howe" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
		assert_int_equal(max_steps("0 0 31 feb *", zones[i], false), 1);
		assert_int_equal(max_steps("0 0 30,31 2 *", zones[i], false),
				 1);
		assert_int_equal(max_steps("0 0 L-30 feb *", zones[i], false),
				 1);
		assert_int_equal(
			max_steps("0 0 31W 4,6,9,11 *", zones[i], false), 1);
		assert_true(max_steps("0 0 29 2 *", zones[i], true) <=
			    MAX_STEPS);
		assert_true(max_steps("0 0 * 2 mon#5", zones[i], true) <=
			    MAX_STEPS);
		assert_true(max_steps("0 * * feb thu#5", zones[i], true) <=
			    MAX_STEPS);
		assert_true(max_steps("* * * * * *", zones[i], true) <=
			    MAX_STEPS);
	}
}

static void test_plan_list(void **state)
{
	struct tkw_plan *p = plan_of("59 59 23 31 12 *", NULL);
	int64_t out_ms[4] = { 0, 0, 0, 77 };

	(void)state;
	assert_int_equal(tkw_plan_list(p, 0, out_ms, 3), 3);
	assert_int_equal(out_ms[0], ms_of("1970-12-31T23:59:59Z"));
	assert_int_equal(out_ms[2], ms_of("1972-12-31T23:59:59Z"));
	assert_int_equal(out_ms[3], 77);
	assert_int_equal(
		tkw_plan_list(p, ms_of("9998-01-01T00:00Z"), out_ms, 3), 2);
	assert_int_equal(tkw_plan_list(p, 0, NULL, 0), 0);
	assert_int_equal(tkw_plan_list(p, 0, NULL, 1), -EINVAL);
	assert_int_equal(tkw_plan_list(p, 0, out_ms, (size_t)INT_MAX + 1),
			 -EINVAL);
	assert_int_equal(tkw_plan_list(NULL, 0, out_ms, 1), -EINVAL);
	tkw_plan_destroy(p);
}

static void test_plan_refuses_null(void **state)
{
	struct tkw_plan *p = plan_of("@daily", NULL);
	int64_t at_ms = 0;
	char buf[8];

	(void)state;
	assert_int_equal(tkw_plan_create(NULL, "@daily", NULL, NULL), -EINVAL);
	assert_int_equal(tkw_plan_create(&p, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(tkw_plan_next(NULL, 0, &at_ms), -EINVAL);
	assert_int_equal(tkw_plan_next(p, 0, NULL), -EINVAL);
	assert_int_equal(tkw_plan_previous(NULL, 0, &at_ms), -EINVAL);
	assert_int_equal(tkw_plan_previous(p, 0, NULL), -EINVAL);
	assert_int_equal(tkw_plan_print(NULL, buf, sizeof(buf)), -EINVAL);
	assert_int_equal(tkw_plan_print(p, NULL, 1), -EINVAL);
	assert_int_equal(tkw_plan_destroy(NULL), 0);
	assert_int_equal(tkw_plan_destroy(p), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan_bad_text_has_a_position),
		cmocka_unit_test(test_plan_keeps_its_text),
		cmocka_unit_test(test_plan_prints_in_words),
		cmocka_unit_test(test_plan_prints_steps_in_words),
		cmocka_unit_test(test_plan_prints_hours_without_a_star),
		cmocka_unit_test(test_plan_prints_days_in_words),
		cmocka_unit_test(test_plan_days),
		cmocka_unit_test(
			test_plan_skipped_times_come_once_after_the_gap),
		cmocka_unit_test(test_plan_repeated_times_come_the_first_time),
		cmocka_unit_test(test_plan_repeats_a_rare_time),
		cmocka_unit_test(test_plan_searches_from_a_change_of_the_clock),
		cmocka_unit_test(test_plan_with_any_hour_follows_the_clock),
		cmocka_unit_test(test_plan_every),
		cmocka_unit_test(test_plan_knows_the_years_1900_to_9999),
		cmocka_unit_test(test_plan_search_is_bounded),
		cmocka_unit_test(test_plan_list),
		cmocka_unit_test(test_plan_refuses_null),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
