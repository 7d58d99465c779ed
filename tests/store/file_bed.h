/* SPDX-License-Identifier: MIT */
/*
 * file_bed.h - the test bed of the public calls: a file on a disk in memory,
 * with its real threads and a clock that the test moves.
 */
#ifndef TKW_TESTS_FILE_BED_H
#define TKW_TESTS_FILE_BED_H

/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "ram_store.h"
#include "store/keeper.h"
#include "tickwheel/queue.h"

#define FILE_BED_START_MS INT64_C(1700000000000)

struct file_bed {
	struct ram_disk disk;
	struct tkw__home home;
	struct tkw_queues *f;
	struct tkw_queue *q;
	int64_t now_us; /* atomic */
	int looks;      /* at the clock; atomic */
};

int file_bed_begin(void **state);
int file_bed_end(void **state);

#define FILE_TEST(test)                                                        \
	cmocka_unit_test_setup_teardown(test, file_bed_begin, file_bed_end)

void file_bed_open(struct file_bed *b);
void file_bed_close(struct file_bed *b);
/* Closes and opens. */
void file_bed_reopen(struct file_bed *b);
void file_bed_pass(struct file_bed *b, int64_t ms);

/* Puts an item. It must succeed. */
struct tkw_item_id file_bed_put(struct file_bed *b, int64_t delay_ms);
/* Takes an item. It must succeed. */
struct tkw_items *file_bed_take(struct file_bed *b, int64_t lease_ms);
struct tkw_queue_stats file_bed_stats(struct file_bed *b);
/* Waits until so many takes wait. */
void file_bed_wait_for_takes(struct file_bed *b, uint64_t count);

/* Something that a thread waits for. All zero: it has not happened. */
struct event {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int count;
};
#define EVENT_INIT                                                             \
	{                                                                      \
		PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0         \
	}
void event_happen(struct event *e);
/* Waits until it has happened so many times. */
void event_wait(struct event *e, int count);

#endif /* TKW_TESTS_FILE_BED_H */
