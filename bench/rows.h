/* SPDX-License-Identifier: MIT */
/* rows.h - what is measured, row by row. */
#ifndef TKW_ROWS_H
#define TKW_ROWS_H

#include "bench.h"
#include "options.h"

enum {
	TKW__ROWS_MAX = 9 * TKW__SIZES_MAX
};

struct tkw__row {
	char name[48];
	uint32_t runs;
	struct tkw__load load;
};

/* The rows that the options ask for; returns how many. */
size_t tkw__rows_plan(struct tkw__row *rows, const struct tkw__options *o);

/* How many ticks a sample of this load advances by, one by one. */
uint64_t tkw__rows_ticks(const struct tkw__load *l);

#endif /* TKW_ROWS_H */
