/* SPDX-License-Identifier: MIT */
/* thread.h - threads, and what the process has and is. */
#ifndef TKW_OS_THREAD_H
#define TKW_OS_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Make a thread. Return  0 or -errno. */
int tkw__thread_create(void *(*run)(void *arg), void *arg, void **handle);
void tkw__thread_join(void *handle);

/* Fit the calling thread for a worker: its name, no signals, no cancellation.
 */
void tkw__thread_become_worker(const char *name);

/* The signals of the calling thread: block all, and put back what was. What a
 * thread blocks, the threads that it makes block from their begin. */
struct tkw__signals {
	uint64_t mask[16];
};
void tkw__signals_block(struct tkw__signals *were);
void tkw__signals_restore(const struct tkw__signals *were);

/* Forbid the cancellation of the calling thread; returns what was. */
int tkw__thread_no_cancel(void);
void tkw__thread_restore_cancel(int was);

/* What the library keeps for each thread. */
struct tkw__local {
	uint32_t number; /* its own, in the order of first asking; never 0 */
	void *frames;    /* the timer's: see core.h */
	void *pool;      /* of which it is a thread; see pool.c */
	void *insides;   /* of src/patterns: see inner.h */
	bool silent;     /* a cancel calls no on-cancel; see inner.h */
};
struct tkw__local *tkw__thread_local(void);

/* How many CPUs the process may use: its affinity, and its cgroup's quota. */
uint32_t tkw__cpus(void);

/* Watch for forks. Return  0 or -ENOMEM. */
int tkw__forks_watch(void);
/* How many forks lie between the first watch and this process. Written by a
 * child before it has a second thread. */
extern uint32_t tkw__forks;

/* Unforeseeable bits. */
uint64_t tkw__random(void);

#endif /* TKW_OS_THREAD_H */
