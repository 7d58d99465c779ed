/* SPDX-License-Identifier: MIT */
/*
 * stress_calls.h - the calls that actors make, each with its answer judged.
 *
 * What a call may say depends on where it is made: a task gets -EBUSY for its
 * own id and nothing else, a refusal by stop is legal once a stop has begun, an
 * id that has ended is never ended again, and so on.
 */
#ifndef STRESS_CALLS_H
#define STRESS_CALLS_H

#include "stress_actor.h"

static inline void actor_count(struct actor *a, enum stress_kind kind)
{
	a->counts.n[kind]++;
}

/* Is it in a callback, where the timer refuses to wait? */
static inline bool actor_is_inside(const struct actor *a)
{
	return a->is_worker || a->depth > 0;
}

/* Has it too few timeouts that fired, so far? Then what is near is to be left
 * alone: a third shall fire at least, on the slowest of machines too. */
static inline bool actor_wants_fires(const struct actor *a)
{
	return a->ended_fired * 3 < a->ended;
}

/* The dice of an actor. */
uint64_t actor_roll(struct actor *a);

/* Let others work. Inside a callback: do not, a task must go on. */
void actor_rest(struct actor *a);

/* A call has said what it must not say. */
void call_wrong(const char *call, int answer);

/* Is a refusal by stop legal? */
bool call_may_be_stopped(struct scene *s);

/* A delay: mostly within milliseconds, now and then far away or never. */
int64_t call_pick_delay(uint64_t dice);

/* What a record is scheduled for. */
struct call {
	tkw_task_fn *fn;
	tkw_cancel_fn *on_cancel; /* used if must_cancel, or by the dice */
	bool must_cancel;
	int64_t delay_ns;
};

/* Return whether it was accepted. */
bool call_schedule(struct actor *a, struct record *r, const struct call *c);

/* foreign: the record is another actor's. */
void call_cancel(struct actor *a, struct record *r, bool foreign);
void call_reschedule(struct actor *a, struct record *r, bool foreign);

/* Return what cancel_wait has said. */
int call_cancel_wait(struct actor *a, struct record *r,
		     struct tkw_timeout_id id);
/* The same, and then nothing of its own record may be at work. */
void call_wait_for_own(struct actor *a, struct record *r);
void call_wait_for_foreign(struct actor *a, struct record *r);

void call_query(struct actor *a, const struct record *r);

/* A task on its own id. */
void call_on_itself(struct actor *a, const struct tkw_firing *f, uint32_t dice);

/* An id of a timeout that is over ends nothing, least of all another one. */
void call_with_old_id(struct actor *a, uint64_t dice);

/* What a task must not do to its timer. */
void call_forbidden(struct actor *a);

/* Wait for a moment until the timer is idle, which it hardly ever is. */
void call_wait_idle(struct actor *a);

/* The ledger balances, and the timer is sound, whatever is going on. */
void call_ledger(struct actor *a);
void call_check(struct actor *a);

#endif /* STRESS_CALLS_H */
