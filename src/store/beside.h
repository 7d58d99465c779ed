/* SPDX-License-Identifier: MIT */
/*
 * beside.h - the names of the files beside a file of queues.
 *
 * One file can have many names: by symbolic links, or relative to a folder. All
 * of them must lead to the same lock. So the names of the files beside it are
 * made from the real path. Hard links are not noticed: each has a lock of its
 * own.
 */
#ifndef TKW_STORE_BESIDE_H
#define TKW_STORE_BESIDE_H

/*
 * Gets the absolute path without symbolic links. The file need not exist, but
 * its folder must. A link to a file that does not exist is followed.
 *
 * out  Receives the path. Free it with free().
 *
 * Returns 0, -ENOMEM, or the error of the system, for example -ENOENT.
 */
int tkw__real_path(char **out, const char *path);

/* Returns the path with the suffix appended. Free it with free(). Returns NULL
 * if there is no memory. */
char *tkw__beside(const char *path, const char *suffix);

#endif /* TKW_STORE_BESIDE_H */
