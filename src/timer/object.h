/* SPDX-License-Identifier: MIT */
/*
 * object.h - the timer: what it holds, and what all of its files need.
 *
 * Locks, and the order in which they are taken: `life` (start and stop), a
 * shard's, those of further shards in the order of their numbers, `alarm_lock`.
 * The ledger, and who waits until the timer is idle, hold all the shards'. Who
 * wakes the worker holds a shard's and `alarm_lock`. No other two are held at
 * once.
 */
#ifndef TKW_TIMER_OBJECT_H
#define TKW_TIMER_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"
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

/* The life of a timer. */
enum {
	TKW__INIT = 0,
	TKW__STARTED = 1,
	TKW__STOPPING = 2,
	TKW__STOPPED = 3
};

struct tkw_timer {
	/* Set by create, and read only. What each schedule needs is first. */
	uint64_t tick_ns;
	struct tkw__divisor by_tick;
	uint64_t unit_ns; /* of the `before` of a timeout */
	struct tkw__shard *shards;
	uint32_t shard_mask;
	uint32_t epoch; /* of the process that made it */
	bool boottime;
	bool own_clock; /* a hook for now */
	bool limited;
	int drive; /* enum tkw_timer_drive */
	uint64_t slack_max_ns;
	uint64_t max_pending;
	struct tkw_timer_hooks hooks;
	struct tkw_exec exec;
	int refusal;            /* enum tkw_timer_refusal */
	struct tkw__jobs *jobs; /* NULL: the worker runs the tasks */
	char name[TKW__NAME_BYTES];
	size_t shards_bytes;
	struct tkw__shard_kind kind;
	int64_t created_ns;

	/* start.c, stop.c */
	struct tkw__lock life;
	struct tkw__a32 state;
	void *thread;

	/* own_clock: the latest reading. */
	struct tkw__a64 latest_ns;

	/* The worker's sleep: it needs no waking for ticks from `armed` on; 0
	 * while it is awake. See sleep.c. */
	struct tkw__lock alarm_lock;
	struct tkw__alarm alarm;
	struct tkw__a64 armed;
	uint64_t alarm_tick;       /* for which it was set; 0: for now */
	struct tkw__a32 lost_told; /* the log knows that its fd is lost */
	struct tkw__a32 turning;   /* no thread of its own: see drive.c */

	/* Only if limited: how many places are taken. */
	_Alignas(64) struct tkw__a64 reserved;

	struct tkw__slow slow;

	/* What only calls that fail count. */
	struct tkw__a64 refused_full;
	struct tkw__a64 refused_memory;
	struct tkw__a64 refused_stopped;
	struct tkw__a64 refused_lost;

	/* The worker's own: when its turn began, how far it goes, how many it
	 * may yet fire, and whether the last one was cut short; its last
	 * reading of the clock, and what the coarse one said then; how often
	 * the executor has refused in a row; how many ticks those wait whom an
	 * executor refuses that is shut down; how often the worker has woken
	 * up; and each shard's next tick, as of its last look. */
	_Alignas(64) int64_t turn_ns;
	uint64_t turn_to;
	uint64_t budget;
	bool unfinished;
	bool patient; /* in this turn the executor was shut down */
	int64_t seen_ns;
	int64_t seen_coarse_ns;
	uint32_t refused_in_a_row;
	uint64_t patience_ticks;
	uint64_t wake_ups;
	uint64_t next[TKW__SHARDS_MAX];
};

/* A clock of the user's may go back: then the latest reading counts. */
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

/* The clock, never before an earlier reading. */
static inline int64_t tkw__now(struct tkw_timer *t)
{
	return t->own_clock ? tkw__own_now(t) : tkw__clock_now(t->boottime);
}

/* Does it go on by itself, and can it sleep? */
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

/* Free what tkw__slab_put() returned, no lock held. */
static inline void tkw__give_back(struct tkw_timer *t, void *block)
{
	if (block)
		t->hooks.free(block, TKW__BLOCK_BYTES, t->hooks.ctx);
}

/* One line for the log hook, if there is one. */
static inline void tkw__log(const struct tkw_timer *t, const char *line)
{
	if (t->hooks.log)
		t->hooks.log(line, t->hooks.ctx);
}

#endif /* TKW_TIMER_OBJECT_H */
