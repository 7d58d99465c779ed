/* SPDX-License-Identifier: MIT */
/*
 * Puts an item with a delay of 50 milliseconds, waits until it can be
 * taken, and acknowledges it. If the program is killed between the put
 * and the ack, the item is still in the file, and the next run takes it
 * first.
 */
#include <stdio.h>
#include <tickwheel/queue.h>

int main(void)
{
	struct tkw_put put = { .payload = "mail", .payload_len = 4 };
	struct tkw_take take = { .wait_ms = INT64_MAX };
	struct tkw_items *got;
	struct tkw_queues *file;
	struct tkw_queue *q;

	put.delay_ms = 50;
	if (tkw_queues_open(&file, "example.queue", NULL) != 0 ||
	    tkw_queue_open(&q, file, "mail") != 0 ||
	    tkw_queue_put(q, &put, 1, NULL) != 0 ||
	    tkw_queue_take(q, &take, &got) != 1)
		return 1;
	printf("send %.*s\n", (int)got->item[0].payload_len,
	       (const char *)got->item[0].payload);
	if (tkw_queue_ack(q, &got->item[0].claim, 1, NULL) == 1)
		puts("done");
	tkw_items_free(got);
	return tkw_queues_close(file) != 0;
}
