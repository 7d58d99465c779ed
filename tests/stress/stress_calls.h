/* SPDX-License-Identifier: MIT */
/*
 * stress_calls.h - the calls that actors make. Each result is checked.
 *
 * Which results are legal depends on where the call is made. A task gets only
 * -EBUSY for its own id. A refusal because of a stop is legal only after a stop
 * has begun. An id that has ended never ends again.
 */
#ifndef STRESS_CALLS_H
#define STRESS_CALLS_H

#include "stress_actor.h"

static inline void actor_count(struct actor *a, enum stress_kind kind)
{
	a->counts.n[kind]++;
}

/* Is the actor in a callback, where the timer refuses to wait? */
static inline bool actor_is_inside(const struct actor *a)
{
	return a->is_worker || a->depth > 0;
}

/* Have less than a third of its timeouts fired so far? Then it must leave near
 * timeouts alone, because at least a quarter has to fire, even on a slow
 * machine. */
static inline bool actor_wants_fires(const struct actor *a)
{
	return a->ended_fired * 3 < a->ended;
}

/* Returns a random number of the actor. */
uint64_t actor_roll(struct actor *a);

/* Lets other threads work. Does nothing inside a callback, because a task must
 * go on. */
void actor_rest(struct actor *a);

/* Reports that a call has returned what it must not return. */
void call_wrong(const char *call, int answer);

/* Is a refusal because of a stop legal? */
bool call_may_be_stopped(struct scene *s);

/* Picks a delay: mostly a few milliseconds, sometimes far away or never. */
int64_t call_pick_delay(uint64_t dice);

/* How a record is scheduled. */
struct call {
	tkw_task_fn *fn;
	/* Always used if must_cancel is set, otherwise at random. */
	tkw_cancel_fn *on_cancel;
	bool must_cancel;
	int64_t delay_ns;
};

/* Returns true if it was accepted. */
bool call_schedule(struct actor *a, struct record *r, const struct call *c);

/* If foreign is set, the record belongs to another actor. */
void call_cancel(struct actor *a, struct record *r, bool foreign);
void call_reschedule(struct actor *a, struct record *r, bool foreign);

/* Returns what cancel_wait has returned. */
int call_cancel_wait(struct actor *a, struct record *r,
		     struct tkw_timeout_id id);
/* The same for a record of its own, and checks that nothing of it runs
 * afterwards. */
void call_wait_for_own(struct actor *a, struct record *r);
void call_wait_for_foreign(struct actor *a, struct record *r);

void call_query(struct actor *a, const struct record *r);

/* Makes a call with the task's own id, inside the task. */
void call_on_itself(struct actor *a, const struct tkw_firing *f, uint32_t dice);

/* Makes a call with the id of a timeout that is over. It must end nothing. */
void call_with_old_id(struct actor *a, uint64_t dice);

/* Makes a call that a task must not make on its timer. */
void call_forbidden(struct actor *a);

/* Waits for a moment until the timer is idle, which it hardly ever is. */
void call_wait_idle(struct actor *a);

/* The first checks that the ledger balances, the second that the timer is
 * sound. They may be called at any time. */
void call_ledger(struct actor *a);
void call_check(struct actor *a);

#endif /* STRESS_CALLS_H */
