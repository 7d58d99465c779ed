/* SPDX-License-Identifier: MIT */
/* index.c - linear hashing. The idea is in index.h. */
#include "queue/index.h"

#include <errno.h>

#include "queue/hash.h"
#include "queue/state.h"

enum {
	/* Buckets. */
	AHEAD = 4,
	FAR_AHEAD = 8
};

/* Ids that follow each other are often used together, and their items were
 * often allocated together. So 16 of them share a group of neighbouring
 * buckets. Where an id is in its group depends on the group too, because the
 * low bits of ids may be all the same. */
static uint64_t hash_id(const struct tkw__queue *q, uint64_t id)
{
	uint64_t group = tkw__mix((id >> 4) ^ q->seed[0]);

	return (group & ~UINT64_C(15)) | ((id ^ group >> 60) & 15);
}

static uint64_t hash_of(const struct tkw__queue *q, const struct tkw__index *x,
			const struct tkw__item *it)
{
	if (!x->by_key)
		return hash_id(q, it->id);
	return tkw__hash(q->seed, tkw__item_key(it), it->key_len);
}

static struct tkw__item **next_of(const struct tkw__index *x,
				  struct tkw__item *it)
{
	return x->by_key ? tkw__item_key_next(it) : &it->next;
}

static unsigned segment_of(uint64_t bucket)
{
	if (bucket < TKW__INDEX_FIRST)
		return 0;
	return tkw__highest_bit(bucket / TKW__INDEX_FIRST) + 1;
}

/* The first bucket of a segment, which is also how many buckets it has, except
 * for segment 0. */
static uint64_t segment_start(unsigned s)
{
	return s == 0 ? 0 : (uint64_t)TKW__INDEX_FIRST << (s - 1);
}

static size_t segment_bytes(unsigned s)
{
	uint64_t n = s == 0 ? TKW__INDEX_FIRST : segment_start(s);

	return (size_t)n * sizeof(struct tkw__item *);
}

static struct tkw__item **bucket_at(const struct tkw__index *x, uint64_t b)
{
	unsigned s = segment_of(b);

	return &x->segment[s][b - segment_start(s)];
}

/* The bucket of a hash. */
static uint64_t bucket_of(const struct tkw__index *x, uint64_t hash)
{
	uint64_t high = tkw__round_up_pow2(x->buckets);
	uint64_t b = hash & (high - 1);

	return b < x->buckets ? b : b - high / 2;
}

int tkw__index_prepare(struct tkw__queue *q, struct tkw__index *x)
{
	if (x->buckets != 0)
		return 0;
	x->segment[0] = tkw__queue_alloc(q, segment_bytes(0));
	if (!x->segment[0])
		return -ENOMEM;
	for (int i = 0; i < TKW__INDEX_FIRST; i++)
		x->segment[0][i] = NULL;
	x->buckets = TKW__INDEX_FIRST;
	return 0;
}

/* Splits the bucket whose turn it is. */
static void grow(struct tkw__queue *q, struct tkw__index *x)
{
	uint64_t new = x->buckets;
	unsigned s = segment_of(new);
	uint64_t bit = segment_start(s);
	struct tkw__item **low = bucket_at(x, new - bit);
	struct tkw__item **high;

	if (new == bit) {
		if (s == TKW__INDEX_SEGMENTS)
			return;
		x->segment[s] = tkw__queue_alloc(q, segment_bytes(s));
		if (!x->segment[s])
			return;
	}
	/* Buckets are split in turn. The items of later ones are fetched now,
	 * or each split would wait for memory. */
	if (new - bit + FAR_AHEAD < bit) {
		struct tkw__item *first = *bucket_at(x, new - bit + AHEAD);

		__builtin_prefetch(*bucket_at(x, new - bit + FAR_AHEAD));
		if (first)
			__builtin_prefetch(*next_of(x, first));
	}
	high = &x->segment[s][new - bit];
	x->buckets++;
	while (*low) {
		struct tkw__item *it = *low;

		q->steps++;
		if (hash_of(q, x, it) & bit) {
			*low = *next_of(x, it);
			*high = it;
			high = next_of(x, it);
		} else {
			low = next_of(x, it);
		}
	}
	*high = NULL;
}

/* Merges the last bucket into the one that it was split from. */
static void shrink(struct tkw__queue *q, struct tkw__index *x)
{
	uint64_t last = x->buckets - 1;
	unsigned s = segment_of(last);
	uint64_t bit = segment_start(s);
	struct tkw__item **low = bucket_at(x, last - bit);
	struct tkw__item *first = *bucket_at(x, last);
	struct tkw__item **end = &first;

	/* The last bucket is often empty, and then no item is touched. */
	while (*end) {
		q->steps++;
		end = next_of(x, *end);
	}
	*end = *low;
	*low = first;
	x->buckets = last;
	if (last == bit) {
		tkw__queue_free(q, x->segment[s], segment_bytes(s));
		x->segment[s] = NULL;
	}
}

void tkw__index_insert(struct tkw__queue *q, struct tkw__index *x,
		       struct tkw__item *it)
{
	struct tkw__item **at;

	assert(x->buckets != 0);
	q->steps++;
	if (x->count >= x->buckets)
		grow(q, x);
	at = bucket_at(x, bucket_of(x, hash_of(q, x, it)));
	*next_of(x, it) = *at;
	*at = it;
	x->count++;
}

void tkw__index_remove(struct tkw__queue *q, struct tkw__index *x,
		       struct tkw__item *it)
{
	struct tkw__item **at = bucket_at(x, bucket_of(x, hash_of(q, x, it)));

	while (*at != it) {
		assert(*at);
		q->steps++;
		at = next_of(x, *at);
	}
	*at = *next_of(x, it);
	x->count--;
	/* Two merges for one removal keep up with a queue that empties. */
	for (int i = 0; i < 2; i++) {
		if (x->buckets > TKW__INDEX_FIRST && x->count < x->buckets / 2)
			shrink(q, x);
	}
}

void tkw__index_fetch_bucket(const struct tkw__queue *q, uint64_t id)
{
	const struct tkw__index *x = &q->by_id;

	if (x->count)
		__builtin_prefetch(bucket_at(x, bucket_of(x, hash_id(q, id))));
}

void tkw__index_fetch_item(const struct tkw__queue *q, uint64_t id)
{
	const struct tkw__index *x = &q->by_id;
	const struct tkw__item *it;

	if (!x->count)
		return;
	it = *bucket_at(x, bucket_of(x, hash_id(q, id)));
	if (it)
		__builtin_prefetch(&it->id);
}

struct tkw__item *tkw__index_find_id(struct tkw__queue *q, uint64_t id)
{
	struct tkw__index *x = &q->by_id;
	struct tkw__item *it;

	if (x->count == 0)
		return NULL;
	it = *bucket_at(x, bucket_of(x, hash_id(q, id)));
	while (it && it->id != id) {
		q->steps++;
		it = it->next;
	}
	return it;
}

struct tkw__item *tkw__index_find_key(struct tkw__queue *q,
				      struct tkw__queue_text key)
{
	struct tkw__index *x = &q->by_key;
	struct tkw__item *it;
	uint64_t hash;

	if (x->count == 0)
		return NULL;
	hash = tkw__hash(q->seed, key.at, key.len);
	it = *bucket_at(x, bucket_of(x, hash));
	while (it && (it->key_len != key.len ||
		      memcmp(tkw__item_key(it), key.at, key.len) != 0)) {
		q->steps++;
		it = *tkw__item_key_next(it);
	}
	return it;
}

static uint64_t reverse_bits(uint64_t x)
{
	static const uint64_t mask[] = {
		UINT64_C(0x5555555555555555), UINT64_C(0x3333333333333333),
		UINT64_C(0x0f0f0f0f0f0f0f0f), UINT64_C(0x00ff00ff00ff00ff),
		UINT64_C(0x0000ffff0000ffff), UINT64_C(0x00000000ffffffff),
	};

	/* Swaps neighbouring bits, then pairs of bits, and so on. */
	for (unsigned i = 0; i < 6; i++)
		x = (x >> (1u << i) & mask[i]) | (x & mask[i]) << (1u << i);
	return x;
}

/* How many low bits of the hash all items of a bucket share. */
static unsigned bucket_bits(const struct tkw__index *x, uint64_t b)
{
	uint64_t high = tkw__round_up_pow2(x->buckets);
	unsigned bits = tkw__highest_bit(high);

	if (b >= high / 2 || b + high / 2 < x->buckets)
		return bits;
	return bits - 1;
}

uint64_t tkw__index_scan(struct tkw__queue *q, const struct tkw__index *x,
			 uint64_t cursor, tkw__index_fn *fn, void *ctx)
{
	struct tkw__item *it;
	uint64_t b, width;
	bool whole;

	if (x->count == 0)
		return 0;
	b = bucket_of(x, reverse_bits(cursor));
	width = UINT64_C(1) << (64 - bucket_bits(x, b));
	/* Usually the cursor is at the start of a bucket. It is not if buckets
	 * were merged since. */
	whole = (cursor & (width - 1)) == 0;
	for (it = *bucket_at(x, b); it; it = *next_of(x, it)) {
		q->steps++;
		if (whole || reverse_bits(hash_of(q, x, it)) >= cursor)
			fn(q, it, ctx);
	}
	q->steps++;
	/* The end of the bucket's range; 0 behind the last one. */
	return (cursor & ~(width - 1)) + width;
}

void tkw__index_each(struct tkw__queue *q, const struct tkw__index *x,
		     tkw__index_fn *fn, void *ctx)
{
	for (uint64_t b = 0; b < x->buckets; b++) {
		struct tkw__item *it;

		for (it = *bucket_at(x, b); it; it = *next_of(x, it))
			fn(q, it, ctx);
	}
}

struct tkw__item *tkw__index_drain(struct tkw__queue *q, struct tkw__index *x)
{
	while (x->count > 0) {
		struct tkw__item **at = bucket_at(x, x->buckets - 1);
		struct tkw__item *it = *at;

		q->steps++;
		if (it) {
			*at = *next_of(x, it);
			x->count--;
			return it;
		}
		x->buckets--;
	}
	return NULL;
}

void tkw__index_fini(struct tkw__queue *q, struct tkw__index *x)
{
	for (unsigned s = 0; s < TKW__INDEX_SEGMENTS; s++) {
		if (x->segment[s])
			tkw__queue_free(q, x->segment[s], segment_bytes(s));
	}
	*x = (struct tkw__index){ .by_key = x->by_key };
}

const char *tkw__index_check(struct tkw__queue *q, const struct tkw__index *x)
{
	uint64_t count = 0;

	for (uint64_t b = 0; b < x->buckets; b++) {
		struct tkw__item *it;

		for (it = *bucket_at(x, b); it; it = *next_of(x, it)) {
			if (x->by_key && !(it->has & TKW__HAS_KEY))
				return "an item without a key has its place";
			if (bucket_of(x, hash_of(q, x, it)) != b)
				return "an item is in the wrong bucket";
			if (++count > x->count)
				return "an index has more items than it knows";
		}
	}
	return count == x->count ? NULL : "an index has lost items";
}
