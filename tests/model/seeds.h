/* SPDX-License-Identifier: MIT */
/*
 * seeds.h - runs the seeds of a model, and reads the options of programs that
 * run seeds.
 *
 * Idea:   each seed is a separate run, so that a failing one can be replayed
 *         alone. Several processes share the seeds. Each counts what happened,
 *         in shared memory. The parent adds up and prints the counts, and
 *         requires that each kind of event has happened.
 * Exit:   0 if the model agrees with the oracle, 1 if not, 2 for a bad option.
 */
#ifndef SEEDS_H
#define SEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct seeds {
	const char *path;    /* as called */
	const char *program; /* its name alone */
	uint64_t first_seed;
	uint64_t seeds;
	uint64_t ops;
	uint64_t jobs;
	bool replay;
};

/* What the seeds run. A tally is a struct of the model that counts what
 * happened; it begins with all zero. */
struct seeds_model {
	const char *name;   /* printed after the program's, or "" */
	const char *option; /* printed in the line that replays a seed, or "" */
	const char *ops;    /* "operations" */
	/* With fewer seeds a rare kind may be missing by chance. */
	uint64_t seeds_for_all_kinds;
	size_t tally_size;
	/* Returns 0, or 1 if it has printed what failed. */
	int (*run)(const struct seeds *s, uint64_t seed, void *tally,
		   const void *ctx);
	void (*merge)(void *sum, const void *tally);
	void (*print)(const void *tally, FILE *out);
	/* Returns the name of a kind that never happened, or NULL. */
	const char *(*missing)(const void *tally, const void *ctx);
	const void *ctx;
};

/* Handles an option that seeds_read() does not know. Returns false if it does
 * not know it either. */
typedef bool seeds_option_fn(struct seeds *s, const char *what,
			     const char *value, void *ctx);

struct seeds_options {
	/* Environment variables that may hold the number of seeds, and NULL at
	 * the end. The first that is set counts. */
	const char *const *variables;
	seeds_option_fn *more; /* may be NULL */
	void *ctx;             /* for more() */
};

/* Reads the options. A bad one ends the program. */
void seeds_read(struct seeds *s, int argc, char **argv,
		const struct seeds_options *options);

/* Runs all seeds, or the one that is to be replayed. Returns the exit status of
 * the program. */
int seeds_run(const struct seeds *s, const struct seeds_model *model);

/* Returns the first operation to trace, so that the 40 before the failed one
 * are shown. */
uint64_t seeds_trace_from(uint64_t failed_op);

/* --- for programs with options of their own ------------------------------- */

/* The name of a program, without its folder. */
const char *seeds_program(const char *path);

_Noreturn void seeds_bad_option(const char *program, const char *what,
				const char *value);

/* Reads a number up to max that ends with a character. */
uint64_t seeds_number(const char *program, const char *what, const char *value,
		      char end, uint64_t max);

/* From here on, the process may use so many seconds of CPU time. Then a signal
 * ends it. */
void seeds_arm_watchdog(unsigned seconds);

#endif /* SEEDS_H */
