/* SPDX-License-Identifier: MIT */
/* conveyor.c - rows go from thread to thread: see conveyor.h. */
#define _GNU_SOURCE
#include "store/conveyor.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "store/quiet_thread.h"
#include "store/row.h"

enum {
	BLOCK_BYTES = 1 << 16 /* a row that has more gets a larger block */
};

/* Rows without names: each a head, and then its record. */
struct block {
	struct tkw__row_room room;
	size_t len;
	bool is_full; /* belongs to the thread that applies */
	struct block *other;
};

struct head {
	uint64_t seq;
	size_t len;
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

/* Hands the block over, and waits for an empty one. */
static int hand_over(struct conveyor *c, bool is_last)
{
	int stop;

	pthread_mutex_lock(&c->lock);
	c->filling->is_full = true;
	c->filling = c->filling->other;
	c->ended = is_last;
	pthread_cond_signal(&c->moved);
	while (!is_last && !c->stop && c->filling->is_full)
		pthread_cond_wait(&c->moved, &c->lock);
	stop = c->stop;
	pthread_mutex_unlock(&c->lock);
	return stop;
}

static int put_row(const struct tkw__row *row, void *ctx)
{
	struct conveyor *c = ctx;
	struct block *b = c->filling;
	struct head head = { row->seq, row->len, row->queue };
	size_t need = sizeof(head) + row->len;
	int err = 0;

	if (b->len > 0 && b->len + need > b->room.size) {
		err = hand_over(c, false);
		b = c->filling;
	}
	if (!err)
		err = tkw__row_make_room(&b->room, b->len + need);
	if (err)
		return err;
	memcpy(b->room.bytes + b->len, &head, sizeof(head));
	memcpy(b->room.bytes + b->len + sizeof(head), row->record, row->len);
	b->len += need;
	return 0;
}

static void *run(void *arg)
{
	struct conveyor *c = arg;

	c->result = c->read(c->arg, put_row, c);
	(void)hand_over(c, true);
	return NULL;
}

/* --- the thread that applies ---------------------------------------------- */

static int apply_block(const struct block *b, tkw__row_fn *fn, void *ctx)
{
	size_t at = 0;
	int err = 0;

	while (!err && at < b->len) {
		struct tkw__row row = { .name = NULL };
		struct head head;

		memcpy(&head, b->room.bytes + at, sizeof(head));
		at += sizeof(head);
		row.seq = head.seq;
		row.queue = head.queue;
		row.record = b->room.bytes + at;
		row.len = head.len;
		at += head.len;
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
	pthread_t thread;
	int err;

	if (tkw__row_make_room(&pair[0].room, BLOCK_BYTES) == 0 &&
	    tkw__row_make_room(&pair[1].room, BLOCK_BYTES) == 0 &&
	    tkw__quiet_thread(&thread, run, &c)) {
		err = apply_all(&c, &pair[0], fn, ctx);
		(void)pthread_join(thread, NULL);
		err = err ? err : c.result;
	} else {
		err = read(arg, fn, ctx);
	}
	free(pair[0].room.bytes);
	free(pair[1].room.bytes);
	return err;
}
