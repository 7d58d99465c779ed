/* SPDX-License-Identifier: MIT */
/*
 * request.h - match answers to requests, with timeouts
 *
 * A client adds a request to a set, sends the id of the request to the server,
 * and completes the request when an answer with that id comes back. If no
 * answer comes in time, the request times out. A request can also be cancelled.
 * The client gets the result in a callback, or waits for it with
 * tkw_requests_wait().
 *
 *   Promise  Each request ends exactly once. If an answer, a cancel and the
 *            timeout come at the same time, one of them ends the request, and
 *            calls that come too late return -ENOENT. An answer removes the
 *            timeout of the request from the timer at once.
 *   Ids      A struct tkw_request_id names a request. It is plain data: you may
 *            keep it for ever, send it to a server and receive it back. When
 *            the request has ended, its id is stale: calls with a stale id
 *            return -ENOENT and never touch another request or timeout. The
 *            exception is a request without a callback: after it has ended,
 *            tkw_requests_wait() still accepts its id, once.
 *   Threads  Any thread may make any call, even inside a callback, but not in a
 *            signal handler. No lock is held while a callback runs.
 *   Limits   A set consists of parts: two for each CPU that the process may
 *            use, rounded up to a power of two, at most 64. A thread adds all
 *            its requests to one part, which it may share with other threads.
 *            Each part holds about 16.7 million requests. max_pending limits
 *            the whole set.
 *   Life     Destroy the set before the timer. If the timer is stopped, all
 *            requests end with -ESHUTDOWN.
 *   Fork     In a child of fork(), a set of the parent does nothing, and calls
 *            return -EPERM. There, tkw_requests_destroy() frees the memory and
 *            calls no callback. If the set's executor has callbacks in its
 *            queue, the memory is freed later, when the executor has abandoned
 *            the last of them. If the executor had taken a callback out of its
 *            queue when the process forked, but had not called it yet, the
 *            memory is never freed.
 *
 * A call that fails changes nothing and writes no result, unless its
 * description says otherwise.
 *
 * Errors, the same in every call of this header:
 *   -EINVAL     an argument is not valid, or is NULL where NULL is not allowed
 *   -ENOMEM     there is not enough memory, or no thread can be created
 *   -EAGAIN     the set has max_pending requests, the calling thread's part of
 *               the set is full, or the timer has max_pending timeouts
 *   -ESHUTDOWN  the set is shut down, or the timer is stopped
 *   -ENOENT     the request has ended, or no request ever had this id
 *   -EBUSY      another thread waits for the request
 *   -EDEADLK    the call might wait for ever, because it is made inside a
 *               callback
 *   -EPERM      the set or its timer belongs to the parent of a fork
 *   -EBADF      the timer's file descriptor was closed; see Fds in timer.h
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

/* The id of a request. It works like struct tkw_timeout_id, but is a type of
 * its own, so that the compiler does not let you mix up the two. */
struct tkw_request_id {
	uint64_t bits;
};

/* Says how a request has ended. It is passed to the callback, or written by
 * tkw_requests_wait(). */
struct tkw_request_end {
	struct tkw_request_id id;
	/*
	 * The result:
	 *   0           the request was answered
	 *   -ETIMEDOUT  no answer came in time
	 *   -ECANCELED  tkw_requests_cancel() ended the request, or the timer
	 *               dropped its timeout, see TKW_REFUSED_DROP in timer.h
	 *   -ESHUTDOWN  the set was shut down, or the timer was stopped
	 */
	int status;
	/* The response that was passed to tkw_requests_complete(). NULL if the
	 * request was not answered. */
	void *response;
};

/*
 * Called once, when a request has ended. By then the id is stale, and the
 * request does not count towards max_pending any more.
 *
 * If the set has an executor, the callback runs there. If that executor refuses
 * or abandons the callback, the callback runs on the thread on which this
 * happens. So it is always called.
 *
 * If the set has no executor, the callback runs inside the call that ends the
 * request, with two exceptions. If the request times out, the callback runs on
 * the timer's worker or executor. If the timer drops the timeout of the request
 * (see TKW_REFUSED_DROP in timer.h), the callback runs on the thread that drops
 * the timeout.
 *
 * The rules of tkw_task_fn in timer.h apply, with one difference: if the
 * callback runs inside a call of yours, pthread_cancel() can end the thread in
 * the callback. Do not cancel that thread while a callback may be running.
 *
 * end  How the request has ended. It is valid while the callback runs.
 * ctx  The ctx of tkw_requests_add().
 */
typedef void tkw_request_fn(const struct tkw_request_end *end, void *ctx);

/* The settings of a set. timer is required. In all other fields, zero means the
 * default. */
struct tkw_requests_config {
	/* sizeof(struct tkw_requests_config). 0 means the size of the struct in
	 * version 0.2. */
	size_t size;
	struct tkw_timer *timer;
	/* The executor that runs the callbacks. If it is NULL, they run where
	 * the description of tkw_request_fn says. The struct is copied. What
	 * its ctx points to must stay valid until the set is destroyed. */
	const struct tkw_exec *exec;
	/* How many requests the set may hold. 0 or less means no limit. A
	 * request that has ended counts until somebody has waited for it or its
	 * callback begins. */
	int64_t max_pending;
};

/*
 * Creates a set without requests.
 *
 * The call starts no thread.
 *
 * out  Receives the set. Destroy it with tkw_requests_destroy().
 * cfg  The settings. They are copied.
 *
 * Returns 0, or
 *   -EINVAL  an argument or timer is NULL, cfg has a size or fields that this
 *            library does not know, or exec has no submit
 *   -ENOMEM, -EPERM
 *            as listed at the top
 */
int tkw_requests_create(struct tkw_requests **out,
			const struct tkw_requests_config *cfg);

/*
 * Adds a request to a set.
 *
 * fn          Called when the request ends. If it is NULL, some thread must
 *             call tkw_requests_wait() once for the request. Until then the
 *             request keeps its memory.
 * ctx         Passed to fn.
 * timeout_ns  The time from now after which the request times out. With 0 or
 *             less, the request times out in the next turn of the timer, never
 *             inside this call. If now + timeout_ns is TKW_NEVER_NS or more,
 *             the request never times out.
 * id          Receives the id. It is written before fn can be called.
 *
 * Returns 0, or
 *   -EINVAL  rs or id is NULL
 *   -ENOMEM, -EAGAIN, -ESHUTDOWN, -EPERM, -EBADF
 *            as listed at the top
 */
int tkw_requests_add(struct tkw_requests *rs, tkw_request_fn *fn, void *ctx,
		     int64_t timeout_ns, struct tkw_request_id *id);

/*
 * Ends a request with an answer.
 *
 * The request ends with the status 0. The call also cancels its timeout.
 *
 * response  Passed to the callback, or to the caller of tkw_requests_wait(). It
 *           belongs to the receiver from then on. The set does not look at it.
 *           May be NULL.
 *
 * Returns 0, or
 *   -EINVAL  rs is NULL
 *   -ENOENT  the request has ended, or no request ever had this id; response
 *            still belongs to the caller
 *   -EPERM   as listed at the top
 */
int tkw_requests_complete(struct tkw_requests *rs, struct tkw_request_id id,
			  void *response);

/*
 * Cancels a request: ends it without an answer.
 *
 * The request ends with the status -ECANCELED.
 *
 * Returns 0, or
 *   -EINVAL  rs is NULL
 *   -ENOENT  the request has ended, or no request ever had this id
 *   -EPERM   as listed at the top
 */
int tkw_requests_cancel(struct tkw_requests *rs, struct tkw_request_id id);

/*
 * Waits until a request has ended, and frees its memory.
 *
 * The request must have been added without fn. Only one thread may wait for a
 * request, and only once.
 *
 * Do not call this on the thread that drives the timer: the thread of your
 * event loop, or the one that calls tkw_timer_turn(). While that thread waits,
 * no request can time out. The library notices this mistake only inside
 * callbacks.
 *
 * end  Receives the result.
 *
 * Returns 0, or
 *   -EINVAL   rs or end is NULL, or the request has an fn
 *   -ENOENT   no request has this id, or somebody has waited for it before
 *   -EBUSY    another thread waits for the request
 *   -EDEADLK  the request has not ended, and the call is made inside a task, an
 *             on-cancel callback or a visitor of the timer
 *   -EPERM    as listed at the top
 */
int tkw_requests_wait(struct tkw_requests *rs, struct tkw_request_id id,
		      struct tkw_request_end *end);

/* Returns the number of requests, counted as for max_pending; 0 if rs is NULL
 * or in a forked child. The call takes the lock of each part of the set. */
uint64_t tkw_requests_count(struct tkw_requests *rs);

/*
 * Shuts a set down: it refuses new requests, and all its requests end with
 * -ESHUTDOWN.
 *
 * The call never waits. The callback of a request may come after this call has
 * returned, if the set has an executor or another thread is ending the request.
 *
 * Returns 0, even if the set was shut down before or another thread is shutting
 * it down, or
 *   -EINVAL  rs is NULL
 *   -EPERM   as listed at the top
 */
int tkw_requests_shutdown(struct tkw_requests *rs);

/*
 * Shuts a set down, unless that is done already, and frees it.
 *
 * The call waits for callbacks that the timer or the executor still has to
 * make. No other thread may use the set any more, or wait for a request. Do not
 * hold a lock that a callback of the set takes.
 *
 * Do not call this inside a job of the set's executor if callbacks of the set
 * may have to wait for that job. The library does not notice this mistake.
 *
 * rs  The set. If it is NULL, the call does nothing.
 *
 * Returns 0, or
 *   -EDEADLK  called inside a callback of the set, or inside a task, an
 *             on-cancel callback or a visitor of the timer
 */
int tkw_requests_destroy(struct tkw_requests *rs);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_REQUEST_H */
