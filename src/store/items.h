/* SPDX-License-Identifier: MIT */
/*
 * items.h - copies of items for callers, and the looks at a desk.
 *
 * The looks are functions for requests of the kind TKW__REQUEST_LOOK. `arg` of
 * the request points to the struct that stands before each of them.
 */
#ifndef TKW_STORE_ITEMS_H
#define TKW_STORE_ITEMS_H

#include <stddef.h>
#include <stdint.h>

#include "queue/heart.h"
#include "store/desk.h"

/* Copies items with all their bytes into one piece of memory, for
 * tkw_items_free(). count is not 0. Returns NULL if there is no memory. */
struct tkw_items *tkw__items_copy(const struct tkw__queue_facts *facts,
				  size_t count);

/* Copies taken items, with all facts that the heart has about them. */
struct tkw_items *tkw__items_taken(struct tkw__queue *heart, uint64_t now_us,
				   const struct tkw__queue_taken *taken,
				   size_t count);

/* One item. The result is 0, -ENOENT or -ENOMEM. */
struct tkw__look_item {
	struct tkw__queue_name name;
	struct tkw_items *items; /* answer */
};
int64_t tkw__look_at_item(struct tkw__desk *d, struct tkw__request *r);

/* A piece of a list. The result is how many, or -ENOMEM. */
struct tkw__look_list {
	enum tkw__queue_state state; /* TKW__QUEUE_STATES: all */
	uint32_t max;
	/* When the items have so many bytes, the piece ends; 0: no bound. */
	uint64_t max_bytes;
	uint64_t cursor;         /* 0 to begin; answer: where to go on, or 0 */
	struct tkw_items *items; /* answer; NULL if there are none */
};
int64_t tkw__look_at_list(struct tkw__desk *d, struct tkw__request *r);

/* The facts of a queue. arg is a struct tkw_queue_stats. The result is 0. */
int64_t tkw__look_at_stats(struct tkw__desk *d, struct tkw__request *r);

/* The next queue, as tkw__desk_queue(). The result is 0. */
struct tkw__look_queue {
	struct tkw_queue *queue; /* the one before, or NULL; answer: the next */
};
int64_t tkw__look_at_queue(struct tkw__desk *d, struct tkw__request *r);

#endif /* TKW_STORE_ITEMS_H */
