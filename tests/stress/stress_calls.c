/* SPDX-License-Identifier: MIT */
/*
 * stress_calls.c - the calls that actors make. Each result is checked.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "stress_calls.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "choice.h"

enum {
	NEAR_NS = 5000000,
	NAP_NS = 50000,
	IDLE_NS = 200000,
	MAKE_ROOM = 16 /* how many to cancel after a refusal */
};

uint64_t actor_roll(struct actor *a)
{
	return choice_next(&a->random);
}

void actor_rest(struct actor *a)
{
	static const struct timespec nap = { 0, NAP_NS };

	if (actor_is_inside(a))
		return;
	/* Sleep, because with a yield this thread would take CPU time that the
	 * worker needs. */
	nanosleep(&nap, NULL);
	a->now_ns = tkw_timer_now_ns(a->scene->timer);
}

void call_wrong(const char *call, int answer)
{
	stress_fault(STRESS_ANSWER, "%s: %d", call, answer);
}

bool call_may_be_stopped(struct scene *s)
{
	return atomic_load_explicit(&s->stopping, memory_order_relaxed);
}

/* ---- schedule ---- */

int64_t call_pick_delay(uint64_t dice)
{
	int64_t near = (int64_t)((dice >> 32) * NEAR_NS >> 32);
	uint32_t k = dice & 31;

	if (k == 0)
		return 0;
	if (k == 1)
		return -near;
	if (k < 4)
		return near / 64;
	if (k == 4)
		return TKW_NEVER_NS;
	if (k < 8)
		return 3600 * TKW_SEC + near * 1000;
	return near;
}

static int64_t deadline_after(const struct actor *a, int64_t delay_ns)
{
	return delay_ns == TKW_NEVER_NS ? delay_ns : a->now_ns + delay_ns;
}

static void refused(struct actor *a, struct record *r, int err)
{
	record_disarm(r);
	if (err == -ESHUTDOWN && call_may_be_stopped(a->scene)) {
		actor_count(a, STRESS_REFUSED_STOP);
		a->was_refused = true;
		if (!tkw_timer_is_stopped(a->scene->timer))
			call_wrong("is_stopped after a refusal", 0);
	} else if (err == -EAGAIN && a->scene->limited) {
		actor_count(a, STRESS_REFUSED_LIMIT);
		a->crowded = MAKE_ROOM;
		if (actor_wants_fires(a))
			actor_rest(a);
	} else {
		call_wrong("schedule", err);
	}
}

bool call_schedule(struct actor *a, struct record *r, const struct call *c)
{
	uint64_t dice = actor_roll(a);
	int64_t deadline_ns = deadline_after(a, c->delay_ns);
	struct tkw_task task = { .fn = c->fn, .ctx = r };
	struct tkw_timeout_id id = { 0 };
	int err;

	r->plan = (uint32_t)(dice >> 32);
	r->reentry = a->is_worker;
	r->has_on_cancel = c->must_cancel || (dice & 1);
	if (r->has_on_cancel)
		task.on_cancel = c->on_cancel;
	if ((dice & 0xf0) == 0)
		task.slack_ns = (int64_t)(dice >> 44);
	record_arm(r, deadline_ns, (dice & 6) == 0);
	if (dice & 8)
		err = tkw_timer_schedule(a->scene->timer, &task, c->delay_ns,
					 &id);
	else
		err = tkw_timer_schedule_at(a->scene->timer, &task, deadline_ns,
					    &id);
	if (err) {
		if (id.bits != 0)
			call_wrong("id of a refused schedule", err);
		refused(a, r, err);
		return false;
	}
	atomic_store_explicit(&r->id, id, memory_order_relaxed);
	actor_count(a, STRESS_ACCEPTED);
	if (actor_is_inside(a))
		actor_count(a, STRESS_ACCEPTED_INSIDE);
	return true;
}

/* ---- cancel, cancel_wait, reschedule ---- */

void call_cancel(struct actor *a, struct record *r, bool foreign)
{
	struct tkw_timeout_id id = record_id(r);
	int err;

	if (id.bits == 0)
		return;
	err = tkw_timer_cancel(a->scene->timer, id);
	if (err == 0) {
		record_cancelled(r);
		actor_count(a, STRESS_CANCEL_WON);
		if (foreign)
			actor_count(a, STRESS_CANCEL_WON_FOREIGN);
		if (actor_is_inside(a))
			actor_count(a, STRESS_CANCEL_WON_INSIDE);
	} else if (err == -EBUSY) {
		actor_count(a, STRESS_CANCEL_BUSY);
	} else if (err == -ENOENT) {
		actor_count(a, STRESS_CANCEL_ENDED);
	} else {
		call_wrong("cancel", err);
	}
}

int call_cancel_wait(struct actor *a, struct record *r,
		     struct tkw_timeout_id id)
{
	int err = tkw_timer_cancel_wait(a->scene->timer, id);

	if (err == 0) {
		record_cancelled(r);
		actor_count(a, STRESS_WAIT_WON);
	} else if (err == 1 && !actor_is_inside(a)) {
		actor_count(a, STRESS_WAIT_WAITED);
	} else if (err == -ENOENT) {
		actor_count(a, STRESS_WAIT_ENDED);
	} else if (err == -EDEADLK && actor_is_inside(a)) {
		actor_count(a, STRESS_WAIT_DEADLOCK);
	} else {
		call_wrong("cancel_wait", err);
	}
	return err;
}

void call_wait_for_own(struct actor *a, struct record *r)
{
	struct tkw_timeout_id id = record_id(r);
	int err = call_cancel_wait(a, r, id);

	if (err == 1 || err == -ENOENT)
		record_must_be_still(r);
}

void call_wait_for_foreign(struct actor *a, struct record *r)
{
	struct tkw_timeout_id id = record_id(r);

	if (id.bits != 0)
		call_cancel_wait(a, r, id);
}

void call_reschedule(struct actor *a, struct record *r, bool foreign)
{
	uint64_t dice = actor_roll(a);
	int64_t delay_ns = call_pick_delay(dice);
	int64_t deadline_ns;
	struct record_move m;
	int err;

	/* Move a far timeout near, so that it will fire. */
	if (foreign || record_is_wild(r) || !record_is_near(r, a->now_ns))
		delay_ns = (int64_t)((dice >> 32) * NEAR_NS >> 32);
	deadline_ns = deadline_after(a, delay_ns);
	if (!record_move_begin(r, deadline_ns, &m))
		return;
	if (dice & 256)
		err = tkw_timer_reschedule(a->scene->timer, m.id, delay_ns);
	else
		err = tkw_timer_reschedule_at(a->scene->timer, m.id,
					      deadline_ns);
	record_move_end(r, &m, err == 0);
	if (err == 0) {
		actor_count(a, STRESS_MOVE_WON);
		if (foreign)
			actor_count(a, STRESS_MOVE_WON_FOREIGN);
		if (actor_is_inside(a))
			actor_count(a, STRESS_MOVE_WON_INSIDE);
	} else if (err == -EBUSY) {
		actor_count(a, STRESS_MOVE_BUSY);
	} else if (err == -ENOENT) {
		actor_count(a, STRESS_MOVE_ENDED);
	} else if (err == -ESHUTDOWN && call_may_be_stopped(a->scene)) {
		actor_count(a, STRESS_MOVE_STOPPED);
	} else {
		call_wrong("reschedule", err);
	}
}

void call_query(struct actor *a, const struct record *r)
{
	struct tkw_timeout_id id = record_id(r);
	struct tkw_timeout_info info;
	char words[64];
	int err = tkw_timer_get(a->scene->timer, id, &info);

	if (err == 0) {
		actor_count(a, STRESS_QUERIED);
		if (info.id.bits != id.bits || info.task.ctx != r ||
		    (info.state != TKW_TIMEOUT_PENDING &&
		     info.state != TKW_TIMEOUT_RUNNING))
			call_wrong("what query tells", info.state);
	} else if (err != -ENOENT) {
		call_wrong("query", err);
	}
	err = tkw_timer_print_timeout(a->scene->timer, id, words,
				      sizeof(words));
	if (err <= 0 && err != -ENOENT)
		call_wrong("print", err);
}

void call_with_old_id(struct actor *a, uint64_t dice)
{
	struct tkw_timer *t = a->scene->timer;
	struct tkw_timeout_id id = a->old_ids[dice % STRESS_OLD_IDS];
	int err;

	if (id.bits == 0)
		return;
	actor_count(a, STRESS_STALE);
	/* Its task has ended, but perhaps not returned yet. */
	if (dice & 64) {
		err = tkw_timer_cancel(t, id);
		if (err != -ENOENT && err != -EBUSY)
			call_wrong("cancel of an old id", err);
	} else {
		err = tkw_timer_reschedule(t, id, TKW_MSEC);
		if (err != -ENOENT && err != -EBUSY &&
		    (err != -ESHUTDOWN || !call_may_be_stopped(a->scene)))
			call_wrong("reschedule of an old id", err);
	}
}

/* ---- inside a task ---- */

void call_on_itself(struct actor *a, const struct tkw_firing *f, uint32_t dice)
{
	struct tkw_timer *t = a->scene->timer;
	int err;

	switch (dice % 3) {
	case 0:
		err = tkw_timer_cancel(t, f->id);
		actor_count(a, STRESS_CANCEL_SELF);
		if (err != -EBUSY)
			call_wrong("cancel by its own task", err);
		break;
	case 1:
		err = tkw_timer_reschedule(t, f->id, TKW_MSEC);
		actor_count(a, STRESS_MOVE_SELF);
		/* A stop may have come before. */
		if (err != -EBUSY &&
		    (err != -ESHUTDOWN || !call_may_be_stopped(a->scene)))
			call_wrong("reschedule by its own task", err);
		break;
	default:
		err = tkw_timer_cancel_wait(t, f->id);
		actor_count(a, STRESS_WAIT_DEADLOCK);
		if (err != -EDEADLK)
			call_wrong("cancel_wait by its own task", err);
	}
}

void call_forbidden(struct actor *a)
{
	struct tkw_timer *t = a->scene->timer;
	int err = tkw_timer_stop(t, NULL, NULL);

	if (err != -EDEADLK)
		call_wrong("stop by a task", err);
	err = tkw_timer_destroy(t);
	if (err != -EDEADLK)
		call_wrong("destroy by a task", err);
	actor_count(a, STRESS_STOP_INSIDE);
	if (!a->scene->manual) {
		err = tkw_timer_wait_idle(t, TKW_NEVER_NS);
		if (err != -EDEADLK)
			call_wrong("wait_idle by a task", err);
		actor_count(a, STRESS_IDLE_INSIDE);
		return;
	}
	err = tkw_timer_turn(t, 0, NULL);
	if (err != -EDEADLK &&
	    (err != -ESHUTDOWN || !call_may_be_stopped(a->scene)))
		call_wrong("turn by a task", err);
	actor_count(a, STRESS_TURN_INSIDE);
}

/* ---- the whole timer ---- */

void call_wait_idle(struct actor *a)
{
	int64_t timeout_ns = (int64_t)(actor_roll(a) % IDLE_NS);
	int err = tkw_timer_wait_idle(a->scene->timer, timeout_ns);

	if (a->scene->manual) {
		if (err != -EINVAL)
			call_wrong("wait_idle without a thread", err);
	} else if (err == -ETIMEDOUT) {
		actor_count(a, STRESS_IDLE_TIMED_OUT);
	} else if (err != 0) {
		call_wrong("wait_idle", err);
	}
}

void call_ledger(struct actor *a)
{
	struct tkw_ledger l;
	int err = tkw_timer_get_ledger(a->scene->timer, &l);

	if (err) {
		call_wrong("ledger", err);
		return;
	}
	actor_count(a, STRESS_LEDGER);
	if (l.accepted !=
	    l.fired + l.cancelled + l.dropped + l.handed_over + l.pending)
		stress_fault(STRESS_LAW,
			     "%" PRIu64 " accepted, %" PRIu64 " fired, %" PRIu64
			     " cancelled, %" PRIu64 " handed over, %" PRIu64
			     " pending",
			     l.accepted, l.fired, l.cancelled, l.handed_over,
			     l.pending);
	if (a->scene->limited && l.pending > (uint64_t)a->scene->max_pending)
		stress_fault(STRESS_LIMIT, "%" PRIu64 " pending", l.pending);
}

void call_check(struct actor *a)
{
	const char *broken = tkw_timer_check(a->scene->timer);

	actor_count(a, STRESS_CHECK);
	if (broken)
		stress_fault(STRESS_UNSOUND, "%s", broken);
}
