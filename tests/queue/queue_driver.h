/* SPDX-License-Identifier: MIT */
/*
 * queue_driver.h - one run of a queue beside the oracle, by decisions from a
 * source: a generator in the model test, bytes in the fuzzer.
 */
#ifndef QUEUE_DRIVER_H
#define QUEUE_DRIVER_H

#include <stdint.h>
#include <stdio.h>

#include "choice.h"
#include "queue_tally.h"

struct queue_driver_opts {
	uint64_t ops;        /* how many commands at most */
	FILE *trace;         /* NULL: none */
	uint64_t trace_from; /* the first command to be told */
};

struct queue_driver_failure {
	const char *what;
	uint64_t op;
	char detail[160];
};

/* Returns 0 if the queue did as the oracle; 1 if not: f says what. */
int queue_driver_run(struct choice *c, const struct queue_driver_opts *opts,
		     struct queue_tally *t, struct queue_driver_failure *f);

#endif /* QUEUE_DRIVER_H */
