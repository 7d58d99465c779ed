/* SPDX-License-Identifier: MIT */
/*
 * fork.h - was it made by a parent of this process?
 *
 * What the library makes remembers the epoch of its process. The epoch is in a
 * page that the kernel hands to each child as zeros (MADV_WIPEONFORK), by
 * whatever call the child was made: no handler has to run, and to look is a
 * load. Where the kernel does not know that (before Linux 4.14),
 * pthread_atfork() clears the page, and _Fork() is not noticed.
 */
#ifndef TKW_OS_FORK_H
#define TKW_OS_FORK_H

#include <stdbool.h>
#include <stdint.h>

#include "os/sync.h"

struct tkw__process {
	struct tkw__a32 epoch; /* 0: nothing was made yet */
	/* In here too: a child finds it free, whoever had it. */
	struct tkw__lock lock;
};

/* Where the page is: there before anything is made, and never changed. (Not in
 * the library's own data: a page of its own there must be aligned to the
 * largest page of any machine, which valgrind does not read.) */
extern struct tkw__process_at {
	struct tkw__process *v;
} tkw__process_at;

/* The epoch for what is made now. Return  0 or -ENOMEM. */
int tkw__epoch_get(uint32_t *epoch);

/* Is what was made in this epoch a parent's? */
static inline bool tkw__is_child(uint32_t epoch)
{
	return TKW__GLANCE(&TKW__GLANCE(&tkw__process_at)->epoch) != epoch;
}

#endif /* TKW_OS_FORK_H */
