/* SPDX-License-Identifier: MIT */
/*
 * hint.h - pointers in 30 bits that may be wrong.
 *
 * A hint names the cache line of something that will be needed soon. It is only
 * ever prefetched, never read through, so that it may outlive what it names:
 * the worst that a stale hint can do is to fetch a line in vain.
 *
 * 30 bits of line number span 64 GiB; the bits above are taken from the address
 * of the one who holds the hint. Where a boundary of 64 GiB lies between the
 * two the help is lost, and no more.
 */
#ifndef TKW_BASE_HINT_H
#define TKW_BASE_HINT_H

#include <stdint.h>

enum {
	TKW__HINT_BITS = 30,
	TKW__LINE_BITS = 6
};

/* The highest two bits are for whoever packs the hint to drop. */
static inline uint32_t tkw__hint_to(const void *p)
{
	return (uint32_t)((uintptr_t)p >> TKW__LINE_BITS);
}

/* Fetch the line that a hint of 30 bits names; it will be written to. */
static inline void tkw__hint_follow(const void *holder, uint32_t hint)
{
	uint64_t span = (UINT64_C(1) << (TKW__HINT_BITS + TKW__LINE_BITS)) - 1;
	uint64_t line = ((uintptr_t)holder & ~span) | (uint64_t)hint
							      << TKW__LINE_BITS;

	__builtin_prefetch((const void *)(uintptr_t)line, 1);
}

#endif /* TKW_BASE_HINT_H */
