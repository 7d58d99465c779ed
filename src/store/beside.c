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

/* The real folder of a file, with a slash at its end. */
static int real_folder(char **out, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder =
		slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
	char *real;

	if (!folder)
		return -ENOMEM;
	real = realpath(folder, NULL);
	free(folder);
	if (!real)
		return -errno;
	*out = tkw__beside(real, strcmp(real, "/") == 0 ? "" : "/");
	free(real);
	return *out ? 0 : -ENOMEM;
}

/* The path without a symbolic link in its folder. */
static int new_path(char **out, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder;
	int err = real_folder(&folder, path);

	if (err)
		return err;
	*out = tkw__beside(folder, slash ? slash + 1 : path);
	free(folder);
	return *out ? 0 : -ENOMEM;
}

/* Where a link leads. Returns 1, 0 if it is no link, or -errno. */
static int follow(char **out, const char *path)
{
	char to[PATH_MAX];
	ssize_t len = readlink(path, to, sizeof(to) - 1);
	char *folder;
	int err;

	if (len < 0)
		return errno == EINVAL || errno == ENOENT ? 0 : -errno;
	to[len] = 0;
	if (to[0] == '/') {
		*out = strdup(to);
		return *out ? 1 : -ENOMEM;
	}
	err = real_folder(&folder, path);
	if (err)
		return err;
	*out = tkw__beside(folder, to);
	free(folder);
	return *out ? 1 : -ENOMEM;
}

/* The real path of a file that is not there yet. A link may lead to it: SQLite
 * would follow it and make the file at its end. */
static int missing_path(char **out, const char *path)
{
	char *at = strdup(path);
	int err = at ? 1 : -ENOMEM;

	for (int i = 0; err == 1; i++) {
		char *next = NULL;

		err = i < MAX_LINKS ? follow(&next, at) : -ELOOP;
		if (err == 1) {
			free(at);
			at = next;
		}
	}
	if (!err && at[0] && at[strlen(at) - 1] == '/')
		err = -EISDIR;
	if (!err)
		err = new_path(out, at);
	free(at);
	return err;
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
	return errno == ENOENT ? missing_path(out, path) : -errno;
}
