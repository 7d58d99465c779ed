/* SPDX-License-Identifier: MIT */
/*
 * index.h - finds items by id or by key, in a table that never makes a caller
 * wait while it grows.
 *
 * Idea:     linear hashing. With more items than buckets, the next bucket in
 *           turn is split in two: one bucket per insertion. With fewer items
 *           than half the buckets, the last ones are merged back. Bucket b is
 *           that of the low bits of the hash.
 * Memory:   segment 0 has 8 buckets, and each further one as many as all before
 *           it. So no bucket ever moves in memory, and a new segment needs no
 *           clearing: a bucket is written when it is split off. If there is no
 *           memory for a segment, chains grow longer, and nothing fails.
 * Scanning: a bucket holds a contiguous range of hashes, if the bits of the
 *           hashes are read from the lowest to the highest. A split halves a
 *           range, a merge joins two neighbours. So a cursor in this space
 *           stays right whatever happens between two calls.
 */
#ifndef TKW_QUEUE_INDEX_H
#define TKW_QUEUE_INDEX_H

#include "queue/item.h"

enum {
	TKW__INDEX_SEGMENTS = 40,
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
/* Fetches what a search for an id will need: first its bucket, and then, when
 * that has come, the first item in it. */
void tkw__index_fetch_bucket(const struct tkw__queue *q, uint64_t id);
void tkw__index_fetch_item(const struct tkw__queue *q, uint64_t id);
/* NULL if there is none. */
struct tkw__item *tkw__index_find_id(struct tkw__queue *q, uint64_t id);
struct tkw__item *tkw__index_find_key(struct tkw__queue *q,
				      struct tkw__queue_text key);

typedef void tkw__index_fn(struct tkw__queue *q, struct tkw__item *it,
			   void *ctx);

/* Visits the items of the bucket at a cursor that were not visited before.
 * Returns the next cursor; 0 at the end. */
uint64_t tkw__index_scan(struct tkw__queue *q, const struct tkw__index *x,
			 uint64_t cursor, tkw__index_fn *fn, void *ctx);

/* Visits all items at once, in O(items). */
void tkw__index_each(struct tkw__queue *q, const struct tkw__index *x,
		     tkw__index_fn *fn, void *ctx);

/* Takes any item out without a search, for freeing all; NULL if there is none.
 * The index is good for nothing else afterwards. */
struct tkw__item *tkw__index_drain(struct tkw__queue *q, struct tkw__index *x);
/* Frees the memory of an index. */
void tkw__index_fini(struct tkw__queue *q, struct tkw__index *x);

/* Returns NULL if each item of the index is in its bucket. */
const char *tkw__index_check(struct tkw__queue *q, const struct tkw__index *x);

#endif /* TKW_QUEUE_INDEX_H */
