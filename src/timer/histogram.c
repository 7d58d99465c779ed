/* SPDX-License-Identifier: MIT */
/*
 * histogram.c - buckets of equal relative width.
 *
 * A time of e + 1 bits is in the octave of 2^e, which has 64 buckets. The seven
 * lowest octaves have one bucket for each nanosecond.
 */
#include "timer/histogram.h"

#include <stddef.h>

#include "base/bits.h"

enum {
	SUB_BITS = 6,
	SUBS = 1 << SUB_BITS,
	LAST_OCTAVE = 43
};
_Static_assert(TKW_HISTOGRAM_BUCKETS == (LAST_OCTAVE - SUB_BITS + 2) * SUBS,
	       "all octaves have their buckets");

uint32_t tkw_histogram_bucket(int64_t ns)
{
	uint64_t v = ns > 0 ? (uint64_t)ns : 0;
	uint32_t octave;

	if (v < SUBS)
		return (uint32_t)v;
	octave = tkw__highest_bit(v);
	if (octave > LAST_OCTAVE)
		return TKW_HISTOGRAM_BUCKETS - 1;
	return (octave - SUB_BITS) * SUBS +
	       (uint32_t)(v >> (octave - SUB_BITS));
}

int64_t tkw_histogram_least_ns(uint32_t bucket)
{
	uint32_t shift;

	if (bucket < 2 * SUBS)
		return bucket;
	if (bucket > TKW_HISTOGRAM_BUCKETS)
		bucket = TKW_HISTOGRAM_BUCKETS;
	shift = bucket / SUBS - 1;
	return (int64_t)(bucket % SUBS + SUBS) << shift;
}

int64_t tkw_histogram_quantile_ns(const struct tkw_histogram *h, double share)
{
	uint64_t seen = 0;
	uint32_t i = 0;
	double wanted;
	int64_t ns;

	if (h == NULL || h->count == 0)
		return 0;
	wanted = (share < 1 ? share : 1) * (double)h->count;
	/* Find the first bucket at which the wanted number of samples, and at
	 * least one, is reached. */
	while (i < TKW_HISTOGRAM_BUCKETS - 1) {
		seen += h->bucket[i];
		if (seen > 0 && (double)seen >= wanted)
			break;
		i++;
	}
	ns = (tkw_histogram_least_ns(i) + tkw_histogram_least_ns(i + 1) - 1) /
	     2;
	return ns < h->max_ns ? ns : h->max_ns;
}

void tkw__histogram_add(struct tkw_histogram *h, int64_t ns)
{
	h->count++;
	h->max_ns = tkw__max_i64(h->max_ns, ns);
	h->bucket[tkw_histogram_bucket(ns)]++;
}

void tkw__histogram_merge(struct tkw_histogram *h,
			  const struct tkw_histogram *other)
{
	h->count += other->count;
	h->max_ns = tkw__max_i64(h->max_ns, other->max_ns);
	for (uint32_t i = 0; i < TKW_HISTOGRAM_BUCKETS; i++)
		h->bucket[i] += other->bucket[i];
}
