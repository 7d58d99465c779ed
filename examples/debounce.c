/* SPDX-License-Identifier: MIT */
/*
 * debounce.c - indexes a document when nobody has edited it for two seconds.
 *
 * The name of the document is the key of its item. Each edit replaces the item,
 * and so pushes its due time back. However often a document is edited, it has
 * one item that waits. If the item is taken during an edit, another item gets
 * the new text.
 *
 * The clock is the program's own, so the seconds pass at once.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tickwheel/queue.h>

#define FILE_NAME "debounce.queue"
#define QUIET_MS 2000

static _Atomic int64_t clock_ms;

static int64_t now_us(void *ctx)
{
	(void)ctx;
	return (INT64_C(1767258000000) + clock_ms) * 1000;
}

static void say(const char *what, const char *text)
{
	printf("%d.%d s  %s %s\n", (int)clock_ms / 1000,
	       (int)clock_ms / 100 % 10, what, text);
}

static int must(int result)
{
	if (result < 0) {
		fprintf(stderr, "debounce: %s\n", strerror(-result));
		exit(1);
	}
	return result;
}

/* text is the document after the edit. */
static void edit(struct tkw_queue *q, const char *name, const char *text)
{
	struct tkw_put put = { .payload = text,
			       .payload_len = strlen(text) + 1,
			       .delay_ms = QUIET_MS,
			       .key = name,
			       .key_len = strlen(name),
			       .held = TKW_KEY_REPLACE };
	int err = tkw_queue_put(q, &put, 1, NULL);

	say("edit ", text);
	if (err == -EBUSY) {
		/* The indexer holds the item, and has the old text. Another
		 * item, without a key, brings the new text. */
		put.key = NULL;
		put.key_len = 0;
		err = tkw_queue_put(q, &put, 1, NULL);
	}
	must(err);
}

static struct tkw_items *take_one(struct tkw_queue *q)
{
	struct tkw_items *got;

	if (must(tkw_queue_take(q, NULL, &got)) != 1)
		exit(1);
	return got;
}

static void index_it(struct tkw_queue *q, struct tkw_items *got)
{
	say("index", got->item[0].payload);
	must(tkw_queue_ack(q, &got->item[0].claim, 1, NULL));
	tkw_items_free(got);
}

static void run(struct tkw_queue *q)
{
	struct tkw_items *got;

	edit(q, "tea", "Tea");
	clock_ms = 500;
	edit(q, "tea", "Tea with milk");
	clock_ms = 1000;
	edit(q, "cake", "Cake");
	clock_ms = 1500;
	edit(q, "tea", "Tea with lemon");
	clock_ms = 3000;
	index_it(q, take_one(q));
	clock_ms = 3500;
	got = take_one(q);
	clock_ms = 3600;
	edit(q, "tea", "Tea without lemon");
	clock_ms = 3700;
	index_it(q, got);
	clock_ms = 5600;
	index_it(q, take_one(q));
}

int main(void)
{
	const struct tkw_queues_config cfg = { .size = sizeof(cfg),
					       .now_us = now_us };
	struct tkw_queue_stats stats;
	struct tkw_queues *file;
	struct tkw_queue *q;

	/* This program starts with an empty queue. An interrupted run leaves
	 * both files. */
	remove(FILE_NAME);
	remove(FILE_NAME "-wal");
	must(tkw_queues_open(&file, FILE_NAME, &cfg));
	must(tkw_queue_open(&q, file, "documents"));
	run(q);
	must(tkw_queue_get_stats(q, &stats));
	printf("items put: %d, replaced: %d, done: %d\n", (int)stats.all_puts,
	       (int)stats.all_replaces, (int)stats.all_acks);
	must(tkw_queues_close(file));
	return remove(FILE_NAME) != 0;
}
