/* SPDX-License-Identifier: MIT */
/*
 * request_rival_hash.c - requests in a hash table behind a mutex, or in 16 such
 * tables. This is what a user would write around the timer.
 *
 * Each table counts its ids up under its mutex, and threads use the tables in
 * turn. So an id is its own best hash: requests that are under way at the same
 * time are in different, neighbouring buckets. There are twice as many buckets
 * as requests. Nodes are allocated before, and the one that was freed last is
 * used next. The thread that takes the node out has ended the request. (With
 * open addressing, the same hash would put all requests into one long run.)
 *
 * The mutex is held while the timeout is scheduled. Otherwise a timeout that
 * fires at once would not find its request. (To store the id of the timeout
 * afterwards would need the mutex a second time, which takes longer.)
 */
#include "timer/rival.h"

#include <pthread.h>

#include "tickwheel/timer.h"

#define TABLES_MAX 16

typedef uint64_t request_id;

struct node {
	uint64_t id;
	struct node *next; /* in its bucket, or in the list of free nodes */
	struct tkw_timeout_id timeout;
	void (*fn)(void *arg, int status, void *response);
	void *arg;
};

struct table {
	_Alignas(128) pthread_mutex_t lock;
	struct node **buckets;
	uint64_t mask;
	struct node *free;
	struct node *nodes; /* the array of all nodes */
	uint64_t last;      /* how many requests were added to this table */
};

static struct {
	struct tkw_timer *timer;
	uint32_t tables; /* a power of two */
	size_t buckets;  /* in each table, which has half as many nodes */
	struct table table[TABLES_MAX];
} requests;

static inline void ended(void *caller, int status, const void *response);

static void on_end(void *arg, int status, void *response)
{
	ended(arg, status, response);
}

static struct table *table_of(uint64_t id)
{
	return &requests.table[id & (requests.tables - 1)];
}

/* Returns the pointer that points to the node of an id, or to NULL. */
static struct node **find(const struct table *t, uint64_t id)
{
	struct node **at = &t->buckets[id / requests.tables & t->mask];

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

static void take_out(struct table *t, struct node **at)
{
	struct node *n = *at;

	*at = n->next;
	n->next = t->free;
	t->free = n;
}

/* Takes a request out, if it is there, and calls its function. */
static bool end_request(uint64_t id, int status, void *response)
{
	struct table *t = table_of(id);
	struct node was = { .fn = NULL };
	struct node **at;

	(void)pthread_mutex_lock(&t->lock);
	at = find(t, id);
	if (*at) {
		was = **at;
		take_out(t, at);
	}
	(void)pthread_mutex_unlock(&t->lock);
	if (was.fn == NULL)
		return false;
	if (status == 0)
		(void)tkw_timer_cancel(requests.timer, was.timeout);
	was.fn(was.arg, status, response);
	return true;
}

static void on_timeout(const struct tkw_firing *firing, void *ctx)
{
	(void)firing;
	(void)end_request((uintptr_t)ctx, -1, NULL);
}

/* Adds a request. The lock is held. */
static int add(struct table *t, void *caller, int64_t timeout_ns, uint64_t id)
{
	struct tkw_task task = { .fn = on_timeout,
				 .ctx = (void *)(uintptr_t)id };
	struct node *n = t->free;
	struct node **at;
	int err;

	if (n == NULL)
		return -1;
	err = tkw_timer_schedule(requests.timer, &task, timeout_ns,
				 &n->timeout);
	if (err != 0)
		return err;
	t->free = n->next;
	n->id = id;
	n->fn = on_end;
	n->arg = caller;
	at = &t->buckets[id / requests.tables & t->mask];
	n->next = *at;
	*at = n;
	return 0;
}

static inline bool op_add(void *caller, int64_t timeout_ns, request_id *id)
{
	static _Thread_local uint32_t turn;
	uint32_t number = turn++ & (requests.tables - 1);
	struct table *t = &requests.table[number];
	int err;

	(void)pthread_mutex_lock(&t->lock);
	*id = ++t->last * requests.tables + number;
	err = add(t, caller, timeout_ns, *id);
	(void)pthread_mutex_unlock(&t->lock);
	return err == 0;
}

static inline bool op_complete(request_id id, void *response)
{
	return end_request(id, 0, response);
}

static void table_open(struct table *t)
{
	size_t nodes = requests.buckets / 2;

	(void)pthread_mutex_init(&t->lock, NULL);
	t->mask = requests.buckets - 1;
	t->buckets = rival_pages_get(requests.buckets * sizeof(void *));
	t->nodes = rival_pages_get(nodes * sizeof(*t->nodes));
	t->free = NULL;
	for (size_t i = 0; i < nodes; i++) {
		t->nodes[i].next = t->free;
		t->free = &t->nodes[i];
	}
}

static void table_close(struct table *t)
{
	(void)pthread_mutex_destroy(&t->lock);
	rival_pages_put(t->buckets, requests.buckets * sizeof(void *));
	rival_pages_put(t->nodes, requests.buckets / 2 * sizeof(*t->nodes));
}

static void requests_open(const struct rival_load *l)
{
	struct tkw_timer_config cfg = { .size = sizeof(cfg),
					.tick_ns = l->tick_ns };
	/* With 16 tables, one may get somewhat more than its share. */
	size_t most = (size_t)l->window * l->threads;
	size_t share = most / requests.tables + most / 4 + 64;

	requests.buckets = 2;
	while (requests.buckets < 2 * share)
		requests.buckets *= 2;
	for (uint32_t i = 0; i < requests.tables; i++)
		table_open(&requests.table[i]);
	/* There is no other thread yet. */
	if (tkw_timer_create(&requests.timer, &cfg) != 0)
		rival_die("tkw_timer_create failed");
}

static void requests_close(void)
{
	(void)tkw_timer_destroy(requests.timer);
	for (uint32_t i = 0; i < requests.tables; i++)
		table_close(&requests.table[i]);
}

#include "request_loops.h"

static void run_one(const struct rival_load *l, struct rival_answer *a)
{
	requests.tables = 1;
	measure_requests(l, a);
}

static void run_sharded(const struct rival_load *l, struct rival_answer *a)
{
	requests.tables = TABLES_MAX;
	measure_requests(l, a);
}

const struct entrant entrant_mutex_hash = {
	.name = "mutex_hash",
	.run_requests = run_one,
};
const struct entrant entrant_sharded_hash = {
	.name = "sharded_hash",
	.run_requests = run_sharded,
};
