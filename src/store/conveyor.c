/* SPDX-License-Identifier: MIT */
/* conveyor.c - rows go from thread to thread: see conveyor.h. */
#define _GNU_SOURCE
#include "store/conveyor.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "queue/hash.h"
#include "store/quiet_thread.h"

enum {
	BLOCK_BYTES = 1 << 16
};

/* Rows without names: each a head, and then its record, which begins with its
 * length. */
struct block {
	uint8_t *bytes; /* BLOCK_BYTES */
	size_t len;
	const struct tkw__row *lent; /* instead of the bytes, if not NULL */
	bool is_full;                /* belongs to the thread that applies */
	struct block *other;
};

struct head {
	uint64_t seq;
	uint32_t queue;
};

struct conveyor {
	tkw__read_fn *read;
	void *arg;
	pthread_mutex_t lock; /* is_full, ended, stop */
	pthread_cond_t moved;
	struct block *filling; /* the reader's */
	bool ended;
	int stop; /* an error of the thread that applies */
	int result;
};

/* --- the thread that reads ------------------------------------------------ */

/* Hands the block over. The other one is filled next, when it is empty. */
static void hand_over(struct conveyor *c, bool is_last)
{
	pthread_mutex_lock(&c->lock);
	c->filling->is_full = true;
	c->filling = c->filling->other;
	c->ended = is_last;
	pthread_cond_signal(&c->moved);
	pthread_mutex_unlock(&c->lock);
}

/* Waits until a block was applied. */
static int await_empty(struct conveyor *c, const struct block *b)
{
	int stop;

	pthread_mutex_lock(&c->lock);
	while (!c->stop && b->is_full)
		pthread_cond_wait(&c->moved, &c->lock);
	stop = c->stop;
	pthread_mutex_unlock(&c->lock);
	return stop;
}

/* A row that does not fit into a block is not copied: the reader waits until it
 * was applied. Then the other block was applied, too. */
static int lend_row(struct conveyor *c, const struct tkw__row *row)
{
	struct block *b = c->filling;

	b->lent = row;
	hand_over(c, false);
	return await_empty(c, b);
}

static int put_row(const struct tkw__row *row, void *ctx)
{
	struct conveyor *c = ctx;
	struct head head = { row->seq, row->queue };
	size_t need = sizeof(head) + row->len;
	struct block *b = c->filling;

	if (b->len > 0 && b->len + need > BLOCK_BYTES) {
		int err;

		hand_over(c, false);
		b = c->filling;
		err = await_empty(c, b);
		if (err)
			return err;
	}
	if (need > BLOCK_BYTES)
		return lend_row(c, row);
	memcpy(b->bytes + b->len, &head, sizeof(head));
	memcpy(b->bytes + b->len + sizeof(head), row->record, row->len);
	b->len += need;
	return 0;
}

static void *run(void *arg)
{
	struct conveyor *c = arg;

	c->result = c->read(c->arg, put_row, c);
	hand_over(c, true);
	return NULL;
}

/* --- the thread that applies ---------------------------------------------- */

static int apply_block(const struct block *b, tkw__row_fn *fn, void *ctx)
{
	size_t at = 0;
	int err = 0;

	if (b->lent)
		return fn(b->lent, ctx);
	while (!err && at < b->len) {
		struct tkw__row row = { .name = NULL };
		struct head head;

		memcpy(&head, b->bytes + at, sizeof(head));
		at += sizeof(head);
		row.seq = head.seq;
		row.queue = head.queue;
		row.record = b->bytes + at;
		row.len = (size_t)tkw__le_bytes(row.record, 4);
		at += row.len;
		err = fn(&row, ctx);
	}
	return err;
}

/* Returns false if there are no more blocks. */
static bool await_block(struct conveyor *c, const struct block *b)
{
	bool is_full;

	pthread_mutex_lock(&c->lock);
	while (!b->is_full && !c->ended)
		pthread_cond_wait(&c->moved, &c->lock);
	is_full = b->is_full;
	pthread_mutex_unlock(&c->lock);
	return is_full;
}

static void give_back(struct conveyor *c, struct block *b, int err)
{
	pthread_mutex_lock(&c->lock);
	b->len = 0;
	b->lent = NULL;
	b->is_full = false;
	c->stop = err;
	pthread_cond_signal(&c->moved);
	pthread_mutex_unlock(&c->lock);
}

static int apply_all(struct conveyor *c, struct block *b, tkw__row_fn *fn,
		     void *ctx)
{
	int err = 0;

	while (!err && await_block(c, b)) {
		err = apply_block(b, fn, ctx);
		give_back(c, b, err);
		b = b->other;
	}
	return err;
}

int tkw__convey(tkw__read_fn *read, void *arg, tkw__row_fn *fn, void *ctx)
{
	struct block pair[2] = { { .other = &pair[1] }, { .other = &pair[0] } };
	struct conveyor c = { .read = read,
			      .arg = arg,
			      .lock = PTHREAD_MUTEX_INITIALIZER,
			      .moved = PTHREAD_COND_INITIALIZER,
			      .filling = &pair[0] };
	uint8_t *bytes = malloc((size_t)2 * BLOCK_BYTES);
	pthread_t thread;
	int err;

	pair[0].bytes = bytes;
	pair[1].bytes = bytes ? bytes + BLOCK_BYTES : NULL;
	if (bytes && tkw__quiet_thread(&thread, run, &c)) {
		err = apply_all(&c, &pair[0], fn, ctx);
		(void)pthread_join(thread, NULL);
		err = err ? err : c.result;
	} else {
		err = read(arg, fn, ctx);
	}
	free(bytes);
	pthread_cond_destroy(&c.moved);
	pthread_mutex_destroy(&c.lock);
	return err;
}
