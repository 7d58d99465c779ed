/* SPDX-License-Identifier: MIT */
/*
 * cron.c - cron expressions: reads them, and says which days they have.
 *
 * A field becomes a set of bits. The items of the day fields that depend on the
 * month (L, 15W, fri#2) have sets of their own.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calendar/civil.h"
#include "calendar/plan_state.h"

enum field {
	SECOND,
	MINUTE,
	HOUR,
	DAY,
	MONTH,
	WEEKDAY
};

static const struct about {
	const char *expected;
	int least;
	int most; /* of a star; 7 is also a weekday */
} about[] = {
	[SECOND] = { "a second, 0 to 59", 0, 59 },
	[MINUTE] = { "a minute, 0 to 59", 0, 59 },
	[HOUR] = { "an hour, 0 to 23", 0, 23 },
	[DAY] = { "a day, 1 to 31, L, LW, L-3 or 15W", 1, 31 },
	[MONTH] = { "a month, 1 to 12 or jan to dec", 1, 12 },
	[WEEKDAY] = { "a weekday, 0 to 7 or sun to sat, 5L or fri#2", 0, 6 },
};

/* --- read ---------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_item_end(char c)
{
	return c == '\0' || c == ',' || is_blank(c);
}

/* Reads a letter of the grammar, in any case. */
static bool skip_letter(struct tkw__scan *s, char c)
{
	return tkw__scan_skip(s, c) || tkw__scan_skip(s, (char)(c - 'A' + 'a'));
}

static bool expect(struct tkw__scan *s, size_t position, enum field f)
{
	return tkw__scan_fail(s, position, "Expected %s.", about[f].expected);
}

/* Reads three letters of a month or a weekday. */
static bool read_name(struct tkw__scan *s, enum field f, int *out)
{
	static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec"
				    "sunmontuewedthufrisat";
	size_t i = f == MONTH ? 0 : 36;
	size_t end = f == MONTH ? 36 : sizeof(names) - 1;

	if (f < MONTH || s->end - s->at < 3)
		return false;
	for (; i < end; i += 3) {
		size_t k = 0;

		while (k < 3 && (s->text[s->at + k] | 0x20) == names[i + k])
			k++;
		if (k == 3) {
			s->at += 3;
			*out = (int)(f == MONTH ? i / 3 + 1 : i / 3 - 12);
			return true;
		}
	}
	return false;
}

static int largest(enum field f)
{
	return f == WEEKDAY ? 7 : about[f].most;
}

/* Reads a value: a number or a name. */
static bool read_value(struct tkw__scan *s, enum field f, int *out)
{
	size_t from = s->at;
	int most = largest(f);
	int64_t value;

	if (read_name(s, f, out))
		return true;
	if (!tkw__scan_number(s, most, &value) || value < about[f].least ||
	    value > most)
		return expect(s, from, f);
	*out = (int)value;
	return true;
}

/* Reads /n, if it is there. */
static bool read_step(struct tkw__scan *s, enum field f, int *step)
{
	int most = about[f].most - about[f].least + 1;
	size_t from;
	int64_t value;

	*step = 1;
	if (!tkw__scan_skip(s, '/'))
		return true;
	from = s->at;
	if (!tkw__scan_number(s, most, &value) || value < 1 || value > most)
		return tkw__scan_fail(s, from, "Expected a step, 1 to %d.",
				      most);
	*step = (int)value;
	return true;
}

/* Adds the values from first to last. A last value beyond the end of the field
 * wraps around. */
static void add_range(uint64_t *set, enum field f, int first, int last,
		      int step)
{
	int count = about[f].most - about[f].least + 1;
	int value;

	for (value = first; value <= last; value += step)
		*set |= UINT64_C(1)
			<< (value > about[f].most ? value - count : value);
}

/* Reads what may follow a value: -value and /n. */
static bool read_range(struct tkw__scan *s, enum field f, int first,
		       uint64_t *set)
{
	bool wraps = f == WEEKDAY || f == MONTH;
	int last = first;
	int step = 1;

	if (tkw__scan_skip(s, '-')) {
		size_t from = s->at;

		if (!read_value(s, f, &last))
			return false;
		if (last < first && !wraps)
			return tkw__scan_fail(s, from,
					      "Expected a value that is not "
					      "less than %d.",
					      first);
		if (last < first)
			last += about[f].most - about[f].least + 1;
	} else if (tkw__scan_peek(s) == '/') {
		last = largest(f);
	}
	if (!read_step(s, f, &step))
		return false;
	add_range(set, f, first, last, step);
	return true;
}

/* Reads what follows L in the day of the month. */
static bool read_last_day(struct tkw__scan *s, struct tkw__cron *c)
{
	int64_t value = 0;

	if (skip_letter(s, 'W')) {
		c->last_near = true;
		return true;
	}
	if (tkw__scan_skip(s, '-')) {
		size_t from = s->at;

		if (!tkw__scan_number(s, 30, &value) || value > 30)
			return tkw__scan_fail(s, from,
					      "Expected a number of days, 0 to "
					      "30.");
	}
	c->before_last |= UINT32_C(1) << value;
	return true;
}

/* Reads what follows # in the day of the week. */
static bool read_nth(struct tkw__scan *s, struct tkw__cron *c, int weekday)
{
	size_t from = s->at;
	int64_t value;

	if (!tkw__scan_number(s, 5, &value) || value < 1 || value > 5)
		return tkw__scan_fail(s, from,
				      "Expected which weekday of the month, 1 "
				      "to 5.");
	c->nth_weekday[weekday] |= (uint8_t)(1U << value);
	return true;
}

static bool read_item(struct tkw__scan *s, enum field f, struct tkw__cron *c,
		      uint64_t *set)
{
	int value = 0;
	int step = 1;

	if (tkw__scan_skip(s, '*') || tkw__scan_skip(s, '?')) {
		if (!read_step(s, f, &step))
			return false;
		add_range(set, f, about[f].least, about[f].most, step);
		return true;
	}
	if (f == DAY && skip_letter(s, 'L'))
		return read_last_day(s, c);
	if (f == WEEKDAY && skip_letter(s, 'L')) {
		*set |= 1U << 6;
		return true;
	}
	if (!read_value(s, f, &value))
		return false;
	if (f == DAY && skip_letter(s, 'W')) {
		c->near |= UINT32_C(1) << value;
		return true;
	}
	if (f == WEEKDAY && skip_letter(s, 'L')) {
		c->last_weekdays |= (uint8_t)(1U << value % 7);
		return true;
	}
	if (f == WEEKDAY && tkw__scan_skip(s, '#'))
		return read_nth(s, c, value % 7);
	return read_range(s, f, value, set);
}

static bool read_field(struct tkw__scan *s, enum field f, struct tkw__cron *c)
{
	bool star = tkw__scan_peek(s) == '*' || tkw__scan_peek(s) == '?';
	uint64_t set = 0;

	do {
		if (!read_item(s, f, c, &set))
			return false;
		if (!is_item_end(tkw__scan_peek(s)))
			return tkw__scan_fail(s, s->at,
					      "Expected a comma or the end of "
					      "the field.");
	} while (tkw__scan_skip(s, ','));
	switch (f) {
	case SECOND:
		c->seconds = set;
		break;
	case MINUTE:
		c->minutes = set;
		break;
	case HOUR:
		c->hours = (uint32_t)set;
		c->any_hour = star;
		break;
	case DAY:
		c->days = (uint32_t)set;
		c->days_restricted = !star;
		break;
	case MONTH:
		c->months = (uint16_t)set;
		break;
	default:
		c->weekdays = (uint8_t)set;
		c->weekdays_restricted = !star;
		break;
	}
	return true;
}

static int count_fields(const struct tkw__scan *s)
{
	bool inside = false;
	int count = 0;
	size_t i;

	for (i = s->at; i < s->end; i++) {
		if (!inside && !is_blank(s->text[i]))
			count++;
		inside = !is_blank(s->text[i]);
	}
	return count;
}

bool tkw__cron_read(struct tkw__scan *s, struct tkw__cron *c)
{
	int f;

	tkw__scan_blanks(s);
	c->with_seconds = count_fields(s) > 5;
	c->seconds = 1;
	for (f = c->with_seconds ? SECOND : MINUTE; f <= WEEKDAY; f++) {
		if (s->at == s->end)
			return tkw__scan_fail(s, s->at,
					      "Expected 5 or 6 fields; next is "
					      "%s.",
					      about[f].expected);
		if (!read_field(s, (enum field)f, c))
			return false;
		tkw__scan_blanks(s);
	}
	return s->at == s->end ||
	       tkw__scan_fail(s, s->at, "Expected the end of the plan.");
}

/* --- days ---------------------------------------------------------------- */

/* The weekday, Monday to Friday, that is next to a day of a month. */
static int near_day(int day, int days_in_month, int first)
{
	int weekday = (first + day - 1) % 7;

	if (weekday == 6)
		return day > 1 ? day - 1 : day + 2;
	if (weekday == 0)
		return day < days_in_month ? day + 1 : day - 2;
	return day;
}

static uint32_t month_days(const struct tkw__cron *c, int days_in_month,
			   int first)
{
	uint32_t set = c->days;
	int n;

	/* Most plans have none of these. */
	if (c->before_last == 0 && c->near == 0 && !c->last_near)
		return set;
	for (n = 0; n < days_in_month; n++) {
		if (c->before_last >> n & 1)
			set |= UINT32_C(1) << (days_in_month - n);
	}
	for (n = 1; n <= days_in_month; n++) {
		if (c->near >> n & 1)
			set |= UINT32_C(1) << near_day(n, days_in_month, first);
	}
	if (c->last_near) {
		int weekday = (first + days_in_month - 1) % 7;

		n = weekday == 6 ? 1 : weekday == 0 ? 2 : 0;
		set |= UINT32_C(1) << (days_in_month - n);
	}
	return set;
}

static uint32_t week_days(const struct tkw__cron *c, int days_in_month,
			  int first)
{
	const uint32_t weekly = 1U | 1U << 7 | 1U << 14 | 1U << 21 | 1U << 28;
	uint32_t set = 0;
	int weekday;

	for (weekday = 0; weekday < 7; weekday++) {
		int day = (weekday - first + 7) % 7 + 1;
		int last = day + (days_in_month - day) / 7 * 7;
		int k;

		if (c->weekdays >> weekday & 1)
			set |= weekly << day;
		if (c->last_weekdays >> weekday & 1)
			set |= UINT32_C(1) << last;
		for (k = 1; c->nth_weekday[weekday] >> k; k++) {
			/* The fifth may be behind the 31st. */
			if (c->nth_weekday[weekday] >> k & 1 &&
			    day + 7 * (k - 1) <= days_in_month)
				set |= UINT32_C(1) << (day + 7 * (k - 1));
		}
	}
	return set;
}

uint32_t tkw__cron_days(const struct tkw__cron *c, int days_in_month, int first)
{
	uint32_t all = (uint32_t)((UINT64_C(2) << days_in_month) - 2);
	uint32_t by_month = month_days(c, days_in_month, first);
	uint32_t by_week = week_days(c, days_in_month, first);

	if (c->days_restricted && c->weekdays_restricted)
		return (by_month | by_week) & all;
	return by_month & by_week & all;
}

void tkw__cron_prepare(struct tkw__cron *c)
{
	int leap;
	int first;
	int month;

	for (leap = 0; leap < 2; leap++) {
		for (first = 0; first < 7; first++) {
			uint16_t months = 0;

			for (month = 1; month <= 12; month++) {
				int at = first + tkw__days_before(leap, month);

				if (c->months >> month & 1 &&
				    tkw__cron_days(c, tkw__days_in(leap, month),
						   at % 7))
					months |= (uint16_t)(1U << month);
			}
			c->months_of[leap][first] = months;
		}
	}
}
