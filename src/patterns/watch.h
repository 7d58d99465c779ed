/* SPDX-License-Identifier: MIT */
/*
 * watch.h - a hash table of keys, each with a ring of those who watch it.
 *
 * Idea:    the first watch of a key is also the entry of the key in the table.
 *          So a key costs no memory of its own, and is gone with its last
 *          watch. A watch joins and leaves in O(1), and allocates nothing but
 *          larger tables.
 * Hash:    the key times a random odd number. The upper bits of it spread any
 *          keys that were chosen without knowing the number. Different keys
 *          have different hashes, so the key itself is not needed.
 * Order:   a ring is in the order of `turn`. The caller gives the turns, and
 *          puts a watch that gets a new turn at the end of its ring.
 * Threads: the caller holds its own lock around all calls.
 */
#ifndef TKW_PATTERNS_WATCH_H
#define TKW_PATTERNS_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The narrow builds of the tests have few buckets at first. */
#ifdef TKW__BLOCK_BITS
#define TKW__FEW_BUCKETS 2
#else
#define TKW__FEW_BUCKETS 16
#endif

struct tkw__watch {
	struct tkw__watch *next; /* in the ring */
	struct tkw__watch *prev;
	struct tkw__watch *chain; /* in a first one: that of another key */
	uint64_t hash;
	uint64_t turn;
	void *of; /* for the caller */
};

struct tkw__watches {
	struct tkw__watch **buckets; /* chains of first watches */
	uint32_t mask;
	uint32_t shift; /* the lowest bit of a hash that picks the bucket */
	uint32_t keys;
	uint32_t count;
};

/*
 * Makes an empty table.
 *
 * few        The buckets at first: TKW__FEW_BUCKETS of them, all NULL. They
 *            must stay where they are.
 * used_bits  How many upper bits of the hashes are the same in this table.
 */
void tkw__watches_init(struct tkw__watches *ws, struct tkw__watch **few,
		       uint32_t used_bits);

/* Frees the table, but no watch. */
void tkw__watches_fini(struct tkw__watches *ws);

/* Doubles the buckets. Without memory for that, the chains get longer. */
void tkw__watches_grow(struct tkw__watches *ws);

/* Returns the pointer that points to the first watch of a key, or to NULL. */
static inline struct tkw__watch **
tkw__watches_find(const struct tkw__watches *ws, uint64_t hash)
{
	struct tkw__watch **at = &ws->buckets[hash >> ws->shift & ws->mask];

	while (*at && (*at)->hash != hash)
		at = &(*at)->chain;
	return at;
}

/* Puts a watch, whose hash and turn are set, at the end of its ring. */
static inline void tkw__watches_add(struct tkw__watches *ws,
				    struct tkw__watch *w)
{
	struct tkw__watch **at = tkw__watches_find(ws, w->hash);
	struct tkw__watch *first = *at;

	ws->count++;
	if (first) {
		w->next = first;
		w->prev = first->prev;
		first->prev->next = w;
		first->prev = w;
		return;
	}
	w->next = w;
	w->prev = w;
	w->chain = NULL;
	*at = w;
	if (++ws->keys > ws->mask)
		tkw__watches_grow(ws);
}

/* Makes the second watch of a ring the first one, and the first one the
 * last. */
static inline void tkw__watches_turn(struct tkw__watch **at)
{
	struct tkw__watch *next = (*at)->next;

	next->chain = (*at)->chain;
	*at = next;
}

static inline void tkw__watches_remove(struct tkw__watches *ws,
				       struct tkw__watch *w)
{
	struct tkw__watch **at = tkw__watches_find(ws, w->hash);

	ws->count--;
	if (w->next == w) {
		*at = w->chain;
		ws->keys--;
		return;
	}
	if (*at == w)
		tkw__watches_turn(at);
	w->prev->next = w->next;
	w->next->prev = w->prev;
}

#endif /* TKW_PATTERNS_WATCH_H */
