/* SPDX-License-Identifier: MIT */
/*
 * watch.h - tasks that take too long on the worker: they are told when they
 * end, and by the watchdog, a thread of its own, while they run.
 */
#ifndef TKW_TIMER_WATCH_H
#define TKW_TIMER_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "os/clock.h"
#include "os/sync.h"
#include "tickwheel/timer.h"

struct tkw__watch {
	int64_t slow_ns; /* 0: nobody looks */
	bool watchdog;
	/* The worker's, for the watchdog: which task runs, and since when, plus
	 * one; 0 if none does. */
	struct tkw__a64 since_ns;
	struct tkw__a64 task;
	struct tkw__a64 slow; /* how many were */
	struct tkw__alarm alarm;
	struct tkw__a32 over;
	void *thread;
};

/* From a config that is sound. Return  0, or -errno of the alarm. */
int tkw__watch_init(struct tkw_timer *t, const struct tkw_timer_config *cfg);
void tkw__watch_fini(struct tkw_timer *t);

/* Around a task on the worker, if slow_ns is not 0. */
void tkw__watch_begin(struct tkw_timer *t, tkw_task_fn *task, int64_t now_ns);
void tkw__watch_end(struct tkw_timer *t);

/* The watchdog, if there is to be one. Return  0, or -errno of the thread. */
int tkw__watchdog_start(struct tkw_timer *t);
void tkw__watchdog_stop(struct tkw_timer *t);

#endif /* TKW_TIMER_WATCH_H */
