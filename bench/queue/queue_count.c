/* SPDX-License-Identifier: MIT */
/*
 * queue_count.c - counts what this process writes to disks, in blocks of 4 KiB,
 * and its syncs.
 *
 * The functions replace those of libc, also for SQLite. A block that is written
 * twice between two syncs counts twice, unless the second write begins where
 * the first one has ended. The system counts too (write_bytes in /proc/PID/io),
 * but a page that belongs to a large folio makes it count the whole folio.
 */
#include "queue_bench.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <unistd.h>

enum {
	BLOCK = 4096,
	FILES = 1024
};

/* Sums of all threads. Nothing depends on their order. */
static _Atomic uint64_t blocks;
static _Atomic uint64_t syncs;
static _Atomic int64_t sync_ns;
/* For each descriptor, the last block that was written since the last sync,
 * plus 1; or 0. */
static _Atomic int64_t last_blocks[FILES];

uint64_t queue_written(void)
{
	return atomic_load_explicit(&blocks, memory_order_relaxed) * BLOCK;
}

uint64_t queue_syncs(void)
{
	return atomic_load_explicit(&syncs, memory_order_relaxed);
}

int64_t queue_sync_ns(void)
{
	return atomic_load_explicit(&sync_ns, memory_order_relaxed);
}

static void count(int fd, ssize_t bytes, off_t at)
{
	int64_t first = at / BLOCK;
	int64_t last = (at + bytes - 1) / BLOCK;
	int64_t before = 0;

	if (bytes <= 0)
		return;
	if (fd < FILES)
		before = atomic_exchange_explicit(&last_blocks[fd], last + 1,
						  memory_order_relaxed);
	atomic_fetch_add_explicit(
		&blocks, (uint64_t)(last - first + (before != first + 1)),
		memory_order_relaxed);
}

static void forget(int fd)
{
	if (fd >= 0 && fd < FILES)
		atomic_store_explicit(&last_blocks[fd], 0,
				      memory_order_relaxed);
}

/* Returns libc's own function. */
static void *real(const char *name)
{
	void *fn = dlsym(RTLD_NEXT, name);

	if (fn == NULL)
		rival_die("a function of libc was not found");
	return fn;
}

typedef ssize_t pwrite_fn(int fd, const void *bytes, size_t len, off_t at);
typedef int sync_fn(int fd);

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
	static _Atomic(pwrite_fn *) libc;
	pwrite_fn *fn = atomic_load_explicit(&libc, memory_order_relaxed);
	ssize_t done;

	if (fn == NULL) {
		fn = (pwrite_fn *)real("pwrite64");
		atomic_store_explicit(&libc, fn, memory_order_relaxed);
	}
	done = fn(fd, bytes, len, at);
	count(fd, done, at);
	return done;
}

/* Both names are the same where off_t has 64 bits. */
ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at)
{
	return pwrite(fd, bytes, len, at);
}

int fdatasync(int fd)
{
	static _Atomic(sync_fn *) libc;
	sync_fn *fn = atomic_load_explicit(&libc, memory_order_relaxed);
	int64_t begin = rival_now();
	int err;

	if (fn == NULL) {
		fn = (sync_fn *)real("fdatasync");
		atomic_store_explicit(&libc, fn, memory_order_relaxed);
	}
	forget(fd);
	err = fn(fd);
	atomic_fetch_add_explicit(&syncs, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&sync_ns, rival_now() - begin,
				  memory_order_relaxed);
	return err;
}
