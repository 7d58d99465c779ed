/* SPDX-License-Identifier: MIT */
/* redis_link.c - a connection to the server, commands, replies and payloads. */
#include "redis_bench.h"

#include <string.h>

enum {
	POOL_BYTES = 65536,
	POOL_STEP = 7919, /* a prime, so that neighbours differ */
	REPLY_ALIGN = _Alignof(max_align_t)
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

/* --- memory for a reply -------------------------------------------------- */

#if HIREDIS_MAJOR < 1
typedef int reply_count;
#else
typedef size_t reply_count;
#endif

static void *get_memory(struct redis_link *k, size_t bytes)
{
	void *at = k->memory + k->used;

	bytes = (bytes + REPLY_ALIGN - 1) / REPLY_ALIGN * REPLY_ALIGN;
	if (bytes > REDIS_REPLY_MAX - k->used)
		rival_die("a reply is too long");
	k->used += bytes;
	return at;
}

/* Makes a part of a reply, and puts it into the list that it belongs to. */
static redisReply *make_part(const redisReadTask *task, int type)
{
	redisReply *r = get_memory(task->privdata, sizeof(*r));

	*r = (redisReply){ .type = type };
	if (task->parent) {
		redisReply *list = task->parent->obj;

		list->element[task->idx] = r;
	}
	return r;
}

static void *make_string(const redisReadTask *task, char *text, size_t len)
{
	redisReply *r = make_part(task, task->type);

	r->str = get_memory(task->privdata, len + 1);
	memcpy(r->str, text, len);
	r->str[len] = '\0';
	r->len = len;
	return r;
}

static void *make_list(const redisReadTask *task, reply_count count)
{
	redisReply *r = make_part(task, task->type);

	r->elements = (size_t)count;
	r->element = get_memory(task->privdata, r->elements * sizeof(void *));
	return r;
}

static void *make_integer(const redisReadTask *task, long long value)
{
	redisReply *r = make_part(task, task->type);

	r->integer = value;
	return r;
}

static void *make_nil(const redisReadTask *task)
{
	return make_part(task, REDIS_REPLY_NIL);
}

static void leave(void *reply)
{
	(void)reply;
}

static redisReplyObjectFunctions functions = {
	.createString = make_string,
	.createArray = make_list,
	.createInteger = make_integer,
	.createNil = make_nil,
	.freeObject = leave,
};

/* --- commands ------------------------------------------------------------ */

struct redis_link *redis_link_open(uint16_t port)
{
	struct redis_link *k = rival_pages_get(sizeof(*k));
	redisReader *reader;

	/* A payload is made for the first time before anything is timed. */
	(void)random_bytes(0);
	k->to = redisConnect("127.0.0.1", port);
	reader = k->to && k->to->err == 0 ? k->to->reader : NULL;
	if (reader) {
		reader->fn = &functions;
		reader->privdata = k;
		reader->maxbuf = 0; /* keep the buffer */
		return k;
	}
	rival_die("the server refuses a connection");
}

void redis_link_close(struct redis_link *k)
{
	redisFree(k->to);
	rival_pages_put(k, sizeof(*k));
}

char *redis_digits(char *end, uint64_t number)
{
	do {
		*--end = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	return end;
}

/* Adds the head of a word. Returns where its len bytes belong. */
static char *add_head(struct redis_link *k, size_t len)
{
	char digits[REDIS_NUMBER_MAX];
	char *end = digits + sizeof(digits);
	char *from = redis_digits(end, len);
	char *to = k->command + REDIS_HEAD_MAX + k->len;
	size_t head = (size_t)(end - from);

	if (k->len + head + len + 5 > REDIS_COMMAND_MAX)
		rival_die("a command is too long");
	*to++ = '$';
	memcpy(to, from, head);
	to += head;
	*to++ = '\r';
	*to++ = '\n';
	to[len] = '\r';
	to[len + 1] = '\n';
	k->len += head + len + 5;
	k->words++;
	return to;
}

void redis_add(struct redis_link *k, const void *at, size_t len)
{
	memcpy(add_head(k, len), at, len);
}

void redis_add_word(struct redis_link *k, const char *word)
{
	redis_add(k, word, strlen(word));
}

void redis_add_number(struct redis_link *k, uint64_t number)
{
	char digits[REDIS_NUMBER_MAX];
	char *end = digits + sizeof(digits);
	char *from = redis_digits(end, number);

	redis_add(k, from, (size_t)(end - from));
}

void redis_add_payload(struct redis_link *k, uint64_t number)
{
	char *to = add_head(k, QUEUE_PAYLOAD);

	redis_payload_write((uint8_t *)to, number);
}

void redis_end(struct redis_link *k)
{
	char *end = k->command + REDIS_HEAD_MAX;
	char *begin;

	*--end = '\n';
	*--end = '\r';
	begin = redis_digits(end, k->words);
	*--begin = '*';
	end = k->command + REDIS_HEAD_MAX + k->len;
	if (redisAppendFormattedCommand(k->to, begin, (size_t)(end - begin)) !=
	    REDIS_OK)
		rival_die("out of memory");
	k->words = 0;
	k->len = 0;
}

const redisReply *redis_reply_or_error(struct redis_link *k)
{
	redisReply *r = NULL;

	k->used = 0;
	if (redisGetReply(k->to, (void **)&r) != REDIS_OK)
		rival_die("the server has closed the connection");
	return r;
}

const redisReply *redis_reply(struct redis_link *k)
{
	const redisReply *r = redis_reply_or_error(k);

	if (r->type == REDIS_REPLY_ERROR)
		rival_die(r->str);
	return r;
}

int64_t redis_reply_integer(struct redis_link *k)
{
	const redisReply *r = redis_reply(k);

	if (r->type != REDIS_REPLY_INTEGER)
		rival_die("the server's reply is no integer");
	return r->integer;
}

bool redis_reply_ok(struct redis_link *k)
{
	const redisReply *r = redis_reply(k);

	return r->type == REDIS_REPLY_STATUS && strcmp(r->str, "OK") == 0;
}
