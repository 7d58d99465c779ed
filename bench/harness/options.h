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
	uint32_t runs;      /* 0: as each row has it */
	uint32_t long_runs; /* of rows whose runs take seconds; 0: likewise */
	uint64_t seed;
	uint32_t sizes[BENCH_SIZES_MAX];
	size_t size_count;    /* 0: the usual ones */
	const char *json;     /* NULL: none; "-": instead of the tables */
	const char *entrants; /* "a,b"; NULL: all */
	const char *filters[BENCH_FILTERS_MAX];
	size_t filter_count; /* 0: all rows */
	uint32_t patience_s; /* for a rival's answer */
	/* A folder of rivals' programs; NULL: those that were built. */
	const char *rivals;
	const char *old_json, *new_json; /* compare these; NULL: do not */
};

/* Points into argv. Return 0, or -1 after one line on stderr. */
int bench_options_read(struct bench_options *o, int argc, char **argv);

void bench_options_help(void);

/* Is the row wanted? A filter with *, ? or [ is a pattern for the whole name,
 * any other a part of it. */
bool bench_options_want_row(const struct bench_options *o, const char *name);
bool bench_options_want_entrant(const struct bench_options *o,
				const char *name);

/* Print one line on stderr. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void bench_say(const char *fmt, ...);

#endif /* TKW_OPTIONS_H */
