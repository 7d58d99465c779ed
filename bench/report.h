/* SPDX-License-Identifier: MIT */
/* report.h - the figures of a row, as a table and as JSON lines. */
#ifndef TKW_REPORT_H
#define TKW_REPORT_H

#include <stdio.h>

#include "rows.h"

enum {
	BENCH_IMPLS_MAX = 16
};

/* One impl in one row. */
struct bench_line {
	const struct bench_impl *impl;
	const char *skipped; /* why it did not run; NULL: it did */
	uint64_t ops;        /* if not 0: fewer than the row has */
	double samples[BENCH_RUNS_MAX];
	uint32_t runs;
	double median, min, max;
	struct bench_outcome first; /* of the run in which all was verified */
};

struct bench_figures {
	const struct bench_row *row;
	size_t number, of; /* this row, of so many */
	struct bench_line lines[BENCH_IMPLS_MAX];
	size_t count;
};

/* From the samples: median, min, max; and the fastest first, those that were
 * skipped last. */
void bench_report_sort(struct bench_figures *f);

void bench_report_table(FILE *to, const struct bench_figures *f);
void bench_report_json(FILE *to, const struct bench_figures *f);

#endif /* TKW_REPORT_H */
