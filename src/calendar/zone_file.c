/* SPDX-License-Identifier: MIT */
/*
 * zone_file.c - reads the file of a zone: TZif, versions 1 to 4 (RFC 9636).
 *
 * Layout: a header, and a block with times of 32 bits. From version 2 on, a
 *         second header follows, a block with times of 64 bits, and a line with
 *         the rule for all later times. The first block is then skipped.
 * Input:  the file is not trusted. Each count is checked against the bytes that
 *         are there before it is used, and each index against its count.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calendar/zone_state.h"

enum {
	HEADER = 44,
	TYPE = 6,       /* bytes of a local time type */
	MAX_TYPES = 256 /* an index has one byte */
};

/* A header, and where the parts of its block are. */
struct block {
	uint32_t version;
	uint32_t time_bytes; /* 4 or 8 */
	uint32_t ut_count;
	uint32_t std_count;
	uint32_t leap_count;
	uint32_t time_count;
	uint32_t type_count;
	uint32_t char_count;
	const uint8_t *time;
	const uint8_t *index;
	const uint8_t *type;
	const uint8_t *chars;
	const uint8_t *flags; /* std_count, then ut_count */
	const uint8_t *end;
};

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

static int64_t get_time(const struct block *b, uint32_t i)
{
	const uint8_t *p = b->time + (size_t)i * b->time_bytes;

	if (b->time_bytes == 4)
		return (int32_t)get32(p);
	return (int64_t)((uint64_t)get32(p) << 32 | get32(p + 4));
}

static int32_t get_offset(const struct block *b, uint32_t type)
{
	return (int32_t)get32(b->type + (size_t)TYPE * type);
}

static int read_header(struct block *b, const uint8_t *p, size_t len)
{
	static const char magic[4] = { 'T', 'Z', 'i', 'f' };

	if (len < HEADER || memcmp(p, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	if (p[4] != 0 && p[4] < '2')
		return -EBADMSG;
	if (p[4] > '4')
		return -EMEDIUMTYPE;
	b->version = p[4] == 0 ? 1 : (uint32_t)(p[4] - '0');
	b->ut_count = get32(p + 20);
	b->std_count = get32(p + 24);
	b->leap_count = get32(p + 28);
	b->time_count = get32(p + 32);
	b->type_count = get32(p + 36);
	b->char_count = get32(p + 40);
	return 0;
}

/* Finds the parts of the block behind a header. */
static int find_parts(struct block *b, const uint8_t *p, size_t len,
		      uint32_t time_bytes)
{
	/* Sums of 64 bits cannot overflow. */
	uint64_t times = (uint64_t)b->time_count * time_bytes;
	uint64_t types = (uint64_t)b->type_count * TYPE;
	uint64_t leaps = (uint64_t)b->leap_count * (time_bytes + 4);
	uint64_t total = HEADER + times + b->time_count + types +
			 b->char_count + leaps + b->std_count + b->ut_count;

	if (total > len)
		return -EBADMSG;
	b->time_bytes = time_bytes;
	b->time = p + HEADER;
	b->index = b->time + times;
	b->type = b->index + b->time_count;
	b->chars = b->type + types;
	b->flags = b->chars + b->char_count + leaps;
	b->end = p + total;
	return 0;
}

static bool are_types_sound(const struct block *b)
{
	const uint8_t *t = b->type;
	uint32_t i;

	if (b->type_count == 0 || b->type_count > MAX_TYPES ||
	    b->char_count == 0)
		return false;
	/* The last name of a zone, such as "CET", must have its end. */
	if (b->chars[b->char_count - 1] != 0)
		return false;
	for (i = 0; i < b->type_count; i++, t += TYPE) {
		int32_t offset_s = get_offset(b, i);

		if (offset_s <= -TKW__OFFSET_END_S ||
		    offset_s >= TKW__OFFSET_END_S || t[4] > 1 ||
		    t[5] >= b->char_count)
			return false;
	}
	return true;
}

static bool are_flags_sound(const struct block *b)
{
	uint32_t i;

	if (b->std_count != 0 && b->std_count != b->type_count)
		return false;
	if (b->ut_count != 0 && b->ut_count != b->type_count)
		return false;
	for (i = 0; i < b->std_count + b->ut_count; i++) {
		if (b->flags[i] > 1)
			return false;
	}
	return true;
}

static bool are_times_sound(const struct block *b)
{
	uint32_t i;

	if (b->time_count > TKW__ZONE_MAX_CHANGES)
		return false;
	for (i = 0; i < b->time_count; i++) {
		if (b->index[i] >= b->type_count)
			return false;
		if (i > 0 && get_time(b, i) <= get_time(b, i - 1))
			return false;
	}
	return true;
}

/* Finds the block that counts: the second one, if there are two. */
static int find_block(struct block *b, const uint8_t *p, size_t len)
{
	int err = read_header(b, p, len);

	if (err == 0)
		err = find_parts(b, p, len, 4);
	if (err == 0 && b->version > 1) {
		uint32_t version = b->version;
		const uint8_t *second = b->end;

		len -= (size_t)(second - p);
		err = read_header(b, second, len);
		if (err == 0 && b->version != version)
			err = -EBADMSG;
		if (err == 0)
			err = find_parts(b, second, len, 8);
	}
	if (err < 0)
		return err;
	if (!are_types_sound(b) || !are_flags_sound(b) || !are_times_sound(b))
		return -EBADMSG;
	/* Its times count the leap seconds, and those of the system do not. */
	return b->leap_count > 0 ? -EMEDIUMTYPE : 0;
}

/* Reads the line behind the second block. It may be empty. */
static int read_footer(struct tkw_zone *z, const uint8_t *p, const uint8_t *end)
{
	const char *text = (const char *)p + 1;
	size_t len;

	if (end - p < 2 || p[0] != '\n' || end[-1] != '\n')
		return -EBADMSG;
	len = (size_t)(end - p) - 2;
	if (len == 0)
		return 0;
	if (!tkw__rule_read(&z->rule, text, len))
		return -EBADMSG;
	z->has_rule = true;
	return 0;
}

/* Keeps a time so near that differences cannot overflow. */
static int64_t clamp(int64_t at_s)
{
	const int64_t far = INT64_C(1) << 60;

	if (at_s < -far)
		return -far;
	return at_s > far ? far : at_s;
}

/* Takes over the changes, with their marks. */
static void fill(struct tkw_zone *z, const struct block *b)
{
	struct tkw__change last = { clamp(INT64_MIN), get_offset(b, 0), 0 };
	uint32_t i;

	z->first_s = last.offset_s;
	last.mark_s = last.offset_s;
	for (i = 0; i < b->time_count; i++) {
		struct tkw__change c = { clamp(get_time(b, i)),
					 get_offset(b, b->index[i]), 0 };

		tkw__change_mark(&c, &last);
		z->change[z->count++] = c;
		last = c;
	}
}

/* The rule must know the offset of the last change. It need not be in force
 * there: zic leaves out changes that the rule repeats, and then the rule begins
 * with its first change after the last one of the file (America/Ojinaga, 2022).
 */
static bool is_rule_sound(const struct tkw_zone *z)
{
	int32_t last_s;

	if (!z->has_rule || z->count == 0)
		return true;
	last_s = z->change[z->count - 1].offset_s;
	return last_s == z->rule.offset_s ||
	       (z->rule.has_summer && last_s == z->rule.summer_s);
}

int tkw__zone_load(struct tkw_zone **out, const char *name, const void *bytes,
		   size_t len)
{
	const uint8_t *p = bytes;
	struct block b = { 0 };
	struct tkw_zone *z;
	int err = find_block(&b, p, len);

	if (err < 0)
		return err;
	z = calloc(1, sizeof(*z) + b.time_count * sizeof(z->change[0]));
	if (z == NULL)
		return -ENOMEM;
	TKW__STORE(&z->refs, 1, RELAXED);
	(void)snprintf(z->name, sizeof(z->name), "%s", name);
	fill(z, &b);
	if (b.version > 1)
		err = read_footer(z, b.end, p + len);
	else if (b.end != p + len)
		err = -EBADMSG;
	if (err == 0 && !is_rule_sound(z))
		err = -EBADMSG;
	if (err < 0) {
		free(z);
		return err;
	}
	*out = z;
	return 0;
}
