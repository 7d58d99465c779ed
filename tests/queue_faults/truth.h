/* SPDX-License-Identifier: MIT */
/*
 * truth.h - what must be in a file after a fault, by the notes of the crew
 *
 * A call that was answered has happened, or not, as its answer says. A call
 * that was asked and not answered, or answered with -EIO, is in doubt: it has
 * happened as a whole, or not at all.
 */
#ifndef TKW_TESTS_TRUTH_H
#define TKW_TESTS_TRUTH_H

#include "crew.h"

/* What is known of the claim with the highest token of an item. */
enum truth_claim {
	TRUTH_NEVER,  /* taken */
	TRUTH_HELD,   /* for an hour */
	TRUTH_LAPSES, /* the lease is short: it may have ended */
	TRUTH_NACKED,
	TRUTH_DOUBT, /* a nack is in doubt */
};

struct truth_item {
	uint64_t id;
	uint64_t token;
	int64_t expires_ms; /* 0: not known */
	enum truth_claim claim;
	uint8_t asked;   /* its put */
	uint8_t exists;  /* its put has happened */
	uint8_t ended;   /* how often: by answers */
	uint8_t doubt;   /* it may have ended */
	uint8_t present; /* it was found in the file */
	uint8_t carried; /* it was there when the round began */
	uint32_t group;  /* the first serial of its put */
};

/* Bounds of a counter: what must have been added, and what may. */
struct truth_count {
	uint64_t sure;
	uint64_t doubt;
};

struct truth {
	struct truth_item *item; /* by serial */
	uint32_t count;
	struct truth_count calls[CREW_KINDS]; /* items, per kind of call */
	uint64_t takes_in_doubt;       /* how many items they asked for */
	struct tkw_queue_stats before; /* when the round began */
	uint64_t max_id;
	uint64_t max_token;
	uint64_t in_flight; /* calls in doubt in this round */
};

void truth_init(struct truth *t);
void truth_fini(struct truth *t);
/* Begins a new file. */
void truth_clear(struct truth *t);

/* Reads the notes of a round. */
void truth_read(struct truth *t, const struct crew_share *s);

/*
 * Compares with an open file, and takes over what it has: what was in doubt is
 * not any more.
 *
 * why  Receives a sentence if something is wrong.
 *
 * Returns true if all is as it must be.
 */
bool truth_check(struct truth *t, struct tkw_queues *f, struct tkw_queue *q,
		 char *why, size_t why_size);

/* Uses the file after a check: claims that are held must be valid, new ids and
 * tokens must be higher than all before. Ends many items, so that a file stays
 * small. */
bool truth_use(struct truth *t, struct crew_share *s, struct tkw_queue *q,
	       char *why, size_t why_size);

#endif /* TKW_TESTS_TRUTH_H */
