/* SPDX-License-Identifier: MIT */
/*
 * retry.h - try until it succeeds.
 *
 * A group holds tasks that are tried, after a delay, again and again, until one
 * of them succeeds, is given up or is cancelled. The defaults are those of
 * Dubbo's failback: every five seconds, 100 tasks at most.
 *
 *   Promise  Each task that was accepted ends exactly once, and is told how. Of
 *            one task never two tries run at the same time.
 *   Names    A task is named by a 64-bit id, plain data; when the task has
 *            ended the id is stale: calls say -ENOENT. No id is 0.
 *   Threads  Every call is legal on any thread, inside of tries and callbacks
 *            too, but not in a signal handler. No lock is held while one of
 *            them runs. Tries run on the timer's worker or executor.
 *   Life     The timer must outlive the group. If it is stopped, all tasks end
 *            with -ESHUTDOWN.
 *   Fork     In a child of fork() a group of the parent's is inert: calls
 *            return -EPERM, tkw_retries_destroy() frees its memory and calls
 *            nobody. A child that a try forks may return from the try; an
 *            on_end must not return in a child.
 *
 * Errors, the same everywhere; results are written on success only, and what is
 * refused leaves no trace:
 *   -EINVAL     a bad argument, NULL where something is wanted
 *   -ENOMEM     no memory, or no thread to be had
 *   -EAGAIN     as many tasks, or timeouts of the timer, as there may be
 *   -ESHUTDOWN  the group or the timer is stopped
 *   -ENOENT     the task has ended, or there never was one of this id
 *   -EDEADLK    the call would wait for itself
 *   -EPERM      the group belongs to the parent of a fork
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

/* How a group shall be; timer must be given. */
struct tkw_retries_config {
	/* sizeof(struct tkw_retries_config); 0: the fields of version 0.1. */
	size_t size;
	struct tkw_timer *timer;
	/* From the end of a try to the begin of the next; 0: 5 s. */
	int64_t delay_ns;
	/* Each delay is so many percent of the one before, 100 ... 1000; 0:
	 * 100, always the same. 200 doubles it. */
	int backoff_percent;
	/* No delay grows beyond this; 0: ten times delay_ns. */
	int64_t max_delay_ns;
	/* So much of each delay, 0 ... 100 percent, is a random part: it is
	 * evenly in (delay - part, delay]. So do not all come back at once. */
	int jitter_percent;
	/* Of that; 0: any other each time. */
	uint64_t seed;
	/* How often a task is tried; <= 0: for ever. */
	int64_t tries;
	/* How many tasks there may be at a time; 0: 100. At most 2^20. */
	int64_t max_tasks;
};

/* What shall be tried. It is copied. */
struct tkw_retry {
	/*
	 * A try. The same rules as for a task of the timer.
	 *
	 * number  1 for the first.
	 * Return  0: it has succeeded; else it is tried again.
	 */
	int (*fn)(void *arg, int64_t number);
	void *arg; /* yours */
	/*
	 * The task has ended; called once, or NULL. Here arg may be freed. On
	 * the timer's worker or executor after a try, else inside of the call
	 * that ends the task. Its place among max_tasks is free afterwards.
	 *
	 * how     0: it has succeeded; -ETIMEDOUT: it was tried as often as the
	 *         group allows; -ECANCELED: by tkw_retries_cancel(), or the
	 *         timer's executor has dropped a try; -ESHUTDOWN: the group or
	 *         the timer was stopped; -EAGAIN, -ENOMEM: the timer did not
	 *         take the next try.
	 */
	void (*on_end)(void *arg, int how);
};

/*
 * Make a group. It starts no thread. Its memory is for max_tasks tasks.
 *
 * out     written on success; give it to tkw_retries_destroy() in the end.
 * cfg     not kept.
 * Return  0; -EINVAL: NULL, a size unknown to this library, no timer, a
 *         negative delay, a back-off, jitter or number of tasks out of range,
 *         max_delay_ns negative or less than the delay; -ENOMEM; -EPERM.
 */
int tkw_retries_create(struct tkw_retries **out,
		       const struct tkw_retries_config *cfg);

/*
 * Accept a task.
 *
 * first_ns
 *         the first try comes after this; <= 0: on the next turn of the timer,
 *         never inside this call. Who has tried once, in vain, gives the
 *         group's delay.
 * id      written on success; may be NULL.
 * Return  0; -EINVAL: NULL, or no fn; -ENOMEM; -EAGAIN; -ESHUTDOWN; -EPERM.
 */
int tkw_retries_add(struct tkw_retries *g, const struct tkw_retry *task,
		    int64_t first_ns, uint64_t *id);

/*
 * Give a task up.
 *
 * Return  0: it is not tried any more, and on_end is told -ECANCELED: inside of
 *         this call, or, if a try was just to begin or has just ended, by the
 *         timer;
 *         1: a try is running now, and is the last one: when it ends, on_end is
 *         told 0 if it has succeeded, else -ECANCELED;
 *         -ENOENT: it has ended, or is ending: on_end was told, or will be;
 *         -EINVAL: g is NULL; -EPERM.
 */
int tkw_retries_cancel(struct tkw_retries *g, uint64_t id);

/* How many tasks have not ended; 0 for NULL and in a forked child. */
uint64_t tkw_retries_pending(struct tkw_retries *g);

/*
 * Refuse what is new, and end all tasks with -ESHUTDOWN: at once, or, if a try
 * is running, when that has ended in vain. Does not wait for those.
 *
 * Return  0; 1: it was stopped before; -EINVAL: NULL; -EPERM.
 */
int tkw_retries_stop(struct tkw_retries *g);

/*
 * Stop the group if nobody has, wait until all its tasks have ended, and free
 * its memory. No other thread may be using it.
 *
 * Return  0; -EINVAL: NULL; -EDEADLK: called from a task of the timer, to which
 *         tries belong, or from an on_end: nothing changed.
 */
int tkw_retries_destroy(struct tkw_retries *g);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_RETRY_H */
