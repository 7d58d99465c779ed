/* SPDX-License-Identifier: MIT */
/*
 * config.h - how config structs are read, so that they can grow.
 *
 * The first field of each config is `size`, the size of the struct as the
 * caller was compiled. If the caller was compiled against an older header, its
 * struct is shorter: the missing fields are read as zero, which means their
 * defaults. If it was compiled against a newer header, it may set fields that
 * this library does not know. Then the config is refused, unless those fields
 * are zero.
 */
#ifndef TKW_BASE_CONFIG_H
#define TKW_BASE_CONFIG_H

#include <errno.h>
#include <stddef.h>

/* The size of a struct whose last field is this one. */
#define TKW__END_OF(type, field)                                               \
	(offsetof(type, field) + sizeof(((type *)0)->field))

/* How many unknown bytes a newer caller may have. A larger size is a
 * mistake. */
#define TKW__CONFIG_EXCESS 4096

/*
 * Reads a config.
 *
 * to      The struct as this library knows it, `known` bytes.
 * from    The caller's struct, or NULL for the defaults.
 * oldest  The size in the first release. A size of 0 means this.
 *
 * Returns 0, or -EINVAL if the size is impossible or unknown fields are set.
 */
static inline int tkw__config_read(void *to, size_t known, const void *from,
				   size_t oldest)
{
	const unsigned char *bytes = (const unsigned char *)from;
	unsigned char *read = (unsigned char *)to;
	size_t size = 0;

	if (from != NULL) {
		size = *(const size_t *)from;
		if (size == 0)
			size = oldest;
		if (size < oldest || size > known + TKW__CONFIG_EXCESS)
			return -EINVAL;
	}
	/* Byte by byte, because a memcpy() of variable length may become a call
	 * of libc's fortified one, and the wheel must not need libc. */
	__builtin_memset(to, 0, known);
	for (size_t i = 0; i < known && i < size; i++)
		read[i] = bytes[i];
	for (size_t i = known; i < size; i++) {
		if (bytes[i] != 0)
			return -EINVAL;
	}
	return 0;
}

#endif /* TKW_BASE_CONFIG_H */
