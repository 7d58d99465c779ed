/* SPDX-License-Identifier: MIT */
/* file_bed.c - see file_bed.h. */
#include "file_bed.h"

#include <sched.h>
#include <stdlib.h>

static int64_t bed_now(void *ctx)
{
	struct file_bed *b = ctx;

	__atomic_fetch_add(&b->looks, 1, __ATOMIC_RELAXED);
	return __atomic_load_n(&b->now_us, __ATOMIC_RELAXED);
}

void file_bed_pass(struct file_bed *b, int64_t ms)
{
	__atomic_fetch_add(&b->now_us, ms * 1000, __ATOMIC_RELAXED);
}

void file_bed_open(struct file_bed *b)
{
	b->home.store = ram_store_open(&b->disk);
	b->home.now_us = bed_now;
	b->home.now_ctx = b;
	assert_int_equal(tkw__keeper_open(&b->f, &b->home), 0);
	assert_int_equal(tkw_queue_open(&b->q, b->f, "q"), 0);
}

void file_bed_close(struct file_bed *b)
{
	assert_null(tkw_queues_check(b->f));
	assert_int_equal(tkw_queues_close(b->f), 0);
	b->f = NULL;
}

void file_bed_reopen(struct file_bed *b)
{
	file_bed_close(b);
	file_bed_open(b);
	assert_null(tkw_queues_check(b->f));
}

int file_bed_begin(void **state)
{
	struct file_bed *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	ram_disk_init(&b->disk);
	b->now_us = FILE_BED_START_MS * 1000;
	file_bed_open(b);
	*state = b;
	return 0;
}

int file_bed_end(void **state)
{
	struct file_bed *b = *state;

	if (b->f)
		file_bed_close(b);
	ram_disk_fini(&b->disk);
	free(b);
	return 0;
}

struct tkw_item_id file_bed_put(struct file_bed *b, int64_t delay_ms)
{
	struct tkw_put p = { .payload = "work",
			     .payload_len = 4,
			     .delay_ms = delay_ms };
	struct tkw_item_id id;

	assert_int_equal(tkw_queue_put(b->q, &p, 1, &id), 0);
	return id;
}

struct tkw_items *file_bed_take(struct file_bed *b, int64_t lease_ms)
{
	struct tkw_take how = { .lease_ms = lease_ms };
	struct tkw_items *items;

	assert_int_equal(tkw_queue_take(b->q, &how, &items), 1);
	return items;
}

struct tkw_queue_stats file_bed_stats(struct file_bed *b)
{
	struct tkw_queue_stats s;

	assert_int_equal(tkw_queue_get_stats(b->q, &s), 0);
	return s;
}

void file_bed_wait_for_takes(struct file_bed *b, uint64_t count)
{
	while (file_bed_stats(b).waiting_takes != count)
		sched_yield();
}

void event_happen(struct event *e)
{
	pthread_mutex_lock(&e->mutex);
	e->count++;
	pthread_cond_broadcast(&e->cond);
	pthread_mutex_unlock(&e->mutex);
}

void event_wait(struct event *e, int count)
{
	pthread_mutex_lock(&e->mutex);
	while (e->count < count)
		pthread_cond_wait(&e->cond, &e->mutex);
	pthread_mutex_unlock(&e->mutex);
}
