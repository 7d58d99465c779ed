/* SPDX-License-Identifier: MIT */
/*
 * queue_ram.c - our queue without its store: the heart behind a mutex. It
 * shows what the disk costs. It also tells how long the heart's records are.
 */
#include "queue_bench.h"

#include <pthread.h>
#include <stdlib.h>

#include "queue/heart.h"

static struct {
	struct tkw__queue *q;
	pthread_mutex_t lock;
	pthread_cond_t wake; /* on the wall clock, as the due times are */
	uint32_t waiting;
} ram;

/* What a caller needs for itself. */
struct caller {
	struct tkw__queue_put puts[QUEUE_MOST];
	uint8_t payloads[QUEUE_MOST][QUEUE_PAYLOAD];
	uint64_t ids[QUEUE_MOST];
	struct tkw__queue_taken taken[QUEUE_MOST];
	struct tkw__queue_claim claims[QUEUE_MOST];
	enum tkw__queue_answer answers[QUEUE_MOST];
};

static void *get_memory(size_t bytes, void *ctx)
{
	(void)ctx;
	return malloc(bytes);
}

static void put_memory(void *mem, size_t bytes, void *ctx)
{
	(void)bytes;
	(void)ctx;
	free(mem);
}

static struct tkw__queue *make_queue(void)
{
	struct tkw__queue_config cfg = {
		.hooks = { get_memory, put_memory, NULL },
		.now_us = (uint64_t)queue_wall_us(),
		.seed = { 1, 2 },
	};
	struct tkw__queue *q;

	if (tkw__queue_create(&q, &cfg) != 0)
		rival_die("out of memory");
	return q;
}

static struct tkw__queue_call call_now(struct tkw__queue_log *log)
{
	return (struct tkw__queue_call){ .now_us = (uint64_t)queue_wall_us(),
					 .log = log };
}

static void open_queue(const char *dir, bool sync)
{
	(void)dir;
	(void)sync;
	ram.q = make_queue();
	ram.waiting = 0;
	(void)pthread_mutex_init(&ram.lock, NULL);
	(void)pthread_cond_init(&ram.wake, NULL);
}

static void close_queue(void)
{
	tkw__queue_destroy(ram.q);
	(void)pthread_cond_destroy(&ram.wake);
	(void)pthread_mutex_destroy(&ram.lock);
}

static void *caller_open(void)
{
	struct caller *c = calloc(1, sizeof(*c));

	if (c == NULL)
		rival_die("out of memory");
	return c;
}

static void fill_put(struct caller *c, size_t i, const struct queue_put *put)
{
	queue_payload_write(c->payloads[i], put->number);
	c->puts[i] = (struct tkw__queue_put){
		.when = { .absolute = true, .ms = put->due_ms },
		.payload = { c->payloads[i], QUEUE_PAYLOAD },
	};
}

static bool put(void *caller, const struct queue_put *puts, size_t n)
{
	struct caller *c = caller;
	struct tkw__queue_call call;
	bool wake;
	int err;

	for (size_t i = 0; i < n; i++)
		fill_put(c, i, &puts[i]);
	(void)pthread_mutex_lock(&ram.lock);
	call = call_now(NULL);
	err = tkw__queue_put(ram.q, &call, c->puts, n, c->ids);
	tkw__queue_commit(ram.q);
	wake = ram.waiting > 0;
	(void)pthread_mutex_unlock(&ram.lock);
	if (wake)
		(void)pthread_cond_signal(&ram.wake);
	return err == 0;
}

/* Called with the lock. Sleeps until something can be due, until a put, or
 * until the end. */
static void sleep_until(int64_t end_us)
{
	uint64_t next_ms = tkw__queue_next_ms(ram.q, (uint64_t)queue_wall_us());
	int64_t until_us = end_us;
	struct timespec ts;

	if (next_ms < (uint64_t)end_us / 1000)
		until_us = (int64_t)next_ms * 1000;
	ts = rival_timespec(until_us * 1000);
	ram.waiting++;
	(void)pthread_cond_timedwait(&ram.wake, &ram.lock, &ts);
	ram.waiting--;
}

/* Called with the lock. */
static int take_ready(struct caller *c, size_t max)
{
	struct tkw__queue_call call = call_now(NULL);
	int got = tkw__queue_take(ram.q, &call, max, QUEUE_LEASE_MS, c->taken);

	while (got == 0 && call.behind) {
		(void)tkw__queue_advance(ram.q, &call, 256, TKW__QUEUE_MASTER);
		got = tkw__queue_take(ram.q, &call, max, QUEUE_LEASE_MS,
				      c->taken);
	}
	tkw__queue_commit(ram.q);
	return got;
}

static size_t take(void *caller, size_t max, int64_t wait_ms,
		   struct queue_taken *out)
{
	int64_t end_us = queue_wall_us() + wait_ms * 1000;
	struct caller *c = caller;
	int got;

	(void)pthread_mutex_lock(&ram.lock);
	while ((got = take_ready(c, max)) == 0 && queue_wall_us() < end_us)
		sleep_until(end_us);
	for (int i = 0; i < got; i++)
		out[i] = (struct queue_taken){
			.id = c->taken[i].id,
			.token = c->taken[i].token,
			.number = queue_payload_read(c->taken[i].payload.at,
						     c->taken[i].payload.len),
		};
	(void)pthread_mutex_unlock(&ram.lock);
	return got > 0 ? (size_t)got : 0;
}

static bool ack(void *caller, const struct queue_taken *taken, size_t n)
{
	struct caller *c = caller;
	struct tkw__queue_claims claims = { c->claims, n, c->answers };
	struct tkw__queue_call call;
	bool good;

	for (size_t i = 0; i < n; i++)
		c->claims[i] = (struct tkw__queue_claim){ taken[i].id,
							  taken[i].token };
	(void)pthread_mutex_lock(&ram.lock);
	call = call_now(NULL);
	good = tkw__queue_ack(ram.q, &call, &claims) == 0;
	tkw__queue_commit(ram.q);
	(void)pthread_mutex_unlock(&ram.lock);
	for (size_t i = 0; good && i < n; i++)
		good = c->answers[i] == TKW__QUEUE_DONE;
	return good;
}

const struct queue_entrant queue_ram = {
	.name = "tickwheel_ram",
	.open = open_queue,
	.close = close_queue,
	.caller_open = caller_open,
	.caller_close = free,
	.put = put,
	.take = take,
	.ack = ack,
	.resident = rival_resident,
};

/* --- the length of records ----------------------------------------------- */

/* Returns how many bytes the log has got since the last call. */
static size_t more_bytes(const struct tkw__queue_log *log, size_t *before)
{
	size_t more = log->len - *before;

	*before = log->len;
	return more;
}

static void measure_records(size_t bytes[QUEUE_RECORDS])
{
	static struct caller c;
	const struct queue_put item = { 0, 0 };
	struct tkw__queue_claims claims = { c.claims, 1, c.answers };
	struct tkw__queue_log log = { 0 };
	struct tkw__queue *q = make_queue();
	struct tkw__queue_call call = call_now(&log);
	size_t before = 0;

	fill_put(&c, 0, &item);
	if (tkw__queue_put(q, &call, c.puts, 1, c.ids) != 0)
		rival_die("the heart refuses a put");
	bytes[QUEUE_RECORD_PUT] = more_bytes(&log, &before);
	if (tkw__queue_take(q, &call, 1, QUEUE_LEASE_MS, c.taken) != 1)
		rival_die("the heart refuses a take");
	bytes[QUEUE_RECORD_TAKE] = more_bytes(&log, &before);
	c.claims[0] =
		(struct tkw__queue_claim){ c.taken[0].id, c.taken[0].token };
	if (tkw__queue_ack(q, &call, &claims) != 0)
		rival_die("the heart refuses an ack");
	bytes[QUEUE_RECORD_ACK] = more_bytes(&log, &before);
	tkw__queue_log_fini(q, &log);
	tkw__queue_destroy(q);
}

size_t queue_record_bytes(enum queue_record record)
{
	static size_t bytes[QUEUE_RECORDS];

	if (bytes[QUEUE_RECORD_PUT] == 0)
		measure_records(bytes);
	return bytes[record];
}
