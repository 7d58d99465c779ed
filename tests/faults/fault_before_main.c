/* SPDX-License-Identifier: MIT */
/*
 * fault_before_main.c - fault 33: a timer is used before main() begins, by a
 * constructor and by static objects of C++ (fault_static_init.cc). The C++
 * objects also destroy their timers after main() has ended.
 */
#include "fault_before_main.h"
#include "fault_bed.h"

#include <sys/wait.h>

static struct tkw_timer *early;
static atomic_ulong early_fired;
static int early_result = 1;
static bool in_main;

static void count_early(const struct tkw_firing *f, void *ctx)
{
	(void)f;
	atomic_fetch_add((atomic_ulong *)ctx, 1);
}

__attribute__((constructor)) static void use_early(void)
{
	const struct tkw_task task = { .fn = count_early, .ctx = &early_fired };
	struct tkw_timeout_id id;

	early_result = tkw_timer_create(&early, NULL);
	if (early_result == 0)
		early_result = tkw_timer_schedule(early, &task, 0, NULL);
	if (early_result == 0)
		early_result =
			tkw_timer_schedule(early, &task, 3600 * TKW_SEC, &id);
	if (early_result == 0)
		early_result = tkw_timer_cancel(early, id);
	/* It fires before main(), too. */
	if (early_result == 0)
		fault_await(&early_fired, 1);
}

__attribute__((destructor)) static void use_late(void)
{
	const struct tkw_task task = { .fn = count_early, .ctx = &early_fired };

	if (!in_main)
		return;
	/* The timer works after the end of main(), too. */
	must(tkw_timer_schedule(early, &task, 0, NULL) == 0);
	fault_await(&early_fired, 3);
	must(tkw_timer_destroy(early) == 0);
	printf("late");
	fflush(stdout);
}

/* Fault 33 */
static void fault_33_a_constructor_uses_a_timer(void **state)
{
	const struct tkw_task task = { .fn = count_early, .ctx = &early_fired };

	(void)state;
	assert_int_equal(early_result, 0);
	assert_int_equal(early_fired, 1);
	assert_int_equal(tkw_timer_schedule(early, &task, 0, NULL), 0);
	fault_await(&early_fired, 2);
	assert_int_equal(fault_ledger(early).cancelled, 1);
}

/* Fault 33: only another process can see what happens after main(). */
static void fault_33_after_main_it_is_used_and_destroyed(void **state)
{
	char out[64];
	int status = fault_child("late", "", out, sizeof(out));

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_string_equal(out, STATIC_INIT_SAYS "late");
}

#ifdef FAULT_STATIC_INIT
/* Fault 33 */
static void fault_33_static_objects_use_a_timer(void **state)
{
	(void)state;
	assert_int_equal(static_init_result(), 0);
	assert_int_equal(static_init_fired(), 1);
}
#endif

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fault_33_a_constructor_uses_a_timer),
		cmocka_unit_test(fault_33_after_main_it_is_used_and_destroyed),
#ifdef FAULT_STATIC_INIT
		cmocka_unit_test(fault_33_static_objects_use_a_timer),
#endif
	};
	const struct tkw_task task = { .fn = count_early, .ctx = &early_fired };

	in_main = true;
	if (argc > 2 && strcmp(argv[1], "--child") == 0)
		return tkw_timer_schedule(early, &task, 0, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
