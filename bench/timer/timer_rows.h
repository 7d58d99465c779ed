/* SPDX-License-Identifier: MIT */
/*
 * timer_rows.h - what is measured of timers with threads of their own, and of
 * what stands on them.
 *
 * A request is one line that a process understands; its answer has several
 * figures, and each of them is a bench of its own, such as timer/pair_cpu/2t.
 */
#ifndef TKW_TIMER_ROWS_H
#define TKW_TIMER_ROWS_H

#include "harness/options.h"

enum {
	BENCH_REQUESTS_MAX = 96,
	BENCH_FIGURES_MAX = 9,
	BENCH_NAME_MAX = 48
};

/* A figure of an answer. */
struct bench_figure {
	const char *key;   /* the process's name for it */
	const char *bench; /* GROUP/BENCH/... */
	const char *unit;
	const char *extra;  /* a key that is written beside it, or NULL */
	bool zero_for_ours; /* anything else is a failure, if it is ours */
};

struct bench_request {
	char name[BENCH_NAME_MAX]; /* of them all, such as timer/pair/2t */
	const char *group; /* how the name begins: timer, patterns, loop */
	const char *where; /* the end of it: 2t */
	char text[96];     /* for the process */
	const struct bench_figure *figures;
	size_t figure_count;
	uint32_t runs;
	bool warm_up;  /* one run before, which does not count */
	bool together; /* all processes at the same time: they are at rest */
};

/* The requests that the options ask for; returns how many. A request is wanted
 * if its name is, or that of one of its figures, and one of its processes. */
size_t bench_timer_rows_plan(struct bench_request *requests,
			     const struct bench_options *o);

/* The name of the bench of a figure, such as timer/pair_cpu/2t. */
void bench_timer_rows_name(char name[BENCH_NAME_MAX],
			   const struct bench_request *q, size_t figure);

#endif /* TKW_TIMER_ROWS_H */
