/* SPDX-License-Identifier: MIT */
/*
 * config.h - how config structs are read, so that they can grow.
 *
 * The first field of each is `size`, what the caller's compiler thought it was.
 * A program that was compiled against an older header has a shorter struct: the
 * fields that it lacks are zero, which means their defaults. One that was
 * compiled against a newer header may set fields that are unknown here: then it
 * is refused, unless they are zero.
 */
#ifndef TKW_BASE_CONFIG_H
#define TKW_BASE_CONFIG_H

#include <errno.h>
#include <stddef.h>

/* The size of a struct that ends with this field. */
#define TKW__END_OF(type, field)                                               \
	(offsetof(type, field) + sizeof(((type *)0)->field))

/* How much newer a caller may be: a larger size is a mistake, not a config. */
#define TKW__CONFIG_EXCESS 4096

/*
 * Read a config.
 *
 * to      the struct as this library knows it, `known` bytes.
 * from    the caller's, or NULL for the defaults.
 * oldest  the size of the first release: what a size of 0 stands for.
 * Return  0; -EINVAL: a size that cannot be, or unknown fields that are set.
 */
static inline int tkw__config_read(void *to, size_t known, const void *from,
				   size_t oldest)
{
	const unsigned char *bytes = from;
	unsigned char *read = to;
	size_t size = 0;

	if (from != NULL) {
		size = *(const size_t *)from;
		if (size == 0)
			size = oldest;
		if (size < oldest || size > known + TKW__CONFIG_EXCESS)
			return -EINVAL;
	}
	/* Byte by byte: a memcpy() whose length is not a constant may become a
	 * call of libc's fortified one, and the wheel must not need that. */
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
