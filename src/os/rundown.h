/* SPDX-License-Identifier: MIT */
/*
 * rundown.h - counts the threads inside something, so that its owner can wait
 * until the last one has left.
 *
 * Idea:    threads enter and leave. The owner closes: from then on nobody can
 *          enter, and the owner waits until all who were inside have left. Then
 *          it may free the memory. One word holds the number of threads inside
 *          and a bit for closed. So a thread that adds itself learns whether it
 *          is closed, and the owner who closes it learns how many are inside.
 * Memory:  all zero is open and empty. Leaving is the last access of a thread.
 *          After it a thread uses only the address, never the memory, which may
 *          have been freed.
 */
#ifndef TKW_OS_RUNDOWN_H
#define TKW_OS_RUNDOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "os/sync.h"

#define TKW__RUNDOWN_CLOSED (UINT32_C(1) << 31)

struct tkw__rundown {
	struct tkw__a32 inside; /* number inside, and TKW__RUNDOWN_CLOSED */
};

static inline void tkw__rundown_leave(struct tkw__rundown *r)
{
	/* RELEASE pairs with the ACQUIREs of tkw__rundown_close(). */
	if (TKW__SUB(&r->inside, 1, RELEASE) == TKW__RUNDOWN_CLOSED + 1)
		tkw__unpark_all(&r->inside);
}

/* Returns false if it is closed. Then the caller must touch nothing inside. */
static inline bool tkw__rundown_enter(struct tkw__rundown *r)
{
	if (TKW__ADD(&r->inside, 1, ACQUIRE) < TKW__RUNDOWN_CLOSED)
		return true;
	tkw__rundown_leave(r);
	return false;
}

/* Lets nobody in any more, and waits for those inside. Call it once, and not
 * from inside. */
static inline void tkw__rundown_close(struct tkw__rundown *r)
{
	uint32_t inside = TKW__ADD(&r->inside, TKW__RUNDOWN_CLOSED, ACQUIRE) +
			  TKW__RUNDOWN_CLOSED;

	while (inside != TKW__RUNDOWN_CLOSED) {
		tkw__park(&r->inside, inside);
		inside = TKW__LOAD(&r->inside, ACQUIRE);
	}
}

/* The same in a forked child. It does not wait, because the threads inside
 * stayed in the parent. */
static inline void tkw__rundown_close_child(struct tkw__rundown *r)
{
	TKW__STORE(&r->inside, TKW__RUNDOWN_CLOSED, RELAXED);
}

#endif /* TKW_OS_RUNDOWN_H */
