/* SPDX-License-Identifier: MIT */
/*
 * fault_queue_sweep.c - a process is killed at each write and each sync of a
 * short life, one by one: from the making of the file to its close. What it was
 * told must be in the file. The same with the power cut.
 */
/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "queue_fault_bed.h"

enum {
	SEED = 17,
	MIN_SITES = 20
};

static void run_child(struct queue_fault_bed *b, const struct shim_plan *plan)
{
	struct crew_worker w = { .share = b->share,
				 .notes = &b->share->notes[0],
				 .random = SEED };
	struct tkw_queues *f;
	char why[100];

	shim_vfs_install();
	shim_vfs_watch(crew_watch, b->share);
	shim_vfs_plan(plan);
	if (crew_open(&f, &w.q, b->path, why, sizeof(why)) != 0)
		_exit(1);
	if (queue_fault_play(&w) < 0)
		_exit(2);
	_exit(tkw_queues_close(f) == 0 ? 0 : 3);
}

static void sweep(struct queue_fault_bed *b, enum shim_call call,
		  enum shim_act act, enum queue_fault_cut cut)
{
	struct shim_plan plan = { .call = call, .act = act };
	uint64_t lost = 0;
	uint64_t torn = 0;
	bool killed = true;

	while (killed) {
		plan.at++;
		queue_fault_start_again(b);
		killed = queue_fault_run(b, run_child, &plan);
		assert_string_equal(b->share->broken, "");
		lost += queue_fault_cut_power(b, cut, plan.at);
		torn += queue_fault_has_torn_tail(b);
		truth_read(&b->truth, b->share);
		queue_fault_verify_at(b, plan.at);
	}
	print_message("killed at each of %llu, torn tails %llu, lost writes "
		      "%llu\n",
		      (unsigned long long)plan.at - 1, (unsigned long long)torn,
		      (unsigned long long)lost);
	assert_true(plan.at > MIN_SITES);
	assert_true(cut == QUEUE_FAULT_NO_CUT || lost > 0);
}

static void fault_queue_killed_before_each_write(void **state)
{
	sweep(*state, SHIM_WRITE, SHIM_KILL, QUEUE_FAULT_NO_CUT);
}

static void fault_queue_each_write_torn(void **state)
{
	sweep(*state, SHIM_WRITE, SHIM_TEAR, QUEUE_FAULT_NO_CUT);
}

static void fault_queue_killed_before_each_sync(void **state)
{
	sweep(*state, SHIM_SYNC, SHIM_KILL, QUEUE_FAULT_NO_CUT);
}

static void fault_queue_killed_after_each_sync(void **state)
{
	sweep(*state, SHIM_SYNC, SHIM_TEAR, QUEUE_FAULT_NO_CUT);
}

static void fault_queue_power_cut_before_each_write(void **state)
{
	sweep(*state, SHIM_WRITE, SHIM_KILL, QUEUE_FAULT_CUT_ALL);
}

static void fault_queue_power_cut_before_each_sync(void **state)
{
	sweep(*state, SHIM_SYNC, SHIM_KILL, QUEUE_FAULT_CUT_ALL);
}

static void fault_queue_sectors_lost_before_each_sync(void **state)
{
	sweep(*state, SHIM_SYNC, SHIM_KILL, QUEUE_FAULT_CUT_SOME);
}

static void fault_queue_sectors_lost_at_each_write(void **state)
{
	sweep(*state, SHIM_WRITE, SHIM_TEAR, QUEUE_FAULT_CUT_SOME);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		QUEUE_FAULT(fault_queue_killed_before_each_write),
		QUEUE_FAULT(fault_queue_each_write_torn),
		QUEUE_FAULT(fault_queue_killed_before_each_sync),
		QUEUE_FAULT(fault_queue_killed_after_each_sync),
		QUEUE_FAULT(fault_queue_power_cut_before_each_write),
		QUEUE_FAULT(fault_queue_power_cut_before_each_sync),
		QUEUE_FAULT(fault_queue_sectors_lost_before_each_sync),
		QUEUE_FAULT(fault_queue_sectors_lost_at_each_write),
	};

	queue_fault_choose(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
