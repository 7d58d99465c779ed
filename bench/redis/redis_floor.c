/* SPDX-License-Identifier: MIT */
/*
 * redis_floor.c - the floor `set`: plain values of the server. A put is a SET,
 * a take is a GET of the next key, and an ack is a DEL. Several items in one
 * call are MSET, MGET and DEL. Nothing is due and nothing is leased.
 */
#include "redis_bench.h"

#include <string.h>

enum {
	KEY_MAX = 40
};

/* The next item to take. */
static uint64_t next;

static void prepare(struct redis_link *k)
{
	(void)k;
	next = 0;
}

static void add_key(struct redis_link *k, const char *queue, uint64_t number)
{
	char key[KEY_MAX];
	char *end = key + sizeof(key);
	char *at = redis_digits(end, number);
	size_t len = strnlen(queue, KEY_MAX - REDIS_NUMBER_MAX);

	*--at = ':';
	at -= len;
	memcpy(at, queue, len);
	redis_add(k, at, (size_t)(end - at));
}

static void put(struct redis_link *k, const char *queue,
		const struct queue_put *put)
{
	redis_add_word(k, "SET");
	add_key(k, queue, put->number);
	redis_add_payload(k, put->number);
	redis_end(k);
}

static bool put_all(struct redis_link *k, const char *queue,
		    const struct queue_put *puts, size_t n)
{
	redis_add_word(k, "MSET");
	for (size_t i = 0; i < n; i++) {
		add_key(k, queue, puts[i].number);
		redis_add_payload(k, puts[i].number);
	}
	redis_end(k);
	return redis_reply_ok(k);
}

static void note(const redisReply *value, struct queue_taken *out)
{
	*out = (struct queue_taken){ .number = redis_payload_read(value) };
}

static void take(struct redis_link *k, const char *queue, size_t max,
		 int64_t wait_ms)
{
	(void)wait_ms;
	redis_add_word(k, max == 1 ? "GET" : "MGET");
	for (size_t i = 0; i < max; i++)
		add_key(k, queue, next + i);
	redis_end(k);
	next += max;
}

static size_t take_reply(struct redis_link *k, size_t max,
			 struct queue_taken *out)
{
	const redisReply *r = redis_reply(k);

	if (r->type == REDIS_REPLY_STRING)
		note(r, &out[0]);
	for (size_t i = 0; i < r->elements && i < max; i++)
		note(r->element[i], &out[i]);
	return max;
}

static void ack(struct redis_link *k, const char *queue,
		const struct queue_taken *taken, size_t n)
{
	redis_add_word(k, "DEL");
	for (size_t i = 0; i < n; i++)
		add_key(k, queue, taken[i].number);
	redis_end(k);
}

static bool ack_reply(struct redis_link *k, size_t n)
{
	return redis_reply_integer(k) == (int64_t)n;
}

static uint64_t count(struct redis_link *k)
{
	redis_add_word(k, "DBSIZE");
	redis_end(k);
	return (uint64_t)redis_reply_integer(k);
}

static const struct redis_commands commands = {
	.prepare = prepare,
	.put = put,
	.put_reply = redis_reply_ok,
	.put_all = put_all,
	.take = take,
	.take_reply = take_reply,
	.ack = ack,
	.ack_reply = ack_reply,
};

const struct redis_entrant redis_set = {
	.name = "set",
	.no_due = true,
	.worker = &redis_calls,
	.commands = &commands,
	.count = count,
};
