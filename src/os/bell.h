/* SPDX-License-Identifier: MIT */
/*
 * bell.h - wait for something that others change under a lock.
 *
 * Idea:    a bell belongs to a lock. A thread that waits holds the lock, finds
 *          that the event has not happened yet, and sleeps until the bell
 *          rings; then it looks again. A thread that changes something holds
 *          the lock too, and rings. The sleeper reads the number of rings under
 *          the lock, so it does not miss a ring between its look and its sleep.
 * Memory:  a bell is all zero at first, and there is nothing to free. After the
 *          lock is dropped, ringing uses only the address of the bell, not its
 *          memory.
 */
#ifndef TKW_OS_BELL_H
#define TKW_OS_BELL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ns.h"
#include "os/clock.h"
#include "os/sync.h"

struct tkw__bell {
	struct tkw__a32 rung; /* number of rings */
	uint32_t waiters;
};

/* Sleeps until the bell rings. The lock is held before and after, but not
 * during the sleep. May return early, for no reason. */
static inline void tkw__bell_wait(struct tkw__bell *b, struct tkw__lock *l)
{
	uint32_t rung = TKW__LOAD(&b->rung, RELAXED);

	b->waiters++;
	tkw__lock_drop(l);
	tkw__park(&b->rung, rung);
	tkw__lock_take(l);
	b->waiters--;
}

/* The time to pass to tkw__bell_wait_until(): timeout_ns from now. INT64_MAX
 * means no limit. */
static inline int64_t tkw__bell_until(int64_t timeout_ns)
{
	return timeout_ns <= 0 ? 0
			       : tkw__ns_add(timeout_ns, tkw__clock_now(false));
}

/* As tkw__bell_wait(), but only until a time of CLOCK_MONOTONIC. INT64_MAX
 * means no limit. Returns false, without sleeping, if that time has passed. */
static inline bool tkw__bell_wait_until(struct tkw__bell *b,
					struct tkw__lock *l, int64_t until_ns)
{
	int64_t left_ns;
	uint32_t rung;

	if (until_ns == INT64_MAX) {
		tkw__bell_wait(b, l);
		return true;
	}
	left_ns = until_ns - tkw__clock_now(false);
	if (left_ns <= 0)
		return false;
	rung = TKW__LOAD(&b->rung, RELAXED);
	b->waiters++;
	tkw__lock_drop(l);
	tkw__park_for(&b->rung, rung, left_ns);
	tkw__lock_take(l);
	b->waiters--;
	return true;
}

/* Wakes all who wait, so that they look again. The lock is held and stays
 * held. */
static inline void tkw__bell_ring(struct tkw__bell *b)
{
	if (b->waiters == 0)
		return;
	/* RELAXED is enough: those who wait look under the lock. */
	TKW__ADD(&b->rung, 1, RELAXED);
	tkw__unpark_all(&b->rung);
}

/* The same, then drops the lock, so that those who wake up find it free. */
static inline void tkw__bell_ring_and_drop(struct tkw__bell *b,
					   struct tkw__lock *l)
{
	bool wake = b->waiters > 0;

	if (wake)
		TKW__ADD(&b->rung, 1, RELAXED);
	tkw__lock_drop(l);
	if (wake)
		tkw__unpark_all(&b->rung);
}

/* The same, but wakes only one. */
static inline void tkw__bell_ring_one_and_drop(struct tkw__bell *b,
					       struct tkw__lock *l)
{
	bool wake = b->waiters > 0;

	if (wake)
		TKW__ADD(&b->rung, 1, RELAXED);
	tkw__lock_drop(l);
	if (wake)
		tkw__unpark_one(&b->rung);
}

#endif /* TKW_OS_BELL_H */
