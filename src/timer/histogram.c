/* SPDX-License-Identifier: MIT */
/* histogram.c - reads histograms of times. How one is filled is in
 * histogram.h. */
#include "timer/histogram.h"

#include <stddef.h>

#include "base/bits.h"

uint32_t tkw_histogram_bucket(int64_t ns)
{
	return tkw__histogram_bucket(ns > 0 ? (uint64_t)ns : 0);
}

int64_t tkw_histogram_least_ns(uint32_t bucket)
{
	uint32_t shift;

	if (bucket < 2 * TKW__SUBS)
		return bucket;
	if (bucket > TKW_HISTOGRAM_BUCKETS)
		bucket = TKW_HISTOGRAM_BUCKETS;
	shift = bucket / TKW__SUBS - 1;
	return (int64_t)(bucket % TKW__SUBS + TKW__SUBS) << shift;
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

void tkw__histogram_merge(struct tkw_histogram *h,
			  const struct tkw_histogram *other)
{
	h->count += other->count;
	h->max_ns = tkw__max_i64(h->max_ns, other->max_ns);
	for (uint32_t i = 0; i < TKW_HISTOGRAM_BUCKETS; i++)
		h->bucket[i] += other->bucket[i];
}
