/* SPDX-License-Identifier: MIT */
/*
 * rundown.h - who is inside, so that the last one out may be waited for.
 *
 * Threads enter something and leave it. Its owner closes it: nobody enters any
 * more, and the owner waits until all who were inside have left; then it may be
 * freed. One word holds the number of those inside and whether it is closed:
 * who adds itself learns whether it is closed, and who closes it learns who is
 * inside. To leave is the last that a thread does with it: of memory that was
 * freed by then only the address is looked at. All zero is open and empty.
 */
#ifndef TKW_OS_RUNDOWN_H
#define TKW_OS_RUNDOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "os/sync.h"

#define TKW__RUNDOWN_CLOSED (UINT32_C(1) << 31)

struct tkw__rundown {
	struct tkw__a32 inside; /* how many; and TKW__RUNDOWN_CLOSED */
};

static inline void tkw__rundown_leave(struct tkw__rundown *r)
{
	/* RELEASE pairs with the ACQUIREs of tkw__rundown_close(). */
	if (TKW__SUB(&r->inside, 1, RELEASE) == TKW__RUNDOWN_CLOSED + 1)
		tkw__unpark_all(&r->inside);
}

/* Return  false: it is closed, and nothing in it may be touched. */
static inline bool tkw__rundown_enter(struct tkw__rundown *r)
{
	if (TKW__ADD(&r->inside, 1, ACQUIRE) < TKW__RUNDOWN_CLOSED)
		return true;
	tkw__rundown_leave(r);
	return false;
}

/* Let nobody in any more, and wait for those inside. Once, and not from
 * inside. */
static inline void tkw__rundown_close(struct tkw__rundown *r)
{
	uint32_t inside = TKW__ADD(&r->inside, TKW__RUNDOWN_CLOSED, ACQUIRE) +
			  TKW__RUNDOWN_CLOSED;

	while (inside != TKW__RUNDOWN_CLOSED) {
		tkw__park(&r->inside, inside);
		inside = TKW__LOAD(&r->inside, ACQUIRE);
	}
}

/* The same in a forked child, where those inside have stayed in the parent. */
static inline void tkw__rundown_close_child(struct tkw__rundown *r)
{
	TKW__STORE(&r->inside, TKW__RUNDOWN_CLOSED, RELAXED);
}

#endif /* TKW_OS_RUNDOWN_H */
