/* SPDX-License-Identifier: MIT */
/* beside.c - the names of the files beside a file of queues. */
#define _GNU_SOURCE
#include "store/beside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *tkw__beside(const char *path, const char *suffix)
{
	size_t size = strlen(path) + strlen(suffix) + 1;
	char *name = malloc(size);

	if (name)
		snprintf(name, size, "%s%s", path, suffix);
	return name;
}

/* The real path of a file that is not there yet: that of its folder. */
static int new_path(char **out, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char *folder =
		slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
	char *real;

	if (!folder)
		return -ENOMEM;
	real = realpath(folder, NULL);
	free(folder);
	if (!real)
		return -errno;
	folder = tkw__beside(real, strcmp(real, "/") == 0 ? "" : "/");
	free(real);
	if (!folder)
		return -ENOMEM;
	*out = tkw__beside(folder, name);
	free(folder);
	return *out ? 0 : -ENOMEM;
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
	if (real) {
		*out = real;
		return 0;
	}
	return errno == ENOENT ? new_path(out, path) : -errno;
}
