/* SPDX-License-Identifier: MIT */
/* seeds.c - runs the seeds of a model in several processes. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, setitimer, sysconf */
#include "seeds.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	DEFAULT_SEEDS = 100000,
	DEFAULT_OPS = 1000,
	MAX_JOBS = 256,
	TRACED_OPS = 40,
	/* A seed takes some milliseconds. If one takes this many seconds of
	 * CPU time, it does not end, and its number is printed. */
	ENDLESS_SECONDS = 300
};

/* The part of one process, in memory that its parent sees. Its tally follows
 * behind all shares. */
struct share {
	uint64_t seed;     /* the seed that it works on */
	int told;          /* it has reported what it found */
	volatile int stop; /* in the first share: a process failed */
};

struct team {
	const struct seeds *s;
	const struct seeds_model *model;
	struct share *share;
};

static void *tally_of(const struct team *t, uint64_t job)
{
	return (char *)(t->share + t->s->jobs) +
	       (size_t)job * t->model->tally_size;
}

static void print_replay(const struct team *t, uint64_t seed)
{
	printf("replay: %s%s --seed %" PRIu64, t->s->path, t->model->option,
	       seed);
	if (t->s->ops != DEFAULT_OPS)
		printf(" --ops %" PRIu64, t->s->ops);
	printf("\n");
	fflush(stdout);
}

void seeds_arm_watchdog(unsigned seconds)
{
	struct itimerval t;

	memset(&t, 0, sizeof(t));
	t.it_value.tv_sec = (time_t)seconds;
	setitimer(ITIMER_VIRTUAL, &t, NULL);
}

static _Noreturn void work(const struct team *t, uint64_t job)
{
	const struct seeds_model *m = t->model;
	struct share *mine = &t->share[job];

	for (uint64_t i = job; i < t->s->seeds && !t->share[0].stop;
	     i += t->s->jobs) {
		mine->seed = t->s->first_seed + i;
		seeds_arm_watchdog(ENDLESS_SECONDS);
		if (m->run(t->s, mine->seed, tally_of(t, job), m->ctx) != 0) {
			print_replay(t, mine->seed);
			mine->told = 1;
			t->share[0].stop = 1;
		}
	}
	exit(mine->told);
}

/* Handles the end of a process. Returns 0 if it found nothing. */
static int take_leave(const struct team *t, uint64_t job, int status)
{
	const struct share *its = &t->share[job];

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (!its->told && !t->share[0].stop) {
		printf("FAILED: seed %" PRIu64
		       " crashed or did not end (status 0x%x)\n",
		       its->seed, (unsigned)status);
		print_replay(t, its->seed);
	}
	t->share[0].stop = 1;
	return 1;
}

/* Returns 0 if each process ended by itself and found nothing. */
static int await(const struct team *t, const pid_t *pids)
{
	uint64_t jobs = t->s->jobs;
	uint64_t running = 0;
	uint64_t n, j;
	int failed;

	for (j = 0; j < jobs; j++)
		running += pids[j] >= 0;
	failed = running < jobs; /* a fork failed */
	for (n = 0; n < running; n++) {
		int status = 0;
		pid_t pid = wait(&status);

		for (j = 0; j < jobs && pids[j] != pid; j++)
			;
		if (pid < 0 || j == jobs)
			return 1;
		failed |= take_leave(t, j, status);
	}
	return failed;
}

static int report(const struct team *t)
{
	const struct seeds_model *m = t->model;
	const struct seeds *s = t->s;
	void *sum = tally_of(t, 0);
	const char *missing;

	for (uint64_t j = 1; j < s->jobs; j++)
		m->merge(sum, tally_of(t, j));
	printf("%s%s: %" PRIu64 " seeds from %" PRIu64 ", %" PRIu64
	       " %s each, all as the oracle\n",
	       s->program, m->name, s->seeds, s->first_seed, s->ops, m->ops);
	m->print(sum, stdout);
	fflush(stdout);
	if (s->seeds < m->seeds_for_all_kinds || s->ops < DEFAULT_OPS)
		return 0;
	missing = m->missing(sum, m->ctx);
	if (missing) {
		printf("FAILED: this never happened: %s\n", missing);
		return 1;
	}
	return 0;
}

static int run_all(const struct seeds *s, const struct seeds_model *m)
{
	size_t size = (size_t)s->jobs * (sizeof(struct share) + m->tally_size);
	struct team t = { s, m,
			  mmap(NULL, size, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0) };
	pid_t pids[MAX_JOBS];
	int failed;

	if (t.share == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	fflush(stdout);
	for (uint64_t j = 0; j < s->jobs; j++) {
		pids[j] = fork();
		if (pids[j] == 0)
			work(&t, j);
		if (pids[j] < 0) {
			perror("fork");
			t.share[0].stop = 1;
		}
	}
	failed = await(&t, pids);
	if (!failed)
		failed = report(&t);
	munmap(t.share, size);
	return failed;
}

/* Runs one seed in this process, which makes debugging easier. */
static int replay(const struct seeds *s, const struct seeds_model *m)
{
	void *tally = calloc(1, m->tally_size);
	int failed;

	if (!tally)
		abort();
	failed = m->run(s, s->first_seed, tally, m->ctx);
	if (!failed) {
		printf("%s%s: seed %" PRIu64 ": as the oracle\n", s->program,
		       m->name, s->first_seed);
		m->print(tally, stdout);
	}
	free(tally);
	return failed;
}

int seeds_run(const struct seeds *s, const struct seeds_model *model)
{
	return s->replay ? replay(s, model) : run_all(s, model);
}

uint64_t seeds_trace_from(uint64_t failed_op)
{
	return failed_op < TRACED_OPS ? 0 : failed_op - TRACED_OPS;
}

/* --- options -------------------------------------------------------------- */

const char *seeds_program(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

_Noreturn void seeds_bad_option(const char *program, const char *what,
				const char *value)
{
	fprintf(stderr, "%s: bad option or value: %s %s\n", program, what,
		value);
	exit(2);
}

uint64_t seeds_number(const char *program, const char *what, const char *value,
		      char end, uint64_t max)
{
	unsigned long long v;
	char *rest;

	errno = 0;
	v = strtoull(value, &rest, 10);
	if (errno || rest == value || *rest != end || value[0] < '0' ||
	    value[0] > '9' || v > max)
		seeds_bad_option(program, what, value);
	return v;
}

static uint64_t number(const struct seeds *s, const char *what,
		       const char *value, uint64_t max)
{
	return seeds_number(s->program, what, value, 0, max);
}

/* Returns false if it is none of ours. */
static bool set_option(struct seeds *s, const char *what, const char *value)
{
	if (!strcmp(what, "--seeds")) {
		s->seeds = number(s, what, value, UINT32_MAX);
	} else if (!strcmp(what, "--first-seed")) {
		s->first_seed = number(s, what, value, UINT64_MAX / 2);
	} else if (!strcmp(what, "--seed")) {
		s->first_seed = number(s, what, value, UINT64_MAX / 2);
		s->replay = true;
	} else if (!strcmp(what, "--ops")) {
		s->ops = number(s, what, value, UINT32_MAX);
	} else if (!strcmp(what, "--jobs")) {
		s->jobs = number(s, what, value, MAX_JOBS);
		if (s->jobs == 0)
			seeds_bad_option(s->program, what, value);
	} else {
		return false;
	}
	return true;
}

static void set_defaults(struct seeds *s, const char *path,
			 const char *const *variables)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*s = (struct seeds){ .path = path,
			     .program = seeds_program(path),
			     .first_seed = 1,
			     .seeds = DEFAULT_SEEDS,
			     .ops = DEFAULT_OPS,
			     .jobs = cpus < 1 ? 1 : (uint64_t)cpus };
	if (s->jobs > MAX_JOBS)
		s->jobs = MAX_JOBS;
	while (*variables && !getenv(*variables))
		variables++;
	if (*variables)
		s->seeds =
			number(s, *variables, getenv(*variables), UINT32_MAX);
}

void seeds_read(struct seeds *s, int argc, char **argv,
		const struct seeds_options *options)
{
	set_defaults(s, argv[0], options->variables);
	for (int i = 1; i < argc; i += 2) {
		if (i + 1 == argc)
			seeds_bad_option(s->program, argv[i], "");
		if (!set_option(s, argv[i], argv[i + 1]) &&
		    !(options->more &&
		      options->more(s, argv[i], argv[i + 1], options->ctx)))
			seeds_bad_option(s->program, argv[i], argv[i + 1]);
	}
	if (s->seeds == 0)
		seeds_bad_option(s->program, "--seeds", "0");
}
