/* SPDX-License-Identifier: MIT */
/*
 * tally.h - counts how often each kind of event happened in a random test.
 *
 * A random test proves nothing about a case that it never reached. So each kind
 * is counted and printed, and must have happened.
 */
#ifndef MODEL_TALLY_H
#define MODEL_TALLY_H

#include <stdint.h>
#include <stdio.h>

enum tally_kind {
	/* calls from outside of a pass */
	TALLY_STEP,
	TALLY_ADD,
	TALLY_ADD_REFUSED,
	TALLY_REMOVE,
	TALLY_REMOVE_REFUSED,
	TALLY_MOVE,
	TALLY_MOVE_REFUSED,
	TALLY_EXTEND,
	TALLY_EXTEND_SAME,
	TALLY_EXTEND_EARLIER,
	TALLY_EXTEND_REFUSED,
	TALLY_WALK,
	TALLY_SLACK,
	TALLY_SLACK_ROUNDED,
	/* which ticks were asked for */
	TALLY_TICK_PAST,
	TALLY_TICK_BOUNDARY,
	TALLY_TICK_LAST,
	TALLY_TICK_NEVER,
	TALLY_TICK_SHARED,
	TALLY_ADD_BEHIND_LOOSE,
	/* advances */
	TALLY_ADVANCE,
	TALLY_ADVANCE_BACK,
	TALLY_ADVANCE_JUMP,
	TALLY_ADVANCE_BOUNDED,
	TALLY_ADVANCE_ZERO,
	TALLY_ADVANCE_TO_NEXT,
	TALLY_STOP,
	TALLY_STOP_IN_TICK,
	TALLY_STOP_IN_CASCADE,
	TALLY_RESUME_SAME,
	TALLY_RESUME_OTHER,
	TALLY_CHANGE_WHILE_STOPPED,
	TALLY_CASCADE,
	TALLY_NEXT_EXACT,
	TALLY_NEXT_EARLY,
	/* expiries */
	TALLY_EXPIRE,
	TALLY_EXPIRE_LOOSE,
	TALLY_EXPIRE_BOUNDARY,
	TALLY_EXPIRE_LAST,
	/* calls from inside the callback */
	TALLY_IN_ADD_SELF,
	TALLY_IN_ADD_OTHER,
	TALLY_IN_REMOVE,
	TALLY_IN_REMOVE_FRONT,
	TALLY_IN_MOVE,
	TALLY_IN_MOVE_FRONT,
	TALLY_IN_EXTEND,
	TALLY_IN_EXTEND_FRONT,
	TALLY_IN_FRONT_SAME_TICK,
	TALLY_IN_REFUSED,
	TALLY_IN_TICK_BEFORE,
	TALLY_IN_TICK_EQUAL,
	TALLY_IN_TICK_WITHIN,
	TALLY_IN_TICK_BEYOND,
	TALLY_IN_ADVANCE,
	TALLY_IN_FINI,
	/* lives of a wheel */
	TALLY_WHEEL,
	TALLY_WHEEL_FULL_FINI,
	TALLY_WHEEL_END_OF_TIME,
	TALLY_KINDS
};

struct tally {
	uint64_t n[TALLY_KINDS];
};

void tally_merge(struct tally *into, const struct tally *from);
void tally_print(const struct tally *t, FILE *out);

/*
 * Returns the name of a kind that did not happen, or NULL if all did.
 * one_ring  Only the hashed engine ran, which has no cascade.
 */
const char *tally_missing(const struct tally *t, int one_ring);

#endif /* MODEL_TALLY_H */
