/* SPDX-License-Identifier: MIT */
/*
 * channel.h - connections by the hundred thousand: heartbeats, reconnects and
 * the closing of idle ones, on one timer.
 *
 * The owner of a connection marks what is read and written, which costs a
 * store; nothing is re-armed. The set looks at each of its channels once in a
 * period, a few at a time so that no turn takes long, and calls what is due.
 *
 *   heartbeat  if the last read or the last write is older than the interval
 *   reconnect  if it is not connected, or the last read is older
 *   close      if the last read or the last write is older
 *
 * What was never read, or never written, is not old. (The expiry of sessions is
 * the same: mark a read when one is touched, and close what was not.)
 *
 *   Promise  Nothing is called early. What is older than the interval is found
 *            within one period, but for what the timer is late and earlier
 *            actions take; the first look at a new channel, within two. A
 *            channel whose action fails, or is removed, keeps no other from
 *            being looked at.
 *   Cost     A step, a task of the timer, looks at 256 channels at most; the
 *            steps are spread over the period.
 *   Refusal  A set has a timeout for each kind, one step ahead. If the timer
 *            is at its limit, or has no memory, when a step asks for the next
 *            one, that kind pauses: the end of the step, each later step of
 *            another kind, tkw_channels_add() and tkw_channels_remove() ask
 *            again. A step that an executor refuses, and the timer drops,
 *            comes again when the next one would have.
 *   Time     Nanoseconds on the timer's clock, which no step of the wall clock
 *            moves.
 *   Threads  Every call is legal on any thread, inside of actions too, but not
 *            in a signal handler. No lock is held while an action runs. The
 *            actions of one kind run one at a time, on the timer's worker or
 *            executor.
 *   Memory   A channel is embedded in your struct; its memory is yours, and
 *            must stay until it has been removed, or the set destroyed.
 *   Fork     In a child of fork() a set of the parent's is inert: calls return
 *            -EPERM, tkw_channels_destroy() frees its memory.
 *
 * Errors, the same everywhere; what is refused leaves no trace:
 *   -EINVAL     a bad argument, NULL where something is wanted
 *   -ENOMEM     no memory, or no thread to be had
 *   -EAGAIN     the timer has as many timeouts as it may
 *   -ESHUTDOWN  the set is stopped, or its timer
 *   -ENOENT     the channel is not in this set
 *   -EDEADLK    the call would wait for itself
 *   -EPERM      the set belongs to the parent of a fork
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

/* One connection. All zero is one that is in no set; all fields are private. */
struct tkw_channel {
	struct tkw_channel *next;
	struct tkw_channel *prev;
	struct tkw_channels *set;
	/* 0: never. Aligned, so that each is written in one piece where an
	 * int64_t need not be. */
	int64_t read_ns __attribute__((aligned(8)));
	int64_t write_ns __attribute__((aligned(8)));
	uint32_t connected;
};

/* What is done for a channel. */
enum tkw_channel_kind {
	TKW_CHANNEL_HEARTBEAT = 0,
	TKW_CHANNEL_RECONNECT = 1,
	TKW_CHANNEL_CLOSE = 2
};
#define TKW_CHANNEL_KINDS 3

/*
 * An action. The same rules as for a task of the timer. It may remove any
 * channel, this one too. It is called again a period later if the channel is
 * still there and nothing has been marked.
 *
 * ctx     the config's.
 * Return  0; else it has failed, which is counted, and changes nothing else.
 */
typedef int tkw_channel_fn(void *ctx, struct tkw_channel *ch);

/* Of one kind; all zero: it is not done. */
struct tkw_channel_rule {
	tkw_channel_fn *fn;
	/* How old is too old; positive. */
	int64_t interval_ns;
	/* Each channel is looked at once in so long; 0: a third of the
	 * interval, but at least 1 s, for a reconnect at least 60 s. */
	int64_t period_ns;
};

/* How a set shall be; timer and one rule must be given. */
struct tkw_channels_config {
	/* sizeof(struct tkw_channels_config); 0: the fields of version 0.1. */
	size_t size;
	struct tkw_timer *timer; /* must live until the set is destroyed */
	struct tkw_channel_rule rules[TKW_CHANNEL_KINDS]; /* by kind */
	void *ctx; /* the first argument of each action; yours */
};

/*
 * Make a set, without channels. Nothing is pending on the timer while it has
 * none.
 *
 * out     written on success; give it to tkw_channels_destroy() in the end.
 * cfg     not kept.
 * Return  0; -EINVAL: NULL, a size unknown to this library, no timer, no rule,
 *         a rule without fn or with an interval that is not positive, a
 *         negative period; -ENOMEM; -EPERM: the timer belongs to the parent of
 *         a fork.
 */
int tkw_channels_create(struct tkw_channels **out,
			const struct tkw_channels_config *cfg);

/*
 * Put a channel in. It was never read, never written, and is connected, until
 * it is marked otherwise. Not to two sets at the same time.
 *
 * Return  0: each kind that is done has its step on the timer, paused ones too;
 *         -EINVAL: NULL, or it is in a set; -ENOMEM, -EAGAIN: the timer does
 *         not take what looks at the channels; -ESHUTDOWN; -EPERM.
 */
int tkw_channels_add(struct tkw_channels *set, struct tkw_channel *ch);

/*
 * Take a channel out. If an action runs for it on another thread, wait until
 * that has returned. After 0 nothing is called for it any more, but the action
 * inside of which this is called: its memory may be freed. Of many who remove
 * it at the same time one gets 0, and may free it when the others have returned
 * too, for they look at it. Do not call it with a lock of yours held that an
 * action takes.
 *
 * Return  0; -ENOENT: it is not in this set; -EDEADLK: an action runs for it on
 *         another thread, and this is called from a task, an on-cancel callback
 *         or a visitor of the timer, for which that might wait: nothing
 *         changed; -EINVAL: NULL; -EPERM.
 */
int tkw_channels_remove(struct tkw_channels *set, struct tkw_channel *ch);

/*
 * Something was read, or written, at a time of the timer's clock, which an
 * event loop has at hand, and tkw_timer_now() tells. One relaxed store; any
 * thread, also for a channel that is in no set, where it says nothing. An
 * earlier time than the last one is the caller's affair; one that is not
 * positive means never. NULL is ignored.
 */
void tkw_channel_mark_read(struct tkw_channel *ch, int64_t now_ns);
void tkw_channel_mark_write(struct tkw_channel *ch, int64_t now_ns);

/* It is connected, or (0) it is not. The same rules. */
void tkw_channel_mark_connected(struct tkw_channel *ch, int connected);

/* What a set has done, by kind. */
struct tkw_channel_stats {
	uint64_t channels;
	uint64_t looks[TKW_CHANNEL_KINDS];  /* channels that were looked at */
	uint64_t calls[TKW_CHANNEL_KINDS];  /* actions */
	uint64_t failed[TKW_CHANNEL_KINDS]; /* of those */
	uint64_t steps[TKW_CHANNEL_KINDS];  /* tasks of the timer */
	/* How often the timer did not take a step; see Refusal. */
	uint64_t refused[TKW_CHANNEL_KINDS];
	uint64_t most; /* looks of a step, at most */
};

/* Return  0; -EINVAL: NULL; -EPERM. */
int tkw_channels_stats(struct tkw_channels *set, struct tkw_channel_stats *out);

/*
 * Look no more, for good. An action that runs now ends in its own time. The
 * channels stay in the set, and can be removed. A set is stopped with its
 * timer.
 *
 * Return  0; 1: it was stopped before, or its timer; -EINVAL: NULL; -EPERM.
 */
int tkw_channels_stop(struct tkw_channels *set);

/*
 * Stop the set if nobody has, wait until no action runs, take all channels out,
 * and free the memory. No other thread may be using it.
 *
 * Return  0; -EINVAL: NULL; -EDEADLK: called from a task, an on-cancel callback
 *         or a visitor of the timer, nothing changed. In a forked child,
 *         outside of those: 0, and the channels are not touched.
 */
int tkw_channels_destroy(struct tkw_channels *set);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_CHANNEL_H */
