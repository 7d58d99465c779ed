/* SPDX-License-Identifier: MIT */
/*
 * test_zone_libc.c - the offsets of each zone of the system, from 1900 to 2100,
 * against those of libc.
 *
 * The grid is 23 hours wide, so that it comes to all hours of a day. Where the
 * offset differs between two points of the grid, the moment of the change is
 * found by bisection, in libc, and both seconds beside it are compared too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tickwheel/calendar.h"

#define FOLDER "/usr/share/zoneinfo"
#define FROM_S INT64_C(-2208988800) /* 1900 */
#define TO_S INT64_C(4133980800)    /* 2101 */

enum {
	GRID_S = 23 * 3600
};

static size_t zones;
static size_t changes;
static size_t refused;

static int32_t libc_offset(int64_t at_s)
{
	time_t at = at_s;
	struct tm tm;

	localtime_r(&at, &tm);
	return (int32_t)tm.tm_gmtoff;
}

static int32_t compare(const struct tkw_zone *z, int64_t at_s)
{
	int32_t want_s = libc_offset(at_s);
	int32_t got_s = 0;

	assert_int_equal(tkw_zone_get_offset(z, at_s * 1000, &got_s), 0);
	if (got_s != want_s)
		fail_msg("%s at %lld: %d instead of %d", tkw_zone_name(z),
			 (long long)at_s, got_s, want_s);
	assert_int_equal(tkw_zone_get_offset(z, at_s * 1000 + 999, &got_s), 0);
	assert_int_equal(got_s, want_s);
	return want_s;
}

static void compare_change(const struct tkw_zone *z, int64_t low_s,
			   int64_t high_s)
{
	int32_t before_s = libc_offset(low_s);

	while (high_s - low_s > 1) {
		int64_t mid_s = (low_s + high_s) / 2;

		if (libc_offset(mid_s) == before_s)
			low_s = mid_s;
		else
			high_s = mid_s;
	}
	(void)compare(z, low_s);
	(void)compare(z, high_s);
	changes++;
}

static void compare_zone(const char *name)
{
	struct tkw_zone *z = NULL;
	char tz[300];
	int64_t at_s;
	int32_t last_s;

	assert_int_equal(tkw_zone_open(&z, name, NULL), 0);
	(void)snprintf(tz, sizeof(tz), ":%s", name);
	setenv("TZ", tz, 1);
	tzset();
	last_s = compare(z, FROM_S);
	for (at_s = FROM_S + GRID_S; at_s < TO_S; at_s += GRID_S) {
		int32_t now_s = compare(z, at_s);

		if (now_s != last_s)
			compare_change(z, at_s - GRID_S, at_s);
		last_s = now_s;
	}
	assert_int_equal(tkw_zone_close(z), 0);
	zones++;
}

static int has_magic(const char *path)
{
	char magic[4] = "";
	FILE *f = fopen(path, "rb");
	size_t got;

	assert_non_null(f);
	got = fread(magic, 1, sizeof(magic), f);
	fclose(f);
	return got == sizeof(magic) && memcmp(magic, "TZif", 4) == 0;
}

static int visit(const char *path, const struct stat *st, int type,
		 struct FTW *ftw)
{
	const char *name = path + sizeof(FOLDER);
	struct tkw_zone *z = NULL;

	(void)st;
	(void)ftw;
	/* posix/ has the same files once more. */
	if (type != FTW_F || strncmp(name, "posix/", 6) == 0)
		return 0;
	if (!has_magic(path)) {
		/* Tables of the system, which are no zones. */
		if (strchr(name, '.'))
			assert_int_equal(tkw_zone_open(&z, name, NULL),
					 -EBADMSG);
	} else if (strncmp(name, "right/", 6) == 0) {
		/* These count leap seconds, if they are there. */
		if (tkw_zone_open(&z, name, NULL) == 0)
			(void)tkw_zone_close(z);
		else
			refused++;
	} else {
		compare_zone(name);
	}
	return 0;
}

static void test_offsets_are_those_of_libc(void **state)
{
	(void)state;
	assert_int_equal(nftw(FOLDER, visit, 16, 0), 0);
	printf("%zu zones, %zu changes, %zu with leap seconds\n", zones,
	       changes, refused);
	assert_true(zones > 300);
	assert_true(changes > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offsets_are_those_of_libc),
	};

	return cmocka_run_group_tests_name("zone_libc", tests, NULL, NULL);
}
