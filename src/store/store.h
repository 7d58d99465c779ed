/* SPDX-License-Identifier: MIT */
/*
 * store.h - where the records of the queues are kept: five calls
 *
 * A store is a journal: an endless list of rows, numbered from 1, which grows
 * at its end. The queue writes it and, after a restart, reads it once. There
 * are two stores: SQLite (sqlite.c), and a simulated disk in the tests.
 *
 *   Rows     A row is a record of the heart (queue/record.h) and the number of
 *            its queue, or the name of a new queue.
 *   Batch    Rows are appended in batches, all of them or none. When append
 *            returns 0 the batch is on the disk.
 *   Snapshot Live items are copied forward: the desk appends an ITEM record for
 *            each, in many batches, with other records between them. The rows
 *            before the first of these are then not needed any more. compact()
 *            says so.
 *   Threads  None. The caller makes one call at a time.
 */
#ifndef TKW_STORE_STORE_H
#define TKW_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One row. */
struct tkw__row {
	/* Replay only: append numbers the records itself. SQLite does not
	 * number names, and replays all of them first, with 0. */
	uint64_t seq;
	/* The number of the queue, from 1. */
	uint32_t queue;
	/* The record. If name is not NULL there is none: the row names a new
	 * queue, whose number is `queue`. */
	const uint8_t *record;
	size_t len;
	const char *name;
};

/* From where the journal must be read. All zero: from its beginning. */
struct tkw__base {
	/* The first row that counts. */
	uint64_t first;
	/* The last row of the snapshot that begins at `first`. Up to this one,
	 * a record whose item is unknown belongs to an item that had ended
	 * before the snapshot came to it: it is skipped. */
	uint64_t whole;
};

struct tkw__store;

typedef int tkw__row_fn(const struct tkw__row *row, void *ctx);

/* The five calls. Each returns 0 or -errno. */
struct tkw__store_ops {
	/*
	 * Opens or makes the journal.
	 *
	 * why  Receives a sentence on failure.
	 *
	 *   -EMEDIUMTYPE  not a file of queues, or of a newer version
	 *   -EBADMSG      damaged
	 */
	int (*open)(struct tkw__store **out, const void *cfg, char *why,
		    size_t why_size);
	/*
	 * Appends a batch and makes it durable.
	 *
	 * last  Receives the number of its last row.
	 *
	 *   -ENOSPC  no room; nothing was appended, and a later call may work
	 *   -EBUSY   another program has locked the file for seconds, or
	 *   -ENOMEM  there is no memory; else as -ENOSPC
	 *   -EINVAL  a row is not a record; nothing was appended
	 *   -EIO     nobody knows if the batch is there; all later calls fail
	 */
	int (*append)(struct tkw__store *s, const struct tkw__row *rows,
		      size_t count, uint64_t *last);
	/* Reads all rows that count, in order, after open and before the first
	 * append. base is written before the first row is read. It stops when
	 * fn returns an error, and returns that error. A hole in the numbers or
	 * a row with a wrong checksum: -EBADMSG. */
	int (*replay)(struct tkw__store *s, tkw__row_fn *fn,
		      struct tkw__base *base, void *ctx);
	/*
	 * Says that rows before base->first are not needed any more, and
	 * removes up to max of them.
	 *
	 * Returns 1 if there are more to remove, 0, or -errno.
	 */
	int (*compact)(struct tkw__store *s, const struct tkw__base *base,
		       uint64_t max);
	/* Closes the journal; the file is whole without any other file. If the
	 * journal was not found sound, all files are left as they are. */
	int (*close)(struct tkw__store *s);
};

/* Each kind of store begins with this. */
struct tkw__store {
	const struct tkw__store_ops *ops;
	/* What is wrong, for -EIO and -ENOSPC. Static, or the store's own. */
	const char *why;
	/* Bytes of the journal that count, and of those that do not. */
	uint64_t bytes;
	/* Bytes that the file has free inside: the journal can grow by about as
	 * much although the disk is full. */
	uint64_t spare;
	/* Set by the caller when it has replayed the journal and found no
	 * fault; an append sets it too. */
	bool sound;
};

/* --- SQLite --------------------------------------------------------------- */

/* The caller holds the lock of the file (lock.h). */
struct tkw__sqlite_config {
	const char *path;
	bool to_system; /* do not sync */
};

extern const struct tkw__store_ops tkw__sqlite_store;

#endif /* TKW_STORE_STORE_H */
