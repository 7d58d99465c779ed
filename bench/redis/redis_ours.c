/* SPDX-License-Identifier: MIT */
/* redis_ours.c - tickwheel's own entrant: the module in the server. */
#include "redis_bench.h"

enum {
	/* The parts of a taken item. */
	ITEM_ID = 0,
	ITEM_PAYLOAD = 1,
	ITEM_TOKEN = 2,
	ITEM_PARTS = 7
};

static const char *missing(void)
{
	return redis_module() ? NULL : "the module was not built";
}

static void add_item(struct redis_link *k, const struct queue_put *put)
{
	if (put->due_ms > 0)
		redis_add_word(k, "AT");
	redis_add_number(k, (uint64_t)put->due_ms);
	redis_add_payload(k, put->number);
}

static void put(struct redis_link *k, const char *queue,
		const struct queue_put *put)
{
	redis_add_word(k, "TKW.PUT");
	redis_add_word(k, queue);
	add_item(k, put);
	redis_end(k);
}

static bool put_reply(struct redis_link *k)
{
	return redis_reply_integer(k) > 0;
}

static bool put_all(struct redis_link *k, const char *queue,
		    const struct queue_put *puts, size_t n)
{
	const redisReply *r;
	bool good;

	redis_add_word(k, "TKW.MPUT");
	redis_add_word(k, queue);
	for (size_t i = 0; i < n; i++)
		add_item(k, &puts[i]);
	redis_end(k);
	r = redis_reply(k);
	good = r->type == REDIS_REPLY_ARRAY && r->elements == n;
	return good;
}

static void read_item(const redisReply *r, struct queue_taken *out)
{
	if (r->type != REDIS_REPLY_ARRAY || r->elements != ITEM_PARTS ||
	    r->element[ITEM_ID]->type != REDIS_REPLY_INTEGER ||
	    r->element[ITEM_TOKEN]->type != REDIS_REPLY_INTEGER)
		rival_die("a taken item has not the right parts");
	out->id = (uint64_t)r->element[ITEM_ID]->integer;
	out->token = (uint64_t)r->element[ITEM_TOKEN]->integer;
	out->number = redis_payload_read(r->element[ITEM_PAYLOAD]);
}

static void take(struct redis_link *k, const char *queue, size_t max,
		 int64_t wait_ms)
{
	redis_add_word(k, "TKW.TAKE");
	redis_add_word(k, queue);
	redis_add_word(k, "COUNT");
	redis_add_number(k, max);
	redis_add_word(k, "LEASE");
	redis_add_number(k, QUEUE_LEASE_MS);
	if (wait_ms > 0) {
		redis_add_word(k, "BLOCK");
		redis_add_number(k, (uint64_t)wait_ms);
	}
	redis_end(k);
}

static size_t take_reply(struct redis_link *k, size_t max,
			 struct queue_taken *out)
{
	const redisReply *r = redis_reply(k);
	size_t n = 0;

	if (r->type == REDIS_REPLY_ARRAY && r->elements <= max)
		n = r->elements;
	else if (r->type != REDIS_REPLY_NIL)
		rival_die("the reply to a take is no list");
	for (size_t i = 0; i < n; i++)
		read_item(r->element[i], &out[i]);
	return n;
}

static void ack(struct redis_link *k, const char *queue,
		const struct queue_taken *taken, size_t n)
{
	redis_add_word(k, "TKW.ACK");
	redis_add_word(k, queue);
	for (size_t i = 0; i < n; i++) {
		redis_add_number(k, taken[i].id);
		redis_add_number(k, taken[i].token);
	}
	redis_end(k);
}

static bool ack_reply(struct redis_link *k, size_t n)
{
	const redisReply *r = redis_reply(k);
	bool good = r->type == REDIS_REPLY_ARRAY && r->elements == n;

	for (size_t i = 0; good && i < n; i++)
		good = r->element[i]->integer == 1;
	return good;
}

/* The reply is a list of names and numbers. */
static uint64_t count(struct redis_link *k)
{
	uint64_t sum = 0;
	const redisReply *r;

	redis_add_word(k, "TKW.COUNT");
	redis_add_word(k, "q");
	redis_end(k);
	r = redis_reply(k);
	for (size_t i = 1; i < r->elements; i += 2)
		sum += (uint64_t)r->element[i]->integer;
	return sum;
}

static const struct redis_commands commands = {
	.put = put,
	.put_reply = put_reply,
	.put_all = put_all,
	.take = take,
	.take_reply = take_reply,
	.ack = ack,
	.ack_reply = ack_reply,
};

const struct redis_entrant redis_ours = {
	.name = "tickwheel",
	.missing = missing,
	.module = true,
	.rate_most = UINT32_MAX,
	.worker = &redis_calls,
	.commands = &commands,
	.count = count,
};
