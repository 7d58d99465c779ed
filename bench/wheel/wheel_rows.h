/* SPDX-License-Identifier: MIT */
/* wheel_rows.h - the rows of the wheel. */
#ifndef TKW_WHEEL_ROWS_H
#define TKW_WHEEL_ROWS_H

#include "harness/options.h"
#include "wheel_bench.h"

enum {
	BENCH_ROWS_MAX = 9 * BENCH_SIZES_MAX
};

struct bench_row {
	char name[48];
	uint32_t runs;
	struct bench_load load;
};

/* Writes the rows that the options ask for. Returns how many. */
size_t bench_rows_plan(struct bench_row *rows, const struct bench_options *o);

/* Returns how many single ticks a sample of this load advances by. */
uint64_t bench_rows_ticks(const struct bench_load *l);

#endif /* TKW_WHEEL_ROWS_H */
