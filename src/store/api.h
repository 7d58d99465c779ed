/* SPDX-License-Identifier: MIT */
/* api.h - how arguments of queue.h are read. */
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

#endif /* TKW_STORE_API_H */
