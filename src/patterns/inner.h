/* SPDX-License-Identifier: MIT */
/* inner.h - what the modules of src/patterns have in common. */
#ifndef TKW_PATTERNS_INNER_H
#define TKW_PATTERNS_INNER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "os/sync.h"
#include "os/thread.h"
#include "tickwheel/timer.h"

/* Is this process a child of the one in which tkw__forks was `forks`? */
static inline bool tkw__is_child(uint32_t forks)
{
	return forks != tkw__forks;
}

/* The same of the process that made a timer; no id is 0. */
static inline bool tkw__is_childs(struct tkw_timer *t)
{
	return tkw_timer_cancel(t, 0) == -EPERM;
}

/*
 * Cancel a timeout without its on-cancel being called: it is its owner who does
 * so, and may hold a lock that the on-cancel takes. That is for timeouts which
 * are dropped or handed over.
 */
static inline int tkw__cancel_silently(struct tkw_timer *t, uint64_t id)
{
	struct tkw__local *local = tkw__thread_local();
	int err;

	local->silent = true;
	err = tkw_timer_cancel(t, id);
	local->silent = false;
	return err;
}

/*
 * What has called the user's code on this thread: one on the stack for each
 * callback, so that a call which would wait for itself is known.
 */
struct tkw__inside {
	const void *owner;
	struct tkw__inside *up;
};

static inline void tkw__inside_enter(struct tkw__local *local,
				     struct tkw__inside *i, const void *owner)
{
	*i = (struct tkw__inside){ owner, local->insides };
	local->insides = i;
}

static inline void tkw__inside_leave(struct tkw__local *local,
				     const struct tkw__inside *i)
{
	local->insides = i->up;
}

/* Is this thread in a callback of the owner's (NULL: of any), or of its
 * timer's? */
static inline bool tkw__is_inside(const void *owner, struct tkw_timer *t)
{
	const struct tkw__inside *i = tkw__thread_local()->insides;

	while (i && owner && i->owner != owner)
		i = i->up;
	return i != NULL || tkw_timer_is_inside(t);
}

/* Random numbers, good enough to spread things; for whoever has its lock. */
struct tkw__dice {
	uint64_t state;
};

/* seed 0: any. */
static inline struct tkw__dice tkw__dice_make(uint64_t seed)
{
	return (struct tkw__dice){ seed != 0 ? seed : tkw__random() };
}

/* Evenly in [0, sides); 0 if there are none. (The sequence is splitmix64. That
 * the lowest are likelier by sides / 2^64 does not matter here.) */
static inline int64_t tkw__dice_roll(struct tkw__dice *d, int64_t sides)
{
	uint64_t x = d->state += UINT64_C(0x9e3779b97f4a7c15);

	if (sides <= 0)
		return 0;
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (int64_t)((x ^ (x >> 31)) % (uint64_t)sides);
}

#endif /* TKW_PATTERNS_INNER_H */
