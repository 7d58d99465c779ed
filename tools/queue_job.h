/* SPDX-License-Identifier: MIT */
/* queue_job.h - a command that `tkw queue work` runs for an item. */
#ifndef TKW_TOOLS_QUEUE_JOB_H
#define TKW_TOOLS_QUEUE_JOB_H

#include <sys/types.h>

#include "queue_tool.h"

/*
 * Starts a command. Its standard input is the payload. Its environment tells
 * the rest: TKW_QUEUE, TKW_ID, TKW_TOKEN, TKW_ATTEMPT, and TKW_KEY if the item
 * has a key. It has a process group of its own, so that a signal reaches all
 * that it starts, and Ctrl-C does not reach it twice.
 *
 * pid  Receives its process.
 *
 * Returns 0 or -errno.
 */
int queue_job_start(const struct queue_options *o, const struct tkw_item *item,
		    pid_t *pid);

#endif /* TKW_TOOLS_QUEUE_JOB_H */
