/* SPDX-License-Identifier: MIT */
/* options.c - reads the command line. Each error gets one line on stderr. */
#include "options.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rival_process.h"
#include "wheel/wheel_bench.h"

enum {
	SIZE_MOST = 50000000,
	PATIENCE_S = 900,
	PATIENCE_MOST_S = 86400
};

void bench_say(const char *fmt, ...)
{
	char line[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/* The message may quote what the user typed. Keep it one line. */
	for (char *p = line; *p; p++) {
		if (*p < ' ' || *p > '~')
			*p = '?';
	}
	/* On a terminal the progress may be on this line. */
	(void)fprintf(stderr, "%stkw_bench: %s\n",
		      isatty(STDERR_FILENO) ? "\r\033[K" : "", line);
}

void bench_options_help(void)
{
	(void)puts(
		"usage: tkw_bench [OPTION...] [FILTER...]\n"
		"       tkw_bench --compare OLD NEW\n"
		"Races timing wheels, timers and delay queues against "
		"others.\n"
		"\n"
		"  FILTER         run the rows whose name contains FILTER; or, "
		"if it has\n"
		"                 a *, ? or [, those whose name matches it\n"
		"  --quick        use fewer entries, operations and runs\n"
		"  --runs N[,M]   run each row N times (default 7; 9 in the "
		"rows queue/...\n"
		"                 and 15 in the rows redis/...; 3 or 1 if a "
		"run is long),\n"
		"                 and rows with long runs M times\n"
		"  --sizes LIST   use these numbers of entries, such as "
		"1e3,1e5\n"
		"  --impl LIST    run only these entrants, such as "
		"tickwheel,libev\n"
		"  --seed N       the seed of the random numbers in the rows "
		"wheel/...\n"
		"                 (default 1)\n"
		"  --json FILE    also write JSON lines to FILE; - writes them "
		"to stdout,\n"
		"                 instead of the tables\n"
		"  --hugepages    use huge pages for all entrants\n"
		"  --patience N   wait at most N seconds for the answer of a "
		"process\n"
		"                 (default 900)\n"
		"  --rivals DIR   run the programs DIR/NAME instead of those "
		"that were\n"
		"                 built\n"
		"  --list         print the names of the rows and of the "
		"entrants\n"
		"  --compare      print what has changed between two JSON "
		"files\n"
		"  --help         print this text");
}

/* Reads a whole number, such as 1000 or 1e3. */
static bool read_number(const char *text, size_t len, uint64_t hi,
			uint64_t *number)
{
	uint64_t n = 0;
	size_t i = 0;

	for (; i < len && text[i] >= '0' && text[i] <= '9'; i++) {
		n = n * 10 + (uint64_t)(text[i] - '0');
		if (n > hi)
			return false;
	}
	if (i == 0)
		return false;
	if (i + 2 == len && text[i] == 'e') {
		for (int zeros = text[i + 1] - '0'; zeros > 0; zeros--)
			n *= n > hi ? 1 : 10;
		i = text[i + 1] < '0' || text[i + 1] > '9' ? 0 : len;
	}
	*number = n;
	return i == len && n >= 1 && n <= hi;
}

static int number_option(const char *name, const char *text, uint64_t hi,
			 uint64_t *number)
{
	if (read_number(text, strlen(text), hi, number))
		return 0;
	bench_say("%s: '%.60s' is not a whole number from 1 to %llu", name,
		  text, (unsigned long long)hi);
	return -1;
}

/* Reads N or N,M. */
static int runs_option(struct bench_options *o, const char *text)
{
	size_t len = strcspn(text, ",");
	const char *rest = text[len] == ',' ? text + len + 1 : text;
	uint64_t n;
	uint64_t m;

	if (!read_number(text, len, BENCH_RUNS_MAX, &n) ||
	    !read_number(rest, strlen(rest), BENCH_RUNS_MAX, &m)) {
		bench_say("--runs: '%.60s' is not a whole number from 1 to "
			  "%d, or two of them, such as 5,3",
			  text, BENCH_RUNS_MAX);
		return -1;
	}
	o->runs = (uint32_t)n;
	o->long_runs = (uint32_t)m;
	return 0;
}

static int sizes_option(struct bench_options *o, const char *text)
{
	o->size_count = 0;
	for (;;) {
		size_t len = strcspn(text, ",");
		uint64_t n;

		if (!read_number(text, len, SIZE_MOST, &n)) {
			bench_say("--sizes: '%.60s' is not a list of numbers "
				  "from 1 to 5e7, such as 1e3,1e5",
				  text);
			return -1;
		}
		if (o->size_count == BENCH_SIZES_MAX) {
			bench_say("--sizes: more than %d sizes",
				  BENCH_SIZES_MAX);
			return -1;
		}
		o->sizes[o->size_count++] = (uint32_t)n;
		if (text[len] == '\0')
			return 0;
		text += len + 1;
	}
}

static bool entrant_exists(const char *name, size_t len)
{
	for (size_t i = 0; bench_entrants[i]->name; i++) {
		if (strlen(bench_entrants[i]->name) == len &&
		    memcmp(bench_entrants[i]->name, name, len) == 0)
			return true;
	}
	for (size_t i = 0; bench_processes_get(i); i++) {
		const char *process =
			bench_process_name(bench_processes_get(i));

		if (strlen(process) == len && memcmp(process, name, len) == 0)
			return true;
	}
	return false;
}

static int entrants_option(struct bench_options *o, const char *text)
{
	o->entrants = text;
	for (;;) {
		size_t len = strcspn(text, ",");

		if (!entrant_exists(text, len)) {
			bench_say("--impl: there is no '%.*s'; see --list",
				  (int)(len < 60 ? len : 60), text);
			return -1;
		}
		if (text[len] == '\0')
			return 0;
		text += len + 1;
	}
}

static bool flag_option(struct bench_options *o, const char *word)
{
	static const char *const names[] = { "--quick", "--list", "--help",
					     "--hugepages" };
	bool *const flags[] = { &o->quick, &o->list, &o->help, &o->hugepages };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(word, names[i]) == 0) {
			*flags[i] = true;
			return true;
		}
	}
	return false;
}

static int value_option(struct bench_options *o, const char *name,
			const char *value)
{
	uint64_t n;

	if (strcmp(name, "--runs") == 0)
		return runs_option(o, value);
	if (strcmp(name, "--seed") == 0)
		return number_option(name, value, UINT64_MAX / 20, &o->seed);
	if (strcmp(name, "--sizes") == 0)
		return sizes_option(o, value);
	if (strcmp(name, "--impl") == 0)
		return entrants_option(o, value);
	if (strcmp(name, "--patience") == 0) {
		if (number_option(name, value, PATIENCE_MOST_S, &n) != 0)
			return -1;
		o->patience_s = (uint32_t)n;
		return 0;
	}
	if (*value == '\0') {
		bench_say("%s: the name is empty", name);
		return -1;
	}
	if (strcmp(name, "--rivals") == 0)
		o->rivals = value;
	else
		o->json = value;
	return 0;
}

/* Returns the option that the first len letters of a word name, or NULL. */
static const char *find_value_option(const char *word, size_t len)
{
	static const char *const names[] = { "--runs",  "--seed", "--sizes",
					     "--impl",  "--json", "--patience",
					     "--rivals" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strlen(names[i]) == len && memcmp(word, names[i], len) == 0)
			return names[i];
	}
	return NULL;
}

/* Reads --compare OLD NEW at argv[*i]. Nothing else may be given. */
static int compare_option(struct bench_options *o, int argc, char **argv,
			  int *i)
{
	if (*i != 1 || argc != 4) {
		bench_say("--compare: it takes two files, and nothing else");
		return -1;
	}
	o->old_json = argv[*i + 1];
	o->new_json = argv[*i + 2];
	*i += 2;
	return 0;
}

/* Reads one option at argv[*i]. */
static int read_option(struct bench_options *o, int argc, char **argv, int *i)
{
	const char *word = argv[*i];
	size_t len = strcspn(word, "=");
	const char *name = find_value_option(word, len);

	if (flag_option(o, word))
		return 0;
	if (strcmp(word, "--compare") == 0)
		return compare_option(o, argc, argv, i);
	if (name == NULL) {
		bench_say("unknown option '%.60s'; see --help", word);
		return -1;
	}
	if (word[len] == '=')
		return value_option(o, name, word + len + 1);
	if (*i + 1 == argc) {
		bench_say("%s: its value is missing", name);
		return -1;
	}
	*i += 1;
	return value_option(o, name, argv[*i]);
}

static int add_filter(struct bench_options *o, const char *word)
{
	if (o->filter_count == BENCH_FILTERS_MAX) {
		bench_say("more than %d filters", BENCH_FILTERS_MAX);
		return -1;
	}
	o->filters[o->filter_count++] = word;
	return 0;
}

int bench_options_read(struct bench_options *o, int argc, char **argv)
{
	int err = 0;

	*o = (struct bench_options){ .seed = 1, .patience_s = PATIENCE_S };
	for (int i = 1; i < argc && err == 0; i++) {
		if (argv[i][0] == '-')
			err = read_option(o, argc, argv, &i);
		else
			err = add_filter(o, argv[i]);
	}
	return err;
}

bool bench_options_want_row(const struct bench_options *o, const char *name)
{
	for (size_t i = 0; i < o->filter_count; i++) {
		const char *filter = o->filters[i];

		if (strpbrk(filter, "*?[")) {
			if (fnmatch(filter, name, 0) == 0)
				return true;
		} else if (strstr(name, filter)) {
			return true;
		}
	}
	return o->filter_count == 0;
}

bool bench_options_want_entrant(const struct bench_options *o, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = o->entrants; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (strncmp(p, name, len) == 0 &&
		    (p[len] == ',' || p[len] == '\0'))
			return true;
	}
	return o->entrants == NULL;
}
