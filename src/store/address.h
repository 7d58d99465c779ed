/* SPDX-License-Identifier: MIT */
/*
 * address.h - the address of the socket beside a file of queues.
 *
 * The address of a socket has room for 107 bytes only. If the path is longer,
 * its folder is opened, and the address is /proc/self/fd/N and the name of the
 * socket. So only the name of the file itself is limited, to about 80 bytes.
 */
#ifndef TKW_STORE_ADDRESS_H
#define TKW_STORE_ADDRESS_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "store/wire.h"

struct tkw__address {
	struct sockaddr_un un;
	int folder; /* to be closed after the address was used, or -1 */
};

/* Opens the folder of a path. Returns a descriptor or -errno. */
static inline int tkw__address_open_folder(const char *file, size_t len)
{
	char folder[PATH_MAX];
	int fd;

	if (len >= sizeof(folder))
		return -ENAMETOOLONG;
	memcpy(folder, file, len);
	folder[len] = '\0';
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * Makes the address of the socket of a file.
 *
 * Returns 0, -ENAMETOOLONG, or an error of open().
 */
static inline int tkw__address_make(struct tkw__address *a, const char *file)
{
	const char *slash = strrchr(file, '/');
	size_t room = sizeof(a->un.sun_path);
	int n;

	memset(a, 0, sizeof(*a));
	a->un.sun_family = AF_UNIX;
	a->folder = -1;
	n = snprintf(a->un.sun_path, room, "%s%s", file, TKW__WIRE_SUFFIX);
	if (n > 0 && (size_t)n < room)
		return 0;
	if (!slash)
		return -ENAMETOOLONG;
	a->folder = tkw__address_open_folder(file, (size_t)(slash - file) + 1);
	if (a->folder < 0)
		return a->folder;
	n = snprintf(a->un.sun_path, room, "/proc/self/fd/%d/%s%s", a->folder,
		     slash + 1, TKW__WIRE_SUFFIX);
	if (n > 0 && (size_t)n < room)
		return 0;
	(void)close(a->folder);
	a->folder = -1;
	return -ENAMETOOLONG;
}

static inline void tkw__address_free(struct tkw__address *a)
{
	if (a->folder >= 0)
		(void)close(a->folder);
	a->folder = -1;
}

#endif /* TKW_STORE_ADDRESS_H */
