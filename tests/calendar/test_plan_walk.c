/* SPDX-License-Identifier: MIT */
/*
 * test_plan_walk.c - the times of a plan, forward and backward, against an
 * oracle that looks at each second (walk.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tickwheel/calendar.h"
#include "walk.h"

#define HOUR INT64_C(3600)
#define DAY (24 * HOUR)

enum {
	MOST = 400000
};

static int64_t walked[MOST];

struct place {
	const char *zone;
	int first_year;
	int last_year;
};

/* Zones with changes of an hour, half an hour, twenty minutes and a day, at
 * midnight and at other times, in both halves of the year, with a standard time
 * that changes, and with a rule after the last change of the file. */
static const struct place places[] = {
	{ "Europe/Berlin", 2024, 2027 },
	{ "Europe/Berlin", 1944, 1947 },
	{ "Europe/Dublin", 1968, 1972 },
	{ "Europe/Dublin", 2037, 2039 },
	{ "America/New_York", 2006, 2008 },
	{ "America/New_York", 2090, 2092 },
	{ "America/Sao_Paulo", 2016, 2019 },
	{ "America/Nuuk", 2022, 2025 },
	{ "America/Caracas", 2006, 2017 },
	{ "America/St_Johns", 1987, 1989 },
	{ "Australia/Lord_Howe", 1984, 1986 },
	{ "Australia/Lord_Howe", 2040, 2041 },
	{ "Asia/Beirut", 2020, 2023 },
	{ "Asia/Gaza", 2019, 2022 },
	{ "Asia/Pyongyang", 2014, 2019 },
	{ "Asia/Kathmandu", 1985, 1987 },
	{ "Pacific/Apia", 2010, 2013 },
	{ "Pacific/Kiritimati", 1994, 1996 },
	{ "Africa/Casablanca", 2017, 2020 },
	{ "Africa/Casablanca", 2030, 2031 },
	{ "Antarctica/Troll", 2012, 2016 },
	{ "Africa/Monrovia", 1971, 1973 },
	{ "Europe/Amsterdam", 1936, 1941 },
};

static int64_t year_start(int year)
{
	struct tm tm = { .tm_year = year - 1900, .tm_mday = 1 };

	return timegm(&tm);
}

static long offset_at(int64_t at_s)
{
	time_t at = at_s;
	struct tm tm;

	localtime_r(&at, &tm);
	return tm.tm_gmtoff;
}

/* Finds the next hour in which the offset changes. Returns `end` if there is
 * none. */
static int64_t next_change(int64_t from, int64_t end)
{
	while (from < end && offset_at(from) == offset_at(from + HOUR))
		from += HOUR;
	return from < end ? from : end;
}

static void complain(const char *what, const char *zone, const char *text,
		     int64_t want_s, int64_t got_ms)
{
	fail_msg("%s of \"%s\" in %s: %lld instead of %lld", what, text, zone,
		 (long long)(got_ms / 1000), (long long)want_s);
}

static void compare_next(struct tkw_plan *p, const char *zone, const char *text,
			 const struct stretch *st, size_t count)
{
	int64_t at_ms = (st->start_s + (int64_t)st->lead) * 1000 - 1;
	int64_t end_ms = (st->start_s + (int64_t)st->seconds) * 1000;
	int64_t got_ms = 0;

	for (size_t i = 0; i < count; i++) {
		if (tkw_plan_next(p, at_ms, &got_ms))
			got_ms = INT64_MIN;
		if (got_ms != walked[i] * 1000)
			complain("next", zone, text, walked[i], got_ms);
		at_ms = got_ms;
	}
	if (!tkw_plan_next(p, at_ms, &got_ms) && got_ms < end_ms)
		complain("end", zone, text, end_ms / 1000, got_ms);
}

static void compare_previous(struct tkw_plan *p, const char *zone,
			     const char *text, const struct stretch *st,
			     size_t count)
{
	int64_t first_ms = (st->start_s + (int64_t)st->lead) * 1000;
	int64_t at_ms = (st->start_s + (int64_t)st->seconds) * 1000;
	int64_t got_ms = 0;

	for (size_t i = count; i > 0; i--) {
		if (tkw_plan_previous(p, at_ms, &got_ms))
			got_ms = INT64_MAX;
		if (got_ms != walked[i - 1] * 1000)
			complain("previous", zone, text, walked[i - 1], got_ms);
		at_ms = got_ms;
	}
	if (!tkw_plan_previous(p, at_ms, &got_ms) && got_ms >= first_ms)
		complain("start", zone, text, first_ms / 1000, got_ms);
}

static void compare(struct tkw_zone *z, const struct stretch *st,
		    struct choice *c, bool dense)
{
	struct sketch s;
	char text[256];
	struct tkw_plan *p = NULL;
	struct tkw_plan_error error;
	size_t count;

	sketch_make(&s, c, dense);
	sketch_text(&s, text, sizeof(text));
	if (tkw_plan_create(&p, text, z, &error))
		fail_msg("\"%s\" is refused at %zu: %s", text, error.position,
			 error.text);
	count = stretch_walk(st, &s, walked, MOST);
	assert_in_range(count, 0, MOST);
	compare_next(p, tkw_zone_name(z), text, st, count);
	compare_previous(p, tkw_zone_name(z), text, st, count);
	tkw_plan_destroy(p);
}

static struct tkw_zone *enter(const char *name)
{
	struct tkw_zone *z = NULL;

	setenv("TZ", name, 1);
	tzset();
	assert_int_equal(tkw_zone_open(&z, name, NULL), 0);
	return z;
}

/* Each change of the clocks, with two days on both sides. */
static void test_around_each_change(void **state)
{
	struct choice c;
	size_t changes = 0;

	(void)state;
	choice_from_seed(&c, 12);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct tkw_zone *z = enter(places[i].zone);
		int64_t at = year_start(places[i].first_year);
		int64_t end = year_start(places[i].last_year + 1);

		while ((at = next_change(at, end)) < end) {
			struct stretch st;

			changes++;
			stretch_fill(&st, at - 4 * DAY, 6 * DAY, 2 * DAY);
			for (int k = 0; k < 8; k++)
				compare(z, &st, &c, k % 2);
			stretch_free(&st);
			at += HOUR;
		}
		tkw_zone_close(z);
	}
	assert_true(changes > 60);
}

/* Plans whose times are rare need long stretches. */
static void test_over_whole_years(void **state)
{
	static const struct place years[] = {
		{ "Europe/Berlin", 2027, 2028 },
		{ "America/Sao_Paulo", 2017, 2018 },
	};
	struct choice c;

	(void)state;
	choice_from_seed(&c, 13);
	for (size_t i = 0; i < sizeof(years) / sizeof(years[0]); i++) {
		struct tkw_zone *z = enter(years[i].zone);
		int64_t start = year_start(years[i].first_year) - DAY;
		int64_t end = year_start(years[i].last_year + 1);
		struct stretch st;

		stretch_fill(&st, start, (size_t)(end - start), DAY);
		for (int k = 0; k < 8; k++) {
			struct sketch s;
			struct choice again = c;

			/* Plans with too many times say nothing new here. */
			sketch_make(&s, &again, false);
			if (stretch_walk(&st, &s, walked, 0) <= MOST)
				compare(z, &st, &c, false);
			else
				c = again;
		}
		stretch_free(&st);
		tkw_zone_close(z);
	}
}

/* The oracle itself is checked by hand at a few times. */
static void test_the_oracle_knows_the_rule(void **state)
{
	struct sketch s = { .with_seconds = false };
	struct stretch st;
	int64_t spring = INT64_C(1774746000); /* 2026-03-29T01:00Z */
	int64_t autumn = INT64_C(1792890000); /* 2026-10-25T01:00Z */
	int64_t out[4];
	size_t count;

	(void)state;
	setenv("TZ", "Europe/Berlin", 1);
	tzset();
	for (int i = 0; i < SKETCH_FIELDS; i++)
		s.fields[i].count = 1; /* a star in each */
	s.fields[FIELD_SECOND].parts[0].kind = SKETCH_VALUE;
	s.fields[FIELD_MINUTE].parts[0] =
		(struct sketch_part){ .kind = SKETCH_VALUE, .a = 30 };
	s.fields[FIELD_HOUR].parts[0] =
		(struct sketch_part){ .kind = SKETCH_VALUE, .a = 2 };

	stretch_fill(&st, spring - 10 * HOUR, 20 * HOUR, HOUR);
	count = stretch_walk(&st, &s, out, 4);
	assert_int_equal(count, 1);
	assert_int_equal(out[0], spring);
	stretch_free(&st);

	stretch_fill(&st, autumn - 10 * HOUR, 20 * HOUR, HOUR);
	count = stretch_walk(&st, &s, out, 4);
	assert_int_equal(count, 1);
	assert_int_equal(out[0], autumn - HOUR / 2);

	s.fields[FIELD_HOUR].parts[0] = (struct sketch_part){ 0 };
	s.fields[FIELD_MINUTE].parts[0].a = 30;
	assert_int_equal(stretch_walk(&st, &s, out, 4), 19);
	stretch_free(&st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_oracle_knows_the_rule),
		cmocka_unit_test(test_around_each_change),
		cmocka_unit_test(test_over_whole_years),
	};

	return cmocka_run_group_tests_name("plan_walk", tests, NULL, NULL);
}
