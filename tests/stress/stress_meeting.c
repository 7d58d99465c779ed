/* SPDX-License-Identifier: MIT */
/*
 * stress_meeting.c - arranges races that hardly ever happen by chance.
 */
#define _POSIX_C_SOURCE 200809L /* sched_yield */
#include "stress_meeting.h"

#include <errno.h>
#include <sched.h>

#include "stress_calls.h"

enum meeting_phase {
	MEET_CALLED,
	MEET_RUNNING, /* the callback runs and waits */
	MEET_AWAITED, /* the host is about to wait for its end */
	MEET_LEFT     /* the host lets the callback go on */
};

enum {
	PATIENCE = 1000, /* yields until an invitation ends */
	YIELDS = 100,    /* yields before a waiting thread naps */
	LINGER = 64,
	DRILLS = 32
};

static int phase_of(struct meeting *m)
{
	return atomic_load_explicit(&m->phase, memory_order_acquire);
}

static void set_phase(struct meeting *m, enum meeting_phase phase)
{
	atomic_store_explicit(&m->phase, (int)phase, memory_order_release);
}

/* After a fault, a thread could wait for ever. */
static bool is_hopeless(void)
{
	return stress_faults() > 0;
}

/* Called inside the callback. Reports that it runs, and waits for the host. */
static void stay(struct meeting *m, uint32_t linger)
{
	set_phase(m, MEET_RUNNING);
	while (phase_of(m) == MEET_RUNNING && !is_hopeless())
		sched_yield();
	/* Gives the host time to wait inside the timer. */
	while (phase_of(m) == MEET_AWAITED && linger-- > 0)
		sched_yield();
}

static void run_task(const struct tkw_firing *f, void *ctx)
{
	struct record *r = ctx;
	uint32_t linger = r->plan % LINGER;
	struct actor *a = actor_current();

	record_fired(r, f, &a->seen_ns);
	actor_count(a, STRESS_FIRED);
	call_forbidden(a);
	stay((struct meeting *)r, linger); /* r is the first member */
	record_done(r);
}

static void on_cancel(void *ctx)
{
	struct record *r = ctx;
	uint32_t linger = r->plan % LINGER;
	struct meeting *m = (struct meeting *)r;
	struct actor *a = actor_current();

	actor_count(a, STRESS_ON_CANCEL);
	/* The host would wait for itself. */
	if (a != m->host)
		stay(m, linger);
	record_on_cancel(r);
}

static bool call(struct actor *a, int64_t delay_ns)
{
	struct meeting *m = &a->meeting;
	struct call c = { .fn = run_task,
			  .on_cancel = on_cancel,
			  .must_cancel = true,
			  .delay_ns = delay_ns };

	m->host = a;
	set_phase(m, MEET_CALLED);
	return call_schedule(a, &m->record, &c);
}

/* The task runs and will not end meanwhile, so each call has one right
 * result. */
static void meet_for_sure(struct actor *a, struct tkw_timeout_id id)
{
	struct tkw_timer *t = a->scene->timer;
	struct tkw_timeout_info info;
	int err = tkw_timer_cancel(t, id);

	actor_count(a, STRESS_CANCEL_BUSY);
	if (err != -EBUSY)
		call_wrong("cancel of a running task", err);
	err = tkw_timer_reschedule(t, id, 0);
	if (err == -EBUSY)
		actor_count(a, STRESS_MOVE_BUSY);
	else if (err != -ESHUTDOWN || !call_may_be_stopped(a->scene))
		call_wrong("reschedule of a running task", err);
	err = tkw_timer_get(t, id, &info);
	if (err != 0 || info.state != TKW_TIMEOUT_RUNNING)
		call_wrong("query of a running task", err);
	if (a->scene->manual) {
		err = tkw_timer_turn(t, 0, NULL);
		if (err == -EBUSY)
			actor_count(a, STRESS_TURN_BUSY);
		else if (err != -ESHUTDOWN || !call_may_be_stopped(a->scene))
			call_wrong("turn in another thread's turn", err);
	}
}

/* Waits for the callback that stays, together with any thread that joins. */
static int meet_and_wait(struct actor *a, struct tkw_timeout_id id)
{
	const struct tkw_timeout_id nobody = { 0 };
	int err;

	atomic_store_explicit(&a->scene->party, id, memory_order_relaxed);
	set_phase(&a->meeting, MEET_AWAITED);
	err = call_cancel_wait(a, &a->meeting.record, id);
	atomic_store_explicit(&a->scene->party, nobody, memory_order_relaxed);
	record_must_be_still(&a->meeting.record);
	return err;
}

static void attend(struct actor *a, struct tkw_timeout_id id, bool for_sure)
{
	struct record *r = &a->meeting.record;
	uint32_t s = atomic_load_explicit(&r->state, memory_order_relaxed);
	int err;

	if (!(s & RECORD_FIRED)) {
		/* The on_cancel may come from a cancel or from a stop. */
		err = meet_and_wait(a, id);
		if (err != -ENOENT)
			call_wrong("cancel_wait for an on_cancel", err);
		actor_count(a, STRESS_WAIT_ON_CANCEL);
	} else if (for_sure) {
		meet_for_sure(a, id);
		set_phase(&a->meeting, MEET_LEFT);
	} else {
		err = meet_and_wait(a, id);
		if (err != 1 && err != -ENOENT)
			call_wrong("cancel_wait for a running task", err);
	}
}

/* Meets the callback until the timeout is over, whichever thread ends it. */
static void hold(struct actor *a, bool for_sure)
{
	struct meeting *m = &a->meeting;
	struct record *r = &m->record;
	struct tkw_timeout_id id = record_id(r);

	while (!record_is_over(r) && !is_hopeless()) {
		if (phase_of(m) == MEET_RUNNING)
			attend(a, id, for_sure);
		else
			sched_yield();
	}
	if (!is_hopeless())
		actor_harvest(a, r);
}

/* Asks other threads to cancel it. If none comes, cancels it itself. */
static void invite(struct actor *a)
{
	struct meeting *m = &a->meeting;
	struct meeting *none = NULL;
	struct meeting *mine = m;
	int i;

	if (!atomic_compare_exchange_strong_explicit(
		    &a->scene->invitation, &none, m, memory_order_release,
		    memory_order_relaxed)) {
		call_cancel(a, &m->record, false);
		return;
	}
	for (i = 0; i < PATIENCE && phase_of(m) == MEET_CALLED; i++)
		sched_yield();
	if (atomic_compare_exchange_strong_explicit(
		    &a->scene->invitation, &mine, NULL, memory_order_relaxed,
		    memory_order_relaxed))
		call_cancel(a, &m->record, false);
}

void meeting_hold(struct actor *a)
{
	uint64_t dice = actor_roll(a);

	if (dice & 1) {
		if (call(a, 0))
			hold(a, dice & 2);
	} else if (call(a, 3600 * TKW_SEC)) {
		invite(a);
		hold(a, false);
	}
}

static void join_wait(struct actor *a, struct tkw_timeout_id id)
{
	int err = tkw_timer_cancel_wait(a->scene->timer, id);

	if (err == 1)
		actor_count(a, STRESS_WAIT_TOGETHER);
	else if (err != -ENOENT)
		call_wrong("cancel_wait for what another waits for", err);
}

void meeting_join(struct actor *a)
{
	struct scene *s = a->scene;
	struct tkw_timeout_id party =
		atomic_load_explicit(&s->party, memory_order_relaxed);
	struct meeting *m =
		atomic_load_explicit(&s->invitation, memory_order_relaxed);

	if (party.bits != 0)
		join_wait(a, party);
	/* ACQUIRE pairs with invite(). */
	if (m && atomic_compare_exchange_strong_explicit(
			 &s->invitation, &m, NULL, memory_order_acquire,
			 memory_order_relaxed))
		call_cancel(a, &m->record, true);
}

/* ---- stop ---- */

static void run_until_stop(const struct tkw_firing *f, void *ctx)
{
	struct record *r = ctx;
	uint32_t linger = r->plan % LINGER;
	struct actor *a = actor_current();
	struct scene *s = a->scene;

	record_fired(r, f, &a->seen_ns);
	actor_count(a, STRESS_FIRED);
	set_phase((struct meeting *)r, MEET_RUNNING);
	while (!call_may_be_stopped(s))
		sched_yield();
	/* Gives it time to wait inside the timer. */
	while (linger-- > 0)
		sched_yield();
	if (atomic_load_explicit(&s->stopped, memory_order_relaxed))
		stress_fault(STRESS_UNENDED, "a task runs after stop");
	record_done(r);
}

void meeting_before_stop(struct actor *a)
{
	struct meeting *m = &a->meeting;
	struct call c = { .fn = run_until_stop, .on_cancel = on_cancel };

	m->host = a;
	set_phase(m, MEET_CALLED);
	a->now_ns = tkw_timer_now_ns(a->scene->timer);
	/* The limit may leave no room for it. */
	if (!call_schedule(a, &m->record, &c))
		return;
	while (phase_of(m) == MEET_CALLED && !is_hopeless())
		sched_yield();
	actor_count(a, STRESS_STOP_AMID);
}

/* ---- drill ---- */

static void run_drill(const struct tkw_firing *f, void *ctx)
{
	struct record *r = ctx;
	struct actor *a = actor_current();

	record_fired(r, f, &a->seen_ns);
	actor_count(a, STRESS_FIRED);
	record_done(r);
}

/* Called by a thread that has ended its drill. */
static void drill_cancelled(void *ctx)
{
	actor_count(actor_current(), STRESS_ON_CANCEL);
	record_on_cancel(ctx);
}

static void wait_a_while(struct actor *a, int *waited)
{
	if (++*waited < YIELDS)
		sched_yield();
	else
		actor_rest(a);
}

static void drill_once(struct actor *a)
{
	struct record *r = &a->pool[0];
	struct call c = { .fn = run_drill, .on_cancel = drill_cancelled };
	uint64_t dice = actor_roll(a);
	int waited = 0;

	/* Due now, or in about a tick. Both must wake the worker. */
	if (dice & 1)
		c.delay_ns = (int64_t)(dice >> 32) % (2 * a->scene->tick_ns);
	a->now_ns = tkw_timer_now_ns(a->scene->timer);
	if (!call_schedule(a, r, &c))
		return;
	while (!record_is_over(r) && !is_hopeless())
		wait_a_while(a, &waited);
	actor_harvest(a, r);
	actor_count(a, STRESS_DRILLED);
}

void meeting_drill(struct actor *a, uint32_t threads)
{
	struct scene *s = a->scene;
	uint64_t i;
	int waited;

	for (i = 1; i <= DRILLS && !is_hopeless(); i++) {
		drill_once(a);
		/* RELAXED: it only tells that all threads are here. */
		atomic_fetch_add_explicit(&s->drilled, 1, memory_order_relaxed);
		waited = 0;
		while (atomic_load_explicit(&s->drilled, memory_order_relaxed) <
			       i * threads &&
		       !is_hopeless())
			wait_a_while(a, &waited);
	}
}
