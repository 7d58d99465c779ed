/* SPDX-License-Identifier: MIT */
/*
 * stress_record.h - records what happens to one timeout.
 *
 * Idea:    each event of a timeout adds to one word, and looks at the old
 *          value. That shows at once what came twice, too late or without
 *          effect. The owner uses a record again only when its timeout is over,
 *          and judges it then. A timeout that is never over has been lost.
 * Floor:   the timeout must not fire before this time. A reschedule lowers the
 *          floor to the earlier of both deadlines before the call, and raises
 *          it to the new one if the call has succeeded. So it is never too
 *          high, and too low only for a moment. Its low byte says which timeout
 *          of the record it belongs to (see stress_record.c), so that a slow
 *          thread cannot raise the floor of the next one.
 * Threads: the owner arms and judges. The others are called where the timer
 *          calls back. Only the timer orders the fields that are not atomic,
 *          and the atomic ones have a weak order. So ThreadSanitizer sees it if
 *          the timer fails to order something.
 */
#ifndef STRESS_RECORD_H
#define STRESS_RECORD_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tickwheel.h"

/* How often each event has happened to a timeout. */
enum record_event {
	RECORD_FIRED = 1 << 0,
	RECORD_DONE = 1 << 4, /* its task is about to return */
	RECORD_CANCELLED = 1 << 8,
	RECORD_ON_CANCEL = 1 << 12,
	RECORD_HANDED = 1 << 16,
	RECORD_ARMED = 1 << 20
};

struct record {
	alignas(64) _Atomic uint32_t state; /* the sum of events; 0 if free */
	uint32_t plan; /* random bits that decide what its task does */
	_Atomic struct tkw_timeout_id id; /* 0 until the owner knows it */
	_Atomic int64_t floor;
	struct tkw_timeout_id fired_id; /* the id that the task got */
	/* Written by whatever runs last, for ThreadSanitizer. */
	uint32_t touched;
	bool has_on_cancel;
	bool reentry; /* scheduled inside a task */
};

static inline struct tkw_timeout_id record_id(const struct record *r)
{
	return atomic_load_explicit(&r->id, memory_order_relaxed);
}

/* Prepares a record for a schedule. If wild is set, several threads may
 * reschedule it at once. They must choose near deadlines only, because the
 * floor does not rise. */
void record_arm(struct record *r, int64_t floor_ns, bool wild);

/* Called when the schedule was refused. No event may have happened. */
void record_disarm(struct record *r);

/* Called at the begin and at the end of a task. *seen_ns is a reading of the
 * clock. It is renewed only if it does not prove that the task is not early. */
void record_fired(struct record *r, const struct tkw_firing *f,
		  int64_t *seen_ns);
void record_done(struct record *r);

/* Called when a cancel or cancel_wait has returned 0, by its on_cancel, and by
 * the visitor. */
void record_cancelled(struct record *r);
void record_on_cancel(struct record *r);
void record_handed(struct record *r);

/* Is the timeout over, so that the record may be judged and used again? Called
 * by the owner. */
bool record_is_over(const struct record *r);

/* Checks that what happened to a timeout is legal. It must be over. Called by
 * the owner. */
void record_judge(const struct record *r);

/* Called when a cancel_wait of the owner has returned 1 or -ENOENT. */
void record_must_be_still(struct record *r);

/* Is it due within a second from now? */
bool record_is_near(const struct record *r, int64_t now_ns);
bool record_is_wild(const struct record *r);

/* A reschedule that is under way. */
struct record_move {
	struct tkw_timeout_id id;
	int64_t was;
	int64_t during;
	int64_t will;
};

/* May this thread reschedule it now? If so, m->id is the id to use, and the
 * caller must call record_move_end() afterwards. */
bool record_move_begin(struct record *r, int64_t floor_ns,
		       struct record_move *m);
void record_move_end(struct record *r, const struct record_move *m, bool won);

#endif /* STRESS_RECORD_H */
