/* SPDX-License-Identifier: MIT */
/*
 * repeat.h - something that is done again and again, on a timer.
 *
 * A repeat calls a function round after round: a heartbeat, an election timer,
 * a flush. Between two rounds exactly one timeout is pending on the timer.
 *
 *   Promise  There is never more than one chain of rounds, and never two rounds
 *            at the same time, whatever is called from wherever.
 *   Threads  Every call is legal on any thread, inside the callbacks of the
 *            repeat too but for adjust, but not in a signal handler. No lock is
 *            held while a callback runs, and its thread cannot be cancelled.
 *   Life     tkw_repeat_create(), any number of calls, tkw_repeat_destroy(),
 *            which ends the rounds for good and may be called twice, and then
 *            tkw_repeat_free(), after which the repeat must not be used. The
 *            timer must outlive it. If the timer is stopped the chain is
 *            broken off: see on_broken.
 *   Fork     In a child of fork() a repeat of the parent's is inert: calls
 *            return -EPERM, tkw_repeat_free() frees its memory. A child that a
 *            round forks may return from the round; of the other callbacks
 *            none must return in a child.
 *
 * Errors, the same everywhere; results are written on success only, and what is
 * refused leaves no trace:
 *   -EINVAL     a bad argument, NULL where something is wanted
 *   -ENOMEM     no memory, or no thread to be had
 *   -EAGAIN     the timer has as many timeouts as it may
 *   -ESHUTDOWN  the repeat is destroyed, or the timer is stopped
 *   -EPERM      it belongs to the parent of a fork
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
 * tkw_repeat_run_once_now(). The same rules as for a task of the timer.
 *
 * arg     the config's.
 * r       the repeat; each of its calls is legal.
 */
typedef void tkw_repeat_fn(void *arg, struct tkw_repeat *r);

/* From where an interval counts. */
enum tkw_repeat_mode {
	/* From the end of a round. */
	TKW_REPEAT_FIXED_DELAY = 0,
	/* From the deadline of a round, so that the rate is kept. If rounds
	 * were missed, because one took long or the machine slept: */
	TKW_REPEAT_RATE_BURST = 1, /* they are made up for, one after the other
				    */
	TKW_REPEAT_RATE_SKIP = 2,  /* they are left out, the beat is kept */
	TKW_REPEAT_RATE_DELAY = 3 /* they are left out, and a new beat begins */
};

/* How a repeat shall be; timer, interval_ns and fn must be given. */
struct tkw_repeat_config {
	/* sizeof(struct tkw_repeat_config); 0: the fields of version 0.1. */
	size_t size;
	struct tkw_timer *timer;
	/* Positive. */
	int64_t interval_ns;
	/* enum tkw_repeat_mode */
	int mode;
	tkw_repeat_fn *fn;
	void *arg; /* the first argument of each function here; yours */
	/*
	 * Not 0: each delay is a random one, evenly in
	 * [interval_ns, interval_ns + spread_ns). So do nodes choose the time
	 * after which they stand for election. Not negative; not with adjust.
	 */
	int64_t spread_ns;
	/* Of that; 0: any other each time. */
	uint64_t seed;
	/* Asked for the delay before each round, or NULL: that is the interval.
	 * A negative answer counts as 0. Asked again if the repeat is called
	 * meanwhile by another thread; it must not do so itself. */
	int64_t (*adjust)(void *arg, int64_t interval_ns);
	/*
	 * Told when the chain is broken off, or NULL. The repeat is stopped
	 * then; tkw_repeat_start() begins anew.
	 *
	 * err     -ESHUTDOWN: the timer is stopped; -EAGAIN, -ENOMEM: it did
	 *         not take the next round; -ECANCELED: its executor has dropped
	 *         the round.
	 */
	void (*on_broken)(void *arg, int err);
	/* Told once, when the repeat has been destroyed and no round runs any
	 * more, or NULL. No other function of this config is called after it:
	 * arg may be freed. */
	void (*on_destroy)(void *arg);
	/* For tkw_repeat_describe(); NULL: "repeat". Cut to 31 bytes, copied.
	 */
	const char *name;
};

/*
 * Make a repeat. It is stopped.
 *
 * out     written on success; destroy and free it in the end.
 * cfg     not kept.
 * Return  0; -EINVAL: NULL, a size unknown to this library, no timer or no fn,
 *         an interval that is not positive, an unknown mode, a negative
 *         spread, or a spread and an adjust; -ENOMEM; -EPERM.
 */
int tkw_repeat_create(struct tkw_repeat **out,
		      const struct tkw_repeat_config *cfg);

/*
 * Begin: the first round comes after one interval. If a round is running, that
 * was to be the last, the chain goes on after it.
 *
 * Return  0: started; 1: it was: nothing changed; -EINVAL, -ENOMEM, -EAGAIN,
 *         -ESHUTDOWN, -EPERM: it is stopped as before.
 */
int tkw_repeat_start(struct tkw_repeat *r);

/*
 * End the chain. A round that is running ends in its own time, and is the last;
 * the call does not wait for it.
 *
 * Return  0: stopped; 1: it was; -EINVAL; -ESHUTDOWN: destroyed; -EPERM.
 */
int tkw_repeat_stop(struct tkw_repeat *r);

/*
 * Wait for a full interval from now, whether started or stopped; it is started
 * then. While a round is running: from its end.
 *
 * Return  0; -EINVAL, -EPERM; -ENOMEM, -EAGAIN, -ESHUTDOWN: it is stopped now;
 *         if it was started, on_broken was told. (A round that is pending is
 *         moved, which cannot fail for want of anything; one that has come due
 *         in this moment is replaced.)
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
 * Make the round that is pending now, on the calling thread, and go on from
 * there.
 *
 * Return  0: it was made; 1: nothing was done, for the repeat is stopped, or a
 *         round is running or about to begin, which is always so inside of one;
 *         -EINVAL; -ESHUTDOWN: destroyed; -EPERM.
 */
int tkw_repeat_run_once_now(struct tkw_repeat *r);

/*
 * End the rounds for good. on_destroy is called inside of this call, or, if a
 * round, an adjust or an on_broken is running, at its end by whoever runs it.
 * To wait for that, let on_destroy tell you.
 *
 * Return  0: destroyed by this call; 1: it was: nothing changed; -EINVAL;
 *         -EPERM.
 */
int tkw_repeat_destroy(struct tkw_repeat *r);

/*
 * Destroy it if nobody has, and give its memory back: at once, or, if one of
 * its callbacks is running, when that has ended. Legal inside of each callback
 * but adjust. No other call may be made from now on, or be under way on another
 * thread, but a round, and the tkw_repeat_destroy() that led to an on_destroy
 * from which this is called.
 *
 * Return  0; -EINVAL: NULL.
 */
int tkw_repeat_free(struct tkw_repeat *r);

/*
 * A repeat in words: "heartbeat, every 50 ms, running, invoking". The flags:
 * stopped or running; destroyed; invoking (a round is running).
 *
 * buf, size
 *         as for snprintf(): cut to size, always ended by a zero byte; size 0
 *         writes nothing.
 * Return  how long the text is, uncut; -EINVAL: r is NULL, or buf is and size
 *         is not 0; -EPERM.
 */
int tkw_repeat_describe(struct tkw_repeat *r, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_REPEAT_H */
