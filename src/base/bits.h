/* SPDX-License-Identifier: MIT */
/* bits.h - positions of bits, and arithmetic that saturates. */
#ifndef TKW_BASE_BITS_H
#define TKW_BASE_BITS_H

#include <assert.h>
#include <stdint.h>

/*
 * The position of the lowest and of the highest set bit. x must not be 0. On a
 * 32-bit processor each half is looked at separately. For all 64 bits gcc might
 * call its own library, which is not linked where the wheel is used alone.
 */
static inline unsigned tkw__lowest_bit(uint64_t x)
{
	assert(x != 0);
#if UINTPTR_MAX < UINT64_MAX
	return (uint32_t)x != 0
		       ? (unsigned)__builtin_ctz((uint32_t)x)
		       : 32u + (unsigned)__builtin_ctz((uint32_t)(x >> 32));
#else
	return (unsigned)__builtin_ctzll(x);
#endif
}

static inline unsigned tkw__highest_bit(uint64_t x)
{
	assert(x != 0);
#if UINTPTR_MAX < UINT64_MAX
	return x >> 32 != 0 ? 63u - (unsigned)__builtin_clz((uint32_t)(x >> 32))
			    : 31u - (unsigned)__builtin_clz((uint32_t)x);
#else
	/* Not 63 - ..., for which gcc needs three more instructions. */
	return (unsigned)__builtin_clzll(x) ^ 63u;
#endif
}

static inline uint64_t tkw__min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t tkw__max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline int64_t tkw__max_i64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* a + b, or UINT64_MAX if that would overflow. */
static inline uint64_t tkw__sat_add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* The smallest power of two >= x, for 1 <= x <= 2^63. */
static inline uint64_t tkw__round_up_pow2(uint64_t x)
{
	assert(x > 0 && x <= UINT64_C(1) << 63);
	return x == 1 ? 1 : (uint64_t)2 << tkw__highest_bit(x - 1);
}

#endif /* TKW_BASE_BITS_H */
