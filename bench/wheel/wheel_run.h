/* SPDX-License-Identifier: MIT */
/* wheel_run.h - runs one row of the wheel, with all entrants in this
 * process. */
#ifndef TKW_WHEEL_RUN_H
#define TKW_WHEEL_RUN_H

#include "harness/progress.h"
#include "harness/report.h"
#include "wheel_rows.h"

/* Fills `f`. Returns true if all entrants have fired the same. */
bool bench_wheel_run(struct bench_figures *f, const struct bench_row *row,
		     const struct bench_options *o, struct bench_progress *p);

#endif /* TKW_WHEEL_RUN_H */
