/* SPDX-License-Identifier: MIT */
/* zone.c - time zones: open them, and ask them for their offsets. */
#define _POSIX_C_SOURCE 200809L
#include "tickwheel/calendar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calendar/civil.h"
#include "calendar/zone_state.h"

#define DEFAULT_FOLDER "/usr/share/zoneinfo"

/* --- open and close ------------------------------------------------------ */

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c != 0 && strchr("_+-./", c) != NULL);
}

/* Says no to all names that could lead out of the folder. */
static bool is_name(const char *name)
{
	char before = '/';
	size_t i;

	for (i = 0; name[i] != 0; i++) {
		if (i == TKW_ZONE_MAX_NAME || !is_name_byte(name[i]))
			return false;
		if (before == '/' && (name[i] == '/' || name[i] == '.'))
			return false;
		before = name[i];
	}
	return before != '/';
}

static int open_file(const char *folder, const char *name)
{
	size_t size = strlen(folder) + strlen(name) + 2;
	char *path = malloc(size);
	int fd;

	if (path == NULL)
		return -ENOMEM;
	(void)snprintf(path, size, "%s/%s", folder, name);
	/* O_NONBLOCK: a pipe must not make the caller wait. */
	do
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		fd = errno == ENOTDIR ? -ENOENT : -errno;
	free(path);
	return fd;
}

/* Reads up to max bytes. Returns how many, or an error. */
static int64_t read_all(int fd, uint8_t *bytes, size_t max)
{
	size_t len = 0;
	ssize_t got;

	do {
		got = read(fd, bytes + len, max - len);
		if (got > 0)
			len += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	return got < 0 ? -errno : (int64_t)len;
}

static int load_file(struct tkw_zone **out, const char *name, int fd)
{
	struct stat st;
	uint8_t *bytes;
	int64_t len;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -ENOENT;
	if (!S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    st.st_size > TKW__ZONE_MAX_BYTES)
		return -EBADMSG;
	bytes = malloc((size_t)st.st_size);
	if (bytes == NULL)
		return -ENOMEM;
	len = read_all(fd, bytes, (size_t)st.st_size);
	if (len >= 0)
		len = tkw__zone_load(out, name, bytes, (size_t)len);
	free(bytes);
	return (int)len;
}

/* UTC needs no file. */
static int make_utc(struct tkw_zone **out)
{
	struct tkw_zone *z = calloc(1, sizeof(*z));

	if (z == NULL)
		return -ENOMEM;
	TKW__STORE(&z->refs, 1, RELAXED);
	(void)snprintf(z->name, sizeof(z->name), "UTC");
	*out = z;
	return 0;
}

int tkw_zone_open(struct tkw_zone **out, const char *name, const char *folder)
{
	int fd;
	int err;

	if (out == NULL || name == NULL || !is_name(name))
		return -EINVAL;
	if (strcmp(name, "UTC") == 0)
		return make_utc(out);
	fd = open_file(folder ? folder : DEFAULT_FOLDER, name);
	if (fd < 0)
		return fd;
	err = load_file(out, name, fd);
	(void)close(fd);
	return err;
}

struct tkw_zone *tkw__zone_ref(struct tkw_zone *z)
{
	if (z)
		TKW__ADD(&z->refs, 1, RELAXED);
	return z;
}

int tkw_zone_close(struct tkw_zone *z)
{
	/* ACQ_REL pairs with itself, so that the thread that frees comes after
	 * all others. */
	if (z && TKW__SUB(&z->refs, 1, ACQ_REL) == 1)
		free(z);
	return 0;
}

const char *tkw_zone_name(const struct tkw_zone *z)
{
	return z ? z->name : NULL;
}

/* --- pieces -------------------------------------------------------------- */

/* How many changes of the table have happened by a time. */
static size_t count_until(const struct tkw_zone *z, int64_t at_s)
{
	size_t low = 0;
	size_t high = z->count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (z->change[mid].at_s <= at_s)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The piece that is in force at a time by the rule. `last` is the last change
 * of the table, or NULL. */
static struct tkw__piece rule_piece(const struct tkw_zone *z,
				    const struct tkw__change *last,
				    int64_t at_s)
{
	struct tkw__piece piece = { INT64_MIN, INT64_MAX, z->rule.offset_s, 0 };
	struct tkw__change c[TKW__RULE_CHANGES];
	struct tkw__change now = { INT64_MIN, z->rule.offset_s, 0 };
	size_t count = tkw__rule_changes(&z->rule, at_s, c);
	size_t i;

	if (last)
		now = *last;
	for (i = 0; i < count; i++) {
		if (last && c[i].at_s <= last->at_s)
			continue;
		if (c[i].at_s > at_s) {
			piece.end_s = c[i].at_s;
			break;
		}
		if (now.at_s == INT64_MIN)
			c[i].mark_s = c[i].offset_s;
		else
			tkw__change_mark(&c[i], &now);
		now = c[i];
	}
	piece.begin_s = now.at_s;
	piece.offset_s = now.offset_s;
	piece.mark_s = now.mark_s;
	return piece;
}

struct tkw__piece tkw__zone_piece(const struct tkw_zone *z, int64_t at_s)
{
	struct tkw__piece piece = { INT64_MIN, INT64_MAX, 0, 0 };
	size_t i;

	if (z == NULL)
		return piece;
	i = count_until(z, at_s);
	if (i == z->count && z->has_rule)
		return rule_piece(z, i > 0 ? &z->change[i - 1] : NULL, at_s);
	piece.offset_s = z->first_s;
	if (i > 0) {
		piece.begin_s = z->change[i - 1].at_s;
		piece.offset_s = z->change[i - 1].offset_s;
		piece.mark_s = z->change[i - 1].mark_s;
	}
	if (i < z->count)
		piece.end_s = z->change[i].at_s;
	return piece;
}

int tkw_zone_get_offset(const struct tkw_zone *z, int64_t at_ms,
			int32_t *offset_s)
{
	if (z == NULL || offset_s == NULL)
		return -EINVAL;
	*offset_s = tkw__zone_piece(z, tkw__floor_div(at_ms, 1000)).offset_s;
	return 0;
}

/* --- print --------------------------------------------------------------- */

enum {
	OFFSET_BYTES = 16
};

/* Prints Z, +02:00 or, from the days of local mean time, +00:53:28. */
static void print_offset(const struct tkw_zone *z, int32_t offset_s,
			 char buf[OFFSET_BYTES])
{
	int32_t plain = offset_s < 0 ? -offset_s : offset_s;
	char sign = offset_s < 0 ? '-' : '+';

	if (z == NULL || strcmp(z->name, "UTC") == 0)
		(void)snprintf(buf, OFFSET_BYTES, "Z");
	else if (plain % 60 == 0)
		(void)snprintf(buf, OFFSET_BYTES, "%c%02d:%02d", sign,
			       plain / 3600, plain / 60 % 60);
	else
		(void)snprintf(buf, OFFSET_BYTES, "%c%02d:%02d:%02d", sign,
			       plain / 3600, plain / 60 % 60, plain % 60);
}

int tkw_zone_print(const struct tkw_zone *zone, int64_t at_ms, char *buf,
		   size_t size)
{
	int64_t at_s = tkw__floor_div(at_ms, 1000);
	int32_t offset_s = tkw__zone_piece(zone, at_s).offset_s;
	int64_t local_s = at_s + offset_s;
	int64_t day = tkw__floor_div(local_s, TKW__DAY_S);
	int rest = (int)(local_s - day * TKW__DAY_S);
	int ms = (int)(at_ms % 1000 + (at_ms % 1000 < 0 ? 1000 : 0));
	struct tkw__date date;
	char offset[OFFSET_BYTES];
	char part[16] = "";

	if ((buf == NULL && size > 0) || local_s < TKW__LOCAL_BEGIN ||
	    local_s >= TKW__LOCAL_END)
		return -EINVAL;
	date = tkw__day_to_date(day);
	print_offset(zone, offset_s, offset);
	if (ms > 0)
		(void)snprintf(part, sizeof(part), ".%03d", ms);
	return snprintf(buf, size, "%04d-%02d-%02dT%02d:%02d:%02d%s%s",
			(int)date.year, date.month, date.day, rest / 3600,
			rest / 60 % 60, rest % 60, part, offset);
}
