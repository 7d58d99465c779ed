/* SPDX-License-Identifier: MIT */
/* queue_loops.h - what the samples share. */
#ifndef TKW_QUEUE_LOOPS_H
#define TKW_QUEUE_LOOPS_H

#include "queue_bench.h"

/* Returns a random due time, one or two hours away. */
int64_t queue_far_ms(uint64_t *rng);

/* Puts n items, with the numbers from `first` on. They are due now, or, if
 * `far` is set, not before the sample ends. */
bool queue_fill(const struct queue_entrant *e, void *caller, uint64_t first,
		uint64_t n, bool far);

/* Opens a queue, and returns after its first answer. Returns false if something
 * was due. */
bool queue_open_ready(const struct queue_entrant *e, const char *dir,
		      bool sync);

void queue_run_lateness(const struct queue_entrant *e,
			const struct queue_load *l, struct rival_answer *a);

#endif /* TKW_QUEUE_LOOPS_H */
