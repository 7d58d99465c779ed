/* SPDX-License-Identifier: MIT */
/* facts.h - what is to be said of a timeout. */
#ifndef TKW_TIMER_FACTS_H
#define TKW_TIMER_FACTS_H

#include "timer/object.h"

/* At a time. It is not FREE, and the lock is held or the timeout is the
 * caller's. */
struct tkw_timeout_info tkw__facts_of(const struct tkw_timer *t,
				      const struct tkw__shard *s,
				      const struct tkw__timeout *to,
				      int64_t now_ns);

#endif /* TKW_TIMER_FACTS_H */
