/* SPDX-License-Identifier: MIT */
/*
 * stress_actor.c - the steps of an actor, its tasks and its on-cancel
 * callbacks.
 */
#include "stress_actor.h"

#include <errno.h>
#include <stdlib.h>

#include "stress_calls.h"
#include "stress_meeting.h"

enum {
	CLOCK_STEPS = 32, /* steps between two readings of the clock */
	MEET_STEPS = 8192,
	LEDGER_STEPS = 1 << 14,
	/* Checking each timeout is slow, and blocks all other threads. */
	CHECK_STEPS = 1 << 19,
	CHECK_FIRST = 4096,
	DEPTH_MAX = 2,
	RECENT = 4096,
	SKIPS_MAX = 64
};

static _Thread_local struct actor *me;
static struct actor *worker;

void actor_enter(struct actor *a)
{
	me = a;
}

void actor_set_worker(struct actor *a)
{
	worker = a;
}

struct actor *actor_current(void)
{
	/* The timer's own thread has none set. */
	if (!me)
		me = worker;
	return me;
}

static bool is_quiet(struct scene *s)
{
	return atomic_load_explicit(&s->quiet, memory_order_relaxed);
}

/* ---- callbacks ---- */

static void on_cancel(void *ctx)
{
	struct record *r = ctx;
	uint32_t plan = r->plan;
	struct actor *a = actor_current();

	actor_count(a, STRESS_ON_CANCEL);
	record_on_cancel(r);
	/* The record may be in use again by now. */
	if ((plan >> 28) != 0 || !a->pool || a->depth >= DEPTH_MAX ||
	    is_quiet(a->scene))
		return;
	a->depth++;
	actor_step(a);
	a->depth--;
	actor_count(a, STRESS_ON_CANCEL_REENTRY);
}

static void run_task(const struct tkw_firing *f, void *ctx)
{
	struct record *r = ctx;
	uint32_t plan = r->plan;
	struct actor *a = actor_current();

	record_fired(r, f, &a->seen_ns);
	actor_count(a, STRESS_FIRED);
	if (r->reentry)
		actor_count(a, STRESS_FIRED_REENTRY);
	if ((plan & 15) == 0 && !is_quiet(a->scene)) {
		plan >>= 4;
		if (a->now_ns < a->seen_ns)
			a->now_ns = a->seen_ns;
		if ((plan & 7) == 0)
			call_on_itself(a, f, plan >> 3);
		else
			actor_step(a);
	}
	record_done(r);
}

void actor_visit(const struct tkw_timeout_info *info, void *ctx)
{
	struct record *r = info->task.ctx;
	struct actor *a = actor_current();

	(void)ctx;
	actor_count(a, STRESS_HANDED_OVER);
	if (info->state != TKW_TIMEOUT_PENDING)
		call_wrong("state of what is handed over", info->state);
	record_handed(r);
}

/* ---- steps ---- */

static bool schedule(struct actor *a, struct record *r, int64_t delay_ns)
{
	struct call c = { .fn = run_task,
			  .on_cancel = on_cancel,
			  .must_cancel = a->scene->always_on_cancel,
			  .delay_ns = delay_ns };

	return call_schedule(a, r, &c);
}

void actor_harvest(struct actor *a, struct record *r)
{
	uint32_t s = atomic_load_explicit(&r->state, memory_order_relaxed);

	if (s == 0)
		return;
	record_judge(r);
	a->old_ids[a->steps % STRESS_OLD_IDS] = record_id(r);
	a->ended++;
	a->ended_fired += (s & RECORD_DONE) != 0;
	if (a->ended == RECENT) {
		a->ended /= 2;
		a->ended_fired /= 2;
	}
}

static void skip(struct actor *a)
{
	if (a->skipped++ < SKIPS_MAX)
		return;
	/* Nearly all records are pending. */
	a->skipped = 0;
	actor_rest(a);
}

static void tend(struct actor *a, struct record *r, uint64_t dice)
{
	bool near = record_is_near(r, a->now_ns);
	uint32_t k = (dice >> 48) & 63;

	if (a->crowded > 0) {
		a->crowded--;
		k = 0;
	}
	if (k >= 24 || (near && actor_wants_fires(a)))
		skip(a);
	else if (k < 15)
		call_cancel(a, r, false);
	else if (k < 16)
		call_wait_for_own(a, r);
	else if (k < 23)
		call_reschedule(a, r, false);
	else
		call_query(a, r);
}

static void meddle(struct actor *a, uint64_t dice)
{
	struct scene *s = a->scene;
	const struct actor *other = &s->actors[dice % s->actor_count];
	struct record *r = &other->pool[(dice >> 8) & other->pool_mask];
	uint32_t k = (dice >> 40) & 15;

	if (k < 7)
		call_reschedule(a, r, true);
	else if (k == 7)
		call_with_old_id(a, dice >> 44);
	else if (actor_wants_fires(a) && record_is_near(r, a->now_ns))
		skip(a);
	else if (k < 15)
		call_cancel(a, r, true);
	else
		call_wait_for_foreign(a, r);
}

/* Schedules a record in its own memory, which is freed as soon as the timer
 * allows it. */
static void start_loner(struct actor *a, uint64_t dice)
{
	struct record *r = aligned_alloc(alignof(struct record), sizeof(*r));

	if (!r)
		abort();
	*r = (struct record){ 0 };
	if (schedule(a, r, (int64_t)(dice & 0xffff)))
		a->loner = r;
	else
		free(r);
}

static void end_loner(struct actor *a)
{
	struct record *r = a->loner;

	call_wait_for_own(a, r);
	if (!record_is_over(r))
		stress_fault(STRESS_UNENDED, "not over after its cancel_wait");
	record_judge(r);
	free(r);
	a->loner = NULL;
	actor_count(a, STRESS_WAIT_FREED);
}

static void step_seldom(struct actor *a, uint64_t dice)
{
	if (!actor_is_inside(a)) {
		meeting_join(a);
		/* The first time comes early, because a life may be short. */
		if (a->steps % LEDGER_STEPS == CLOCK_STEPS)
			call_ledger(a);
		if (a->steps % LEDGER_STEPS == 2 * (uint64_t)CLOCK_STEPS)
			call_wait_idle(a);
		if (a->is_auditor && a->steps % CHECK_STEPS == CHECK_FIRST)
			call_check(a);
		if (a->can_meet && a->steps % MEET_STEPS == CLOCK_STEPS)
			meeting_hold(a);
		if (a->loner)
			end_loner(a);
		else if ((dice & 7) == 0)
			start_loner(a, dice >> 8);
	}
	a->now_ns = tkw_timer_now_ns(a->scene->timer);
}

void actor_step(struct actor *a)
{
	uint64_t dice = actor_roll(a);
	struct record *r;

	if (++a->steps % CLOCK_STEPS == 0)
		step_seldom(a, dice);
	r = &a->pool[a->next++ & a->pool_mask];
	if (!record_is_over(r)) {
		tend(a, r, dice);
		return;
	}
	if (a->crowded > 0) {
		a->crowded--;
		return;
	}
	actor_harvest(a, r);
	if (schedule(a, r, call_pick_delay(dice)))
		a->skipped = 0;
	if ((dice >> 56) < 64)
		meddle(a, actor_roll(a));
}

void actor_leave(struct actor *a)
{
	if (a->loner)
		end_loner(a);
}

/* ---- the rest ---- */

int actor_turn(struct actor *a)
{
	int fired;

	me = worker;
	fired = tkw_timer_turn(a->scene->timer, 0, NULL);
	me = a;
	if (fired >= 0)
		actor_count(a, STRESS_TURN);
	else if (fired == -EBUSY)
		actor_count(a, STRESS_TURN_BUSY);
	else if (fired != -ESHUTDOWN || !call_may_be_stopped(a->scene))
		call_wrong("turn", fired);
	return fired;
}

void actor_cancel_far(struct actor *a)
{
	const struct scene *s = a->scene;
	int64_t now_ns = tkw_timer_now_ns(s->timer);
	uint32_t i, j;

	for (i = 0; i < s->actor_count; i++) {
		for (j = 0; j <= s->actors[i].pool_mask; j++) {
			struct record *r = &s->actors[i].pool[j];

			if (!record_is_near(r, now_ns))
				call_cancel(a, r, true);
		}
	}
}
