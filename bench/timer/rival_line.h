/* SPDX-License-Identifier: MIT */
/*
 * rival_line.h - the lines that a program of the benchmark reads and writes.
 *
 *   request    KIND key=value ...      whole numbers; unknown keys are ignored
 *   answer     figure NAME VALUE       any number of these, then one of
 *              done | skip REASON | fail REASON
 */
#ifndef TKW_RIVAL_LINE_H
#define TKW_RIVAL_LINE_H

#include "rival.h"

/* A kind of request. */
struct rival_word {
	const char *name;
	int value;
};

/* A key: where its number, a uint32_t, lies in the struct of the load. */
struct rival_key {
	const char *name;
	size_t offset;
	uint32_t least;
	uint32_t most;
};

struct rival_grammar {
	const struct rival_word *kinds;
	size_t kind_count;
	const struct rival_key *keys;
	size_t key_count;
};

/* Reads the kind. `rest` receives what follows it. Returns false if there is no
 * such kind. */
bool rival_line_kind(const struct rival_grammar *g, char *line, char **rest,
		     int *kind);

/* Reads the numbers into the load. Returns false if something is wrong. */
bool rival_line_numbers(const struct rival_grammar *g, char *rest, void *load);

/* Writes the answer to stdout. */
void rival_line_answer(const struct rival_answer *a);

#endif /* TKW_RIVAL_LINE_H */
