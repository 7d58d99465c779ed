/* SPDX-License-Identifier: MIT */
/*
 * histogram.h - fills histograms of times. How to read one is in stats.h.
 *
 * The buckets are of equal relative width. A time of e + 1 bits is in the
 * octave of 2^e, which has 64 buckets. The seven lowest octaves have one bucket
 * for each nanosecond.
 */
#ifndef TKW_TIMER_HISTOGRAM_H
#define TKW_TIMER_HISTOGRAM_H

#include "base/bits.h"
#include "tickwheel/stats.h"

enum {
	TKW__SUB_BITS = 6,
	TKW__SUBS = 1 << TKW__SUB_BITS,
	TKW__LAST_OCTAVE = 43
};
_Static_assert(TKW_HISTOGRAM_BUCKETS ==
		       (TKW__LAST_OCTAVE - TKW__SUB_BITS + 2) * TKW__SUBS,
	       "all octaves have their buckets");

/* Without a branch, because it is a part of every firing. */
static inline uint32_t tkw__histogram_bucket(uint64_t ns)
{
	uint64_t most = (UINT64_C(2) << TKW__LAST_OCTAVE) - 1;
	uint32_t shift;

	ns = tkw__min_u64(ns, most);
	/* Times below TKW__SUBS are their own bucket, as if they were in the
	 * octave of TKW__SUBS. */
	shift = tkw__highest_bit(ns | TKW__SUBS) - TKW__SUB_BITS;
	return shift * TKW__SUBS + (uint32_t)(ns >> shift);
}

/* Adds a sample, which must not be negative. */
static inline void tkw__histogram_add(struct tkw_histogram *h, int64_t ns)
{
	h->count++;
	h->max_ns = tkw__max_i64(h->max_ns, ns);
	h->bucket[tkw__histogram_bucket((uint64_t)ns)]++;
}

void tkw__histogram_merge(struct tkw_histogram *h,
			  const struct tkw_histogram *other);

#endif /* TKW_TIMER_HISTOGRAM_H */
