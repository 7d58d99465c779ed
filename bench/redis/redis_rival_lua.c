/* SPDX-License-Identifier: MIT */
/*
 * redis_rival_lua.c - a delay queue of a sorted set and a hash, in Lua scripts:
 * what people write on a server without modules.
 *
 *   QUEUE:due      sorted set of ids, by the time at which they are due
 *   QUEUE:body     hash: id -> payload
 *   QUEUE:leased   sorted set of taken ids, by the end of the lease
 *
 * The client makes the ids and knows the time. Scripts are loaded once and
 * called by their hash. For one item there are scripts without tables, which
 * are faster. For several items, `lua` calls each command once with all of
 * them; `lua_loop` calls the commands for one item after the other, as many
 * people write it, and is the same otherwise. A consumer asks again and again,
 * without a pause. The script that brings back items whose lease is over would
 * run beside this one, and is left out, as are tokens, attempts and a
 * dead-letter list.
 */
#include "redis_bench.h"

#include <stdio.h>
#include <string.h>

enum script {
	PUT,
	PUT_ALL,
	TAKE,
	TAKE_ALL,
	ACK,
	ACK_ALL,
	SCRIPTS
};

static const char *const texts[SCRIPTS] = {
	/* KEYS: due, body. ARGV: id, due time, payload. */
	[PUT] = "redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])\n"
		"return redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])\n",
	/* The same, repeated. */
	[PUT_ALL] = "local dues, bodies = {}, {}\n"
		    "for i = 1, #ARGV, 3 do\n"
		    "	dues[#dues + 1] = ARGV[i + 1]\n"
		    "	dues[#dues + 1] = ARGV[i]\n"
		    "	bodies[#bodies + 1] = ARGV[i]\n"
		    "	bodies[#bodies + 1] = ARGV[i + 2]\n"
		    "end\n"
		    "redis.call('HSET', KEYS[2], unpack(bodies))\n"
		    "return redis.call('ZADD', KEYS[1], unpack(dues))\n",
	/* KEYS: due, body, leased. ARGV: now, end of the lease. */
	[TAKE] = "local id = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf',\n"
		 "	ARGV[1], 'LIMIT', 0, 1)[1]\n"
		 "if not id then return {{}, {}} end\n"
		 "redis.call('ZREM', KEYS[1], id)\n"
		 "redis.call('ZADD', KEYS[3], ARGV[2], id)\n"
		 "return {{id}, {redis.call('HGET', KEYS[2], id)}}\n",
	/* The same. ARGV: now, end of the lease, how many. */
	[TAKE_ALL] = "local ids = redis.call('ZRANGEBYSCORE', KEYS[1],\n"
		     "	'-inf', ARGV[1], 'LIMIT', 0, ARGV[3])\n"
		     "if #ids == 0 then return {{}, {}} end\n"
		     "local leases = {}\n"
		     "for i, id in ipairs(ids) do\n"
		     "	leases[2 * i - 1] = ARGV[2]\n"
		     "	leases[2 * i] = id\n"
		     "end\n"
		     "redis.call('ZREM', KEYS[1], unpack(ids))\n"
		     "redis.call('ZADD', KEYS[3], unpack(leases))\n"
		     "return {ids, redis.call('HMGET', KEYS[2],\n"
		     "	unpack(ids))}\n",
	/* KEYS: body, leased. ARGV: ids. */
	[ACK] = "if redis.call('ZREM', KEYS[2], ARGV[1]) == 0 then\n"
		"	return 0\n"
		"end\n"
		"return redis.call('HDEL', KEYS[1], ARGV[1])\n",
	[ACK_ALL] = "local n = redis.call('ZREM', KEYS[2], unpack(ARGV))\n"
		    "redis.call('HDEL', KEYS[1], unpack(ARGV))\n"
		    "return n\n",
};

/* The scripts of lua_loop. The others are the same. */
static const char *const loop_texts[SCRIPTS] = {
	[PUT_ALL] = "local n = 0\n"
		    "for i = 1, #ARGV, 3 do\n"
		    "	redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 2])\n"
		    "	n = n + redis.call('ZADD', KEYS[1], ARGV[i + 1],\n"
		    "		ARGV[i])\n"
		    "end\n"
		    "return n\n",
	[TAKE_ALL] = "local ids = redis.call('ZRANGEBYSCORE', KEYS[1],\n"
		     "	'-inf', ARGV[1], 'LIMIT', 0, ARGV[3])\n"
		     "local bodies = {}\n"
		     "for i, id in ipairs(ids) do\n"
		     "	redis.call('ZREM', KEYS[1], id)\n"
		     "	redis.call('ZADD', KEYS[3], ARGV[2], id)\n"
		     "	bodies[i] = redis.call('HGET', KEYS[2], id)\n"
		     "end\n"
		     "return {ids, bodies}\n",
	[ACK_ALL] = "local n = 0\n"
		    "for _, id in ipairs(ARGV) do\n"
		    "	n = n + redis.call('ZREM', KEYS[2], id)\n"
		    "	redis.call('HDEL', KEYS[1], id)\n"
		    "end\n"
		    "return n\n",
};

enum {
	HASH_MAX = 41,
	KEY_MAX = 24
};

static char hashes[SCRIPTS][HASH_MAX];

static void load_scripts(struct redis_link *k, bool loops)
{
	for (int i = 0; i < SCRIPTS; i++) {
		bool loop = loops && loop_texts[i];
		const redisReply *r;

		redis_add_word(k, "SCRIPT");
		redis_add_word(k, "LOAD");
		redis_add_word(k, loop ? loop_texts[i] : texts[i]);
		redis_end(k);
		r = redis_reply(k);
		(void)snprintf(hashes[i], HASH_MAX, "%s", r->str);
	}
}

static void prepare(struct redis_link *k)
{
	load_scripts(k, false);
}

static void prepare_loops(struct redis_link *k)
{
	load_scripts(k, true);
}

/* The keys of a queue. */
struct keys {
	char due[KEY_MAX];
	char body[KEY_MAX];
	char leased[KEY_MAX];
};

static void make_key(char key[KEY_MAX], const char *queue, const char *end)
{
	size_t len = strnlen(queue, KEY_MAX / 2);

	memcpy(key, queue, len);
	memcpy(key + len, end, strlen(end) + 1);
}

/* Returns them until the next call. */
static const struct keys *keys_of(const char *queue)
{
	static struct keys keys;

	make_key(keys.due, queue, ":due");
	make_key(keys.body, queue, ":body");
	make_key(keys.leased, queue, ":leased");
	return &keys;
}

static void begin(struct redis_link *k, enum script script, uint64_t keys)
{
	redis_add_word(k, "EVALSHA");
	redis_add(k, hashes[script], HASH_MAX - 1);
	redis_add_number(k, keys);
}

static void add_item(struct redis_link *k, const struct queue_put *put)
{
	redis_add_number(k, put->number);
	redis_add_number(k, (uint64_t)put->due_ms);
	redis_add_payload(k, put->number);
}

static void put(struct redis_link *k, const char *queue,
		const struct queue_put *put)
{
	const struct keys *keys = keys_of(queue);

	begin(k, PUT, 2);
	redis_add_word(k, keys->due);
	redis_add_word(k, keys->body);
	add_item(k, put);
	redis_end(k);
}

static bool put_reply(struct redis_link *k)
{
	return redis_reply_integer(k) == 1;
}

static bool put_all(struct redis_link *k, const char *queue,
		    const struct queue_put *puts, size_t n)
{
	const struct keys *keys = keys_of(queue);

	begin(k, PUT_ALL, 2);
	redis_add_word(k, keys->due);
	redis_add_word(k, keys->body);
	for (size_t i = 0; i < n; i++)
		add_item(k, &puts[i]);
	redis_end(k);
	return redis_reply_integer(k) == (int64_t)n;
}

static void take(struct redis_link *k, const char *queue, size_t max,
		 int64_t wait_ms)
{
	uint64_t now_ms = (uint64_t)queue_wall_us() / 1000;
	const struct keys *keys = keys_of(queue);

	(void)wait_ms; /* a script cannot wait */
	begin(k, max == 1 ? TAKE : TAKE_ALL, 3);
	redis_add_word(k, keys->due);
	redis_add_word(k, keys->body);
	redis_add_word(k, keys->leased);
	redis_add_number(k, now_ms);
	redis_add_number(k, now_ms + QUEUE_LEASE_MS);
	if (max > 1)
		redis_add_number(k, max);
	redis_end(k);
}

/* The reply has a list of ids and a list of payloads. The id is the number, as
 * text. */
static size_t take_reply(struct redis_link *k, size_t max,
			 struct queue_taken *out)
{
	const redisReply *r = redis_reply(k);
	const redisReply *bodies;
	size_t n;

	if (r->type != REDIS_REPLY_ARRAY || r->elements != 2)
		rival_die("the reply to a take has not two lists");
	bodies = r->element[1];
	n = bodies->elements;
	if (n != r->element[0]->elements || n > max)
		rival_die("the reply to a take has not the right length");
	for (size_t i = 0; i < n; i++)
		out[i] = (struct queue_taken){ .number = redis_payload_read(
						       bodies->element[i]) };
	return n;
}

static void ack(struct redis_link *k, const char *queue,
		const struct queue_taken *taken, size_t n)
{
	const struct keys *keys = keys_of(queue);

	begin(k, n == 1 ? ACK : ACK_ALL, 2);
	redis_add_word(k, keys->body);
	redis_add_word(k, keys->leased);
	for (size_t i = 0; i < n; i++)
		redis_add_number(k, taken[i].number);
	redis_end(k);
}

static bool ack_reply(struct redis_link *k, size_t n)
{
	return redis_reply_integer(k) == (int64_t)n;
}

static uint64_t count(struct redis_link *k)
{
	redis_add_word(k, "ZCARD");
	redis_add_word(k, keys_of("q")->due);
	redis_end(k);
	return (uint64_t)redis_reply_integer(k);
}

static const struct redis_commands commands = {
	.prepare = prepare,
	.put = put,
	.put_reply = put_reply,
	.put_all = put_all,
	.take = take,
	.take_reply = take_reply,
	.ack = ack,
	.ack_reply = ack_reply,
};

const struct redis_entrant redis_lua = {
	.name = "lua",
	.rate_most = UINT32_MAX,
	.worker = &redis_calls,
	.commands = &commands,
	.count = count,
};

static const struct redis_commands loop_commands = {
	.prepare = prepare_loops,
	.put = put,
	.put_reply = put_reply,
	.put_all = put_all,
	.take = take,
	.take_reply = take_reply,
	.ack = ack,
	.ack_reply = ack_reply,
};

const struct redis_entrant redis_lua_loop = {
	.name = "lua_loop",
	.only_many = true,
	.worker = &redis_calls,
	.commands = &loop_commands,
	.count = count,
};
