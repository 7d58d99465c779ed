/* SPDX-License-Identifier: MIT */
/*
 * order_timeout.c - closes orders that are not paid within 30 minutes.
 *
 * Each order is an item with a delay of 30 minutes. A payment cancels the item.
 * An item that can be taken is an order that nobody has paid. In the middle,
 * the program closes its file and opens it again later, as after a restart. The
 * orders keep their due times.
 *
 * The clock is the program's own, so the minutes pass at once.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tickwheel/queue.h>

#define FILE_NAME "order_timeout.queue"
#define MINUTE_MS INT64_C(60000)
#define NINE_O_CLOCK_MS INT64_C(1767258000000) /* on 1 January 2026, in UTC */

struct shop {
	struct tkw_queues *file;
	struct tkw_queue *unpaid;
};

/* A thread of the library reads the clock, too. */
static _Atomic int64_t minutes;

static int64_t now_us(void *ctx)
{
	(void)ctx;
	return (NINE_O_CLOCK_MS + minutes * MINUTE_MS) * 1000;
}

static void say(const char *order, const char *what)
{
	printf("%02d:%02d  %s %s\n", 9 + (int)minutes / 60, (int)minutes % 60,
	       order, what);
}

/* Ends the program if a call has failed. */
static int must(int result)
{
	if (result < 0) {
		fprintf(stderr, "order_timeout: %s\n", strerror(-result));
		exit(1);
	}
	return result;
}

static void open_shop(struct shop *s)
{
	const struct tkw_queues_config cfg = { .size = sizeof(cfg),
					       .now_us = now_us };

	must(tkw_queues_open(&s->file, FILE_NAME, &cfg));
	must(tkw_queue_open(&s->unpaid, s->file, "unpaid"));
}

/* The order is the key of its item, so that pay() can name the item. With
 * TKW_KEY_KEEP, an order that is placed twice has one item. */
static void place(struct shop *s, const char *order)
{
	const struct tkw_put put = { .payload = order,
				     .payload_len = strlen(order) + 1,
				     .delay_ms = 30 * MINUTE_MS,
				     .key = order,
				     .key_len = strlen(order),
				     .held = TKW_KEY_KEEP };

	must(tkw_queue_put(s->unpaid, &put, 1, NULL));
	say(order, "is placed");
}

static void pay(struct shop *s, const char *order)
{
	const struct tkw_item_name name = { .key = order,
					    .key_len = strlen(order) };
	int done;

	/* If close_overdue() holds the item, done is -EBUSY. */
	if (must(tkw_queue_cancel(s->unpaid, &name, 1, &done)) == 1)
		say(order, "is paid");
	else
		say(order, "is paid too late, the money goes back");
}

/* After a crash before the ack, the order is closed again. This must do no
 * harm. */
static void close_overdue(struct shop *s)
{
	struct tkw_items *got;

	while (must(tkw_queue_take(s->unpaid, NULL, &got)) > 0) {
		say(got->item[0].payload, "is closed");
		must(tkw_queue_ack(s->unpaid, &got->item[0].claim, 1, NULL));
		tkw_items_free(got);
	}
}

int main(void)
{
	struct tkw_queue_stats stats;
	struct shop s;

	/* This program starts with an empty queue. An interrupted run leaves
	 * both files. */
	remove(FILE_NAME);
	remove(FILE_NAME "-wal");
	open_shop(&s);
	place(&s, "order 1");
	minutes = 10;
	place(&s, "order 2");
	minutes = 15;
	pay(&s, "order 1");
	minutes = 20;
	place(&s, "order 3");
	must(tkw_queues_close(s.file));

	minutes = 45;
	open_shop(&s);
	must(tkw_queue_get_stats(s.unpaid, &stats));
	printf("after the restart: %d overdue, %d waiting\n", (int)stats.ready,
	       (int)stats.waiting);
	close_overdue(&s);
	pay(&s, "order 2");
	minutes = 50;
	close_overdue(&s);
	must(tkw_queues_close(s.file));
	return remove(FILE_NAME) != 0;
}
