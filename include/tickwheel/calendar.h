/* SPDX-License-Identifier: MIT */
/*
 * calendar.h - plans: cron expressions and periods, in any time zone
 *
 * A plan is read from a text: a cron expression, or "every 90s". It tells which
 * time comes next after a given time, and which came last before it. A plan
 * starts nothing by itself: job.h runs a function by a plan.
 *
 * A cron expression has five fields: minute, hour, day of the month, month and
 * day of the week. With six fields, the first one is the second.
 *
 *   second, minute    0 to 59
 *   hour              0 to 23
 *   day of the month  1 to 31, and also L, LW, L-3, 15W and ?
 *   month             1 to 12, or jan to dec
 *   day of the week   0 to 7, or sun to sat; both 0 and 7 are Sunday; and also
 *                     L, 5L, fri#2 and ?
 *
 *   Fields   A field is a list of values and ranges, such as 1,15 or 9-17,20.
 *            A star means each value, and so does a question mark. A slash and
 *            a number set a step: 9-17/2 is 9, 11, 13, 15 and 17; a star with
 *            /15 is every 15th value from the smallest one on; 5/15 counts from
 *            5 to the largest value. Names have three letters in any case. A
 *            range of days of the week or of months may wrap around: fri-mon.
 *   Days     If both day fields are restricted, a day needs to match only one
 *            of them. Otherwise it must match both. A field that starts with a
 *            star or a question mark is not restricted, even with a step. In
 *            the day of the month, L is the last day, L-3 three days before
 *            that, LW the last day from Monday to Friday, and 15W the day from
 *            Monday to Friday in the same month that is nearest to the 15th.
 *            In a month that does not have a day, that day is left out. In the
 *            day of the week, fri#2 is the second Friday of a month, 5L its
 *            last Friday, and L alone is Saturday.
 *   Macros   @yearly, @annually, @monthly, @weekly, @daily, @midnight and
 *            @hourly. @reboot is refused.
 *   Every    "every 90s" or "every 1h30m from 2026-01-01T00:00Z". Units are ms,
 *            s, m, h, d (24 hours) and w, the larger one first. The first time
 *            is that of "from", which ends with Z or an offset such as +02:00.
 *            Without "from", the times count from 1970-01-01T00:00Z, forwards
 *            and backwards.
 *   Clock    When the clocks of a zone go forward, some local times do not
 *            exist, and when they go back, some exist twice. If the hour field
 *            starts with a star or a question mark, skipped times do not come,
 *            and repeated times come twice. With any other hour field, such as
 *            0-23, a skipped time comes at the first moment after the gap
 *            (several skipped times come there once), and a repeated time comes
 *            only the first time.
 *   Time     A time is in milliseconds since 1970-01-01T00:00Z, in an int64_t.
 *            Plans know the local years 1900 to 9999.
 *   Threads  A plan and a zone never change, so any number of threads may use
 *            them at once, until one thread destroys or closes them. No call
 *            uses the variable TZ or changes a setting of the process.
 *
 * A call that fails changes nothing and writes no result, unless its
 * description says otherwise.
 *
 * Errors, the same in every call of this header:
 *   -EINVAL   an argument is not valid, or is NULL where NULL is not allowed
 *   -ENOMEM   there is not enough memory
 *   -ENOENT   there is no such time, or no such zone
 *   -EBADMSG  the file of a zone is damaged
 *   -EMEDIUMTYPE
 *             the file of a zone is of another kind
 */
#ifndef TICKWHEEL_CALENDAR_H
#define TICKWHEEL_CALENDAR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A time zone. */
struct tkw_zone;

/* A plan. */
struct tkw_plan;

/* The largest number of bytes in the text of a plan, and in the name of a zone,
 * without the 0 at the end. */
#define TKW_PLAN_MAX_TEXT 255
#define TKW_ZONE_MAX_NAME 63

/* What to do with planned times that could not be started in time. */
enum tkw_misfire {
	/* Start the latest of them. */
	TKW_MISFIRE_ONCE = 0,
	/* Start the latest max_missed of them, the oldest first. */
	TKW_MISFIRE_ALL,
	/* Start none of them. */
	TKW_MISFIRE_SKIP,
};

/* What to do with a planned time that comes while the run of an earlier one
 * goes on. */
enum tkw_overlap {
	/* Leave it out. */
	TKW_OVERLAP_SKIP = 0,
	/* Start it all the same. */
	TKW_OVERLAP_ALLOW,
};

/*
 * Opens a time zone of the system by its name.
 *
 * The file of the zone is read in this call and never again. If the system gets
 * new rules for the zone, open the zone again and create its plans again.
 *
 * out     Receives the zone. Close it with tkw_zone_close().
 * name    A name such as "Europe/Berlin". "UTC" works without any file.
 * folder  The folder with the files of the zones. NULL means
 *         /usr/share/zoneinfo.
 *
 * Returns 0, or
 *   -EINVAL        out or name is NULL, or name is not the name of a zone: it
 *                  is empty or too long, has a part that is empty or starts
 *                  with a dot, or has a byte other than letters, digits and
 *                  "_+-./"
 *   -ENOENT        there is no such zone
 *   -EBADMSG       the file is not the file of a zone, or is damaged
 *   -EMEDIUMTYPE   the file is of a newer version, or counts leap seconds, as
 *                  those in the folder "right" do
 *   -ENOMEM        as listed at the top
 *   another error  the system refuses to read the file, for example -EACCES
 */
int tkw_zone_open(struct tkw_zone **out, const char *name, const char *folder);

/*
 * Closes a zone. Plans of this zone go on working.
 *
 * z  The zone. If it is NULL, the call does nothing.
 *
 * Returns 0.
 */
int tkw_zone_close(struct tkw_zone *z);

/* Returns the name of a zone, or NULL for NULL. It is valid until the zone is
 * closed. */
const char *tkw_zone_name(const struct tkw_zone *z);

/*
 * Gets how far the local time of a zone is ahead of UTC at a time.
 *
 * z         The zone. Must not be NULL, not even for UTC.
 * offset_s  Receives the seconds. They are negative west of Greenwich.
 *
 * Returns 0, or
 *   -EINVAL  z or offset_s is NULL
 */
int tkw_zone_get_offset(const struct tkw_zone *z, int64_t at_ms,
			int32_t *offset_s);

/* What is wrong with the text of a plan. */
struct tkw_plan_error {
	/* The first byte that is wrong, counted from 0. It may be the end of
	 * the text. */
	size_t position;
	/* A sentence that says what was expected there, with a 0 at the end. */
	char text[96];
};

/*
 * Creates a plan from its text.
 *
 * out    Receives the plan. Destroy it with tkw_plan_destroy().
 * text   The plan, up to TKW_PLAN_MAX_TEXT bytes. It is copied.
 * zone   The zone of the plan's local times. NULL means UTC. You may close the
 *        zone before you destroy the plan. "every" needs no zone.
 * error  Receives what is wrong if the call returns -EINVAL because of the
 *        text. May be NULL.
 *
 * Returns 0, or
 *   -EINVAL  out or text is NULL, or the text is not a plan
 *   -ENOMEM  as listed at the top
 */
int tkw_plan_create(struct tkw_plan **out, const char *text,
		    struct tkw_zone *zone, struct tkw_plan_error *error);

/*
 * Frees a plan.
 *
 * p  The plan. If it is NULL, the call does nothing.
 *
 * Returns 0.
 */
int tkw_plan_destroy(struct tkw_plan *p);

/* Returns the text of a plan, as it was given, or NULL for NULL. It is valid
 * until the plan is destroyed. */
const char *tkw_plan_text(const struct tkw_plan *p);

/*
 * Finds the first time of a plan that is later than a given time.
 *
 * The call takes less than a microsecond for usual plans. It never searches for
 * more than 40 years, which the rarest plans need.
 *
 * out_ms  Receives the time. It is always later than after_ms.
 *
 * Returns 0, or
 *   -EINVAL  p or out_ms is NULL
 *   -ENOENT  the plan has no later time. "0 0 31 feb *" never has one
 */
int tkw_plan_next(const struct tkw_plan *p, int64_t after_ms, int64_t *out_ms);

/*
 * Finds the last time of a plan that is earlier than a given time.
 *
 * out_ms  Receives the time. It is always earlier than before_ms.
 *
 * Returns 0, or
 *   -EINVAL  p or out_ms is NULL
 *   -ENOENT  the plan has no earlier time
 */
int tkw_plan_previous(const struct tkw_plan *p, int64_t before_ms,
		      int64_t *out_ms);

/*
 * Lists the next times of a plan that are later than a given time, the first
 * one first.
 *
 * out_ms  Receives up to max times.
 * max     The size of out_ms, up to INT_MAX.
 *
 * Returns how many times it has written, which is fewer than max if the plan
 * has no more; or
 *   -EINVAL  p is NULL, out_ms is NULL and max is not 0, or max is too large
 */
int tkw_plan_list(const struct tkw_plan *p, int64_t after_ms, int64_t *out_ms,
		  size_t max);

/*
 * Prints a plan in words, for example "at 02:30 on the last Friday of each
 * month, Europe/Berlin".
 *
 * buf   Receives the text. As with snprintf(), it is cut to size bytes and ends
 *       with a zero byte. May be NULL if size is 0.
 * size  The size of buf. With 0 nothing is written.
 *
 * Returns the length of the whole text, even if it was cut, or
 *   -EINVAL  p is NULL, or buf is NULL and size is not 0
 */
int tkw_plan_print(const struct tkw_plan *p, char *buf, size_t size);

/*
 * Prints a time as local time with its offset, for example
 * "2026-03-29T03:00:00+02:00". Milliseconds are printed only if they are not 0.
 *
 * zone       The zone. NULL means UTC, which is printed as Z.
 * buf, size  As in tkw_plan_print().
 *
 * Returns the length of the whole text, even if it was cut, or
 *   -EINVAL  buf is NULL and size is not 0, or the local time is not in the
 *            years 1900 to 9999
 */
int tkw_zone_print(const struct tkw_zone *zone, int64_t at_ms, char *buf,
		   size_t size);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_CALENDAR_H */
