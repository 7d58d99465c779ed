/* SPDX-License-Identifier: MIT */
/* model_wheel.c - compares the wheel with the oracle, seed by seed. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "choice.h"
#include "driver.h"
#include "seeds.h"
#include "tally.h"
#include "tickwheel/wheel.h"

struct engines {
	bool hier;
	bool hashed;
};

static void print_trace(const struct driver_opts *opts, uint64_t seed,
			uint64_t failed_op)
{
	struct driver_opts again = *opts;
	struct driver_failure f;
	struct tally t;
	struct choice c;

	memset(&t, 0, sizeof(t));
	again.trace = stdout;
	again.trace_from = seeds_trace_from(failed_op);
	choice_from_seed(&c, seed);
	driver_run(&c, &again, &t, &f);
}

static bool is_hashed(const void *engine)
{
	return *(const int *)engine == TKW_WHEEL_HASHED;
}

static int run_seed(const struct seeds *s, uint64_t seed, void *tally,
		    const void *engine)
{
	struct driver_opts opts;
	struct driver_failure f;
	struct choice c;

	memset(&opts, 0, sizeof(opts));
	opts.engine = *(const int *)engine;
	opts.ops = s->ops;
	choice_from_seed(&c, seed);
	if (driver_run(&c, &opts, tally, &f) == 0)
		return 0;
	if (s->replay)
		print_trace(&opts, seed, f.op);
	printf("FAILED: seed %" PRIu64 ", engine %s, operation %" PRIu64
	       ": %s\n        (%s)\n",
	       seed, is_hashed(engine) ? "hashed" : "hier", f.op, f.what,
	       f.detail);
	return 1;
}

static void merge(void *sum, const void *tally)
{
	tally_merge(sum, tally);
}

static void print(const void *tally, FILE *out)
{
	tally_print(tally, out);
}

static const char *missing(const void *tally, const void *engine)
{
	return tally_missing(tally, is_hashed(engine));
}

static bool set_engines(struct seeds *s, const char *what, const char *value,
			void *ctx)
{
	struct engines *e = ctx;

	(void)s;
	if (strcmp(what, "--engine") != 0)
		return false;
	e->hier = strcmp(value, "hashed") != 0;
	e->hashed = strcmp(value, "hier") != 0;
	return !e->hier || !e->hashed || strcmp(value, "both") == 0;
}

static int run_engine(const struct seeds *s, int engine)
{
	bool hashed = is_hashed(&engine);
	struct seeds_model model = {
		.name = hashed ? " hashed" : " hier",
		.option = hashed ? " --engine hashed" : " --engine hier",
		.ops = "operations",
		.seeds_for_all_kinds = 100,
		.tally_size = sizeof(struct tally),
		.run = run_seed,
		.merge = merge,
		.print = print,
		.missing = missing,
		.ctx = &engine,
	};

	return seeds_run(s, &model);
}

int main(int argc, char **argv)
{
	static const char *const variables[] = { "TKW_MODEL_SEEDS", NULL };
	struct engines e = { true, true };
	const struct seeds_options options = { variables, set_engines, &e };
	struct seeds s;
	int failed = 0;

	seeds_read(&s, argc, argv, &options);
	if (e.hier)
		failed |= run_engine(&s, TKW_WHEEL_HIERARCHICAL);
	if (e.hashed && !failed)
		failed |= run_engine(&s, TKW_WHEEL_HASHED);
	return failed;
}
