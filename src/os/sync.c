/* SPDX-License-Identifier: MIT */
/* sync.c - the slow ways of the lock. */
#include "os/sync.h"

/* Some microseconds: a pause takes 20 ns or more. An explorer is not patient.
 */
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
	__asm__ volatile("isb"); /* yield takes no time on most */
#else
	__asm__ volatile("");
#endif
}

/* Wait a while before each look: who looks all the time takes the lock's cache
 * line away from the holder, and with two who want it in turns all that they
 * touch goes to and fro. */
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

/* May a waiter have the lock as it is? */
static bool is_to_be_had(uint32_t state, bool first)
{
	return state == TKW__LOCK_FREE ||
	       state == (first ? TKW__LOCK_HANDED_FIRST : TKW__LOCK_HANDED);
}

/*
 * Waiters park at `calls`, which changes with each call: a number, and a bit
 * that is set while one who was called has yet to look. Until then others who
 * drop the lock need not call.
 */
enum {
	CALLED = 1,
	ONE_CALL = 2
};

/* Look at the calls; from here on there may be new ones. */
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
 * Park until the lock is ours.
 *
 * Who drops it stores its state, and looks for waiters; we say that we wait,
 * and look at its state. One of the two must see the other, which takes a fence
 * on either side, or the one of ours that works for all. Where the system does
 * not have that, we miss a call once in a blue moon, and look again soon.
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

/* Who is seen in waiters is seen in firsts: RELEASE pairs with the ACQUIRE of
 * tkw__lock_let_in(). */
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

/* Hand the lock, which we hold, over. All are woken, for one that is parked may
 * not be meant. */
static void hand_over(struct tkw__lock *l, uint32_t state)
{
	/* RELEASE pairs with the ACQUIRE of park_until_taken(). */
	TKW__STORE(&l->state, state, RELEASE);
	/* RELEASE: after the store. A waiter that remembers the new number and
	 * sees the old state would park, and nobody would call again. */
	TKW__ADD(&l->calls, ONE_CALL, RELEASE);
	tkw__unpark_all(&l->calls);
}

void tkw__lock_wake(struct tkw__lock *l)
{
	uint32_t calls = TKW__LOAD(&l->calls, RELAXED);

	while ((calls & CALLED) == 0) {
		if (TKW__CAS(&l->calls, &calls, (calls + ONE_CALL) | CALLED,
			     RELAXED)) {
			tkw__unpark_one(&l->calls);
			return;
		}
	}
}

void tkw__lock_hand_on(struct tkw__lock *l)
{
	if (TKW__LOAD(&l->firsts, RELAXED) != 0) {
		hand_over(l, TKW__LOCK_HANDED_FIRST);
		return;
	}
	/* RELEASE pairs with the ACQUIRE of whoever takes the lock next. */
	TKW__STORE(&l->state, TKW__LOCK_FREE, RELEASE);
	TKW__KEEP_ORDER(); /* pairs with tkw__fence_all() of who parks */
	tkw__lock_wake(l);
}

void tkw__lock_let_in(struct tkw__lock *l)
{
	uint32_t waiters = TKW__LOAD(&l->waiters, ACQUIRE);

	/* Who goes first may have come in between. A waiter leaves only with
	 * the lock, so there is one to take it. */
	if (waiters <= TKW__LOAD(&l->firsts, RELAXED))
		return;
	/* Before it is handed over: who drops it then knows of us. */
	count_in_first(l);
	hand_over(l, TKW__LOCK_HANDED);
	park_until_taken_first(l);
}
