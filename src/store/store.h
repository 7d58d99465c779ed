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
 *            returns 0, the batch is on the disk. With to_system, the operating
 *            system has it.
 *   Snapshot Live items are copied forward: the desk appends an ITEM record for
 *            each, in many batches, with other records between them. Then the
 *            rows before the first of these are not needed any more. The desk
 *            calls compact() to say so.
 *   Threads  None. The caller makes one call at a time.
 */
#ifndef TKW_STORE_STORE_H
#define TKW_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One row. */
struct tkw__row {
	/* Set by replay: append numbers the records itself. A store may leave
	 * names without a number; SQLite replays all names first, with 0. */
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
	 *   -ENOSPC  there is no room
	 *   -EBUSY   another program has locked the file for seconds
	 *   -ENOMEM  there is no memory
	 *   -EINVAL  a row is not a record
	 *   -EIO     nobody knows if the batch is there; all later calls fail
	 *
	 * Except for -EIO, nothing was appended, and a later call may work.
	 */
	int (*append)(struct tkw__store *s, const struct tkw__row *rows,
		      size_t count, uint64_t *last);
	/* Reads all rows that count, in order, after open and before the first
	 * append. base is set before the first row is read. If fn returns an
	 * error, replay stops and returns that error. It returns -EBADMSG if a
	 * number is missing, or if a row has a wrong checksum. */
	int (*replay)(struct tkw__store *s, tkw__row_fn *fn,
		      struct tkw__base *base, void *ctx);
	/*
	 * Says that rows before base->first are not needed any more, and
	 * removes up to max of them.
	 *
	 * max  UINT64_MAX: nobody waits. The store removes them as it is
	 *      cheapest, and may remove all of them in this call.
	 *
	 * Returns 1 if there are more to remove, 0, or -errno. The errors are
	 * those of append. After an error, all rows are there, or only those
	 * from base->first on.
	 */
	int (*compact)(struct tkw__store *s, const struct tkw__base *base,
		       uint64_t max);
	/* Closes the journal. Then the file is complete without any other file,
	 * unless another program reads it or the disk has failed. If `sound` is
	 * not set, all files are left as they are. */
	int (*close)(struct tkw__store *s);
};

/* Each kind of store begins with this. */
struct tkw__store {
	const struct tkw__store_ops *ops;
	/* What is wrong, for -EIO and -ENOSPC. Static, or the store's own. */
	const char *why;
	/* Bytes of the whole journal, with the rows that are not needed any
	 * more. */
	uint64_t bytes;
	/* Free bytes inside the file. The journal can grow by about this much
	 * even if the disk is full. */
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
