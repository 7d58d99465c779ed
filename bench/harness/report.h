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
	/* Not a rival: the null loop, a floor, or an entrant that fires
	 * early. */
	bool no_rival;
	bool failed;          /* no figures, because something was wrong */
	const char *left_out; /* why there are no figures, or NULL */
	double samples[BENCH_RUNS_MAX];
	double extras[BENCH_RUNS_MAX];
	uint32_t runs;
	double median, min, max;
	double extra; /* the median, or 0 if unknown */
	/* A pair is a sample of this line and one of ours from the same run.
	 * These are the median and the quartiles of the ratios of all pairs.
	 * No pairs: 0. */
	uint32_t pairs;
	double pair_median, pair_low, pair_high;
	bool verified; /* fired and checksum are valid */
	uint64_t fired;
	uint64_t checksum;
};

struct bench_figures {
	const char *bench;
	const char *unit;        /* in all units less is better */
	const char *extra_key;   /* name of `extra` in JSON, or NULL */
	const char *extra_title; /* name of `extra` in tables */
	uint32_t runs;
	uint64_t seed; /* 0 if there is none */
	/* Compare samples of the same run only, because the machine changes
	 * between runs by more than the entrants differ. */
	bool pairs;
	/* The most CPUs that other processes used before a run, if somebody
	 * has looked. */
	bool looked;
	double busy_cpus;
	struct bench_line lines[BENCH_ENTRANTS_MAX];
	size_t count;
};

/* Is the entrant one of ours? */
bool bench_report_is_ours(const char *entrant);

/* Sorts the lines, the best first. Then prints the table to stdout. If `json`
 * is not NULL, it writes one JSON line per entrant and one for the summary. If
 * `json` is stdout, it prints no table. */
void bench_report_write(FILE *json, struct bench_figures *f);

#endif /* TKW_REPORT_H */
