/* SPDX-License-Identifier: MIT */
/*
 * cases.h - runs queue.cases or plan.cases over a home of the queue.
 *
 * queue.cases says how it is to be read. A home makes a queue for each case,
 * runs its commands, and prints each answer as reply_text.h says.
 */
#ifndef TKW_TESTS_CASES_H
#define TKW_TESTS_CASES_H

#include <stdbool.h>
#include <stdint.h>

#include "reply_text.h"
#include "words.h"

/* The time at the beginning of each case, in ms. */
#define CASES_START_MS INT64_C(1000000)

struct cases_home {
	/* Makes a new queue, with a name of its own, and sets the clock. */
	void (*begin)(void *ctx, const char *queue);
	/* Runs a command and adds the answer to a text. */
	void (*answer)(void *ctx, struct words *command,
		       struct reply_text *answer);
	void (*end)(void *ctx);
	void *ctx;
};

struct cases_tally {
	uint32_t cases;
	uint32_t commands;
	uint32_t wrong;
};

/* Runs all cases of a file and prints each answer that is wrong. */
struct cases_tally cases_run(const char *path, const struct cases_home *home);

/* Ends the program if a condition is false. */
void cases_must(bool condition, const char *what);
/* Returns the number after an option, the word i. i is then that number. */
int64_t cases_value(const struct words *w, size_t *i);

/* The answers of LIST and INFO are cut down to what all homes have: the ids,
 * in ascending order. Adds them. */
void cases_add_ids(struct reply_text *answer, uint64_t *ids, size_t count);

#endif /* TKW_TESTS_CASES_H */
