/* SPDX-License-Identifier: MIT */
/* load_truth.h - what must be in a queue, by the notes of those who used it. */
#ifndef TKW_TESTS_LOAD_TRUTH_H
#define TKW_TESTS_LOAD_TRUTH_H

#include "load_crew.h"
#include "resp.h"

struct load_truth {
	struct truth_of *item; /* by serial number */
	uint32_t count;        /* numbers that were used */
	uint64_t max_id;       /* that anybody was told */
	uint64_t max_token;
	uint64_t sure;  /* calls that were confirmed */
	uint64_t doubt; /* calls of which nobody knows */
	uint64_t lost;  /* items that were put for sure, and are not there */
	uint64_t back;  /* items that ended for sure, and are there */
};

void load_truth_init(struct load_truth *t);
void load_truth_fini(struct load_truth *t);
/* Forgets everything: the queue was deleted. */
void load_truth_clear(struct load_truth *t);

/* Reads the notes of the last round. */
void load_truth_read(struct load_truth *t, const struct load_share *s);

/*
 * Compares the queue with the truth. What is in the queue is then the truth for
 * the next round.
 *
 * exact  All that was confirmed must be there, and nothing that has ended. If
 * it is false, differences are only counted, in t->lost and t->back.
 *
 * The law must hold in any case, each item must be one that somebody has put,
 * and new ids and tokens must be larger than all that anybody was told.
 */
void load_truth_check(struct load_truth *t, struct resp *c, const char *queue,
		      bool exact);

#endif /* TKW_TESTS_LOAD_TRUTH_H */
