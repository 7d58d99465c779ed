/* SPDX-License-Identifier: MIT */
/*
 * explore_sync.h - replaces src/os/sync.h in scenarios that do not explore the
 * lock itself. There, taking the lock is one step. It is included like
 * explore_atomic.h.
 */
#ifndef TKW_OS_SYNC_H
#define TKW_OS_SYNC_H

#include "explore_atomic.h" /* IWYU pragma: export */

struct tkw__lock {
	uint32_t holder;
};

#define tkw__lock_take(l)                                                      \
	explore_lock_take(EXPLORE_SPOT("take", #l), &(l)->holder)
#define tkw__lock_try(l) explore_lock_try(EXPLORE_SPOT("try", #l), &(l)->holder)
#define tkw__lock_wait(l) tkw__lock_take(l)
#define tkw__lock_take_first(l) tkw__lock_take(l)
#define tkw__lock_drop(l)                                                      \
	explore_lock_drop(EXPLORE_SPOT("drop", #l), &(l)->holder)
#define tkw__lock_drop_last(l) (tkw__lock_drop(l), 0)
#define tkw__lock_let_in(l)                                                    \
	explore_lock_let_in(EXPLORE_SPOT("let in", #l), &(l)->holder)

#endif /* TKW_OS_SYNC_H */
