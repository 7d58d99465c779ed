/* SPDX-License-Identifier: MIT */
/*
 * burial.c - frees large queues piece by piece.
 *
 * DEL and FLUSHALL free a value at once, on the main thread, unless the server
 * is told to be lazy. A queue of a million items would hold up all clients. So
 * a large one is put aside, and a timer of the server frees a piece of it each
 * millisecond.
 */
#include <pthread.h>

#include "redis/module.h"

enum {
	AT_ONCE = 1024, /* items */
	PIECE = 4096,
	PERIOD_MS = 1
};

struct grave {
	struct grave *next;
	struct tkw__queue *queue;
};

static struct grave *graves;
static struct rm_ctx *burial_ctx; /* a free callback has none */
static pthread_t main_thread;

void tkw__redis_burial_init(struct rm_ctx *ctx)
{
	main_thread = pthread_self();
	burial_ctx = tkw__rm.GetDetachedThreadSafeContext(ctx);
}

static void dig(struct rm_ctx *ctx, void *data)
{
	struct grave *g = graves;

	if (!tkw__queue_free_some(g->queue, PIECE)) {
		graves = g->next;
		tkw__rm.Free(g);
	}
	if (graves)
		tkw__rm.CreateTimer(ctx, PERIOD_MS, dig, data);
}

void tkw__redis_bury(struct tkw__queue *q)
{
	uint64_t items;
	uint64_t bytes;
	struct grave *g;

	tkw__queue_get_size(q, &items, &bytes);
	if (items <= AT_ONCE || !pthread_equal(pthread_self(), main_thread)) {
		tkw__queue_destroy(q);
		return;
	}
	g = tkw__rm.Alloc(sizeof(*g));
	*g = (struct grave){ .next = graves, .queue = q };
	if (!graves)
		tkw__rm.CreateTimer(burial_ctx, PERIOD_MS, dig, NULL);
	graves = g;
}
