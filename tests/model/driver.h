/* SPDX-License-Identifier: MIT */
/*
 * driver.h - one run of a wheel beside the oracle, by decisions from a source.
 *
 * The source is a generator in the model test and a string of bytes in the
 * fuzzer. The operations and the checks are the same.
 */
#ifndef MODEL_DRIVER_H
#define MODEL_DRIVER_H

#include <stdint.h>
#include <stdio.h>

#include "choice.h"
#include "tally.h"

#define DRIVER_ANY_ENGINE (-1)

struct driver_opts {
	int engine;          /* enum tkw_wheel_engine, or DRIVER_ANY_ENGINE */
	uint64_t ops;        /* how many operations at most */
	FILE *trace;         /* NULL for no trace */
	uint64_t trace_from; /* the first operation in the trace */
};

struct driver_failure {
	const char *what;
	uint64_t op;      /* the operation at which it was seen */
	char detail[160]; /* the wheel, and its state */
};

/* Returns 0 if the wheel did what the oracle did. Otherwise returns 1, and f
 * says what was wrong. */
int driver_run(struct choice *c, const struct driver_opts *opts,
	       struct tally *t, struct driver_failure *f);

#endif /* MODEL_DRIVER_H */
