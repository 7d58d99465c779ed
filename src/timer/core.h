/* SPDX-License-Identifier: MIT */
/*
 * core.h - what the files of the timer share.
 *
 * Locks, and the order in which they are taken: `life` (start and stop), a
 * shard's, those of further shards in the order of their numbers, `alarm_lock`.
 * No two are held at once but by the ledger, which holds all the shards'.
 */
#ifndef TKW_TIMER_CORE_H
#define TKW_TIMER_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"
#include "os/clock.h"
#include "os/sync.h"
#include "os/thread.h"
#include "tickwheel/exec.h"
#include "timer/crew.h"
#include "timer/shard.h"
#include "timer/watch.h"

enum {
	TKW__SHARDS_MAX = 64,
	TKW__NAME_BYTES = 16,
	TKW__TIME_BYTES = 32,
	TKW__RINGS_MAX = 64
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
	uint32_t forks; /* of the process that made it */
	bool boottime;
	bool own_clock; /* a hook for now */
	bool limited;
	bool manual;   /* no thread of its own */
	bool pollable; /* but an alarm: see src/loop */
	uint64_t slack_max_ns;
	uint64_t max_pending;
	struct tkw_timer_hooks hooks;
	struct tkw_exec exec;
	int refusal;            /* enum tkw_timer_refusal */
	struct tkw__crew *crew; /* NULL: the worker runs the tasks */
	char name[TKW__NAME_BYTES];
	size_t shards_bytes;
	int64_t created_ns;

	/* life.c */
	struct tkw__lock life;
	struct tkw__a32 state;
	void *thread;

	/* own_clock: the latest reading. */
	struct tkw__a64 latest_ns;

	/* The worker's sleep: it needs no waking for ticks from `armed` on; 0
	 * while it is awake. See worker.c. */
	struct tkw__lock alarm_lock;
	struct tkw__alarm alarm;
	struct tkw__a64 armed;
	uint64_t alarm_tick;     /* for which it was set; 0: for now */
	struct tkw__a32 turning; /* manual: see life.c */

	/* Only if limited: how many places are taken. */
	_Alignas(64) struct tkw__a64 reserved;

	struct tkw__watch watch;

	/* What only calls that fail count. */
	struct tkw__a64 refused_full;
	struct tkw__a64 refused_memory;
	struct tkw__a64 refused_stopped;

	/* The worker's own: when its turn began, how far it goes, how many it
	 * may yet fire, and whether the last one was cut short; its last
	 * reading of the clock, and what the coarse one said then; how often
	 * the executor has refused in a row; how often the worker has woken up;
	 * and each shard's next tick, as of its last look. */
	_Alignas(64) int64_t turn_ns;
	uint64_t turn_to;
	uint64_t budget;
	bool unfinished;
	int64_t seen_ns;
	int64_t seen_coarse_ns;
	uint32_t refused_in_a_row;
	uint64_t wake_ups;
	uint64_t next[TKW__SHARDS_MAX];
};

/*
 * Who calls whom: one frame on the stack of a thread for each function of the
 * user's that the library has called there, so that a call which would wait for
 * itself is known.
 */
struct tkw__frame {
	const struct tkw_timer *timer;
	struct tkw__frame *up;
};
void tkw__frame_enter(struct tkw__frame *f, const struct tkw_timer *t);
void tkw__frame_leave(const struct tkw__frame *f);
/* Is this thread inside a function that this timer has called? */
bool tkw__frame_inside(const struct tkw_timer *t);

/* Was the timer made by a parent of this process? */
static inline bool tkw__is_foreign(const struct tkw_timer *t)
{
	return t->forks != tkw__forks;
}

/* A clock of the user's may go back: then the latest reading counts. */
int64_t tkw__own_now(struct tkw_timer *t);

/* The clock, never before an earlier reading. */
static inline int64_t tkw__now(struct tkw_timer *t)
{
	return t->own_clock ? tkw__own_now(t) : tkw__clock_now(t->boottime);
}

/* The tick that a time, which is not negative, is in. */
static inline uint64_t tkw__tick_at(const struct tkw_timer *t, int64_t ns)
{
	uint64_t rest;

	return tkw__divide((uint64_t)ns, t->by_tick, &rest);
}

/* The deadline of a timeout. */
int64_t tkw__deadline_of(const struct tkw_timer *t,
			 const struct tkw__timeout *to);

/* What is to be said of a timeout, at a time. It is not FREE, and the lock is
 * held or the timeout is the caller's. */
struct tkw_timeout_info tkw__info_of(const struct tkw_timer *t,
				     const struct tkw__shard *s,
				     const struct tkw__timeout *to,
				     int64_t now_ns);

/* A time in the largest unit of which there is one: "1.2 s", "45 ms". size:
 * TKW__TIME_BYTES. */
void tkw__print_time(char *buf, size_t size, int64_t ns);

/* Free what tkw__slab_put() returned, no lock held. */
void tkw__give_back(struct tkw_timer *t, void *block);

/* A place under max_pending is free again, which is said under the shard's
 * lock, together with the ledger: what does not count as pending is in nobody's
 * way. */
void tkw__unreserve(struct tkw_timer *t);

/* A timeout that an executor has, or had: run it; the executor gives up on it.
 * Nothing is done if the id is stale, or not QUEUED any more. */
void tkw__job_run(struct tkw_timer *t, uint64_t id);
void tkw__job_abandon(struct tkw_timer *t, uint64_t id);

/* Call on_cancel, if there is one, and end the timeout, which is ENDING. */
void tkw__finish_ending(struct tkw_timer *t, struct tkw__shard *s,
			struct tkw__timeout *to);

/* Start a timer that does not run. Return  0, -ENOMEM or -ESHUTDOWN. */
int tkw__start(struct tkw_timer *t);

/* Make sure that the timer runs. Return  the same. */
static inline int tkw__ensure_started(struct tkw_timer *t)
{
	/* ACQUIRE pairs with the RELEASE of tkw__start(). */
	return TKW__LOAD(&t->state, ACQUIRE) == TKW__STARTED ? 0
							     : tkw__start(t);
}

/* worker.c: a thread's whole life; a turn of so many timeouts at most, which
 * returns how many it fired and writes the tick at which the next one is
 * needed; 0: at once. */
void *tkw__worker_run(void *timer);
uint64_t tkw__worker_turn(struct tkw_timer *t, uint64_t most, uint64_t *next);
/* Tell the log what was dropped since it was told last. */
void tkw__worker_tell_dropped(struct tkw_timer *t);
/* At which tick the worker is needed; 0: at once. Looks at each shard. */
uint64_t tkw__worker_next(struct tkw_timer *t);
/* A timeout needs the worker before the tick for which it is armed. */
void tkw__worker_rearm(struct tkw_timer *t, uint64_t tick);

/* A timeout needs the worker at a tick: wake it in time. */
static inline void tkw__worker_call(struct tkw_timer *t, uint64_t tick)
{
	if (tick < TKW__LOAD(&t->armed, RELAXED))
		tkw__worker_rearm(t, tick);
}

/* Wake it at once. */
void tkw__worker_wake(struct tkw_timer *t);

/* Where there is no thread to sleep: a turn begins; it has ended, and the next
 * is needed at a tick; there will be none any more. */
void tkw__worker_awake(struct tkw_timer *t);
void tkw__worker_arm(struct tkw_timer *t, uint64_t tick);
void tkw__worker_disarm(struct tkw_timer *t);

/*
 * life.c: a turn by the caller, of a timer that has no thread, between a begin
 * and an end. Return  0, or -EINVAL, -EPERM, -EDEADLK, -EBUSY, -ESHUTDOWN as
 * tkw_timer_turn().
 */
int tkw__turn_enter(struct tkw_timer *t, bool pollable);
void tkw__turn_leave(struct tkw_timer *t);
/* A tick as a time; 0: now. */
int64_t tkw__ns_of_next(struct tkw_timer *t, uint64_t tick);

#endif /* TKW_TIMER_CORE_H */
