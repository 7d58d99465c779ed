/* SPDX-License-Identifier: MIT */
/* test_zone.c - zones: names, files of all versions, damage, and prints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calendar/zone_state.h"
#include "tickwheel/calendar.h"

enum {
	MAX_FILE = 48 * 1024,
	MAX_TYPES = 4
};

#define SPRING INT64_C(1774746000) /* 2026-03-29T01:00Z */
#define AUTUMN INT64_C(1792890000) /* 2026-10-25T01:00Z */

/* --- files --------------------------------------------------------------- */

struct file {
	uint8_t bytes[MAX_FILE];
	size_t len;
};

static void put(struct file *f, uint64_t value, int bytes)
{
	while (bytes-- > 0)
		f->bytes[f->len++] = (uint8_t)(value >> (8 * bytes));
}

/* A zone with two types, CET and CEST, and two changes. */
static void put_block(struct file *f, char version, int time_bytes, bool full)
{
	memcpy(f->bytes + f->len, "TZif", 4);
	f->len += 4;
	put(f, (uint8_t)version, 1);
	f->len += 15;
	put(f, 0, 4);
	put(f, 0, 4);
	put(f, 0, 4);
	put(f, full ? 2 : 0, 4);
	put(f, full ? 2 : 1, 4);
	put(f, full ? 9 : 1, 4);
	if (full) {
		put(f, (uint64_t)SPRING, time_bytes);
		put(f, (uint64_t)AUTUMN, time_bytes);
		put(f, 0x0100, 2);
		put(f, 3600, 4);
		put(f, 0x0000, 2);
		put(f, 7200, 4);
		put(f, 0x0104, 2);
		memcpy(f->bytes + f->len, "CET\0CEST", 9);
		f->len += 9;
	} else {
		put(f, 0, 4);
		put(f, 0, 2);
		put(f, 0, 1);
	}
}

static struct file make_file(char version, const char *footer)
{
	struct file f = { .len = 0 };

	if (version == 0) {
		put_block(&f, 0, 4, true);
		return f;
	}
	put_block(&f, version, 4, false);
	put_block(&f, version, 8, true);
	f.len += (size_t)snprintf((char *)f.bytes + f.len, MAX_FILE - f.len,
				  "\n%s\n", footer);
	return f;
}

/* Where the second block begins, and its parts. */
enum {
	SECOND = 44 + 7,
	TIMES = SECOND + 44,
	INDEX = TIMES + 16,
	TYPES = INDEX + 2,
	CHARS = TYPES + 12
};

static int load(const struct file *f, struct tkw_zone **z)
{
	/* In memory of its own size, so that a sanitizer sees each byte that is
	 * read behind the end. */
	uint8_t *bytes = malloc(f->len ? f->len : 1);
	int err;

	assert_non_null(bytes);
	memcpy(bytes, f->bytes, f->len);
	err = tkw__zone_load(z, "Test", bytes, f->len);
	free(bytes);
	return err;
}

static int32_t offset_at(const struct tkw_zone *z, int64_t at_s)
{
	int32_t offset_s = 0;

	assert_int_equal(tkw_zone_get_offset(z, at_s * 1000, &offset_s), 0);
	return offset_s;
}

static void test_zone_reads_all_versions(void **state)
{
	static const char versions[] = { 0, '2', '3', '4' };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(versions); i++) {
		struct file f =
			make_file(versions[i], "CET-1CEST,M3.5.0,M10.5.0/3");
		struct tkw_zone *z = NULL;

		assert_int_equal(load(&f, &z), 0);
		assert_int_equal(offset_at(z, SPRING - 1), 3600);
		assert_int_equal(offset_at(z, SPRING), 7200);
		assert_int_equal(offset_at(z, AUTUMN - 1), 7200);
		assert_int_equal(offset_at(z, AUTUMN), 3600);
		/* 2027-07-01: the rule, which version 1 does not have. */
		assert_int_equal(offset_at(z, INT64_C(1814400000)),
				 versions[i] ? 7200 : 3600);
		/* Far away, the rule still holds. */
		assert_in_range(offset_at(z, INT64_MAX / 1000), 3600,
				versions[i] ? 7200 : 3600);
		assert_int_equal(offset_at(z, INT64_MIN / 1000), 3600);
		tkw_zone_close(z);
	}
}

static void test_zone_of_a_newer_version_is_refused(void **state)
{
	struct file f = make_file('5', "");
	struct tkw_zone *z = NULL;

	(void)state;
	assert_int_equal(load(&f, &z), -EMEDIUMTYPE);
	f = make_file('1', "");
	assert_int_equal(load(&f, &z), -EBADMSG);
}

/* Each file that is too short or too long is refused. */
static void test_zone_of_another_length_is_refused(void **state)
{
	static const char versions[] = { 0, '2' };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(versions); i++) {
		struct file whole = make_file(versions[i], "CET-1");
		struct file f = whole;
		struct tkw_zone *z = NULL;

		for (f.len = 0; f.len < whole.len; f.len++)
			assert_int_equal(load(&f, &z), -EBADMSG);
		assert_int_equal(load(&f, &z), 0);
		tkw_zone_close(z);
		f.len++;
		assert_int_equal(load(&f, &z), -EBADMSG);
	}
}

static void is_damaged(size_t at, uint8_t value)
{
	struct file f = make_file('3', "CET-1");
	struct tkw_zone *z = NULL;

	f.bytes[at] = value;
	if (load(&f, &z) != -EBADMSG)
		fail_msg("byte %zu with %d is not refused", at, value);
}

static void test_zone_that_is_damaged_is_refused(void **state)
{
	size_t i;

	(void)state;
	is_damaged(0, 't');
	is_damaged(SECOND, 't');
	is_damaged(SECOND + 4, '2'); /* not the version of the first header */
	for (i = 20; i < 44; i++)
		is_damaged(SECOND + i, 0xff); /* a count */
	is_damaged(SECOND + 39, 0);           /* no types */
	is_damaged(TIMES, 0x7f);              /* not in order */
	is_damaged(TIMES + 8, 0x80);
	is_damaged(INDEX, 2);
	is_damaged(INDEX + 1, 0xff);
	is_damaged(TYPES, 0x7f); /* an offset of years */
	is_damaged(TYPES + 4, 2);
	is_damaged(TYPES + 5, 9);
	is_damaged(CHARS + 8, 'X'); /* no end of the names */
	is_damaged(CHARS + 9, ' '); /* no new line */
}

static void test_zone_with_leap_seconds_is_refused(void **state)
{
	struct file f = { .len = 0 };
	struct tkw_zone *z = NULL;

	(void)state;
	put_block(&f, 0, 4, true);
	f.bytes[31] = 1;
	put(&f, 0, 8);
	assert_int_equal(load(&f, &z), -EMEDIUMTYPE);
}

/* Begins a file with a block that is skipped, and the header of the block that
 * counts. */
static struct file begin_file(uint32_t ut_count, uint32_t std_count,
			      uint32_t time_count, uint32_t type_count)
{
	struct file f = { .len = 0 };

	put_block(&f, '2', 4, false);
	memcpy(f.bytes + f.len, "TZif2", 5);
	f.len += 20;
	put(&f, ut_count, 4);
	put(&f, std_count, 4);
	put(&f, 0, 4);
	put(&f, time_count, 4);
	put(&f, type_count, 4);
	put(&f, 4, 4);
	return f;
}

static void put_type(struct file *f, int32_t offset_s)
{
	put(f, (uint32_t)offset_s, 4);
	put(f, 0, 2);
}

/* Ends a file with the name of its types, a flag of each, and no rule. */
static void end_file(struct file *f, const char *flags, size_t count)
{
	put(f, 0x41414100, 4);
	memcpy(f->bytes + f->len, flags, count);
	f->len += count;
	put(f, 0x0a0a, 2);
}

static int load_changes(uint32_t count)
{
	struct file f = begin_file(0, 0, count, 1);
	struct tkw_zone *z = NULL;
	uint32_t i;
	int err;

	for (i = 0; i < count; i++)
		put(&f, i, 8);
	for (i = 0; i < count; i++)
		put(&f, 0, 1);
	put_type(&f, 0);
	end_file(&f, "", 0);
	err = load(&f, &z);
	tkw_zone_close(z);
	return err;
}

static int load_types(uint32_t count)
{
	struct file f = begin_file(0, 0, 0, count);
	struct tkw_zone *z = NULL;
	uint32_t i;
	int err;

	for (i = 0; i < count; i++)
		put_type(&f, 0);
	end_file(&f, "", 0);
	err = load(&f, &z);
	tkw_zone_close(z);
	return err;
}

/* A strange file cannot make a search slow. */
static void test_zone_with_too_much_is_refused(void **state)
{
	(void)state;
	assert_int_equal(load_changes(TKW__ZONE_MAX_CHANGES), 0);
	assert_int_equal(load_changes(TKW__ZONE_MAX_CHANGES + 1), -EBADMSG);
	assert_int_equal(load_types(256), 0);
	assert_int_equal(load_types(257), -EBADMSG);
}

static int load_flags(uint32_t ut_count, uint32_t std_count, const char *flags)
{
	struct file f = begin_file(ut_count, std_count, 0, 2);
	struct tkw_zone *z = NULL;
	int err;

	put_type(&f, 0);
	put_type(&f, 3600);
	end_file(&f, flags, ut_count + std_count);
	err = load(&f, &z);
	tkw_zone_close(z);
	return err;
}

static void test_zone_flags(void **state)
{
	(void)state;
	assert_int_equal(load_flags(0, 0, ""), 0);
	assert_int_equal(load_flags(2, 2, "\1\1\1\0"), 0);
	assert_int_equal(load_flags(0, 1, "\1"), -EBADMSG);
	assert_int_equal(load_flags(1, 0, "\1"), -EBADMSG);
	assert_int_equal(load_flags(3, 2, "\0\0\0\0\0"), -EBADMSG);
	assert_int_equal(load_flags(2, 2, "\1\1\1\2"), -EBADMSG);
	assert_int_equal(load_flags(2, 0, "\2\0"), -EBADMSG);
}

/* The clocks go back at two times, and the second time before they have shown
 * again what they had shown before the first. */
static void test_zone_that_goes_back_twice_repeats_no_time(void **state)
{
	struct file f = begin_file(0, 0, 2, 3);
	struct tkw_zone *z = NULL;
	struct tkw_plan *p = NULL;
	int64_t at_ms = 0;

	(void)state;
	put(&f, (uint64_t)SPRING, 8);
	put(&f, (uint64_t)SPRING + 1800, 8);
	put(&f, 0x0102, 2);
	put_type(&f, 7200);
	put_type(&f, 3600);
	put_type(&f, 0);
	end_file(&f, "", 0);
	assert_int_equal(load(&f, &z), 0);
	assert_int_equal(tkw_plan_create(&p, "45 2 * * *", z, NULL), 0);
	assert_int_equal(tkw_plan_next(p, (SPRING - 3600) * 1000, &at_ms), 0);
	assert_int_equal(at_ms, (SPRING - INT64_C(15) * 60) * 1000);
	assert_int_equal(tkw_plan_next(p, at_ms, &at_ms), 0);
	assert_int_equal(
		at_ms, (SPRING + INT64_C(25) * 3600 + INT64_C(45) * 60) * 1000);
	assert_int_equal(tkw_plan_previous(p, at_ms, &at_ms), 0);
	assert_int_equal(at_ms, (SPRING - INT64_C(15) * 60) * 1000);
	tkw_plan_destroy(p);
	tkw_zone_close(z);
}

/* A sanitizer sees that no sum overflows. */
static void test_zone_with_changes_at_the_ends_of_time(void **state)
{
	struct file f = begin_file(0, 0, 3, 2);
	struct tkw_zone *z = NULL;
	struct tkw_plan *p = NULL;
	int64_t at_ms = 0;

	(void)state;
	put(&f, (uint64_t)INT64_MIN, 8);
	put(&f, (uint64_t)SPRING, 8);
	put(&f, (uint64_t)INT64_MAX, 8);
	put(&f, 0x000100, 3);
	put_type(&f, 3600);
	put_type(&f, 7200);
	end_file(&f, "", 0);
	assert_int_equal(load(&f, &z), 0);
	assert_int_equal(tkw_plan_create(&p, "0 0 1 jan *", z, NULL), 0);
	assert_int_equal(tkw_plan_next(p, INT64_MIN, &at_ms), 0);
	assert_int_equal(at_ms, (INT64_C(-2208988800) - 3600) * 1000);
	assert_int_equal(tkw_plan_previous(p, INT64_MAX, &at_ms), 0);
	/* 9999-01-01 */
	assert_int_equal(at_ms, (INT64_C(253370764800) - 7200) * 1000);
	assert_int_equal(tkw_plan_next(p, at_ms, &at_ms), -ENOENT);
	tkw_plan_destroy(p);
	tkw_zone_close(z);
}

/* --- rules --------------------------------------------------------------- */

static void test_zone_rule_texts(void **state)
{
	static const char *const sound[] = {
		"CET-1",
		"<+03>-3",
		"<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
		"EST5EDT,M3.2.0,M11.1.0",
		"IST-1GMT0,M10.5.0,M3.5.0/1",
		"XXX-24:59:59YYY+24,J1/167:59:59,365/-167:59:59",
		"EST5EDT,0/0,J365/25",
		"AAA+0BBB-1,J60,59",
	};
	static const char *const wrong[] = {
		"",
		"CET",
		"CE-1",
		"CET-25",
		"CET-1:60",
		"CET-1 ",
		"<+03-3",
		"<>-3",
		"CET-1CEST",
		"CET-1C",
		"CET-",
		"1CET",
		"CET-1CEST,M3.5.0",
		"CET-1CEST,M13.5.0,M10.5.0",
		"CET-1CEST,M0.5.0,M10.5.0",
		"CET-1CEST,M3.6.0,M10.5.0",
		"CET-1CEST,M3.0.0,M10.5.0",
		"CET-1CEST,M3.5.7,M10.5.0",
		"CET-1CEST,M3.5,M10.5.0",
		"CET-1CEST,J0,J5",
		"CET-1CEST,J366,J5",
		"CET-1CEST,366,5",
		"CET-1CEST,1/168,5",
		"CET-1CEST,1/-168,5",
		"CET-1CEST,1/,5",
		"CET-1CEST,M3.5.0,M10.5.0/3,",
		":Europe/Berlin",
	};
	struct tkw__rule rule;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sound) / sizeof(sound[0]); i++) {
		if (!tkw__rule_read(&rule, sound[i], strlen(sound[i])))
			fail_msg("%s is refused", sound[i]);
	}
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (tkw__rule_read(&rule, wrong[i], strlen(wrong[i])))
			fail_msg("%s is read", wrong[i]);
	}
}

/* A zone that has a rule and no change. */
static struct tkw_zone *by_rule(const char *rule)
{
	struct file f = { .len = 0 };
	struct tkw_zone *z = NULL;

	put_block(&f, '3', 4, false);
	put_block(&f, '3', 8, false);
	f.len += (size_t)snprintf((char *)f.bytes + f.len, MAX_FILE - f.len,
				  "\n%s\n", rule);
	assert_int_equal(load(&f, &z), 0);
	return z;
}

static void changes_at(const char *rule, int64_t at_s, int32_t before_s,
		       int32_t after_s)
{
	struct tkw_zone *z = by_rule(rule);

	if (offset_at(z, at_s - 1) != before_s || offset_at(z, at_s) != after_s)
		fail_msg("%s: %d to %d", rule, offset_at(z, at_s - 1),
			 offset_at(z, at_s));
	tkw_zone_close(z);
}

static void test_zone_rule_days(void **state)
{
	const int64_t leap_s = INT64_C(1830297600);  /* 2028-01-01 */
	const int64_t plain_s = INT64_C(1798761600); /* 2027-01-01 */
	const int64_t day_s = 86400;
	const int64_t hour_s = 3600;
	struct tkw_zone *z;

	(void)state;
	/* J60 is March 1 in each year; 59 is February 29 in a leap year. */
	changes_at("AAA0BBB,J60/0,J200", leap_s + 60 * day_s, 0, 3600);
	changes_at("AAA0BBB,J60/0,J200", plain_s + 59 * day_s, 0, 3600);
	changes_at("AAA0BBB,59/0,J200", leap_s + 59 * day_s, 0, 3600);
	changes_at("AAA0BBB,59/0,J200", plain_s + 59 * day_s, 0, 3600);
	/* A week before and after. */
	changes_at("AAA0BBB,J1/-167,J200", leap_s - 167 * hour_s, 0, 3600);
	changes_at("AAA0BBB,J100,J365/167:00:00",
		   leap_s + 6 * day_s + 23 * hour_s - day_s - hour_s, 3600, 0);
	/* In the south, summer goes over the turn of the year. */
	changes_at("AAA-10BBB,M10.1.0,M4.1.0/3",
		   INT64_C(1790438400) + 7 * day_s, 36000, 39600);
	/* Summer all the year. */
	z = by_rule("EST5EDT,0/0,J365/25");
	assert_int_equal(offset_at(z, leap_s + 5 * hour_s), -14400);
	assert_int_equal(offset_at(z, leap_s + 5 * hour_s - 1), -14400);
	assert_int_equal(offset_at(z, leap_s + 180 * day_s), -14400);
	tkw_zone_close(z);
	/* A summer of no length. */
	z = by_rule("AAA0BBB,J100/0,J100/1");
	assert_int_equal(offset_at(z, plain_s + 99 * day_s), 0);
	tkw_zone_close(z);
}

static void test_zone_rule_that_contradicts_is_refused(void **state)
{
	struct file f = make_file('2', "EET-2");
	struct tkw_zone *z = NULL;

	(void)state;
	assert_int_equal(load(&f, &z), -EBADMSG);
}

/* The last change is winter a week before the rule's winter begins. */
static void test_zone_rule_begins_after_the_last_change(void **state)
{
	struct file f = make_file('2', "CET-1CEST,M3.5.0,M11.1.0/3");
	struct tkw_zone *z = NULL;

	(void)state;
	assert_int_equal(load(&f, &z), 0);
	assert_int_equal(offset_at(z, AUTUMN - 1), 7200);
	assert_int_equal(offset_at(z, AUTUMN), 3600);
	assert_int_equal(offset_at(z, AUTUMN + INT64_C(6 * 86400)), 3600);
	assert_int_equal(offset_at(z, AUTUMN + INT64_C(8 * 86400)), 3600);
	assert_int_equal(offset_at(z, INT64_C(1814400000)), 7200);
	tkw_zone_close(z);
}

/* --- open ---------------------------------------------------------------- */

static void test_zone_names(void **state)
{
	static const char *const wrong[] = {
		"",        "/etc/passwd",    "../zoneinfo/UTC", "Europe/../UTC",
		".",       "Europe//Berlin", "Europe/",         "Europe/.x",
		"Eur ope", "Europe\n",       "\xc3\xa4",
	};
	char longest[TKW_ZONE_MAX_NAME + 2];
	struct tkw_zone *z = NULL;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(tkw_zone_open(&z, wrong[i], NULL), -EINVAL);
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = 0;
	assert_int_equal(tkw_zone_open(&z, longest, NULL), -EINVAL);
	longest[sizeof(longest) - 2] = 0;
	assert_int_equal(tkw_zone_open(&z, longest, NULL), -ENOENT);
	assert_int_equal(tkw_zone_open(&z, NULL, NULL), -EINVAL);
	assert_int_equal(tkw_zone_open(NULL, "UTC", NULL), -EINVAL);
	assert_int_equal(tkw_zone_open(&z, "Europe", NULL), -ENOENT);
	assert_int_equal(tkw_zone_open(&z, "Europe/Berlin/x", NULL), -ENOENT);
	assert_null(z);
	assert_int_equal(tkw_zone_open(&z, "UTC", "/no/such/folder"), 0);
	assert_string_equal(tkw_zone_name(z), "UTC");
	assert_int_equal(tkw_zone_close(z), 0);
	assert_int_equal(tkw_zone_close(NULL), 0);
	assert_null(tkw_zone_name(NULL));
}

static void write_file(const char *path, const struct file *f)
{
	FILE *to = fopen(path, "wb");

	assert_non_null(to);
	assert_int_equal(fwrite(f->bytes, 1, f->len, to), f->len);
	assert_int_equal(fclose(to), 0);
}

/* A zone is read when it is opened, and an open one does not change. */
static void test_zone_is_read_anew_by_open(void **state)
{
	char folder[] = "/tmp/tkw_zone_XXXXXX";
	char path[64];
	struct file f = make_file('2', "CET-1");
	struct tkw_zone *old = NULL;
	struct tkw_zone *z = NULL;

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/Here", folder);
	write_file(path, &f);
	assert_int_equal(tkw_zone_open(&old, "Here", folder), 0);
	f = make_file('2', "CET-1CEST,M3.5.0,M10.5.0/3");
	write_file(path, &f);
	assert_int_equal(tkw_zone_open(&z, "Here", folder), 0);
	assert_int_equal(offset_at(old, INT64_C(1814400000)), 3600);
	assert_int_equal(offset_at(z, INT64_C(1814400000)), 7200);
	tkw_zone_close(old);
	tkw_zone_close(z);
	f.len = 0;
	write_file(path, &f);
	assert_int_equal(tkw_zone_open(&z, "Here", folder), -EBADMSG);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(tkw_zone_open(&z, "Here", folder), -EBADMSG);
	unlink(path);
	rmdir(folder);
}

static void prints(const char *zone, int64_t at_ms, const char *want)
{
	struct tkw_zone *z = NULL;
	char got[64];
	char cut[5];

	if (zone)
		assert_int_equal(tkw_zone_open(&z, zone, NULL), 0);
	assert_int_equal(tkw_zone_print(z, at_ms, got, sizeof(got)),
			 strlen(want));
	assert_string_equal(got, want);
	assert_int_equal(tkw_zone_print(z, at_ms, cut, sizeof(cut)),
			 strlen(want));
	assert_int_equal(strncmp(cut, want, 4), 0);
	assert_int_equal(tkw_zone_print(z, at_ms, NULL, 0), strlen(want));
	tkw_zone_close(z);
}

static void test_zone_prints_local_time(void **state)
{
	char buf[4];

	(void)state;
	prints(NULL, 0, "1970-01-01T00:00:00Z");
	prints("UTC", -1, "1969-12-31T23:59:59.999Z");
	prints("Europe/Berlin", SPRING * 1000, "2026-03-29T03:00:00+02:00");
	prints("America/St_Johns", 0, "1969-12-31T20:30:00-03:30");
	prints("Africa/Monrovia", 0, "1969-12-31T23:15:30-00:44:30");
	prints(NULL, INT64_C(253402300799999), "9999-12-31T23:59:59.999Z");
	prints(NULL, INT64_C(-2208988800000), "1900-01-01T00:00:00Z");
	assert_int_equal(tkw_zone_print(NULL, INT64_C(253402300800000), buf,
					sizeof(buf)),
			 -EINVAL);
	assert_int_equal(tkw_zone_print(NULL, INT64_MIN, buf, sizeof(buf)),
			 -EINVAL);
	assert_int_equal(tkw_zone_print(NULL, 0, NULL, 1), -EINVAL);
	assert_int_equal(tkw_zone_get_offset(NULL, 0, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zone_reads_all_versions),
		cmocka_unit_test(test_zone_of_a_newer_version_is_refused),
		cmocka_unit_test(test_zone_of_another_length_is_refused),
		cmocka_unit_test(test_zone_that_is_damaged_is_refused),
		cmocka_unit_test(test_zone_with_leap_seconds_is_refused),
		cmocka_unit_test(test_zone_with_too_much_is_refused),
		cmocka_unit_test(test_zone_flags),
		cmocka_unit_test(
			test_zone_that_goes_back_twice_repeats_no_time),
		cmocka_unit_test(test_zone_with_changes_at_the_ends_of_time),
		cmocka_unit_test(test_zone_rule_texts),
		cmocka_unit_test(test_zone_rule_days),
		cmocka_unit_test(test_zone_rule_that_contradicts_is_refused),
		cmocka_unit_test(test_zone_rule_begins_after_the_last_change),
		cmocka_unit_test(test_zone_names),
		cmocka_unit_test(test_zone_is_read_anew_by_open),
		cmocka_unit_test(test_zone_prints_local_time),
	};

	return cmocka_run_group_tests_name("zone", tests, NULL, NULL);
}
