/* SPDX-License-Identifier: MIT */
/*
 * delayed_rival_lists.c - delayed operations in a hash table of lists behind a
 * mutex. This is what a user would write around the timer.
 *
 * It asks while it holds the mutex, so it never has to ask twice. (We do not
 * allow ourselves that, because a user's function may make any call.) It calls
 * the function for the end without the mutex. Nodes are allocated before, and
 * the one that was freed last is used next. There are twice as many buckets as
 * operations, and the keys are spread by a multiplication.
 *
 * Whoever can cancel the timeout has ended the operation. If an event cannot,
 * the timeout waits for the mutex, and then ends the operation with the status
 * that the event has left.
 */
#include "timer/rival.h"

#include <pthread.h>

#include "tickwheel/timer.h"

#define MANY 16

struct node {
	struct node *next; /* in its bucket, or in the list of free nodes */
	struct node *prev;
	uint64_t key;
	struct tkw_timeout_id timeout;
	bool (*holds)(const void *arg);
	void (*fn)(void *arg, int status);
	void *arg;
	bool decided;
};

/* A function that is still to be called. */
struct end {
	void (*fn)(void *arg, int status);
	void *arg;
};

static struct {
	struct tkw_timer *timer;
	pthread_mutex_t lock;
	/* Heads of circular lists, which need only the links. */
	struct node *buckets;
	size_t count; /* of buckets */
	unsigned shift;
	struct node *free;
	struct node *nodes; /* the array of all nodes */
	size_t node_count;
} delayed;

static inline bool holds(const void *ctx);
static inline void ended(void *ctx, int status);

static bool does_hold(const void *arg)
{
	return holds(arg);
}

static void on_end(void *arg, int status)
{
	ended(arg, status);
}

static struct node *bucket_of(uint64_t key)
{
	return &delayed.buckets[key * UINT64_C(0x9e3779b97f4a7c15) >>
				delayed.shift];
}

static void take_out(struct node *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	n->next = delayed.free;
	delayed.free = n;
}

static void on_timeout(const struct tkw_firing *firing, void *ctx)
{
	struct node *n = ctx;
	struct node was;

	(void)firing;
	(void)pthread_mutex_lock(&delayed.lock);
	was = *n;
	take_out(n);
	(void)pthread_mutex_unlock(&delayed.lock);
	was.fn(was.arg, was.decided ? 0 : -1);
}

static inline int op_add(void *ctx, uint64_t key, int64_t timeout_ns)
{
	struct tkw_task task = { .fn = on_timeout };
	struct node *head = bucket_of(key);
	struct node *n;
	int ret = 1;

	(void)pthread_mutex_lock(&delayed.lock);
	n = delayed.free;
	task.ctx = n;
	if (!does_hold(ctx)) {
		ret = n && tkw_timer_schedule(delayed.timer, &task, timeout_ns,
					      &n->timeout) == 0
			      ? 0
			      : -1;
	}
	if (ret == 0) {
		delayed.free = n->next;
		n->key = key;
		n->holds = does_hold;
		n->fn = on_end;
		n->arg = ctx;
		n->decided = false;
		n->next = head;
		n->prev = head->prev;
		head->prev->next = n;
		head->prev = n;
	}
	(void)pthread_mutex_unlock(&delayed.lock);
	if (ret == 1)
		on_end(ctx, 0);
	return ret;
}

/* Ends the operations of a key that hold, up to MANY. Returns how many, and
 * copies of their nodes, whose functions are to be called without the mutex. */
static int collect(uint64_t key, struct end ends[MANY])
{
	struct node *head = bucket_of(key);
	struct node *next;
	int count = 0;

	for (struct node *n = head->next; n != head && count < MANY; n = next) {
		next = n->next;
		if (n->key != key || n->decided || !n->holds(n->arg))
			continue;
		if (tkw_timer_cancel(delayed.timer, n->timeout) != 0) {
			n->decided = true;
			continue;
		}
		ends[count++] = (struct end){ n->fn, n->arg };
		take_out(n);
	}
	return count;
}

static inline int op_event(uint64_t key)
{
	struct end ends[MANY];
	int completed = 0;
	int count;

	do {
		(void)pthread_mutex_lock(&delayed.lock);
		count = collect(key, ends);
		(void)pthread_mutex_unlock(&delayed.lock);
		for (int i = 0; i < count; i++)
			ends[i].fn(ends[i].arg, 0);
		completed += count;
	} while (count == MANY);
	return completed;
}

static void delayed_open(const struct rival_load *l)
{
	struct tkw_timer_config cfg = { .size = sizeof(cfg),
					.tick_ns = l->tick_ns };
	size_t nodes = (size_t)l->window * l->threads;

	(void)pthread_mutex_init(&delayed.lock, NULL);
	delayed.count = 2;
	delayed.shift = 63;
	while (delayed.count < 2 * nodes) {
		delayed.count *= 2;
		delayed.shift--;
	}
	delayed.buckets =
		rival_pages_get(delayed.count * sizeof(*delayed.buckets));
	for (size_t i = 0; i < delayed.count; i++) {
		delayed.buckets[i].next = &delayed.buckets[i];
		delayed.buckets[i].prev = &delayed.buckets[i];
	}
	delayed.nodes = rival_pages_get(nodes * sizeof(*delayed.nodes));
	delayed.node_count = nodes;
	delayed.free = NULL;
	for (size_t i = 0; i < nodes; i++) {
		delayed.nodes[i].next = delayed.free;
		delayed.free = &delayed.nodes[i];
	}
	/* There is no other thread yet. */
	if (tkw_timer_create(&delayed.timer, &cfg) != 0)
		rival_die("tkw_timer_create failed");
}

static void delayed_close(void)
{
	(void)tkw_timer_destroy(delayed.timer);
	(void)pthread_mutex_destroy(&delayed.lock);
	rival_pages_put(delayed.buckets,
			delayed.count * sizeof(*delayed.buckets));
	rival_pages_put(delayed.nodes,
			delayed.node_count * sizeof(*delayed.nodes));
}

#include "delayed_loops.h"

static void run_delayed(const struct rival_load *l, struct rival_answer *a)
{
	measure_delayed(l, a);
}

const struct entrant entrant_mutex_lists = {
	.name = "mutex_lists",
	.run_delayed = run_delayed,
};
