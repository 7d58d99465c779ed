/* SPDX-License-Identifier: MIT */
/* sync.c - the slow ways of the lock. */
#include "os/sync.h"

/* About as long as the lock is held at most; an explorer needs no patience. */
#ifndef TKW__SPINS
#define TKW__SPINS 100
#endif

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static bool spin(struct tkw__lock *l)
{
	for (int i = 0; i < TKW__SPINS; i++) {
		uint32_t was = TKW__LOCK_FREE;

		if (TKW__LOAD(&l->state, RELAXED) == TKW__LOCK_FREE &&
		    TKW__CAS(&l->state, &was, TKW__LOCK_HELD, ACQUIRE))
			return true;
		relax();
	}
	return false;
}

/* May a waiter have the lock as it is? */
static bool is_to_be_had(uint32_t state, bool first)
{
	return state == TKW__LOCK_FREE || state == TKW__LOCK_HANDED ||
	       (first && state == TKW__LOCK_HANDED_FIRST);
}

/* Say in the state that we park, and do. Return  the state after that. */
static uint32_t park(struct tkw__lock *l, uint32_t was, bool first)
{
	uint32_t parked = first ? TKW__LOCK_URGENT : TKW__LOCK_CONTENDED;

	/* Urgent is contended as well; and the worker's wake-up is not ours. */
	if (was == TKW__LOCK_URGENT || was == TKW__LOCK_HANDED_FIRST)
		parked = was;
	if (was == parked || TKW__CAS(&l->state, &was, parked, RELAXED))
		tkw__park(&l->state, parked);
	return TKW__LOAD(&l->state, RELAXED);
}

/*
 * Park until the lock is ours. It is taken as contended: we may have used up a
 * wake-up that was meant for one of many, and must pass it on when we drop.
 */
static void park_until_taken(struct tkw__lock *l, bool first)
{
	uint32_t was;

	TKW__ADD(&l->waiters, 1, RELAXED);
	was = TKW__LOAD(&l->state, RELAXED);
	for (;;) {
		if (!is_to_be_had(was, first))
			was = park(l, was, first);
		else if (TKW__CAS(&l->state, &was, TKW__LOCK_CONTENDED,
				  ACQUIRE))
			break;
	}
	TKW__SUB(&l->waiters, 1, RELAXED);
}

void tkw__lock_wait(struct tkw__lock *l)
{
	if (!spin(l))
		park_until_taken(l, false);
}

void tkw__lock_wait_first(struct tkw__lock *l)
{
	if (!spin(l))
		park_until_taken(l, true);
}

/* Hand the lock, which we hold, over. All are woken, for one that is parked may
 * not be meant. */
static void hand_over(struct tkw__lock *l, uint32_t state)
{
	/* RELEASE pairs with the ACQUIRE of park_until_taken(). */
	TKW__STORE(&l->state, state, RELEASE);
	tkw__unpark_all(&l->state);
}

void tkw__lock_wake(struct tkw__lock *l)
{
	if (TKW__LOAD(&l->state, RELAXED) == TKW__LOCK_URGENT)
		hand_over(l, TKW__LOCK_HANDED_FIRST);
	else if (TKW__EXCHANGE(&l->state, TKW__LOCK_FREE, RELEASE) ==
		 TKW__LOCK_URGENT)
		tkw__unpark_all(&l->state); /* it has parked just now */
	else
		tkw__unpark_one(&l->state);
}

void tkw__lock_let_in(struct tkw__lock *l)
{
	/* A waiter leaves only with the lock, so there is one to take it. */
	if (TKW__LOAD(&l->waiters, RELAXED) == 0)
		return;
	hand_over(l, TKW__LOCK_HANDED);
	while (TKW__LOAD(&l->state, RELAXED) == TKW__LOCK_HANDED)
		tkw__park(&l->state, TKW__LOCK_HANDED);
	/* No spinning: a wake-up that was for another may have been used up. */
	park_until_taken(l, true);
}
