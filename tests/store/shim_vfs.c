/* SPDX-License-Identifier: MIT */
/* shim_vfs.c - SQLite's own VFS, with writes and syncs that can fail. */
#define _GNU_SOURCE
#include "shim_vfs.h"

#include <signal.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MAX_WRITES = 256
};

struct file {
	sqlite3_file base;
	/* The real one, whose size only its VFS knows. */
	sqlite3_file *real;
	enum shim_kind kind;
};

/* A write to the log that is not on the disk. */
struct doubt {
	sqlite3_int64 at;
	int len;
	bool lost; /* a sync has failed: the next one will not help */
};

static struct {
	sqlite3_vfs vfs;
	sqlite3_vfs *real;
	struct shim_plan plan;
	uint64_t count[SHIM_CALLS];
	uint64_t bytes;
	uint64_t hits;
	shim_watch_fn *watch; /* may be NULL */
	void *watch_ctx;
	struct doubt doubts[MAX_WRITES];
	size_t doubt_count;
} shim;

static sqlite3_file *real(sqlite3_file *f)
{
	return ((struct file *)f)->real;
}

/* Counts a call. Returns true if the plan strikes. */
static bool strikes(enum shim_call call)
{
	uint64_t n = ++shim.count[call];

	if (shim.plan.call != call || shim.plan.at == 0 ||
	    (n != shim.plan.at && !(shim.plan.for_ever && n > shim.plan.at)))
		return false;
	shim.hits++;
	return true;
}

static void die(void)
{
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

static void tell(sqlite3_file *f, enum shim_event event, sqlite3_int64 at,
		 int len)
{
	struct shim_news news = { event, ((struct file *)f)->kind, at, len,
				  real(f) };

	if (shim.watch)
		shim.watch(&news, shim.watch_ctx);
}

static int write_watched(sqlite3_file *f, const void *from, int n,
			 sqlite3_int64 at)
{
	sqlite3_file *r = real(f);
	int half = n / 2;
	int rc = r->pMethods->xWrite(r, from, half, at);

	if (rc != SQLITE_OK)
		return rc;
	tell(f, SHIM_INSIDE_WRITE, at, n);
	return r->pMethods->xWrite(r, (const char *)from + half, n - half,
				   at + half);
}

static bool is_log(const sqlite3_file *f)
{
	return ((const struct file *)f)->kind == SHIM_LOG;
}

/* What is at this place, or behind it if len is -1, is gone. */
static void forget(sqlite3_int64 at, int len)
{
	size_t n = 0;

	for (size_t i = 0; i < shim.doubt_count; i++) {
		const struct doubt *d = &shim.doubts[i];

		if (len < 0 ? d->at < at : d->at != at || d->len != len)
			shim.doubts[n++] = *d;
	}
	shim.doubt_count = n;
}

static void note_write(sqlite3_int64 at, int len)
{
	forget(at, len);
	if (shim.doubt_count < MAX_WRITES)
		shim.doubts[shim.doubt_count++] =
			(struct doubt){ at, len, false };
}

static void note_sync(bool failed)
{
	size_t n = 0;

	for (size_t i = 0; i < shim.doubt_count; i++) {
		struct doubt d = shim.doubts[i];

		d.lost = d.lost || failed;
		if (d.lost)
			shim.doubts[n++] = d;
	}
	shim.doubt_count = n;
}

size_t shim_vfs_lose(uint8_t *log, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < shim.doubt_count; i++) {
		const struct doubt *d = &shim.doubts[i];

		if ((size_t)d->at + (size_t)d->len > len)
			continue;
		memset(log + d->at, 0, (size_t)d->len);
		n++;
	}
	return n;
}

static int shim_write(sqlite3_file *f, const void *from, int n,
		      sqlite3_int64 at)
{
	sqlite3_file *r = real(f);

	if (is_log(f))
		note_write(at, n);
	shim.bytes += (uint64_t)n;
	tell(f, SHIM_BEFORE_WRITE, at, n);
	if (!strikes(SHIM_WRITE))
		return shim.watch ? write_watched(f, from, n, at)
				  : r->pMethods->xWrite(r, from, n, at);
	if (shim.plan.act == SHIM_KILL)
		die();
	(void)r->pMethods->xWrite(r, from, n / 2, at);
	if (shim.plan.act == SHIM_TEAR)
		die();
	return shim.plan.code;
}

static int shim_sync(sqlite3_file *f, int flags)
{
	sqlite3_file *r = real(f);
	bool struck = strikes(SHIM_SYNC);

	if (is_log(f))
		note_sync(struck);
	if (!struck) {
		int rc = r->pMethods->xSync(r, flags);

		if (rc == SQLITE_OK)
			tell(f, SHIM_AFTER_SYNC, 0, 0);
		return rc;
	}
	if (shim.plan.act == SHIM_FAIL)
		return shim.plan.code;
	if (shim.plan.act == SHIM_TEAR)
		(void)r->pMethods->xSync(r, flags);
	die();
	return SQLITE_OK;
}

/* --- the rest goes through ------------------------------------------------ */

static int shim_close(sqlite3_file *f)
{
	sqlite3_file *r = real(f);
	int rc = r->pMethods ? r->pMethods->xClose(r) : SQLITE_OK;

	free(r);
	return rc;
}

static int shim_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	return real(f)->pMethods->xRead(real(f), to, n, at);
}

static int shim_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	tell(f, SHIM_BEFORE_TRUNCATE, size, 0);
	if (is_log(f))
		forget(size, -1);
	return real(f)->pMethods->xTruncate(real(f), size);
}

static int shim_file_size(sqlite3_file *f, sqlite3_int64 *size)
{
	return real(f)->pMethods->xFileSize(real(f), size);
}

static int shim_lock(sqlite3_file *f, int level)
{
	return real(f)->pMethods->xLock(real(f), level);
}

static int shim_unlock(sqlite3_file *f, int level)
{
	return real(f)->pMethods->xUnlock(real(f), level);
}

static int shim_check_lock(sqlite3_file *f, int *out)
{
	return real(f)->pMethods->xCheckReservedLock(real(f), out);
}

static int shim_control(sqlite3_file *f, int op, void *arg)
{
	return real(f)->pMethods->xFileControl(real(f), op, arg);
}

static int shim_sector_size(sqlite3_file *f)
{
	return real(f)->pMethods->xSectorSize(real(f));
}

static int shim_device(sqlite3_file *f)
{
	return real(f)->pMethods->xDeviceCharacteristics(real(f));
}

static int shim_shm_map(sqlite3_file *f, int page, int size, int extend,
			void volatile **out)
{
	return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
}

static int shim_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
	return real(f)->pMethods->xShmLock(real(f), at, n, flags);
}

static void shim_shm_barrier(sqlite3_file *f)
{
	real(f)->pMethods->xShmBarrier(real(f));
}

static int shim_shm_unmap(sqlite3_file *f, int delete)
{
	return real(f)->pMethods->xShmUnmap(real(f), delete);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2, /* without memory-mapped files */
	.xClose = shim_close,
	.xRead = shim_read,
	.xWrite = shim_write,
	.xTruncate = shim_truncate,
	.xSync = shim_sync,
	.xFileSize = shim_file_size,
	.xLock = shim_lock,
	.xUnlock = shim_unlock,
	.xCheckReservedLock = shim_check_lock,
	.xFileControl = shim_control,
	.xSectorSize = shim_sector_size,
	.xDeviceCharacteristics = shim_device,
	.xShmMap = shim_shm_map,
	.xShmLock = shim_shm_lock,
	.xShmBarrier = shim_shm_barrier,
	.xShmUnmap = shim_shm_unmap,
};

static enum shim_kind kind_of(int flags)
{
	if (flags & SQLITE_OPEN_MAIN_DB)
		return SHIM_DATABASE;
	if (flags & SQLITE_OPEN_WAL)
		return SHIM_LOG;
	if (flags & SQLITE_OPEN_MAIN_JOURNAL)
		return SHIM_JOURNAL;
	return SHIM_OTHER;
}

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *out,
		     int flags, int *out_flags)
{
	struct file *f = (struct file *)out;
	int rc;

	(void)vfs;
	f->base.pMethods = NULL;
	f->kind = kind_of(flags);
	f->real = calloc(1, (size_t)shim.real->szOsFile);
	if (!f->real)
		return SQLITE_NOMEM;
	rc = shim.real->xOpen(shim.real, name, f->real, flags, out_flags);
	if (rc != SQLITE_OK) {
		free(f->real);
		return rc;
	}
	f->base.pMethods = &methods;
	return SQLITE_OK;
}

void shim_vfs_install(void)
{
	shim.real = sqlite3_vfs_find(NULL);
	shim.vfs = *shim.real;
	shim.vfs.pNext = NULL;
	shim.vfs.zName = "shim";
	shim.vfs.szOsFile = (int)sizeof(struct file);
	shim.vfs.xOpen = shim_open;
	shim_vfs_plan(NULL);
	shim.doubt_count = 0;
	if (sqlite3_vfs_register(&shim.vfs, 1) != SQLITE_OK)
		abort();
}

void shim_vfs_watch(shim_watch_fn *fn, void *ctx)
{
	shim.watch = fn;
	shim.watch_ctx = ctx;
}

void shim_vfs_remove(void)
{
	shim_vfs_watch(NULL, NULL);
	sqlite3_vfs_unregister(&shim.vfs);
	sqlite3_vfs_register(shim.real, 1);
}

void shim_vfs_plan(const struct shim_plan *plan)
{
	static const struct shim_plan none = { .at = 0 };

	shim.plan = plan ? *plan : none;
	for (int i = 0; i < SHIM_CALLS; i++)
		shim.count[i] = 0;
	shim.bytes = 0;
	shim.hits = 0;
}

uint64_t shim_vfs_count(enum shim_call call)
{
	return shim.count[call];
}

uint64_t shim_vfs_bytes(void)
{
	return shim.bytes;
}

uint64_t shim_vfs_hits(void)
{
	return shim.hits;
}
