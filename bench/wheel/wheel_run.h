/* SPDX-License-Identifier: MIT */
/* wheel_run.h - one row of the wheel: all entrants, in this process. */
#ifndef TKW_WHEEL_RUN_H
#define TKW_WHEEL_RUN_H

#include "harness/progress.h"
#include "harness/report.h"
#include "wheel_rows.h"

/* Fill `f`. Return whether all have fired the same. */
bool bench_wheel_run(struct bench_figures *f, const struct bench_row *row,
		     const struct bench_options *o, struct bench_progress *p);

#endif /* TKW_WHEEL_RUN_H */
