/* SPDX-License-Identifier: MIT */
/*
 * fuzz_wheel.c - libFuzzer's target: bytes decide what is done to a wheel.
 *
 * The bytes take the place of the generator in the model test; the driver, the
 * oracle and the checks are the same. What differs from the oracle aborts.
 */
#include "fuzz_target.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "driver.h"
#include "tally.h"

enum {
	MAX_OPS = 4000,
	TRACED_OPS = 40
};

static int run(const uint8_t *data, size_t size, const struct driver_opts *opts,
	       struct driver_failure *f)
{
	struct tally t;
	struct choice c;

	memset(&t, 0, sizeof(t));
	choice_from_bytes(&c, data, size);
	return driver_run(&c, opts, &t, f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct driver_opts opts = {
		.engine = DRIVER_ANY_ENGINE,
		.ops = MAX_OPS,
	};
	struct driver_failure f;

	if (run(data, size, &opts, &f) == 0)
		return 0;
	opts.trace = stderr;
	opts.trace_from = f.op < TRACED_OPS ? 0 : f.op - TRACED_OPS;
	run(data, size, &opts, &f);
	fprintf(stderr, "operation %" PRIu64 ": %s\n(%s)\n", f.op, f.what,
		f.detail);
	abort();
}
