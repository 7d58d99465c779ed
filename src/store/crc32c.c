/* SPDX-License-Identifier: MIT */
/*
 * crc32c.c - CRC-32C by an instruction, or by eight tables.
 *
 * table[0] is the usual one, for a byte at a time. table[n] tells what a byte
 * does to the checksum if n more bytes follow it. So eight bytes are eight
 * look-ups that do not wait for each other. Most x86-64 have an instruction for
 * eight bytes; it is ten times as fast.
 */
#include "store/crc32c.h"

#include "queue/hash.h"

#define POLYNOMIAL UINT32_C(0x82f63b78) /* reflected */

#ifdef __x86_64__
static bool has_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint64_t
add_words(uint64_t crc, const unsigned char *at, size_t words)
{
	for (; words > 0; words--, at += 8)
		crc = __builtin_ia32_crc32di(crc, tkw__le_word(at));
	return crc;
}
#else
static bool has_instruction(void)
{
	return false;
}

static uint64_t add_words(uint64_t crc, const unsigned char *at, size_t words)
{
	(void)at;
	(void)words;
	return crc;
}
#endif

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
	c->by_instruction = has_instruction();
}

static uint32_t look_up(const struct tkw__crc32c *c, uint32_t crc,
			const unsigned char *at, size_t words)
{
	for (; words > 0; words--, at += 8) {
		uint64_t x = tkw__le_word(at) ^ crc;

		crc = c->table[7][x & 255] ^ c->table[6][x >> 8 & 255] ^
		      c->table[5][x >> 16 & 255] ^ c->table[4][x >> 24 & 255] ^
		      c->table[3][x >> 32 & 255] ^ c->table[2][x >> 40 & 255] ^
		      c->table[1][x >> 48 & 255] ^ c->table[0][x >> 56];
	}
	return crc;
}

uint32_t tkw__crc32c(const struct tkw__crc32c *c, uint32_t crc,
		     const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	size_t words = len / 8;

	crc = ~crc;
	crc = c->by_instruction ? (uint32_t)add_words(crc, at, words)
				: look_up(c, crc, at, words);
	for (at += words * 8, len %= 8; len > 0; len--, at++)
		crc = crc >> 8 ^ c->table[0][(crc ^ *at) & 255];
	return ~crc;
}
