/* SPDX-License-Identifier: MIT */
/*
 * oracle.h - what a timing wheel must do, by a sorted list.
 *
 * The oracle keeps the linked entries in one array, sorted by tick and then by
 * moment, and searches it from the front each time. It has no slots, no rings
 * and no code in common with the wheel. So the two cannot agree because of a
 * shared mistake.
 *
 * A moment is the value of a counter that rises by one with each add, move and
 * extension.
 *
 * The order rule: each linked entry has a tick, a moment and a mark:
 *   - an entry that was added or moved is strict; its moment is that of its
 *     last add or move;
 *   - an entry that was extended (to a later tick) is loose; its moment is
 *     that of its last extension. Only an add or a move makes it strict again.
 * An entry may expire if and only if
 *   (O1) no entry of an earlier tick is linked, and
 *   (O2) no strict entry of the same tick with a smaller moment is linked.
 * So strict entries of a tick expire first in, first out. A loose entry may
 * expire anywhere after the strict ones that were in its tick before it was
 * extended.
 *
 * The rules of the clock:
 *   (O3) an entry expires while now is its own tick, not above the target;
 *   (O4) an advance that is done has made now = target + 1 (or left it alone,
 *        if the target was < now), and no entry up to the target is linked;
 *   (O5) an advance that was stopped early has not moved now back, nor beyond
 *        the target, nor before the last tick that it expired, and no linked
 *        entry has an earlier tick than now.
 */
#ifndef MODEL_ORACLE_H
#define MODEL_ORACLE_H

#include <stdint.h>

#define ORACLE_MAX 64
#define ORACLE_NEVER UINT64_MAX

struct oracle_item {
	uint64_t tick;
	uint64_t moment;
	uint32_t id;
	uint32_t loose;
};

struct oracle {
	uint64_t now;
	uint64_t target; /* target of the running pass */
	uint64_t moment;
	uint32_t count;
	int passing;
	struct oracle_item items[ORACLE_MAX]; /* sorted by tick, moment */
};

void oracle_init(struct oracle *o, uint64_t now);

/* The tick at which an entry is due that is given this tick now. */
uint64_t oracle_due(const struct oracle *o, uint64_t tick);

/* NULL if the id is not linked. */
const struct oracle_item *oracle_find(const struct oracle *o, uint32_t id);

/* Like the calls of the wheel with these names: 0, -EEXIST, -ENOENT or
 * -EINVAL. */
int oracle_add(struct oracle *o, uint32_t id, uint64_t tick);
int oracle_remove(struct oracle *o, uint32_t id);
int oracle_move(struct oracle *o, uint32_t id, uint64_t tick);
int oracle_extend(struct oracle *o, uint32_t id, uint64_t tick);

/* The earliest linked tick, or ORACLE_NEVER if there is none. */
uint64_t oracle_next(const struct oracle *o);

/*
 * A pass. First call begin. Then call expire for each entry that the wheel
 * expires, with the wheel's now. Then call end with the wheel's answer and now.
 * They return NULL if all is right, otherwise what is wrong.
 */
void oracle_begin(struct oracle *o, uint64_t to);
const char *oracle_expire(struct oracle *o, uint32_t id, uint64_t now);
const char *oracle_end(struct oracle *o, int stopped, uint64_t now);

/* tkw_tick_with_slack(), by trying every power of two. */
uint64_t oracle_slack(uint64_t tick, uint64_t slack);

#endif /* MODEL_ORACLE_H */
