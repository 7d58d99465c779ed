/* SPDX-License-Identifier: MIT */
/*
 * test_plan_text.c - what the text of a plan may be, what a wrong one is told,
 * and how plans and times are printed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tickwheel/calendar.h"

/* 2026-11-18T12:00Z, a Wednesday */
#define NOW INT64_C(1795003200000)

struct wrong {
	const char *text;
	size_t position;
};

/* SPEC 12.2: a wrong text is told the position and what was expected. */
static void test_12_2_wrong_texts(void **state)
{
	static const struct wrong wrongs[] = {
		{ "", 0 },
		{ "   ", 3 },
		{ "* * * *", 7 },
		{ "* * * * * * *", 12 },
		{ "60 * * * *", 0 },
		{ "* 24 * * *", 2 },
		{ "* * 0 * *", 4 },
		{ "* * 32 * *", 4 },
		{ "* * * 13 *", 6 },
		{ "* * * * 8", 8 },
		{ "* * * foo *", 6 },
		{ "* * * * fry", 8 },
		{ "* 17-9 * * *", 5 },
		{ "*/0 * * * *", 2 },
		{ "*/ * * * *", 2 },
		{ "5, * * * *", 2 },
		{ "5x * * * *", 1 },
		{ "* * L-31 * *", 6 },
		{ "* * * * fri#6", 12 },
		{ "* * * * 5#", 10 },
		{ "99999999999999999999 * * * *", 0 },
		{ "@reboot", 0 },
		{ "@dailyish", 0 },
		{ "@daily x", 7 },
		{ "every", 5 },
		{ "every 0s", 6 },
		{ "every 5", 7 },
		{ "every 5y", 7 },
		{ "every 90s from", 14 },
		{ "every 90s from 2026-02-30T00:00Z", 23 },
		{ "every 90s from 2026-01-01T00:00", 31 },
		{ "every 90s until", 10 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		struct tkw_plan *p = NULL;
		struct tkw_plan_error error = { .position = 999 };

		assert_int_equal(
			tkw_plan_create(&p, wrongs[i].text, NULL, &error),
			-EINVAL);
		assert_null(p);
		if (error.position != wrongs[i].position)
			fail_msg("\"%s\": position %zu instead of %zu (%s)",
				 wrongs[i].text, error.position,
				 wrongs[i].position, error.text);
		assert_true(strncmp(error.text, "Expected ", 9) == 0);
		assert_int_equal(error.text[strlen(error.text) - 1], '.');
		/* Nobody has to ask what is wrong. */
		assert_int_equal(
			tkw_plan_create(&p, wrongs[i].text, NULL, NULL),
			-EINVAL);
	}
}

static void test_too_long(void **state)
{
	char text[TKW_PLAN_MAX_TEXT + 2];
	struct tkw_plan *p = NULL;
	struct tkw_plan_error error;

	(void)state;
	memset(text, ' ', sizeof(text));
	memcpy(text, "* * * * *", 9);
	text[TKW_PLAN_MAX_TEXT] = '\0';
	assert_int_equal(tkw_plan_create(&p, text, NULL, &error), 0);
	assert_string_equal(tkw_plan_text(p), text);
	tkw_plan_destroy(p);
	p = NULL;
	text[TKW_PLAN_MAX_TEXT] = ' ';
	text[TKW_PLAN_MAX_TEXT + 1] = '\0';
	assert_int_equal(tkw_plan_create(&p, text, NULL, &error), -EINVAL);
	assert_null(p);
}

static void test_wrong_arguments(void **state)
{
	struct tkw_plan *p = NULL;
	int64_t out = 7;
	char buf[8];

	(void)state;
	assert_int_equal(tkw_plan_create(NULL, "@daily", NULL, NULL), -EINVAL);
	assert_int_equal(tkw_plan_create(&p, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(tkw_plan_create(&p, "@daily", NULL, NULL), 0);
	assert_int_equal(tkw_plan_next(NULL, 0, &out), -EINVAL);
	assert_int_equal(tkw_plan_next(p, 0, NULL), -EINVAL);
	assert_int_equal(tkw_plan_previous(NULL, 0, &out), -EINVAL);
	assert_int_equal(tkw_plan_previous(p, 0, NULL), -EINVAL);
	assert_int_equal(tkw_plan_list(NULL, 0, &out, 1), -EINVAL);
	assert_int_equal(tkw_plan_list(p, 0, NULL, 1), -EINVAL);
	assert_int_equal(tkw_plan_list(p, 0, &out, (size_t)INT_MAX + 1),
			 -EINVAL);
	assert_int_equal(tkw_plan_list(p, 0, NULL, 0), 0);
	assert_int_equal(tkw_plan_print(NULL, buf, sizeof(buf)), -EINVAL);
	assert_int_equal(tkw_plan_print(p, NULL, 1), -EINVAL);
	assert_int_equal(out, 7);
	tkw_plan_destroy(p);
	tkw_plan_destroy(NULL);
}

/* SPEC 12.1: a plan that never comes says so, in both directions. */
static void test_never(void **state)
{
	static const char *const texts[] = { "0 0 31 feb *", "0 0 30 2 ?",
					     "0 0 31 4,6,9,11 *",
					     "0 0 L-30 feb *" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct tkw_plan *p = NULL;
		int64_t out = 7;

		assert_int_equal(tkw_plan_create(&p, texts[i], NULL, NULL), 0);
		assert_int_equal(tkw_plan_next(p, NOW, &out), -ENOENT);
		assert_int_equal(tkw_plan_previous(p, NOW, &out), -ENOENT);
		assert_int_equal(tkw_plan_list(p, NOW, &out, 1), 0);
		assert_int_equal(out, 7);
		tkw_plan_destroy(p);
	}
}

struct known {
	const char *text;
	const char *zone;
	const char *next;
	const char *previous;
	const char *words;
};

static const struct known knowns[] = {
	{ "30 2 * * 5L", "Europe/Berlin", "2026-11-27T02:30:00+01:00",
	  "2026-10-30T02:30:00+01:00",
	  "at 02:30 on the last Friday of each month, Europe/Berlin" },
	{ "0 9 * * mon-fri", "America/New_York", "2026-11-18T09:00:00-05:00",
	  "2026-11-17T09:00:00-05:00", NULL },
	{ "0 0 29 feb *", "UTC", "2028-02-29T00:00:00Z", "2024-02-29T00:00:00Z",
	  NULL },
	{ "0 12 13 * fri", "UTC", "2026-11-20T12:00:00Z",
	  "2026-11-13T12:00:00Z", NULL },
	{ "*/15 * * * * *", "UTC", "2026-11-18T12:00:15Z",
	  "2026-11-18T11:59:45Z", NULL },
	{ "0 0 15W * ?", "UTC", "2026-12-15T00:00:00Z", "2026-11-16T00:00:00Z",
	  NULL },
	{ "0 0 LW * ?", "UTC", "2026-11-30T00:00:00Z", "2026-10-30T00:00:00Z",
	  NULL },
	{ "0 0 ? * fri#2", "UTC", "2026-12-11T00:00:00Z",
	  "2026-11-13T00:00:00Z", NULL },
	{ "@yearly", "Asia/Tokyo", "2027-01-01T00:00:00+09:00",
	  "2026-01-01T00:00:00+09:00", NULL },
	{ "@weekly", "UTC", "2026-11-22T00:00:00Z", "2026-11-15T00:00:00Z",
	  NULL },
	{ "@hourly", "UTC", "2026-11-18T13:00:00Z", "2026-11-18T11:00:00Z",
	  NULL },
	{ "every 90s from 2026-01-01T00:00Z", "UTC", "2026-11-18T12:01:30Z",
	  "2026-11-18T11:58:30Z", NULL },
	{ "EVERY 250ms", "UTC", "2026-11-18T12:00:00.250Z",
	  "2026-11-18T11:59:59.750Z", NULL },
	{ "every 1w from 2030-01-01T00:00:00.001+01:00", "UTC",
	  "2029-12-31T23:00:00.001Z", NULL, NULL },
};

static void print_at(const struct known *k, const struct tkw_zone *z,
		     int64_t at, char text[256])
{
	tkw_zone_print(strcmp(k->zone, "UTC") ? z : NULL, at, text, 256);
}

static void check_known(const struct known *k)
{
	struct tkw_zone *z = NULL;
	struct tkw_plan *p = NULL;
	int64_t at = 0;
	char text[256];

	assert_int_equal(tkw_zone_open(&z, k->zone, NULL), 0);
	assert_string_equal(tkw_zone_name(z), k->zone);
	assert_int_equal(tkw_plan_create(&p, k->text, z, NULL), 0);
	tkw_zone_close(z); /* the plan keeps it */
	assert_int_equal(tkw_zone_open(&z, k->zone, NULL), 0);
	assert_int_equal(tkw_plan_next(p, NOW, &at), 0);
	print_at(k, z, at, text);
	assert_string_equal(text, k->next);
	assert_int_equal(tkw_plan_previous(p, NOW, &at),
			 k->previous ? 0 : -ENOENT);
	if (k->previous) {
		print_at(k, z, at, text);
		assert_string_equal(text, k->previous);
	}
	assert_true(tkw_plan_print(p, text, sizeof(text)) > 0);
	if (k->words)
		assert_string_equal(text, k->words);
	tkw_plan_destroy(p);
	tkw_zone_close(z);
}

/* SPEC 12.1 */
static void test_12_1_known_plans(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(knowns) / sizeof(knowns[0]); i++)
		check_known(&knowns[i]);
}

/* The buffer of a print is cut as with snprintf(). */
static void test_print_is_cut(void **state)
{
	struct tkw_plan *p = NULL;
	char whole[256];
	char cut[6] = "xxxxx";
	int len;

	(void)state;
	assert_int_equal(tkw_plan_create(&p, "30 2 * * 5L", NULL, NULL), 0);
	len = tkw_plan_print(p, whole, sizeof(whole));
	assert_int_equal(len, strlen(whole));
	assert_int_equal(tkw_plan_print(p, NULL, 0), len);
	assert_int_equal(tkw_plan_print(p, cut, sizeof(cut)), len);
	assert_int_equal(strlen(cut), 5);
	assert_memory_equal(cut, whole, 5);
	tkw_plan_destroy(p);
	len = tkw_zone_print(NULL, NOW, whole, sizeof(whole));
	assert_int_equal(tkw_zone_print(NULL, NOW, NULL, 0), len);
	assert_int_equal(tkw_zone_print(NULL, NOW, cut, sizeof(cut)), len);
	assert_memory_equal(cut, whole, 5);
	assert_int_equal(tkw_zone_print(NULL, INT64_MAX, whole, 1), -EINVAL);
	assert_int_equal(tkw_zone_print(NULL, INT64_MIN, whole, 1), -EINVAL);
	assert_int_equal(tkw_zone_print(NULL, NOW, NULL, 1), -EINVAL);
}

/* next(after) > after and previous(before) < before, also at the ends of the
 * numbers. */
static void test_ends_of_time(void **state)
{
	static const char *const texts[] = { "* * * * * *", "@yearly",
					     "every 1ms", "every 36525d",
					     "0 0 29 feb mon" };
	static const int64_t times[] = { INT64_MIN,
					 INT64_MIN + 1,
					 INT64_C(-2208988800000),
					 INT64_C(-2208988800001),
					 -1,
					 0,
					 1,
					 INT64_C(253402300799999),
					 INT64_C(253402300800000),
					 INT64_MAX - 1,
					 INT64_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct tkw_plan *p = NULL;

		assert_int_equal(tkw_plan_create(&p, texts[i], NULL, NULL), 0);
		for (size_t k = 0; k < sizeof(times) / sizeof(times[0]); k++) {
			int64_t at = 0;
			int rc = tkw_plan_next(p, times[k], &at);

			assert_true(rc == -ENOENT ||
				    (rc == 0 && at > times[k]));
			rc = tkw_plan_previous(p, times[k], &at);
			assert_true(rc == -ENOENT ||
				    (rc == 0 && at < times[k]));
		}
		tkw_plan_destroy(p);
	}
}

static void test_wrong_zones(void **state)
{
	static const char *const names[] = { "",          "/etc/passwd",
					     "../x",      "Europe/../UTC",
					     "Europe/.x", "Europe//Berlin" };
	char name[TKW_ZONE_MAX_NAME + 2];
	struct tkw_zone *z = NULL;
	int32_t offset = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(tkw_zone_open(&z, names[i], NULL), -EINVAL);
	memset(name, 'a', sizeof(name));
	name[TKW_ZONE_MAX_NAME + 1] = '\0';
	assert_int_equal(tkw_zone_open(&z, name, NULL), -EINVAL);
	name[TKW_ZONE_MAX_NAME] = '\0';
	assert_int_equal(tkw_zone_open(&z, name, NULL), -ENOENT);
	assert_int_equal(tkw_zone_open(&z, "Europe", NULL), -ENOENT);
	assert_int_equal(tkw_zone_open(&z, "Europe/Nowhere", NULL), -ENOENT);
	assert_int_equal(tkw_zone_open(&z, "zone.tab", NULL), -EBADMSG);
	assert_int_equal(tkw_zone_open(NULL, "UTC", NULL), -EINVAL);
	assert_int_equal(tkw_zone_open(&z, NULL, NULL), -EINVAL);
	assert_null(z);
	assert_int_equal(tkw_zone_open(&z, "UTC", "/nowhere"), 0);
	assert_int_equal(tkw_zone_get_offset(z, NOW, NULL), -EINVAL);
	assert_int_equal(tkw_zone_get_offset(NULL, NOW, &offset), -EINVAL);
	assert_int_equal(offset, 7);
	assert_int_equal(tkw_zone_get_offset(z, NOW, &offset), 0);
	assert_int_equal(offset, 0);
	tkw_zone_close(z);
	tkw_zone_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_12_2_wrong_texts),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_wrong_arguments),
		cmocka_unit_test(test_never),
		cmocka_unit_test(test_12_1_known_plans),
		cmocka_unit_test(test_print_is_cut),
		cmocka_unit_test(test_ends_of_time),
		cmocka_unit_test(test_wrong_zones),
	};

	return cmocka_run_group_tests_name("plan_text", tests, NULL, NULL);
}
