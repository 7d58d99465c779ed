/* SPDX-License-Identifier: MIT */
/* ns.h - times in nanoseconds, with arithmetic that saturates. */
#ifndef TKW_BASE_NS_H
#define TKW_BASE_NS_H

#include <stdint.h>

/* a + b, for b >= 0. Returns INT64_MAX, which means never, if that would
 * overflow. */
static inline int64_t tkw__ns_add(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* The given percentage of a time, rounded down. ns must not be negative, and
 * percent must be 0 ... 1000. Returns INT64_MAX if the result would
 * overflow. */
static inline int64_t tkw__ns_percent(int64_t ns, int percent)
{
	int64_t hundreds = ns / 100;
	int64_t rest = ns % 100 * percent / 100;

	if (percent > 0 && hundreds > INT64_MAX / percent)
		return INT64_MAX;
	return tkw__ns_add(hundreds * percent, rest);
}

#endif /* TKW_BASE_NS_H */
