/* SPDX-License-Identifier: MIT */
/* facts.h - the facts about a timeout. */
#ifndef TKW_TIMER_FACTS_H
#define TKW_TIMER_FACTS_H

#include "timer/object.h"

/* Describes a timeout as of now_ns. The timeout must not be FREE. The caller
 * holds the lock, or owns the timeout. */
struct tkw_timeout_info tkw__facts_of(const struct tkw_timer *t,
				      const struct tkw__shard *s,
				      const struct tkw__timeout *to,
				      int64_t now_ns);

#endif /* TKW_TIMER_FACTS_H */
