/* SPDX-License-Identifier: MIT */
/*
 * quiet_thread.h - a thread that no signal of the user's program disturbs.
 *
 * os/thread.h can do this as well. But libtickwheel does not export it, and a
 * second copy in libtickwheel-queue would have thread-local data that nobody
 * uses there.
 */
#ifndef TKW_STORE_QUIET_THREAD_H
#define TKW_STORE_QUIET_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts a thread whose signals are all blocked. Returns false if there can be
 * none. */
bool tkw__quiet_thread(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif /* TKW_STORE_QUIET_THREAD_H */
