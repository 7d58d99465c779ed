/* SPDX-License-Identifier: MIT */
/*
 * sync.h - atomics, parking, and the lock.
 *
 * Everything that threads of the library tell each other goes through this
 * header, so that an explorer of interleavings can be put below: below atomic.h
 * to explore the lock itself, or in place of the whole header to explore what
 * uses the lock.
 *
 * Memory orders are always written out, as in TKW__LOAD(&x, ACQUIRE). There are
 * no thread fences, because ThreadSanitizer does not understand them. The one
 * fence is a system call, and only the words of a lock depend on it.
 */
#ifndef TKW_OS_SYNC_H
#define TKW_OS_SYNC_H

#include "os/atomic.h" /* IWYU pragma: export */

/*
 * A lock for a few nanoseconds. A thread that does not get it spins for a
 * moment and then parks, so that a holder that was preempted, or has a lower
 * priority, gets to run. All zero is a lock that nobody holds. Nothing has to
 * be freed.
 *
 * Its memory must outlive the end of the last tkw__lock_drop(), because a drop
 * looks at the lock once more when another thread may already hold it. (Before
 * a timer is freed, it joins its worker and waits for its jobs. The rest is up
 * to the caller.)
 *
 * A drop is a plain store, and a look whether anybody waits. An atomic exchange
 * would cost more than all that most callers do under the lock. The threads
 * that park pay for it: see sync.c.
 */
struct tkw__lock {
	struct tkw__a32 state;   /* TKW__LOCK_... */
	struct tkw__a32 waiters; /* threads that park, or are about to */
	struct tkw__a32 firsts;  /* how many of the waiters go first */
	struct tkw__a32 calls;   /* the word they park at; see sync.c */
};

enum {
	TKW__LOCK_FREE = 0,
	TKW__LOCK_HELD = 1,
	/* Handed to a waiter that does not go first. */
	TKW__LOCK_HANDED = 2,
	/* Handed to a waiter that goes first. */
	TKW__LOCK_HANDED_FIRST = 3
};

void tkw__lock_wait(struct tkw__lock *l);
void tkw__lock_wait_first(struct tkw__lock *l);
/* These two return 0. */
int tkw__lock_hand_on(struct tkw__lock *l);
int tkw__lock_wake(struct tkw__lock *l);

static inline void tkw__lock_take(struct tkw__lock *l)
{
	uint32_t was = TKW__LOCK_FREE;

	/* ACQUIRE pairs with the RELEASE of tkw__lock_drop() and _hand_on(). */
	if (!TKW__CAS(&l->state, &was, TKW__LOCK_HELD, ACQUIRE))
		tkw__lock_wait(l);
}

/* Takes the lock if nobody holds it. */
static inline bool tkw__lock_try(struct tkw__lock *l)
{
	uint32_t was = TKW__LOCK_FREE;

	/* ACQUIRE as in tkw__lock_take(). */
	return TKW__CAS(&l->state, &was, TKW__LOCK_HELD, ACQUIRE);
}

/*
 * Takes the lock for the worker, which goes first: once it waits, the next drop
 * that begins hands the lock to it. Otherwise threads that take and drop the
 * lock in a tight loop would win against the worker for seconds, each time
 * before it has woken up.
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
	/* RELEASE pairs with the ACQUIRE of the thread that takes the lock
	 * next. */
	TKW__STORE(&l->state, TKW__LOCK_FREE, RELEASE);
	TKW__KEEP_ORDER(); /* pairs with tkw__fence_all() of a waiter */
	if (TKW__LOAD(&l->waiters, RELAXED) != 0)
		tkw__lock_wake(l);
}

/* The same as the last step of a call that returns 0. It is the last step also
 * when threads wait, so that such a call need not save registers for that. */
static inline int tkw__lock_drop_last(struct tkw__lock *l)
{
	if (TKW__LOAD(&l->waiters, RELAXED) != 0)
		return tkw__lock_hand_on(l);
	/* RELEASE and KEEP_ORDER as in tkw__lock_drop(). */
	TKW__STORE(&l->state, TKW__LOCK_FREE, RELEASE);
	TKW__KEEP_ORDER();
	return TKW__LOAD(&l->waiters, RELAXED) != 0 ? tkw__lock_wake(l) : 0;
}

/*
 * If a thread that does not go first waits for the lock, hands the lock to it,
 * and takes it again afterwards. A plain drop and take would win against a
 * thread that has yet to wake up, time after time.
 */
void tkw__lock_let_in(struct tkw__lock *l);

#endif /* TKW_OS_SYNC_H */
