/* SPDX-License-Identifier: MIT */
/* watch.c - memory for the buckets. */
#include "patterns/watch.h"

#include "base/bits.h"
#include "os/memory.h"

enum {
	LINE = 64,
	BUCKETS_MAX = 1 << 24
};

void tkw__watches_init(struct tkw__watches *ws, struct tkw__watch **few,
		       uint32_t used_bits)
{
	*ws = (struct tkw__watches){
		.buckets = few,
		.mask = TKW__FEW_BUCKETS - 1,
		.shift = 64 - used_bits - tkw__highest_bit(TKW__FEW_BUCKETS),
	};
}

/* The first buckets belong to the caller. */
static void free_buckets(struct tkw__watch **buckets, size_t count)
{
	if (count > TKW__FEW_BUCKETS)
		tkw__memory_free(buckets, count * sizeof(struct tkw__watch *));
}

void tkw__watches_fini(struct tkw__watches *ws)
{
	free_buckets(ws->buckets, (size_t)ws->mask + 1);
}

void tkw__watches_grow(struct tkw__watches *ws)
{
	size_t count = (size_t)ws->mask + 1;
	struct tkw__watch **were = ws->buckets;
	struct tkw__watch **buckets;

	if (count == BUCKETS_MAX)
		return;
	buckets =
		tkw__memory_take(2 * count * sizeof(struct tkw__watch *), LINE);
	if (buckets == NULL)
		return;
	/* The bits of a bucket are the upper ones of its two halves, so the
	 * order of the buckets stays. */
	ws->shift--;
	ws->mask = (uint32_t)(2 * count - 1);
	for (size_t i = 0; i < 2 * count; i++)
		buckets[i] = NULL;
	for (size_t i = 0; i < count; i++) {
		struct tkw__watch *next;

		for (struct tkw__watch *w = were[i]; w; w = next) {
			size_t k = (size_t)(w->hash >> ws->shift) & ws->mask;

			next = w->chain;
			w->chain = buckets[k];
			buckets[k] = w;
		}
	}
	ws->buckets = buckets;
	free_buckets(were, count);
}
