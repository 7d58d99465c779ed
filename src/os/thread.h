/* SPDX-License-Identifier: MIT */
/* thread.h - threads. */
#ifndef TKW_OS_THREAD_H
#define TKW_OS_THREAD_H

#include <stdint.h>

/* Make a thread. Return  0 or -errno. */
int tkw__thread_create(void *(*run)(void *arg), void *arg, void **handle);
void tkw__thread_join(void *handle);

/* Fit the calling thread for a worker: its name, no signals, no cancellation.
 */
void tkw__thread_become_worker(const char *name);

/* glibc loads the unwinder with the first cancel of a process, and aborts if it
 * cannot: after a chroot(), or without a free file descriptor. So load it while
 * all is well. */
void tkw__thread_load_unwinder(void);

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
	struct tkw__frame *frames; /* see frame.h */
};
struct tkw__local *tkw__thread_local(void);

#endif /* TKW_OS_THREAD_H */
