/* SPDX-License-Identifier: MIT */
/*
 * shim_vfs.h - a layer between SQLite and the system that can fail.
 *
 * It counts writes and syncs of SQLite's files, and at the n-th one it returns
 * an error or kills the process. So a test can sweep over all of them.
 */
#ifndef SHIM_VFS_H
#define SHIM_VFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shim_call {
	SHIM_WRITE,
	SHIM_SYNC,
	SHIM_CALLS
};

enum shim_act {
	/* Returns plan.code. A write has written its first half. */
	SHIM_FAIL,
	SHIM_KILL, /* before the call does anything */
	SHIM_TEAR, /* a write: after its first half; a sync: after it */
};

struct shim_plan {
	enum shim_call call;
	enum shim_act act;
	uint64_t at;   /* the n-th call from now on; 0: never */
	bool for_ever; /* and all that follow */
	int code;      /* of SQLite, for SHIM_FAIL */
};

/* What a watcher is told, on the thread that writes. */
enum shim_event {
	SHIM_BEFORE_WRITE,
	SHIM_INSIDE_WRITE, /* its first half is written */
	SHIM_AFTER_SYNC,
	SHIM_BEFORE_TRUNCATE,
};

enum shim_kind {
	SHIM_DATABASE,
	SHIM_LOG,
	SHIM_JOURNAL,
	SHIM_OTHER,
};

struct shim_news {
	enum shim_event event;
	enum shim_kind kind;
	/* Of a write. */
	int64_t at;
	int len;
	struct sqlite3_file *file; /* the real one */
};

/* With a watcher, a write is done in two halves. */
typedef void shim_watch_fn(const struct shim_news *news, void *ctx);
void shim_vfs_watch(shim_watch_fn *fn, void *ctx);

/* From now on, files that SQLite opens go through the shim. Another plan is
 * made with shim_vfs_plan(). */
void shim_vfs_install(void);
/* All files must be closed. */
void shim_vfs_remove(void);

/* Sets a plan and the counts to 0. NULL: nothing fails. */
void shim_vfs_plan(const struct shim_plan *plan);
uint64_t shim_vfs_count(enum shim_call call);
/* How many bytes were written since the last plan. */
uint64_t shim_vfs_bytes(void);
/* How often the plan has struck. */
uint64_t shim_vfs_hits(void);

/*
 * After a sync that has failed, the system takes what it had to write for
 * written. It can still be read, but a loss of power takes it away.
 *
 * Overwrites in a copy of the log what the disk does not have. Returns how many
 * writes these are.
 */
size_t shim_vfs_lose(uint8_t *log, size_t len);

#endif /* SHIM_VFS_H */
