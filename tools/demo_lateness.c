/* SPDX-License-Identifier: MIT */
/*
 * demo_lateness.c - how late the tasks were.
 *
 * A list of all values would grow with the run, a histogram does not. The width
 * of a bucket is a fixed part of its value, so that microseconds and seconds
 * are equally exact.
 */
#include "demo.h"

static size_t bucket_of(uint64_t ns)
{
	unsigned shift = 0;

	while (ns >> shift >= 2 << DEMO_LATE_BITS)
		shift++;
	if (ns < 1 << DEMO_LATE_BITS)
		return (size_t)ns;
	/* ns >> shift is from 64 to 127; row 0 holds 0 to 63. */
	return ((size_t)shift << DEMO_LATE_BITS) + (size_t)(ns >> shift);
}

/* The last value of a bucket. */
static uint64_t bucket_end(size_t bucket)
{
	size_t row = bucket >> DEMO_LATE_BITS;
	uint64_t place = bucket & ((1 << DEMO_LATE_BITS) - 1);
	unsigned shift = row > 0 ? (unsigned)row - 1 : 0;

	if (row == 0)
		return place;
	return ((place + (1 << DEMO_LATE_BITS) + 1) << shift) - 1;
}

void demo_late_add(struct demo_lateness *h, int64_t late_ns)
{
	/* A task that is early is counted elsewhere. */
	uint64_t ns = late_ns > 0 ? (uint64_t)late_ns : 0;

	atomic_fetch_add_explicit(&h->n[bucket_of(ns)], 1,
				  memory_order_relaxed);
}

void demo_late_take(const struct demo_lateness *h, struct demo_late_copy *out)
{
	for (size_t i = 0; i < DEMO_LATE_BUCKETS; i++)
		out->n[i] =
			atomic_load_explicit(&h->n[i], memory_order_relaxed);
}

uint64_t demo_late_at(const struct demo_moment *from,
		      const struct demo_moment *to, unsigned permille)
{
	uint64_t all = 0;
	uint64_t seen = 0;
	uint64_t end = 0;

	for (size_t i = 0; i < DEMO_LATE_BUCKETS; i++)
		all += to->late.n[i] - from->late.n[i];
	for (size_t i = 0; i < DEMO_LATE_BUCKETS; i++) {
		uint64_t n = to->late.n[i] - from->late.n[i];

		if (n == 0)
			continue;
		seen += n;
		end = bucket_end(i);
		if (seen * 1000 >= all * permille)
			break;
	}
	return end;
}

void demo_late_by_timer(const struct demo_moment *from,
			const struct demo_moment *to, struct tkw_histogram *out)
{
	out->count = to->timer_late.count - from->timer_late.count;
	out->max_ns = 0;
	for (uint32_t i = 0; i < TKW_HISTOGRAM_BUCKETS; i++) {
		out->bucket[i] =
			to->timer_late.bucket[i] - from->timer_late.bucket[i];
		if (out->bucket[i] > 0)
			out->max_ns = tkw_histogram_least_ns(i + 1) - 1;
	}
}
