/* SPDX-License-Identifier: MIT */
/*
 * atomic.h - atomics and parking, and nothing else. This is the one header that
 * an explorer of interleavings replaces. Only sync.h includes it.
 */
#ifndef TKW_OS_ATOMIC_H
#define TKW_OS_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

/* They are structs so that nobody reads or writes one by accident. */
struct tkw__a32 {
	uint32_t v;
};
struct tkw__a64 {
	/* With 32-bit pointers a uint64_t may cross a cache line, and then it
	 * is not read in one piece. */
	_Alignas(8) uint64_t v;
};

#define TKW__LOAD(a, order) __atomic_load_n(&(a)->v, __ATOMIC_##order)
/* A relaxed load of a word that does not change while it matters. An explorer
 * does not treat it as a step. */
#define TKW__GLANCE(a) __atomic_load_n(&(a)->v, __ATOMIC_RELAXED)
#define TKW__STORE(a, x, order) __atomic_store_n(&(a)->v, x, __ATOMIC_##order)
#define TKW__EXCHANGE(a, x, order)                                             \
	__atomic_exchange_n(&(a)->v, x, __ATOMIC_##order)
/* These two return the value from before. */
#define TKW__ADD(a, x, order) __atomic_fetch_add(&(a)->v, x, __ATOMIC_##order)
#define TKW__SUB(a, x, order) __atomic_fetch_sub(&(a)->v, x, __ATOMIC_##order)
/* Stores x and returns true if *was is the present value. Otherwise stores the
 * present value in *was and returns false. */
#define TKW__CAS(a, was, x, order)                                             \
	__atomic_compare_exchange_n(&(a)->v, was, x, false, __ATOMIC_##order,  \
				    __ATOMIC_RELAXED)

/*
 * TKW__KEEP_ORDER() keeps the compiler from swapping a store before it with a
 * load after it. It costs nothing, but the processor may still swap the two.
 * tkw__fence_all() is a system call. When it returns true, every thread of the
 * process has completed its earlier stores, wherever it was: later loads of
 * other threads see what the caller stored before the call, and their earlier
 * stores are visible to the caller.
 */
#define TKW__KEEP_ORDER() __atomic_signal_fence(__ATOMIC_SEQ_CST)
bool tkw__fence_all(void);

/* Sleeps while *a is `value`, until unparked. May return early, for no
 * reason. */
void tkw__park(struct tkw__a32 *a, uint32_t value);
/* The same, but for `ns` nanoseconds at most. */
void tkw__park_for(struct tkw__a32 *a, uint32_t value, int64_t ns);

/* Wake the threads that are parked at a: at least one of them, or all. */
void tkw__unpark_one(struct tkw__a32 *a);
void tkw__unpark_all(struct tkw__a32 *a);

#endif /* TKW_OS_ATOMIC_H */
