/* SPDX-License-Identifier: MIT */
/*
 * channel.h - heartbeats, reconnects and idle closes for many connections
 *
 * A set watches hundreds of thousands of connections with one timer. A channel
 * stands for one connection. Your code marks each read and each write on the
 * channel, which costs one store and does not touch the timer. The set looks at
 * every channel once in a period, a few channels at a time, and calls the
 * actions that are due:
 *
 *   heartbeat  if the last read or the last write is older than the interval
 *   reconnect  if the channel is not connected, or the last read is older than
 *              the interval
 *   close      if the last read or the last write is older than the interval
 *
 * A channel that was never marked is never too old. If mark_on_add is set, the
 * age of a channel counts from the moment when it was added. You can expire
 * sessions in this way: set mark_on_add, mark both a read and a write whenever
 * a session is used, and let the close action end sessions that were not used.
 *
 *   Steps    There are three kinds of actions. For each kind, the set makes one
 *            pass over all channels in a period. A pass is divided into steps,
 *            which are spread over the period. A step is a task of the timer
 *            and looks at 256 channels at most.
 *   Promise  No action is called early. The set finds a channel that is too old
 *            within one period, plus the time that the timer is late and the
 *            time that earlier actions of the same kind take. It looks at a new
 *            channel within two periods. While an action runs for a channel,
 *            the other kinds skip that channel until their next pass. An action
 *            that fails or removes its channel does not keep the set from
 *            looking at the other channels.
 *   Refusal  Each kind has one timeout on the timer, for its next step. If the
 *            timer refuses this timeout with -EAGAIN, -ENOMEM or -EBADF, the
 *            kind rests: it makes no more steps. The set asks the timer again
 *            at the end of the current step, after each step of another kind,
 *            in tkw_channels_add() and in tkw_channels_remove(). If the timer
 *            drops a step (see TKW_REFUSED_DROP in timer.h), the step comes
 *            again when the next step would have come.
 *   Time     Times are nanoseconds on the timer's clock. Changes of the wall
 *            clock have no effect.
 *   Threads  Any thread may make any call, even inside a callback, but not in a
 *            signal handler. No lock is held while a callback runs. Actions run
 *            on the timer's worker or executor. Actions of one kind run one at
 *            a time, and so do actions for one channel. A step never waits for
 *            an action of another kind.
 *   Life     Destroy the set before the timer. If the timer is stopped, the set
 *            is shut down too.
 *   Memory   A channel is part of your own struct, and you own its memory. You
 *            may free it after tkw_channels_remove() has returned 0, or after
 *            the set is destroyed. If several threads use the channel, see
 *            tkw_channels_remove().
 *   Fork     In a child of fork(), a set of the parent does nothing, and calls
 *            return -EPERM. There, tkw_channels_destroy() frees the memory and
 *            calls no callback. It does not touch the channels.
 *
 * A call that fails changes nothing and writes no result, unless its
 * description says otherwise.
 *
 * Errors, the same in every call of this header:
 *   -EINVAL     an argument is not valid, or is NULL where NULL is not allowed
 *   -ENOMEM     there is not enough memory, or no thread can be created
 *   -EAGAIN     the timer's max_pending leaves no room for the next steps
 *   -ESHUTDOWN  the set is shut down, or the timer is stopped
 *   -EEXIST     the channel is already in a set
 *   -ENOENT     the channel is not in this set
 *   -EDEADLK    the call might wait for ever, because it is made inside a
 *               callback
 *   -EPERM      the set or its timer belongs to the parent of a fork
 *   -EBADF      the timer's file descriptor was closed; see Fds in timer.h
 */
#ifndef TICKWHEEL_CHANNEL_H
#define TICKWHEEL_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tkw_channels;

/* One connection. Set all bytes to zero before the first tkw_channels_add().
 * All fields are private. */
struct tkw_channel {
	struct tkw_channel *next;
	struct tkw_channel *prev;
	struct tkw_channels *set;
	/* The times of the last read and the last write. 0 means never. They
	 * are aligned so that each is written in one piece on every machine. */
	int64_t read_ns __attribute__((aligned(8)));
	int64_t write_ns __attribute__((aligned(8)));
	uint32_t connected;
};

/* The kinds of actions. */
enum tkw_channel_kind {
	TKW_CHANNEL_HEARTBEAT = 0,
	TKW_CHANNEL_RECONNECT = 1,
	TKW_CHANNEL_CLOSE = 2
};
#define TKW_CHANNEL_KINDS 3

/*
 * An action. After a period, it is called again if the channel is still in the
 * set and the action is still due. The rules of tkw_task_fn in timer.h apply.
 *
 * An action may remove its own channel at any time, and the call does not wait.
 * To remove other channels inside an action, see tkw_channels_remove().
 *
 * ch   The channel.
 * ctx  The ctx of the config.
 *
 * Returns 0. Any other value means that the action failed. A failure is counted
 * in struct tkw_channel_stats and has no other effect.
 */
typedef int tkw_channel_fn(struct tkw_channel *ch, void *ctx);

/* When an action is called. A rule that is all zero means no action. */
struct tkw_channel_rule {
	/* The action. */
	tkw_channel_fn *fn;
	/* The age above which the action is due. Must be positive. */
	int64_t interval_ns;
	/* The set looks at each channel once in this time. 0 means a third of
	 * the interval, but at least 1 s and, for a reconnect, at least
	 * 60 s. */
	int64_t period_ns;
};

/* The settings of a set. timer and at least one rule are required. In all other
 * fields, zero means the default. */
struct tkw_channels_config {
	/* sizeof(struct tkw_channels_config). 0 means the size of the struct in
	 * version 0.2. */
	size_t size;
	struct tkw_timer *timer;
	/* The rules, indexed by enum tkw_channel_kind. */
	struct tkw_channel_rule rules[TKW_CHANNEL_KINDS];
	/* If this is not 0, adding a channel marks it as read and written. A
	 * channel that is never marked again then becomes too old as well. */
	int mark_on_add;
	/* Passed to each action as the last argument. */
	void *ctx;
};

/*
 * Creates a set without channels.
 *
 * A set without channels has no timeout on the timer.
 *
 * out  Receives the set. Destroy it with tkw_channels_destroy().
 * cfg  The settings. They are copied.
 *
 * Returns 0, or
 *   -EINVAL  an argument or timer is NULL, cfg has a size or fields that this
 *            library does not know, all rules are zero, or a rule that is not
 *            all zero has no fn, an interval that is not positive, or a
 *            negative period
 *   -ENOMEM, -EPERM
 *            as listed at the top
 */
int tkw_channels_create(struct tkw_channels **out,
			const struct tkw_channels_config *cfg);

/*
 * Adds a channel to a set.
 *
 * The channel counts as connected until it is marked otherwise. It counts as
 * never read and never written or, if mark_on_add is set, as read and written
 * now. The call also schedules the next step of each kind that was resting.
 *
 * ch  The channel. Two threads must not add it to two sets at the same time.
 *
 * Returns 0, or
 *   -EINVAL  set or ch is NULL
 *   -EEXIST  the channel is already in a set
 *   -ENOMEM, -EAGAIN, -EBADF
 *            the timer refused a step
 *   -ESHUTDOWN, -EPERM
 *            as listed at the top
 */
int tkw_channels_add(struct tkw_channels *set, struct tkw_channel *ch);

/*
 * Removes a channel from a set.
 *
 * If an action runs for the channel on another thread, the call waits until
 * that action has returned. Do not hold a lock that an action takes.
 *
 * When the call has returned 0, the set does not use the channel any more. You
 * may free it, or add it again, as soon as no other thread uses it. A thread
 * uses a channel while it adds, removes or marks the channel. If several
 * threads remove the same channel, one of them gets 0, and may free the channel
 * when the others have returned. Do not free the channel after -ENOENT, because
 * the thread that gets 0 may still be waiting for an action.
 *
 * If an action removes its own channel, the call does not wait. When it has
 * returned 0, the action may free the channel at once, if no other thread uses
 * it.
 *
 * Inside any other callback the call does not wait either, because two
 * callbacks could wait for each other. If an action runs for the channel, the
 * call returns -EDEADLK instead. This rule holds inside the callbacks of all
 * sets and repeats of this library, and inside the tasks, on-cancel callbacks
 * and visitors of the set's timer. A callback that an executor runs nested
 * inside an action, on the same thread, counts as another callback.
 *
 * Returns 0, or
 *   -EINVAL   set or ch is NULL
 *   -ENOENT   the channel is not in this set
 *   -EDEADLK  an action runs for the channel, and the call is made inside
 *             another callback
 *   -EPERM    as listed at the top
 */
int tkw_channels_remove(struct tkw_channels *set, struct tkw_channel *ch);

/*
 * Marks a read or a write: stores its time in the channel.
 *
 * A mark costs one relaxed atomic store. A mark on a channel that is in no set
 * is lost when the channel is added.
 *
 * ch      The channel. If it is NULL, the call does nothing.
 * now_ns  The time on the timer's clock. Use the time that your event loop has
 *         at hand, or tkw_timer_now_ns(). A time before that of the last mark
 *         is stored too. 0 or less means never.
 */
void tkw_channel_mark_read(struct tkw_channel *ch, int64_t now_ns);
void tkw_channel_mark_write(struct tkw_channel *ch, int64_t now_ns);

/*
 * Marks a channel as connected or not connected. The rules of
 * tkw_channel_mark_read() apply.
 *
 * ch         The channel. If it is NULL, the call does nothing.
 * connected  0 means not connected. Any other value means connected.
 */
void tkw_channel_mark_connected(struct tkw_channel *ch, int connected);

/* The statistics of a set. The arrays are indexed by enum tkw_channel_kind. */
struct tkw_channel_stats {
	/* Channels in the set. */
	uint64_t channels;
	/* How many times a step looked at a channel. */
	uint64_t looks[TKW_CHANNEL_KINDS];
	/* Actions that were called. */
	uint64_t calls[TKW_CHANNEL_KINDS];
	/* Actions that failed. */
	uint64_t failed[TKW_CHANNEL_KINDS];
	/* Steps that ran. */
	uint64_t steps[TKW_CHANNEL_KINDS];
	/* How many times the timer refused a step; see Refusal at the top.
	 * tkw_channels_add() returns the error and does not count it. */
	uint64_t refused[TKW_CHANNEL_KINDS];
	/* The largest number of channels that one step looked at. */
	uint64_t max_looks;
};

/*
 * Gets the statistics of a set.
 *
 * out  Receives the statistics.
 *
 * Returns 0, or
 *   -EINVAL  set or out is NULL
 *   -EPERM   as listed at the top
 */
int tkw_channels_get_stats(struct tkw_channels *set,
			   struct tkw_channel_stats *out);

/* Returns the number of channels in the set; 0 if set is NULL or in a forked
 * child. */
uint64_t tkw_channels_count(struct tkw_channels *set);

/*
 * Shuts a set down: it refuses new channels, and looks at no channel any more.
 *
 * The call never waits. An action that is running goes on until it returns. The
 * channels stay in the set, and you can still remove them.
 *
 * Returns 0, even if the set was shut down before, or
 *   -EINVAL  set is NULL
 *   -EPERM   as listed at the top
 */
int tkw_channels_shutdown(struct tkw_channels *set);

/*
 * Shuts a set down, unless that is done already, and frees it.
 *
 * The call waits until no action runs, and removes all channels. No other
 * thread may use the set any more. Do not hold a lock that a callback of the
 * set takes. When the call has returned 0, you may free the channels.
 *
 * set  The set. If it is NULL, the call does nothing.
 *
 * Returns 0, or
 *   -EDEADLK  called inside an action of the set, or inside a task, an
 *             on-cancel callback or a visitor of the timer
 */
int tkw_channels_destroy(struct tkw_channels *set);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_CHANNEL_H */
