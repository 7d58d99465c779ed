/* SPDX-License-Identifier: MIT */
/* model_queue.c - compares the queue's heart with the oracle, seed by seed. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "choice.h"
#include "queue_driver.h"
#include "queue_tally.h"
#include "seeds.h"

static void print_trace(const struct seeds *s, uint64_t seed, uint64_t op)
{
	struct queue_driver_opts again = { .ops = s->ops,
					   .trace = stdout,
					   .trace_from = seeds_trace_from(op) };
	struct queue_driver_failure f;
	struct queue_tally t;
	struct choice c;

	memset(&t, 0, sizeof(t));
	choice_from_seed(&c, seed);
	queue_driver_run(&c, &again, &t, &f);
}

static int run_seed(const struct seeds *s, uint64_t seed, void *tally,
		    const void *ctx)
{
	struct queue_driver_opts opts = { .ops = s->ops };
	struct queue_driver_failure f;
	struct choice c;

	(void)ctx;
	choice_from_seed(&c, seed);
	if (queue_driver_run(&c, &opts, tally, &f) == 0)
		return 0;
	if (s->replay)
		print_trace(s, seed, f.op);
	printf("FAILED: seed %" PRIu64 ", command %" PRIu64
	       ": %s\n        (%s)\n",
	       seed, f.op, f.what, f.detail);
	return 1;
}

static void merge(void *sum, const void *tally)
{
	queue_tally_merge(sum, tally);
}

static void print(const void *tally, FILE *out)
{
	queue_tally_print(tally, out);
}

static const char *missing(const void *tally, const void *ctx)
{
	(void)ctx;
	return queue_tally_missing(tally);
}

int main(int argc, char **argv)
{
	static const char *const variables[] = { "TKW_QUEUE_SEEDS",
						 "TKW_MODEL_SEEDS", NULL };
	static const struct seeds_model model = {
		.name = "",
		.option = "",
		.ops = "commands",
		.seeds_for_all_kinds = 300,
		.tally_size = sizeof(struct queue_tally),
		.run = run_seed,
		.merge = merge,
		.print = print,
		.missing = missing,
	};
	const struct seeds_options options = { .variables = variables };
	struct seeds s;

	seeds_read(&s, argc, argv, &options);
	return seeds_run(&s, &model);
}
