/* SPDX-License-Identifier: MIT */
/*
 * walk.h - the oracle of the plans: it looks at each second.
 *
 * A sketch is a plan as a list of simple parts. It is made at random, never
 * parsed. It can be written as the text of a plan, and it can be asked whether
 * a local second belongs to it. The walk goes through a stretch of time second
 * by second, with the local times of libc, and notes the times of the sketch.
 * Nothing here is shared with the code of the library.
 */
#ifndef CALENDAR_WALK_H
#define CALENDAR_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "choice.h"

enum sketch_kind {
	SKETCH_STAR,         /* star, or star with a step */
	SKETCH_QUESTION,     /* question mark */
	SKETCH_VALUE,        /* a */
	SKETCH_FROM,         /* a with a step, up to the largest value */
	SKETCH_RANGE,        /* a-b, with or without a step */
	SKETCH_LAST,         /* L */
	SKETCH_BEFORE_LAST,  /* L-a */
	SKETCH_LAST_WEEKDAY, /* LW */
	SKETCH_NEAR,         /* aW */
	SKETCH_LAST_OF,      /* aL in the day of the week */
	SKETCH_NTH           /* a#b in the day of the week */
};

struct sketch_part {
	enum sketch_kind kind;
	int a;
	int b;
	int step; /* 0 if there is none */
	bool named;
};

enum {
	SKETCH_PARTS = 3,
	SKETCH_FIELDS = 6
};

enum sketch_field_name {
	FIELD_SECOND,
	FIELD_MINUTE,
	FIELD_HOUR,
	FIELD_DAY,
	FIELD_MONTH,
	FIELD_WEEKDAY
};

struct sketch_field {
	struct sketch_part parts[SKETCH_PARTS];
	int count;
};

struct sketch {
	struct sketch_field fields[SKETCH_FIELDS];
	bool with_seconds;
};

/* Makes a sketch. If `dense` is set, it has times on most days. */
void sketch_make(struct sketch *s, struct choice *c, bool dense);

/* Writes the text of a sketch. */
void sketch_text(const struct sketch *s, char *buf, size_t size);

/* Does the sketch have this local time? It is in seconds since the start of
 * 1970-01-01. */
bool sketch_has(const struct sketch *s, int64_t local_s);

/* Does the hour field start with a star or a question mark? */
bool sketch_any_hour(const struct sketch *s);

/* A stretch of time with the offset of each second. */
struct stretch {
	int64_t start_s;
	size_t seconds;
	/* How many seconds at the start only tell what the clocks have shown
	 * before. No time is noted in them. */
	size_t lead;
	int32_t *offset_s;
};

/* Notes the offsets that libc gives for the zone in the variable TZ. */
void stretch_fill(struct stretch *st, int64_t start_s, size_t seconds,
		  size_t lead);
void stretch_free(struct stretch *st);

/* Walks through a stretch. Writes up to max times of the sketch, in seconds,
 * and returns how many there are. */
size_t stretch_walk(const struct stretch *st, const struct sketch *s,
		    int64_t *out_s, size_t max);

#endif /* CALENDAR_WALK_H */
