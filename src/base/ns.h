/* SPDX-License-Identifier: MIT */
/* ns.h - times in nanoseconds, which stop at the end of time. */
#ifndef TKW_BASE_NS_H
#define TKW_BASE_NS_H

#include <stdint.h>

/* a + b, where b is not negative; INT64_MAX, which means never, where that
 * would overflow. */
static inline int64_t tkw__ns_add(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* So many percent of a time that is not negative, rounded down; INT64_MAX where
 * that would overflow. percent: 0 ... 1000. */
static inline int64_t tkw__ns_percent(int64_t ns, int percent)
{
	int64_t hundreds = ns / 100;
	int64_t rest = ns % 100 * percent / 100;

	if (percent > 0 && hundreds > INT64_MAX / percent)
		return INT64_MAX;
	return tkw__ns_add(hundreds * percent, rest);
}

#endif /* TKW_BASE_NS_H */
