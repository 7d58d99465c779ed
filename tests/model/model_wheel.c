/* SPDX-License-Identifier: MIT */
/*
 * model_wheel.c - compares the wheel with the oracle, seed by seed.
 *
 * Idea:   each seed is a separate run, so that a failing one can be replayed
 *         alone. Several processes share the seeds. Each counts what happened,
 *         in shared memory. The parent adds up and prints the counts, and
 *         requires that each kind of event has happened.
 * Exit:   0 if the wheel agrees with the oracle, 1 if not, 2 for a bad option.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, setitimer, sysconf */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "choice.h"
#include "driver.h"
#include "tally.h"
#include "tickwheel/wheel.h"

enum {
	DEFAULT_SEEDS = 100000,
	DEFAULT_OPS = 1000,
	/* With fewer seeds a rare kind may be missing by chance. */
	SEEDS_FOR_ALL_KINDS = 100,
	MAX_JOBS = 256,
	TRACED_OPS = 40,
	/* A seed takes about a millisecond. If one takes this many seconds of
	   CPU time, it does not end, and its number is printed. */
	ENDLESS_SECONDS = 300
};

struct options {
	const char *path;    /* as called */
	const char *program; /* its name alone */
	uint64_t first_seed;
	uint64_t seeds;
	uint64_t ops;
	uint64_t jobs;
	int hier;
	int hashed;
	int replay;
};

/* The part of one process, in memory that its parent sees. */
struct share {
	struct tally tally;
	uint64_t seed;     /* the seed that it works on */
	int told;          /* it has reported what it found */
	volatile int stop; /* in the first share: a process failed */
};

static const char *engine_name(int engine)
{
	return engine == TKW_WHEEL_HASHED ? "hashed" : "hier";
}

static void print_replay(const struct options *o, int engine, uint64_t seed)
{
	printf("replay: %s --engine %s --seed %" PRIu64, o->path,
	       engine_name(engine), seed);
	if (o->ops != DEFAULT_OPS)
		printf(" --ops %" PRIu64, o->ops);
	printf("\n");
	fflush(stdout);
}

static void print_trace(const struct driver_opts *opts, uint64_t seed,
			uint64_t failed_op)
{
	struct driver_opts again = *opts;
	struct driver_failure f;
	struct tally t;
	struct choice c;

	memset(&t, 0, sizeof(t));
	again.trace = stdout;
	again.trace_from = failed_op < TRACED_OPS ? 0 : failed_op - TRACED_OPS;
	choice_from_seed(&c, seed);
	driver_run(&c, &again, &t, &f);
}

static int run_seed(const struct options *o, int engine, uint64_t seed,
		    struct tally *t)
{
	struct driver_opts opts;
	struct driver_failure f;
	struct choice c;

	memset(&opts, 0, sizeof(opts));
	opts.engine = engine;
	opts.ops = o->ops;
	choice_from_seed(&c, seed);
	if (driver_run(&c, &opts, t, &f) == 0)
		return 0;
	if (o->replay)
		print_trace(&opts, seed, f.op);
	printf("FAILED: seed %" PRIu64 ", engine %s, operation %" PRIu64
	       ": %s\n        (%s)\n",
	       seed, engine_name(engine), f.op, f.what, f.detail);
	return 1;
}

/* From here on, the process may use this much CPU time. Then a signal ends
 * it. */
static void arm_watchdog(void)
{
	struct itimerval t;

	memset(&t, 0, sizeof(t));
	t.it_value.tv_sec = ENDLESS_SECONDS;
	setitimer(ITIMER_VIRTUAL, &t, NULL);
}

static _Noreturn void work(const struct options *o, int engine,
			   struct share *all, uint64_t job)
{
	struct share *mine = &all[job];
	uint64_t i;

	for (i = job; i < o->seeds && !all[0].stop; i += o->jobs) {
		mine->seed = o->first_seed + i;
		arm_watchdog();
		if (run_seed(o, engine, mine->seed, &mine->tally) != 0) {
			print_replay(o, engine, mine->seed);
			mine->told = 1;
			all[0].stop = 1;
		}
	}
	exit(mine->told);
}

/* Handles the end of a process. Returns 0 if it found nothing. */
static int take_leave(const struct options *o, int engine, struct share *all,
		      uint64_t job, int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (!all[job].told && !all[0].stop) {
		printf("FAILED: seed %" PRIu64
		       " crashed or did not end (status 0x%x)\n",
		       all[job].seed, (unsigned)status);
		print_replay(o, engine, all[job].seed);
	}
	all[0].stop = 1;
	return 1;
}

/* Returns 0 if each process ended by itself and found nothing. */
static int await(const struct options *o, int engine, struct share *all,
		 const pid_t *pids)
{
	uint64_t running = 0;
	uint64_t n, j;
	int failed;

	for (j = 0; j < o->jobs; j++)
		running += pids[j] >= 0;
	failed = running < o->jobs; /* a fork failed */
	for (n = 0; n < running; n++) {
		int status = 0;
		pid_t pid = wait(&status);

		for (j = 0; j < o->jobs && pids[j] != pid; j++)
			;
		if (pid < 0 || j == o->jobs)
			return 1;
		failed |= take_leave(o, engine, all, j, status);
	}
	return failed;
}

static int report(const struct options *o, int engine, struct share *all)
{
	const char *missing;
	struct tally sum;
	uint64_t j;

	memset(&sum, 0, sizeof(sum));
	for (j = 0; j < o->jobs; j++)
		tally_merge(&sum, &all[j].tally);
	printf("%s %s: %" PRIu64 " seeds from %" PRIu64 ", %" PRIu64
	       " operations each, all as the oracle\n",
	       o->program, engine_name(engine), o->seeds, o->first_seed,
	       o->ops);
	tally_print(&sum, stdout);
	fflush(stdout);
	if (o->seeds < SEEDS_FOR_ALL_KINDS || o->ops < DEFAULT_OPS)
		return 0;
	missing = tally_missing(&sum, engine == TKW_WHEEL_HASHED);
	if (missing) {
		printf("FAILED: this never happened: %s\n", missing);
		return 1;
	}
	return 0;
}

static int run_engine(const struct options *o, int engine)
{
	size_t size = (size_t)o->jobs * sizeof(struct share);
	struct share *all = mmap(NULL, size, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[MAX_JOBS];
	int failed;
	uint64_t j;

	if (all == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	fflush(stdout);
	for (j = 0; j < o->jobs; j++) {
		pids[j] = fork();
		if (pids[j] == 0)
			work(o, engine, all, j);
		if (pids[j] < 0) {
			perror("fork");
			all[0].stop = 1;
		}
	}
	failed = await(o, engine, all, pids);
	if (!failed)
		failed = report(o, engine, all);
	munmap(all, size);
	return failed;
}

/* Runs one seed in this process, which makes debugging easier. */
static int replay(const struct options *o, int engine)
{
	struct tally t;

	memset(&t, 0, sizeof(t));
	if (run_seed(o, engine, o->first_seed, &t) != 0)
		return 1;
	printf("%s %s: seed %" PRIu64 ": as the oracle\n", o->program,
	       engine_name(engine), o->first_seed);
	tally_print(&t, stdout);
	return 0;
}

static _Noreturn void bad_option(const struct options *o, const char *what,
				 const char *value)
{
	fprintf(stderr, "%s: bad option or value: %s %s\n", o->program, what,
		value);
	exit(2);
}

static uint64_t number(const struct options *o, const char *what,
		       const char *value, uint64_t max)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(value, &end, 10);
	if (errno || end == value || *end || value[0] < '0' || value[0] > '9' ||
	    v > max)
		bad_option(o, what, value);
	return v;
}

static void set_engine(struct options *o, const char *value)
{
	o->hier = strcmp(value, "hashed") != 0;
	o->hashed = strcmp(value, "hier") != 0;
	if (o->hier && o->hashed && strcmp(value, "both") != 0)
		bad_option(o, "--engine", value);
}

static void set_option(struct options *o, const char *what, const char *value)
{
	if (!strcmp(what, "--seeds")) {
		o->seeds = number(o, what, value, UINT32_MAX);
	} else if (!strcmp(what, "--first-seed")) {
		o->first_seed = number(o, what, value, UINT64_MAX / 2);
	} else if (!strcmp(what, "--seed")) {
		o->first_seed = number(o, what, value, UINT64_MAX / 2);
		o->replay = 1;
	} else if (!strcmp(what, "--ops")) {
		o->ops = number(o, what, value, UINT32_MAX);
	} else if (!strcmp(what, "--jobs")) {
		o->jobs = number(o, what, value, MAX_JOBS);
		if (o->jobs == 0)
			bad_option(o, what, value);
	} else if (!strcmp(what, "--engine")) {
		set_engine(o, value);
	} else {
		bad_option(o, what, value);
	}
}

static void set_defaults(struct options *o, const char *argv0)
{
	const char *slash = strrchr(argv0, '/');
	const char *seeds = getenv("TKW_MODEL_SEEDS");
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	memset(o, 0, sizeof(*o));
	o->path = argv0;
	o->program = slash ? slash + 1 : argv0;
	o->first_seed = 1;
	o->seeds = DEFAULT_SEEDS;
	if (seeds)
		o->seeds = number(o, "TKW_MODEL_SEEDS", seeds, UINT32_MAX);
	o->ops = DEFAULT_OPS;
	o->jobs = cpus < 1 ? 1 : (uint64_t)cpus;
	if (o->jobs > MAX_JOBS)
		o->jobs = MAX_JOBS;
	o->hier = 1;
	o->hashed = 1;
}

int main(int argc, char **argv)
{
	int (*run)(const struct options *o, int engine);
	struct options o;
	int failed = 0;
	int i;

	set_defaults(&o, argv[0]);
	for (i = 1; i < argc; i += 2) {
		if (i + 1 == argc)
			bad_option(&o, argv[i], "");
		set_option(&o, argv[i], argv[i + 1]);
	}
	if (o.seeds == 0)
		bad_option(&o, "--seeds", "0");
	run = o.replay ? replay : run_engine;
	if (o.hier)
		failed |= run(&o, TKW_WHEEL_HIERARCHICAL);
	if (o.hashed && !failed)
		failed |= run(&o, TKW_WHEEL_HASHED);
	return failed;
}
