/* SPDX-License-Identifier: MIT */
/* options.h - the command line of the benchmark. */
#ifndef TKW_OPTIONS_H
#define TKW_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TKW__SIZES_MAX = 16,
	TKW__FILTERS_MAX = 32,
	TKW__RUNS_MAX = 100
};

struct tkw__options {
	bool quick;
	bool list;
	bool help;
	bool hugepages;
	uint32_t runs; /* 0: as each row has it */
	uint64_t seed;
	uint32_t sizes[TKW__SIZES_MAX];
	size_t size_count; /* 0: the usual ones */
	const char *json;  /* NULL: none; "-": instead of the tables */
	const char *impls; /* "a,b"; NULL: all */
	const char *filters[TKW__FILTERS_MAX];
	size_t filter_count; /* 0: all rows */
};

/* Points into argv. Return 0, or -1 after one line on stderr. */
int tkw__options_read(struct tkw__options *o, int argc, char **argv);

void tkw__options_help(void);

/* Is the row wanted? A filter with *, ? or [ is a pattern for the whole name,
 * any other a part of it. */
bool tkw__options_want_row(const struct tkw__options *o, const char *name);
bool tkw__options_want_impl(const struct tkw__options *o, const char *name);

/* Print one line on stderr. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void tkw__say(const char *fmt, ...);

#endif /* TKW_OPTIONS_H */
