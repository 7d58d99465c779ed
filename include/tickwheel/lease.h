/* SPDX-License-Identifier: MIT */
/*
 * lease.h - leases that are kept alive while you hold them: the watchdog of a
 * distributed lock.
 *
 * A lease is something that somebody else has granted for a time: a lock in
 * Redis, a key in etcd, a session. The keeper renews all leases that it has, in
 * batches, each when a third of its time is over, and tells you before one runs
 * out that could not be renewed.
 *
 *   Promise  Nothing is renewed after tkw_leases_release() has returned,
 *            whatever the race. Each lease ends exactly once: released, or
 *            lost. That it is lost is told while it is still yours, by the
 *            local clock, margin_ns before it runs out; unless the answer was
 *            that it is not yours any more.
 *   Time     Nanoseconds on the timer's clock. A lease counts from before it
 *            was asked for, so that it ends here before it ends there. What
 *            is to be told is told by the timer, and so up to a tick late;
 *            margin_ns is not less than that.
 *   Names    A lease is named by a 64-bit id, plain data; when the lease has
 *            ended the id is stale: calls say -ENOENT. No id is 0.
 *   Threads  Every call is legal on any thread, callbacks included, but not in
 *            a signal handler. No lock is held while a callback runs. Do not
 *            call what waits (release, stop, destroy) with a lock of yours
 *            held that a callback takes. A slow on_lost holds up the news of
 *            the next lease.
 *   Life     The timer must outlive the keeper. If it is stopped, nobody renews
 *            any more: all leases are lost with -ESHUTDOWN, and you are told.
 *            The keeper has one timeout on the timer while it has leases. If
 *            the timer does not take the next when one has fired, all leases
 *            are lost for that reason, -EAGAIN or -ENOMEM: you are told, not
 *            forgotten. If the timer's executor drops one, by policy, its work
 *            is done all the same, by who would call its on_cancel.
 *   Fork     In a child of fork() a keeper of the parent's is inert: calls
 *            return -EPERM, tkw_leases_destroy() frees its memory and calls
 *            nobody.
 *
 * Errors, the same everywhere; results are written on success only, and what is
 * refused leaves no trace:
 *   -EINVAL     a bad argument, NULL where something is wanted
 *   -ENOMEM     no memory, or no thread to be had
 *   -EAGAIN     the timer has as many timeouts as it may
 *   -ESHUTDOWN  the keeper or the timer is stopped
 *   -ENOENT     the lease has ended, or there never was one of this id
 *   -ETIMEDOUT  the lease has run out already
 *   -EDEADLK    the call would wait for itself, or might
 *   -EPERM      the keeper belongs to the parent of a fork
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

/* One lease of a batch that is to be renewed. */
struct tkw_lease {
	uint64_t id;
	void *arg;          /* that of tkw_leases_add() */
	int64_t expires_ns; /* if it is not renewed */
	/* Yours to set, -EIO at first. 0: it is renewed, for lease_ns from the
	 * begin of the call; -ESTALE: it is not yours any more, and so it is
	 * lost; else: it could not be renewed now, and is tried again. */
	int result;
};

/* How a keeper shall be; timer, lease_ns and renew must be given. */
struct tkw_leases_config {
	/* sizeof(struct tkw_leases_config); 0: the fields of version 0.1. */
	size_t size;
	struct tkw_timer *timer;
	/*
	 * Who calls renew; NULL: the timer's worker or executor. A renew that
	 * may block needs an executor, such as a pool: on the worker it would
	 * hold up the news that a lease is lost. Copied, but what its ctx
	 * points to must live until the keeper is destroyed.
	 */
	const struct tkw_exec *exec;
	/* For how long a lease is granted, and renewed. Positive. */
	int64_t lease_ns;
	/* When it is renewed, counted from the begin of its last renewal; 0: a
	 * third of lease_ns. Less than lease_ns less margin_ns. */
	int64_t renew_after_ns;
	/* So long before it runs out a lease is lost; 0: a tenth of lease_ns,
	 * but at least two ticks of the timer. It is what you have to put
	 * things down; at least a tick. */
	int64_t margin_ns;
	/* From a renewal that failed to the next; 0: a tenth of lease_ns. */
	int64_t retry_ns;
	/* So much of renew_after_ns, 0 ... 100 percent, is a random part: a
	 * lease is renewed that much earlier. So do not all come at once, where
	 * many were granted together; it has 32 steps. When one is due, those
	 * that are to be renewed within a tenth of renew_after_ns go with it.
	 */
	int jitter_percent;
	/* Of that; 0: any other each time. */
	uint64_t seed;
	/* How many leases a batch has at most; 0: 100. At most 4096. */
	int chunk;
	/*
	 * Renew these, and say of each what came of it. Called with no lease
	 * twice at the same time; with an executor, several batches side by
	 * side. It may take its time, but what is not renewed in time is lost
	 * meanwhile, and its result is then without effect. If the executor
	 * refuses or abandons a batch, or there is no memory for one, that is a
	 * renewal that failed.
	 */
	void (*renew)(void *ctx, struct tkw_lease *leases, size_t count);
	/*
	 * This lease has ended, and you did not release it. Called once, by the
	 * timer's worker or executor, for -ESTALE by who called renew, for
	 * -ESHUTDOWN by who stops the timer. Here arg may be freed, unless a
	 * renew that has not yet returned knows it: see `renewing`. NULL:
	 * nobody is told.
	 *
	 * why     -ETIMEDOUT: it could not be renewed in time; -ESTALE: it is
	 *         somebody else's; -ESHUTDOWN: the timer was stopped; -EAGAIN,
	 *         -ENOMEM: the timer took no timeout, see Life. lease->result
	 *         is the same.
	 * renewing
	 *         not 0: it is in a batch whose renew has not yet returned. A
	 *         tkw_leases_release() elsewhere waits for that.
	 */
	void (*on_lost)(void *ctx, const struct tkw_lease *lease, int why,
			int renewing);
	void *ctx; /* the first argument of both; yours */
};

/*
 * Make a keeper, without leases. Nothing is pending on the timer while it has
 * none.
 *
 * out     written on success; give it to tkw_leases_destroy() in the end.
 * cfg     not kept.
 * Return  0; -EINVAL: NULL, a size unknown to this library, no timer or no
 *         renew, an executor without a function, times that are negative or do
 *         not fit together, a percentage or a chunk out of range; -ENOMEM;
 *         -EPERM.
 */
int tkw_leases_create(struct tkw_leases **out,
		      const struct tkw_leases_config *cfg);

/*
 * Keep a lease that was granted.
 *
 * arg     comes back in struct tkw_lease; yours.
 *         May be NULL.
 * asked_ns
 *         when it was asked for, on the timer's clock: take tkw_timer_now()
 *         before the asking, not after the answer. It runs out lease_ns later.
 * id      written on success, before a callback can name it.
 * Return  0; -EINVAL: NULL, or asked_ns lies in the future; -ETIMEDOUT: it has
 *         run out, or would within margin_ns; -ENOMEM; -EAGAIN; -ESHUTDOWN;
 *         -EPERM.
 */
int tkw_leases_add(struct tkw_leases *k, void *arg, int64_t asked_ns,
		   uint64_t *id);

/*
 * Keep it no more; then give it back to who granted it. If a renew that has it
 * in its batch is running, or an on_lost of it, wait until that has returned. A
 * batch that waits in an executor's queue goes on without it. After 0,
 * -ETIMEDOUT and -ENOENT it is in no batch, and in none that will be made: arg
 * may be freed.
 *
 * Return  0: it was yours until now, by the local clock; -ETIMEDOUT: it had run
 *         out, but the timer is late and has not told you, and will not: it is
 *         released; -ENOENT: it was lost, which was told, or has been released;
 *         -EDEADLK: there is something to wait for, and this is called from a
 *         task, an on-cancel callback or a visitor of the timer, or from renew,
 *         on_lost or the like of any keeper, set or group: nothing changed;
 *         -EINVAL: k is NULL; -EPERM.
 */
int tkw_leases_release(struct tkw_leases *k, uint64_t id);

/* How many leases there are; 0 for NULL and in a forked child. */
uint64_t tkw_leases_count(struct tkw_leases *k);

/*
 * Keep none any more: refuse what is new, forget all leases, and wait until no
 * renew and no on_lost is running. Nobody is told; they run out where they were
 * granted.
 *
 * Return  0; 1: it was stopped, or is being stopped by another thread;
 *         -EDEADLK: called from renew, on_lost, or a task, an on-cancel
 *         callback or a visitor of the timer: nothing changed; -EINVAL: NULL;
 *         -EPERM.
 */
int tkw_leases_stop(struct tkw_leases *k);

/*
 * Stop the keeper if nobody has, and free its memory. No other thread may be
 * using it. (An executor may: a job that is still in its queue finds nothing to
 * do, and holds a piece of memory until it is run or abandoned.)
 *
 * Return  0; -EINVAL: NULL; -EDEADLK as above.
 */
int tkw_leases_destroy(struct tkw_leases *k);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_LEASE_H */
