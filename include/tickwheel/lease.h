/* SPDX-License-Identifier: MIT */
/*
 * lease.h - keep leases (distributed locks) alive while you hold them
 *
 * A lease is something that a server grants you for a limited time: a lock in
 * Redis, a key in etcd, a session. A set renews its leases in batches, each
 * lease when a third of its time is over. If a lease cannot be renewed, the set
 * tells you before the lease runs out.
 *
 *   Promise  A lease is never renewed after tkw_leases_release() has returned.
 *            Each lease ends exactly once: either you release it, or it is
 *            lost. When a lease is lost, on_lost is called once for it, at the
 *            latest when margin_ns is left. If the timer is late, this call is
 *            late too. When it begins, the lease is still yours on the local
 *            clock, unless the call comes margin_ns late or more, or a renewal
 *            found that the lease is no longer yours.
 *   Time     Times are nanoseconds on the timer's clock. The time of a lease
 *            counts from the moment when you asked for it, so it runs out here
 *            before it runs out on the server. The timer may tell you up to one
 *            tick late, so margin_ns is at least one tick. Create the timer
 *            with TKW_CLOCK_BOOTTIME, because a lease also runs out while the
 *            machine is suspended.
 *   Ids      A struct tkw_lease_id names a lease. It is plain data, and you may
 *            keep it for ever. When the lease has ended, its id is stale: calls
 *            with a stale id return -ENOENT and never touch another lease.
 *   Threads  Any thread may make any call, even inside a callback, but not in a
 *            signal handler. No lock is held while a callback runs. A slow
 *            on_lost delays the on_lost of the next lease.
 *   Life     Destroy the set before the timer. If the timer is stopped, all
 *            leases are lost: on_lost is called for each of them with
 *            -ESHUTDOWN, or with -ETIMEDOUT if no more than margin_ns was left.
 *            tkw_leases_shutdown() and tkw_leases_destroy() call on_lost with
 *            -ESHUTDOWN for each lease of the set.
 *   Refusal  A set with leases has one timeout on the timer. Each time that it
 *            fires, the set schedules the next one. If the timer refuses this
 *            timeout, all leases are lost, and on_lost is called with the error
 *            of the timer: -EAGAIN, -ENOMEM or -EBADF. If the timer drops the
 *            timeout (see TKW_REFUSED_DROP in timer.h), the set does its work
 *            all the same, on the thread that drops the timeout.
 *   Fork     In a child of fork(), a set of the parent does nothing, and calls
 *            return -EPERM. There, tkw_leases_destroy() frees the memory and
 *            calls no callback.
 *
 * A call that fails changes nothing and writes no result, unless its
 * description says otherwise.
 *
 * Errors, the same in every call of this header:
 *   -EINVAL     an argument is not valid, or is NULL where NULL is not allowed
 *   -ENOMEM     there is not enough memory, or no thread can be created
 *   -EAGAIN     the timer has max_pending timeouts, or the set has about 16.7
 *               million leases
 *   -ESHUTDOWN  the set is shut down, or the timer is stopped
 *   -ENOENT     the lease has ended, or no lease ever had this id
 *   -ETIMEDOUT  the lease has run out
 *   -EDEADLK    the call might wait for ever, because it is made inside a
 *               callback
 *   -EPERM      the set or its timer belongs to the parent of a fork
 *   -EBADF      the timer's file descriptor was closed; see Fds in timer.h
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

/* The id of a lease. It works like struct tkw_timeout_id, but is a type of its
 * own, so that the compiler does not let you mix up the two. */
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
	 * The result of the renewal. It is -EIO when renew is called, and renew
	 * sets it.
	 *   0        the lease is renewed for lease_ns, counted from the moment
	 *            when renew was called
	 *   -ESTALE  the lease is no longer yours, so it is lost
	 * Any other value means that the renewal failed. The set tries again
	 * after retry_ns.
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
	/* Not 0 if the lease is in a batch whose renew has not returned yet. To
	 * wait for that renew, call tkw_leases_release() outside of all
	 * callbacks. */
	int renewing;
};

/* The settings of a set. timer, lease_ns and renew are required. In all other
 * fields, zero means the default. */
struct tkw_leases_config {
	/* sizeof(struct tkw_leases_config). 0 means the size of the struct in
	 * version 0.2. */
	size_t size;
	struct tkw_timer *timer;
	/*
	 * The executor that calls renew. If it is NULL, renew is called by the
	 * timer's worker or executor, or by the thread that drops the set's
	 * timeout; see Refusal at the top. If renew can block, pass an
	 * executor, for example a pool, because a renew that blocks the timer's
	 * worker delays on_lost.
	 * The struct is copied. What its ctx points to must stay valid until
	 * the set is destroyed.
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
	/* How long after a failed renewal the set tries again. 0 means a tenth
	 * of lease_ns. */
	int64_t retry_ns;
	/* The part of renew_after_ns that is random, 0 to 100 percent. A lease
	 * is renewed earlier by a random amount of at most this part, so that
	 * leases that were granted together are not all renewed at the same
	 * moment. The amount is one of 32 values. When a lease is due, all
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
	 * renew may take long. But if it takes too long for a lease, that lease
	 * is lost while renew runs, and its result has no effect. If the
	 * executor refuses or abandons a batch, or there is no memory for a
	 * batch, the renewal has failed.
	 *
	 * leases  The batch. It is valid while renew runs.
	 * count   The number of leases in the batch.
	 */
	void (*renew)(struct tkw_lease *leases, size_t count, void *ctx);
	/*
	 * Called once for each lease that ends without being released. May be
	 * NULL. It may free what data points to if renewing is 0. If renewing
	 * is not 0, a running renew still uses it.
	 *
	 * on_lost runs on the timer's worker or executor, with three
	 * exceptions. For -ESTALE it runs on the thread that called renew. If
	 * the timer drops the set's timeout, it runs on the thread that drops
	 * the timeout. When the set is shut down or the timer is stopped, it
	 * runs inside the call that does this. But if the set's timeout is
	 * firing when the timer is stopped, on_lost runs on the timer's worker
	 * or executor.
	 */
	void (*on_lost)(const struct tkw_lease_end *end, void *ctx);
	/* Passed to both functions as the last argument. */
	void *ctx;
};

/*
 * Creates a set without leases.
 *
 * A set without leases has no timeout on the timer.
 *
 * out  Receives the set. Destroy it with tkw_leases_destroy().
 * cfg  The settings. They are copied.
 *
 * Returns 0, or
 *   -EINVAL  an argument, timer or renew is NULL, cfg has a size or fields that
 *            this library does not know, exec has no submit, a time is negative
 *            or breaks a rule of struct tkw_leases_config, or jitter_percent or
 *            max_batch is out of range
 *   -ENOMEM, -EPERM
 *            as listed at the top
 */
int tkw_leases_create(struct tkw_leases **out,
		      const struct tkw_leases_config *cfg);

/*
 * Adds a lease that was granted to you. The set then keeps it alive.
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
 * Removes a lease from a set, which then renews it no more.
 *
 * Give the lease back to the server after this call, not before.
 *
 * If renew is running for a batch with this lease, or on_lost is running for
 * this lease, the call waits until that callback has returned. Do not hold a
 * lock that a callback of the set takes. A batch that waits in an executor's
 * queue is renewed without this lease.
 *
 * When the call has returned 0, -ETIMEDOUT or -ENOENT, no callback uses the
 * lease any more, and you may free what data points to.
 *
 * Returns 0 if the lease was still yours on the local clock, or
 *   -EINVAL     ls is NULL
 *   -ETIMEDOUT  the lease had run out, but the timer was late and had not
 *               called on_lost yet; the lease is released now, and on_lost is
 *               not called for it
 *   -ENOENT     the lease was lost, or was released before
 *   -EDEADLK    the call would have to wait, and is made inside a callback of
 *               any set or repeat, or inside a task, an on-cancel callback or a
 *               visitor of the timer
 *   -EPERM      as listed at the top
 */
int tkw_leases_release(struct tkw_leases *ls, struct tkw_lease_id id);

/* Returns the number of leases in the set; 0 if ls is NULL or in a forked
 * child. */
uint64_t tkw_leases_count(struct tkw_leases *ls);

/*
 * Shuts a set down: it refuses new leases, and all its leases are lost.
 *
 * Inside this call, on_lost is called with -ESHUTDOWN for each lease. The call
 * never waits. A renew that is running goes on until it returns. On the server,
 * the leases last until they run out.
 *
 * Returns 0, even if the set was shut down before, or
 *   -EINVAL  ls is NULL
 *   -EPERM   as listed at the top
 */
int tkw_leases_shutdown(struct tkw_leases *ls);

/*
 * Shuts a set down, unless that is done already, and frees it.
 *
 * The call waits until no renew and no on_lost runs. No other thread may use
 * the set any more. Do not hold a lock that a callback of the set takes.
 *
 * The set's executor may still have jobs of the set in its queue. They do
 * nothing, and each keeps a piece of memory until it is run or abandoned.
 *
 * ls  The set. If it is NULL, the call does nothing.
 *
 * Returns 0, or
 *   -EDEADLK  called inside renew or on_lost of the set, or inside a task, an
 *             on-cancel callback or a visitor of the timer
 */
int tkw_leases_destroy(struct tkw_leases *ls);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_LEASE_H */
