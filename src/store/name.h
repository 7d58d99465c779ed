/* SPDX-License-Identifier: MIT */
/* name.h - which names of queues are legal: 1 to 255 bytes of UTF-8 without
 * control characters. */
#ifndef TKW_STORE_NAME_H
#define TKW_STORE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads a character of UTF-8.
 *
 * Returns how many bytes it has, or 0 if there is none: a byte that begins no
 * character, a character that is cut off or longer than needed, a surrogate, or
 * one beyond U+10FFFF.
 */
static inline size_t tkw__utf8_read(const uint8_t *at, size_t left, uint32_t *c)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len;
	uint32_t v;

	if (left == 0)
		return 0;
	v = at[0];
	len = v < 0x80 ? 1 : v < 0xC0 ? 0 : v < 0xE0 ? 2 : v < 0xF0 ? 3 : 4;
	if (len == 0 || len > left || v >= 0xF8)
		return 0;
	if (len > 1)
		v &= 0x7FU >> len;
	for (size_t i = 1; i < len; i++) {
		if ((at[i] & 0xC0) != 0x80)
			return 0;
		v = v << 6 | (at[i] & 0x3F);
	}
	if (v < least[len] || v > 0x10FFFF || (v >= 0xD800 && v < 0xE000))
		return 0;
	*c = v;
	return len;
}

static inline bool tkw__utf8_is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7F && c < 0xA0);
}

static inline bool tkw__name_is_legal(const char *name)
{
	const uint8_t *at = (const uint8_t *)name;
	size_t len = 0, n;
	uint32_t c;

	while (len <= 255 && at[len]) {
		/* The 0 at the end is no part of a longer character, so the
		 * read stops there. */
		n = tkw__utf8_read(at + len, 4, &c);
		if (n == 0 || tkw__utf8_is_control(c))
			return false;
		len += n;
	}
	return len >= 1 && len <= 255;
}

#endif /* TKW_STORE_NAME_H */
