/* SPDX-License-Identifier: MIT */
/*
 * request.h - requests that are under way: each is answered, times out or is
 * cancelled, exactly one of them.
 *
 * A client adds a request, sends its id to the server, and completes the
 * request when an answer with that id comes back. If none comes in time, the
 * timer ends it. The caller is told by a callback, or waits with
 * tkw_requests_wait().
 *
 *   Promise  Each request ends exactly once. Whoever ends it wins, and the
 *            others get -ENOENT. An answer cancels the timeout: nothing stays
 *            behind until the deadline.
 *   Ids      A request is named by a struct tkw_request_id, plain data that may
 *            come back from anywhere. When the request has ended the id is
 *            stale: calls return -ENOENT, and never touch another request, nor
 *            any other timeout.
 *   Threads  Every call is legal on any thread, callbacks included, but not in
 *            a signal handler. No lock is held while a callback runs.
 *   Life     The timer must outlive the set. If it is stopped, all requests end
 *            with -ESHUTDOWN.
 *   Fork     In a child of a fork a set of the parent is inert: calls return
 *            -EPERM, tkw_requests_destroy() frees its memory and calls nobody.
 *            (If the set's executor has callbacks in its queue, the memory is
 *            freed when it has abandoned the last of them; not at all if one
 *            was between the queue and its thread when the process forked.)
 *
 * Errors, the same everywhere; results are written on success only, and a
 * refused call leaves no trace:
 *   -EINVAL     a bad argument, NULL where something is wanted
 *   -ENOMEM     no memory, or no thread to be had
 *   -EAGAIN     as many requests, or timeouts of the timer, as there may be;
 *               without a limit, 16 million in each part of the set (it has as
 *               many parts as a timer has shards)
 *   -ESHUTDOWN  the set is shut down, or the timer is stopped
 *   -ENOENT     the request has ended, or there never was one of this id
 *   -EDEADLK    the call would wait for itself
 *   -EPERM      the set belongs to the parent of a fork
 *   -EBADF      somebody has closed the timer's file descriptor, see timer.h
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

/* The name of a request: as struct tkw_timeout_id, but another type, so that
 * one cannot be taken for the other. */
struct tkw_request_id {
	uint64_t bits;
};

/* How a request has ended. */
struct tkw_request_end {
	struct tkw_request_id id;
	/* 0: answered; -ETIMEDOUT; -ECANCELED: by tkw_requests_cancel(), or
	 * the timer has dropped its timeout (TKW_REFUSED_DROP); -ESHUTDOWN: the
	 * set was shut down, or the timer stopped. */
	int status;
	/* What tkw_requests_complete() was given; else NULL. */
	void *response;
};

/*
 * Called once, when the request has ended: on the set's executor, or without
 * one on the thread that ended it, inside the call that did; for a timeout that
 * is the timer's worker or executor. If the set's executor refuses or abandons
 * it, the thread on which that happens makes the call: it is never left out.
 * The id is stale by then, and the request's place under max_pending is free.
 * The rules of a task apply; inside a call of yours the thread is yours, and
 * must not be cancelled meanwhile.
 */
typedef void tkw_request_fn(const struct tkw_request_end *end, void *ctx);

/* How a set shall be; timer must be given. */
struct tkw_requests_config {
	/* sizeof(struct tkw_requests_config); 0: the fields of version 0.2. */
	size_t size;
	struct tkw_timer *timer;
	/* Who makes the callbacks; NULL: see tkw_request_fn. Copied, but what
	 * its ctx points to must live until the set is destroyed. */
	const struct tkw_exec *exec;
	/* How many requests may be under way; <= 0: no limit. Requests that
	 * have ended count until they were waited for, or until the executor
	 * has made their callback. */
	int64_t max_pending;
};

/*
 * Make a set. It starts no thread.
 *
 * out     written on success; give it to tkw_requests_destroy() in the end.
 * cfg     not kept.
 * Return  0; -EINVAL: NULL, a size that this library does not know, no timer,
 *         an executor without a function; -ENOMEM; -EPERM: the timer belongs to
 *         the parent of a fork.
 */
int tkw_requests_create(struct tkw_requests **out,
			const struct tkw_requests_config *cfg);

/*
 * Add a request, which is under way from now on.
 *
 * fn      called when it ends; NULL: somebody will call tkw_requests_wait() for
 *         it, once, and until then it holds its memory.
 * ctx     fn's; yours.
 * timeout_ns
 *         from now. <= 0: on the next turn of the timer, never inside this
 *         call. Beyond the end of time: never.
 * id      written on success, before fn can be called.
 * Return  0; -EINVAL: NULL for rs or id; -ENOMEM; -EAGAIN; -ESHUTDOWN; -EPERM.
 */
int tkw_requests_add(struct tkw_requests *rs, tkw_request_fn *fn, void *ctx,
		     int64_t timeout_ns, struct tkw_request_id *id);

/*
 * An answer has come. The timeout is cancelled, and the request ends with
 * status 0.
 *
 * response
 *         passed on as it is; may be NULL. Its new owner is whoever is told.
 * Return  0; -ENOENT: too late, or never asked: response is still yours;
 *         -EINVAL: rs is NULL; -EPERM.
 */
int tkw_requests_complete(struct tkw_requests *rs, struct tkw_request_id id,
			  void *response);

/*
 * The answer is not wanted any more: the request ends with -ECANCELED.
 *
 * Return  0; -ENOENT: it has ended; -EINVAL: rs is NULL; -EPERM.
 */
int tkw_requests_cancel(struct tkw_requests *rs, struct tkw_request_id id);

/*
 * Wait for the end of a request that was added without fn, and free its memory.
 * One thread may do so, once for each request. Not the thread that drives the
 * timer by an event loop or by hand: nobody else could end the request in time.
 *
 * end     written on success.
 * Return  0; -ENOENT: no such request, or it was waited for before; -EBUSY:
 *         another thread waits for it; -EINVAL: NULL, or it has an fn;
 *         -EDEADLK: it has not ended yet, and this is a task of its timer,
 *         which might have to end it; -EPERM.
 */
int tkw_requests_wait(struct tkw_requests *rs, struct tkw_request_id id,
		      struct tkw_request_end *end);

/* How many requests are under way, as max_pending counts them; 0 for NULL and
 * in a forked child. It takes the lock of each part of the set. */
uint64_t tkw_requests_count(struct tkw_requests *rs);

/*
 * Refuse what is new, and end all requests that are under way with -ESHUTDOWN.
 * Never waits: a callback that another thread is about to make may still be on
 * its way.
 *
 * Return  0: it is shut down, by this call or before, or another thread is at
 *         it; -EINVAL: NULL; -EPERM.
 */
int tkw_requests_shutdown(struct tkw_requests *rs);

/*
 * Shut the set down if nobody has, wait for callbacks that the timer or the
 * executor is about to make, or makes, and free all its memory. No other thread
 * may be using it, or wait for a request.
 *
 * rs      NULL is legal, and does nothing.
 * Return  0; -EDEADLK: called from one of its callbacks, or from a task, an
 *         on-cancel or a visitor of its timer: nothing changed. (Not noticed: a
 *         job of its executor that keeps its callbacks waiting.)
 */
int tkw_requests_destroy(struct tkw_requests *rs);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_REQUEST_H */
