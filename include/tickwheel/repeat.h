/* SPDX-License-Identifier: MIT */
/*
 * repeat.h - call a function again and again, on a timer
 *
 * A repeat calls a function once in every interval, for example to send a
 * heartbeat, to start an election or to flush a buffer. Each call is a round.
 * Between two rounds the repeat has exactly one timeout on the timer.
 *
 *   Promise  At any moment at most one round is pending or running, no matter
 *            which threads make which calls.
 *   Threads  Any thread may make any call, even inside a callback, but not in a
 *            signal handler. The exception is adjust, which must make no call
 *            on its repeat. No lock is held while a callback runs.
 *            pthread_cancel() does not end a thread while it runs a callback.
 *   Life     Destroy the repeat before the timer. If the timer is stopped while
 *            the repeat is started, the repeat is paused and on_broken is
 *            called with -ESHUTDOWN.
 *   Fork     In a child of fork(), a repeat of the parent does nothing, and
 *            calls return -EPERM. There, tkw_repeat_destroy() frees the memory
 *            and calls no callback.
 *
 * A call that fails changes nothing and writes no result, unless its
 * description says otherwise.
 *
 * Errors, the same in every call of this header:
 *   -EINVAL     an argument is not valid, or is NULL where NULL is not allowed
 *   -ENOMEM     there is not enough memory, or no thread can be created
 *   -EAGAIN     the timer has max_pending timeouts
 *   -ESHUTDOWN  the repeat is shut down, or the timer is stopped
 *   -EBUSY      a round is running or about to begin, or adjust is running
 *   -ENOENT     no round is pending
 *   -EPERM      the repeat or its timer belongs to the parent of a fork
 *   -EBADF      the timer's file descriptor was closed; see Fds in timer.h
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
 * Runs one round. It is called by the timer's worker or executor, or inside
 * tkw_repeat_run_now(). The rules of tkw_task_fn in timer.h apply.
 *
 * r    The repeat. The function may make any call on it.
 * ctx  The ctx of the config.
 */
typedef void tkw_repeat_fn(struct tkw_repeat *r, void *ctx);

/*
 * The mode says from when the next interval counts. In the three RATE modes it
 * counts from the deadline of the last round, so that the rounds keep a fixed
 * rate. The three differ in what happens to rounds that were missed because a
 * round took too long or the machine slept.
 */
enum tkw_repeat_mode {
	/* The interval counts from the end of the last round. */
	TKW_REPEAT_FIXED_DELAY = 0,
	/* Missed rounds are made up for at once, one after the other. */
	TKW_REPEAT_RATE_BURST = 1,
	/* Missed rounds are skipped. Later rounds keep the old rhythm. */
	TKW_REPEAT_RATE_SKIP = 2,
	/* Missed rounds are skipped. A new rhythm begins: the next round comes
	 * one interval after the end of the late round. */
	TKW_REPEAT_RATE_DELAY = 3
};

/* The settings of a repeat. timer, interval_ns and fn are required. In all
 * other fields, zero means the default. */
struct tkw_repeat_config {
	/* sizeof(struct tkw_repeat_config). 0 means the size of the struct in
	 * version 0.2. */
	size_t size;
	struct tkw_timer *timer;
	/* The time between rounds. Must be positive. */
	int64_t interval_ns;
	/* An enum tkw_repeat_mode. */
	int mode;
	/* The function. Each call of it is a round. */
	tkw_repeat_fn *fn;
	/*
	 * If this is not 0, each delay is random, from interval_ns to less than
	 * interval_ns + spread_ns. All delays in this range are equally likely.
	 * Raft nodes choose their election timeouts in this way. Must not be
	 * negative. Must be 0 if adjust is set.
	 */
	int64_t spread_ns;
	/* Seed for the spread. 0 picks a random seed. */
	uint64_t seed;
	/*
	 * Returns the delay before the next round. A negative delay counts as
	 * 0. If another thread changes the repeat while adjust runs, adjust is
	 * called again. adjust must make no call on the repeat. If it is NULL,
	 * the delay is interval_ns, plus the spread if there is one.
	 */
	int64_t (*adjust)(struct tkw_repeat *r, int64_t interval_ns, void *ctx);
	/*
	 * Called when the rounds break off because the next round cannot come.
	 * By then the repeat is paused. tkw_repeat_start() can start it again,
	 * unless the timer is stopped. May be NULL.
	 *
	 * If the timer is stopped while a round is pending, on_broken runs
	 * inside the call that stops the timer. If the timer drops the round,
	 * on_broken runs on the thread that drops it. If the timer refuses the
	 * next round, on_broken runs on the thread that ran the last round, or
	 * inside a call that starts the repeat or sets its interval.
	 *
	 * err  The reason:
	 *        -ESHUTDOWN  the timer is stopped
	 *        -ECANCELED  the timer dropped the round, see TKW_REFUSED_DROP
	 *                    in timer.h
	 *        -EAGAIN, -ENOMEM, -EBADF
	 *                    the timer refused the next round
	 */
	void (*on_broken)(struct tkw_repeat *r, int err, void *ctx);
	/* Called once, when the repeat is shut down and no round runs any more.
	 * No function of this config is called after it, so it may free what
	 * ctx points to. May be NULL. */
	void (*on_end)(struct tkw_repeat *r, void *ctx);
	/* Passed to each function of this config as the last argument. */
	void *ctx;
	/* The name that tkw_repeat_print() writes. It is copied and cut to 31
	 * bytes. NULL means "repeat". */
	const char *name;
};

/*
 * Creates a repeat, which is paused at first.
 *
 * out  Receives the repeat. Destroy it with tkw_repeat_destroy().
 * cfg  The settings. They are copied.
 *
 * Returns 0, or
 *   -EINVAL  an argument, timer or fn is NULL, cfg has a size or fields that
 *            this library does not know, interval_ns is not positive, mode is
 *            unknown, spread_ns is negative, or both spread_ns and adjust are
 *            set
 *   -ENOMEM, -EPERM
 *            as listed at the top
 */
int tkw_repeat_create(struct tkw_repeat **out,
		      const struct tkw_repeat_config *cfg);

/*
 * Starts the rounds.
 *
 * The first round comes after one interval. If the repeat was paused during a
 * round and that round is still running, the rounds continue after it. If the
 * repeat is already started, the call does nothing.
 *
 * If the call fails, the repeat stays paused.
 *
 * Returns 0 if the repeat is started, or
 *   -EINVAL  r is NULL
 *   -ENOMEM, -EAGAIN, -ESHUTDOWN, -EPERM, -EBADF
 *            as listed at the top
 */
int tkw_repeat_start(struct tkw_repeat *r);

/*
 * Starts the rounds, with the first round in the next turn of the timer.
 *
 * A new leader can send its first heartbeat in this way. The round runs on the
 * timer's worker or executor, not inside this call. If the repeat is already
 * started, its pending round moves to the next turn. If a round is running, the
 * next round follows it at once.
 *
 * If the timer refuses the round, the repeat is paused, as in
 * tkw_repeat_restart().
 *
 * Returns 0, or
 *   -EINVAL  r is NULL
 *   -ENOMEM, -EAGAIN, -ESHUTDOWN, -EPERM, -EBADF
 *            as listed at the top
 */
int tkw_repeat_start_now(struct tkw_repeat *r);

/*
 * Pauses the rounds until the repeat is started again.
 *
 * If a round is running, it is the last one, and the call does not wait for it.
 * If the repeat is already paused, the call does nothing.
 *
 * Returns 0 if the repeat is paused, or
 *   -EINVAL     r is NULL
 *   -ESHUTDOWN  the repeat is shut down
 *   -EPERM      as listed at the top
 */
int tkw_repeat_pause(struct tkw_repeat *r);

/*
 * Starts the interval again: the next round comes a full interval from now.
 *
 * If a round is running, the interval counts from the end of that round. If the
 * repeat is paused, the call starts it.
 *
 * If the timer refuses the next round, the repeat is paused, and on_broken is
 * called if the repeat was started before. A refusal is rare if a round is
 * pending, because the call moves that round, which needs no memory and does
 * not count towards max_pending again. The call needs a new timeout only if
 * that round becomes due during the call.
 *
 * Returns 0, or
 *   -EINVAL  r is NULL
 *   -ENOMEM, -EAGAIN, -ESHUTDOWN, -EPERM, -EBADF
 *            as listed at the top
 */
int tkw_repeat_restart(struct tkw_repeat *r);

/*
 * Sets the interval.
 *
 * If the repeat is started, the next round comes after a full new interval,
 * counted from now or, if a round is running, from the end of that round.
 *
 * If the timer refuses the next round, the interval is set all the same, and
 * the repeat is paused as in tkw_repeat_restart().
 *
 * interval_ns  The new interval. Must be positive.
 *
 * Returns 0, or
 *   -EINVAL  r is NULL, or interval_ns is not positive
 *   -ENOMEM, -EAGAIN, -ESHUTDOWN, -EPERM, -EBADF
 *            as listed at the top
 */
int tkw_repeat_reset(struct tkw_repeat *r, int64_t interval_ns);

/*
 * Runs the pending round now, on the calling thread.
 *
 * The next interval counts from the end of this round.
 *
 * Returns 0 if the round was run, or
 *   -EINVAL     r is NULL
 *   -ENOENT     no round is pending: the repeat is paused, or the timer has
 *               just ended the round, because it is stopped or has dropped the
 *               round
 *   -EBUSY      a round is running or about to begin, or adjust is running; a
 *               round gets this for its own repeat
 *   -ESHUTDOWN  the repeat is shut down
 *   -EPERM      as listed at the top
 */
int tkw_repeat_run_now(struct tkw_repeat *r);

/*
 * Shuts a repeat down: there are no more rounds.
 *
 * The call never waits. on_end is called inside this call, unless a callback of
 * the repeat is running. In that case the thread of the callback calls on_end
 * after the callback has returned.
 *
 * Returns 0, even if the repeat was shut down before, or
 *   -EINVAL  r is NULL
 *   -EPERM   as listed at the top
 */
int tkw_repeat_shutdown(struct tkw_repeat *r);

/*
 * Shuts a repeat down, unless that is done already, and frees it.
 *
 * The call waits until no callback of the repeat runs. Do not hold a lock that
 * a callback of the repeat takes.
 *
 * Inside a callback of the timer, or of any repeat or set of this library, the
 * call does not wait. There, the memory is freed when the last callback of the
 * repeat has returned.
 *
 * Make no other call on the repeat after this one. All earlier calls on the
 * repeat must have returned. The exception is a call that is running a callback
 * of the repeat, for example tkw_repeat_run_now() while it runs a round.
 *
 * r  The repeat. If it is NULL, the call does nothing.
 *
 * Returns 0.
 */
int tkw_repeat_destroy(struct tkw_repeat *r);

/*
 * Prints a repeat as text, for example "heartbeat, every 50 ms, running,
 * invoking".
 *
 * The text says "running" if the repeat is started, else "paused". It also says
 * "ended" if the repeat is shut down, and "invoking" if a round is running.
 *
 * buf   Receives the text. As with snprintf(), it is cut to size bytes and ends
 *       with a zero byte. May be NULL if size is 0.
 * size  The size of buf. With 0 nothing is written.
 *
 * Returns the length of the whole text, even if it was cut, or
 *   -EINVAL  r is NULL, or buf is NULL and size is not 0
 *   -EPERM   as listed at the top
 */
int tkw_repeat_print(struct tkw_repeat *r, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_REPEAT_H */
