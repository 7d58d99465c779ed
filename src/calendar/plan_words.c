/* SPDX-License-Identifier: MIT */
/* plan_words.c - prints plans in words. */
#include "tickwheel/calendar.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "calendar/plan_state.h"
#include "calendar/zone_state.h"

enum {
	MAX_TIMES = 6 /* more times of a day are not listed one by one */
};

/* Where the text goes. */
struct words {
	char *buf;
	size_t size;
	size_t len;
};

__attribute__((format(printf, 2, 3))) static void say(struct words *w,
						      const char *format, ...)
{
	size_t used = w->len < w->size ? w->len : w->size;
	va_list args;
	int len;

	va_start(args, format);
	/* The analyzer does not see va_start(). */
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
	len = vsnprintf(w->size ? w->buf + used : NULL, w->size - used, format,
			args);
	va_end(args);
	if (len > 0)
		w->len += (size_t)len;
}

/* The n-th of `count` things in a list. */
static const char *joint(int n, int count)
{
	if (n == 0)
		return "";
	return n == count - 1 ? " and " : ", ";
}

/* --- sets ---------------------------------------------------------------- */

static const char *const weekday_names[] = { "Sunday",    "Monday",   "Tuesday",
					     "Wednesday", "Thursday", "Friday",
					     "Saturday" };
static const char *const month_names[] = { "",          "January", "February",
					   "March",     "April",   "May",
					   "June",      "July",    "August",
					   "September", "October", "November",
					   "December" };

/* How far the run that begins at bit n goes, if it has three bits or more.
 * Otherwise n. */
static int run_end(uint64_t set, int n)
{
	int end = n;

	while (end < 63 && set >> (end + 1) & 1)
		end++;
	return end - n >= 2 ? end : n;
}

/* Says "1, 3 to 5 and 9". names may be NULL. */
static void say_set(struct words *w, uint64_t set, const char *const *names)
{
	int count = 0;
	int said = 0;
	int n;

	for (n = 0; n < 64; n++) {
		if (set >> n & 1) {
			n = run_end(set, n);
			count++;
		}
	}
	for (n = 0; n < 64; n++) {
		int end;

		if (!(set >> n & 1))
			continue;
		end = run_end(set, n);
		say(w, "%s", joint(said++, count));
		if (names)
			say(w, "%s", names[n]);
		else
			say(w, "%d", n);
		if (end > n && names)
			say(w, " to %s", names[end]);
		else if (end > n)
			say(w, " to %d", end);
		n = end;
	}
}

static bool is_single(uint64_t set)
{
	return set && (set & (set - 1)) == 0;
}

/* If the set is 0, n, 2n and so on, and n divides the whole: n. Else 0. */
static int step_of(uint64_t set, int whole)
{
	int step;
	int n;

	for (step = 1; step < whole; step++) {
		uint64_t steps = 0;

		if (whole % step != 0)
			continue;
		for (n = 0; n < whole; n += step)
			steps |= UINT64_C(1) << n;
		if (steps == set)
			return step;
	}
	return 0;
}

/* --- the time of the day ------------------------------------------------- */

/* Says "every 15 minutes" or "at minutes 1, 5 and 9". */
static void say_part(struct words *w, uint64_t set, const char *unit)
{
	int step = step_of(set, 60);

	if (step == 1)
		say(w, "every %s", unit);
	else if (step > 1)
		say(w, "every %d %ss", step, unit);
	else {
		say(w, "at %s%s ", unit, is_single(set) ? "" : "s");
		say_set(w, set, NULL);
	}
}

/* The ending of an ordinal number, as in 22nd. */
static const char *ordinal_end(int n)
{
	static const char *const endings[] = { "th", "st", "nd", "rd" };

	return n / 10 % 10 == 1 || n % 10 > 3 ? "th" : endings[n % 10];
}

/* Says " of every 5th minute" or " of minutes 1, 5 and 9". `step` is that of
 * the set, or 0. */
static void say_of(struct words *w, uint64_t set, int step, const char *unit)
{
	if (step == 1)
		say(w, " of every %s", unit);
	else if (step > 1)
		say(w, " of every %d%s %s", step, ordinal_end(step), unit);
	else {
		say(w, " of %s%s ", unit, is_single(set) ? "" : "s");
		say_set(w, set, NULL);
	}
}

static void say_times(struct words *w, const struct tkw__cron *c)
{
	int count =
		__builtin_popcount(c->hours) * __builtin_popcountll(c->minutes);
	int said = 0;
	int hour;
	int minute;

	say(w, "at ");
	for (hour = 0; hour < 24; hour++) {
		for (minute = 0; minute < 60; minute++) {
			if (!(c->hours >> hour & 1 && c->minutes >> minute & 1))
				continue;
			say(w, "%s%02d:%02d", joint(said++, count), hour,
			    minute);
			if (c->seconds != 1)
				say(w, ":%02d", __builtin_ctzll(c->seconds));
		}
	}
}

/* The step of the hours, or 0. Without a star, an hour that the clocks repeat
 * counts once, so 0-23 is not "every hour". */
static int hour_step(const struct tkw__cron *c)
{
	return c->any_hour ? step_of(c->hours, 24) : 0;
}

/* Says "every 2 hours", if that is all. */
static bool say_whole_hours(struct words *w, const struct tkw__cron *c)
{
	int step = hour_step(c);

	if (c->seconds != 1 || c->minutes != 1 || step == 0)
		return false;
	if (step == 1)
		say(w, "every hour");
	else
		say(w, "every %d hours", step);
	return true;
}

/* Returns whether single times of the day were said. */
static bool say_clock(struct words *w, const struct tkw__cron *c)
{
	bool by_second = c->seconds != 1;
	int minute_step = step_of(c->minutes, 60);

	if (is_single(c->seconds) &&
	    __builtin_popcount(c->hours) * __builtin_popcountll(c->minutes) <=
		    MAX_TIMES) {
		say_times(w, c);
		return true;
	}
	if (say_whole_hours(w, c))
		return false;
	say_part(w, by_second ? c->seconds : c->minutes,
		 by_second ? "second" : "minute");
	/* "every 10 seconds" needs no "of every minute". */
	if (by_second && !(minute_step == 1 && step_of(c->seconds, 60)))
		say_of(w, c->minutes, minute_step, "minute");
	if (hour_step(c) != 1 || minute_step == 0)
		say_of(w, c->hours, hour_step(c), "hour");
	return false;
}

/* --- the day ------------------------------------------------------------- */

static void say_months(struct words *w, const struct tkw__cron *c)
{
	if (c->months == 0x1ffe)
		say(w, "each month");
	else
		say_set(w, c->months, month_names);
}

/* Items of a day field, joined by "or". */
static const char *or_joint(bool *first)
{
	const char *text = *first ? "" : " or ";

	*first = false;
	return text;
}

static void say_month_days(struct words *w, const struct tkw__cron *c)
{
	bool first = true;
	int n;

	if (c->days) {
		say(w, "%sday%s ", or_joint(&first),
		    is_single(c->days) ? "" : "s");
		say_set(w, c->days, NULL);
	}
	for (n = 1; n < 32; n++) {
		if (c->near >> n & 1)
			say(w, "%sthe weekday next to day %d", or_joint(&first),
			    n);
	}
	for (n = 30; n > 0; n--) {
		if (!(c->before_last >> n & 1))
			continue;
		say(w, "%sthe ", or_joint(&first));
		if (n > 1)
			say(w, "%d%s ", n, ordinal_end(n));
		say(w, "day before the last day");
	}
	if (c->last_near)
		say(w, "%sthe last weekday", or_joint(&first));
	if (c->before_last & 1)
		say(w, "%sthe last day", or_joint(&first));
	say(w, " of ");
	say_months(w, c);
}

/* Says Monday to Sunday in this order. Returns whether it has said anything. */
static bool say_plain_weekdays(struct words *w, unsigned weekdays)
{
	static const char *const names[] = { "",          "Monday",   "Tuesday",
					     "Wednesday", "Thursday", "Friday",
					     "Saturday",  "Sunday" };

	if (weekdays == 0)
		return false;
	if (weekdays & 1)
		weekdays = (weekdays | 1U << 7) & ~1U;
	say_set(w, weekdays, names);
	return true;
}

/* has_months: the months were said before. */
static void say_weekdays(struct words *w, const struct tkw__cron *c,
			 bool has_months)
{
	static const char *const nth[] = { "",      "first",  "second",
					   "third", "fourth", "fifth" };
	bool first = !say_plain_weekdays(w, c->weekdays);
	bool named = false;
	int weekday;
	int k;

	for (weekday = 0; weekday < 7; weekday++) {
		for (k = 1; k <= 5; k++) {
			if (!(c->nth_weekday[weekday] >> k & 1))
				continue;
			say(w, "%sthe %s %s", or_joint(&first), nth[k],
			    weekday_names[weekday]);
			named = true;
		}
	}
	for (weekday = 0; weekday < 7; weekday++) {
		if (c->last_weekdays >> weekday & 1) {
			say(w, "%sthe last %s", or_joint(&first),
			    weekday_names[weekday]);
			named = true;
		}
	}
	if (named || (c->months != 0x1ffe && !has_months)) {
		say(w, named ? " of " : " in ");
		say_months(w, c);
	}
}

static void say_days(struct words *w, const struct tkw__cron *c, bool at_times)
{
	bool by_month = c->days_restricted || c->days != 0xfffffffe;
	bool by_week = c->weekdays_restricted || c->weekdays != 0x7f;
	bool either = c->days_restricted && c->weekdays_restricted;

	if (by_month) {
		say(w, " on ");
		say_month_days(w, c);
	}
	if (by_month && by_week)
		say(w, either ? " or on " : ", but only on ");
	else if (by_week)
		say(w, " on ");
	if (by_week)
		say_weekdays(w, c, by_month && !either);
	if (by_month || by_week)
		return;
	if (at_times)
		say(w, " each day");
	if (c->months != 0x1ffe) {
		say(w, " in ");
		say_months(w, c);
	}
}

/* --- the whole ----------------------------------------------------------- */

static void say_every(struct words *w, const struct tkw__every *e)
{
	static const struct {
		int64_t ms;
		const char *name;
	} units[] = { { INT64_C(604800000), "week" },
		      { 86400000, "day" },
		      { 3600000, "hour" },
		      { 60000, "minute" },
		      { 1000, "second" },
		      { 1, "millisecond" } };
	int64_t rest_ms = e->period_ms;
	char from[64];
	size_t i;

	say(w, "every");
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		long long count = rest_ms / units[i].ms;

		rest_ms %= units[i].ms;
		if (e->period_ms == units[i].ms)
			say(w, " %s", units[i].name);
		else if (count > 0)
			say(w, " %lld %s%s", count, units[i].name,
			    count == 1 ? "" : "s");
	}
	if (e->has_from &&
	    tkw_zone_print(NULL, e->from_ms, from, sizeof(from)) > 0)
		say(w, " from %s", from);
}

int tkw_plan_print(const struct tkw_plan *p, char *buf, size_t size)
{
	struct words w = { buf, size, 0 };

	if (p == NULL || (buf == NULL && size > 0))
		return -EINVAL;
	if (size > 0)
		buf[0] = 0;
	if (p->is_cron) {
		bool at_times = say_clock(&w, &p->cron);

		say_days(&w, &p->cron, at_times);
		say(&w, ", %s", p->zone ? p->zone->name : "UTC");
	} else {
		say_every(&w, &p->every);
	}
	return (int)w.len;
}
