/* SPDX-License-Identifier: MIT */
/*
 * zone_state.h - time zones inside.
 *
 * Idea:   the time line of a zone is cut into pieces with one offset each. In a
 *         piece, local time runs evenly, so a search for a local time is plain
 *         arithmetic, and only the seams between the pieces need rules.
 * Mark:   each piece knows the highest local time that the clocks of the zone
 *         have shown before it. If the piece starts above its mark, the clocks
 *         have skipped the times between. If it starts below, they show the
 *         times up to the mark once more.
 */
#ifndef TKW_CALENDAR_ZONE_STATE_H
#define TKW_CALENDAR_ZONE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/sync.h"
#include "tickwheel/calendar.h"

enum {
	/* Offsets are smaller than this, to both sides. */
	TKW__OFFSET_END_S = 26 * 3600,
	/* The files of the system have a few hundred. Without a bound, a file
	 * could make a search slow. */
	TKW__ZONE_MAX_CHANGES = 4096,
	TKW__ZONE_MAX_BYTES = 128 * 1024
};

/* From `at_s` on, the offset is offset_s. */
struct tkw__change {
	int64_t at_s;
	int32_t offset_s;
	int32_t mark_s; /* the mark, minus at_s */
};

/* A day of each year. */
struct tkw__rule_day {
	enum {
		TKW__DAY_JULIAN, /* 1 to 365, without February 29 */
		TKW__DAY_PLAIN,  /* 0 to 365 */
		TKW__DAY_WEEK    /* a weekday of a week of a month */
	} kind;
	int day; /* also the weekday */
	int week;
	int month;
	int32_t time_s; /* local time on this day; may be on other days */
};

/* What holds after the last change, for ever. */
struct tkw__rule {
	bool has_summer;
	int32_t offset_s;
	int32_t summer_s; /* the offset in summer */
	struct tkw__rule_day begin;
	struct tkw__rule_day end;
};

struct tkw_zone {
	struct tkw__a32 refs;
	char name[TKW_ZONE_MAX_NAME + 1];
	bool has_rule;
	struct tkw__rule rule;
	int32_t first_s; /* the offset before the first change */
	size_t count;
	struct tkw__change change[];
};

/* A piece of time with one offset. Two pieces side by side may have the same
 * offset. */
struct tkw__piece {
	int64_t begin_s; /* INT64_MIN if there is no earlier piece */
	int64_t end_s;   /* INT64_MAX if there is no later piece */
	int32_t offset_s;
	int32_t mark_s; /* the mark, minus begin_s */
};

/* Finds the piece that a time is in. z may be NULL for UTC. */
struct tkw__piece tkw__zone_piece(const struct tkw_zone *z, int64_t at_s);

struct tkw_zone *tkw__zone_ref(struct tkw_zone *z);

/* Reads a zone from the bytes of its file. Returns 0, -EBADMSG, -EMEDIUMTYPE or
 * -ENOMEM. The name must fit. */
int tkw__zone_load(struct tkw_zone **out, const char *name, const void *bytes,
		   size_t len);

/* Reads a rule, such as "CET-1CEST,M3.5.0,M10.5.0/3". */
bool tkw__rule_read(struct tkw__rule *rule, const char *text, size_t len);

/* The changes of a rule in the years around a time, in order, without marks.
 * Nothing changes if the rule has no summer. */
enum {
	TKW__RULE_CHANGES = 10
};
size_t tkw__rule_changes(const struct tkw__rule *rule, int64_t at_s,
			 struct tkw__change out[TKW__RULE_CHANGES]);

/* Sets the mark of a change by the change before it. */
static inline void tkw__change_mark(struct tkw__change *change,
				    const struct tkw__change *before)
{
	int64_t mark_s = before->mark_s - (change->at_s - before->at_s);

	change->mark_s =
		mark_s > before->offset_s ? (int32_t)mark_s : before->offset_s;
}

#endif /* TKW_CALENDAR_ZONE_STATE_H */
