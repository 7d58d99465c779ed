/* SPDX-License-Identifier: MIT */
/*
 * redis_orders.c [PORT] - closes orders that are not paid in time, with a queue
 * in Redis.
 *
 * The server must have loaded tickwheel.so. Each order is an item of the queue
 * "orders", with a short delay. A payment cancels the item. An item that can be
 * taken is an order that nobody has paid.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

/* Sends a command. Ends the program if this fails, or if the reply is an
 * error. */
static redisReply *ask(redisContext *redis, const char *format, ...)
{
	redisReply *reply;
	va_list args;

	va_start(args, format);
	reply = redisvCommand(redis, format, args);
	va_end(args);
	if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
		fprintf(stderr, "redis_orders: %s\n",
			reply ? reply->str : redis->errstr);
		exit(1);
	}
	return reply;
}

/* Sends a command about one item. Returns 1 if it was done. */
#define tell(...) first_of(ask(__VA_ARGS__))

static long long first_of(redisReply *reply)
{
	long long first = reply->type == REDIS_REPLY_ARRAY
				  ? reply->element[0]->integer
				  : reply->integer;

	freeReplyObject(reply);
	return first;
}

/* The order is the key of its item, so that pay() can name the item. With KEEP,
 * an order that is placed twice has one item. */
static void place(redisContext *redis, const char *order, int delay_ms)
{
	tell(redis, "TKW.PUT orders %d %s KEY %s KEEP ATTEMPTS 2", delay_ms,
	     order, order);
	printf("placed: %s\n", order);
}

static void pay(redisContext *redis, const char *order)
{
	/* 0: the order is closed. -1: close_next() has it. */
	if (tell(redis, "TKW.CANCEL orders KEY %s", order) == 1)
		printf("paid: %s\n", order);
	else
		printf("paid too late: %s\n", order);
}

static void close_next(redisContext *redis, int till_is_locked)
{
	redisReply *items = ask(redis, "TKW.TAKE orders BLOCK 0");
	redisReply **item = items->element[0]->element;
	const long long id = item[0]->integer;
	const char *order = item[1]->str;
	const long long token = item[2]->integer;

	if (till_is_locked && strcmp(order, "order 3") == 0) {
		printf("%s, attempt %lld: the till is locked\n", order,
		       item[3]->integer);
		tell(redis, "TKW.NACK orders REASON %s %lld %lld",
		     "the till is locked", id, token);
	} else {
		printf("closed: %s\n", order);
		tell(redis, "TKW.ACK orders %lld %lld", id, token);
	}
	freeReplyObject(items);
}

/* Returns the value of a field of an item. In RESP2, the item is an array of
 * names and values. */
static const redisReply *field(const redisReply *item, const char *name)
{
	for (size_t i = 0; i + 1 < item->elements; i += 2) {
		if (strcmp(item->element[i]->str, name) == 0)
			return item->element[i + 1];
	}
	fprintf(stderr, "redis_orders: there is no %s\n", name);
	exit(1);
}

static void revive_dead(redisContext *redis)
{
	redisReply *list = ask(redis, "TKW.DEAD orders LIST");
	const redisReply *dead = list->element[1]; /* 0: the next cursor */

	for (size_t i = 0; i < dead->elements; i++) {
		const redisReply *item = dead->element[i];

		printf("dead: %s after %lld attempts, %s\n",
		       field(item, "payload")->str,
		       field(item, "attempts")->integer,
		       field(item, "reason")->str);
	}
	freeReplyObject(list);
	printf("revived: %lld\n", tell(redis, "TKW.DEAD orders REVIVE ALL"));
}

int main(int argc, char **argv)
{
	int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 6379;
	redisContext *redis = redisConnect("127.0.0.1", port);

	if (redis == NULL || redis->err != 0) {
		fprintf(stderr, "redis_orders: no server on port %d\n", port);
		return 1;
	}
	freeReplyObject(ask(redis, "DEL orders"));
	place(redis, "order 1", 100);
	place(redis, "order 2", 100);
	place(redis, "order 3", 200);
	pay(redis, "order 1");

	close_next(redis, 1); /* order 2 */
	close_next(redis, 1); /* order 3 */
	close_next(redis, 1); /* order 3 again, with its last attempt */
	revive_dead(redis);
	close_next(redis, 0); /* order 3 */
	freeReplyObject(ask(redis, "DEL orders"));
	redisFree(redis);
	return 0;
}
