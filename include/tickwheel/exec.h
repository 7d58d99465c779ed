/* SPDX-License-Identifier: MIT */
/*
 * exec.h - executors: who runs the tasks of a timer.
 *
 * Without an executor the worker runs them, one after the other. With one the
 * worker only hands them on, and a task that blocks delays no other. This
 * header has a thread pool; any function that takes a job can be an executor.
 *
 *   Promise  Every executor keeps this: a job that was taken is called exactly
 *            once, by run or by abandon. A job that was refused is never
 *            called.
 *   Threads  Every call is legal on any thread, inside jobs too, but not in a
 *            signal handler. A thread is not cancelled inside a call.
 *   Fork     In a child of a fork a pool of the parent is inert: its threads
 *            are not there, calls return -EPERM, and tkw_pool_destroy()
 *            abandons what is queued and frees the memory. A child that was
 *            forked inside a job may only exec or _exit.
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
 * Something to be done. Plain data, which an executor copies. Whoever calls run
 * or abandon passes a copy that is valid during the call.
 */
struct tkw_job {
	/* Do it. */
	void (*run)(const struct tkw_job *job);
	/* It will not be done: the executor gives it up. */
	void (*abandon)(const struct tkw_job *job);
	/* The submitter's: what is to be done. */
	void *ctx;
	uint64_t number;
};

/* Who runs jobs. This struct, and struct tkw_job, will not grow. */
struct tkw_exec {
	/*
	 * Take a job, without waiting for it. It may be run before the call
	 * returns. The caller holds no lock of the library.
	 *
	 * ctx     the executor's, below.
	 * Return  0: it will be called once; else -errno: it never is. After
	 *         -ESHUTDOWN the executor takes no job ever again.
	 */
	int (*submit)(const struct tkw_job *job, void *ctx);
	void *ctx;
};

/* The executor that runs a job inside submit. It never refuses. */
const struct tkw_exec *tkw_exec_inline(void);

/* --- the thread pool ---------------------------------------------------- */

struct tkw_pool;

struct tkw_pool_config {
	/* sizeof(struct tkw_pool_config); 0: the fields of version 0.2. */
	size_t size;
	/* 1 ... 4096. Made by tkw_pool_create(), and kept until the end. */
	int threads;
	/* How many jobs may wait for a thread; 0: 65536. At most 2^30. */
	int64_t max_queued;
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
 * Return  0; -EINVAL: NULL, a size that this library does not know, threads or
 *         max_queued out of range; -ENOMEM.
 */
int tkw_pool_create(struct tkw_pool **out, const struct tkw_pool_config *cfg);

/* The pool as an executor, valid as long as the pool; NULL for NULL. Its submit
 * returns -EAGAIN when the queue is full, -ESHUTDOWN when the pool is stopped,
 * -EINVAL for a job without run or abandon, and -EPERM in a forked child. */
const struct tkw_exec *tkw_pool_exec(struct tkw_pool *p);

/* How many jobs wait for a thread; 0 for NULL and in a forked child. */
uint64_t tkw_pool_count(struct tkw_pool *p);

/*
 * Wait until no job is queued and none is running. More may be submitted
 * meanwhile, and are waited for.
 *
 * timeout_ns
 *         how long to wait at most; <= 0: do not wait; INT64_MAX: no bound.
 * Return  0: nothing is queued or running; -ETIMEDOUT; -EDEADLK: called from a
 *         job of this pool; -EINVAL: NULL; -EPERM.
 */
int tkw_pool_wait_idle(struct tkw_pool *p, int64_t timeout_ns);

/*
 * Stop a pool for good: refuse what is new, abandon on this thread what is
 * queued, let running jobs end, and wait until the threads have ended. To have
 * the queued jobs run instead, call tkw_pool_wait_idle() before.
 *
 * Return  0: stopped by this call; 1: another thread has stopped it or is
 *         stopping it: this call does not wait for that one; -EDEADLK: called
 *         from a job of this pool (run or abandon): nothing changed; -EINVAL:
 *         NULL; -EPERM.
 */
int tkw_pool_stop(struct tkw_pool *p);

/*
 * Stop the pool if nobody has; wait for a stop that is under way; free all its
 * memory. No other thread may be using the pool; a timer that still has it as
 * its executor does.
 *
 * p       NULL is legal, and does nothing.
 * Return  0; -EDEADLK: called from a job of this pool (run or abandon): nothing
 *         changed.
 */
int tkw_pool_destroy(struct tkw_pool *p);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_EXEC_H */
