/* SPDX-License-Identifier: MIT */
/*
 * exec.h - executors, which run the tasks of a timer
 *
 * Without an executor the worker of a timer runs the tasks, one after the
 * other. With an executor the worker only hands each task on as a job, so that
 * a task that blocks does not delay the others. This header has a thread pool.
 * You can also write your own executor. It needs one function, which takes a
 * job.
 *
 *   Promise  Every executor must keep this promise: for each job that it has
 *            accepted, it calls either run or abandon, exactly once. For a job
 *            that it has refused, it calls neither.
 *   Threads  Any thread may make any call, even inside a job, but not in a
 *            signal handler. pthread_cancel() does not end a thread inside a
 *            call.
 *   Fork     In a child of fork(), a pool of the parent has no threads, and
 *            calls return -EPERM. There, tkw_pool_destroy() abandons the queued
 *            jobs and frees the memory. A child that was forked inside a job
 *            may only call exec or _exit().
 *
 * A call that fails changes nothing and writes no result, unless its
 * description says otherwise.
 *
 * Errors, the same in every call of this header:
 *   -EINVAL     an argument is not valid, or is NULL where NULL is not allowed
 *   -ENOMEM     there is not enough memory, or no thread can be created
 *   -EAGAIN     the queue is full
 *   -ESHUTDOWN  the pool is stopped
 *   -EDEADLK    the call would wait for itself, because it is made inside run
 *               or abandon of a job of the pool
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
 * A piece of work. It is plain data: an executor copies it, and later passes
 * its copy to run or to abandon. The copy must stay valid during that call.
 */
struct tkw_job {
	/* Does the work. */
	void (*run)(const struct tkw_job *job);
	/* Called instead of run if the executor gives the job up. */
	void (*abandon)(const struct tkw_job *job);
	/* These two belong to the code that submits the job. They tell run and
	 * abandon which work is meant. */
	void *ctx;
	uint64_t number;
};

/* An executor. This struct and struct tkw_job will not grow. */
struct tkw_exec {
	/*
	 * Accepts or refuses a job. It need not wait until the job has run. It
	 * may also run the job itself, before it returns. The caller holds no
	 * lock of the library.
	 *
	 * Returns 0 if it has accepted the job, or a negative errno if it has
	 * refused the job. After -ESHUTDOWN the executor must refuse all later
	 * jobs.
	 */
	int (*submit)(const struct tkw_job *job, void *ctx);
	/* Passed to submit. */
	void *ctx;
};

/* Returns the executor that runs each job inside submit. If a job has no run or
 * no abandon, submit returns -EINVAL. */
const struct tkw_exec *tkw_exec_inline(void);

/* --- the thread pool ---------------------------------------------------- */

struct tkw_pool;

/* The settings of a pool. threads is required. In all other fields, zero means
 * the default. */
struct tkw_pool_config {
	/* sizeof(struct tkw_pool_config). 0 means the size of the struct in
	 * version 0.2. */
	size_t size;
	/* The number of threads, from 1 to 4096. */
	int threads;
	/* How many jobs may wait for a thread, at most 2^30. 0 means 65536. */
	int64_t max_queued;
	/* The name of the threads. It is copied, and the system keeps its first
	 * 15 bytes. NULL means "tkw-pool". */
	const char *thread_name;
};

/*
 * Creates a pool and its threads.
 *
 * The threads start the jobs in the order in which they were submitted. They
 * live until the pool is stopped, block all signals, and cannot be cancelled.
 *
 * out  Receives the pool. Destroy it with tkw_pool_destroy().
 * cfg  The settings. They are copied.
 *
 * Returns 0, or
 *   -EINVAL  out or cfg is NULL, cfg has a size or fields that this library
 *            does not know, or threads or max_queued is out of range
 *   -ENOMEM  there is not enough memory, or a thread cannot be created
 */
int tkw_pool_create(struct tkw_pool **out, const struct tkw_pool_config *cfg);

/*
 * Returns the pool as an executor, which is valid until the pool is destroyed;
 * NULL if p is NULL.
 *
 * The submit function of this executor returns -EAGAIN if the queue is full,
 * -ESHUTDOWN if the pool is stopped, -EINVAL if the job has no run or no
 * abandon, and -EPERM in a forked child.
 */
const struct tkw_exec *tkw_pool_exec(struct tkw_pool *p);

/* Returns how many jobs wait for a thread; 0 if p is NULL or in a forked
 * child. */
uint64_t tkw_pool_count(struct tkw_pool *p);

/*
 * Waits until no job is queued and none is running.
 *
 * It also waits for jobs that are submitted meanwhile.
 *
 * timeout_ns  How long to wait at most. With 0 or less the call does not wait.
 *             With INT64_MAX it waits without a limit.
 *
 * Returns 0 if no job is queued or running, or
 *   -ETIMEDOUT  the time is over
 *   -EDEADLK    called inside run or abandon of a job of this pool
 *   -EINVAL     p is NULL
 *   -EPERM      as listed at the top
 */
int tkw_pool_wait_idle(struct tkw_pool *p, int64_t timeout_ns);

/*
 * Stops a pool for good.
 *
 * The pool refuses new jobs from now on. The call abandons all queued jobs, on
 * the calling thread. Then it waits until the running jobs have returned and
 * the threads have ended. If you want the queued jobs to run, call
 * tkw_pool_wait_idle() first.
 *
 * If the call returns 1, it has not waited.
 *
 * Returns 0 if this call stopped the pool, 1 if another call has stopped it or
 * is stopping it, or
 *   -EDEADLK  called inside run or abandon of a job of this pool
 *   -EINVAL   p is NULL
 *   -EPERM    as listed at the top
 */
int tkw_pool_stop(struct tkw_pool *p);

/*
 * Stops a pool, unless it is stopped already, and frees it.
 *
 * If another call is stopping the pool, this call waits for it. No other thread
 * may use the pool any more. A timer uses its pool until the timer is stopped,
 * so stop the timer first.
 *
 * p  The pool. If it is NULL, the call does nothing.
 *
 * Returns 0, or
 *   -EDEADLK  called inside run or abandon of a job of this pool
 */
int tkw_pool_destroy(struct tkw_pool *p);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_EXEC_H */
