/* SPDX-License-Identifier: MIT */
/*
 * stress_actor.h - the actors of a stress: the threads that use a timer, and
 * its worker.
 *
 * An actor has a pool of records and walks over it in a ring. A record whose
 * timeout is over is judged and scheduled again. A pending one is sometimes
 * cancelled, waited for or rescheduled, and so are records of other actors. The
 * worker is an actor too. Its steps are made by tasks, so they test calls
 * inside callbacks.
 */
#ifndef STRESS_ACTOR_H
#define STRESS_ACTOR_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "stress_count.h"
#include "stress_record.h"

enum {
	STRESS_THREADS_MAX = 8,
	STRESS_OLD_IDS = 64
};

/* What all actors on one timer share. */
struct scene {
	struct tkw_timer *timer;
	bool manual;
	bool limited;
	bool always_on_cancel;
	int64_t max_pending;
	int64_t tick_ns;
	_Atomic bool stopping; /* a refusal because of the stop is legal */
	_Atomic bool stopped;  /* nothing may run any more */
	_Atomic bool quiet;    /* callbacks no longer call the timer */
	_Atomic struct tkw_timeout_id party; /* a running task to wait for */
	/* A meeting whose timeout may be cancelled. */
	_Atomic(struct meeting *) invitation;
	_Atomic uint64_t drilled;
	struct actor *actors; /* those of the threads, then the worker's */
	uint32_t actor_count;
};

/* A callback that waits for another thread while it runs. */
struct meeting {
	struct record record;
	struct actor *host;
	_Atomic int phase;
};

struct actor {
	/* Set once, and read by all. */
	alignas(64) struct scene *scene;
	struct record *pool;
	uint32_t pool_mask;
	bool is_worker; /* it makes its steps inside tasks */
	bool can_meet;  /* somebody else drives the timer */
	bool is_auditor;
	/* Used only by the actor itself. */
	alignas(64) uint64_t random;
	uint64_t steps;
	int64_t now_ns;  /* a recent time of the timer's clock */
	int64_t seen_ns; /* the same, for its tasks */
	uint32_t next;
	uint32_t skipped;
	uint32_t crowded; /* it makes room under the limit */
	int depth;        /* how many on_cancel callbacks it is in */
	bool was_refused; /* because of a stop */
	/* How many of its records have ended lately, and how many of them by
	 * firing. */
	uint32_t ended;
	uint32_t ended_fired;
	struct record *loner; /* a record that is not in the pool */
	struct tkw_timeout_id old_ids[STRESS_OLD_IDS];
	struct stress_counts counts;
	struct meeting meeting;
};

/* Says which actor the calling thread is. Its events are counted there. The
 * worker's thread need not call this. */
void actor_enter(struct actor *a);
struct actor *actor_current(void);

/* Sets the worker's actor of the timer that is about to be created. */
void actor_set_worker(struct actor *a);

/* Makes one random step. */
void actor_step(struct actor *a);

/* Called after the last step. Ends the records that are not in the pool. */
void actor_leave(struct actor *a);

/* Judges a record whose timeout is over. */
void actor_harvest(struct actor *a, struct record *r);

/* Makes a turn. Its tasks act as the worker. Returns what tkw_timer_turn()
 * returns. */
int actor_turn(struct actor *a);

/* Cancels the far timeouts of all actors. Call it when they rest. */
void actor_cancel_far(struct actor *a);

/* The visitor of a stop. It does not use ctx. It counts for the calling
 * thread. */
void actor_visit(const struct tkw_timeout_info *info, void *ctx);

#endif /* STRESS_ACTOR_H */
