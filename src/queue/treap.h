/* SPDX-License-Identifier: MIT */
/*
 * treap.h - an ordered tree of items, for what does not come in order.
 *
 * Idea:   a binary search tree by key that is a heap by priority. The priority
 *         is a hash of the id, so it takes no memory, and the tree has the
 *         shape of a random one: O(log n) levels. There are no parent links: a
 *         removal finds its item by key.
 * Sizes:  each item knows the size of its subtree, so that "how many are due by
 *         now" is one walk from the root.
 */
#ifndef TKW_QUEUE_TREAP_H
#define TKW_QUEUE_TREAP_H

#include "queue/item.h"

/* What a tree is sorted by. The id makes each key different. */
enum tkw__treap_by {
	TKW__BY_ORDER, /* tick, other, id: the order of giving out */
	TKW__BY_TICK,  /* tick, id */
	TKW__BY_ID
};

struct tkw__treap {
	struct tkw__item *root;
	enum tkw__treap_by by;
	uint64_t *steps; /* one for each level of each walk */
};

static inline uint32_t tkw__treap_size(const struct tkw__item *root)
{
	return root ? root->node.size : 0;
}

/* A mixing function: each bit of the result depends on each bit of x. */
static inline uint64_t tkw__mix(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static inline bool tkw__item_less(const struct tkw__item *a,
				  const struct tkw__item *b,
				  enum tkw__treap_by by)
{
	if (by != TKW__BY_ID && a->node.tick != b->node.tick)
		return a->node.tick < b->node.tick;
	if (by == TKW__BY_ORDER && a->other != b->other)
		return a->other < b->other;
	return a->id < b->id;
}

void tkw__treap_insert(struct tkw__treap *t, struct tkw__item *it);
/* The item must be in the tree. The fields by which the tree is sorted must be
 * the same as when it was inserted. */
void tkw__treap_remove(struct tkw__treap *t, struct tkw__item *it);

/* The smallest; NULL if the tree is empty. */
struct tkw__item *tkw__treap_first(const struct tkw__treap *t);
/* The smallest tick above this one, in a tree by tick; UINT64_MAX if none. */
uint64_t tkw__treap_tick_above(const struct tkw__treap *t, uint64_t tick);
/* How many items have a tick that is not above this one. */
uint64_t tkw__treap_rank(const struct tkw__treap *t, uint64_t tick);
/* The first item of this id or a higher one, in a tree by id; NULL if none. */
struct tkw__item *tkw__treap_from_id(const struct tkw__treap *t, uint64_t id);

/* Returns NULL if the tree is sound. It does not recurse. */
const char *tkw__treap_check(const struct tkw__treap *t);

#endif /* TKW_QUEUE_TREAP_H */
