/* SPDX-License-Identifier: MIT */
/*
 * queue_mix.h - random work on a queue: all commands that change one, with all
 * options. Tests use it to make queues that have everything, and to keep a
 * server busy while something else happens to it.
 */
#ifndef TKW_TESTS_QUEUE_MIX_H
#define TKW_TESTS_QUEUE_MIX_H

#include "own_server.h"

enum {
	MIX_CLAIMS = 64
};

struct queue_mix {
	struct resp *c;
	char queue[32];
	uint64_t random;
	/* The last claims and ids that were seen; rings. */
	uint64_t id[MIX_CLAIMS];
	uint64_t token[MIX_CLAIMS];
	uint32_t claims;
	uint64_t put[MIX_CLAIMS];
	uint32_t puts;
	uint64_t commands;
};

void queue_mix_init(struct queue_mix *m, struct resp *c, const char *queue,
		    uint64_t seed);

/* Runs one random command, sometimes in a transaction or in a script. Returns
 * NULL if the connection has ended, else the reply. A reply that no right
 * command may have fails the test. */
const char *queue_mix_step(struct queue_mix *m);
/* Runs many. The connection must not end. */
void queue_mix_run(struct queue_mix *m, uint32_t steps);

/* Makes a queue with items in each state, with keys, back-offs and reasons,
 * with lost leases, limits and all counters, the clock of the module being
 * set. The queue is paused. */
void queue_mix_fill(struct resp *c, const char *queue);

/* Makes a queue with plans in each state, and items of them. */
void queue_mix_plan(struct resp *c, const char *queue);

/* Checks the law of a queue by TKW.INFO. */
void queue_mix_check(struct resp *c, const char *queue);

#endif /* TKW_TESTS_QUEUE_MIX_H */
