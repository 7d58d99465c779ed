/* SPDX-License-Identifier: MIT */
/* test_planner.c - the calendar that the homes of the queue share (SPEC 12.4).
 */
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
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "home/planner.h"

#define NOON UINT64_C(1767225600000 + 12 * 3600000) /* 2026-01-01T12:00Z */
#define HOUR UINT64_C(3600000)

/* The linker's names start with underscores, which C reserves. */
#define NAMED(name) __asm__(name)
void *real_malloc(size_t size) NAMED("__real_malloc");
void *real_calloc(size_t count, size_t size) NAMED("__real_calloc");
void *wrap_malloc(size_t size) NAMED("__wrap_malloc");
void *wrap_calloc(size_t count, size_t size) NAMED("__wrap_calloc");

static int left = -1; /* how many calls still work; -1: all */

static bool refuse(void)
{
	if (left < 0)
		return false;
	return left-- == 0;
}

void *wrap_malloc(size_t size)
{
	return refuse() ? NULL : real_malloc(size);
}

void *wrap_calloc(size_t count, size_t size)
{
	return refuse() ? NULL : real_calloc(count, size);
}

static struct tkw__queue_text text_of(const char *s)
{
	return (struct tkw__queue_text){ s, strlen(s) };
}

static int list(const struct tkw__planner *p, const char *plan,
		const char *zone, uint64_t *out, int max)
{
	struct tkw__planner_query query = { text_of(plan), text_of(zone), NOON,
					    max };

	return tkw__planner_list(p, &query, out, NULL);
}

static void test_planner_lists_the_times_of_a_plan(void **state)
{
	struct tkw__planner p;
	uint64_t at[3];

	(void)state;
	tkw__planner_init(&p, NULL);
	assert_int_equal(list(&p, "0 14 * * *", "", at, 3), 3);
	assert_true(at[0] == NOON + 2 * HOUR && at[1] == NOON + 26 * HOUR);
	assert_int_equal(list(&p, "0 14 * * *", "Europe/Berlin", at, 1), 1);
	assert_true(at[0] == NOON + HOUR);
	assert_int_equal(list(&p, "0 0 31 feb *", "UTC", at, 3), 0);
	assert_int_equal(list(&p, "every 1h", "", NULL, 0), 0);
	tkw__planner_fini(&p);
}

static void test_planner_tells_where_a_text_is_wrong(void **state)
{
	static const char zero[] = "* * * * *\0x";
	char long_text[400];
	struct tkw__planner_query query = { .plan = text_of("0 25 * * *") };
	struct tkw__planner p;
	struct tkw_plan_error error;

	(void)state;
	tkw__planner_init(&p, NULL);
	assert_int_equal(tkw__planner_list(&p, &query, NULL, &error), -EINVAL);
	assert_int_equal(error.position, 2);
	assert_string_not_equal(error.text, "");

	query.plan = (struct tkw__queue_text){ zero, sizeof(zero) - 1 };
	assert_int_equal(tkw__planner_list(&p, &query, NULL, &error), -EINVAL);
	assert_int_equal(error.position, 9);
	assert_int_equal(tkw__planner_list(&p, &query, NULL, NULL), -EINVAL);

	memset(long_text, ' ', sizeof(long_text));
	query.plan = (struct tkw__queue_text){ long_text, sizeof(long_text) };
	assert_int_equal(tkw__planner_list(&p, &query, NULL, &error), -EINVAL);
	assert_int_equal(error.position, TKW_PLAN_MAX_TEXT);
	query.plan.len = 0;
	query.plan.at = NULL;
	assert_int_equal(tkw__planner_list(&p, &query, NULL, &error), -EINVAL);
	assert_int_equal(error.position, 0);
	tkw__planner_fini(&p);
}

static void test_planner_has_errors_of_its_own_for_zones(void **state)
{
	static const char *const none[] = { "Europe/Nowhere", "../etc/passwd",
					    "Europe" };
	char long_name[TKW_ZONE_MAX_NAME + 2];
	struct tkw__planner_query query = { .plan = text_of("0 0 * * *"),
					    .zone = { "UTC\0", 4 } };
	struct tkw__planner p;

	(void)state;
	tkw__planner_init(&p, NULL);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(list(&p, "0 0 * * *", none[i], NULL, 0),
				 -ENXIO);
	memset(long_name, 'a', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = 0;
	assert_int_equal(list(&p, "0 0 * * *", long_name, NULL, 0), -ENXIO);
	assert_int_equal(tkw__planner_list(&p, &query, NULL, NULL), -ENXIO);
	assert_int_equal(list(&p, "0 0 * * *", "zone.tab", NULL, 0), -EBADMSG);
	tkw__planner_fini(&p);
}

static int compile(struct tkw__planner *p, const char *zone, bool anew,
		   uint64_t *next_ms)
{
	const struct tkw__queue_calendar *c = &p->calendar;
	void *plan;
	int err = c->compile(&plan, text_of("0 22 * * *"), text_of(zone), anew,
			     c->ctx);

	if (err)
		return err;
	assert_int_equal(c->next(plan, NOON, next_ms), 0);
	c->free(plan, c->ctx);
	return 0;
}

static void copy_zone(const char *from, const char *to)
{
	char path[512];
	char bytes[8192];
	FILE *f;
	size_t n;

	(void)snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", from);
	f = fopen(path, "rb");
	assert_non_null(f);
	n = fread(bytes, 1, sizeof(bytes), f);
	assert_true(n > 0 && feof(f));
	fclose(f);
	f = fopen(to, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void test_planner_reads_a_zone_once_and_anew_on_request(void **state)
{
	char folder[] = "/tmp/test_planner.XXXXXX";
	char file[64];
	struct tkw__planner p;
	uint64_t ms;

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(file, sizeof(file), "%s/Here", folder);
	tkw__planner_init(&p, folder);
	copy_zone("Europe/Berlin", file);
	assert_int_equal(compile(&p, "Here", false, &ms), 0);
	assert_true(ms == NOON + 9 * HOUR);

	/* The file is read no more, however many plans there are. */
	copy_zone("Europe/Helsinki", file);
	for (int i = 0; i < 10000; i++) {
		assert_int_equal(
			compile(&p, i % 2 ? "Here" : "UTC", i < 2, &ms), 0);
		if (i == 1)
			assert_true(ms == NOON + 8 * HOUR);
	}
	copy_zone("Europe/Berlin", file);
	assert_int_equal(compile(&p, "Here", false, &ms), 0);
	assert_true(ms == NOON + 8 * HOUR);
	assert_int_equal(compile(&p, "Here", true, &ms), 0);
	assert_true(ms == NOON + 9 * HOUR);

	/* A file that has gone is an error on request only. */
	assert_int_equal(unlink(file), 0);
	assert_int_equal(compile(&p, "Here", true, &ms), -ENXIO);
	assert_int_equal(compile(&p, "Here", false, &ms), 0);
	assert_int_equal(rmdir(folder), 0);
	tkw__planner_fini(&p);
}

static void test_planner_answers_at_both_ends_of_time(void **state)
{
	struct tkw__planner p;
	const struct tkw__queue_calendar *c = &p.calendar;
	uint64_t ms;
	void *plan;

	(void)state;
	tkw__planner_init(&p, NULL);
	assert_int_equal(c->compile(&plan, text_of("every 1h"), text_of(""),
				    false, c->ctx),
			 0);
	assert_int_equal(c->next(plan, UINT64_MAX, &ms), -ENOENT);
	assert_int_equal(c->previous(plan, UINT64_MAX, &ms), 0);
	assert_true(ms % HOUR == 0);
	assert_int_equal(c->previous(plan, 1, &ms), 0);
	assert_int_equal(ms, 0);
	assert_int_equal(c->previous(plan, 0, &ms), -ENOENT);
	c->free(plan, c->ctx);
	assert_int_equal(c->compile(&plan,
				    text_of("every 1h from 2026-01-01T00:00Z"),
				    text_of(""), false, c->ctx),
			 0);
	assert_int_equal(c->previous(plan, 1, &ms), -ENOENT);
	c->free(plan, c->ctx);
	tkw__planner_fini(&p);
}

/* -ENOMEM fails a command, which can be tried again. Another error would stop
 * the plan until somebody resumes it. */
static void test_planner_without_a_file_to_open_stops_no_plan(void **state)
{
	struct rlimit was, none;
	struct tkw__planner p;
	int compiled, listed;
	uint64_t ms;

	(void)state;
	tkw__planner_init(&p, NULL);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = was;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	compiled = compile(&p, "Europe/Berlin", false, &ms);
	listed = list(&p, "0 0 * * *", "Europe/Berlin", &ms, 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(compiled, -ENOMEM);
	assert_int_equal(listed, -EMFILE);
	assert_int_equal(compile(&p, "Europe/Berlin", false, &ms), 0);
	assert_true(ms == NOON + 9 * HOUR);
	tkw__planner_fini(&p);
}

static void test_planner_each_refused_piece_is_an_error(void **state)
{
	struct tkw__planner p;
	uint64_t ms;
	int refused = 0;
	int err;

	(void)state;
	do {
		tkw__planner_init(&p, NULL);
		left = refused++;
		err = compile(&p, "Europe/Berlin", true, &ms);
		left = -1;
		assert_true(err == 0 || err == -ENOMEM);
		tkw__planner_fini(&p);
	} while (err);
	assert_true(refused > 3);

	tkw__planner_init(&p, NULL);
	refused = 0;
	do {
		left = refused++;
		err = list(&p, "0 0 * * *", "Europe/Berlin", &ms, 1);
		left = -1;
		assert_true(err == 1 || err == -ENOMEM);
	} while (err < 0);
	assert_true(refused > 3);
	tkw__planner_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_planner_lists_the_times_of_a_plan),
		cmocka_unit_test(test_planner_tells_where_a_text_is_wrong),
		cmocka_unit_test(test_planner_has_errors_of_its_own_for_zones),
		cmocka_unit_test(
			test_planner_reads_a_zone_once_and_anew_on_request),
		cmocka_unit_test(test_planner_answers_at_both_ends_of_time),
		cmocka_unit_test(
			test_planner_without_a_file_to_open_stops_no_plan),
		cmocka_unit_test(test_planner_each_refused_piece_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
