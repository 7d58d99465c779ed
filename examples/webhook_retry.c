/* SPDX-License-Identifier: MIT */
/*
 * webhook_retry.c - delivers webhooks to servers that fail.
 *
 * A delivery that fails is nacked, and tried again after its back-off of 1, 2,
 * 4 ... seconds. A server may also say how long to wait. After five failed
 * attempts an item is dead. A person looks at the dead items and revives them.
 *
 * The servers are simulated. The clock is the program's own, so the seconds
 * pass at once.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tickwheel/queue.h>

#define FILE_NAME "webhook_retry.queue"

static _Atomic int64_t seconds;

static int64_t now_us(void *ctx)
{
	(void)ctx;
	return (1767258000 + seconds) * 1000000;
}

static int must(int result)
{
	if (result < 0) {
		fprintf(stderr, "webhook_retry: %s\n", strerror(-result));
		exit(1);
	}
	return result;
}

/* --- the servers ---------------------------------------------------------- */

/* How often a server fails before it works, and with which status. */
static struct server {
	const char *name;
	int failures;
	int status;
} servers[] = {
	{ "shop.test", 2, 503 },
	{ "bank.test", 1, 429 },
	{ "mail.test", 99, 500 },
};

enum {
	SERVERS = sizeof(servers) / sizeof(servers[0])
};

/* Returns the HTTP status. */
static int post(const char *name)
{
	struct server *s = servers;

	while (strcmp(s->name, name) != 0)
		s++;
	return s->failures-- > 0 ? s->status : 200;
}

/* --- the deliveries ------------------------------------------------------- */

static void put_all(struct tkw_queue *q)
{
	struct tkw_put puts[SERVERS];

	for (int i = 0; i < SERVERS; i++)
		puts[i] = (struct tkw_put){
			.payload = servers[i].name,
			.payload_len = strlen(servers[i].name) + 1,
			.max_attempts = 5,
			.backoff_ms = 1000,
			.max_backoff_ms = 60000,
		};
	must(tkw_queue_put(q, puts, SERVERS, NULL));
}

static void deliver(struct tkw_queue *q, const struct tkw_item *item)
{
	struct tkw_nack nack = { .has_delay = 0 };
	int status = post(item->payload);
	char reason[32];

	printf("%2d s  %s, attempt %u: %d\n", (int)seconds,
	       (const char *)item->payload, item->attempts, status);
	if (status == 200) {
		must(tkw_queue_ack(q, &item->claim, 1, NULL));
		return;
	}
	snprintf(reason, sizeof(reason), "status %d", status);
	nack.reason = reason;
	if (status == 429) { /* this server wants us to wait for 20 seconds */
		nack.has_delay = 1;
		nack.delay_ms = 20000;
	}
	must(tkw_queue_nack(q, &item->claim, 1, &nack, NULL));
}

/* A real consumer waits in the take, for example with a wait_ms of INT64_MAX.
 * This one lets a second pass when nothing is ready. */
static void work(struct tkw_queue *q)
{
	/* Longer than the longest request. */
	const struct tkw_take take = { .lease_ms = 30000 };
	struct tkw_queue_stats stats;
	struct tkw_items *got;

	for (;;) {
		while (must(tkw_queue_take(q, &take, &got)) > 0) {
			deliver(q, &got->item[0]);
			tkw_items_free(got);
		}
		must(tkw_queue_get_stats(q, &stats));
		if (stats.waiting == 0)
			return;
		seconds++;
	}
}

static void show_dead(struct tkw_queue *q)
{
	struct tkw_items *dead;
	uint64_t cursor = 0;

	do {
		must(tkw_queue_list(q, TKW_ITEM_DEAD, 100, &cursor, &dead));
		for (size_t i = 0; dead != NULL && i < dead->count; i++)
			printf("dead: %s after %u attempts, %s\n",
			       (const char *)dead->item[i].payload,
			       dead->item[i].attempts, dead->item[i].reason);
		tkw_items_free(dead);
	} while (cursor != 0);
}

int main(void)
{
	const struct tkw_queues_config cfg = { .size = sizeof(cfg),
					       .now_us = now_us };
	struct tkw_queues *file;
	struct tkw_queue *q;

	/* This program starts with an empty queue. An interrupted run leaves
	 * both files. */
	remove(FILE_NAME);
	remove(FILE_NAME "-wal");
	must(tkw_queues_open(&file, FILE_NAME, &cfg));
	must(tkw_queue_open(&q, file, "webhooks"));
	put_all(q);
	work(q);
	show_dead(q);
	servers[2].failures = 0; /* mail.test was repaired */
	printf("revived: %d\n", (int)tkw_queue_revive_all(q));
	work(q);
	must(tkw_queues_close(file));
	return remove(FILE_NAME) != 0;
}
