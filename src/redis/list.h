/* SPDX-License-Identifier: MIT */
/* list.h - lists the items of a state. */
#ifndef TKW_REDIS_LIST_H
#define TKW_REDIS_LIST_H

#include "redis/args.h"

/* Reads CURSOR and COUNT, and replies with a piece of the list. The state
 * TKW__QUEUE_STATES means all of them. */
int tkw__redis_list_state(struct rm_ctx *ctx, struct tkw__args *a,
			  enum tkw__queue_state state);

#endif /* TKW_REDIS_LIST_H */
