/* SPDX-License-Identifier: MIT */
/*
 * member.h - the task of a timeout, as its user knows it.
 *
 * A timeout in a group has a task of group.c, which knows the user's task by a
 * member. So a timeout without a group does not know that there are groups.
 */
#ifndef TKW_TIMER_MEMBER_H
#define TKW_TIMER_MEMBER_H

#include "tickwheel/group.h"
#include "timer/timeout.h"

/* A member is not freed before its timeout has ended or is revealed. The task
 * never changes. */
struct tkw__member {
	struct tkw_link link;
	struct tkw_group *group;
	tkw_task_fn *fn;
	void *ctx;
	tkw_cancel_fn *on_cancel;
	struct tkw_timeout_id id;
};

/* The task of each timeout in a group. Its ctx is the member. */
tkw_task_fn tkw__group_fire;

/* The user's task of a timeout that is not ENDING. Its slack is left 0. The
 * lock of the shard is held, or the timeout belongs to the caller. */
static inline struct tkw_task tkw__task_of(const struct tkw__timeout *to)
{
	const struct tkw__member *m = to->ctx;

	if (to->fn != tkw__group_fire)
		return (struct tkw_task){ .fn = to->fn,
					  .ctx = to->ctx,
					  .on_cancel = to->on_cancel };
	return (struct tkw_task){ .fn = m->fn,
				  .ctx = m->ctx,
				  .on_cancel = m->on_cancel };
}

/* tkw_timer_reschedule() to a deadline that is by_ns later than the present
 * one. by_ns must not be negative, and the process that of the timer. */
int tkw__timer_extend(struct tkw_timer *t, struct tkw_timeout_id id,
		      int64_t by_ns);

#endif /* TKW_TIMER_MEMBER_H */
