/* SPDX-License-Identifier: MIT */
/* api.h - what the calls of queue.h share: how arguments are read, and how
 * requests are made. */
#ifndef TKW_STORE_API_H
#define TKW_STORE_API_H

#include <stdint.h>

#include "queue/heart.h"
#include "store/desk.h"
#include "tickwheel/queue.h"

/* Return 0, -EINVAL or, for a put, -EMSGSIZE. */
int tkw__put_read(struct tkw__queue_put *to, const struct tkw_put *from);
int tkw__take_read(struct tkw__request_take *to, const struct tkw_take *from);

struct tkw__queue_when tkw__when_read(int64_t delay_ms, int64_t due_ms);

/* Reads the rules of a plan: all but its texts. Returns 0 or -EINVAL. */
int tkw__plan_read_rules(struct tkw__queue_plan *to,
			 const struct tkw_queue_plan_spec *from);

/* Makes a call that waits for the disk. */
int64_t tkw__api_change(struct tkw_queues *f, struct tkw__request *r);
/* Makes a call that only looks, when the work that the time has brought to the
 * queue is done. It is legal in all callbacks. */
int64_t tkw__api_look_when_quiet(struct tkw_queue *q, tkw__look_fn *fn,
				 void *arg);

#endif /* TKW_STORE_API_H */
