/* SPDX-License-Identifier: MIT */
/* tally.c - names, sums and the report of the counted events. */
#include "tally.h"

#include <inttypes.h>

static const char *const names[TALLY_KINDS] = {
	[TALLY_STEP] = "operations",
	[TALLY_ADD] = "added",
	[TALLY_ADD_REFUSED] = "add refused: linked already",
	[TALLY_REMOVE] = "removed",
	[TALLY_REMOVE_REFUSED] = "remove refused: not linked",
	[TALLY_MOVE] = "moved",
	[TALLY_MOVE_REFUSED] = "move refused: not linked",
	[TALLY_EXTEND] = "extended",
	[TALLY_EXTEND_SAME] = "extended to the same tick",
	[TALLY_EXTEND_EARLIER] = "extend refused: earlier tick",
	[TALLY_EXTEND_REFUSED] = "extend refused: not linked",
	[TALLY_WALK] = "walks over all entries",
	[TALLY_SLACK] = "ticks with slack",
	[TALLY_SLACK_ROUNDED] = "  rounded up",
	[TALLY_TICK_PAST] = "tick before now",
	[TALLY_TICK_BOUNDARY] = "tick within 1 of a ring boundary",
	[TALLY_TICK_LAST] = "tick is the last of all",
	[TALLY_TICK_NEVER] = "tick is never",
	[TALLY_TICK_SHARED] = "tick shared with another entry",
	[TALLY_ADD_BEHIND_LOOSE] = "  which was extended to it",
	[TALLY_ADVANCE] = "advances",
	[TALLY_ADVANCE_BACK] = "  to the past",
	[TALLY_ADVANCE_JUMP] = "  over more than 2^20 ticks",
	[TALLY_ADVANCE_BOUNDED] = "  bounded",
	[TALLY_ADVANCE_ZERO] = "  bounded to no step at all",
	[TALLY_ADVANCE_TO_NEXT] = "  to the next tick due",
	[TALLY_STOP] = "stopped by the bound",
	[TALLY_STOP_IN_TICK] = "  in the middle of a tick",
	[TALLY_STOP_IN_CASCADE] = "  in the middle of a cascade",
	[TALLY_RESUME_SAME] = "resumed, same target",
	[TALLY_RESUME_OTHER] = "resumed, another target",
	[TALLY_CHANGE_WHILE_STOPPED] = "changes between stop and resume",
	[TALLY_CASCADE] = "entries seen to move to a finer ring",
	[TALLY_NEXT_EXACT] = "next was exact",
	[TALLY_NEXT_EARLY] = "next was early",
	[TALLY_EXPIRE] = "expired",
	[TALLY_EXPIRE_LOOSE] = "  after an extension",
	[TALLY_EXPIRE_BOUNDARY] = "  within 1 of a ring boundary",
	[TALLY_EXPIRE_LAST] = "  at the last tick of all",
	[TALLY_IN_ADD_SELF] = "inside: added itself again",
	[TALLY_IN_ADD_OTHER] = "inside: added another",
	[TALLY_IN_REMOVE] = "inside: removed another",
	[TALLY_IN_REMOVE_FRONT] = "inside: removed the next in line",
	[TALLY_IN_MOVE] = "inside: moved another",
	[TALLY_IN_MOVE_FRONT] = "inside: moved the next in line",
	[TALLY_IN_EXTEND] = "inside: extended another",
	[TALLY_IN_EXTEND_FRONT] = "inside: extended the next in line",
	[TALLY_IN_FRONT_SAME_TICK] = "  due in the same tick",
	[TALLY_IN_REFUSED] = "inside: refused",
	[TALLY_IN_TICK_BEFORE] = "inside: tick before the one expired",
	[TALLY_IN_TICK_EQUAL] = "inside: tick equal to it",
	[TALLY_IN_TICK_WITHIN] = "inside: tick up to the target",
	[TALLY_IN_TICK_BEYOND] = "inside: tick beyond the target",
	[TALLY_IN_ADVANCE] = "inside: advance refused",
	[TALLY_IN_FINI] = "inside: fini refused",
	[TALLY_WHEEL] = "wheels",
	[TALLY_WHEEL_FULL_FINI] = "  ended with entries in them",
	[TALLY_WHEEL_END_OF_TIME] = "  that came to the end of time",
};

void tally_merge(struct tally *into, const struct tally *from)
{
	int i;

	for (i = 0; i < TALLY_KINDS; i++)
		into->n[i] += from->n[i];
}

void tally_print(const struct tally *t, FILE *out)
{
	int i;

	for (i = 0; i < TALLY_KINDS; i++)
		fprintf(out, "  %14" PRIu64 "  %s\n", t->n[i], names[i]);
}

const char *tally_missing(const struct tally *t, int one_ring)
{
	int i;

	for (i = 0; i < TALLY_KINDS; i++) {
		if (one_ring &&
		    (i == TALLY_CASCADE || i == TALLY_STOP_IN_CASCADE))
			continue;
		if (t->n[i] == 0)
			return names[i];
	}
	return NULL;
}
