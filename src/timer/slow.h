/* SPDX-License-Identifier: MIT */
/*
 * slow.h - tasks that take too long on the worker. They are reported when they
 * end, and while they run by the watchdog, which has its own thread.
 */
#ifndef TKW_TIMER_SLOW_H
#define TKW_TIMER_SLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "os/sync.h"
#include "tickwheel/timer.h"

struct tkw__slow {
	int64_t limit_ns; /* 0 if slow tasks are not reported */
	bool watchdog;
	/* Written by the worker and read by the watchdog: when the running task
	 * began, plus 1, or 0 if none runs; and which task it is. */
	struct tkw__a64 since_ns;
	struct tkw__a64 task;
	struct tkw__a32 begun; /* how many tasks have begun */
	struct tkw__a64 count; /* how many tasks were slow */
	/* The word that the watchdog parks at: see slow.c. */
	struct tkw__a32 mood;
	void *thread;
};

/* The config must have been checked. */
void tkw__slow_init(struct tkw_timer *t, const struct tkw_timer_config *cfg);

/* Called before and after a task on the worker, if limit_ns is not 0. */
void tkw__slow_begin(struct tkw_timer *t, tkw_task_fn *task, int64_t now_ns);
void tkw__slow_end(struct tkw_timer *t);

/* Start and stop the watchdog, if the config asks for one. Starting returns 0,
 * or -errno from making the thread. */
int tkw__watchdog_start(struct tkw_timer *t);
void tkw__watchdog_stop(struct tkw_timer *t);

#endif /* TKW_TIMER_SLOW_H */
