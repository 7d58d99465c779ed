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

/*
 * Park until the lock is ours. It is taken as contended: we may have used up a
 * wake-up that was meant for one of many, and must pass it on when we drop.
 */
static void park_until_taken(struct tkw__lock *l)
{
	uint32_t was = TKW__LOAD(&l->state, RELAXED);

	TKW__ADD(&l->waiters, 1, RELAXED);
	for (;;) {
		if (was == TKW__LOCK_FREE || was == TKW__LOCK_HANDED) {
			if (TKW__CAS(&l->state, &was, TKW__LOCK_CONTENDED,
				     ACQUIRE))
				break;
		} else if (was == TKW__LOCK_CONTENDED ||
			   TKW__CAS(&l->state, &was, TKW__LOCK_CONTENDED,
				    RELAXED)) {
			tkw__park(&l->state, TKW__LOCK_CONTENDED);
			was = TKW__LOAD(&l->state, RELAXED);
		}
	}
	TKW__SUB(&l->waiters, 1, RELAXED);
}

void tkw__lock_wait(struct tkw__lock *l)
{
	if (!spin(l))
		park_until_taken(l);
}

void tkw__lock_let_in(struct tkw__lock *l)
{
	if (TKW__LOAD(&l->waiters, RELAXED) == 0)
		return;
	/* A waiter leaves only with the lock, so there is one to take it. All
	 * are woken, for some may be parked below, and do not take this one. */
	TKW__STORE(&l->state, TKW__LOCK_HANDED, RELEASE);
	tkw__unpark_all(&l->state);
	while (TKW__LOAD(&l->state, RELAXED) == TKW__LOCK_HANDED)
		tkw__park(&l->state, TKW__LOCK_HANDED);
	park_until_taken(l);
}
