/* SPDX-License-Identifier: MIT */
/* test_calendar_memory.c - the n-th piece of memory is refused, for all n. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>

#include "tickwheel/calendar.h"

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

static void test_calendar_each_refused_piece_is_an_error(void **state)
{
	static const char *const zones[] = { "UTC", "Europe/Berlin" };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct tkw_zone *z = NULL;
		struct tkw_plan *p = NULL;
		int64_t at_ms = 0;
		int refused = 0;
		int err;

		do {
			left = refused++;
			err = tkw_zone_open(&z, zones[i], NULL);
			left = -1;
			assert_true(err == 0 || err == -ENOMEM);
			assert_true(err == 0 || z == NULL);
		} while (err < 0);
		assert_int_equal(refused, i == 0 ? 2 : 4);
		left = 0;
		assert_int_equal(tkw_plan_create(&p, "@daily", z, NULL),
				 -ENOMEM);
		left = -1;
		assert_null(p);
		assert_int_equal(tkw_plan_create(&p, "@daily", z, NULL), 0);
		tkw_zone_close(z);
		/* A search needs no memory. */
		left = 0;
		err = tkw_plan_next(p, 0, &at_ms);
		left = -1;
		assert_int_equal(err, 0);
		tkw_plan_destroy(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calendar_each_refused_piece_is_an_error),
	};

	return cmocka_run_group_tests_name("calendar_memory", tests, NULL,
					   NULL);
}
