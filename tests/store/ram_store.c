/* SPDX-License-Identifier: MIT */
/* ram_store.c - a store in memory. See ram_store.h. */
#include "ram_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ram_store {
	struct tkw__store store; /* first */
	struct ram_disk *disk;
};

void ram_disk_init(struct ram_disk *d)
{
	*d = (struct ram_disk){ .rows = malloc(RAM_ROWS * sizeof(*d->rows)),
				.records = malloc(RAM_BYTES) };
	if (!d->rows || !d->records)
		abort();
	pthread_mutex_init(&d->mutex, NULL);
	pthread_cond_init(&d->moved, NULL);
}

void ram_disk_fini(struct ram_disk *d)
{
	free(d->rows);
	free(d->records);
	pthread_cond_destroy(&d->moved);
	pthread_mutex_destroy(&d->mutex);
}

/* As a file: it does not become smaller. */
static void measure(struct ram_store *s)
{
	struct ram_disk *d = s->disk;

	if (d->bytes > d->peak)
		d->peak = d->bytes;
	s->store.bytes = d->bytes;
	s->store.spare = d->peak - d->bytes;
}

static int ram_open(struct tkw__store **out, const void *cfg, char *why,
		    size_t why_size)
{
	struct ram_store *s = calloc(1, sizeof(*s));

	if (why && why_size > 0)
		why[0] = 0; /* there is nothing to explain */
	if (!s)
		return -ENOMEM;
	s->disk = *(struct ram_disk *const *)cfg;
	s->store.ops = &ram_store_ops;
	measure(s);
	*out = (struct tkw__store *)s;
	return 0;
}

struct tkw__store *ram_store_open(struct ram_disk *d)
{
	struct tkw__store *s = NULL;

	if (ram_open(&s, &d, NULL, 0))
		abort();
	return s;
}

void ram_gate_shut(struct ram_disk *d)
{
	pthread_mutex_lock(&d->mutex);
	d->shut = true;
	pthread_mutex_unlock(&d->mutex);
}

void ram_gate_open(struct ram_disk *d)
{
	pthread_mutex_lock(&d->mutex);
	d->shut = false;
	pthread_cond_broadcast(&d->moved);
	pthread_mutex_unlock(&d->mutex);
}

void ram_gate_wait(struct ram_disk *d)
{
	pthread_mutex_lock(&d->mutex);
	while (d->at_gate == 0)
		pthread_cond_wait(&d->moved, &d->mutex);
	pthread_mutex_unlock(&d->mutex);
}

static void pass_gate(struct ram_disk *d)
{
	pthread_mutex_lock(&d->mutex);
	d->at_gate++;
	pthread_cond_broadcast(&d->moved);
	while (d->shut)
		pthread_cond_wait(&d->moved, &d->mutex);
	d->at_gate--;
	pthread_mutex_unlock(&d->mutex);
}

static void add_name(struct ram_disk *d, const struct tkw__row *row)
{
	if (row->queue != d->queues + 1 || d->queues == RAM_QUEUES)
		abort();
	snprintf(d->names[d->queues++], RAM_NAME, "%s", row->name);
}

static void add_row(struct ram_disk *d, const struct tkw__row *row)
{
	if (d->count == RAM_ROWS || d->bytes + row->len > RAM_BYTES)
		abort(); /* a test that needs more must say so */
	memcpy(d->records + d->bytes, row->record, row->len);
	d->rows[d->count++] =
		(struct ram_row){ ++d->last, row->queue, d->bytes, row->len };
	d->bytes += row->len;
}

static int refuse(struct ram_store *s, uint64_t bytes)
{
	struct ram_disk *d = s->disk;

	s->store.why = NULL;
	if (d->fails > 0) {
		d->fails--;
		s->store.why = "told to fail";
		return d->error;
	}
	if (d->room_bytes && d->bytes + bytes > d->room_bytes) {
		s->store.why = "no room";
		return -ENOSPC;
	}
	return 0;
}

static int ram_append(struct tkw__store *store, const struct tkw__row *rows,
		      size_t count, uint64_t *last)
{
	struct ram_store *s = (struct ram_store *)store;
	uint64_t bytes = 0;
	int err;

	pass_gate(s->disk);
	for (size_t i = 0; i < count; i++)
		bytes += rows[i].len;
	err = refuse(s, bytes);
	if (err)
		return err;
	for (size_t i = 0; i < count; i++) {
		if (rows[i].name)
			add_name(s->disk, &rows[i]);
		else
			add_row(s->disk, &rows[i]);
	}
	s->disk->appends++;
	measure(s);
	*last = s->disk->last;
	return 0;
}

static int ram_replay(struct tkw__store *store, tkw__row_fn *fn,
		      struct tkw__base *base, void *ctx)
{
	struct ram_disk *d = ((struct ram_store *)store)->disk;
	int err = 0;

	*base = d->base;
	for (uint32_t i = 0; i < d->queues && !err; i++) {
		struct tkw__row row = { .queue = i + 1, .name = d->names[i] };

		err = fn(&row, ctx);
	}
	for (size_t i = 0; i < d->count && !err; i++) {
		const struct ram_row *r = &d->rows[i];
		struct tkw__row row = { r->seq, r->queue, d->records + r->at,
					r->len, NULL };

		if (r->seq >= d->base.first)
			err = fn(&row, ctx);
	}
	return err;
}

static int ram_compact(struct tkw__store *store, const struct tkw__base *base,
		       uint64_t max)
{
	struct ram_disk *d = ((struct ram_store *)store)->disk;
	size_t bytes = 0;
	size_t n = 0;

	if (d->compact_error)
		return d->compact_error;
	d->compactions++;
	d->base = *base;
	while (n < max && n < d->count && d->rows[n].seq < base->first)
		bytes += d->rows[n++].len;
	d->bytes -= bytes;
	d->count -= n;
	memmove(d->records, d->records + bytes, d->bytes);
	memmove(d->rows, d->rows + n, d->count * sizeof(*d->rows));
	for (size_t i = 0; i < d->count; i++)
		d->rows[i].at -= bytes;
	measure((struct ram_store *)store);
	return d->count > 0 && d->rows[0].seq < base->first;
}

static int ram_close(struct tkw__store *store)
{
	free(store);
	return 0;
}

const struct tkw__store_ops ram_store_ops = {
	.open = ram_open,
	.append = ram_append,
	.replay = ram_replay,
	.compact = ram_compact,
	.close = ram_close,
};
