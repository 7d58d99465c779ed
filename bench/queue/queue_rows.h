/* SPDX-License-Identifier: MIT */
/* queue_rows.h - the rows of the queue: requests to processes, as in
 * timer_rows.h. */
#ifndef TKW_QUEUE_ROWS_H
#define TKW_QUEUE_ROWS_H

#include "timer/timer_rows.h"

enum {
	BENCH_QUEUE_REQUESTS_MAX = 32
};

/* Writes the requests that the options ask for. Returns how many. */
size_t bench_queue_rows_plan(struct bench_request *requests,
			     const struct bench_options *o);

#endif /* TKW_QUEUE_ROWS_H */
