/* SPDX-License-Identifier: MIT */
/*
 * lock.c - FILE-lock.
 *
 * An owner removes FILE-lock while it still holds the lock. Who has opened it
 * just before then gets the lock of a file that has no name any more. So each
 * looks, when it has the lock, whether the name still leads to its file, and
 * begins anew if it does not.
 */
#define _GNU_SOURCE
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/beside.h"

enum {
	LOOKS = 100 /* for the pid, a millisecond apart */
};

static int lock_fd(int fd)
{
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EINTR)
			return errno == EWOULDBLOCK ? -EBUSY : -errno;
	}
	return 0;
}

static int64_t read_pid(int fd)
{
	char text[24] = { 0 };
	ssize_t len = pread(fd, text, sizeof(text) - 1, 0);

	/* Without the line's end, it is still being written. */
	if (len <= 0 || !strchr(text, '\n'))
		return 0;
	return strtoll(text, NULL, 10);
}

/* The owner writes its pid right after it has got the lock. */
static int64_t owner_of(int fd)
{
	const struct timespec ms = { 0, 1000000 };
	int64_t pid = read_pid(fd);

	for (int i = 0; pid <= 0 && i < LOOKS; i++) {
		nanosleep(&ms, NULL);
		pid = read_pid(fd);
	}
	/* A child of a fork may hold the lock of an owner that has died. */
	if (pid <= 0 || (kill((pid_t)pid, 0) != 0 && errno == ESRCH))
		return 0;
	return pid;
}

static int write_pid(int fd)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%" PRId64 "\n",
			   (int64_t)getpid());

	if (ftruncate(fd, 0) != 0)
		return -errno;
	if (pwrite(fd, text, (size_t)len, 0) == len)
		return 0;
	/* On a full disk the lock is as good without the pid. */
	return errno == ENOSPC || errno == EDQUOT ? 0 : -errno;
}

static bool has_name(int fd, const char *path)
{
	struct stat mine;
	struct stat named;

	return fstat(fd, &mine) == 0 && stat(path, &named) == 0 &&
	       mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

/* Returns 1 if the file has lost its name meanwhile. */
static int try_once(struct tkw__file_lock *lock, int64_t *pid)
{
	int fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		      0644);
	int err;

	if (fd < 0)
		return -errno;
	err = lock_fd(fd);
	if (err == -EBUSY && pid)
		*pid = owner_of(fd);
	if (!err && !has_name(fd, lock->path))
		err = 1;
	if (!err)
		err = write_pid(fd);
	if (err)
		close(fd);
	else
		lock->fd = fd;
	return err;
}

int tkw__file_lock_take(struct tkw__file_lock *lock, const char *path,
			int64_t *pid)
{
	int err;

	*lock = (struct tkw__file_lock){ -1, tkw__beside(path, "-lock") };
	if (!lock->path)
		return -ENOMEM;
	do
		err = try_once(lock, pid);
	while (err == 1);
	if (err) {
		free(lock->path);
		lock->path = NULL;
	}
	return err;
}

void tkw__file_lock_leave(struct tkw__file_lock *lock)
{
	if (!lock->path)
		return;
	close(lock->fd);
	free(lock->path);
	*lock = (struct tkw__file_lock){ -1, NULL };
}

void tkw__file_lock_drop(struct tkw__file_lock *lock)
{
	if (lock->path)
		unlink(lock->path);
	tkw__file_lock_leave(lock);
}
