/* SPDX-License-Identifier: MIT */
/*
 * treap.c - walks from the root down, each of which leaves the sizes right.
 *
 * A recursion could run as deep as the tree, and records from outside choose
 * the ids. So there is none: a split first asks for the rank of the new item,
 * and then knows on its way down how large each half will be.
 */
#include "queue/treap.h"

static bool above(const struct tkw__item *a, const struct tkw__item *b)
{
	uint64_t pa = tkw__mix(a->id);
	uint64_t pb = tkw__mix(b->id);

	return pa > pb; /* mix() is one to one: ids differ, so these do */
}

/* How many items of a subtree are before this one. */
static uint32_t rank_below(const struct tkw__treap *t,
			   const struct tkw__item *at,
			   const struct tkw__item *it)
{
	uint32_t rank = 0;

	while (at) {
		++*t->steps;
		if (tkw__item_less(at, it, t->by)) {
			rank += tkw__treap_size(at->node.left) + 1;
			at = at->node.right;
		} else {
			at = at->node.left;
		}
	}
	return rank;
}

/* Makes the items of a subtree the children of a new one. */
static void split(struct tkw__treap *t, struct tkw__item *at,
		  struct tkw__item *it)
{
	uint32_t before = rank_below(t, at, it);
	uint32_t behind = tkw__treap_size(at) - before;
	struct tkw__item **left = &it->node.left;
	struct tkw__item **right = &it->node.right;

	it->node.size = before + behind + 1;
	while (at) {
		++*t->steps;
		if (tkw__item_less(at, it, t->by)) {
			uint32_t kept = tkw__treap_size(at->node.left) + 1;

			at->node.size = before;
			before -= kept;
			*left = at;
			left = &at->node.right;
			at = *left;
		} else {
			uint32_t kept = tkw__treap_size(at->node.right) + 1;

			at->node.size = behind;
			behind -= kept;
			*right = at;
			right = &at->node.left;
			at = *right;
		}
	}
	*left = NULL;
	*right = NULL;
}

void tkw__treap_insert(struct tkw__treap *t, struct tkw__item *it)
{
	struct tkw__item **at = &t->root;

	while (*at && above(*at, it)) {
		++*t->steps;
		(*at)->node.size++;
		at = tkw__item_less(it, *at, t->by) ? &(*at)->node.left
						    : &(*at)->node.right;
	}
	it->node.flags = 0;
	split(t, *at, it);
	*at = it;
}

/* One tree of two, all of a being before all of b. */
static void join(struct tkw__treap *t, struct tkw__item **at,
		 struct tkw__item *a, struct tkw__item *b)
{
	uint32_t sum = tkw__treap_size(a) + tkw__treap_size(b);

	while (a && b) {
		++*t->steps;
		if (above(a, b)) {
			a->node.size = sum;
			sum -= tkw__treap_size(a->node.left) + 1;
			*at = a;
			at = &a->node.right;
			a = *at;
		} else {
			b->node.size = sum;
			sum -= tkw__treap_size(b->node.right) + 1;
			*at = b;
			at = &b->node.left;
			b = *at;
		}
	}
	*at = a ? a : b;
}

void tkw__treap_remove(struct tkw__treap *t, struct tkw__item *it)
{
	struct tkw__item **at = &t->root;

	while (*at != it) {
		assert(*at);
		++*t->steps;
		(*at)->node.size--;
		at = tkw__item_less(it, *at, t->by) ? &(*at)->node.left
						    : &(*at)->node.right;
	}
	join(t, at, it->node.left, it->node.right);
}

struct tkw__item *tkw__treap_first(const struct tkw__treap *t)
{
	struct tkw__item *at = t->root;

	while (at && at->node.left) {
		++*t->steps;
		at = at->node.left;
	}
	return at;
}

uint64_t tkw__treap_tick_above(const struct tkw__treap *t, uint64_t tick)
{
	uint64_t found = UINT64_MAX;

	for (const struct tkw__item *at = t->root; at;) {
		++*t->steps;
		if (at->node.tick > tick) {
			found = at->node.tick;
			at = at->node.left;
		} else {
			at = at->node.right;
		}
	}
	return found;
}

uint64_t tkw__treap_rank(const struct tkw__treap *t, uint64_t tick)
{
	uint64_t rank = 0;

	for (const struct tkw__item *at = t->root; at;) {
		++*t->steps;
		if (at->node.tick <= tick) {
			rank += tkw__treap_size(at->node.left) + 1;
			at = at->node.right;
		} else {
			at = at->node.left;
		}
	}
	return rank;
}

struct tkw__item *tkw__treap_from_id(const struct tkw__treap *t, uint64_t id)
{
	struct tkw__item *found = NULL;

	for (struct tkw__item *at = t->root; at;) {
		++*t->steps;
		if (at->id >= id) {
			found = at;
			at = at->node.left;
		} else {
			at = at->node.right;
		}
	}
	return found;
}

static const char *check_node(const struct tkw__treap *t,
			      const struct tkw__item *at)
{
	const struct tkw__item *l = at->node.left;
	const struct tkw__item *r = at->node.right;

	if (at->place != TKW__IN_TREE || at->node.flags != 0)
		return "an item in a tree does not know it";
	if (at->node.size != tkw__treap_size(l) + tkw__treap_size(r) + 1)
		return "the size of a subtree is wrong";
	if ((l && !above(at, l)) || (r && !above(at, r)))
		return "a tree is no heap";
	if ((l && !tkw__item_less(l, at, t->by)) ||
	    (r && !tkw__item_less(at, r, t->by)))
		return "a tree is not in order";
	return NULL;
}

static const struct tkw__item *at_rank(const struct tkw__item *at,
				       uint32_t rank)
{
	while (at) {
		uint32_t left = tkw__treap_size(at->node.left);

		if (rank == left)
			break;
		if (rank < left) {
			at = at->node.left;
		} else {
			rank -= left + 1;
			at = at->node.right;
		}
	}
	return at;
}

/* Visits every item by its rank, which needs no stack: O(n log n). */
const char *tkw__treap_check(const struct tkw__treap *t)
{
	const struct tkw__item *last = NULL;
	uint32_t n = tkw__treap_size(t->root);

	for (uint32_t i = 0; i < n; i++) {
		const struct tkw__item *at = at_rank(t->root, i);
		const char *wrong;

		if (!at)
			return "the size of a tree is wrong";
		wrong = check_node(t, at);
		if (wrong)
			return wrong;
		if (last && !tkw__item_less(last, at, t->by))
			return "a tree is not in order";
		last = at;
	}
	return NULL;
}
