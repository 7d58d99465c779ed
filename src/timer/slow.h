/* SPDX-License-Identifier: MIT */
/*
 * slow.h - tasks that take too long on the worker: they are reported when they
 * end, and by the watchdog, a thread of its own, while they run.
 */
#ifndef TKW_TIMER_SLOW_H
#define TKW_TIMER_SLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "os/sync.h"
#include "tickwheel/timer.h"

struct tkw__slow {
	int64_t limit_ns; /* 0: nobody looks */
	bool watchdog;
	/* The worker's, for the watchdog: which task runs, and since when, plus
	 * one; 0 if none does. */
	struct tkw__a64 since_ns;
	struct tkw__a64 task;
	struct tkw__a32 begun; /* how many tasks have */
	struct tkw__a64 count; /* of slow tasks */
	/* What the watchdog parks at: see slow.c. */
	struct tkw__a32 mood;
	void *thread;
};

/* From a config that is sound. */
void tkw__slow_init(struct tkw_timer *t, const struct tkw_timer_config *cfg);

/* Around a task on the worker, if limit_ns is not 0. */
void tkw__slow_begin(struct tkw_timer *t, tkw_task_fn *task, int64_t now_ns);
void tkw__slow_end(struct tkw_timer *t);

/* The watchdog, if there is to be one. Return  0, or -errno of the thread. */
int tkw__watchdog_start(struct tkw_timer *t);
void tkw__watchdog_stop(struct tkw_timer *t);

#endif /* TKW_TIMER_SLOW_H */
