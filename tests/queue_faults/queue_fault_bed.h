/* SPDX-License-Identifier: MIT */
/*
 * queue_fault_bed.h - the test bed of the faults: a folder, a file of queues in
 * it, the notes of those who use it and the truth about it.
 */
#ifndef TKW_TESTS_QUEUE_FAULT_BED_H
#define TKW_TESTS_QUEUE_FAULT_BED_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "crew.h"
#include "truth.h"

struct queue_fault_bed {
	char dir[128];
	char path[160];
	struct crew_share *share;
	struct truth truth;
};

int queue_fault_begin(void **state);
int queue_fault_end(void **state);

#define QUEUE_FAULT(test)                                                      \
	cmocka_unit_test_setup_teardown(test, queue_fault_begin,               \
					queue_fault_end)

/* An argument names the only test to run; it may have wildcards. */
void queue_fault_choose(int argc, char **argv);

/* A number of the environment, or another one. */
uint64_t queue_fault_number(const char *name, uint64_t otherwise);
/* A seed, printed. TKW_SEED in the environment replays one. */
uint64_t queue_fault_seed(void);

/* Removes the file and all beside it. */
void queue_fault_start_again(struct queue_fault_bed *b);
/* A path beside the file: "", "-wal" and so on. */
const char *queue_fault_path(const struct queue_fault_bed *b,
			     const char *suffix);

/* Runs a function in a child, which a plan of the shim kills; fn must _exit().
 * Returns false if it was not killed, and ended with status 0. */
typedef void queue_fault_child_fn(struct queue_fault_bed *b,
				  const struct shim_plan *plan);
bool queue_fault_run(struct queue_fault_bed *b, queue_fault_child_fn *fn,
		     const struct shim_plan *plan);

/* Kills a child and waits for it. */
void queue_fault_kill(pid_t child);

enum queue_fault_cut {
	QUEUE_FAULT_NO_CUT,
	QUEUE_FAULT_CUT_ALL, /* all that was not synced is lost */
	QUEUE_FAULT_CUT_SOME /* some sectors of it are */
};

/* Returns how many writes were lost. */
uint32_t queue_fault_cut_power(struct queue_fault_bed *b,
			       enum queue_fault_cut cut, uint64_t seed);

/* True if frames lie behind the last end of a transaction in the log. */
bool queue_fault_has_torn_tail(const struct queue_fault_bed *b);

/* Opens the file and compares it with the truth, which has read the notes. If
 * use is true it is also used. Then it is closed. */
void queue_fault_verify(struct queue_fault_bed *b, bool use);

/* The same for one place of a sweep, which a failure names. */
void queue_fault_verify_at(struct queue_fault_bed *b, uint64_t place);

/* A short life: each kind of call, the same in each run. Step by step, or all
 * steps up to the first error, which is returned. */
enum {
	QUEUE_FAULT_STEPS = 18
};
int queue_fault_step(struct crew_worker *w, int step);
int queue_fault_play(struct crew_worker *w);

#endif /* TKW_TESTS_QUEUE_FAULT_BED_H */
