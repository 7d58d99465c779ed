/* SPDX-License-Identifier: MIT */
/*
 * lock.h - one owner of a file at a time.
 *
 * The owner holds a lock on FILE-lock, and its pid is written there. The lock
 * belongs to an open file description (flock), so a second open in the same
 * process is refused as well. The system drops the lock when its owner dies.
 * Then FILE-lock stays behind, and the next owner takes it over.
 *
 * The lock is not on the file of queues itself: SQLite would lose its own locks
 * there when that descriptor is closed.
 *
 * A child of fork() shares the lock until it calls tkw__file_lock_leave(), runs
 * another program or ends.
 */
#ifndef TKW_STORE_LOCK_H
#define TKW_STORE_LOCK_H

#include <stdint.h>

struct tkw__file_lock {
	int fd; /* -1: not held */
	char *path;
};

/*
 * Takes the lock of a file.
 *
 * path  The real path of the file: see tkw__real_path().
 * pid   Receives the process that has the lock, on -EBUSY; 0 if it is not
 *       known. May be NULL.
 *
 * Returns 0, or
 *   -EBUSY   another process, or this one, has the lock
 *   -ENOMEM, or the error of the system, for example -EACCES
 */
int tkw__file_lock_take(struct tkw__file_lock *lock, const char *path,
			int64_t *pid);

/* Drops the lock, and removes FILE-lock. If it is not held, nothing is done. */
void tkw__file_lock_drop(struct tkw__file_lock *lock);

/* In a child of fork(): leaves the lock and FILE-lock to the parent. */
void tkw__file_lock_leave(struct tkw__file_lock *lock);

#endif /* TKW_STORE_LOCK_H */
