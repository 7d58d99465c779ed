/* SPDX-License-Identifier: MIT */
/* memory.h - memory from the system. */
#ifndef TKW_OS_MEMORY_H
#define TKW_OS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/*
 * bytes of memory aligned to align, a power of two; NULL if there is none.
 * Large pieces are mapped on their own, so that freeing them gives them back to
 * the system at once, which malloc() does not promise.
 */
void *tkw__memory_take(size_t bytes, size_t align);
void tkw__memory_free(void *mem, size_t bytes);

/* For whole pages. All of this will be used, so the system may back it by huge
 * ones. */
void tkw__memory_use_all(void *mem, size_t bytes);

/* This will be used next: get its pages now, in one go, which takes less than a
 * fault for each. */
void tkw__memory_use_soon(void *mem, size_t bytes);

/* How many bytes of memory the machine has; UINT64_MAX: unknown. */
uint64_t tkw__memory_of_machine(void);

#endif /* TKW_OS_MEMORY_H */
