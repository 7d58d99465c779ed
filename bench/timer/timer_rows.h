/* SPDX-License-Identifier: MIT */
/*
 * timer_rows.h - the rows that ask processes: those of the timer, the patterns
 * and the event loops. The rows of the queue (queue_rows.h) and of the queue in
 * Redis (redis_rows.h) are of the same form.
 *
 * A request is one line of text for a process. Its answer has several figures.
 * Each figure is a bench of its own, such as timer/pair_cpu/2t.
 */
#ifndef TKW_TIMER_ROWS_H
#define TKW_TIMER_ROWS_H

#include "harness/options.h"

enum {
	BENCH_REQUESTS_MAX = 128,
	BENCH_FIGURES_MAX = 9,
	BENCH_NAME_MAX = 48
};

/* A figure of an answer. */
struct bench_figure {
	const char *key;   /* its name in the answer */
	const char *bench; /* GROUP/BENCH/... */
	const char *unit;
	const char *extra;  /* key of a figure to print beside it, or NULL */
	bool zero_for_ours; /* if it is ours, it must be 0 */
	bool optional;      /* an answer may be without it */
};

struct bench_request {
	/* The name of all its figures together, such as timer/pair/2t. */
	char name[BENCH_NAME_MAX];
	/* How the name begins: timer, patterns, loop, queue or redis. */
	const char *group;
	const char *where; /* how the name ends, such as 2t */
	char text[96];     /* the line for the process */
	const struct bench_figure *figures;
	size_t figure_count;
	uint32_t runs;
	bool warm_up; /* make one run first that does not count */
	/* Run all processes at the same time, because they only rest. */
	bool together;
	/* The ratios are those of pairs; see report.h. */
	bool pairs;
	/* Look before each run if other processes use the machine. */
	bool look;
};

/* Writes the requests that the options ask for. Returns how many. */
size_t bench_timer_rows_plan(struct bench_request *requests,
			     const struct bench_options *o);

/* A request is wanted if its name or that of one of its figures is wanted, and
 * if one of its processes is wanted. */
bool bench_timer_rows_want(const struct bench_request *q,
			   const struct bench_options *o);

/* Writes the name of a figure's bench, such as timer/pair_cpu/2t. */
void bench_timer_rows_name(char name[BENCH_NAME_MAX],
			   const struct bench_request *q, size_t figure);

#endif /* TKW_TIMER_ROWS_H */
