/* SPDX-License-Identifier: MIT */
/* sync.c - the slow paths of the lock. */
#include "os/sync.h"

/* Spin for a few microseconds: a pause takes 20 ns or more. Builds for an
 * explorer set fewer. */
#ifndef TKW__SPINS
#define TKW__SPINS 6
#endif
enum {
	PAUSES = 50,
	SOON_NS = 1000000
};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb"); /* yield takes no time on most of them */
#else
	__asm__ volatile("");
#endif
}

/* Pauses before each look at the lock. A thread that looks all the time takes
 * the lock's cache line away from the holder. And when two threads want the
 * lock in turns, everything they touch moves back and forth between them. */
static bool spin(struct tkw__lock *l)
{
	for (int i = 0; i < TKW__SPINS; i++) {
		uint32_t was = TKW__LOCK_FREE;

		for (int k = 0; k < PAUSES; k++)
			relax();
		if (TKW__LOAD(&l->state, RELAXED) == TKW__LOCK_FREE &&
		    TKW__CAS(&l->state, &was, TKW__LOCK_HELD, ACQUIRE))
			return true;
	}
	return false;
}

/* May a waiter take the lock in this state? */
static bool is_to_be_had(uint32_t state, bool first)
{
	return state == TKW__LOCK_FREE ||
	       state == (first ? TKW__LOCK_HANDED_FIRST : TKW__LOCK_HANDED);
}

/*
 * Waiters park at `calls`, which each call changes. It holds a number, and a
 * bit that is set while a waiter that was called has not looked yet. While the
 * bit is set, other threads that drop the lock need not call.
 */
enum {
	CALLED = 1,
	ONE_CALL = 2
};

/* Reads the calls and clears the bit, so that from here on there may be new
 * calls. */
static uint32_t hear(struct tkw__lock *l)
{
	uint32_t calls = TKW__LOAD(&l->calls, RELAXED);

	while ((calls & CALLED) != 0) {
		if (TKW__CAS(&l->calls, &calls, calls & ~(uint32_t)CALLED,
			     RELAXED))
			return calls & ~(uint32_t)CALLED;
	}
	return calls;
}

/*
 * Parks until this thread has the lock.
 *
 * A thread that drops the lock stores its state and then looks for waiters. A
 * waiter says that it waits and then looks at the state. One of the two must
 * see the other. That takes a fence on both sides, or one fence by the waiter
 * that works for all threads, tkw__fence_all(). On a system that does not have
 * it, a waiter misses a call very rarely, so it parks only for a short time and
 * looks again.
 */
static void park_until_taken(struct tkw__lock *l, bool first)
{
	for (;;) {
		uint32_t calls = hear(l);
		uint32_t was = TKW__LOAD(&l->state, RELAXED);
		bool fenced = true;

		if (!is_to_be_had(was, first)) {
			fenced = tkw__fence_all();
			was = TKW__LOAD(&l->state, RELAXED);
		}
		if (is_to_be_had(was, first)) {
			if (TKW__CAS(&l->state, &was, TKW__LOCK_HELD, ACQUIRE))
				break;
		} else if (fenced) {
			tkw__park(&l->calls, calls);
		} else {
			tkw__park_for(&l->calls, calls, SOON_NS);
		}
	}
}

void tkw__lock_wait(struct tkw__lock *l)
{
	if (spin(l))
		return;
	TKW__ADD(&l->waiters, 1, RELAXED);
	park_until_taken(l, false);
	TKW__SUB(&l->waiters, 1, RELAXED);
}

/* Counts this thread as a waiter that goes first. RELEASE pairs with the
 * ACQUIRE of tkw__lock_let_in(): a thread that sees us in `waiters` also sees
 * us in `firsts`. */
static void count_in_first(struct tkw__lock *l)
{
	TKW__ADD(&l->firsts, 1, RELAXED);
	TKW__ADD(&l->waiters, 1, RELEASE);
}

static void park_until_taken_first(struct tkw__lock *l)
{
	park_until_taken(l, true);
	TKW__SUB(&l->waiters, 1, RELAXED);
	TKW__SUB(&l->firsts, 1, RELAXED);
}

void tkw__lock_wait_first(struct tkw__lock *l)
{
	if (spin(l))
		return;
	count_in_first(l);
	park_until_taken_first(l);
}

/* Hands over the lock, which we hold. All waiters are woken, because the one
 * that an unpark picks may not be the one that may take it. */
static void hand_over(struct tkw__lock *l, uint32_t state)
{
	/* RELEASE pairs with the ACQUIRE of park_until_taken(). */
	TKW__STORE(&l->state, state, RELEASE);
	/* RELEASE: after the store. Otherwise a waiter could remember the new
	 * number, see the old state and park, and nobody would call again. */
	TKW__ADD(&l->calls, ONE_CALL, RELEASE);
	tkw__unpark_all(&l->calls);
}

int tkw__lock_wake(struct tkw__lock *l)
{
	uint32_t calls = TKW__LOAD(&l->calls, RELAXED);

	while ((calls & CALLED) == 0) {
		if (TKW__CAS(&l->calls, &calls, (calls + ONE_CALL) | CALLED,
			     RELAXED)) {
			tkw__unpark_one(&l->calls);
			break;
		}
	}
	return 0;
}

int tkw__lock_hand_on(struct tkw__lock *l)
{
	if (TKW__LOAD(&l->firsts, RELAXED) != 0) {
		hand_over(l, TKW__LOCK_HANDED_FIRST);
		return 0;
	}
	/* RELEASE pairs with the ACQUIRE of the thread that takes the lock
	 * next. */
	TKW__STORE(&l->state, TKW__LOCK_FREE, RELEASE);
	TKW__KEEP_ORDER(); /* pairs with tkw__fence_all() of a waiter */
	return tkw__lock_wake(l);
}

void tkw__lock_let_in(struct tkw__lock *l)
{
	uint32_t waiters = TKW__LOAD(&l->waiters, ACQUIRE);

	/* A thread that goes first may come between the two loads, so firsts
	 * may be the larger one. A waiter stays until it has the lock, so if we
	 * hand it over, there is one to take it. */
	if (waiters <= TKW__LOAD(&l->firsts, RELAXED))
		return;
	/* Count ourselves before the hand-over, so that the thread that drops
	 * the lock next sees us. */
	count_in_first(l);
	hand_over(l, TKW__LOCK_HANDED);
	park_until_taken_first(l);
}
