/* SPDX-License-Identifier: MIT */
/*
 * retry.h - try tasks again until they succeed
 *
 * A set holds tasks. Each task is tried again and again, with a delay between
 * two tries, until it succeeds, has been tried max_tries times, or is
 * cancelled. A try answers when it returns, or later with tkw_retries_done().
 * So one task can be an RPC with back-off. The defaults are those of Dubbo's
 * failback: a delay of five seconds, and 100 tasks.
 *
 *   Promise  Each accepted task ends exactly once, and its on_end says how.
 *            The next try of a task begins only after the last one has
 *            answered or timed out.
 *   Ids      A struct tkw_retry_id names a task. It is plain data, and you may
 *            keep it for ever. When the task has ended, its id is stale: calls
 *            with a stale id return -ENOENT and never touch another task.
 *   Threads  Any thread may make any call, even inside a callback, but not in a
 *            signal handler. No lock is held while a callback runs. Tries run
 *            on the timer's worker or executor.
 *   Life     Destroy the set before the timer. If the timer is stopped, all
 *            tasks end with -ESHUTDOWN, unless a running try ends its task
 *            first.
 *   Drops    If the timer drops a try (see TKW_REFUSED_DROP in timer.h), that
 *            try is not made, and the task ends with -ECANCELED. The task also
 *            ends with -ECANCELED if the timer drops the timeout of a try that
 *            answers later.
 *   Fork     In a child of fork(), a set of the parent does nothing, and calls
 *            return -EPERM. There, tkw_retries_destroy() frees the memory and
 *            calls no callback.
 *
 * A call that fails changes nothing and writes no result, unless its
 * description says otherwise.
 *
 * Errors, the same in every call of this header:
 *   -EINVAL     an argument is not valid, or is NULL where NULL is not allowed
 *   -ENOMEM     there is not enough memory, or no thread can be created
 *   -EAGAIN     the set has max_tasks tasks, or the timer has max_pending
 *               timeouts
 *   -ESHUTDOWN  the set is shut down, or the timer is stopped
 *   -ENOENT     the task has ended, or no task ever had this id
 *   -EDEADLK    the call might wait for ever, because it is made inside a
 *               callback
 *   -EPERM      the set or its timer belongs to the parent of a fork
 *   -EBADF      the timer's file descriptor was closed; see Fds in timer.h
 */
#ifndef TICKWHEEL_RETRY_H
#define TICKWHEEL_RETRY_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tkw_retries;

/* The id of a task. It works like struct tkw_timeout_id, but is a type of its
 * own, so that the compiler does not let you mix up the two. */
struct tkw_retry_id {
	uint64_t bits;
};

/* The settings of a set. timer is required. In all other fields, zero means the
 * default. */
struct tkw_retries_config {
	/* sizeof(struct tkw_retries_config). 0 means the size of the struct in
	 * version 0.2. */
	size_t size;
	struct tkw_timer *timer;
	/* The delay from the end of the first try to the second try. 0 means
	 * five seconds. */
	int64_t delay_ns;
	/* Each further delay is this percentage of the delay before it, from
	 * 100 to 1000. 100 keeps the delay the same, 200 doubles it. 0 means
	 * 100. The result is rounded down, but with more than 100 a delay grows
	 * by at least 1 ns. */
	int backoff_percent;
	/* The longest delay. 0 means ten times delay_ns. */
	int64_t max_delay_ns;
	/* The part of each delay that is random, 0 to 100 percent. A delay is
	 * shortened by a random amount of at most this part, so that tasks that
	 * failed together are not all tried again at the same moment. */
	int jitter_percent;
	/* Seed for the jitter. 0 picks a random seed. */
	uint64_t seed;
	/* How long a try that answers later may take, counted from its start.
	 * If no answer comes in this time, the try has failed. 0 means no
	 * limit. */
	int64_t try_timeout_ns;
	/* The largest number of tries of a task. 0 or less means no limit. */
	int64_t max_tries;
	/* How many tasks the set may hold, at most 2^20. 0 means 100. */
	int64_t max_tasks;
};

/* Passed to a try. It is valid while the try runs. */
struct tkw_try {
	struct tkw_retries *retries;
	struct tkw_retry_id id;
	int64_t number; /* 1 for the first try */
};

/* A try returns this value if it will answer later, with tkw_retries_done().
 * The value is unusual, so that no try returns it by accident. */
#define TKW_TRY_LATER 0x17e2

/* Passed to on_end. It says how a task has ended. */
struct tkw_retry_end {
	struct tkw_retry_id id;
	/*
	 * The result:
	 *   0           the task succeeded
	 *   -ETIMEDOUT  the task was tried max_tries times
	 *   -ECANCELED  tkw_retries_cancel() ended the task, or the timer
	 *               dropped a try; see Drops at the top
	 *   -ESHUTDOWN  the set was shut down, or the timer was stopped
	 *   -EAGAIN, -ENOMEM, -EBADF
	 *               the timer refused the next try, or the timeout of a try
	 *               that answers later
	 */
	int status;
	int64_t tries; /* how many tries were made */
};

/* A task. It is copied. */
struct tkw_retry {
	/*
	 * Makes one try. The rules of tkw_task_fn in timer.h apply. Must not be
	 * NULL.
	 *
	 * Returns 0 if the try succeeded, or TKW_TRY_LATER if
	 * tkw_retries_done() will give the answer. With any other value the try
	 * has failed, and the task is tried again.
	 */
	int (*fn)(const struct tkw_try *attempt, void *ctx);
	/*
	 * Called once, when the task has ended. It may free what ctx points to.
	 * The task counts towards max_tasks until on_end has returned. May be
	 * NULL.
	 *
	 * If a thread is working on the task when it ends, on_end runs on that
	 * thread. This can be the timer's worker or executor, a thread in
	 * tkw_retries_done(), or the thread that drops a try; see Drops at the
	 * top. Otherwise on_end runs inside the call that ends the task.
	 */
	void (*on_end)(const struct tkw_retry_end *end, void *ctx);
	/* Passed to both functions as the last argument. */
	void *ctx;
};

/*
 * Creates a set without tasks.
 *
 * The call starts no thread.
 *
 * out  Receives the set. Destroy it with tkw_retries_destroy().
 * cfg  The settings. They are copied.
 *
 * Returns 0, or
 *   -EINVAL  an argument or timer is NULL, cfg has a size or fields that this
 *            library does not know, a time is negative, max_delay_ns is less
 *            than delay_ns, or backoff_percent, jitter_percent or max_tasks is
 *            out of range
 *   -ENOMEM, -EPERM
 *            as listed at the top
 */
int tkw_retries_create(struct tkw_retries **out,
		       const struct tkw_retries_config *cfg);

/*
 * Adds a task to a set.
 *
 * task      The task. It is copied.
 * first_ns  The delay before the first try. With 0 or less, the first try comes
 *           in the next turn of the timer, never inside this call. If you have
 *           already tried once yourself and failed, pass the delay_ns of the
 *           set.
 * id        Receives the id. It is written before the first try can begin. May
 *           be NULL.
 *
 * Returns 0, or
 *   -EINVAL  rs, task or its fn is NULL
 *   -ENOMEM, -EAGAIN, -ESHUTDOWN, -EPERM, -EBADF
 *            as listed at the top
 */
int tkw_retries_add(struct tkw_retries *rs, const struct tkw_retry *task,
		    int64_t first_ns, struct tkw_retry_id *id);

/*
 * Gives the answer of a try that returns TKW_TRY_LATER.
 *
 * The answer may come before the try has returned. A success ends the task,
 * even if it is the answer of an earlier try. A failure counts only if it is
 * the first answer of the latest try, and if that try has not timed out. If the
 * task is ending, for example because it was cancelled, only the first success
 * counts, and only while a try is running.
 *
 * number  The number of the try, from struct tkw_try.
 * result  0 if the try succeeded. Any other value means that it failed.
 *
 * Returns 0, or
 *   -EINVAL  rs is NULL
 *   -ENOENT  the task has ended, it has had no try of this number, or the
 *            answer does not count
 *   -EPERM   as listed at the top
 */
int tkw_retries_done(struct tkw_retries *rs, struct tkw_retry_id id,
		     int64_t number, int result);

/*
 * Cancels a task.
 *
 * If no try is running, the task ends with -ECANCELED, even if the answer of a
 * try is still awaited. on_end is called inside this call, or on a thread that
 * is working on the task; see struct tkw_retry.
 *
 * If a try is running, it is the last one. When it returns, the task ends with
 * 0 if the try succeeded, and with -ECANCELED if not.
 *
 * Returns 0 if no try is running, 1 if a try is running, or
 *   -EINVAL  rs is NULL
 *   -ENOENT  the task has ended or is ending, so on_end was called or will be
 *            called
 *   -EPERM   as listed at the top
 */
int tkw_retries_cancel(struct tkw_retries *rs, struct tkw_retry_id id);

/* Returns the number of tasks that have not ended; 0 if rs is NULL or in a
 * forked child. */
uint64_t tkw_retries_count(struct tkw_retries *rs);

/*
 * Shuts a set down: it refuses new tasks, and all its tasks end with
 * -ESHUTDOWN.
 *
 * The call never waits. A task whose try is running ends when that try returns,
 * with 0 if the try succeeded.
 *
 * Returns 0, even if the set was shut down before, or
 *   -EINVAL  rs is NULL
 *   -EPERM   as listed at the top
 */
int tkw_retries_shutdown(struct tkw_retries *rs);

/*
 * Shuts a set down, unless that is done already, and frees it.
 *
 * The call waits until all tasks of the set have ended. No other thread may use
 * the set any more. Do not hold a lock that a callback of the set takes.
 *
 * rs  The set. If it is NULL, the call does nothing.
 *
 * Returns 0, or
 *   -EDEADLK  called inside a try or an on_end of the set, or inside a task, an
 *             on-cancel callback or a visitor of the timer
 */
int tkw_retries_destroy(struct tkw_retries *rs);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_RETRY_H */
