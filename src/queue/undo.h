/* SPDX-License-Identifier: MIT */
/*
 * undo.h - how changes are taken back.
 *
 * Idea:   each change of an item pushes an entry with the item's changing
 *         fields as they were. Undo pops the entries and restores them, the
 *         last one first. An item that has ended stays in memory until commit,
 *         and so does a reason that was dropped. Plans do the same, and keep
 *         their changing fields in a block of their own.
 * Memory: entries lie in blocks. One block is kept for the next batch.
 */
#ifndef TKW_QUEUE_UNDO_H
#define TKW_QUEUE_UNDO_H

#include "queue/item.h"

enum tkw__undo_kind {
	TKW__MADE,    /* undo: the item goes, and is freed */
	TKW__CHANGED, /* undo: its fields are restored */
	TKW__ENDED,   /* undo: the item comes back. commit: it is freed */
	/* The same for plans. */
	TKW__PLAN_MADE,
	TKW__PLAN_CHANGED, /* saved.plan_state is the old one */
	TKW__PLAN_ENDED
};

struct tkw__undo_entry {
	struct tkw__undo_entry *below;
	union {
		struct tkw__item *item;
		struct tkw__plan *plan;
	};
	struct tkw__saved saved; /* CHANGED */
	uint8_t kind;
	bool drops;      /* CHANGED: the item no longer has the saved reason */
	uint16_t sample; /* the lateness bucket that was counted, plus 1 */
};

/* Few, because each queue keeps a block, and there may be many queues. */
enum {
	TKW__UNDO_BLOCK = 4
};

struct tkw__undo_block {
	struct tkw__undo_block *below;
	uint32_t used;
	struct tkw__undo_entry entry[TKW__UNDO_BLOCK];
};

struct tkw__undo {
	struct tkw__undo_entry *top;
	struct tkw__undo_block *block; /* the one in use */
	struct tkw__undo_block *spare; /* an empty one, or NULL */
};

struct tkw__queue;

/* Makes room for n entries. Returns 0 or -ENOMEM. n is at most 2. */
int tkw__undo_reserve(struct tkw__queue *q, uint32_t n);
/* Pushes an entry. Room must have been made. */
struct tkw__undo_entry *tkw__undo_push(struct tkw__queue *q,
				       enum tkw__undo_kind kind,
				       struct tkw__item *it);
/* The same for a plan. */
void tkw__undo_push_plan(struct tkw__queue *q, enum tkw__undo_kind kind,
			 struct tkw__plan *p);
/* Takes back all changes after an entry; NULL: all. */
void tkw__undo_to(struct tkw__queue *q, const struct tkw__undo_entry *top);
/* Frees all blocks. There must be no entries. */
void tkw__undo_fini(struct tkw__queue *q);

#endif /* TKW_QUEUE_UNDO_H */
