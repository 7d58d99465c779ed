/* SPDX-License-Identifier: MIT */
/*
 * explore_memory.c - the memory of a run.
 *
 * All memory comes from one piece, and no address is used twice. So addresses
 * are the same in each run, and a use after free is found: at once if it is an
 * operation of the explorer, otherwise at the end, if something was written.
 */
#include "explore_inside.h"

#include <string.h>

enum {
	BYTES = 1 << 20,
	ALIGN = 4096,
	PIECES = 512,
	FRESH = 0xa5,
	FREED = 0xdd
};

static _Alignas(ALIGN) unsigned char memory[BYTES];
static size_t used;
static struct {
	unsigned char *mem;
	size_t bytes;
	bool freed;
} pieces[PIECES];
static unsigned count;
static unsigned freed; /* how many of the pieces are freed */

#define fail(what) explore_fail(__FILE__, __LINE__, what)

void explore_memory_begin(void)
{
	used = 0;
	count = 0;
	freed = 0;
}

void *explore_alloc(size_t bytes, size_t align)
{
	size_t at = (used + align - 1) & ~(align - 1);

	if (align > ALIGN || count == PIECES || bytes > BYTES - at)
		fail("more memory is asked for than there is");
	pieces[count].mem = memory + at;
	pieces[count].bytes = bytes;
	pieces[count++].freed = false;
	used = at + bytes;
	return memset(memory + at, FRESH, bytes);
}

void explore_free(void *mem, size_t bytes)
{
	unsigned i = 0;

	while (i < count && pieces[i].mem != mem)
		i++;
	if (i == count || pieces[i].bytes != bytes)
		fail("what is freed was not allocated so");
	if (pieces[i].freed)
		fail("memory is freed twice");
	pieces[i].freed = true;
	freed++;
	memset(mem, FREED, bytes);
}

void explore_memory_touch(const void *a)
{
	/* Compare numbers, because most addresses are not in this memory. */
	uintptr_t at = (uintptr_t)a;

	if (freed == 0 || at - (uintptr_t)memory >= used)
		return;
	for (unsigned i = 0; i < count; i++) {
		if (pieces[i].freed &&
		    at - (uintptr_t)pieces[i].mem < pieces[i].bytes)
			fail("memory is used after it was freed");
	}
}

const char *explore_memory_end(void)
{
	for (unsigned i = 0; i < count; i++) {
		const unsigned char *mem = pieces[i].mem;

		if (!pieces[i].freed)
			return "memory was leaked";
		if (mem[0] != FREED ||
		    memcmp(mem, mem + 1, pieces[i].bytes - 1) != 0)
			return "memory was written to after it was freed";
	}
	return NULL;
}
