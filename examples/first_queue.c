/* SPDX-License-Identifier: MIT */
/* first_queue.c - one item goes through a queue in a file. */
#include <stdio.h>
#include <tickwheel/queue.h>

int main(void)
{
	struct tkw_put mail = { .payload = "Hello!",
				.payload_len = 6,
				.delay_ms = 50 };
	struct tkw_take patient = { .wait_ms = INT64_MAX };
	struct tkw_items *got;
	struct tkw_queues *file;
	struct tkw_queue *q;

	if (tkw_queues_open(&file, "first.queue", NULL) != 0 ||
	    tkw_queue_open(&q, file, "mail") != 0 ||
	    tkw_queue_put(q, &mail, 1, NULL) != 0 || /* it is on the disk */
	    tkw_queue_take(q, &patient, &got) != 1)  /* waits for 50 ms */
		return 1;
	printf("send: %.*s\n", (int)got->item[0].payload_len,
	       (const char *)got->item[0].payload);
	tkw_queue_ack(q, &got->item[0].claim, 1, NULL); /* it is done */
	tkw_items_free(got);
	return tkw_queues_close(file);
}
