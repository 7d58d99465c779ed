/* SPDX-License-Identifier: MIT */
/*
 * line.h - items by time. A queue has two lines: idle items by when they are
 * due, and taken items by when their leases end.
 *
 * A line has three parts, and an item is in one of them:
 *
 *   wheel  Items whose time is still to come. Only a line of many items has
 *          one.
 *   list   Items whose time has come, in order. The wheel appends to it.
 *   tree   All others: the items of small lines, items for times before the
 *          wheel's now (after the clock was put back), and items that would
 *          break the order of the list.
 *
 * Order:   the line of due times is strict: its order is (tick, other, id). The
 *          order of the other line is tick alone. Within a tick the wheel gives
 *          out items in the order in which they were added. This is the order
 *          of the line if the `other` of each new item is above all those in
 *          the wheel and the list. An item for which this is not so is a stray.
 *          It goes into the wheel as well. When its tick comes, it goes behind
 *          the list or into the tree. While there are strays in the wheel, no
 *          item of a tick is given out before all items of that tick have left
 *          the wheel.
 * Invariants, verified by tkw__queue_check():
 * (L1) The list is sorted.
 * (L2) An item knows in which part it is.
 * (L3) The tree and the wheel are sound (see treap.h).
 * (L4) In a strict line, an item in the list is less than each item of the same
 *      tick in the wheel, except strays.
 * (L5) Strays are only in the wheel, and their number is right.
 */
#ifndef TKW_QUEUE_LINE_H
#define TKW_QUEUE_LINE_H

#include "base/links.h"
#include "queue/item.h"
#include "queue/treap.h"

/* How far before now a wheel may begin, in ms: 49 days. The farther it begins
 * from now, the more it has to move. */
#define TKW__LINE_LONGEST_OVERDUE (UINT64_C(1) << 32)

struct tkw__line {
	struct tkw_link list;
	uint64_t listed; /* how many are in the list */
	struct tkw__treap tree;
	struct tkw_wheel *wheel; /* NULL: none */
	uint64_t strays;         /* in the wheel */
	/* At least the largest in the wheel and the list. */
	uint64_t max_other;
	bool strict;
};

/* What a line says about its first item at a time. */
enum tkw__line_says {
	TKW__LINE_NONE,  /* nothing is due */
	TKW__LINE_FIRST, /* this item is first and due */
	TKW__LINE_PUMP   /* the wheel must be pumped to a tick first */
};

struct tkw__line_head {
	enum tkw__line_says says;
	struct tkw__item *item; /* FIRST */
	uint64_t tick;          /* FIRST: the item's. PUMP: to which */
};

struct tkw__queue;

void tkw__line_init(struct tkw__queue *q, struct tkw__line *l, bool strict);
uint64_t tkw__line_count(const struct tkw__line *l);
/* Puts an item into the part where its fields say that it belongs. It cannot
 * fail. */
void tkw__line_place(struct tkw__queue *q, struct tkw__line *l,
		     struct tkw__item *it);
void tkw__line_remove(struct tkw__queue *q, struct tkw__line *l,
		      struct tkw__item *it);
/* Gives an item of a line that is not strict another tick. */
void tkw__line_move(struct tkw__queue *q, struct tkw__line *l,
		    struct tkw__item *it, uint64_t tick);

/* Looks for the first item of the line, if its tick is not above now. */
struct tkw__line_head tkw__line_look(struct tkw__queue *q, struct tkw__line *l,
				     uint64_t now);
/* Returns a tick. No item of the line has an earlier one. */
uint64_t tkw__line_bound(struct tkw__queue *q, const struct tkw__line *l);
/* Advances the wheel. Returns true if there is more to do up to the tick. */
bool tkw__line_pump(struct tkw__queue *q, struct tkw__line *l, uint64_t to,
		    uint64_t *max_steps);
/* After the clock was put back: takes items that are not due out of the list.
 * Returns true if there are more. */
bool tkw__line_unlist(struct tkw__queue *q, struct tkw__line *l, uint64_t now,
		      uint64_t *max_steps);
/* Returns the earliest tick above now; UINT64_MAX if there is none. The answer
 * may be too early. */
uint64_t tkw__line_next(struct tkw__queue *q, struct tkw__line *l,
			uint64_t now);

/* Frees the wheel. The items are not touched. */
void tkw__line_fini(struct tkw__queue *q, struct tkw__line *l);
const char *tkw__line_check(struct tkw__queue *q, const struct tkw__line *l);

#endif /* TKW_QUEUE_LINE_H */
