/* SPDX-License-Identifier: MIT */
/* reserve.c - FILE-reserve. */
#define _GNU_SOURCE
#include "store/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "store/beside.h"

/* Where the file system has no fallocate(), libc writes to each block. */
static int take_room(const struct tkw__reserve *r)
{
	int err;

	do
		err = posix_fallocate(r->fd, 0, (off_t)r->bytes);
	while (err == EINTR);
	return -err;
}

static void give_room(const struct tkw__reserve *r)
{
	while (ftruncate(r->fd, 0) != 0 && errno == EINTR)
		;
}

static int open_file(struct tkw__reserve *r)
{
	if (r->fd < 0)
		r->fd = open(r->path,
			     O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC |
				     O_NOFOLLOW,
			     0644);
	return r->fd < 0 ? -errno : 0;
}

static bool is_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT;
}

bool tkw__reserve_get(void *reserve)
{
	struct tkw__reserve *r = reserve;
	int err;

	if (!r->path || r->held)
		return true;
	err = open_file(r);
	if (!err) {
		err = take_room(r);
		if (err)
			give_room(r); /* a part may have been taken */
	}
	r->held = !err;
	if (err && !is_full(err))
		tkw__reserve_close(r);
	return !r->path || r->held;
}

bool tkw__reserve_give(void *reserve)
{
	struct tkw__reserve *r = reserve;

	if (!r->held)
		return false;
	give_room(r);
	r->held = false;
	return true;
}

int tkw__reserve_open(struct tkw__reserve *r, const char *path, int64_t bytes)
{
	int err;

	*r = (struct tkw__reserve){ .fd = -1, .bytes = bytes };
	if (bytes <= 0)
		return 0;
	r->path = tkw__beside(path, "-reserve");
	if (!r->path)
		return -ENOMEM;
	err = open_file(r);
	/* Without room for a name there is none for a reserve. */
	if (err && !is_full(err)) {
		tkw__reserve_leave(r);
		return err;
	}
	(void)tkw__reserve_get(r);
	return 0;
}

void tkw__reserve_leave(struct tkw__reserve *r)
{
	if (r->fd >= 0)
		close(r->fd);
	free(r->path);
	*r = (struct tkw__reserve){ .fd = -1 };
}

void tkw__reserve_close(struct tkw__reserve *r)
{
	if (r->fd >= 0)
		unlink(r->path);
	tkw__reserve_leave(r);
}
