/* SPDX-License-Identifier: MIT */
/* list.h - lists the items of a state. */
#ifndef TKW_REDIS_LIST_H
#define TKW_REDIS_LIST_H

#include "redis/args.h"

/* Reads CURSOR and COUNT, and replies with a piece of the list. The state
 * TKW__QUEUE_STATES means all of them. */
int tkw__redis_list_state(struct rm_ctx *ctx, struct tkw__args *a,
			  enum tkw__queue_state state);

/* How many entries a list replies if COUNT does not say it, and at most. */
enum {
	TKW__LIST_DEFAULT = 100,
	TKW__LIST_MAX = 4096
};

/* Read what follows CURSOR and COUNT. */
uint64_t tkw__redis_read_cursor(struct tkw__args *a);
uint32_t tkw__redis_read_count(struct tkw__args *a);

#endif /* TKW_REDIS_LIST_H */
