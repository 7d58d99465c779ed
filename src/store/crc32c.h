/* SPDX-License-Identifier: MIT */
/*
 * crc32c.h - CRC-32C (Castagnoli), eight bytes at a time.
 *
 * It finds all damage that lies within 32 neighbouring bits. A table of 8 KB is
 * computed when a store is opened. This takes microseconds.
 */
#ifndef TKW_STORE_CRC32C_H
#define TKW_STORE_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tkw__crc32c {
	uint32_t table[8][256];
	bool by_instruction; /* of the processor; a test may clear it */
};

void tkw__crc32c_init(struct tkw__crc32c *c);

/* Continues a checksum; the first one continues 0. */
uint32_t tkw__crc32c(const struct tkw__crc32c *c, uint32_t crc,
		     const void *bytes, size_t len);

#endif /* TKW_STORE_CRC32C_H */
