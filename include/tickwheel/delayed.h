/* SPDX-License-Identifier: MIT */
/*
 * delayed.h - wait until a condition holds, or until the time is over
 *
 * A server often cannot answer at once. A consumer asks for 10 KB and there are
 * only 3; a write must be confirmed by two replicas. Such an operation is added
 * to a set, with a function that says whether its condition holds now, and with
 * the keys on which the condition depends. Whoever changes something then calls
 * tkw_delayed_event() with its key, and the set asks each operation that
 * watches this key. An operation completes when its condition holds. It expires
 * when its time is over before that.
 *
 *   Promise  Each operation ends exactly once, and on_end is called once. If an
 *            event, the timeout, a cancel and a shutdown come at the same time,
 *            one of them ends the operation. When on_end is called, the
 *            operation is no longer in the list of any key, and the timer has
 *            no timeout for it.
 *   Events   First make the change, then call tkw_delayed_event(). No event is
 *            lost: if it comes while an operation is being added, or while
 *            another thread asks it, the operation is asked again.
 *   Keys     A key is a number of 64 bits. If your keys are texts, pass a hash
 *            of them. Two texts with the same hash do no harm: an operation is
 *            asked once more than needed, and says that its condition does not
 *            hold.
 *   Ids      A struct tkw_delayed_id names an operation that waits. It is plain
 *            data, and you may keep it for ever. When the operation has ended,
 *            its id is stale: calls with a stale id return -ENOENT and never
 *            touch another operation.
 *   Threads  Any thread may make any call, even inside a callback, but not in a
 *            signal handler. No lock is held while a callback runs. An event
 *            inside a callback asks the operations inside that callback, so a
 *            chain of such events needs a deep stack.
 *   Limits   max_pending limits the whole set. Besides, a set consists of 8 to
 *            128 parts, and the first key of an operation chooses its part. A
 *            part holds about 16.7 million operations.
 *   Life     Destroy the set before the timer. If the timer is stopped, all
 *            operations end with -ESHUTDOWN.
 *   Fork     In a child of fork(), a set of the parent does nothing, and calls
 *            return -EPERM. There, tkw_delayed_destroy() frees the memory and
 *            calls no callback.
 *
 * A call that fails changes nothing and writes no result, unless its
 * description says otherwise.
 *
 * Errors, the same in every call of this header:
 *   -EINVAL     an argument is not valid, or is NULL where NULL is not allowed
 *   -ENOMEM     there is not enough memory, or no thread can be created
 *   -EAGAIN     the set has max_pending operations, the part of the first key
 *               is full, or the timer has max_pending timeouts
 *   -ESHUTDOWN  the set is shut down, or the timer is stopped
 *   -ENOENT     the operation has ended, or no operation ever had this id
 *   -EDEADLK    the call might wait for ever, because it is made inside a
 *               callback
 *   -EPERM      the set or its timer belongs to the parent of a fork
 *   -EBADF      the timer's file descriptor was closed; see Fds in timer.h
 */
#ifndef TICKWHEEL_DELAYED_H
#define TICKWHEEL_DELAYED_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest number of keys that an operation can watch. */
#define TKW_DELAYED_MAX_KEYS 1024

struct tkw_delayed;

/* The id of an operation that waits. It works like struct tkw_timeout_id, but
 * is a type of its own, so that the compiler does not let you mix up the two.
 * No operation has bits 0. */
struct tkw_delayed_id {
	uint64_t bits;
};

/* Says how an operation has ended. It is passed to on_end. */
struct tkw_delayed_end {
	/* Its bits are 0 if the operation completed inside
	 * tkw_delayed_add() and never waited. */
	struct tkw_delayed_id id;
	/*
	 * The result:
	 *   0           the operation completed: its condition holds
	 *   -ETIMEDOUT  it expired: the time was over first
	 *   -ECANCELED  tkw_delayed_cancel() ended it, or the timer dropped its
	 *               timeout, see TKW_REFUSED_DROP in timer.h
	 *   -ESHUTDOWN  the set was shut down, or the timer was stopped
	 */
	int status;
};

/* An operation. It is copied. */
struct tkw_delayed_op {
	/*
	 * Tells whether the condition holds now: returns 0 for "not yet", and
	 * any other value for "it holds". Then the operation completes, even if
	 * its time has run out or it was cancelled while the function ran. So
	 * the function may take what the operation waits for. Must not be NULL.
	 *
	 * It is called inside tkw_delayed_add() and tkw_delayed_event(), by one
	 * thread at a time for each operation. It should be quick. If it makes
	 * an event on a key of its own operation, it is called again when it
	 * has returned. If it did so each time, it would be called for ever.
	 */
	int (*holds)(void *ctx);
	/*
	 * Called once, when the operation has ended. By then the id is stale,
	 * holds is not running and is not called any more, and the operation
	 * does not count towards max_pending. It may free what ctx points to.
	 * Must not be NULL.
	 *
	 * It runs inside the call that ends the operation, with these
	 * exceptions. If the operation expires, or the timer drops its timeout,
	 * on_end runs on the timer's worker or executor. If holds is running
	 * when the operation expires or is ended by a call, on_end runs on the
	 * thread of holds. If an event completes the operation just when its
	 * time is over, on_end may run on the timer's worker, with status 0.
	 *
	 * The rules of tkw_task_fn in timer.h apply to both functions, with one
	 * difference: if a function runs inside a call of yours,
	 * pthread_cancel() can end the thread in the function. Do not cancel
	 * that thread while a function may be running.
	 */
	void (*on_end)(const struct tkw_delayed_end *end, void *ctx);
	/* Passed to both functions as the last argument. */
	void *ctx;
	/* The keys that the operation watches. They are copied. If a key is
	 * given twice, an event may ask the operation twice. */
	const uint64_t *keys;
	/* The number of keys, from 1 to TKW_DELAYED_MAX_KEYS. The set allocates
	 * memory for each operation with more than one key. */
	size_t key_count;
	/* The time from now after which the operation expires. With 0 or less,
	 * it expires in the next turn of the timer, never inside the add. If
	 * now + timeout_ns is TKW_NEVER_NS or more, it never expires. */
	int64_t timeout_ns;
};

/* The settings of a set. timer is required. In all other fields, zero means the
 * default. */
struct tkw_delayed_config {
	/* sizeof(struct tkw_delayed_config). 0 means the size of the struct in
	 * version 0.2. */
	size_t size;
	struct tkw_timer *timer;
	/* How many operations may wait. 0 or less means no limit. */
	int64_t max_pending;
};

/*
 * Creates a set without operations.
 *
 * The call starts no thread.
 *
 * out  Receives the set. Destroy it with tkw_delayed_destroy().
 * cfg  The settings. They are copied.
 *
 * Returns 0, or
 *   -EINVAL  an argument or timer is NULL, or cfg has a size or fields that
 *            this library does not know
 *   -ENOMEM, -EPERM
 *            as listed at the top
 */
int tkw_delayed_create(struct tkw_delayed **out,
		       const struct tkw_delayed_config *cfg);

/*
 * Adds an operation to a set, unless its condition holds already.
 *
 * The call first asks whether the condition holds. If it does, the operation
 * completes inside this call, and uses neither the timer nor any memory. If
 * not, the operation begins to wait, and is asked once more if an event may
 * have come meanwhile.
 *
 * If the call fails, on_end is not called, but holds may have been called.
 *
 * id  Receives the id, before on_end can be called for an operation that
 *     waits. Its bits are 0 if the condition held at once. May be NULL.
 *
 * Returns 0 if the operation waits, or has waited and ended meanwhile; 1 if its
 * condition held at once, and on_end has been called; or
 *   -EINVAL  d or op is NULL, or a field of op is not valid
 *   -ENOMEM, -EAGAIN, -ESHUTDOWN, -EPERM, -EBADF
 *            as listed at the top
 */
int tkw_delayed_add(struct tkw_delayed *d, const struct tkw_delayed_op *op,
		    struct tkw_delayed_id *id);

/*
 * Tells a set that something has changed, and asks each operation that watches
 * the key whether its condition holds now.
 *
 * The operations are asked one after the other, the one that was asked longest
 * ago first. If the condition of one holds, its on_end is called before the
 * next one is asked. The call does not wait for operations that other threads
 * are asking: those threads ask them again. In the same way, if other threads
 * make events on a key without a pause, this call may ask an operation of the
 * key again and again. It does not ask operations that are added while it runs,
 * because they have seen the change.
 *
 * Returns how many operations this call has completed, at most INT_MAX, or
 *   -EINVAL  d is NULL
 *   -EPERM   as listed at the top
 */
int tkw_delayed_event(struct tkw_delayed *d, uint64_t key);

/*
 * Cancels an operation.
 *
 * If holds is not running for the operation, it ends with -ECANCELED inside
 * this call. If holds is running, the operation ends when holds has returned:
 * with 0 if the condition holds, and with -ECANCELED if not.
 *
 * Returns 0 if the operation has ended, 1 if holds is running, or
 *   -EINVAL  d is NULL
 *   -ENOENT  the operation has ended or is ending, so on_end was called or will
 *            be called, or no operation ever had this id
 *   -EPERM   as listed at the top
 */
int tkw_delayed_cancel(struct tkw_delayed *d, struct tkw_delayed_id id);

/* Returns the number of operations that wait; 0 if d is NULL or in a forked
 * child. The call takes the lock of each part of the set. */
uint64_t tkw_delayed_count(struct tkw_delayed *d);

/* The ledger of a set. Each operation that was added is counted in exactly one
 * of the next five fields. */
struct tkw_delayed_ledger {
	uint64_t added;     /* all operations that were ever accepted */
	uint64_t completed; /* ended with 0 */
	uint64_t expired;   /* ended with -ETIMEDOUT */
	uint64_t cancelled; /* ended with -ECANCELED */
	uint64_t shut_down; /* ended with -ESHUTDOWN */
	uint64_t pending;   /* not ended */
	/* The number of entries in the lists of all keys, and of keys that have
	 * a list. Both are 0 when nothing waits. */
	uint64_t watches;
	uint64_t keys;
};

/*
 * Gets the ledger of a set.
 *
 * The ledger balances at every moment, because it is read while all locks of
 * the set are held: added = completed + expired + cancelled + shut_down +
 * pending.
 *
 * out  Receives the ledger.
 *
 * Returns 0, or
 *   -EINVAL  d or out is NULL
 *   -EPERM   as listed at the top
 */
int tkw_delayed_get_ledger(struct tkw_delayed *d,
			   struct tkw_delayed_ledger *out);

/*
 * Shuts a set down: it refuses new operations, and all its operations end with
 * -ESHUTDOWN.
 *
 * The call never waits. An operation whose holds is running ends when that has
 * returned, with 0 if the condition holds.
 *
 * Returns 0, even if the set was shut down before or another thread is shutting
 * it down, or
 *   -EINVAL  d is NULL
 *   -EPERM   as listed at the top
 */
int tkw_delayed_shutdown(struct tkw_delayed *d);

/*
 * Shuts a set down, unless that is done already, and frees it.
 *
 * The call waits for callbacks that the timer still has to make. No other
 * thread may use the set any more. Do not hold a lock that a callback of the
 * set takes.
 *
 * d  The set. If it is NULL, the call does nothing.
 *
 * Returns 0, or
 *   -EDEADLK  called inside a callback of the set, or inside a task, an
 *             on-cancel callback or a visitor of the timer
 */
int tkw_delayed_destroy(struct tkw_delayed *d);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_DELAYED_H */
