/* SPDX-License-Identifier: MIT */
/*
 * queue_floor.c - what nobody who keeps a promise can do without: one write()
 * of the records of a call, and fdatasync(). It holds no items.
 *
 * There are two. `floor` appends, so that each fdatasync() also writes the new
 * length of the file. `floor_in_place` writes over a file whose blocks are on
 * the disk, from its beginning to its end and then again; SQLite's WAL comes to
 * that after its first checkpoint.
 */
#include "queue_bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	RING_BYTES = 4 << 20 /* how far a WAL grows between checkpoints */
};

static struct {
	int fd;
	bool sync;
	bool in_place;
	off_t at;
	uint8_t *records; /* of the largest call */
	size_t room;
} file;

static void open_file(const char *dir, bool sync)
{
	char path[QUEUE_DIR_MAX + 16];

	(void)snprintf(path, sizeof(path), "%s/records", dir);
	file.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (file.fd < 0)
		rival_die("a file cannot be made");
	file.sync = sync;
	file.at = 0;
	file.room = QUEUE_MOST * queue_record_bytes(QUEUE_RECORD_PUT);
	file.records = rival_pages_get(file.room);
	memset(file.records, 'r', file.room);
}

static void open_append(const char *dir, bool sync)
{
	file.in_place = false;
	open_file(dir, sync);
}

static void open_in_place(const char *dir, bool sync)
{
	file.in_place = true;
	open_file(dir, sync);
	for (off_t at = 0; at < RING_BYTES; at += (off_t)file.room) {
		if (pwrite(file.fd, file.records, file.room, at) !=
		    (ssize_t)file.room)
			rival_die("a file cannot be written");
	}
	(void)fsync(file.fd);
}

static void close_file(void)
{
	(void)close(file.fd);
	rival_pages_put(file.records, file.room);
}

static void *caller_open(void)
{
	return &file;
}

static void caller_close(void *caller)
{
	(void)caller;
}

static bool write_records(enum queue_record record, size_t n)
{
	size_t bytes = n * queue_record_bytes(record);

	if (file.in_place && file.at + (off_t)bytes > RING_BYTES)
		file.at = 0;
	if (pwrite(file.fd, file.records, bytes, file.at) != (ssize_t)bytes)
		return false;
	file.at += (off_t)bytes;
	return !file.sync || fdatasync(file.fd) == 0;
}

static bool put(void *caller, const struct queue_put *puts, size_t n)
{
	(void)caller;
	(void)puts;
	return write_records(QUEUE_RECORD_PUT, n);
}

static size_t take(void *caller, size_t max, int64_t wait_ms,
		   struct queue_taken *out)
{
	(void)caller;
	(void)wait_ms;
	(void)out;
	return write_records(QUEUE_RECORD_TAKE, max) ? max : 0;
}

static bool ack(void *caller, const struct queue_taken *taken, size_t n)
{
	(void)caller;
	(void)taken;
	return write_records(QUEUE_RECORD_ACK, n);
}

const struct queue_entrant queue_floor = {
	.name = "floor",
	.floor = true,
	.open = open_append,
	.close = close_file,
	.caller_open = caller_open,
	.caller_close = caller_close,
	.put = put,
	.put_flight = put,
	.take = take,
	.ack = ack,
	.written = queue_written,
	.resident = rival_resident,
};

const struct queue_entrant queue_floor_in_place = {
	.name = "floor_in_place",
	.floor = true,
	.open = open_in_place,
	.close = close_file,
	.caller_open = caller_open,
	.caller_close = caller_close,
	.put = put,
	.put_flight = put,
	.take = take,
	.ack = ack,
	.written = queue_written,
	.resident = rival_resident,
};
