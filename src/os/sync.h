/* SPDX-License-Identifier: MIT */
/*
 * sync.h - atomics, parking, and the lock. Everything that threads of the
 * library say to each other goes through here, so that an explorer can be put
 * underneath: under atomic.h to explore the lock itself, under the whole of it
 * to explore what stands on the lock.
 *
 * Orders are always written out, as in TKW__LOAD(&x, ACQUIRE). There are no
 * fences of a thread: ThreadSanitizer does not understand them. The one fence
 * is a system call, and orders nothing but the words of a lock.
 */
#ifndef TKW_OS_SYNC_H
#define TKW_OS_SYNC_H

#include "os/atomic.h" /* IWYU pragma: export */

/*
 * A lock for a few nanoseconds. Who does not get it spins for a moment and then
 * parks, so that a holder that was preempted, or has a lower priority, gets to
 * run. All zero is a free lock; there is nothing to free. But who drops it
 * looks at it once more when another may have it already: the memory of a lock
 * must outlive the last drop, not merely the last holding. (A timer joins its
 * worker, waits for its jobs and leaves the rest to the caller before it is
 * freed.)
 *
 * To drop it is a plain store, and a look whether someone waits: an atomic
 * exchange would cost more than all that most callers do under the lock. The
 * price is paid by those who park: see sync.c.
 */
struct tkw__lock {
	struct tkw__a32 state;   /* TKW__LOCK_... */
	struct tkw__a32 waiters; /* who park, or are about to */
	struct tkw__a32 firsts;  /* those of them who go first */
	struct tkw__a32 calls;   /* what they park at; see sync.c */
};

enum {
	TKW__LOCK_FREE = 0,
	TKW__LOCK_HELD = 1,
	TKW__LOCK_HANDED = 2,      /* to one who waits and does not go first */
	TKW__LOCK_HANDED_FIRST = 3 /* to one of those who go first */
};

void tkw__lock_wait(struct tkw__lock *l);
void tkw__lock_wait_first(struct tkw__lock *l);
void tkw__lock_hand_on(struct tkw__lock *l);
void tkw__lock_wake(struct tkw__lock *l);

static inline void tkw__lock_take(struct tkw__lock *l)
{
	uint32_t was = TKW__LOCK_FREE;

	/* ACQUIRE pairs with the RELEASE of tkw__lock_drop(), _hand_on(). */
	if (!TKW__CAS(&l->state, &was, TKW__LOCK_HELD, ACQUIRE))
		tkw__lock_wait(l);
}

/*
 * The same for the worker, who goes first: once it waits, the next drop that
 * begins is a hand-over to it. Otherwise threads that take and drop the lock in
 * a tight loop win against it for seconds, each time before it has woken up.
 */
static inline void tkw__lock_take_first(struct tkw__lock *l)
{
	uint32_t was = TKW__LOCK_FREE;

	if (!TKW__CAS(&l->state, &was, TKW__LOCK_HELD, ACQUIRE))
		tkw__lock_wait_first(l);
}

static inline void tkw__lock_drop(struct tkw__lock *l)
{
	if (TKW__LOAD(&l->waiters, RELAXED) != 0) {
		tkw__lock_hand_on(l);
		return;
	}
	/* RELEASE pairs with the ACQUIRE of whoever takes the lock next. */
	TKW__STORE(&l->state, TKW__LOCK_FREE, RELEASE);
	TKW__KEEP_ORDER(); /* pairs with tkw__fence_all() of who parks */
	if (TKW__LOAD(&l->waiters, RELAXED) != 0)
		tkw__lock_wake(l);
}

/*
 * If someone waits for the lock and does not go first, let them have it, and
 * take it again after them. A mere drop and take wins against a thread that has
 * yet to wake up, time after time.
 */
void tkw__lock_let_in(struct tkw__lock *l);

#endif /* TKW_OS_SYNC_H */
