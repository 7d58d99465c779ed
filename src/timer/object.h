/* SPDX-License-Identifier: MIT */
/*
 * object.h - the timer: what it holds, and what all of its files need.
 *
 * Locks are taken in this order: `life` (start and stop), one shard's, those of
 * further shards in the order of their numbers, `alarm_lock`. Reading the
 * ledger and waiting until the timer is idle take the locks of all shards.
 * Waking the worker takes one shard's and `alarm_lock`. No other two are held
 * at once.
 */
#ifndef TKW_TIMER_OBJECT_H
#define TKW_TIMER_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/divide.h"
#include "os/alarm.h"
#include "os/clock.h"
#include "os/fork.h"
#include "os/sync.h"
#include "tickwheel/exec.h"
#include "timer/jobs.h"
#include "timer/shard.h"
#include "timer/slow.h"

enum {
	TKW__SHARDS_MAX = 64,
	TKW__NAME_BYTES = 16
};

/* The states of a timer. */
enum {
	TKW__INIT = 0,
	TKW__STARTED = 1,
	TKW__STOPPING = 2,
	TKW__STOPPED = 3
};

struct tkw_timer {
	/* Set by create; only read afterwards. The fields that each schedule
	 * needs come first. */
	uint64_t tick_ns;
	struct tkw__divisor by_tick;
	uint64_t unit_ns; /* unit of a timeout's `before` */
	struct tkw__shard *shards;
	uint32_t shard_mask;
	uint32_t epoch; /* the process that made the timer; see fork.h */
	bool boottime;
	bool own_clock; /* the user gave a clock of their own */
	bool limited;
	bool plain; /* not limited, and unit_ns is 1 */
	int drive;  /* enum tkw_timer_drive */
	uint64_t slack_max_ns;
	uint64_t max_pending;
	struct tkw_timer_hooks hooks;
	struct tkw_exec exec;
	int refusal;            /* enum tkw_timer_refusal */
	struct tkw__jobs *jobs; /* NULL if the worker runs the tasks */
	char name[TKW__NAME_BYTES];
	size_t shards_bytes;
	struct tkw__shard_kind kind;
	int64_t created_ns;

	/* For start.c and stop.c. */
	struct tkw__lock life;
	struct tkw__a32 state;
	void *thread;

	/* The latest reading of the clock, if own_clock is set. */
	struct tkw__a64 latest_ns;

	/* The worker's sleep. It need not be woken for ticks from `armed` on.
	 * `armed` is 0 while the worker is awake. See sleep.c. */
	struct tkw__lock alarm_lock;
	struct tkw__alarm alarm;
	struct tkw__a64 armed;
	uint64_t alarm_tick; /* tick that the alarm is set for; 0 means now */
	/* Set once the log was told that the alarm's fd is lost. */
	struct tkw__a32 lost_told;
	struct tkw__a32 turning; /* for turns without a thread; see drive.c */

	/* Used only if limited: how many places are taken. */
	_Alignas(64) struct tkw__a64 reserved;

	struct tkw__slow slow;

	/* Calls that were refused. */
	struct tkw__a64 refused_full;
	struct tkw__a64 refused_memory;
	struct tkw__a64 refused_stopped;
	struct tkw__a64 refused_lost;

	/*
	 * The rest belongs to the worker.
	 *
	 * turn_ns           when its turn began
	 * turn_to           the last tick of the turn
	 * budget            how many timeouts it may still fire
	 * unfinished        the last turn was cut short
	 * patient           the executor was shut down in this turn
	 * seen_ns           its last reading of the clock
	 * seen_coarse_ns    the coarse clock at that moment
	 * refused_in_a_row  how often the executor has refused
	 * patience_ticks    how long timeouts wait that are refused by an
	 *                   executor that is shut down
	 * wake_ups          how often the worker has woken up
	 * next              each shard's next tick, at the worker's last look
	 */
	_Alignas(64) int64_t turn_ns;
	uint64_t turn_to;
	uint64_t budget;
	bool unfinished;
	bool patient;
	int64_t seen_ns;
	int64_t seen_coarse_ns;
	uint32_t refused_in_a_row;
	uint64_t patience_ticks;
	uint64_t wake_ups;
	uint64_t next[TKW__SHARDS_MAX];
};

/* Reads the user's clock. If it goes back, the latest reading counts. */
static inline int64_t tkw__own_now(struct tkw_timer *t)
{
	int64_t now = t->hooks.now(t->hooks.ctx);
	uint64_t latest = TKW__LOAD(&t->latest_ns, RELAXED);

	while (now > (int64_t)latest) {
		if (TKW__CAS(&t->latest_ns, &latest, (uint64_t)now, RELAXED))
			return now;
	}
	return (int64_t)latest;
}

/* Reads the timer's clock. The result is never before an earlier one. */
static inline int64_t tkw__now(struct tkw_timer *t)
{
	return t->own_clock ? tkw__own_now(t) : tkw__clock_now(t->boottime);
}

/* Does the timer have a worker thread? Does it have an alarm? */
static inline bool tkw__has_thread(const struct tkw_timer *t)
{
	return t->drive == TKW_DRIVE_THREAD;
}

static inline bool tkw__has_alarm(const struct tkw_timer *t)
{
	return t->drive != TKW_DRIVE_MANUAL;
}

static inline bool tkw__is_stopping(const struct tkw_timer *t)
{
	/* ACQUIRE pairs with the store of begin_stop(). */
	return TKW__LOAD(&t->state, ACQUIRE) >= TKW__STOPPING;
}

/* Frees what tkw__slab_put() returned. No lock may be held. */
static inline void tkw__give_back(struct tkw_timer *t, void *block)
{
	if (block)
		t->hooks.free(block, TKW__BLOCK_BYTES, t->hooks.ctx);
}

/* Gives one line to the log hook, if there is one. */
static inline void tkw__log(const struct tkw_timer *t, const char *line)
{
	if (t->hooks.log)
		t->hooks.log(line, t->hooks.ctx);
}

#endif /* TKW_TIMER_OBJECT_H */
