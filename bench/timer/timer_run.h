/* SPDX-License-Identifier: MIT */
/* timer_run.h - runs one request of the timer's rows on all processes. */
#ifndef TKW_TIMER_RUN_H
#define TKW_TIMER_RUN_H

#include "harness/progress.h"
#include "harness/report.h"
#include "timer_rows.h"

/* Runs it, and writes a table and JSON for each figure. Returns true if nothing
 * failed. Failures are printed on stderr. */
bool bench_timer_run(const struct bench_request *q,
		     const struct bench_options *o, struct bench_progress *p,
		     FILE *json);

#endif /* TKW_TIMER_RUN_H */
