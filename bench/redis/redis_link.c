/* SPDX-License-Identifier: MIT */
/* redis_link.c - a connection to the server, commands, replies and payloads. */
#include "redis_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	POOL_BYTES = 65536,
	POOL_STEP = 7919 /* a prime, so that neighbours differ */
};

/* --- payloads ------------------------------------------------------------ */

/* Returns random bytes, always the same for a number. */
static const uint8_t *random_bytes(uint64_t number)
{
	static uint64_t pool[POOL_BYTES / sizeof(uint64_t)];
	static bool filled;
	uint64_t rng = 1;

	for (size_t i = 0; !filled && i < sizeof(pool) / sizeof(pool[0]); i++)
		pool[i] = rival_random(&rng);
	filled = true;
	return (const uint8_t *)pool +
	       number * POOL_STEP % (sizeof(pool) - QUEUE_PAYLOAD);
}

void redis_payload_write(uint8_t payload[QUEUE_PAYLOAD], uint64_t number)
{
	memcpy(payload, &number, sizeof(number));
	memcpy(payload + sizeof(number), random_bytes(number),
	       QUEUE_PAYLOAD - sizeof(number));
}

uint64_t redis_payload_read(const redisReply *r)
{
	uint64_t number;

	if (r->type != REDIS_REPLY_STRING || r->len != QUEUE_PAYLOAD)
		rival_die("a payload has another length");
	memcpy(&number, r->str, sizeof(number));
	if (memcmp(r->str + sizeof(number), random_bytes(number),
		   QUEUE_PAYLOAD - sizeof(number)) != 0)
		rival_die("a payload is not what was put");
	return number;
}

/* --- commands ------------------------------------------------------------ */

struct redis_link *redis_link_open(uint16_t port)
{
	struct redis_link *k = rival_pages_get(sizeof(*k));

	/* A payload is made for the first time before anything is timed. */
	(void)random_bytes(0);
	k->to = redisConnect("127.0.0.1", port);
	if (k->to == NULL || k->to->err)
		rival_die("the server refuses a connection");
	return k;
}

void redis_link_close(struct redis_link *k)
{
	redisFree(k->to);
	rival_pages_put(k, sizeof(*k));
}

void redis_add(struct redis_link *k, const void *at, size_t len)
{
	if (k->argc == REDIS_ARGS_MOST)
		rival_die("a command is too long");
	k->argv[k->argc] = at;
	k->lens[k->argc] = len;
	k->argc++;
}

void redis_add_word(struct redis_link *k, const char *word)
{
	redis_add(k, word, strlen(word));
}

char *redis_digits(char *end, uint64_t number)
{
	do {
		*--end = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	return end;
}

void redis_add_number(struct redis_link *k, uint64_t number)
{
	char *end = k->numbers[k->argc % REDIS_ARGS_MOST] + REDIS_NUMBER_MAX;
	char *at = redis_digits(end, number);

	redis_add(k, at, (size_t)(end - at));
}

void redis_add_payload(struct redis_link *k, uint64_t number)
{
	uint8_t *payload;

	if (k->payload_count == QUEUE_MOST)
		rival_die("a command has too many items");
	payload = k->payloads[k->payload_count++];
	redis_payload_write(payload, number);
	redis_add(k, payload, QUEUE_PAYLOAD);
}

void redis_end(struct redis_link *k)
{
	if (redisAppendCommandArgv(k->to, k->argc, k->argv, k->lens) !=
	    REDIS_OK)
		rival_die("out of memory");
	k->argc = 0;
	k->payload_count = 0;
}

redisReply *redis_reply(struct redis_link *k)
{
	redisReply *r = NULL;

	if (redisGetReply(k->to, (void **)&r) != REDIS_OK)
		rival_die("the server has closed the connection");
	if (r->type == REDIS_REPLY_ERROR)
		rival_die(r->str);
	return r;
}

int64_t redis_reply_integer(struct redis_link *k)
{
	redisReply *r = redis_reply(k);
	int64_t number = r->integer;

	if (r->type != REDIS_REPLY_INTEGER)
		rival_die("the server's reply is no integer");
	freeReplyObject(r);
	return number;
}

bool redis_reply_ok(struct redis_link *k)
{
	redisReply *r = redis_reply(k);
	bool ok = r->type == REDIS_REPLY_STATUS && strcmp(r->str, "OK") == 0;

	freeReplyObject(r);
	return ok;
}
