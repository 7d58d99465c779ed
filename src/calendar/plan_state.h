/* SPDX-License-Identifier: MIT */
/* plan_state.h - plans inside. */
#ifndef TKW_CALENDAR_PLAN_STATE_H
#define TKW_CALENDAR_PLAN_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/sync.h"
#include "tickwheel/calendar.h"

/* A cron expression, as sets of bits. */
struct tkw__cron {
	uint64_t seconds;
	uint64_t minutes;
	uint32_t hours;
	uint32_t days;          /* bits 1 to 31 */
	uint32_t before_last;   /* bit n: n days before the last of the month */
	uint32_t near;          /* bit n: nW */
	uint16_t months;        /* bits 1 to 12 */
	uint8_t weekdays;       /* bits 0 to 6, from Sunday */
	uint8_t last_weekdays;  /* bit n: nL */
	uint8_t nth_weekday[7]; /* bit k of n: n#k */
	bool last_near;         /* LW */
	bool with_seconds;      /* the text has six fields */
	bool any_hour;          /* the hour field starts with a star */
	bool days_restricted;
	bool weekdays_restricted;
	/* Bit m: such a year has a day of the plan in month m. By leap year and
	 * weekday of January 1. */
	uint16_t months_of[2][7];
};

/* "every". */
struct tkw__every {
	int64_t period_ms;
	int64_t from_ms;
	bool has_from;
};

struct tkw_plan {
	struct tkw__a32 refs;
	bool is_cron;
	struct tkw__cron cron;
	struct tkw__every every;
	struct tkw_zone *zone; /* NULL for UTC */
	char text[];
};

/* The text of a plan, as it is read. */
struct tkw__scan {
	const char *text;
	size_t at;
	size_t end;
	struct tkw_plan_error error;
};

/* Notes what was expected at a position. Returns false. */
bool tkw__scan_fail(struct tkw__scan *s, size_t position, const char *format,
		    ...) __attribute__((format(printf, 3, 4)));
char tkw__scan_peek(const struct tkw__scan *s);
/* Reads c if it comes next. */
bool tkw__scan_skip(struct tkw__scan *s, char c);
void tkw__scan_blanks(struct tkw__scan *s);
/* Reads a word if it comes next, in any case, and nothing of a longer word. */
bool tkw__scan_word(struct tkw__scan *s, const char *word);
/* Reads digits. Returns false if there are none. A value that is too large
 * becomes most + 1. */
bool tkw__scan_number(struct tkw__scan *s, int64_t most, int64_t *out);

/* Both return false if the text is wrong, and say why in s->error. */
bool tkw__cron_read(struct tkw__scan *s, struct tkw__cron *c);
bool tkw__every_read(struct tkw__scan *s, struct tkw__every *e);

/* The days of a month that a plan has, bits 1 to 31. `first` is the weekday of
 * the first day. */
uint32_t tkw__cron_days(const struct tkw__cron *c, int days_in_month,
			int first);
void tkw__cron_prepare(struct tkw__cron *c);

/*
 * The searches behind tkw_plan_next() and tkw_plan_previous().
 *
 * steps  Receives how many years, months and pieces of the zone's time they
 *        have looked at, so that tests can prove the bound.
 */
int tkw__plan_next(const struct tkw_plan *p, int64_t after_ms, int64_t *out_ms,
		   unsigned *steps);
int tkw__plan_previous(const struct tkw_plan *p, int64_t before_ms,
		       int64_t *out_ms, unsigned *steps);
int tkw__every_next(const struct tkw__every *e, int64_t after_ms,
		    int64_t *out_ms);
int tkw__every_previous(const struct tkw__every *e, int64_t before_ms,
			int64_t *out_ms);

#endif /* TKW_CALENDAR_PLAN_STATE_H */
