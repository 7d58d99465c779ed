/* SPDX-License-Identifier: MIT */
/*
 * fenced_resource.c - a consumer that was too slow cannot overwrite the work of
 * the next one.
 *
 * The item asks for a report. The first consumer takes it and then hangs,
 * longer than its lease. The second consumer takes the item and writes the
 * report. Then the first one wakes up, and does not know how much time has
 * passed. Its token is lower than that of the second one, so the report refuses
 * what it writes.
 *
 * The clock is the program's own, so the seconds pass at once.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tickwheel/queue.h>

#define FILE_NAME "fenced_resource.queue"

static _Atomic int64_t seconds;

static int64_t now_us(void *ctx)
{
	(void)ctx;
	return (1767258000 + seconds) * 1000000;
}

static int must(int result)
{
	if (result < 0) {
		fprintf(stderr, "fenced_resource: %s\n", strerror(-result));
		exit(1);
	}
	return result;
}

/* The resource that the work changes. It keeps the highest token that it has
 * seen. A resource for several items would keep one for each. */
struct report {
	uint64_t token;
	char author[16];
};

static int write_report(struct report *r, const char *author, uint64_t token)
{
	if (token < r->token)
		return -ESTALE;
	r->token = token;
	snprintf(r->author, sizeof(r->author), "%s", author);
	return 0;
}

static struct tkw_claim begin(struct tkw_queue *q, const char *consumer)
{
	const struct tkw_take take = { .lease_ms = 30000 };
	struct tkw_items *got;
	struct tkw_claim claim;

	if (must(tkw_queue_take(q, &take, &got)) != 1)
		exit(1);
	claim = got->item[0].claim;
	printf("%2d s  %s takes the item, attempt %u\n", (int)seconds, consumer,
	       got->item[0].attempts);
	tkw_items_free(got);
	return claim;
}

static void finish(struct tkw_queue *q, struct report *r, const char *consumer,
		   struct tkw_claim claim)
{
	int err = write_report(r, consumer, claim.token);
	int acked = must(tkw_queue_ack(q, &claim, 1, NULL));

	printf("%2d s  %s: the report is %s, the ack is %s\n", (int)seconds,
	       consumer, err == 0 ? "written" : "refused",
	       acked == 1 ? "accepted" : "stale");
}

int main(void)
{
	const struct tkw_queues_config cfg = { .size = sizeof(cfg),
					       .now_us = now_us };
	const struct tkw_put put = { .payload = "report", .payload_len = 6 };
	struct report report = { .token = 0 };
	struct tkw_claim first, second;
	struct tkw_queues *file;
	struct tkw_queue *q;

	/* This program starts with an empty queue. An interrupted run leaves
	 * both files. */
	remove(FILE_NAME);
	remove(FILE_NAME "-wal");
	must(tkw_queues_open(&file, FILE_NAME, &cfg));
	must(tkw_queue_open(&q, file, "reports"));
	must(tkw_queue_put(q, &put, 1, NULL));
	first = begin(q, "Anna");
	seconds = 31; /* Anna hangs, and her lease ends */
	second = begin(q, "Bert");
	seconds = 32;
	finish(q, &report, "Bert", second);
	seconds = 33;
	finish(q, &report, "Anna", first);
	printf("the report is by %s\n", report.author);
	must(tkw_queues_close(file));
	return remove(FILE_NAME) != 0;
}
