/* SPDX-License-Identifier: MIT */
/* report.h - the figures of a row, as a table and as JSON lines. */
#ifndef TKW_REPORT_H
#define TKW_REPORT_H

#include <stdio.h>

#include "rows.h"

enum {
	TKW__IMPLS_MAX = 16
};

/* One impl in one row. */
struct tkw__line {
	const struct tkw__impl *impl;
	const char *skipped; /* why it did not run; NULL: it did */
	uint64_t ops;        /* if not 0: fewer than the row has */
	double samples[TKW__RUNS_MAX];
	uint32_t runs;
	double median, min, max;
	struct tkw__outcome first; /* of the run in which all was verified */
};

struct tkw__figures {
	const struct tkw__row *row;
	size_t number, of; /* this row, of so many */
	struct tkw__line lines[TKW__IMPLS_MAX];
	size_t count;
};

/* From the samples: median, min, max; and the fastest first, those that were
 * skipped last. */
void tkw__report_sort(struct tkw__figures *f);

void tkw__report_table(FILE *to, const struct tkw__figures *f);
void tkw__report_json(FILE *to, const struct tkw__figures *f);

#endif /* TKW_REPORT_H */
