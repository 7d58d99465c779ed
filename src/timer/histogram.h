/* SPDX-License-Identifier: MIT */
/* histogram.h - fills histograms. How to read one is in stats.h. */
#ifndef TKW_TIMER_HISTOGRAM_H
#define TKW_TIMER_HISTOGRAM_H

#include "tickwheel/stats.h"

void tkw__histogram_add(struct tkw_histogram *h, int64_t ns);
void tkw__histogram_merge(struct tkw_histogram *h,
			  const struct tkw_histogram *other);

#endif /* TKW_TIMER_HISTOGRAM_H */
