/* SPDX-License-Identifier: MIT */
/*
 * stress_record.h - one timeout's own witness.
 *
 * Idea:    each event of a timeout adds to one word, and looks at what was in
 *          it: that tells at once what came twice, too late or in vain. The
 *          owner uses a record again only when its timeout is over, and judges
 *          it then; what is never over has been lost.
 * Floor:   before this moment the timeout must not fire. A reschedule takes it
 *          down to the earlier of both deadlines before the call, and up to the
 *          new one when the call has won. So it is never above the truth, and
 *          below it for a moment only. Its low byte says which timeout of the
 *          record it belongs to (see stress_record.c), so that a slow thread
 *          cannot raise the floor of the next one.
 * Threads: arm and judge: the owner; the others: where the timer calls.
 *          The fields that are not atomic are ordered by the timer alone, and
 *          the atomic ones weakly, so that ThreadSanitizer sees what the timer
 *          fails to order.
 */
#ifndef STRESS_RECORD_H
#define STRESS_RECORD_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tickwheel.h"

/* How often each has happened to a timeout. */
enum record_event {
	RECORD_FIRED = 1 << 0,
	RECORD_DONE = 1 << 4, /* its task is about to return */
	RECORD_CANCELLED = 1 << 8,
	RECORD_ON_CANCEL = 1 << 12,
	RECORD_HANDED = 1 << 16,
	RECORD_ARMED = 1 << 20
};

struct record {
	alignas(64) _Atomic uint32_t state; /* sum of events; 0: free */
	uint32_t plan; /* random bits: what its task shall do */
	_Atomic struct tkw_timeout_id id; /* none until its owner knows it */
	_Atomic int64_t floor;
	struct tkw_timeout_id fired_id; /* as the task was told */
	uint32_t touched; /* by whatever runs last; for ThreadSanitizer */
	bool has_on_cancel;
	bool reentry; /* scheduled inside a task */
};

static inline struct tkw_timeout_id record_id(const struct record *r)
{
	return atomic_load_explicit(&r->id, memory_order_relaxed);
}

/* Get ready for a schedule. wild: many may reschedule it at once, and to what
 * is near only, for its floor does not rise. */
void record_arm(struct record *r, int64_t floor_ns, bool wild);

/* The schedule was refused: nothing may have happened. */
void record_disarm(struct record *r);

/* The begin and the end of a task. *seen_ns is a reading of the clock, renewed
 * only where an older one does not prove that the task is not early. */
void record_fired(struct record *r, const struct tkw_firing *f,
		  int64_t *seen_ns);
void record_done(struct record *r);

/* A cancel or cancel_wait has returned 0; its on_cancel; the visitor. */
void record_cancelled(struct record *r);
void record_on_cancel(struct record *r);
void record_handed(struct record *r);

/* Is it over, so that it may be judged and used again? By the owner. */
bool record_is_over(const struct record *r);

/* Its timeout must be over: is what happened to it legal? By the owner. */
void record_judge(const struct record *r);

/* A cancel_wait of the owner's has come back with 1 or -ENOENT. */
void record_must_be_still(struct record *r);

/* Is it to fire within a second of now? */
bool record_is_near(const struct record *r, int64_t now_ns);
bool record_is_wild(const struct record *r);

/* A reschedule under way. */
struct record_move {
	struct tkw_timeout_id id;
	int64_t was;
	int64_t during;
	int64_t will;
};

/* May this thread reschedule it now? If so m->id is the id to be used, and
 * record_move_end() follows. */
bool record_move_begin(struct record *r, int64_t floor_ns,
		       struct record_move *m);
void record_move_end(struct record *r, const struct record_move *m, bool won);

#endif /* STRESS_RECORD_H */
