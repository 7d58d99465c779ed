/* SPDX-License-Identifier: MIT */
/*
 * zone_rule.c - the rule at the end of a zone's file, as POSIX defines it for
 * the variable TZ: "CET-1CEST,M3.5.0,M10.5.0/3".
 *
 * Its offsets count to the west, so they are turned round. The times of a day
 * may have -167 to 167 hours, as in the files of version 3 and later.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calendar/civil.h"
#include "calendar/zone_state.h"

struct reader {
	const char *at;
	const char *end;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Reads c if it comes next. */
static bool skip(struct reader *r, char c)
{
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

/* Reads a number from least to most, of up to three digits. */
static bool read_number(struct reader *r, int least, int most, int *out)
{
	const char *from = r->at;
	int value = 0;

	while (r->at < r->end && is_digit(*r->at) && r->at - from < 3)
		value = value * 10 + (*r->at++ - '0');
	*out = value;
	return r->at > from && value >= least && value <= most;
}

/* Reads CET or <+03>. */
static bool read_name(struct reader *r)
{
	bool quoted = skip(r, '<');
	const char *from = r->at;

	while (r->at < r->end && (is_letter(*r->at) ||
				  (quoted && (is_digit(*r->at) ||
					      *r->at == '+' || *r->at == '-'))))
		r->at++;
	return r->at - from >= 3 && (!quoted || skip(r, '>'));
}

/* Reads [+-]hh[:mm[:ss]]. */
static bool read_time(struct reader *r, int max_hours, int32_t *out)
{
	int sign = 1;
	int hours;
	int minutes = 0;
	int seconds = 0;

	if (skip(r, '-'))
		sign = -1;
	else
		(void)skip(r, '+');
	if (!read_number(r, 0, max_hours, &hours))
		return false;
	if (skip(r, ':')) {
		if (!read_number(r, 0, 59, &minutes))
			return false;
		if (skip(r, ':') && !read_number(r, 0, 59, &seconds))
			return false;
	}
	*out = sign * (hours * 3600 + minutes * 60 + seconds);
	return true;
}

/* Reads Jn, n or Mm.w.d, each with or without /time. */
static bool read_day(struct reader *r, struct tkw__rule_day *day)
{
	bool sound;

	day->time_s = 2 * 3600;
	if (skip(r, 'J')) {
		day->kind = TKW__DAY_JULIAN;
		sound = read_number(r, 1, 365, &day->day);
	} else if (skip(r, 'M')) {
		day->kind = TKW__DAY_WEEK;
		sound = read_number(r, 1, 12, &day->month) && skip(r, '.') &&
			read_number(r, 1, 5, &day->week) && skip(r, '.') &&
			read_number(r, 0, 6, &day->day);
	} else {
		day->kind = TKW__DAY_PLAIN;
		sound = read_number(r, 0, 365, &day->day);
	}
	return sound && (!skip(r, '/') || read_time(r, 167, &day->time_s));
}

static bool read_summer(struct reader *r, struct tkw__rule *rule)
{
	rule->has_summer = true;
	rule->summer_s = rule->offset_s + 3600;
	if (!read_name(r))
		return false;
	if (r->at < r->end && *r->at != ',') {
		if (!read_time(r, 24, &rule->summer_s))
			return false;
		rule->summer_s = -rule->summer_s;
	}
	/* POSIX allows a summer without its days. A file must have them. */
	return skip(r, ',') && read_day(r, &rule->begin) && skip(r, ',') &&
	       read_day(r, &rule->end);
}

bool tkw__rule_read(struct tkw__rule *rule, const char *text, size_t len)
{
	struct reader r = { text, text + len };

	*rule = (struct tkw__rule){ 0 };
	if (!read_name(&r) || !read_time(&r, 24, &rule->offset_s))
		return false;
	rule->offset_s = -rule->offset_s;
	if (r.at < r.end && !read_summer(&r, rule))
		return false;
	return r.at == r.end;
}

/* --- when it changes ----------------------------------------------------- */

/* The day of the w-th weekday d of a month; week 5 is the last one. */
static int64_t day_of_week(const struct tkw__rule_day *rule, int64_t year)
{
	struct tkw__date date = { year, rule->month, 1 };
	int64_t first = tkw__date_to_day(date);
	int days = tkw__days_in(tkw__is_leap(year), rule->month);
	int rest = (rule->day - tkw__weekday(first) + 7) % 7 +
		   7 * (rule->week - 1);

	return first + (rest < days ? rest : rest - 7);
}

/* When a day of a year begins, plus its time, in local time. */
static int64_t local_of(const struct tkw__rule_day *rule, int64_t year)
{
	int64_t day = tkw__year_to_day(year);

	switch (rule->kind) {
	case TKW__DAY_WEEK:
		day = day_of_week(rule, year);
		break;
	case TKW__DAY_JULIAN:
		day += rule->day - 1 + (tkw__is_leap(year) && rule->day >= 60);
		break;
	default:
		day += rule->day;
		break;
	}
	return day * TKW__DAY_S + rule->time_s;
}

/* One end of a summer. */
struct turn {
	int64_t at_s;
	int64_t year;
	bool begins;
};

/* If a summer begins when another one ends, summer goes on. If one ends as soon
 * as it begins, there is none. */
static bool is_later(const struct turn *a, const struct turn *b)
{
	if (a->at_s != b->at_s)
		return a->at_s > b->at_s;
	if (a->begins == b->begins)
		return false;
	return a->year == b->year ? b->begins : a->begins;
}

static void insert(struct turn *turn, size_t count, struct turn one)
{
	while (count > 0 && is_later(&turn[count - 1], &one)) {
		turn[count] = turn[count - 1];
		count--;
	}
	turn[count] = one;
}

size_t tkw__rule_changes(const struct tkw__rule *rule, int64_t at_s,
			 struct tkw__change out[TKW__RULE_CHANGES])
{
	/* A time of 167 hours may move a change into another year, and a mark
	 * depends on the changes before. So look at two years to both sides. */
	int64_t year = tkw__day_to_year(tkw__floor_div(at_s, TKW__DAY_S)) - 2;
	struct turn turn[TKW__RULE_CHANGES];
	size_t count = 0;
	size_t i;

	if (!rule->has_summer)
		return 0;
	for (i = 0; i < TKW__RULE_CHANGES; i += 2, year++) {
		insert(turn, i,
		       (struct turn){ local_of(&rule->begin, year) -
					      rule->offset_s,
				      year, true });
		insert(turn, i + 1,
		       (struct turn){ local_of(&rule->end, year) -
					      rule->summer_s,
				      year, false });
	}
	for (i = 0; i < TKW__RULE_CHANGES; i++) {
		if (count > 0 && out[count - 1].at_s == turn[i].at_s)
			count--;
		out[count++] = (struct tkw__change){
			turn[i].at_s,
			turn[i].begins ? rule->summer_s : rule->offset_s, 0
		};
	}
	return count;
}
