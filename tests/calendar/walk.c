/* SPDX-License-Identifier: MIT */
/* walk.c - see walk.h */
#include "walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int lowest[SKETCH_FIELDS] = { 0, 0, 0, 1, 1, 0 };
static const int highest[SKETCH_FIELDS] = { 59, 59, 23, 31, 12, 7 };
static const char *const month_names[] = { "",    "jan", "Feb", "MAR", "apr",
					   "may", "jun", "jul", "aUg", "sep",
					   "oct", "nov", "dec" };
static const char *const day_names[] = { "sun", "Mon", "tue", "wed",
					 "THU", "fri", "sat", "sun" };

static int between(struct choice *c, int low, int high)
{
	return low + (int)choice_below(c, (uint32_t)(high - low + 1));
}

static struct sketch_part plain_part(struct choice *c, int field)
{
	struct sketch_part p = { .kind = SKETCH_VALUE };
	bool wraps = field == FIELD_MONTH || field == FIELD_WEEKDAY;

	p.a = between(c, lowest[field], highest[field]);
	/* "sun" is 0, so 7 has no name. */
	p.named = choice_below(c, 2) == 0 && p.a != 7;
	switch (choice_below(c, 4)) {
	case 0:
		p.kind = SKETCH_FROM;
		p.step = between(c, 1, highest[field]);
		break;
	case 1:
		p.kind = SKETCH_RANGE;
		p.b = between(c, wraps ? lowest[field] : p.a, highest[field]);
		if (choice_below(c, 3) == 0)
			p.step = between(c, 1, 7);
		break;
	default:
		break;
	}
	return p;
}

static struct sketch_part special_day(struct choice *c)
{
	static const enum sketch_kind kinds[] = { SKETCH_LAST,
						  SKETCH_BEFORE_LAST,
						  SKETCH_LAST_WEEKDAY,
						  SKETCH_NEAR };
	struct sketch_part p = { .kind = kinds[choice_below(c, 4)] };

	p.a = p.kind == SKETCH_BEFORE_LAST ? between(c, 1, 30)
					   : between(c, 1, 31);
	return p;
}

static struct sketch_part special_weekday(struct choice *c)
{
	static const enum sketch_kind kinds[] = { SKETCH_LAST, SKETCH_LAST_OF,
						  SKETCH_NTH };
	struct sketch_part p = { .kind = kinds[choice_below(c, 3)] };

	p.a = between(c, 0, 7);
	p.b = between(c, 1, 5);
	p.named = choice_below(c, 2) == 0;
	return p;
}

static struct sketch_part star_part(struct choice *c, int field)
{
	struct sketch_part p = { .kind = SKETCH_STAR };

	if (choice_below(c, 3) == 0)
		p.step = between(c, 1, highest[field]);
	if ((field == FIELD_DAY || field == FIELD_WEEKDAY) && !p.step &&
	    choice_below(c, 2) == 0)
		p.kind = SKETCH_QUESTION;
	return p;
}

static void make_field(struct sketch_field *f, struct choice *c, int field,
		       bool star)
{
	bool special = choice_below(c, 3) == 0;

	if (star) {
		f->count = 1;
		f->parts[0] = star_part(c, field);
		return;
	}
	f->count = between(c, 1, SKETCH_PARTS);
	for (int i = 0; i < f->count; i++) {
		f->parts[i] = plain_part(c, field);
		if (field == FIELD_DAY && special)
			f->parts[i] = special_day(c);
		if (field == FIELD_WEEKDAY && special)
			f->parts[i] = special_weekday(c);
	}
}

void sketch_make(struct sketch *s, struct choice *c, bool dense)
{
	uint32_t day_star = choice_below(c, 3);

	memset(s, 0, sizeof(*s));
	s->with_seconds = choice_below(c, 3) == 0;
	for (int i = 0; i < SKETCH_FIELDS; i++)
		make_field(&s->fields[i], c, i, choice_below(c, 3) == 0);
	if (day_star != 0 || dense)
		make_field(&s->fields[FIELD_DAY], c, FIELD_DAY, true);
	if (day_star != 1 || dense)
		make_field(&s->fields[FIELD_WEEKDAY], c, FIELD_WEEKDAY, true);
	if (dense) {
		s->fields[FIELD_DAY].parts[0].step = 0;
		s->fields[FIELD_WEEKDAY].parts[0].step = 0;
		s->fields[FIELD_MONTH].count = 1;
		s->fields[FIELD_MONTH].parts[0] =
			(struct sketch_part){ .kind = SKETCH_STAR };
	}
	if (!s->with_seconds) {
		s->fields[FIELD_SECOND].count = 1;
		s->fields[FIELD_SECOND].parts[0] =
			(struct sketch_part){ .kind = SKETCH_VALUE };
	}
}

static int put_value(char *buf, size_t size, int field, int value, bool named)
{
	if (named && field == FIELD_MONTH)
		return snprintf(buf, size, "%s", month_names[value]);
	if (named && field == FIELD_WEEKDAY)
		return snprintf(buf, size, "%s", day_names[value]);
	return snprintf(buf, size, "%d", value);
}

static void part_text(const struct sketch_part *p, int field, char *buf,
		      size_t size)
{
	char a[8] = "";
	char b[8] = "";
	char step[8] = "";

	put_value(a, sizeof(a), field, p->a, p->named);
	put_value(b, sizeof(b), field, p->b, p->named);
	if (p->step)
		snprintf(step, sizeof(step), "/%d", p->step);
	switch (p->kind) {
	case SKETCH_STAR:
		snprintf(buf, size, "*%s", step);
		break;
	case SKETCH_QUESTION:
		snprintf(buf, size, "?");
		break;
	case SKETCH_VALUE:
	case SKETCH_FROM:
		snprintf(buf, size, "%s%s", a, step);
		break;
	case SKETCH_RANGE:
		snprintf(buf, size, "%s-%s%s", a, b, step);
		break;
	case SKETCH_LAST:
		snprintf(buf, size, "L");
		break;
	case SKETCH_BEFORE_LAST:
		snprintf(buf, size, "L-%d", p->a);
		break;
	case SKETCH_LAST_WEEKDAY:
		snprintf(buf, size, "LW");
		break;
	case SKETCH_NEAR:
		snprintf(buf, size, "%dW", p->a);
		break;
	case SKETCH_LAST_OF:
		snprintf(buf, size, "%sL", a);
		break;
	case SKETCH_NTH:
		snprintf(buf, size, "%s#%d", a, p->b);
		break;
	}
}

void sketch_text(const struct sketch *s, char *buf, size_t size)
{
	size_t at = 0;

	buf[0] = '\0';
	for (int i = s->with_seconds ? 0 : 1; i < SKETCH_FIELDS; i++) {
		for (int k = 0; k < s->fields[i].count; k++) {
			char part[32];
			const char *mark = k ? "," : at ? " " : "";

			part_text(&s->fields[i].parts[k], i, part,
				  sizeof(part));
			at += (size_t)snprintf(buf + at, size - at, "%s%s",
					       mark, part);
		}
	}
}

static bool on_grid(const struct sketch_part *p, int distance)
{
	return distance >= 0 && distance % (p->step ? p->step : 1) == 0;
}

/* A range that wraps is walked from its start, value by value. */
static bool in_wrapped(const struct sketch_part *p, int field, int value)
{
	int size = field == FIELD_MONTH ? 12 : 7;
	int first = field == FIELD_MONTH ? 1 : 0;
	int at = (p->a - first) % size;
	int end = (p->b - first) % size;

	for (int walked = 0;; walked++) {
		if (at == (value - first) % size && on_grid(p, walked))
			return true;
		if (at == end)
			return false;
		at = (at + 1) % size;
	}
}

static bool plain_has(const struct sketch_part *p, int field, int value)
{
	switch (p->kind) {
	case SKETCH_QUESTION:
		return true;
	case SKETCH_STAR:
		return on_grid(p, value - lowest[field]);
	case SKETCH_VALUE:
		return value == p->a;
	case SKETCH_FROM:
		return value >= p->a && on_grid(p, value - p->a);
	case SKETCH_RANGE:
		if (p->a <= p->b)
			return value >= p->a && value <= p->b &&
			       on_grid(p, value - p->a);
		return in_wrapped(p, field, value);
	default:
		return false;
	}
}

static int month_length(const struct tm *tm)
{
	struct tm probe = { .tm_year = tm->tm_year,
			    .tm_mon = tm->tm_mon + 1,
			    .tm_mday = 0,
			    .tm_hour = 12 };
	time_t noon = timegm(&probe);

	gmtime_r(&noon, &probe);
	return probe.tm_mday;
}

static bool is_working_day(const struct tm *tm, int day)
{
	int weekday = ((tm->tm_wday + day - tm->tm_mday) % 7 + 7) % 7;

	return weekday != 0 && weekday != 6;
}

static bool near_has(const struct tm *tm, int wanted)
{
	int length = month_length(tm);
	int best = 0;

	if (wanted > length)
		return false;
	for (int day = 1; day <= length; day++)
		if (is_working_day(tm, day) &&
		    (!best || abs(day - wanted) < abs(best - wanted)))
			best = day;
	return tm->tm_mday == best;
}

static bool last_working_has(const struct tm *tm)
{
	for (int day = month_length(tm);; day--)
		if (is_working_day(tm, day))
			return tm->tm_mday == day;
}

static bool day_part_has(const struct sketch_part *p, const struct tm *tm)
{
	switch (p->kind) {
	case SKETCH_LAST:
		return tm->tm_mday == month_length(tm);
	case SKETCH_BEFORE_LAST:
		return tm->tm_mday == month_length(tm) - p->a;
	case SKETCH_LAST_WEEKDAY:
		return last_working_has(tm);
	case SKETCH_NEAR:
		return near_has(tm, p->a);
	default:
		return plain_has(p, FIELD_DAY, tm->tm_mday);
	}
}

static bool weekday_part_has(const struct sketch_part *p, const struct tm *tm)
{
	switch (p->kind) {
	case SKETCH_LAST:
		return tm->tm_wday == 6;
	case SKETCH_LAST_OF:
		return tm->tm_wday == p->a % 7 &&
		       tm->tm_mday + 7 > month_length(tm);
	case SKETCH_NTH:
		return tm->tm_wday == p->a % 7 && (tm->tm_mday + 6) / 7 == p->b;
	default:
		/* Sunday is both 0 and 7. */
		return plain_has(p, FIELD_WEEKDAY, tm->tm_wday) ||
		       (tm->tm_wday == 0 && plain_has(p, FIELD_WEEKDAY, 7));
	}
}

static bool field_has(const struct sketch_field *f, int field, int value)
{
	for (int i = 0; i < f->count; i++)
		if (plain_has(&f->parts[i], field, value))
			return true;
	return false;
}

static bool is_free(const struct sketch_field *f)
{
	return f->parts[0].kind == SKETCH_STAR ||
	       f->parts[0].kind == SKETCH_QUESTION;
}

static bool date_has(const struct sketch *s, const struct tm *tm)
{
	const struct sketch_field *days = &s->fields[FIELD_DAY];
	const struct sketch_field *weekdays = &s->fields[FIELD_WEEKDAY];
	bool day = false;
	bool weekday = false;

	for (int i = 0; i < days->count; i++)
		day |= day_part_has(&days->parts[i], tm);
	for (int i = 0; i < weekdays->count; i++)
		weekday |= weekday_part_has(&weekdays->parts[i], tm);
	if (is_free(days) || is_free(weekdays))
		return day && weekday;
	return day || weekday;
}

bool sketch_any_hour(const struct sketch *s)
{
	return is_free(&s->fields[FIELD_HOUR]);
}

bool sketch_has(const struct sketch *s, int64_t local_s)
{
	time_t local = local_s;
	struct tm tm;

	gmtime_r(&local, &tm);
	return field_has(&s->fields[FIELD_SECOND], FIELD_SECOND, tm.tm_sec) &&
	       field_has(&s->fields[FIELD_MINUTE], FIELD_MINUTE, tm.tm_min) &&
	       field_has(&s->fields[FIELD_HOUR], FIELD_HOUR, tm.tm_hour) &&
	       field_has(&s->fields[FIELD_MONTH], FIELD_MONTH, tm.tm_mon + 1) &&
	       date_has(s, &tm);
}

void stretch_fill(struct stretch *st, int64_t start_s, size_t seconds,
		  size_t lead)
{
	st->start_s = start_s;
	st->seconds = seconds;
	st->lead = lead;
	st->offset_s = malloc(seconds * sizeof(*st->offset_s));
	if (!st->offset_s)
		abort();
	for (size_t i = 0; i < seconds; i++) {
		time_t at = start_s + (int64_t)i;
		struct tm tm;

		localtime_r(&at, &tm);
		st->offset_s[i] = (int32_t)tm.tm_gmtoff;
	}
}

void stretch_free(struct stretch *st)
{
	free(st->offset_s);
	st->offset_s = NULL;
}

/* Most seconds are not at the second that a sketch wants, so this is asked
 * first. */
static bool has_quickly(const struct sketch *s, int64_t local_s)
{
	int second = (int)(((local_s % 60) + 60) % 60);

	return field_has(&s->fields[FIELD_SECOND], FIELD_SECOND, second) &&
	       sketch_has(s, local_s);
}

size_t stretch_walk(const struct stretch *st, const struct sketch *s,
		    int64_t *out_s, size_t max)
{
	bool any_hour = sketch_any_hour(s);
	int64_t shown = st->start_s + st->offset_s[0]; /* the latest so far */
	size_t count = 0;

	for (size_t i = 1; i < st->seconds; i++) {
		int64_t at = st->start_s + (int64_t)i;
		int64_t local = at + st->offset_s[i];
		bool comes = false;

		if (any_hour || local > shown)
			comes = has_quickly(s, local);
		for (int64_t skipped = shown + 1;
		     !any_hour && !comes && skipped < local; skipped++)
			comes = has_quickly(s, skipped);
		if (local > shown)
			shown = local;
		if (!comes || i < st->lead)
			continue;
		if (count < max)
			out_s[count] = at;
		count++;
	}
	return count;
}
