/* SPDX-License-Identifier: MIT */
/*
 * bell.h - wait for something that others change under a lock.
 *
 * A bell belongs to a lock. Who waits holds the lock, finds that what it waits
 * for has not happened yet, and sleeps until the bell rings; then it looks
 * again. Who
 * changes something holds the lock too, and rings. The number of rings is
 * remembered under the lock, so that a ring between the look and the sleep is
 * not missed. All zero is a bell; there is nothing to free. Who has rung looks
 * at nothing but the address of the bell after it has dropped the lock.
 */
#ifndef TKW_OS_BELL_H
#define TKW_OS_BELL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ns.h"
#include "os/clock.h"
#include "os/sync.h"

struct tkw__bell {
	struct tkw__a32 rung; /* how often */
	uint32_t waiters;
};

/* The lock is held before and after, but not while this sleeps. It may return
 * for no reason. */
static inline void tkw__bell_wait(struct tkw__bell *b, struct tkw__lock *l)
{
	uint32_t rung = TKW__LOAD(&b->rung, RELAXED);

	b->waiters++;
	tkw__lock_drop(l);
	tkw__park(&b->rung, rung);
	tkw__lock_take(l);
	b->waiters--;
}

/* The end of a time from now, for tkw__bell_wait_until(); INT64_MAX: none. */
static inline int64_t tkw__bell_until(int64_t timeout_ns)
{
	return timeout_ns <= 0 ? 0
			       : tkw__ns_add(timeout_ns, tkw__clock_now(false));
}

/* As tkw__bell_wait(), but not beyond a time of CLOCK_MONOTONIC; INT64_MAX: no
 * bound. Return  false: the time was over, and this did not sleep. */
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

/* Let all who wait look again. The lock is held, and stays so. */
static inline void tkw__bell_ring(struct tkw__bell *b)
{
	if (b->waiters == 0)
		return;
	/* They look under the lock, which orders it. */
	TKW__ADD(&b->rung, 1, RELAXED);
	tkw__unpark_all(&b->rung);
}

/* The same, and drop the lock, so that who wakes up finds it free. */
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

/* The same for one of those who wait. */
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
