/* SPDX-License-Identifier: MIT */
/* beside.c - the names of the files beside a file of queues. */
#define _GNU_SOURCE
#include "store/beside.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

char *tkw__beside(const char *path, const char *suffix)
{
	size_t size = strlen(path) + strlen(suffix) + 1;
	char *name = malloc(size);

	if (name)
		snprintf(name, size, "%s%s", path, suffix);
	return name;
}

enum {
	MAX_LINKS = 40 /* as in the system */
};

/* The real folder of a file, with a slash at its end. The functions here return
 * NULL and set errno if they fail. */
static char *real_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder =
		slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
	char *real = folder ? realpath(folder, NULL) : NULL;
	char *out = NULL;

	if (real)
		out = tkw__beside(real, strcmp(real, "/") == 0 ? "" : "/");
	free(real);
	free(folder);
	return out;
}

/* The path of a name in the real folder of a file. */
static char *in_folder_of(const char *path, const char *name)
{
	char *folder = real_folder(path);
	char *out = folder ? tkw__beside(folder, name) : NULL;

	free(folder);
	return out;
}

/* Where a link leads. If it is no link, errno is 0. */
static char *follow(const char *path)
{
	char to[PATH_MAX];
	ssize_t len = readlink(path, to, sizeof(to) - 1);

	if (len < 0) {
		if (errno == EINVAL || errno == ENOENT)
			errno = 0;
		return NULL;
	}
	to[len] = 0;
	return to[0] == '/' ? strdup(to) : in_folder_of(path, to);
}

/* Follows links to the end, which need not exist. */
static char *follow_all(const char *path)
{
	char *at = strdup(path);

	for (int i = 0; at; i++) {
		char *next = follow(at);

		if (!next && errno == 0)
			return at;
		free(at);
		at = next;
		if (i == MAX_LINKS) {
			free(at);
			errno = ELOOP;
			return NULL;
		}
	}
	return NULL;
}

/* The real path of a file that is not there yet. A link may lead to it: SQLite
 * would follow it and make the file at its end. */
static char *missing_path(const char *path)
{
	char *at = follow_all(path);
	const char *slash = at ? strrchr(at, '/') : NULL;
	char *out = NULL;

	if (slash && slash[1] == 0)
		errno = EISDIR;
	else if (at)
		out = in_folder_of(at, slash ? slash + 1 : at);
	free(at);
	return out;
}

int tkw__real_path(char **out, const char *path)
{
	size_t len = strlen(path);
	char *real;

	if (len == 0)
		return -ENOENT;
	if (path[len - 1] == '/')
		return -EISDIR;
	real = realpath(path, NULL);
	if (!real && errno == ENOENT)
		real = missing_path(path);
	if (!real)
		return -errno;
	*out = real;
	return 0;
}
