/* SPDX-License-Identifier: MIT */
/*
 * channel.h - connections by the hundred thousand: heartbeats, reconnects and
 * the closing of idle ones, on one timer.
 *
 * The owner of a connection marks what is read and written, which costs a
 * store; nothing is re-armed. The set looks at each of its channels once in a
 * period, a few at a time so that no turn takes long, and calls what is due:
 *
 *   heartbeat  if the last read or the last write is older than the interval
 *   reconnect  if it is not connected, or the last read is older
 *   close      if the last read or the last write is older
 *
 * A channel that was never marked is never old, unless the config says
 * mark_on_add: then its age counts from the moment at which it was added. (To
 * expire sessions, mark a read when a session is touched, and let close end
 * those that were not.)
 *
 *   Promise  Nothing is called early. What is older than the interval is found
 *            within one period, plus the time that the timer is late and that
 *            earlier actions of the same kind take; a new channel is looked
 *            at within two periods. While an action runs for a channel, other
 *            kinds leave it out until their next pass. An action that fails,
 *            or that removes its channel, keeps no other channel from being
 *            looked at.
 *   Cost     A step, a task of the timer, looks at 256 channels at most; the
 *            steps are spread over the period.
 *   Refusal  A set has one timeout for each kind, for the next step. If the
 *            timer is at its limit, or has no memory, when a step asks for the
 *            next one, that kind rests: the end of the step, each later step of
 *            another kind, tkw_channels_add() and tkw_channels_remove() ask
 *            again. A step that the timer's executor drops comes again when the
 *            next one would have come.
 *   Time     Nanoseconds on the timer's clock, which no step of the wall clock
 *            moves.
 *   Threads  Every call is legal on any thread, inside actions too, but not in
 *            a signal handler. No lock is held while an action runs. Actions of
 *            one kind run one at a time, and so do actions for one channel, on
 *            the timer's worker or executor. A step waits for no action of
 *            another kind.
 *   Memory   A channel is embedded in your struct; its memory is yours, and
 *            must stay until it has been removed, or the set destroyed.
 *   Fork     In a child of a fork a set of the parent is inert: calls return
 *            -EPERM, tkw_channels_destroy() frees its memory.
 *
 * Errors, the same everywhere; a refused call leaves no trace:
 *   -EINVAL     a bad argument, NULL where something is wanted
 *   -ENOMEM     no memory, or no thread to be had
 *   -EAGAIN     the timer has as many timeouts as it may
 *   -ESHUTDOWN  the set is shut down, or its timer is stopped
 *   -EEXIST     the channel is in a set already
 *   -ENOENT     the channel is not in this set
 *   -EDEADLK    the call would wait for itself
 *   -EPERM      the set belongs to the parent of a fork
 *   -EBADF      somebody has closed the timer's file descriptor, see timer.h
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
 * An action. The rules of a task apply. It may remove its own channel, always
 * and without waiting, and free it then; for other channels see
 * tkw_channels_remove(). It is called again a period later if the channel is
 * still there and nothing was marked.
 *
 * ctx     the config's.
 * Return  0; any other value: it has failed, which is counted and changes
 *         nothing else.
 */
typedef int tkw_channel_fn(struct tkw_channel *ch, void *ctx);

/* What is done of one kind; all zero: nothing. */
struct tkw_channel_rule {
	tkw_channel_fn *fn;
	/* How old is too old; positive. */
	int64_t interval_ns;
	/* Each channel is looked at once in this time; 0: a third of the
	 * interval, but at least 1 s, for a reconnect at least 60 s. */
	int64_t period_ns;
};

/* How a set shall be; timer and one rule must be given. */
struct tkw_channels_config {
	/* sizeof(struct tkw_channels_config); 0: the fields of version 0.2. */
	size_t size;
	struct tkw_timer *timer; /* must live until the set is destroyed */
	struct tkw_channel_rule rules[TKW_CHANNEL_KINDS]; /* by kind */
	/* Not 0: adding a channel marks it as read and written, so that one
	 * which never says anything becomes idle. */
	int mark_on_add;
	void *ctx; /* the last argument of each action; yours */
};

/*
 * Make a set, without channels. Nothing is pending on the timer while it has
 * none.
 *
 * out     written on success; give it to tkw_channels_destroy() in the end.
 * cfg     not kept.
 * Return  0; -EINVAL: NULL, a size that this library does not know, no timer,
 *         no rule, a rule without fn or with an interval that is not positive,
 *         a negative period; -ENOMEM; -EPERM: the timer belongs to the parent
 *         of a fork.
 */
int tkw_channels_create(struct tkw_channels **out,
			const struct tkw_channels_config *cfg);

/*
 * Add a channel. It is connected until it is marked otherwise, and was never
 * read and never written, or now: see mark_on_add. Do not add it to two sets at
 * the same time.
 *
 * Return  0: each kind that is done has its step on the timer, resting ones
 *         too; -EINVAL: NULL; -EEXIST; -ENOMEM, -EAGAIN: the timer does not
 *         take a step; -ESHUTDOWN; -EPERM.
 */
int tkw_channels_add(struct tkw_channels *cs, struct tkw_channel *ch);

/*
 * Take a channel out. If an action runs for it on another thread, wait until
 * that has returned. After 0 nothing is called for it any more, and its memory
 * may be freed; inside its own action, at once. If many threads remove it at
 * the same time, one gets 0, and may free it when the others have returned too,
 * for they look at it. Do not hold a lock that an action takes.
 *
 * Return  0; -ENOENT; -EDEADLK: an action runs for it, and this is called from
 *         another callback of the timer, or of any set or repeat, even if that
 *         is called inside the action: nothing changed; -EINVAL: NULL; -EPERM.
 */
int tkw_channels_remove(struct tkw_channels *cs, struct tkw_channel *ch);

/*
 * Something was read, or written, at a time of the timer's clock: an event loop
 * has it at hand, tkw_timer_now_ns() reads it. One relaxed store, on any
 * thread. An earlier time than the last one is stored all the same; one that is
 * not positive means never. On a channel that is in no set it has no effect.
 * NULL is ignored.
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
	uint64_t max_looks; /* of any one step */
};

/* Return  0; -EINVAL: NULL; -EPERM. */
int tkw_channels_get_stats(struct tkw_channels *cs,
			   struct tkw_channel_stats *out);

/* How many channels are in the set; 0 for NULL and in a forked child. */
uint64_t tkw_channels_count(struct tkw_channels *cs);

/*
 * Refuse new channels, and look at none any more. Never waits: an action that
 * runs now ends in its own time. The channels stay in the set, and can be
 * removed. Stopping the timer has the same effect.
 *
 * Return  0: it is shut down, by this call or before; -EINVAL: NULL; -EPERM.
 */
int tkw_channels_shutdown(struct tkw_channels *cs);

/*
 * Shut the set down if nobody has, wait until no action runs, take all channels
 * out, and free its memory. No other thread may be using it.
 *
 * cs      NULL is legal, and does nothing.
 * Return  0; -EDEADLK: called from a task, an on-cancel callback or a visitor
 *         of the timer: nothing changed. In a forked child: 0, and the channels
 *         are not touched.
 */
int tkw_channels_destroy(struct tkw_channels *cs);

#ifdef __cplusplus
}
#endif

#endif /* TICKWHEEL_CHANNEL_H */
