/* SPDX-License-Identifier: MIT */
/* dice.h - random numbers that are good enough to spread things. */
#ifndef TKW_OS_DICE_H
#define TKW_OS_DICE_H

#include <stdint.h>

#include "os/random.h"

/* A source of random numbers. Only one thread at a time may use it. */
struct tkw__dice {
	uint64_t state;
};

/* A seed of 0 picks a random seed. */
static inline struct tkw__dice tkw__dice_make(uint64_t seed)
{
	return (struct tkw__dice){ seed != 0 ? seed : tkw__random() };
}

/* A number in [0, sides), or 0 if sides <= 0. The sequence is splitmix64. The
 * modulo favours the lowest numbers by sides / 2^64, which does not matter
 * here. */
static inline int64_t tkw__dice_roll(struct tkw__dice *d, int64_t sides)
{
	uint64_t x = d->state += UINT64_C(0x9e3779b97f4a7c15);

	if (sides <= 0)
		return 0;
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (int64_t)((x ^ (x >> 31)) % (uint64_t)sides);
}

#endif /* TKW_OS_DICE_H */
