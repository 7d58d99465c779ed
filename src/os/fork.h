/* SPDX-License-Identifier: MIT */
/*
 * fork.h - detects objects that a parent process made.
 *
 * Each object of the library remembers the epoch of the process that made it.
 * The epoch is in a page that the kernel gives to each child as zeros
 * (MADV_WIPEONFORK), whatever call made the child. So no handler has to run,
 * and a check is one load. Kernels before Linux 4.14 do not know this advice.
 * There pthread_atfork() clears the page, and a _Fork() is not noticed.
 */
#ifndef TKW_OS_FORK_H
#define TKW_OS_FORK_H

#include <stdbool.h>
#include <stdint.h>

#include "os/sync.h"

struct tkw__process {
	struct tkw__a32 epoch; /* 0 if nothing was made yet */
	/* The lock is in the page too, so that a child finds it free even if a
	 * thread of the parent held it. */
	struct tkw__lock lock;
};

/* Points to the page. It is set before any object is made, and never changes.
 * (The page is not in the library's own data, because there it would have to be
 * aligned to the largest page size of any machine, and valgrind does not read
 * the symbols of such a library.) */
extern struct tkw__process_at {
	struct tkw__process *v;
} tkw__process_at;

/* Gets the epoch for a new object. Returns 0 or -ENOMEM. */
int tkw__epoch_get(uint32_t *epoch);

/* True if an object with this epoch was made by a parent process. */
static inline bool tkw__is_child(uint32_t epoch)
{
	return TKW__GLANCE(&TKW__GLANCE(&tkw__process_at)->epoch) != epoch;
}

#endif /* TKW_OS_FORK_H */
