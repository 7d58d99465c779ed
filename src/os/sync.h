/* SPDX-License-Identifier: MIT */
/*
 * sync.h - atomics, parking, and the lock. Everything that threads of the
 * library say to each other goes through here, so that an explorer can be put
 * underneath.
 *
 * Orders are always written out, as in TKW__LOAD(&x, ACQUIRE). There are no
 * fences of their own: ThreadSanitizer does not understand them.
 */
#ifndef TKW_OS_SYNC_H
#define TKW_OS_SYNC_H

#include <stdbool.h>
#include <stdint.h>

/* Structs, so that nobody reads or writes one by accident. */
struct tkw__a32 {
	uint32_t v;
};
struct tkw__a64 {
	uint64_t v;
};

#define TKW__LOAD(a, order) __atomic_load_n(&(a)->v, __ATOMIC_##order)
#define TKW__STORE(a, x, order) __atomic_store_n(&(a)->v, x, __ATOMIC_##order)
#define TKW__EXCHANGE(a, x, order)                                             \
	__atomic_exchange_n(&(a)->v, x, __ATOMIC_##order)
/* These two return what was there before. */
#define TKW__ADD(a, x, order) __atomic_fetch_add(&(a)->v, x, __ATOMIC_##order)
#define TKW__SUB(a, x, order) __atomic_fetch_sub(&(a)->v, x, __ATOMIC_##order)
/* True if *was was there and x is now; else *was is what is there. */
#define TKW__CAS(a, was, x, order)                                             \
	__atomic_compare_exchange_n(&(a)->v, was, x, false, __ATOMIC_##order,  \
				    __ATOMIC_RELAXED)

/* Sleep while *a is `value`, or until unparked, or for no reason. */
void tkw__park(struct tkw__a32 *a, uint32_t value);

/* Wake those who are parked at a; at least one, or all. */
void tkw__unpark_one(struct tkw__a32 *a);
void tkw__unpark_all(struct tkw__a32 *a);

/*
 * A lock for a few nanoseconds. Who does not get it spins for a moment and then
 * parks, so that a holder that was preempted, or has a lower priority, gets to
 * run. All zero is a free lock; there is nothing to free.
 */
struct tkw__lock {
	struct tkw__a32 state;   /* TKW__LOCK_... */
	struct tkw__a32 waiters; /* who park, or are about to */
};

enum {
	TKW__LOCK_FREE = 0,
	TKW__LOCK_HELD = 1,
	TKW__LOCK_CONTENDED = 2, /* held, and someone may be parked */
	TKW__LOCK_HANDED = 3     /* to one of the waiters, and no one else */
};

void tkw__lock_wait(struct tkw__lock *l);

static inline void tkw__lock_take(struct tkw__lock *l)
{
	uint32_t was = TKW__LOCK_FREE;

	/* ACQUIRE pairs with the RELEASE of tkw__lock_drop() and _let_in(). */
	if (!TKW__CAS(&l->state, &was, TKW__LOCK_HELD, ACQUIRE))
		tkw__lock_wait(l);
}

static inline void tkw__lock_drop(struct tkw__lock *l)
{
	/* RELEASE pairs with the ACQUIRE of whoever takes the lock next. */
	if (TKW__EXCHANGE(&l->state, TKW__LOCK_FREE, RELEASE) ==
	    TKW__LOCK_CONTENDED)
		tkw__unpark_one(&l->state);
}

/*
 * If someone is parked for the lock, let them have it, and take it again after
 * them. A mere drop and take wins against a thread that has yet to wake up, time
 * after time.
 */
void tkw__lock_let_in(struct tkw__lock *l);

#endif /* TKW_OS_SYNC_H */
