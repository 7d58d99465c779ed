/* SPDX-License-Identifier: MIT */
/*
 * lease.h - leases that are kept alive while you hold them: the watchdog of a
 * distributed lock.
 *
 * A lease is something that somebody else has granted for a time: a lock in
 * Redis, a key in etcd, a session. The set renews all leases that it has, in
 * batches, each when a third of its time is over, and tells you before one runs
 * out that could not be renewed.
 *
 *   Promise  Nothing is renewed after tkw_leases_release() has returned,
 *            whatever the race. Each lease ends exactly once: released, or
 *            lost. You are told that it is lost while it is still yours by the
 *            local clock, margin_ns before it runs out; except when the answer
 *            was that it is not yours any more.
 *   Time     Nanoseconds on the timer's clock. A lease counts from before it
 *            was asked for, so that it ends here before it ends there. The
 *            timer tells you up to a tick late; margin_ns is not less than
 *            that. Use a timer with TKW_CLOCK_BOOTTIME, so that the time in
 *            which the machine is suspended counts.
 *   Ids      A lease is named by a struct tkw_lease_id, plain data. When the
 *            lease has ended the id is stale: calls return -ENOENT.
 *   Threads  Every call is legal on any thread, callbacks included, but not in
 *            a signal handler. No lock is held while a callback runs. Do not
 *            call what waits (release, destroy) while you hold a lock that a
 *            callback takes. A slow on_lost delays the news of the next lease.
 *   Life     The timer must outlive the set. If it is stopped, nobody renews
 *            any more: all leases are lost with -ESHUTDOWN. The set has one
 *            timeout on the timer while it has leases. If the timer refuses the
 *            next one after it has fired, all leases are lost with its error,
 *            -EAGAIN or -ENOMEM. If the timer's executor drops it, its work is
 *            done all the same, by the thread that would call its on_cancel.
 *   Fork     In a child of a fork a set of the parent is inert: calls return
 *            -EPERM, tkw_leases_destroy() frees its memory and calls nobody.
 *
 * Errors, the same everywhere; results are written on success only, and a
 * refused call leaves no trace:
 *   -EINVAL     a bad argument, NULL where something is wanted
 *   -ENOMEM     no memory, or no thread to be had
 *   -EAGAIN     the timer has as many timeouts as it may
 *   -ESHUTDOWN  the set is shut down, or the timer is stopped
 *   -ENOENT     the lease has ended, or there never was one of this id
 *   -ETIMEDOUT  the lease has run out already
 *   -EDEADLK    the call would wait for itself, or might
 *   -EPERM      the set belongs to the parent of a fork
 *   -EBADF      somebody has closed the timer's file descriptor, see timer.h
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

/* The name of a lease: as struct tkw_timeout_id, but another type, so that one
 * cannot be taken for the other. */
struct tkw_lease_id {
	uint64_t bits;
};

/* One lease of a batch that is to be renewed. */
struct tkw_lease {
	struct tkw_lease_id id;
	void *data;         /* that of tkw_leases_add() */
	int64_t expires_ns; /* if it is not renewed */
	/* Yours to set, -EIO at first. 0: it is renewed, for lease_ns from the
	 * begin of the call; -ESTALE: it is not yours any more, and so it is
	 * lost; any other value: it could not be renewed now, and is tried
	 * again. */
	int result;
};

/* How a lease was lost. */
struct tkw_lease_end {
	struct tkw_lease_id id;
	/* -ETIMEDOUT: it could not be renewed in time; -ESTALE: it is somebody
	 * else's; -ESHUTDOWN: the set was shut down, or the timer stopped;
	 * -EAGAIN, -ENOMEM, -EBADF: the timer took no timeout, see Life. */
	int status;
	void *data;         /* that of tkw_leases_add() */
	int64_t expires_ns; /* when it runs out */
	/* Not 0: it is in a batch whose renew has not yet returned. A
	 * tkw_leases_release() on another thread waits for that. */
	int renewing;
};

/* How a set shall be; timer, lease_ns and renew must be given. */
struct tkw_leases_config {
	/* sizeof(struct tkw_leases_config); 0: the fields of version 0.2. */
	size_t size;
	struct tkw_timer *timer;
	/*
	 * Who calls renew; NULL: the timer's worker or executor. A renew that
	 * may block needs an executor, such as a pool: on the worker it would
	 * hold up the news that a lease is lost. Copied, but what its ctx
	 * points to must live until the set is destroyed.
	 */
	const struct tkw_exec *exec;
	/* For how long a lease is granted, and renewed. Positive. */
	int64_t lease_ns;
	/* When a lease is renewed, counted from the begin of its last renewal;
	 * 0: a third of lease_ns. Less than lease_ns less margin_ns. */
	int64_t renew_after_ns;
	/* How long before expiry you are told that a lease is lost. At least
	 * one tick of the timer; 0: a tenth of lease_ns, but at least two
	 * ticks. */
	int64_t margin_ns;
	/* From a renewal that failed to the next; 0: a tenth of lease_ns. */
	int64_t retry_ns;
	/* How much of renew_after_ns is random, 0 ... 100 percent: a lease is
	 * renewed earlier by a random part of that size, in 32 steps, so that
	 * leases which were granted together are not all renewed at once. When
	 * one is due, those that are to be renewed within a tenth of
	 * renew_after_ns go with it. */
	int jitter_percent;
	/* Seed for the jitter. 0 picks a random seed. */
	uint64_t seed;
	/* How many leases a batch has at most; 0: 100. At most 4096. */
	int max_batch;
	/*
	 * Renew these, and say in each one's result what came of it. No lease
	 * is in two calls at the same time; with an executor, several batches
	 * run side by side. It may take its time, but a lease that is not
	 * renewed in time is lost meanwhile, and its result then has no effect.
	 * If the executor refuses or abandons a batch, or there is no memory
	 * for one, that counts as a renewal that failed.
	 */
	void (*renew)(struct tkw_lease *leases, size_t count, void *ctx);
	/*
	 * A lease has ended, and you did not release it. Called once for it, by
	 * the timer's worker or executor; for -ESTALE by the thread that called
	 * renew; for -ESHUTDOWN by the thread that shuts down or stops. What
	 * data points to may be freed here, unless `renewing` says that a renew
	 * still knows it. NULL: nobody is told.
	 */
	void (*on_lost)(const struct tkw_lease_end *end, void *ctx);
	void *ctx; /* the last argument of both; yours */
};

/*
 * Make a set, without leases. Nothing is pending on the timer while it has
 * none.
 *
 * out     written on success; give it to tkw_leases_destroy() in the end.
 * cfg     not kept.
 * Return  0; -EINVAL: NULL, a size that this library does not know, no timer or
 *         no renew, an executor without a function, times that are negative or
 *         do not fit together, a percentage or max_batch out of range;
 *         -ENOMEM; -EPERM.
 */
int tkw_leases_create(struct tkw_leases **out,
		      const struct tkw_leases_config *cfg);

/*
 * Add a lease that was granted, to be kept alive.
 *
 * data    comes back in the callbacks; yours. May be NULL.
 * asked_ns
 *         when it was asked for, on the timer's clock: take tkw_timer_now_ns()
 *         before the asking, not after the answer. It runs out lease_ns later.
 * id      written on success, before a callback can name it.
 * Return  0; -EINVAL: NULL, or asked_ns lies in the future; -ETIMEDOUT: it has
 *         run out, or would within margin_ns; -ENOMEM; -EAGAIN; -ESHUTDOWN;
 *         -EPERM.
 */
int tkw_leases_add(struct tkw_leases *ls, void *data, int64_t asked_ns,
		   struct tkw_lease_id *id);

/*
 * Renew a lease no more. Afterwards give it back to whoever granted it. If a
 * renew that has it in its batch is running, or an on_lost of it, wait until
 * that has returned. A batch that waits in an executor's queue goes on without
 * it. After 0, -ETIMEDOUT and -ENOENT no callback knows the lease any more:
 * what data points to may be freed.
 *
 * Return  0: it was yours until now, by the local clock; -ETIMEDOUT: it had run
 *         out, but the timer is late and has not told you, and will not: it is
 *         released; -ENOENT: it was lost, and you were told, or it has been
 *         released; -EDEADLK: there is something to wait for, and this is
 *         called from a task, an on-cancel callback or a visitor of the timer,
 *         or from a callback of any set or repeat: nothing changed;
 *         -EINVAL: ls is NULL; -EPERM.
 */
int tkw_leases_release(struct tkw_leases *ls, struct tkw_lease_id id);

/* How many leases there are; 0 for NULL and in a forked child. */
uint64_t tkw_leases_count(struct tkw_leases *ls);

/*
 * Refuse new leases and renew none any more: all are lost with -ESHUTDOWN, and
 * on_lost is called for each inside this call. Never waits: a renew that runs
 * now ends in its own time. The leases run out where they were granted.
 *
 * Return  0: it is shut down, by this call or before; -EINVAL: NULL; -EPERM.
 */
int tkw_leases_shutdown(struct tkw_leases *ls);

/*
 * Shut the set down if nobody has, wait until no renew and no on_lost runs, and
 * free its memory. No other thread may be using it. (An executor may: a job
 * that is still in its queue finds nothing to do, and holds a piece of memory
 * until it is run or abandoned.)
 *
 * ls      NULL is legal, and does nothing.
 * Return  0; -EDEADLK: called from renew, on_lost, or a task, an on-cancel
 *         callback or a visitor of the timer: nothing changed.
 */
int tkw_leases_destroy(struct tkw_leases *ls);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_LEASE_H */
