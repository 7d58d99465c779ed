/* SPDX-License-Identifier: MIT */
/* thread.h - threads, their signals, and what the library stores for each. */
#ifndef TKW_OS_THREAD_H
#define TKW_OS_THREAD_H

#include <stdint.h>

/* Makes a thread. Returns 0 or -errno. */
int tkw__thread_create(void *(*run)(void *arg), void *arg, void **handle);
void tkw__thread_join(void *handle);

/* Prepares the calling thread to be a worker: sets its name, blocks signals and
 * cancellation. */
void tkw__thread_become_worker(const char *name);

/* Loads the unwinder. glibc loads it with the first cancel of a process, and
 * aborts if it cannot: after a chroot(), or without a free file descriptor. So
 * load it while that still works. */
void tkw__thread_load_unwinder(void);

/* Block all signals of the calling thread, and restore them. A thread that is
 * made meanwhile blocks all signals from its start. */
struct tkw__signals {
	uint64_t mask[16];
};
void tkw__signals_block(struct tkw__signals *were);
void tkw__signals_restore(const struct tkw__signals *were);

/* Forbids cancellation of the calling thread. Returns the previous state, for
 * tkw__thread_restore_cancel(). */
int tkw__thread_no_cancel(void);
void tkw__thread_restore_cancel(int was);

/* What the library stores for each thread. */
struct tkw__local {
	/* A number of its own, in the order of first use. 0 before that. */
	uint32_t number;
	struct tkw__frame *frames; /* see frame.h */
};

#ifdef TKW__THREADS_OF_EXPLORER
struct tkw__local *tkw__thread_local(void);
#else
/* The initial-exec model uses the part of the thread's storage that exists from
 * the start, where libc keeps room for libraries that are loaded later. The
 * general model would call the linker each time. */
extern _Thread_local struct tkw__local tkw__local
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Gives the calling thread its number. */
void tkw__thread_take_number(void);

static inline struct tkw__local *tkw__thread_local(void)
{
	if (__builtin_expect(tkw__local.number == 0, 0))
		tkw__thread_take_number();
	return &tkw__local;
}
#endif

/* The number of the calling thread, or 0 if it has none yet. */
static inline uint32_t tkw__thread_number(void)
{
#ifdef TKW__THREADS_OF_EXPLORER
	return tkw__thread_local()->number;
#else
	return tkw__local.number;
#endif
}

#endif /* TKW_OS_THREAD_H */
