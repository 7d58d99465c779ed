/* SPDX-License-Identifier: MIT */
/*
 * atomic.h - atomics and parking, and nothing else: the one header that an
 * explorer of interleavings replaces. Included by sync.h only.
 */
#ifndef TKW_OS_ATOMIC_H
#define TKW_OS_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

/* Structs, so that nobody reads or writes one by accident. */
struct tkw__a32 {
	uint32_t v;
};
struct tkw__a64 {
	/* Where a pointer has four bytes a uint64_t may lie across two lines,
	 * and then it is not read in one piece. */
	_Alignas(8) uint64_t v;
};

#define TKW__LOAD(a, order) __atomic_load_n(&(a)->v, __ATOMIC_##order)
/* A relaxed load of a word that does not change while it matters: no step for
 * an explorer. */
#define TKW__GLANCE(a) __atomic_load_n(&(a)->v, __ATOMIC_RELAXED)
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

/*
 * A store before TKW__KEEP_ORDER() and a load after it stay in this order as
 * far as the compiler goes, for free; the processor may yet swap them. When
 * tkw__fence_all() returns true, each thread of the process has been made to
 * end its stores, wherever it was: those who come after it with a load see what
 * was stored before, and their own stores are seen here. A system call.
 */
#define TKW__KEEP_ORDER() __atomic_signal_fence(__ATOMIC_SEQ_CST)
bool tkw__fence_all(void);

/* Sleep while *a is `value`, or until unparked, or for no reason. */
void tkw__park(struct tkw__a32 *a, uint32_t value);
/* The same, but not for longer than this. */
void tkw__park_for(struct tkw__a32 *a, uint32_t value, int64_t ns);

/* Wake those who are parked at a; at least one, or all. */
void tkw__unpark_one(struct tkw__a32 *a);
void tkw__unpark_all(struct tkw__a32 *a);

#endif /* TKW_OS_ATOMIC_H */
