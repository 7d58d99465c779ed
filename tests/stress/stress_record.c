/* SPDX-License-Identifier: MIT */
/*
 * stress_record.c - records what happens to one timeout.
 *
 * The low byte of a floor:
 *   bits 0-5  the number of the timeout in this record, modulo 64. A record is
 *             used again at most once per walk over its owner's pool, and the
 *             owner's time goes on meanwhile. So number and time together do
 *             not repeat.
 *   MOVING    a thread is in the middle of a reschedule, and others must not
 *             begin one.
 *   WILD      several threads may reschedule at once. The floor only goes down,
 *             because nobody knows whose deadline is the last one.
 */
#include "stress_record.h"

#include <inttypes.h>

#include "stress_count.h"

enum {
	TURN_MASK = 63,
	MOVING = 64,
	WILD = 128,
	TAG_MASK = 255
};

static int64_t floor_time(int64_t floor)
{
	return floor & ~(int64_t)TAG_MASK;
}

void record_arm(struct record *r, int64_t floor_ns, bool wild)
{
	const struct tkw_timeout_id none = { 0 };
	int64_t old = atomic_load_explicit(&r->floor, memory_order_relaxed);
	int64_t tag = ((old + 1) & TURN_MASK) | (wild ? WILD : 0);

	r->fired_id = none;
	r->touched = 0;
	atomic_store_explicit(&r->id, none, memory_order_relaxed);
	atomic_store_explicit(&r->state, RECORD_ARMED, memory_order_relaxed);
	/* Pairs with record_move_begin(): a thread that sees this floor does
	 * not see the id of the timeout before. */
	atomic_store_explicit(&r->floor, floor_time(floor_ns) | tag,
			      memory_order_release);
}

void record_disarm(struct record *r)
{
	uint32_t old =
		atomic_exchange_explicit(&r->state, 0, memory_order_acquire);

	if (old != RECORD_ARMED)
		stress_fault(STRESS_TWICE, "refused, and yet state %" PRIx32,
			     old);
}

static void judge_time(const struct record *r, const struct tkw_firing *f,
		       int64_t *seen_ns)
{
	int64_t floor = floor_time(
		atomic_load_explicit(&r->floor, memory_order_relaxed));

	if (floor > *seen_ns || f->deadline_ns > *seen_ns)
		*seen_ns = tkw_timer_now_ns(f->timer);
	if (floor > *seen_ns || f->deadline_ns > *seen_ns || f->late_ns < 0)
		stress_fault(STRESS_EARLY,
			     "now %" PRId64 ", asked for %" PRId64
			     " or later, deadline %" PRId64 ", late %" PRId64,
			     *seen_ns, floor, f->deadline_ns, f->late_ns);
	else if (f->deadline_ns < floor)
		stress_fault(STRESS_EARLY,
			     "deadline %" PRId64 ", asked for %" PRId64,
			     f->deadline_ns, floor);
}

static void judge_begin(const struct record *r, uint32_t old,
			struct tkw_timeout_id fired_id)
{
	struct tkw_timeout_id id = record_id(r);

	if (old & (RECORD_CANCELLED | RECORD_ON_CANCEL | RECORD_HANDED))
		stress_fault(STRESS_AFTER_CANCEL, "state %" PRIx32, old);
	else if (old != RECORD_ARMED)
		stress_fault(STRESS_TWICE, "state %" PRIx32, old);
	else if (id.bits != 0 && id.bits != fired_id.bits)
		stress_fault(STRESS_TWICE,
			     "fired as %" PRIx64 ", scheduled as %" PRIx64,
			     fired_id.bits, id.bits);
}

void record_fired(struct record *r, const struct tkw_firing *f,
		  int64_t *seen_ns)
{
	uint32_t old;

	/* Before any operation that would order it, because the timer must
	 * order it. */
	r->touched++;
	r->fired_id = f->id;
	old = atomic_fetch_add_explicit(&r->state, RECORD_FIRED,
					memory_order_relaxed);
	judge_begin(r, old, f->id);
	judge_time(r, f, seen_ns);
}

void record_done(struct record *r)
{
	uint32_t old;

	r->touched++;
	/* Pairs with record_is_over(), as do the releases below. */
	old = atomic_fetch_add_explicit(&r->state, RECORD_DONE,
					memory_order_release);
	if (old != (RECORD_ARMED | RECORD_FIRED))
		stress_fault(old & RECORD_DONE ? STRESS_TWICE
					       : STRESS_AFTER_CANCEL,
			     "state %" PRIx32 " at its end", old);
}

void record_cancelled(struct record *r)
{
	uint32_t legal = RECORD_ARMED;
	uint32_t old;

	if (r->has_on_cancel)
		legal |= RECORD_ON_CANCEL;
	old = atomic_fetch_add_explicit(&r->state, RECORD_CANCELLED,
					memory_order_release);
	if (old == legal)
		return;
	stress_fault(old & RECORD_FIRED ? STRESS_AFTER_CANCEL
					: STRESS_BAD_CANCEL,
		     "cancelled with state %" PRIx32, old);
}

void record_on_cancel(struct record *r)
{
	uint32_t old;

	r->touched++;
	old = atomic_fetch_add_explicit(&r->state, RECORD_ON_CANCEL,
					memory_order_release);
	if (old != RECORD_ARMED && old != (RECORD_ARMED | RECORD_HANDED))
		stress_fault(STRESS_BAD_CANCEL, "state %" PRIx32, old);
}

void record_handed(struct record *r)
{
	uint32_t old = atomic_fetch_add_explicit(&r->state, RECORD_HANDED,
						 memory_order_release);

	if (old != RECORD_ARMED)
		stress_fault(old & RECORD_FIRED ? STRESS_TWICE
						: STRESS_BAD_CANCEL,
			     "handed over with state %" PRIx32, old);
}

bool record_is_over(const struct record *r)
{
	uint32_t s = atomic_load_explicit(&r->state, memory_order_acquire);

	if (s == 0 || (s & RECORD_DONE))
		return true;
	if (!(s & (RECORD_CANCELLED | RECORD_HANDED)))
		return false;
	return (s & RECORD_ON_CANCEL) || !r->has_on_cancel;
}

void record_judge(const struct record *r)
{
	uint32_t s = atomic_load_explicit(&r->state, memory_order_acquire);
	struct tkw_timeout_id id = record_id(r);
	uint32_t oc = r->has_on_cancel ? RECORD_ON_CANCEL : 0;

	if (s == 0 || s == (RECORD_ARMED | RECORD_CANCELLED | oc) ||
	    s == (RECORD_ARMED | RECORD_HANDED | oc))
		return;
	if (s == (RECORD_ARMED | RECORD_FIRED | RECORD_DONE)) {
		if (r->fired_id.bits != id.bits)
			stress_fault(STRESS_TWICE,
				     "fired as %" PRIx64
				     ", scheduled as %" PRIx64,
				     r->fired_id.bits, id.bits);
		return;
	}
	if (s == RECORD_ARMED)
		stress_fault(STRESS_LOST, "id %" PRIx64, id.bits);
	else if (s & RECORD_FIRED)
		stress_fault(STRESS_TWICE, "state %" PRIx32 " in the end", s);
	else
		stress_fault(STRESS_BAD_CANCEL, "state %" PRIx32 " in the end",
			     s);
}

void record_must_be_still(struct record *r)
{
	uint32_t s;

	/* This would race with a callback that still runs. */
	r->touched = 0;
	s = atomic_load_explicit(&r->state, memory_order_relaxed);
	/* The thread that has cancelled it may not have recorded that yet. */
	if (s & RECORD_DONE || s & RECORD_ON_CANCEL)
		return;
	if ((s & RECORD_FIRED) || r->has_on_cancel)
		stress_fault(STRESS_UNENDED, "state %" PRIx32, s);
}

bool record_is_near(const struct record *r, int64_t now_ns)
{
	return atomic_load_explicit(&r->floor, memory_order_relaxed) <
	       now_ns + TKW_SEC;
}

bool record_is_wild(const struct record *r)
{
	return atomic_load_explicit(&r->floor, memory_order_relaxed) & WILD;
}

bool record_move_begin(struct record *r, int64_t floor_ns,
		       struct record_move *m)
{
	int64_t was = atomic_load_explicit(&r->floor, memory_order_acquire);
	int64_t tag = was & TAG_MASK;
	int64_t low = floor_time(floor_ns);

	if (tag & MOVING)
		return false;
	/* Before the exchange, which proves that the id belongs to this
	 * timeout. */
	m->id = atomic_load_explicit(&r->id, memory_order_acquire);
	if (m->id.bits == 0)
		return false;
	m->was = was;
	m->will = low | tag;
	if (floor_time(was) < low)
		low = floor_time(was);
	m->during = low | tag | (tag & WILD ? 0 : MOVING);
	return atomic_compare_exchange_strong_explicit(
		&r->floor, &was, m->during, memory_order_relaxed,
		memory_order_relaxed);
}

void record_move_end(struct record *r, const struct record_move *m, bool won)
{
	int64_t during = m->during;

	if (!(during & MOVING))
		return;
	/* This fails if the record is already used for another timeout. */
	atomic_compare_exchange_strong_explicit(
		&r->floor, &during, won ? m->will : m->was,
		memory_order_relaxed, memory_order_relaxed);
}
