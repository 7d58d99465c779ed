/* SPDX-License-Identifier: MIT */
/*
 * explore_main.c - PROGRAM [OPTION | SCENARIO]... runs the named scenarios, or
 * all, and prints a table of what was tried.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "explore.h"

enum {
	USAGE = 2,
	DEFAULT_ORDERS = 80000,
	MOST_ORDERS = 1 << 28,
	MOST_BOUND = 12
};

struct options {
	const char *program;
	uint64_t orders; /* distinct orders per scenario */
	uint64_t seed;
	uint64_t part; /* runs part number `part` of `parts` */
	uint64_t parts;
	bool sequential;
	bool buffers;
	bool random; /* only random orders */
	bool help;
	bool list;
	const char *replay;
};

static const char usage_text[] =
	"  --orders N        distinct orders of each scenario (default: what\n"
	"                    TKW_EXPLORE_ORDERS says, or 80000)\n"
	"  --part I/N        every N-th scenario, from the I-th on\n"
	"  --sequential      no store is kept back\n"
	"  --random          random orders only, not all up to a bound\n"
	"  --seed N          of the random orders (default 1)\n"
	"  --replay LIST     one order: the choices, as a failure prints them\n"
	"  --store-buffers   with --replay: stores may be kept back\n"
	"  --list            the scenarios\n"
	"  --help            this text\n";

static void print_usage(const char *program)
{
	printf("usage: %s [OPTION | SCENARIO]...\n\n%s", program, usage_text);
}

/* Returns the exit status. */
static int misuse(const struct options *o, const char *what, const char *word)
{
	fprintf(stderr, "%s: %s '%s' (see --help)\n", o->program, what, word);
	return USAGE;
}

static int list(void)
{
	for (size_t i = 0; i < explore_scenario_count; i++)
		printf("%-28s %s\n", explore_scenarios[i].name,
		       explore_scenarios[i].what);
	return 0;
}

static const struct explore_scenario *find(const char *name)
{
	for (size_t i = 0; i < explore_scenario_count; i++) {
		if (strcmp(explore_scenarios[i].name, name) == 0)
			return &explore_scenarios[i];
	}
	return NULL;
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Prints the order that led to a fatal signal. */
static void on_signal(int number)
{
	(void)number;
	/* The program ends anyway, and the output may help. */
	/* NOLINTNEXTLINE(bugprone-signal-handler,cert-sig30-c) */
	explore_fail("", 0, "killed by a signal");
}

static void catch_signals(void)
{
	static const int numbers[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL,
				       SIGSEGV };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		signal(numbers[i], on_signal);
}

/* --- one order ----------------------------------------------------------- */

/* Reads "1,0,2" or "none". Returns -1 if the text is neither. */
static int parse_choices(const char *text, unsigned char *out, size_t room)
{
	size_t n = 0;

	if (strcmp(text, "none") == 0)
		return 0;
	while (n < room) {
		char *end;
		unsigned long x = strtoul(text, &end, 10);

		if (end == text || x > 255 || (*end != ',' && *end != '\0'))
			return -1;
		out[n++] = (unsigned char)x;
		if (*end == '\0')
			return (int)n;
		text = end + 1;
	}
	return -1;
}

static int replay(const struct options *o, const struct explore_scenario *sc)
{
	static unsigned char choices[4096];
	uint64_t set[2] = { 0, 0 };
	struct explore_seen seen = { .hash = set, .bits = 1 };
	int n = parse_choices(o->replay, choices, sizeof(choices));
	struct explore_how how = {
		.program = o->program,
		.buffers = o->buffers,
		.replay = choices,
		.runs = 1,
		.until = 1,
	};

	if (n < 0)
		return misuse(o, "not a list of choices:", o->replay);
	how.replay_count = (size_t)n;
	explore_run(sc, &how, &seen);
	printf("%s passed\n", sc->name);
	return 0;
}

/* --- many orders --------------------------------------------------------- */

/* The result of one kind of exploration: how many orders were new, and how many
 * bounds, from 0 on, were completed. */
struct phase {
	uint64_t orders;
	unsigned bounds;
};

/* Tries all orders up to a bound, and raises the bound step by step, so that
 * the simplest orders come first. Stops when the set is large enough. */
static struct phase explore_all(const struct explore_scenario *sc,
				struct explore_how how,
				struct explore_seen *seen)
{
	uint64_t before = seen->count;
	struct phase p = { .bounds = 0 };
	uint64_t runs = 0;

	/* Each bound repeats the orders of the bounds below it. Many ways to
	 * keep a store back are the same order. Without a limit, a small
	 * scenario would take minutes. */
	how.runs = 1000 + 8 * (how.until - before);
	while (how.bound <= MOST_BOUND && seen->count < how.until &&
	       how.runs > 0) {
		const struct explore_result r = explore_run(sc, &how, seen);

		/* If a bound adds no runs, all orders were tried. */
		if (!r.all || r.runs == runs)
			break;
		runs = r.runs;
		how.runs -= r.runs;
		p.bounds = ++how.bound;
	}
	p.orders = seen->count - before;
	return p;
}

static struct phase explore_random(const struct explore_scenario *sc,
				   struct explore_how how,
				   struct explore_seen *seen)
{
	uint64_t before = seen->count;

	/* A small scenario may have fewer orders than asked for. */
	how.runs = 1000 + 4 * (how.until - before);
	how.random = true;
	if (before < how.until)
		explore_run(sc, &how, seen);
	return (struct phase){ .orders = seen->count - before };
}

static struct explore_seen make_seen(uint64_t orders)
{
	struct explore_seen seen = { .bits = 10 };

	while (UINT64_C(1) << seen.bits < 2 * orders)
		seen.bits++;
	seen.hash = calloc((size_t)1 << seen.bits, sizeof(*seen.hash));
	if (seen.hash == NULL) {
		fprintf(stderr, "explore: no memory\n");
		exit(1);
	}
	return seen;
}

/* Prints the largest bound within which all orders were tried, if any. */
static void print_phase(struct phase p)
{
	printf(" %8llu ", (unsigned long long)p.orders);
	if (p.bounds > 0)
		printf("(%2u)", p.bounds - 1);
	else
		printf("( -)");
}

/* One third each: all orders, all with store buffers, and random ones. */
static uint64_t explore_one(const struct options *o,
			    const struct explore_scenario *sc)
{
	struct explore_seen seen = make_seen(o->orders);
	struct explore_how how = { .program = o->program, .seed = o->seed };
	struct phase all = { 0 }, buffers = { 0 }, random;
	double begin = seconds();

	how.until = 1 + o->orders / 3;
	if (!o->random)
		all = explore_all(sc, how, &seen);
	how.buffers = !o->sequential;
	how.until = 1 + 2 * o->orders / 3;
	if (!o->random && how.buffers)
		buffers = explore_all(sc, how, &seen);
	how.until = o->orders;
	random = explore_random(sc, how, &seen);
	printf("%-28s", sc->name);
	print_phase(all);
	print_phase(buffers);
	printf(" %8llu %9llu %6.1f\n", (unsigned long long)random.orders,
	       (unsigned long long)seen.count, seconds() - begin);
	fflush(stdout);
	free(seen.hash);
	return seen.count;
}

/* Was the i-th scenario asked for? */
static bool is_wanted(const struct options *o, char **names, size_t i)
{
	if (*names == NULL)
		return i % o->parts == o->part - 1;
	while (*names && strcmp(*names, explore_scenarios[i].name) != 0)
		names++;
	return *names != NULL;
}

static int explore(const struct options *o, char **names)
{
	uint64_t total = 0;
	size_t count = 0;
	double begin = seconds();

	printf("%-28s %13s %13s %8s %9s %6s\n", "scenario", "all (bound)",
	       "buffers", "random", "distinct", "sec");
	for (size_t i = 0; i < explore_scenario_count; i++) {
		if (!is_wanted(o, names, i))
			continue;
		total += explore_one(o, &explore_scenarios[i]);
		count++;
	}
	printf("%zu scenarios, no failure, %.1f s\n", count, seconds() - begin);
	/* Other programs read this line, for example ./dev soak. */
	printf("total: %llu distinct orders\n", (unsigned long long)total);
	return 0;
}

/* --- options ------------------------------------------------------------- */

/* Reads a number from least to most. Returns false if it is not one. */
static bool parse_number(const char *text, uint64_t least, uint64_t most,
			 uint64_t *out)
{
	char *end;
	unsigned long long x;

	errno = 0;
	x = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0)
		return false;
	*out = x;
	return x >= least && x <= most;
}

static bool parse_part(const char *text, struct options *o)
{
	char part[8];
	size_t n = strcspn(text, "/");

	if (n >= sizeof(part) || text[n] == '\0')
		return false;
	memcpy(part, text, n);
	part[n] = '\0';
	return parse_number(text + n + 1, 1, 1000, &o->parts) &&
	       parse_number(part, 1, o->parts, &o->part);
}

/* Reads an option without a value. Returns false if it is unknown. */
static bool parse_flag(struct options *o, const char *option)
{
	const struct {
		const char *option;
		bool *flag;
	} flags[] = {
		{ "--store-buffers", &o->buffers },
		{ "--sequential", &o->sequential },
		{ "--random", &o->random },
		{ "--help", &o->help },
		{ "--list", &o->list },
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (strcmp(option, flags[i].option) == 0) {
			*flags[i].flag = true;
			return true;
		}
	}
	return false;
}

/* Reads an option with a value. Returns false if one of them is not valid. */
static bool parse_value(struct options *o, const char *option,
			const char *value)
{
	if (strcmp(option, "--orders") == 0)
		return parse_number(value, 1, MOST_ORDERS, &o->orders);
	if (strcmp(option, "--seed") == 0)
		return parse_number(value, 0, UINT64_MAX, &o->seed);
	if (strcmp(option, "--part") == 0)
		return parse_part(value, o);
	o->replay = value;
	return true;
}

static bool takes_value(const char *option)
{
	return strcmp(option, "--orders") == 0 ||
	       strcmp(option, "--seed") == 0 || strcmp(option, "--part") == 0 ||
	       strcmp(option, "--replay") == 0;
}

/* Options and names come in any order. Moves the names to the front of argv.
 * Returns how many names there are, or a negative number if the program must
 * exit with that status. */
static int parse(struct options *o, char **argv)
{
	int names = 0;

	for (int i = 1; argv[i]; i++) {
		if (strncmp(argv[i], "--", 2) != 0) {
			if (find(argv[i]) == NULL)
				return -misuse(o, "unknown scenario", argv[i]);
			argv[names++] = argv[i];
		} else if (parse_flag(o, argv[i])) {
			continue;
		} else if (!takes_value(argv[i])) {
			return -misuse(o, "unknown option", argv[i]);
		} else if (argv[i + 1] == NULL) {
			return -misuse(o, "no value for", argv[i]);
		} else {
			if (!parse_value(o, argv[i], argv[i + 1]))
				return -misuse(o, "bad value", argv[i + 1]);
			i++;
		}
	}
	argv[names] = NULL;
	return names;
}

int main(int argc, char **argv)
{
	const char *orders = getenv("TKW_EXPLORE_ORDERS");
	struct options o = {
		.program = argv[0],
		.orders = DEFAULT_ORDERS,
		.seed = 1,
		.part = 1,
		.parts = 1,
	};
	int names;

	(void)argc;
	if (orders && !parse_number(orders, 1, MOST_ORDERS, &o.orders))
		return misuse(&o, "bad TKW_EXPLORE_ORDERS", orders);
	names = parse(&o, argv);
	if (names < 0)
		return -names;
	if (o.help)
		return print_usage(o.program), 0;
	if (o.list)
		return list();
	catch_signals();
	if (o.replay == NULL)
		return explore(&o, argv);
	if (names != 1)
		return misuse(&o, "replay takes one scenario, not",
			      names ? argv[1] : "none");
	return replay(&o, find(argv[0]));
}
