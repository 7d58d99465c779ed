/* SPDX-License-Identifier: MIT */
/*
 * divide.h - divides by the same number again and again. A multiplication
 * replaces the division, which takes several times as long.
 *
 * It is not in bits.h, because the wheel uses bits.h, and so bits.h must also
 * be C++.
 */
#ifndef TKW_BASE_DIVIDE_H
#define TKW_BASE_DIVIDE_H

#include <assert.h>
#include <stdint.h>

struct tkw__divisor {
	uint64_t d;
	uint64_t inverse; /* (2^64 - 1) / d, rounded down */
};

/* d must not be 0. */
static inline struct tkw__divisor tkw__divisor_of(uint64_t d)
{
	assert(d > 0);
	return (struct tkw__divisor){ d, UINT64_MAX / d };
}

/* x / d and the remainder, for x < 2^63. */
static inline uint64_t tkw__divide(uint64_t x, struct tkw__divisor by,
				   uint64_t *rest)
{
#ifdef __SIZEOF_INT128__
	uint64_t q;

	/* Where gcc knows that x has no sign, it extends it as if it had one,
	 * and multiplies twice. */
	__asm__("" : "+r"(x));
	q = (uint64_t)((unsigned __int128)x * by.inverse >> 64);

	/* q is too small by 1 at most: the inverse is too small by no more than
	 * 1, and x times that is less than 2^64. */
	*rest = x - q * by.d;
	if (*rest >= by.d) {
		*rest -= by.d;
		q++;
	}
	return q;
#else
	*rest = x % by.d;
	return x / by.d;
#endif
}

#endif /* TKW_BASE_DIVIDE_H */
