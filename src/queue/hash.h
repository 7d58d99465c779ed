/* SPDX-License-Identifier: MIT */
/*
 * hash.h - SipHash-1-3, a hash with a secret, by Aumasson and Bernstein.
 *
 * Users choose keys. Without the secret they cannot choose keys that fall into
 * one bucket.
 */
#ifndef TKW_QUEUE_HASH_H
#define TKW_QUEUE_HASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t tkw__rotate(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

static inline void tkw__sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = tkw__rotate(v[1], 13) ^ v[0];
	v[0] = tkw__rotate(v[0], 32);
	v[2] += v[3];
	v[3] = tkw__rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = tkw__rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = tkw__rotate(v[1], 17) ^ v[2];
	v[2] = tkw__rotate(v[2], 32);
}

/* Eight bytes, the first one lowest. Written like this, it is one load. */
static inline uint64_t tkw__le_word(const unsigned char *at)
{
	return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 |
	       (uint64_t)at[3] << 24 | (uint64_t)at[4] << 32 |
	       (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 |
	       (uint64_t)at[7] << 56;
}

/* Up to eight bytes, the first one lowest. */
static inline uint64_t tkw__le_bytes(const unsigned char *at, size_t n)
{
	uint64_t x = 0;

	for (size_t i = 0; i < n; i++)
		x |= (uint64_t)at[i] << 8 * i;
	return x;
}

static inline uint64_t tkw__hash(const uint64_t seed[2], const void *bytes,
				 size_t len)
{
	const unsigned char *at = bytes;
	uint64_t v[4] = {
		seed[0] ^ UINT64_C(0x736f6d6570736575),
		seed[1] ^ UINT64_C(0x646f72616e646f6d),
		seed[0] ^ UINT64_C(0x6c7967656e657261),
		seed[1] ^ UINT64_C(0x7465646279746573),
	};
	uint64_t m;
	size_t left = len;

	for (; left >= 8; left -= 8, at += 8) {
		m = tkw__le_word(at);
		v[3] ^= m;
		tkw__sip_round(v);
		v[0] ^= m;
	}
	m = tkw__le_bytes(at, left) | (uint64_t)len << 56;
	v[3] ^= m;
	tkw__sip_round(v);
	v[0] ^= m;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		tkw__sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif /* TKW_QUEUE_HASH_H */
