/* SPDX-License-Identifier: MIT */
/* queue_ours.c - our queue, through the public header. */
#include "queue_bench.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "tickwheel/queue.h"

static struct {
	struct tkw_queues *file;
	struct tkw_queue *q;
} ours;

/* What a caller needs for itself. */
struct caller {
	struct tkw_put puts[QUEUE_MOST];
	uint8_t payloads[QUEUE_MOST][QUEUE_PAYLOAD];
	struct tkw_claim claims[QUEUE_MOST];
	/* Calls in flight. */
	_Atomic uint32_t left;
	_Atomic bool failed;
	sem_t all_ended;
};

static void open_file(const char *dir, bool sync)
{
	char path[QUEUE_DIR_MAX + 16];
	char why[200] = "the file cannot be opened";
	struct tkw_queues_config cfg = {
		.size = sizeof(cfg),
		.durability = sync ? TKW_QUEUE_TO_DISK : TKW_QUEUE_TO_SYSTEM,
		.no_socket = 1,
		.error = why,
		.error_size = sizeof(why),
	};

	(void)snprintf(path, sizeof(path), "%s/queues", dir);
	if (tkw_queues_open(&ours.file, path, &cfg) != 0)
		rival_die(why);
	if (tkw_queue_open(&ours.q, ours.file, "bench") != 0)
		rival_die("tkw_queue_open failed");
}

static void close_file(void)
{
	if (tkw_queues_close(ours.file) != 0)
		rival_die("tkw_queues_close failed");
}

static void *caller_open(void)
{
	struct caller *c = calloc(1, sizeof(*c));

	if (c == NULL || sem_init(&c->all_ended, 0, 0) != 0)
		rival_die("out of memory");
	return c;
}

static void caller_close(void *caller)
{
	struct caller *c = caller;

	(void)sem_destroy(&c->all_ended);
	free(c);
}

static void fill_puts(struct caller *c, const struct queue_put *puts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		queue_payload_write(c->payloads[i], puts[i].number);
		c->puts[i] = (struct tkw_put){
			.payload = c->payloads[i],
			.payload_len = QUEUE_PAYLOAD,
			.due_ms = puts[i].due_ms,
		};
	}
}

static bool put(void *caller, const struct queue_put *puts, size_t n)
{
	struct caller *c = caller;

	fill_puts(c, puts, n);
	return tkw_queue_put(ours.q, c->puts, n, NULL) == 0;
}

static void end_one(struct caller *c, uint32_t n)
{
	/* The semaphore orders what the caller reads. */
	if (atomic_fetch_sub_explicit(&c->left, n, memory_order_acq_rel) == n)
		(void)sem_post(&c->all_ended);
}

static void on_put(struct tkw_queue *q, const struct tkw_queue_end *end,
		   void *ctx)
{
	struct caller *c = ctx;

	(void)q;
	if (end->result != 0)
		atomic_store_explicit(&c->failed, true, memory_order_relaxed);
	end_one(c, 1);
}

static bool put_flight(void *caller, const struct queue_put *puts, size_t n)
{
	struct caller *c = caller;

	fill_puts(c, puts, n);
	atomic_store_explicit(&c->left, (uint32_t)n, memory_order_relaxed);
	for (size_t i = 0; i < n; i++) {
		if (tkw_queue_put_async(ours.q, &c->puts[i], 1, on_put, c) !=
		    0) {
			atomic_store_explicit(&c->failed, true,
					      memory_order_relaxed);
			end_one(c, 1);
		}
	}
	while (sem_wait(&c->all_ended) != 0 && errno == EINTR)
		;
	return !atomic_load_explicit(&c->failed, memory_order_relaxed);
}

static size_t take(void *caller, size_t max, int64_t wait_ms,
		   struct queue_taken *out)
{
	const struct tkw_take how = {
		.max_items = (uint32_t)max,
		.lease_ms = QUEUE_LEASE_MS,
		.wait_ms = wait_ms,
	};
	struct tkw_items *items;
	int n = tkw_queue_take(ours.q, &how, &items);

	(void)caller;
	if (n <= 0)
		return 0;
	for (int i = 0; i < n; i++)
		out[i] = (struct queue_taken){
			.id = items->item[i].claim.id.bits,
			.token = items->item[i].claim.token,
			.number =
				queue_payload_read(items->item[i].payload,
						   items->item[i].payload_len),
		};
	tkw_items_free(items);
	return (size_t)n;
}

static bool ack(void *caller, const struct queue_taken *taken, size_t n)
{
	struct caller *c = caller;

	for (size_t i = 0; i < n; i++)
		c->claims[i] = (struct tkw_claim){ .id = { taken[i].id },
						   .token = taken[i].token };
	return tkw_queue_ack(ours.q, c->claims, n, NULL) == (int)n;
}

const struct queue_entrant queue_ours = {
	.name = "tickwheel",
	.keeps = true,
	.open = open_file,
	.close = close_file,
	.caller_open = caller_open,
	.caller_close = caller_close,
	.put = put,
	.put_flight = put_flight,
	.take = take,
	.ack = ack,
	.written = queue_written,
	.resident = rival_resident,
};
