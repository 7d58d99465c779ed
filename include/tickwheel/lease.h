/* SPDX-License-Identifier: MIT */
/*
 * lease.h - keep leases (distributed locks) alive while you hold them
 *
 * A lease is something that a server grants you for a limited time: a lock in
 * Redis, a key in etcd, a session. The set renews its leases in batches, each
 * lease when a third of its time is over. If a lease cannot be renewed, the set
 * tells you before it runs out.
 *
 *   Promise  A lease is never renewed after tkw_leases_release() has returned.
 *            Each lease ends exactly once: either you release it, or it is
 *            lost. When a lease is lost, on_lost is called once for it. This
 *            happens while the lease is still yours on the local clock,
 *            margin_ns before it runs out. The exception is a lease that a
 *            renewal found to be no longer yours.
 *   Time     Nanoseconds on the timer's clock. The time of a lease counts from
 *            before you asked for it, so it runs out here before it runs out on
 *            the server. The timer can tell you up to one tick late; margin_ns
 *            is at least one tick. Create the timer with TKW_CLOCK_BOOTTIME,
 *            because a lease also runs out while the machine is suspended.
 *   Ids      A struct tkw_lease_id names a lease. It is plain data and may be
 *            copied. After the lease has ended, its id is stale: calls with it
 *            return -ENOENT.
 *   Threads  Any thread may make any call, also inside a callback, but not in a
 *            signal handler. No lock is held while a callback runs. A slow
 *            on_lost delays the on_lost of the next lease.
 *   Life     Destroy the set before the timer. If the timer is stopped, all
 *            leases are lost: on_lost is called for each of them with
 *            -ESHUTDOWN, or with -ETIMEDOUT if no more than margin_ns was left.
 *            tkw_leases_shutdown() and tkw_leases_destroy() call on_lost with
 *            -ESHUTDOWN for each lease of the set.
 *   Refusal  A set with leases has one timeout on the timer. After each firing
 *            the set asks for the next one. If the timer refuses it, all leases
 *            are lost, and on_lost is called with the error of the timer:
 *            -EAGAIN, -ENOMEM or -EBADF. If the timer's executor drops the
 *            timeout, its work is done all the same, on the thread where the
 *            drop happens.
 *   Fork     In a child process after fork(), a set of the parent is unusable:
 *            calls return -EPERM. In the child, tkw_leases_destroy() frees the
 *            memory and calls no callback.
 *
 * A call that returns an error has changed nothing and has written no result,
 * unless its description says otherwise.
 *
 * Errors, the same in every call of this header:
 *   -EINVAL     an argument is not valid, or is NULL where NULL is not allowed
 *   -ENOMEM     there is no memory, or a thread could not be started
 *   -EAGAIN     the timer has as many timeouts as it may have, or the set has
 *               about 16.7 million leases
 *   -ESHUTDOWN  the set is shut down, or the timer is stopped
 *   -ENOENT     the lease has ended, or no lease ever had this id
 *   -ETIMEDOUT  the lease has run out
 *   -EDEADLK    the call was made inside a callback, where waiting could
 *               deadlock
 *   -EPERM      the set or its timer was created by the parent of a fork
 *   -EBADF      the timer's file descriptor was closed, see Fds in timer.h
 */
#ifndef TICKWHEEL_LEASE_H
#define TICKWHEEL_LEASE_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/exec.h>
#include <tickwheel/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tkw_leases;

/* Names a lease. It works like struct tkw_timeout_id, but is a type of its own,
 * so that the compiler does not let you mix up the two. */
struct tkw_lease_id {
	uint64_t bits;
};

/* One lease of a batch that is to be renewed. */
struct tkw_lease {
	struct tkw_lease_id id;
	/* The data of tkw_leases_add(). */
	void *data;
	/* When the lease runs out if it is not renewed. */
	int64_t expires_ns;
	/*
	 * Set by renew. It is -EIO when renew is called.
	 *   0        the lease is renewed for lease_ns, counted from the moment
	 *            when renew was called
	 *   -ESTALE  the lease is no longer yours, so it is lost
	 * Any other value means that the lease could not be renewed now. It is
	 * tried again after retry_ns.
	 */
	int result;
};

/* Passed to on_lost. It says how a lease was lost. */
struct tkw_lease_end {
	struct tkw_lease_id id;
	/*
	 * The reason:
	 *   -ETIMEDOUT  the lease could not be renewed in time
	 *   -ESTALE     a renewal found out that the lease is no longer yours
	 *   -ESHUTDOWN  the set was shut down or destroyed, or the timer was
	 *               stopped
	 *   -EAGAIN, -ENOMEM, -EBADF
	 *               the timer refused a timeout; see Refusal at the top
	 */
	int status;
	/* The data of tkw_leases_add(). */
	void *data;
	/* When the lease runs out. */
	int64_t expires_ns;
	/* Not 0 if the lease is in a batch whose renew has not returned yet.
	 * tkw_leases_release() on another thread waits for that renew. */
	int renewing;
};

/* Configuration of a set. timer, lease_ns and renew are required. */
struct tkw_leases_config {
	/* sizeof(struct tkw_leases_config). 0 means the size of the struct in
	 * version 0.2. */
	size_t size;
	struct tkw_timer *timer;
	/*
	 * The executor that calls renew. NULL means that the timer's worker or
	 * executor does. If renew can block, pass an executor here, for example
	 * a pool. On the timer's worker a renew that blocks would delay
	 * on_lost. The struct is copied, but what its ctx points to must stay
	 * valid until the set is destroyed.
	 */
	const struct tkw_exec *exec;
	/* How long a lease lasts after it was granted or renewed. Must be
	 * positive. */
	int64_t lease_ns;
	/* The time after which a lease is renewed. It counts from the start of
	 * the last renewal, and at first from asked_ns. 0 means a third of
	 * lease_ns. Must be less than lease_ns - margin_ns. */
	int64_t renew_after_ns;
	/* How long before expiry you are told that a lease is lost. Must be at
	 * least one tick of the timer. 0 means a tenth of lease_ns, but at
	 * least two ticks. */
	int64_t margin_ns;
	/* The time from a renewal that failed to the next attempt. 0 means a
	 * tenth of lease_ns. */
	int64_t retry_ns;
	/* The part of renew_after_ns that is random, 0 to 100 percent. A lease
	 * is renewed earlier by a random amount of at most this part, so that
	 * leases that were granted together are not all renewed at the same
	 * moment. The amount is one of 32 steps. When a lease is due, all
	 * leases that would be due within a tenth of renew_after_ns are renewed
	 * with it. */
	int jitter_percent;
	/* Seed for the jitter. 0 picks a random seed. */
	uint64_t seed;
	/* The largest number of leases in a batch, at most 4096. 0 means
	 * 100. */
	int max_batch;
	/*
	 * Renews a batch of leases and sets the result of each. A lease is
	 * never in two calls at the same time. With an executor, several
	 * batches can run at the same time.
	 *
	 * renew may take long, but a lease that is not renewed in time is lost
	 * in the meantime, and its result then has no effect. If the executor
	 * refuses or abandons a batch, or there is no memory for a batch, the
	 * renewal counts as failed.
	 *
	 * leases  The batch. It is valid while renew runs.
	 * count   The number of leases in the batch.
	 */
	void (*renew)(struct tkw_lease *leases, size_t count, void *ctx);
	/*
	 * Called once for each lease that ends without being released. If it is
	 * NULL, you are not told. What data points to may be freed here if
	 * renewing is 0. If renewing is not 0, a running renew still uses it.
	 *
	 * on_lost runs on the timer's worker or executor, with two exceptions.
	 * For -ESTALE it runs on the thread that called renew. For -ESHUTDOWN
	 * it runs inside the call that shuts down the set or stops the timer.
	 * (If the set's timeout is firing when the timer is stopped, on_lost
	 * still runs on the timer's worker or executor.)
	 */
	void (*on_lost)(const struct tkw_lease_end *end, void *ctx);
	/* Passed to both functions as their last argument. */
	void *ctx;
};

/*
 * Creates a set without leases. A set without leases has no timeout on the
 * timer.
 *
 * out  Receives the set. Pass it to tkw_leases_destroy() in the end.
 * cfg  The configuration. It is copied.
 *
 * Returns 0, or
 *   -EINVAL  an argument, timer or renew is NULL, size is unknown, the executor
 *            has no submit function, a time is negative or breaks a rule of
 *            struct tkw_leases_config, or jitter_percent or max_batch is out of
 *            range
 *   -ENOMEM, -EPERM
 *            as listed at the top
 */
int tkw_leases_create(struct tkw_leases **out,
		      const struct tkw_leases_config *cfg);

/*
 * Adds a lease that was granted. From now on the set keeps it alive.
 *
 * data      Passed back to the callbacks. May be NULL.
 * asked_ns  When you asked for the lease, on the timer's clock. Read
 *           tkw_timer_now_ns() before you ask, not after the answer. The lease
 *           runs out lease_ns after this time.
 * id        Receives the id. It is written before a callback can use it.
 *
 * Returns 0, or
 *   -EINVAL     ls or id is NULL, or asked_ns lies in the future
 *   -ETIMEDOUT  the lease has run out, or will within margin_ns
 *   -ENOMEM, -EAGAIN, -ESHUTDOWN, -EPERM, -EBADF
 *               as listed at the top
 */
int tkw_leases_add(struct tkw_leases *ls, void *data, int64_t asked_ns,
		   struct tkw_lease_id *id);

/*
 * Stops renewing a lease and removes it from the set. Give the lease back to
 * the server after this call, not before.
 *
 * If a renew with this lease in its batch is running, or an on_lost for this
 * lease, the call waits until that callback has returned. Do not hold a lock
 * that a callback of the set takes. A batch that waits in an executor's queue
 * is renewed without this lease.
 *
 * After 0, -ETIMEDOUT and -ENOENT no callback uses the lease any more, and what
 * data points to may be freed.
 *
 * Returns 0 if the lease was still yours on the local clock, or
 *   -EINVAL     ls is NULL
 *   -ETIMEDOUT  the lease had run out, but the timer was late, so that on_lost
 *               was not called; the lease is released now, and on_lost will not
 *               be called for it
 *   -ENOENT     the lease was lost, or was released before
 *   -EDEADLK    there is a callback to wait for, and this call is made inside a
 *               callback of any set or repeat, or inside a task, an on-cancel
 *               callback or a visitor of the timer; nothing has changed
 *   -EPERM      as listed at the top
 */
int tkw_leases_release(struct tkw_leases *ls, struct tkw_lease_id id);

/* Returns the number of leases in the set; 0 if ls is NULL, and in a forked
 * child. */
uint64_t tkw_leases_count(struct tkw_leases *ls);

/*
 * Refuses new leases and renews none any more. All leases are lost, and on_lost
 * is called for each of them with -ESHUTDOWN inside this call. The call never
 * waits. A renew that is running ends in its own time. On the server the leases
 * stay until they run out.
 *
 * Returns 0, also if the set was shut down before, or
 *   -EINVAL  ls is NULL
 *   -EPERM   as listed at the top
 */
int tkw_leases_shutdown(struct tkw_leases *ls);

/*
 * Shuts the set down if that has not been done, waits until no renew and no
 * on_lost runs, and frees its memory. No other thread may be using the set. Do
 * not hold a lock that a callback of the set takes.
 *
 * The set's executor may still have jobs of the set in its queue. They do
 * nothing, and each keeps a piece of memory until it is run or abandoned.
 *
 * ls  The set. If it is NULL, the call does nothing.
 *
 * Returns 0, or
 *   -EDEADLK  called inside renew or on_lost of the set, or inside a task, an
 *             on-cancel callback or a visitor of the timer; nothing has changed
 */
int tkw_leases_destroy(struct tkw_leases *ls);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_LEASE_H */
