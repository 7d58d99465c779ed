/* SPDX-License-Identifier: MIT */
/*
 * crc32c.c - CRC-32C by eight tables ("slicing").
 *
 * table[0] is the usual one, for a byte at a time. table[n] tells what a byte
 * does to the checksum if n more bytes follow it. So eight bytes are eight
 * look-ups that do not wait for each other.
 */
#include "store/crc32c.h"

#include "queue/hash.h"

#define POLYNOMIAL UINT32_C(0x82f63b78) /* reflected */

void tkw__crc32c_init(struct tkw__crc32c *c)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t x = i;

		for (int bit = 0; bit < 8; bit++)
			x = x >> 1 ^ (x & 1 ? POLYNOMIAL : 0);
		c->table[0][i] = x;
	}
	for (int n = 1; n < 8; n++) {
		for (int i = 0; i < 256; i++) {
			uint32_t x = c->table[n - 1][i];

			c->table[n][i] = x >> 8 ^ c->table[0][x & 255];
		}
	}
}

uint32_t tkw__crc32c(const struct tkw__crc32c *c, uint32_t crc,
		     const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	crc = ~crc;
	for (; len >= 8; len -= 8, at += 8) {
		uint64_t x = tkw__le_word(at) ^ crc;

		crc = 0;
		for (int n = 0; n < 8; n++)
			crc ^= c->table[7 - n][x >> 8 * n & 255];
	}
	for (; len > 0; len--, at++)
		crc = crc >> 8 ^ c->table[0][(crc ^ *at) & 255];
	return ~crc;
}
