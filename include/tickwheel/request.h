/* SPDX-License-Identifier: MIT */
/*
 * request.h - requests that are under way: answered, timed out or cancelled,
 * exactly one of them.
 *
 * A client begins a request, sends its id to the server, and completes the
 * request when an answer with that id comes back. If none comes in time, the
 * timer does. Who began it is told by a callback, or waits.
 *
 *   Promise  Each request ends exactly once. Whoever ends it wins, and the
 *            others are told so. An answer cancels the timeout: nothing stays
 *            behind until the deadline.
 *   Names    A request is named by a 64-bit id of the set's own making, plain
 *            data that may come back from anywhere. When the request has ended
 *            the id is stale: calls say -ENOENT, and never touch another
 *            request, nor any other timeout. No id is 0.
 *   Threads  Every call is legal on any thread, callbacks included, but not in
 *            a signal handler. No lock is held while a callback runs.
 *   Life     The timer must outlive the set. If it is stopped, all requests end
 *            with -ESHUTDOWN.
 *   Fork     In a child of fork() a set of the parent's is inert: calls return
 *            -EPERM, tkw_requests_destroy() frees its memory and calls nobody.
 *            (If the set's executor has callbacks in its queue, the memory is
 *            freed when it has abandoned the last of them; not at all if one
 *            was between the queue and its thread when the process forked.)
 *
 * Errors, the same everywhere; results are written on success only, and what is
 * refused leaves no trace:
 *   -EINVAL     a bad argument, NULL where something is wanted
 *   -ENOMEM     no memory, or no thread to be had
 *   -EAGAIN     as many requests, or timeouts of the timer, as there may be;
 *               without a limit, 16 million requests of the threads that
 *               share a part of the set
 *   -ESHUTDOWN  the set or the timer is stopped
 *   -ENOENT     the request has ended, or there never was one of this id
 *   -EDEADLK    the call would wait for itself
 *   -EPERM      the set belongs to the parent of a fork
 */
#ifndef TICKWHEEL_REQUEST_H
#define TICKWHEEL_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/exec.h>
#include <tickwheel/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tkw_requests;

/* How a request has ended. */
struct tkw_request_end {
	uint64_t id;
	/* 0: answered; -ETIMEDOUT; -ECANCELED: by tkw_requests_cancel(), or
	 * the timer has dropped its timeout (TKW_REFUSED_DROP); -ESHUTDOWN: the
	 * set or the timer was stopped. */
	int status;
	/* What tkw_requests_complete() was given; else NULL. */
	void *response;
};

/*
 * Called once, when the request has ended: on the set's executor, or without
 * one on the thread that ended it, inside the call that did; for a timeout that
 * is the timer's worker or executor. If the set's executor refuses or abandons
 * it, the thread that was told so makes the call: it is never left out. The id
 * is stale by then, and the request's place under max_pending is free. The same
 * rules as for a task of the timer; but inside a call of yours the thread is
 * yours, and must not be cancelled there.
 */
typedef void tkw_request_fn(void *arg, const struct tkw_request_end *end);

/* How a set shall be; timer must be given. */
struct tkw_requests_config {
	/* sizeof(struct tkw_requests_config); 0: the fields of version 0.1. */
	size_t size;
	struct tkw_timer *timer;
	/* Who makes the callbacks; NULL: see tkw_request_fn. Copied, but what
	 * its ctx points to must live until the set is destroyed. */
	const struct tkw_exec *exec;
	/* How many requests may be under way; <= 0: no limit. Those count that
	 * have ended and are still to be waited for, or that the executor has
	 * in its queue. */
	int64_t max_pending;
};

/*
 * Make a set. It starts no thread.
 *
 * out     written on success; give it to tkw_requests_destroy() in the end.
 * cfg     not kept.
 * Return  0; -EINVAL: NULL, a size unknown to this library, no timer, an
 *         executor without a function; -ENOMEM; -EPERM: the timer belongs to
 *         the parent of a fork.
 */
int tkw_requests_create(struct tkw_requests **out,
			const struct tkw_requests_config *cfg);

/*
 * Begin a request.
 *
 * fn      told of its end; NULL: somebody will call tkw_requests_wait() for it,
 *         once, and until then it holds its memory.
 * arg     fn's; yours.
 * timeout_ns
 *         from now. <= 0: on the next turn of the timer, never inside this
 *         call. Beyond the end of time: never.
 * id      written on success, before fn can be called.
 * Return  0; -EINVAL: NULL for rs or id; -ENOMEM; -EAGAIN; -ESHUTDOWN; -EPERM.
 */
int tkw_requests_begin(struct tkw_requests *rs, tkw_request_fn *fn, void *arg,
		       int64_t timeout_ns, uint64_t *id);

/*
 * An answer has come. The timeout is cancelled, and who began the request is
 * told.
 *
 * response
 *         handed on as it is, to whom it belongs from now on; may be NULL.
 * Return  0; -ENOENT: too late, or never asked: response is still yours;
 *         -EINVAL: rs is NULL; -EPERM.
 */
int tkw_requests_complete(struct tkw_requests *rs, uint64_t id, void *response);

/*
 * The answer is not wanted any more. Who began the request is told.
 *
 * Return  0; -ENOENT: it has ended; -EINVAL: rs is NULL; -EPERM.
 */
int tkw_requests_cancel(struct tkw_requests *rs, uint64_t id);

/*
 * Wait for the end of a request that was begun without fn, and end its memory.
 * One thread may, once for each request; not that of the event loop which runs
 * the timer, or by which it is turned by hand: nobody else could end it in
 * time.
 *
 * end     written on success.
 * Return  0; -ENOENT: no such request, or it was waited for before; -EBUSY:
 *         another thread waits for it; -EINVAL: NULL, or it has an fn;
 *         -EDEADLK: it has not ended yet, and this is a task of its timer,
 *         which might have to end it; -EPERM.
 */
int tkw_requests_wait(struct tkw_requests *rs, uint64_t id,
		      struct tkw_request_end *end);

/* How many requests are under way, as max_pending counts them; 0 for NULL and
 * in a forked child. It takes the lock of each part of the set. */
uint64_t tkw_requests_pending(struct tkw_requests *rs);

/*
 * End the set: refuse what is new, and end all requests that are under way with
 * -ESHUTDOWN; those who wait are told. A callback that another thread is about
 * to make may still be on its way.
 *
 * Return  0; 1: it was stopped before, or is being stopped by another thread,
 * for which this call does not wait; -EINVAL: NULL; -EPERM, also in a child
 *         that a callback of this call has forked.
 */
int tkw_requests_stop(struct tkw_requests *rs);

/*
 * Stop the set if nobody has, wait for callbacks that the timer or the executor
 * is about to make, or makes, and free all its memory. No other thread may be
 * using it, or wait for a request.
 *
 * Return  0; -EINVAL: NULL; -EDEADLK: called from one of its callbacks, or from
 *         a task, an on-cancel or a visitor of its timer: nothing changed. (Not
 *         noticed: a job of its executor that keeps its callbacks waiting.)
 */
int tkw_requests_destroy(struct tkw_requests *rs);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_REQUEST_H */
