/* SPDX-License-Identifier: MIT */
/*
 * simulate_queue.c - the durable queue on a simulated disk and clock.
 *
 * Idea:    Each seed is the life of a file (sim_life.h): callers, batches, a
 *          clock that steps, a disk that fails, and crashes. After each crash
 *          the file must be what was acknowledged, with or without the whole
 *          batch that was being written.
 * Enough:  Seeds are run until there were enough crashes, and each kind of
 *          thing must have happened. TKW_QUEUE_CRASHES in the environment says
 *          how many crashes are enough.
 * Sweep:   --sweep runs one seed with one fault at each moment in turn: a crash
 *          at each write and each sync, a full disk and an error in each call.
 * Replay:  A failure tells its seed. --seed runs it again, and tells what
 *          happened in its last turns.
 * Exit:    0: all promises were kept; 1: not; 2: a bad option.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "seeds.h"
#include "sim_life.h"

enum {
	DEFAULT_CRASHES = 20000,
	/* With fewer crashes a rare kind may be missing by chance. */
	CRASHES_FOR_ALL_KINDS = 1000,
	TRACED_TURNS = 30,
	/* A seed that takes so many seconds of CPU does not end. */
	ENDLESS_SECONDS = 60
};

struct options {
	const char *path;    /* as called */
	const char *program; /* its name alone */
	uint64_t first_seed;
	uint64_t last_seed;
	uint64_t crashes;
	bool replay;
	bool sweep;
};

/* For the handler of signals. */
static uint64_t seed_now;
static const char *path_now;

static void say(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		_exit(1);
}

/* An assertion failed, or a pointer went astray, or a seed does not end. */
static void on_signal(int number)
{
	char digits[24] = { 0 };
	size_t at = sizeof(digits) - 1;
	uint64_t n = seed_now;

	(void)number;
	do {
		digits[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	say("FAILED: seed ");
	say(digits + at);
	say(" crashed or did not end\nreplay: ");
	say(path_now);
	say(" --seed ");
	say(digits + at);
	say("\n");
	_exit(1);
}

static void watch_signals(void)
{
	signal(SIGABRT, on_signal);
	signal(SIGSEGV, on_signal);
	signal(SIGBUS, on_signal);
	signal(SIGFPE, on_signal);
	signal(SIGVTALRM, on_signal);
}

static void print_trace(uint64_t seed, const struct life_opts *opts,
			uint64_t turn)
{
	struct life_opts again = *opts;
	struct life_failure f;
	struct life_tally t;

	memset(&t, 0, sizeof(t));
	again.trace = stdout;
	again.trace_from = turn < TRACED_TURNS ? 0 : turn - TRACED_TURNS;
	life_run(seed, &again, &t, &f);
}

static int run_life(const struct options *o, uint64_t seed,
		    const struct life_opts *opts, struct life_tally *t)
{
	struct life_failure f;

	seed_now = seed;
	seeds_arm_watchdog(ENDLESS_SECONDS);
	if (life_run(seed, opts, t, &f) == 0)
		return 0;
	if (o->replay || o->sweep)
		print_trace(seed, opts, f.turn);
	printf("FAILED: seed %" PRIu64 ", turn %" PRIu64
	       ": %s\n        (%s)\nreplay: %s --%s %" PRIu64 "\n",
	       seed, f.turn, f.what, f.detail, o->path,
	       o->sweep ? "sweep" : "seed", seed);
	return 1;
}

static int report(const struct options *o, uint64_t seeds,
		  const struct life_tally *t)
{
	const char *missing = life_tally_missing(t);

	life_tally_print(t, stdout);
	printf("%s: seeds %" PRIu64 " to %" PRIu64 ": %" PRIu64
	       " crashes (%" PRIu64 " inside a batch), %" PRIu64
	       " shared commits, %" PRIu64 " torn tails, %" PRIu64
	       " ENOSPC, %" PRIu64 " EIO, %" PRIu64 " compactions, %" PRIu64
	       " plans made, %" PRIu64 " crashes inside a change of a plan\n",
	       o->program, o->first_seed, o->first_seed + seeds - 1,
	       t->n[LT_CRASH], t->n[LT_CRASH_IN_BATCH], t->n[LT_SHARED],
	       t->n[LT_TORN], t->n[LT_FULL], t->n[LT_ERROR],
	       t->n[LT_COMPACTION], t->n[LT_PLAN], t->n[LT_CRASH_IN_PLAN]);
	if (t->n[LT_CRASH] < CRASHES_FOR_ALL_KINDS || !missing)
		return 0;
	printf("FAILED: this never happened: %s\n", missing);
	return 1;
}

static int run(const struct options *o)
{
	struct life_opts opts = { .fault = LIFE_BY_CHANCE };
	struct life_tally t;
	uint64_t seed = o->first_seed;

	memset(&t, 0, sizeof(t));
	do {
		if (run_life(o, seed, &opts, &t) != 0)
			return 1;
		seed++;
	} while (seed <= o->last_seed && t.n[LT_CRASH] < o->crashes);
	return report(o, seed - o->first_seed, &t);
}

/* Runs the seed with a fault at each moment, until it comes too late. */
static int sweep_fault(const struct options *o, enum life_fault fault,
		       enum life_tally_kind kind, const char *name)
{
	struct life_opts opts = { .fault = fault };
	struct life_tally t;
	uint64_t came;

	memset(&t, 0, sizeof(t));
	do {
		came = t.n[kind];
		opts.at++;
		if (run_life(o, o->first_seed, &opts, &t) != 0) {
			printf("        (%s %" PRIu64 ")\n", name, opts.at);
			return 1;
		}
	} while (t.n[kind] > came);
	printf("%s: seed %" PRIu64 ": %s 1 to %" PRIu64
	       ", one in each life, %" PRIu64 " compactions\n",
	       o->program, o->first_seed, name, opts.at - 1,
	       t.n[LT_COMPACTION]);
	if (came > 0 && t.n[LT_COMPACTION] > 0)
		return 0;
	printf("FAILED: this never happened: %s\n",
	       came ? "a compaction" : name);
	return 1;
}

static int sweep(const struct options *o)
{
	int failed = sweep_fault(o, LIFE_CRASH, LT_CRASH, "crash at step");

	failed |= sweep_fault(o, LIFE_FULL, LT_FULL, "ENOSPC in call");
	failed |= sweep_fault(o, LIFE_ERROR, LT_ERROR, "EIO in call");
	failed |= sweep_fault(o, LIFE_BUSY, LT_BUSY, "EBUSY in call");
	return failed;
}

/* --- options ------------------------------------------------------------- */

static uint64_t number(const struct options *o, const char *what,
		       const char *value, char end)
{
	return seeds_number(o->program, what, value, end, UINT64_MAX / 2);
}

static void set_seeds(struct options *o, const char *what, const char *value)
{
	const char *colon = strchr(value, ':');

	if (colon) {
		o->first_seed = number(o, what, value, ':');
		o->last_seed = number(o, what, colon + 1, 0);
	}
	if (!colon || o->last_seed < o->first_seed)
		seeds_bad_option(o->program, what, value);
	/* All of them, unless --crashes comes behind. */
	o->crashes = UINT64_MAX;
}

static void set_option(struct options *o, const char *what, const char *value)
{
	if (!strcmp(what, "--seeds")) {
		set_seeds(o, what, value);
	} else if (!strcmp(what, "--seed") || !strcmp(what, "--sweep")) {
		o->first_seed = number(o, what, value, 0);
		o->last_seed = o->first_seed;
		o->sweep = !strcmp(what, "--sweep");
		o->replay = !o->sweep;
	} else if (!strcmp(what, "--crashes")) {
		o->crashes = number(o, what, value, 0);
		if (o->crashes == 0)
			seeds_bad_option(o->program, what, value);
	} else {
		seeds_bad_option(o->program, what, value);
	}
}

static void set_defaults(struct options *o, const char *argv0)
{
	const char *crashes = getenv("TKW_QUEUE_CRASHES");
	const char *model_seeds = getenv("TKW_MODEL_SEEDS");

	memset(o, 0, sizeof(*o));
	o->path = argv0;
	o->program = seeds_program(argv0);
	o->first_seed = 1;
	o->last_seed = UINT64_MAX / 2;
	o->crashes = DEFAULT_CRASHES;
	if (crashes)
		set_option(o, "--crashes", crashes);
	else if (model_seeds)
		set_option(o, "--crashes", model_seeds);
	if (!crashes && o->crashes > DEFAULT_CRASHES)
		o->crashes = DEFAULT_CRASHES;
}

int main(int argc, char **argv)
{
	struct options o;
	int i;

	set_defaults(&o, argv[0]);
	for (i = 1; i < argc; i += 2) {
		if (i + 1 == argc)
			seeds_bad_option(o.program, argv[i], "");
		set_option(&o, argv[i], argv[i + 1]);
	}
	path_now = o.path;
	watch_signals();
	return o.sweep ? sweep(&o) : run(&o);
}
