/* SPDX-License-Identifier: MIT */
/* memory.c - aligned_alloc() for small pieces, mmap() for large ones. */
#define _GNU_SOURCE
#include "os/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	LARGE = 256 * 1024
};

static size_t to_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) & ~(page - 1);
}

/* Maps more than needed, and unmaps what is before and behind. */
static void *map(size_t bytes, size_t align)
{
	size_t more = bytes + align;
	char *all = mmap(NULL, more, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *mem;

	if (all == MAP_FAILED)
		return NULL;
	mem = all + (-(uintptr_t)all & (align - 1));
	if (mem != all)
		munmap(all, (size_t)(mem - all));
	if (mem + bytes != all + more)
		munmap(mem + bytes, (size_t)(all + more - (mem + bytes)));
	return mem;
}

void *tkw__memory_take(size_t bytes, size_t align)
{
	if (bytes >= LARGE)
		return map(to_pages(bytes), to_pages(align));
	return aligned_alloc(align, (bytes + align - 1) & ~(align - 1));
}

void tkw__memory_free(void *mem, size_t bytes)
{
	if (bytes >= LARGE)
		munmap(mem, to_pages(bytes));
	else
		free(mem);
}

void tkw__memory_use_all(void *mem, size_t bytes)
{
	/* Huge pages, if the system has any. For small pieces this would only
	 * split one of malloc's mappings in three, and a process may have 65530
	 * mappings at most. */
	if (bytes >= LARGE)
		(void)madvise(mem, bytes, MADV_HUGEPAGE);
}

void tkw__memory_use_soon(void *mem, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
	(void)madvise(mem, bytes, MADV_POPULATE_WRITE); /* since Linux 5.14 */
#else
	(void)mem;
	(void)bytes;
#endif
}

uint64_t tkw__memory_of_machine(void)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	long page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page
				     : UINT64_MAX;
}
