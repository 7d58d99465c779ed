/* SPDX-License-Identifier: MIT */
/* memory.h - memory from the system. */
#ifndef TKW_OS_MEMORY_H
#define TKW_OS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns `bytes` of memory aligned to `align`, a power of two, or NULL if
 * there is none. Large pieces are mapped on their own, so that freeing them
 * gives them back to the system at once; malloc() does not promise that.
 */
void *tkw__memory_take(size_t bytes, size_t align);
void tkw__memory_free(void *mem, size_t bytes);

/* Says that all of these pages will be used, so that the system may back them
 * with huge pages. mem and bytes must be whole pages. */
void tkw__memory_use_all(void *mem, size_t bytes);

/* Says that this memory will be used next. Gets its pages now, in one go, which
 * takes less time than a page fault for each. */
void tkw__memory_use_soon(void *mem, size_t bytes);

/* How many bytes of memory the machine has, or UINT64_MAX if unknown. */
uint64_t tkw__memory_of_machine(void);

#endif /* TKW_OS_MEMORY_H */
