/* SPDX-License-Identifier: MIT */
/*
 * due.h - when a timeout is due: from deadlines to ticks, and back.
 *
 * A tick is ceil(deadline / tick_ns) on the clock itself. A timeout stores its
 * tick, in the wheel's entry, and how far its deadline lies before the end of
 * that tick (`before`). The two together give the deadline.
 */
#ifndef TKW_TIMER_DUE_H
#define TKW_TIMER_DUE_H

#include <stdint.h>

#include "base/bits.h"
#include "base/divide.h"
#include "base/ns.h"
#include "timer/object.h"

struct tkw__due {
	int64_t deadline_ns;
	uint64_t tick;
};

/* The tick that a time is in. The time must not be negative. */
static inline uint64_t tkw__tick_at(const struct tkw_timer *t, int64_t ns)
{
	uint64_t rest;

	return tkw__divide((uint64_t)ns, t->by_tick, &rest);
}

static inline struct tkw__due tkw__due_at(const struct tkw_timer *t,
					  int64_t deadline_ns)
{
	uint64_t ns = deadline_ns < 0 ? 0 : (uint64_t)deadline_ns;
	struct tkw__due d = { .deadline_ns = (int64_t)ns };
	uint64_t rest;

	d.tick = tkw__divide(ns, t->by_tick, &rest);
	d.tick += rest != 0;
	if (deadline_ns == TKW_NEVER_NS)
		d.tick = TKW_TICK_NEVER;
	return d;
}

static inline struct tkw__due tkw__due_after(const struct tkw_timer *t,
					     int64_t now_ns, int64_t delay_ns)
{
	struct tkw__due d = tkw__due_at(t, tkw__ns_add(delay_ns, now_ns));

	/* A timeout that is due already need not wait for the next tick. */
	if (delay_ns <= 0)
		d.tick = tkw__min_u64(d.tick, tkw__tick_at(t, now_ns));
	return d;
}

/* How many nanoseconds a deadline lies before the end of its tick. The
 * arithmetic is modulo 2^64, because the end of a tick may lie beyond the end
 * of time. */
static inline uint64_t tkw__ns_before_end(const struct tkw_timer *t,
					  struct tkw__due d)
{
	return (d.tick + 1) * t->tick_ns - (uint64_t)d.deadline_ns;
}

/* The `before` of a deadline. */
static inline uint32_t tkw__before_of(const struct tkw_timer *t,
				      struct tkw__due d)
{
	uint64_t ns = tkw__ns_before_end(t, d);

	/* Saves a division in most timers. */
	return (uint32_t)(t->unit_ns == 1 ? ns : ns / t->unit_ns);
}

/* The deadline of a timeout. */
static inline int64_t tkw__deadline_of(const struct tkw_timer *t,
				       const struct tkw__timeout *to)
{
	uint64_t tick = to->entry.tick;
	uint64_t ns;

	if (tick == TKW_TICK_NEVER)
		return TKW_NEVER_NS;
	ns = (tick + 1) * t->tick_ns - to->before * t->unit_ns;
	return (int64_t)tkw__min_u64(ns, (uint64_t)TKW_NEVER_NS - 1);
}

/* The time at which a tick begins, or TKW_NEVER_NS if that is beyond the end of
 * time. */
static inline int64_t tkw__ns_of_tick(const struct tkw_timer *t, uint64_t tick)
{
	if (tick > (uint64_t)TKW_NEVER_NS / t->tick_ns)
		return TKW_NEVER_NS;
	return (int64_t)(tick * t->tick_ns);
}

#endif /* TKW_TIMER_DUE_H */
