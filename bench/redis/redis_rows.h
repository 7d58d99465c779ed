/* SPDX-License-Identifier: MIT */
/* redis_rows.h - the rows of the queue in Redis: requests to processes, as in
 * timer_rows.h. */
#ifndef TKW_REDIS_ROWS_H
#define TKW_REDIS_ROWS_H

#include "timer/timer_rows.h"

enum {
	BENCH_REDIS_REQUESTS_MAX = 48
};

/* Writes the requests that the options ask for. Returns how many. */
size_t bench_redis_rows_plan(struct bench_request *requests,
			     const struct bench_options *o);

#endif /* TKW_REDIS_ROWS_H */
