/* SPDX-License-Identifier: MIT */
/* stress_memory.c - memory that is counted. */
#define _POSIX_C_SOURCE 200809L /* posix_memalign */
#include "stress_memory.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "stress_count.h"

static _Atomic int64_t bytes_out;
static _Atomic int64_t pieces_out;

void *stress_alloc(size_t bytes, size_t align, void *ctx)
{
	size_t rounded = (bytes + align - 1) & ~(align - 1);
	void *mem;

	(void)ctx;
	if (align < sizeof(void *))
		align = sizeof(void *);
	if (posix_memalign(&mem, align, rounded) != 0)
		return NULL;
	atomic_fetch_add_explicit(&bytes_out, (int64_t)bytes,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&pieces_out, 1, memory_order_relaxed);
	return mem;
}

void stress_free(void *mem, size_t bytes, void *ctx)
{
	(void)ctx;
	if (!mem)
		return;
	atomic_fetch_sub_explicit(&bytes_out, (int64_t)bytes,
				  memory_order_relaxed);
	atomic_fetch_sub_explicit(&pieces_out, 1, memory_order_relaxed);
	free(mem);
}

void stress_nothing_leaked(void)
{
	int64_t bytes =
		atomic_exchange_explicit(&bytes_out, 0, memory_order_relaxed);
	int64_t pieces =
		atomic_exchange_explicit(&pieces_out, 0, memory_order_relaxed);

	if (bytes != 0 || pieces != 0)
		stress_fault(STRESS_LEAKED,
			     "%" PRId64 " bytes in %" PRId64
			     " pieces are out after destroy",
			     bytes, pieces);
}
