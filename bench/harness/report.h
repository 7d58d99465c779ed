/* SPDX-License-Identifier: MIT */
/* report.h - the figures of one bench, as a table and as JSON lines. */
#ifndef TKW_REPORT_H
#define TKW_REPORT_H

#include <stdio.h>

#include "options.h"

enum {
	BENCH_ENTRANTS_MAX = 16
};

/* One entrant in one bench. */
struct bench_line {
	const char *entrant;
	bool ours;
	bool no_rival;        /* the null loop; one that fires early */
	bool failed;          /* left out because something was wrong */
	const char *left_out; /* why there are no figures; NULL: there are */
	double samples[BENCH_RUNS_MAX];
	double extras[BENCH_RUNS_MAX];
	uint32_t runs;
	double median, min, max;
	double extra;  /* the median; 0: unknown */
	bool verified; /* it fired these: */
	uint64_t fired;
	uint64_t checksum;
};

struct bench_figures {
	const char *bench;
	const char *unit;        /* less is better in each of them */
	const char *extra_key;   /* in JSON; NULL: there is nothing extra */
	const char *extra_title; /* in tables */
	uint32_t runs;
	uint64_t seed; /* 0: there is none */
	struct bench_line lines[BENCH_ENTRANTS_MAX];
	size_t count;
};

/* Is the entrant the project's own? */
bool bench_report_is_ours(const char *entrant);

/* Sort the lines, the best first; then the table to stdout, and to `json`, if
 * it is not NULL, one line per entrant and the summary. If `json` is stdout,
 * there is no table. */
void bench_report_write(FILE *json, struct bench_figures *f);

#endif /* TKW_REPORT_H */
