/* SPDX-License-Identifier: MIT */
/*
 * reserve.h - room that is kept on the disk for the time when the disk is full.
 *
 * FILE-reserve takes up room that nobody uses. When the disk is full, this room
 * is released. Then there is room for acks, which make room in the long run.
 *
 * Only a full disk is waited for. If the room cannot be had for another reason,
 * like a file system that cannot do this or a limit of the size of files, the
 * reserve is given up for good.
 */
#ifndef TKW_STORE_RESERVE_H
#define TKW_STORE_RESERVE_H

#include <stdbool.h>
#include <stdint.h>

struct tkw__reserve {
	int fd;     /* -1: there is no file */
	char *path; /* NULL: no reserve is wanted, or it was given up */
	int64_t bytes;
	bool held;
};

/*
 * Makes FILE-reserve. If the disk has no room for it, this is no error: then
 * the reserve is not held, and tkw__reserve_get() tries it again.
 *
 * path   The real path of the file.
 * bytes  How much. Not above 0: no reserve is made.
 *
 * Returns 0, -ENOMEM, or the error of the system.
 */
int tkw__reserve_open(struct tkw__reserve *r, const char *path, int64_t bytes);

/* These fit struct tkw__desk_reserve; the argument is the reserve. */

/* Releases the room. Returns false if it was not held. */
bool tkw__reserve_give(void *reserve);
/* Takes the room again. Returns true if it is held now, or if no reserve is
 * wanted. After another error than that of a full disk, none is wanted any
 * more. */
bool tkw__reserve_get(void *reserve);

/* Removes FILE-reserve. */
void tkw__reserve_close(struct tkw__reserve *r);

/* In a child of fork(): leaves FILE-reserve to the parent. */
void tkw__reserve_leave(struct tkw__reserve *r);

#endif /* TKW_STORE_RESERVE_H */
