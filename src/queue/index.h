/* SPDX-License-Identifier: MIT */
/*
 * index.h - finds items by id or by key, in a table that never makes a caller
 * wait while it grows.
 *
 * Idea:     linear hashing. If there are more items than buckets, an insertion
 *           splits one bucket in two: the next one in turn. If there are fewer
 *           items than half the buckets, a removal merges up to two of the
 *           last ones back. The low bits of the hash tell the bucket.
 * Memory:   segment 0 has 8 buckets, and each further one has as many as all
 *           before it. So no bucket ever moves in memory, and a new segment
 *           need not be cleared: a bucket is written when it is split off. If
 *           there is no memory for a segment, chains grow longer, and nothing
 *           fails.
 * Scanning: a bucket holds a contiguous range of hashes, if the bits of the
 *           hashes are read from the lowest to the highest. A split halves a
 *           range, and a merge joins two neighbours. So a cursor in this space
 *           stays right whatever happens between two calls.
 */
#ifndef TKW_QUEUE_INDEX_H
#define TKW_QUEUE_INDEX_H

#include "queue/item.h"

enum {
	TKW__INDEX_SEGMENTS = 32, /* then chains grow: 2^34 buckets */
	TKW__INDEX_FIRST = 8
};

struct tkw__index {
	struct tkw__item **segment[TKW__INDEX_SEGMENTS];
	uint64_t buckets; /* 0: nothing is allocated */
	uint64_t count;
	bool by_key;
};

struct tkw__queue;

/* Makes room for the first item. Returns 0 or -ENOMEM. Later insertions cannot
 * fail. */
int tkw__index_prepare(struct tkw__queue *q, struct tkw__index *x);
void tkw__index_insert(struct tkw__queue *q, struct tkw__index *x,
		       struct tkw__item *it);
void tkw__index_remove(struct tkw__queue *q, struct tkw__index *x,
		       struct tkw__item *it);
/* Prefetch into the cache what a search for an id will need: first its bucket,
 * and later, when the bucket is there, the first item in it. */
void tkw__index_fetch_bucket(const struct tkw__queue *q, uint64_t id);
void tkw__index_fetch_item(const struct tkw__queue *q, uint64_t id);
/* NULL if there is none. */
struct tkw__item *tkw__index_find_id(struct tkw__queue *q, uint64_t id);
struct tkw__item *tkw__index_find_key(struct tkw__queue *q,
				      struct tkw__queue_text key);

typedef void tkw__index_fn(struct tkw__queue *q, struct tkw__item *it,
			   void *ctx);

/* Visits the items of the bucket at the cursor, except those that the cursor
 * has passed already. Returns the next cursor; 0 at the end. */
uint64_t tkw__index_scan(struct tkw__queue *q, const struct tkw__index *x,
			 uint64_t cursor, tkw__index_fn *fn, void *ctx);

/* Visits all items at once, in O(items). */
void tkw__index_each(struct tkw__queue *q, const struct tkw__index *x,
		     tkw__index_fn *fn, void *ctx);

/* Takes any item out without a search, to free all; NULL if there is none. Then
 * only this call and tkw__index_fini() may follow. */
struct tkw__item *tkw__index_drain(struct tkw__queue *q, struct tkw__index *x);
/* Frees the memory of an index. */
void tkw__index_fini(struct tkw__queue *q, struct tkw__index *x);

/* Returns NULL if each item of the index is in its bucket. */
const char *tkw__index_check(struct tkw__queue *q, const struct tkw__index *x);

#endif /* TKW_QUEUE_INDEX_H */
