/* SPDX-License-Identifier: MIT */
/* options.h - the command line of the benchmark. */
#ifndef TKW_OPTIONS_H
#define TKW_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BENCH_SIZES_MAX = 16,
	BENCH_FILTERS_MAX = 32,
	BENCH_RUNS_MAX = 100
};

struct bench_options {
	bool quick;
	bool list;
	bool help;
	bool hugepages;
	uint32_t runs; /* 0 means the default of each row */
	/* The same for rows whose runs take seconds. */
	uint32_t long_runs;
	uint64_t seed;
	uint32_t sizes[BENCH_SIZES_MAX];
	size_t size_count; /* 0 means the default sizes */
	/* A file name. "-" writes JSON instead of the tables. NULL writes
	 * none. */
	const char *json;
	const char *entrants; /* "a,b", or NULL for all */
	const char *filters[BENCH_FILTERS_MAX];
	size_t filter_count; /* 0 means all rows */
	uint32_t patience_s; /* how long to wait for a rival's answer */
	/* A folder with programs of rivals, or NULL for those that were
	 * built. */
	const char *rivals;
	/* The files to compare, or NULL. */
	const char *old_json, *new_json;
};

/* Reads the options, which then point into argv. Returns 0, or -1 after it has
 * printed one line on stderr. */
int bench_options_read(struct bench_options *o, int argc, char **argv);

void bench_options_help(void);

/* Is the row wanted? A filter with *, ? or [ is a pattern that the whole name
 * has to match. Any other filter has to be a part of the name. */
bool bench_options_want_row(const struct bench_options *o, const char *name);
bool bench_options_want_entrant(const struct bench_options *o,
				const char *name);

/* Prints one line on stderr. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void bench_say(const char *fmt, ...);

#endif /* TKW_OPTIONS_H */
