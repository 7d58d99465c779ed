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
	AT_ONCE = 1024, /* items and plans */
	PIECE = 4096,
	PERIOD_MS = 1
};

struct grave {
	struct grave *next;
	struct tkw__queue *queue;
};

static struct grave *graves;
static bool is_digging;           /* a timer of the server is on its way */
static struct rm_ctx *burial_ctx; /* a free callback has none */
static pthread_t main_thread;

void tkw__redis_burial_init(struct rm_ctx *ctx)
{
	main_thread = pthread_self();
	burial_ctx = tkw__rm.GetDetachedThreadSafeContext(ctx);
}

void tkw__redis_burial_finish(void)
{
	while (graves) {
		struct grave *g = graves;

		graves = g->next;
		tkw__queue_destroy(g->queue);
		tkw__rm.Free(g);
	}
}

static void dig(struct rm_ctx *ctx, void *data);

static void go_on(struct rm_ctx *ctx)
{
	if (!graves || is_digging)
		return;
	is_digging = true;
	tkw__rm.CreateTimer(ctx, PERIOD_MS, dig, NULL);
}

static void dig(struct rm_ctx *ctx, void *data)
{
	struct grave *g = graves;

	(void)data;
	is_digging = false;
	if (g && !tkw__queue_free_some(g->queue, PIECE)) {
		graves = g->next;
		tkw__rm.Free(g);
	}
	go_on(ctx);
}

/* A server that evicts keys goes on until it has its memory back. */
static bool is_evicting(void)
{
	return tkw__rm.GetUsedMemoryRatio && tkw__rm.GetUsedMemoryRatio() > 1 &&
	       tkw__redis_evicts(burial_ctx);
}

void tkw__redis_bury(struct tkw__queue *q)
{
	uint64_t items;
	uint64_t bytes;
	struct grave *g;

	tkw__queue_get_size(q, &items, &bytes);
	items += tkw__queue_count_plans(q);
	if (items <= AT_ONCE || !pthread_equal(pthread_self(), main_thread) ||
	    is_evicting()) {
		tkw__queue_destroy(q);
		return;
	}
	g = tkw__rm.Alloc(sizeof(*g));
	*g = (struct grave){ .next = graves, .queue = q };
	graves = g;
	go_on(burial_ctx);
}
