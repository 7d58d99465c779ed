/* SPDX-License-Identifier: MIT */
/*
 * retry.h - try until it succeeds.
 *
 * A set holds tasks. Each is tried again and again, after a delay, until it
 * succeeds, is given up or is cancelled. A try answers at once, or
 * later by tkw_retries_done(), so that an RPC with back-off is one task. The
 * defaults are those of Dubbo's failback: every five seconds, 100 tasks.
 *
 *   Promise  Each task that was accepted ends exactly once, and its on_end says
 *            how. Two tries of one task are never under way at the same time.
 *   Ids      A task is named by a struct tkw_retry_id, plain data. When the
 *            task has ended the id is stale: calls return -ENOENT.
 *   Threads  Every call is legal on any thread, inside tries and callbacks too,
 *            but not in a signal handler. No lock is held while one of them
 *            runs. Tries run on the timer's worker or executor.
 *   Life     The timer must outlive the set. If the timer is stopped, all tasks
 *            end with -ESHUTDOWN. If its executor drops a try (see
 *            TKW_REFUSED_DROP), the task ends with -ECANCELED.
 *   Fork     In a child of a fork a set of the parent is inert: calls return
 *            -EPERM, tkw_retries_destroy() frees its memory and calls nobody.
 *
 * Errors, the same everywhere; results are written on success only, and a
 * refused call leaves no trace:
 *   -EINVAL     a bad argument, NULL where something is wanted
 *   -ENOMEM     no memory, or no thread to be had
 *   -EAGAIN     as many tasks, or timeouts of the timer, as there may be
 *   -ESHUTDOWN  the set is shut down, or the timer is stopped
 *   -ENOENT     the task has ended, or there never was one of this id
 *   -EDEADLK    the call would wait for itself
 *   -EPERM      the set belongs to the parent of a fork
 *   -EBADF      somebody has closed the timer's file descriptor, see timer.h
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

/* The name of a task: as struct tkw_timeout_id, but another type, so that one
 * cannot be taken for the other. */
struct tkw_retry_id {
	uint64_t bits;
};

/* How a set shall be; timer must be given. */
struct tkw_retries_config {
	/* sizeof(struct tkw_retries_config); 0: the fields of version 0.2. */
	size_t size;
	struct tkw_timer *timer;
	/* From the end of a try to the begin of the next; 0: 5 s. */
	int64_t delay_ns;
	/* Each delay is this many percent of the one before, rounded down, but
	 * at least one ns longer: 100 ... 1000; 0 or 100: always the same. 200
	 * doubles it. */
	int backoff_percent;
	/* No delay grows beyond this; 0: ten times delay_ns. */
	int64_t max_delay_ns;
	/* How much of each delay is random, 0 ... 100 percent: the delay is
	 * shortened by a random part of that size, so that tasks which failed
	 * together do not all come back at once. */
	int jitter_percent;
	/* Seed for the jitter. 0 picks a random seed. */
	uint64_t seed;
	/* How long a try that answers later may take; then it has failed. 0: as
	 * long as it likes. */
	int64_t try_timeout_ns;
	/* How often a task is tried; <= 0: for ever. */
	int64_t max_tries;
	/* How many tasks there may be at a time; 0: 100. At most 2^20. */
	int64_t max_tasks;
};

/* Passed to a try. Valid while it runs. */
struct tkw_try {
	struct tkw_retries *retries;
	struct tkw_retry_id id;
	int64_t number; /* 1 for the first try */
};

/* What a try returns if it will answer later, by tkw_retries_done(): a number
 * that no try returns by accident. */
#define TKW_TRY_LATER 0x17e2

/* How a task has ended. */
struct tkw_retry_end {
	struct tkw_retry_id id;
	/* 0: it has succeeded; -ETIMEDOUT: it was tried as often as the set
	 * allows; -ECANCELED: by tkw_retries_cancel(), or the timer's executor
	 * has dropped a try; -ESHUTDOWN: the set was shut down, or the timer
	 * stopped; -EAGAIN, -ENOMEM, -EBADF: the timer did not take the next
	 * try. */
	int status;
	int64_t tries; /* that were made */
};

/* What shall be tried. It is copied. */
struct tkw_retry {
	/*
	 * A try. The rules of a task apply.
	 *
	 * Return  0: it has succeeded; TKW_TRY_LATER: tkw_retries_done() will
	 *         tell; any other value: it has failed, and is tried again.
	 */
	int (*fn)(const struct tkw_try *attempt, void *ctx);
	/*
	 * Called once, when the task has ended, or NULL. What ctx points to may
	 * be freed here. The thread is that which is just busy with the task:
	 * the timer's worker or executor, or one in tkw_retries_done(); if none
	 * is, that of the call which ends the task. The place among max_tasks
	 * is free afterwards.
	 */
	void (*on_end)(const struct tkw_retry_end *end, void *ctx);
	void *ctx; /* the last argument of both; yours */
};

/*
 * Make a set. It starts no thread.
 *
 * out     written on success; give it to tkw_retries_destroy() in the end.
 * cfg     not kept.
 * Return  0; -EINVAL: NULL, a size that this library does not know, no timer, a
 *         negative time, a back-off, jitter or number of tasks out of range,
 *         max_delay_ns less than the delay; -ENOMEM; -EPERM.
 */
int tkw_retries_create(struct tkw_retries **out,
		       const struct tkw_retries_config *cfg);

/*
 * Add a task.
 *
 * first_ns
 *         the delay before the first try; <= 0: on the next turn of the timer,
 *         never inside this call. If you have tried once yourself, and failed,
 *         pass the set's delay_ns.
 * id      written on success; may be NULL.
 * Return  0; -EINVAL: NULL, or no fn; -ENOMEM; -EAGAIN; -ESHUTDOWN; -EPERM.
 */
int tkw_retries_add(struct tkw_retries *rs, const struct tkw_retry *task,
		    int64_t first_ns, struct tkw_retry_id *id);

/*
 * The answer of a try that returned TKW_TRY_LATER. It may come before the try
 * has returned. A success ends the task, whichever of its tries it answers; a
 * failure counts only for the try that is under way.
 *
 * number  which try, as in struct tkw_try.
 * result  0: it has succeeded; any other value: it has failed.
 * Return  0; -ENOENT: the task has ended, or (a failure) that try is over;
 *         -EINVAL: rs is NULL; -EPERM.
 */
int tkw_retries_done(struct tkw_retries *rs, struct tkw_retry_id id,
		     int64_t number, int result);

/*
 * Give a task up. A try whose answer is awaited is over at once.
 *
 * Return  0: it is not tried any more, and on_end gets -ECANCELED: inside this
 *         call, or by the thread that is just busy with the task: the timer's,
 *         or one in tkw_retries_done();
 *         1: a try is running now, and is the last one: when it returns, on_end
 *         gets 0 if it has succeeded, else -ECANCELED;
 *         -ENOENT: it has ended, or is ending: on_end was called, or will be;
 *         -EINVAL: rs is NULL; -EPERM.
 */
int tkw_retries_cancel(struct tkw_retries *rs, struct tkw_retry_id id);

/* How many tasks have not ended; 0 for NULL and in a forked child. */
uint64_t tkw_retries_count(struct tkw_retries *rs);

/*
 * Refuse what is new, and end all tasks with -ESHUTDOWN: at once, or, if a try
 * is running, when it has returned; if that has succeeded, with 0. Never waits
 * for those.
 *
 * Return  0: it is shut down, by this call or before; -EINVAL: NULL; -EPERM.
 */
int tkw_retries_shutdown(struct tkw_retries *rs);

/*
 * Shut the set down if nobody has, wait until all its tasks have ended, and
 * free its memory. No other thread may be using it.
 *
 * rs      NULL is legal, and does nothing.
 * Return  0; -EDEADLK: called from a task of the timer, to which tries belong,
 *         or from an on_end: nothing changed.
 */
int tkw_retries_destroy(struct tkw_retries *rs);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_RETRY_H */
