/* SPDX-License-Identifier: MIT */
/*
 * bitset.h - a set of small numbers that finds its next member fast.
 *
 * Idea:   a tree of 64-bit words. A bit of level 0 is a member. A bit of level
 *         n + 1 says that its word of level n is not zero. Five levels hold
 *         2^30 members. An add, a drop or a search takes at most one step per
 *         level up and down, and usually just one step in all.
 * Memory: the caller provides tkw__bitset_words() words, which hold all levels.
 */
#ifndef TKW_BASE_BITSET_H
#define TKW_BASE_BITSET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"

enum {
	TKW__BITSET_LEVELS = 5
};

/* Returned when there is no member to return. */
#define TKW__BITSET_NONE UINT32_MAX

struct tkw__bitset {
	uint64_t *level[TKW__BITSET_LEVELS];
	uint32_t words[TKW__BITSET_LEVELS];
	uint32_t levels;
};

/* How many words a set of the numbers 0 ... size - 1 takes. size must not
 * exceed 2^30. */
static inline uint64_t tkw__bitset_words(uint64_t size)
{
	uint64_t words = 0;

	do {
		size = (size + 63) / 64;
		words += size;
	} while (size > 1);
	return words;
}

/* Makes an empty set in tkw__bitset_words(size) words of memory. */
static inline void tkw__bitset_init(struct tkw__bitset *b, uint64_t *mem,
				    uint64_t size)
{
	b->levels = 0;
	do {
		size = (size + 63) / 64;
		b->level[b->levels] = mem;
		b->words[b->levels] = (uint32_t)size;
		b->levels++;
		for (uint64_t i = 0; i < size; i++)
			*mem++ = 0;
	} while (size > 1);
}

/* Tells the levels above that word i of level 0 has become zero, or is no
 * longer zero. */
static inline void tkw__bitset_above(struct tkw__bitset *b, uint32_t i,
				     bool some)
{
	for (uint32_t l = 1; l < b->levels; l++) {
		uint64_t *word = &b->level[l][i / 64];
		uint64_t others = *word & ~(UINT64_C(1) << i % 64);

		*word = others | (uint64_t)some << i % 64;
		if (others != 0)
			return;
		i /= 64;
	}
}

static inline void tkw__bitset_add(struct tkw__bitset *b, uint32_t i)
{
	uint64_t *word = &b->level[0][i / 64];
	uint64_t was = *word;

	*word = was | UINT64_C(1) << i % 64;
	if (was == 0)
		tkw__bitset_above(b, i / 64, true);
}

static inline void tkw__bitset_drop(struct tkw__bitset *b, uint32_t i)
{
	uint64_t *word = &b->level[0][i / 64];

	*word &= ~(UINT64_C(1) << i % 64);
	if (*word == 0)
		tkw__bitset_above(b, i / 64, false);
}

/* The first set bit of level `to` below bit i of level l. There must be one. */
static inline uint32_t tkw__bitset_descend(const struct tkw__bitset *b,
					   uint32_t l, uint32_t i, uint32_t to)
{
	while (l-- > to)
		i = i * 64 + tkw__lowest_bit(b->level[l][i]);
	return i;
}

/* The smallest member. The set must not be empty. */
static inline uint32_t tkw__bitset_first(const struct tkw__bitset *b)
{
	return tkw__bitset_descend(b, b->levels, 0, 0);
}

/* The first set bit >= i of a level, or TKW__BITSET_NONE. */
static inline uint32_t tkw__bitset_next_at(const struct tkw__bitset *b,
					   uint32_t level, uint32_t i)
{
	for (uint32_t l = level; l < b->levels && i / 64 < b->words[l]; l++) {
		uint64_t rest = b->level[l][i / 64] & UINT64_MAX << i % 64;

		if (rest != 0) {
			i = i / 64 * 64 + tkw__lowest_bit(rest);
			return tkw__bitset_descend(b, l, i, level);
		}
		i = i / 64 + 1;
	}
	return TKW__BITSET_NONE;
}

/* The smallest member >= i, or TKW__BITSET_NONE. */
static inline uint32_t tkw__bitset_next(const struct tkw__bitset *b, uint32_t i)
{
	return tkw__bitset_next_at(b, 0, i);
}

/*
 * Checks that each bit of a higher level stands for a word that is not zero. It
 * works from the top down, so that the walk itself is safe. The walk cannot
 * find members whose bit above is missing, except in the first word of a level,
 * which is checked for that.
 */
static inline bool tkw__bitset_sound(const struct tkw__bitset *b)
{
	for (uint32_t l = b->levels - 1; l > 0; l--) {
		uint32_t i = tkw__bitset_next_at(b, l, 0);

		if (b->level[l - 1][0] != 0 && i != 0)
			return false;
		for (; i != TKW__BITSET_NONE;
		     i = tkw__bitset_next_at(b, l, i + 1)) {
			if (b->level[l - 1][i] == 0)
				return false;
		}
	}
	return true;
}

#endif /* TKW_BASE_BITSET_H */
