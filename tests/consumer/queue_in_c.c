/* SPDX-License-Identifier: MIT */
/* queue_in_c.c - the program of a user: an item is put, taken and acked. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for mkdtemp() */
#endif
#include <stdio.h>
#include <stdlib.h>
#include <tickwheel/queue.h>
#include <unistd.h>

static int use(struct tkw_queues *f)
{
	struct tkw_put put = { .payload = "hello", .payload_len = 5 };
	struct tkw_items *items;
	struct tkw_queue *q;

	if (tkw_queue_open(&q, f, "mail") != 0 ||
	    tkw_queue_put(q, &put, 1, NULL) != 0 ||
	    tkw_queue_take(q, NULL, &items) != 1)
		return 1;
	printf("taken: %.*s\n", (int)items->item[0].payload_len,
	       (const char *)items->item[0].payload);
	if (tkw_queue_ack(q, &items->item[0].claim, 1, NULL) != 1)
		return 1;
	tkw_items_free(items);
	return 0;
}

int main(void)
{
	char dir[] = "/tmp/tkw-consumer-XXXXXX";
	struct tkw_queues *f;
	char path[64];
	int bad;

	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/f", dir);
	if (tkw_queues_open(&f, path, NULL) != 0)
		return 1;
	bad = use(f);
	if (tkw_queues_close(f) != 0)
		bad = 1;
	if (unlink(path) != 0 || rmdir(dir) != 0)
		bad = 1;
	return bad;
}
