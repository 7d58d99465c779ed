/* SPDX-License-Identifier: MIT */
/*
 * stress_timer.c - a timer under real threads, with every timeout watched.
 *
 * First it runs lives (stress_life.c): timers of all kinds, one after the
 * other. Each is used by 2 to 8 threads and by its own callbacks, until the
 * wanted number of timeouts was accepted. Then it runs rounds of stop against
 * schedule (stress_stop.c). No timeout may be lost, fire twice or fire early,
 * no memory may leak, and the ledger must agree with what was seen. Each race
 * that the stress is for must have happened: if one is missing, the stress goes
 * on until it has.
 *
 * The seed repeats the decisions of the threads, but not their interleaving.
 *
 * The exit status is 0 if all is well, 1 if not, and 2 for a bad option.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "choice.h"
#include "stress_count.h"
#include "stress_life.h"
#include "stress_stop.h"

#define DEFAULT_TIMEOUTS UINT64_C(200000000)
#define DEFAULT_ROUNDS UINT64_C(100000)

enum {
	THREADS_MIN = 2,
	THREADS_MAX = 8,
	ROUND_THREADS_MAX = 4,
	/* The timeouts of one life. */
	TIMEOUTS_MIN = 1000,
	TIMEOUTS_MAX = 1000000,
	/* From this many on, a quarter of them must have fired. */
	TIMEOUTS_FOR_SHARE = 1000000,
	SHARES_TOLD = 10
};

struct options {
	const char *program;
	uint64_t timeouts;
	uint64_t rounds;
	uint64_t threads; /* 0 for varying numbers */
	uint64_t seed;
};

static _Noreturn void usage(const struct options *o)
{
	printf("usage: %s [OPTION VALUE]...\n"
	       "A timer under real threads, with every timeout watched.\n"
	       "\n"
	       "  --timeouts N  accept N timeouts, about"
	       " (TKW_STRESS_TIMEOUTS, or %" PRIu64 ")\n"
	       "  --rounds N    N rounds of stop against schedule"
	       " (TKW_STRESS_ROUNDS, or %" PRIu64 ")\n"
	       "  --threads N   N threads, %d to %d, instead of varying;"
	       " at most %d of them\n"
	       "                in the rounds\n"
	       "  --seed N      what the threads do (from the clock)\n"
	       "  --help        this text\n"
	       "\n"
	       "Exit status: 0 if nothing was lost, fired twice or early, or"
	       " leaked, and each\n"
	       "race was met; 1 if not; 2 for a bad option.\n",
	       o->program, DEFAULT_TIMEOUTS, DEFAULT_ROUNDS, THREADS_MIN,
	       THREADS_MAX, ROUND_THREADS_MAX);
	exit(0);
}

static _Noreturn void bad_option(const struct options *o, const char *what,
				 const char *value)
{
	fprintf(stderr, "%s: bad option or value: %s %s (see --help)\n",
		o->program, what, value);
	exit(2);
}

static uint64_t number(const struct options *o, const char *what,
		       const char *value)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(value, &end, 10);
	if (errno || *end || value[0] < '0' || value[0] > '9')
		bad_option(o, what, value);
	return v;
}

static uint64_t number_within(const struct options *o, const char *what,
			      const char *value, uint64_t most)
{
	uint64_t v = number(o, what, value);

	if (v == 0 || v > most)
		bad_option(o, what, value);
	return v;
}

static void set_option(struct options *o, const char *what, const char *value)
{
	if (!strcmp(what, "--timeouts")) {
		o->timeouts = number_within(o, what, value, UINT64_MAX / 2);
	} else if (!strcmp(what, "--rounds")) {
		o->rounds = number_within(o, what, value, UINT64_MAX / 2);
	} else if (!strcmp(what, "--threads")) {
		o->threads = number_within(o, what, value, THREADS_MAX);
		if (o->threads < THREADS_MIN)
			bad_option(o, what, value);
	} else if (!strcmp(what, "--seed")) {
		o->seed = number(o, what, value);
	} else {
		bad_option(o, what, value);
	}
}

static uint64_t from_environment(const struct options *o, const char *name,
				 uint64_t otherwise)
{
	const char *value = getenv(name);

	if (!value)
		return otherwise;
	return number_within(o, name, value, UINT64_MAX / 2);
}

static void set_defaults(struct options *o, const char *argv0)
{
	const char *slash = strrchr(argv0, '/');
	struct timespec now;

	memset(o, 0, sizeof(*o));
	o->program = slash ? slash + 1 : argv0;
	o->timeouts =
		from_environment(o, "TKW_STRESS_TIMEOUTS", DEFAULT_TIMEOUTS);
	o->rounds = from_environment(o, "TKW_STRESS_ROUNDS", DEFAULT_ROUNDS);
	clock_gettime(CLOCK_REALTIME, &now);
	o->seed = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	o->seed ^= (uint64_t)getpid() << 48;
}

static void tell(const char *what, uint64_t done, uint64_t all,
		 uint64_t life_number)
{
	char kind[80] = "";

	if (life_number != UINT64_MAX)
		life_describe(life_number, kind, sizeof(kind));
	printf("%s: %" PRIu64 " of %" PRIu64 "%s%s\n", what, done, all,
	       *kind ? ", then " : "", kind);
	fflush(stdout);
}

static void tell_missing(const char *what)
{
	if (what)
		printf("still to be met: %s\n", what);
	fflush(stdout);
}

/* Returns a race of the lives that has not happened yet, or NULL. */
static const char *missing_of_lives(const struct stress_counts *c)
{
	return stress_missing(c, 0, STRESS_ROUND - 1);
}

static void run_lives(const struct options *o, struct stress_counts *total)
{
	struct life_plan plan = { .seed = o->seed,
				  .threads = (uint32_t)o->threads };
	uint64_t told = UINT64_MAX;
	uint64_t accepted = 0;

	plan.timeouts = o->timeouts / (4 * life_variants());
	if (plan.timeouts < TIMEOUTS_MIN)
		plan.timeouts = TIMEOUTS_MIN;
	if (plan.timeouts > TIMEOUTS_MAX)
		plan.timeouts = TIMEOUTS_MAX;
	while (stress_faults() == 0 &&
	       (accepted < o->timeouts || plan.number < life_variants() ||
		missing_of_lives(total))) {
		uint64_t share = accepted / (o->timeouts / SHARES_TOLD + 1);

		if (accepted >= o->timeouts)
			tell_missing(missing_of_lives(total));
		else if (share != told)
			tell("timeouts", accepted, o->timeouts, plan.number);
		told = share;
		life_run(&plan, total);
		plan.number++;
		accepted = total->n[STRESS_ACCEPTED];
		/* A race is missing, and more lives of the same length may not
		 * bring it. */
		if (accepted >= o->timeouts && plan.timeouts < TIMEOUTS_MAX &&
		    plan.number % life_variants() == 0)
			plan.timeouts *= 2;
	}
}

static bool is_to_go_on(bool planned, const struct stress_counts *total)
{
	if (stress_faults() > 0)
		return false;
	return planned || stress_missing(total, STRESS_ROUND, STRESS_KINDS - 1);
}

static void run_rounds(const struct options *o, struct stress_counts *total)
{
	uint64_t shares = SHARES_TOLD;
	uint64_t seed = o->seed;
	uint64_t i;

	for (i = 0; is_to_go_on(i < shares, total); i++) {
		/* Uses all numbers of threads in turn. */
		uint32_t threads = 2 + (uint32_t)(i % (ROUND_THREADS_MAX - 1));
		uint64_t n =
			o->rounds / shares + (i < o->rounds % shares ? 1 : 0);

		if (o->threads != 0)
			threads = o->threads < ROUND_THREADS_MAX
					  ? (uint32_t)o->threads
					  : ROUND_THREADS_MAX;
		tell("rounds", total->n[STRESS_ROUND], o->rounds, UINT64_MAX);
		stop_rounds(n ? n : 1, threads, choice_next(&seed), total);
	}
}

/* Returns 0 if all is well. */
static int verdict(const struct options *o, const struct stress_counts *total)
{
	uint64_t accepted = total->n[STRESS_ACCEPTED];
	uint64_t fired = total->n[STRESS_FIRED];
	int failed = 0;

	if (stress_faults() > 0) {
		stress_print_verdict(stdout);
		failed = 1;
	}
	if (o->timeouts >= TIMEOUTS_FOR_SHARE && fired < accepted / 4) {
		printf("FAILED: less than a quarter has fired\n");
		failed = 1;
	}
	printf("%s: %s, seed %" PRIu64 "\n", o->program,
	       failed ? "FAILED" : "0 lost, 0 twice, 0 early, 0 leaked",
	       o->seed);
	fflush(stdout);
	return failed;
}

int main(int argc, char **argv)
{
	struct stress_counts total;
	struct options o;
	int i;

	set_defaults(&o, argv[0]);
	for (i = 1; i < argc; i += 2) {
		if (!strcmp(argv[i], "--help"))
			usage(&o);
		if (i + 1 == argc)
			bad_option(&o, argv[i], "");
		set_option(&o, argv[i], argv[i + 1]);
	}
	memset(&total, 0, sizeof(total));
	printf("%s: seed %" PRIu64 ", %" PRIu64 " timeouts, %" PRIu64
	       " rounds of stop against schedule\n",
	       o.program, o.seed, o.timeouts, o.rounds);
	run_lives(&o, &total);
	run_rounds(&o, &total);
	stress_print(&total, stdout);
	return verdict(&o, &total);
}
