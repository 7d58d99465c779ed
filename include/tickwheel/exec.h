/* SPDX-License-Identifier: MIT */
/*
 * exec.h - executors: who runs the tasks of a timer.
 *
 * Without one the worker does, one task after the other. With one the worker
 * only hands them on, and a task that blocks delays no other. There are the
 * thread pool of this header, and whatever you make: a function that takes a
 * job is an executor.
 *
 *   Promise  Of every executor: a job that was taken is called exactly once, by
 *            run or by abandon. One that was refused is not called at all.
 *   Threads  Every call is legal on any thread, jobs included, but not in a
 *            signal handler. A thread is not cancelled inside of a call.
 *   Fork     In a child of fork() a pool of the parent's is inert: its threads
 *            are not there, calls return -EPERM, and tkw_pool_destroy()
 *            abandons what is queued and frees the memory. A child that a job
 *            forks may return from the job; its thread ends there.
 *
 * Errors, the same everywhere; results are written on success only:
 *   -EINVAL     a bad argument, NULL where something is wanted
 *   -ENOMEM     no memory, or no thread to be had
 *   -EAGAIN     the queue is full
 *   -ESHUTDOWN  the pool is stopped
 *   -EDEADLK    the call would wait for itself
 *   -EPERM      the pool belongs to the parent of a fork
 */
#ifndef TICKWHEEL_EXEC_H
#define TICKWHEEL_EXEC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Something to be done. Plain data, which an executor copies: a call gets a
 * copy that is valid while it lasts.
 */
struct tkw_job {
	/* Do it. */
	void (*run)(const struct tkw_job *job);
	/* It will not be done: the executor gives up. */
	void (*abandon)(const struct tkw_job *job);
	/* The submitter's, who finds in them what is to be done. */
	void *ctx;
	uint64_t number;
};

/* Who runs jobs. */
struct tkw_exec {
	/*
	 * Take a job, without waiting for it. It may be run before the call
	 * returns. No lock is held by a timer that calls this.
	 *
	 * ctx     the executor's, below.
	 * Return  0: it will be called once; else -errno: it never is.
	 */
	int (*submit)(void *ctx, const struct tkw_job *job);
	void *ctx;
};

/* The executor that runs a job inside of submit. It never refuses. */
const struct tkw_exec *tkw_exec_inline(void);

/* --- the thread pool ---------------------------------------------------- */

struct tkw_pool;

struct tkw_pool_config {
	/* sizeof(struct tkw_pool_config); 0: the fields of version 0.1. */
	size_t size;
	/* 1 ... 4096. Made by tkw_pool_create(), and kept until the end. */
	int threads;
	/* How many jobs may wait for a thread; 0: 65536. At most 2^30. */
	int64_t queue;
	/* The threads' name, of which the system takes 15 bytes; NULL:
	 * "tkw-pool". Copied. */
	const char *thread_name;
};

/*
 * Make a pool: threads that run jobs in the order of submitting. They block all
 * signals and cannot be cancelled.
 *
 * out     written on success; give it to tkw_pool_destroy() in the end.
 * cfg     not kept.
 * Return  0; -EINVAL: NULL, a size unknown to this library, threads or queue
 *         out of range; -ENOMEM.
 */
int tkw_pool_create(struct tkw_pool **out, const struct tkw_pool_config *cfg);

/* The pool as an executor, valid as long as the pool; NULL for NULL. Its submit
 * says -EAGAIN when the queue is full, -ESHUTDOWN when the pool is stopped,
 * -EINVAL for a job without run or abandon, and -EPERM in a forked child. */
const struct tkw_exec *tkw_pool_exec(struct tkw_pool *p);

/* How many jobs wait for a thread; 0 for NULL and in a forked child. */
uint64_t tkw_pool_queued(struct tkw_pool *p);

/*
 * Shut a pool down in order: refuse what is new, run what is queued, and wait
 * until the threads have ended.
 *
 * Return  0; 1: it was stopped, or is being stopped by another thread: this
 *         call does not wait for that one; -EDEADLK: called from a job of this
 *         pool, nothing changed; -EINVAL: NULL; -EPERM.
 */
int tkw_pool_stop(struct tkw_pool *p);

/*
 * End a pool: refuse what is new, let running jobs end, abandon on this thread
 * what is queued, free all its memory. Of a stop that is under way, wait for
 * the end. No other thread may be using the pool; a timer that still has it as
 * its executor does.
 *
 * Return  0; -EINVAL: NULL; -EDEADLK: called from a job of this pool (run or
 *         abandon), or in a child that such a job has forked, nothing changed.
 */
int tkw_pool_destroy(struct tkw_pool *p);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_EXEC_H */
