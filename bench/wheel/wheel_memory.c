/* SPDX-License-Identifier: MIT */
/* wheel_memory.c - memory for entries, the same for every entrant. */
#include "wheel_bench.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct bench_tally bench_tally;

static const size_t huge_page = (size_t)2 << 20;
static bool huge;
static uint64_t mapped;

void bench_die(const char *what)
{
	(void)fprintf(stderr, "tkw_bench: %s\n", what);
	exit(1);
}

void bench_pages_huge(void)
{
	huge = true;
}

/* Rounds up to whole huge pages, even if they are not used, so that addresses
 * are alike in both cases. */
static size_t round_up(size_t bytes)
{
	return (bytes + huge_page - 1) / huge_page * huge_page;
}

void *bench_pages_get(size_t bytes)
{
	size_t whole = round_up(bytes);
	char *mem = mmap(NULL, whole + huge_page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	if (mem == MAP_FAILED)
		bench_die("out of memory");
	/* Unmap what is before and behind the aligned part. */
	before = (huge_page - (size_t)((uintptr_t)mem % huge_page)) % huge_page;
	if (before > 0)
		(void)munmap(mem, before);
	mem += before;
	(void)munmap(mem + whole, huge_page - before);
	(void)madvise(mem, whole, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	memset(mem, 0, bytes);
	mapped += bytes;
	return mem;
}

void bench_pages_put(void *mem, size_t bytes)
{
	(void)munmap(mem, round_up(bytes));
	mapped -= bytes;
}

uint64_t bench_bytes_in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return mapped + info.uordblks + info.hblkhd;
}
