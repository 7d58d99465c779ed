/* SPDX-License-Identifier: MIT */
/*
 * hint.h - pointers in 30 bits that may be wrong.
 *
 * A hint names the cache line of something that will be needed soon. It is only
 * prefetched, never dereferenced, so it may outlive what it names: a stale hint
 * merely fetches a line in vain.
 *
 * 30 bits of line number span 64 GiB. The higher bits come from the address of
 * the struct that holds the hint. If a boundary of 64 GiB lies between the two,
 * the hint fetches the wrong line, and only its help is lost.
 */
#ifndef TKW_BASE_HINT_H
#define TKW_BASE_HINT_H

#include <stdint.h>

enum {
	TKW__HINT_BITS = 30,
	TKW__LINE_BITS = 6
};

/* Makes a hint. The result has two bits more than a hint; they are lost when
 * the hint is packed. */
static inline uint32_t tkw__hint_to(const void *p)
{
	return (uint32_t)((uintptr_t)p >> TKW__LINE_BITS);
}

/* Prefetches, for writing, the line that a hint of 30 bits names. `holder` is
 * the struct that the hint is stored in. */
static inline void tkw__hint_follow(const void *holder, uint32_t hint)
{
	uint64_t span = (UINT64_C(1) << (TKW__HINT_BITS + TKW__LINE_BITS)) - 1;
	uint64_t line = ((uintptr_t)holder & ~span) | (uint64_t)hint
							      << TKW__LINE_BITS;

	__builtin_prefetch((const void *)(uintptr_t)line, 1);
}

#endif /* TKW_BASE_HINT_H */
