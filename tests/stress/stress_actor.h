/* SPDX-License-Identifier: MIT */
/*
 * stress_actor.h - who acts on a timer in a stress: its threads, its worker.
 *
 * An actor has a pool of records and walks over it in a ring: what is over is
 * judged and scheduled anew, what is pending is now and then cancelled, waited
 * for or rescheduled, and so are records of the other actors. The worker is an
 * actor too: its steps are taken by tasks and are the re-entry of the stress.
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
	_Atomic bool stopping; /* from here on a refusal by stop is legal */
	_Atomic bool stopped;  /* and from here on nothing may run */
	_Atomic bool quiet;    /* callbacks no longer call the timer */
	_Atomic struct tkw_timeout_id party;  /* a running task to wait for */
	_Atomic(struct meeting *) invitation; /* to cancel its timeout */
	_Atomic uint64_t drilled;
	struct actor *actors; /* the threads', then the worker's */
	uint32_t actor_count;
};

/* A callback that waits for another thread to meet it running. */
struct meeting {
	struct record record;
	struct actor *host;
	_Atomic int phase;
};

struct actor {
	/* set once, and read by all */
	alignas(64) struct scene *scene;
	struct record *pool;
	uint32_t pool_mask;
	bool is_worker; /* its steps are inside tasks */
	bool can_meet;  /* somebody else drives the timer */
	bool is_auditor;
	/* its own */
	alignas(64) uint64_t random;
	uint64_t steps;
	int64_t now_ns;  /* of the timer's clock, a little old */
	int64_t seen_ns; /* the same, as its tasks have seen it */
	uint32_t next;
	uint32_t skipped;
	uint32_t crowded; /* it makes room under the limit */
	int depth;        /* on_cancel callbacks that it is in */
	bool was_refused; /* by stop */
	/* of its records, lately: how many have ended, how many by firing */
	uint32_t ended;
	uint32_t ended_fired;
	struct record *loner; /* has memory of its own */
	struct tkw_timeout_id old_ids[STRESS_OLD_IDS];
	struct stress_counts counts;
	struct meeting meeting;
};

/* Who the calling thread is: counts go there. The worker's thread need not. */
void actor_enter(struct actor *a);
struct actor *actor_current(void);

/* The worker's actor of the timer that is about to be made. */
void actor_set_worker(struct actor *a);

/* One step of whatever the dice say. */
void actor_step(struct actor *a);

/* No more steps: end what the pool does not hold. */
void actor_leave(struct actor *a);

/* Its timeout is over: judge it. */
void actor_harvest(struct actor *a, struct record *r);

/* A turn by hand; its tasks act as the worker. Return as tkw_timer_turn(). */
int actor_turn(struct actor *a);

/* Cancel what is far away, of all actors. For when they have come to rest. */
void actor_cancel_far(struct actor *a);

/* The visitor of a stop. ctx is not used: the caller's thread counts. */
void actor_visit(const struct tkw_timeout_info *info, void *ctx);

#endif /* STRESS_ACTOR_H */
