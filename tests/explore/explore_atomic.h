/* SPDX-License-Identifier: MIT */
/*
 * explore_atomic.h - replaces src/os/atomic.h, so that every operation is a
 * point. It is included before everything else (-include), and has the include
 * guard of the header that it replaces.
 */
#ifndef TKW_OS_ATOMIC_H
#define TKW_OS_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#include "explore.h"

/* See os/thread.h. */
#define TKW__THREADS_OF_EXPLORER

struct tkw__a32 {
	uint32_t v;
};
struct tkw__a64 {
	uint64_t v;
};

/* Chooses the function for the size of *a. */
#define EXPLORE_SIZED(function, a)                                             \
	_Generic((a)->v, uint32_t : function##32, uint64_t : function##64)

#define TKW__LOAD(a, order)                                                    \
	EXPLORE_SIZED(explore_load, a)(EXPLORE_SPOT("load", #a), &(a)->v)
#define TKW__GLANCE(a) ((a)->v)
#define TKW__STORE(a, x, order)                                                \
	EXPLORE_SIZED(explore_store, a)                                        \
	(EXPLORE_SPOT("store", #a), &(a)->v, x, EXPLORE_##order)
#define TKW__EXCHANGE(a, x, order)                                             \
	EXPLORE_SIZED(explore_rmw, a)                                          \
	(EXPLORE_SPOT("exchange", #a), &(a)->v, x, EXPLORE_EXCHANGE)
#define TKW__ADD(a, x, order)                                                  \
	EXPLORE_SIZED(explore_rmw, a)                                          \
	(EXPLORE_SPOT("add to", #a), &(a)->v, x, EXPLORE_ADD)
#define TKW__SUB(a, x, order)                                                  \
	EXPLORE_SIZED(explore_rmw, a)                                          \
	(EXPLORE_SPOT("subtract from", #a), &(a)->v, x, EXPLORE_SUB)
#define TKW__CAS(a, was, x, order)                                             \
	EXPLORE_SIZED(explore_cas, a)                                          \
	(EXPLORE_SPOT("cas", #a), &(a)->v, was, x)

#define TKW__KEEP_ORDER() ((void)0) /* the compiler reorders nothing here */
#define tkw__fence_all() explore_fence_all(EXPLORE_SPOT("fence all", ""))

#define tkw__park(a, value)                                                    \
	explore_park(EXPLORE_SPOT("park at", #a), &(a)->v, value)
#define tkw__park_for(a, value, ns)                                            \
	explore_park_for(EXPLORE_SPOT("park at", #a), &(a)->v, value, ns)
#define tkw__unpark_one(a)                                                     \
	explore_unpark(EXPLORE_SPOT("unpark one at", #a), &(a)->v, false)
#define tkw__unpark_all(a)                                                     \
	explore_unpark(EXPLORE_SPOT("unpark all at", #a), &(a)->v, true)

#endif /* TKW_OS_ATOMIC_H */
