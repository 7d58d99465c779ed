/* SPDX-License-Identifier: MIT */
/*
 * repeat.h - something that is done again and again, on a timer.
 *
 * A repeat calls a function round after round: a heartbeat, an election timer,
 * a flush. Between two rounds exactly one timeout is pending on the timer.
 *
 *   Promise  There is never more than one chain of rounds, and never two rounds
 *            at the same time, whatever is called from wherever.
 *   Threads  Every call is legal on any thread, but not in a signal handler.
 *            The repeat's own callbacks may make every call too, except adjust,
 *            which must make none. No lock is held while a callback runs, and
 *            its thread cannot be cancelled meanwhile.
 *   Life     tkw_repeat_create(), any number of calls, tkw_repeat_destroy().
 *            The timer must outlive the repeat. If the timer is stopped, the
 *            chain is broken off: see on_broken.
 *   Fork     In a child of a fork a repeat of the parent is inert: calls return
 *            -EPERM, tkw_repeat_destroy() frees its memory.
 *
 * Errors, the same everywhere; results are written on success only, and a
 * refused call leaves no trace:
 *   -EINVAL     a bad argument, NULL where something is wanted
 *   -ENOMEM     no memory, or no thread to be had
 *   -EAGAIN     the timer has as many timeouts as it may
 *   -ESHUTDOWN  the repeat is shut down, or the timer is stopped
 *   -EBUSY      a round is running, or about to begin
 *   -ENOENT     no round is pending
 *   -EPERM      it belongs to the parent of a fork
 *   -EBADF      somebody has closed the timer's file descriptor, see timer.h
 */
#ifndef TICKWHEEL_REPEAT_H
#define TICKWHEEL_REPEAT_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tkw_repeat;

/*
 * A round. Called by the timer's worker or executor, or inside
 * tkw_repeat_run_now(). The rules of a task apply.
 *
 * r       the repeat; all of its calls are legal.
 * ctx     the config's.
 */
typedef void tkw_repeat_fn(struct tkw_repeat *r, void *ctx);

/* From when an interval counts. */
enum tkw_repeat_mode {
	/* From the end of a round. */
	TKW_REPEAT_FIXED_DELAY = 0,
	/* From the deadline of a round, so that the rate is kept. If rounds
	 * were missed, because one took long or the machine slept: */
	TKW_REPEAT_RATE_BURST = 1, /* they are made up for, one after another */
	TKW_REPEAT_RATE_SKIP = 2,  /* they are left out, the beat is kept */
	TKW_REPEAT_RATE_DELAY = 3  /* they are left out, a new beat begins */
};

/* How a repeat shall be; timer, interval_ns and fn must be given. */
struct tkw_repeat_config {
	/* sizeof(struct tkw_repeat_config); 0: the fields of version 0.2. */
	size_t size;
	struct tkw_timer *timer;
	/* Positive. */
	int64_t interval_ns;
	/* enum tkw_repeat_mode */
	int mode;
	tkw_repeat_fn *fn;
	/*
	 * Not 0: each delay is random, evenly in
	 * [interval_ns, interval_ns + spread_ns). Raft nodes choose their
	 * election timeouts like this. Not negative; not together with adjust.
	 */
	int64_t spread_ns;
	/* Seed for the spread. 0 picks a random seed. */
	uint64_t seed;
	/*
	 * Returns the delay before the next round; NULL: the interval. A
	 * negative delay counts as 0. It is asked again if another thread
	 * changes the repeat meanwhile. It must not call the repeat.
	 */
	int64_t (*adjust)(struct tkw_repeat *r, int64_t interval_ns, void *ctx);
	/*
	 * Called when the chain is broken off, or NULL. The repeat is paused
	 * then; tkw_repeat_start() begins anew.
	 *
	 * err     -ESHUTDOWN: the timer is stopped; -EAGAIN, -ENOMEM, -EBADF:
	 *         it did not take the next round; -ECANCELED: its executor has
	 *         dropped the round.
	 */
	void (*on_broken)(struct tkw_repeat *r, int err, void *ctx);
	/* Called once, when the repeat is shut down and no round runs any more,
	 * or NULL. No other function of this config is called after it: what
	 * ctx points to may be freed. */
	void (*on_end)(struct tkw_repeat *r, void *ctx);
	void *ctx; /* the last argument of each function here; yours */
	/* For tkw_repeat_print(); NULL: "repeat". Cut to 31 bytes, copied. */
	const char *name;
};

/*
 * Make a repeat. It is paused.
 *
 * out     written on success; give it to tkw_repeat_destroy() in the end.
 * cfg     not kept.
 * Return  0; -EINVAL: NULL, a size that this library does not know, no timer or
 *         no fn, an interval that is not positive, an unknown mode, a negative
 *         spread, or a spread and an adjust; -ENOMEM; -EPERM.
 */
int tkw_repeat_create(struct tkw_repeat **out,
		      const struct tkw_repeat_config *cfg);

/*
 * Start the rounds. The first one comes after one interval. If the last round
 * before a pause is still running, the chain goes on after it. A repeat that is
 * started already is not changed.
 *
 * Return  0: it is started; -EINVAL, -ENOMEM, -EAGAIN, -ESHUTDOWN, -EPERM: it
 *         is paused as before.
 */
int tkw_repeat_start(struct tkw_repeat *r);

/*
 * The same, but the first round comes on the next turn of the timer, on its own
 * thread: a new leader sends its first heartbeat at once. If the repeat is
 * started already, its pending round is moved there. If a round is running, the
 * next one follows it at once.
 *
 * Return  0; -EINVAL, -EPERM; -ENOMEM, -EAGAIN, -ESHUTDOWN: as for
 *         tkw_repeat_restart().
 */
int tkw_repeat_start_now(struct tkw_repeat *r);

/*
 * Pause the rounds, until tkw_repeat_start(). A round that is running ends in
 * its own time and is the last one; the call does not wait for it. A repeat
 * that is paused already is not changed.
 *
 * Return  0: it is paused; -EINVAL; -ESHUTDOWN: shut down; -EPERM.
 */
int tkw_repeat_pause(struct tkw_repeat *r);

/*
 * Wait for a full interval from now, whether started or paused; it is started
 * then. While a round is running: from its end.
 *
 * Return  0; -EINVAL, -EPERM; -ENOMEM, -EAGAIN, -ESHUTDOWN: it is paused now;
 *         if it was started, on_broken was called. (A pending round is moved,
 *         which needs no memory and no room; only one that has come due at this
 *         very moment must be replaced.)
 */
int tkw_repeat_restart(struct tkw_repeat *r);

/*
 * Set the interval. If the repeat is started it waits for a full new interval
 * from now, or from the end of a round that is running.
 *
 * Return  0; -EINVAL: NULL, or an interval that is not positive; -EPERM;
 *         -ENOMEM, -EAGAIN, -ESHUTDOWN: as for tkw_repeat_restart().
 */
int tkw_repeat_reset(struct tkw_repeat *r, int64_t interval_ns);

/*
 * Make the pending round now, on the calling thread, and go on from there.
 *
 * Return  0: it was made; -ENOENT: no round is pending, for the repeat is
 *         paused; -EBUSY: a round is running or about to begin, which is always
 *         so inside one; -EINVAL; -ESHUTDOWN: shut down; -EPERM.
 */
int tkw_repeat_run_now(struct tkw_repeat *r);

/*
 * End the rounds for good. Never waits: on_end is called inside this call, or,
 * if one of the repeat's callbacks is running, when that has returned, by
 * whoever runs it.
 *
 * Return  0: it is shut down, by this call or before; -EINVAL; -EPERM.
 */
int tkw_repeat_shutdown(struct tkw_repeat *r);

/*
 * Shut the repeat down if nobody has, wait until none of its callbacks runs,
 * and free its memory. Do not hold a lock that a round takes. Called inside a
 * callback of the timer, or of any repeat or set of this library, it does not
 * wait: the memory is freed when the last callback has returned. No other call
 * may be made from now on, or be under way on another thread, except the
 * tkw_repeat_shutdown() from whose on_end this is called, and a
 * tkw_repeat_run_now() whose round is running.
 *
 * r       NULL is legal, and does nothing.
 * Return  0.
 */
int tkw_repeat_destroy(struct tkw_repeat *r);

/*
 * A repeat in words: "heartbeat, every 50 ms, running, invoking". The flags:
 * paused or running; ended; invoking (a round is running).
 *
 * buf, size
 *         as for snprintf(): cut to size, always ended by a zero byte; size 0
 *         writes nothing.
 * Return  the length of the whole text; -EINVAL: r is NULL, or buf is NULL and
 *         size is not 0; -EPERM.
 */
int tkw_repeat_print(struct tkw_repeat *r, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_REPEAT_H */
