/* SPDX-License-Identifier: MIT */
/* park.c - parking by futex, and a fence for all threads by membarrier. */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/sync.h"

/* Where a long has 32 bits there are two system calls, one for each size of
 * time_t. */
#if !defined(SYS_futex_time64)
#define FUTEX SYS_futex
#elif !defined(SYS_futex)
#define FUTEX SYS_futex_time64
#else
#define FUTEX (sizeof(time_t) > sizeof(long) ? SYS_futex_time64 : SYS_futex)
#endif

enum {
	NS_PER_SEC = 1000000000
};

static void futex(struct tkw__a32 *a, int op, uint32_t value,
		  const struct timespec *most)
{
	/* Errors do not matter, because the callers look again anyway. They
	 * mean that the value has changed, a signal came, the time is over or,
	 * for a wake (but never of a lock), that the owner has freed the memory
	 * since. */
	(void)syscall(FUTEX, &a->v, op | FUTEX_PRIVATE_FLAG, value, most, NULL,
		      0);
}

void tkw__park(struct tkw__a32 *a, uint32_t value)
{
	futex(a, FUTEX_WAIT, value, NULL);
}

void tkw__park_for(struct tkw__a32 *a, uint32_t value, int64_t ns)
{
	struct timespec most = {
		/* A time_t may have 32 bits, so more than 68 years become
		 * 68. */
		.tv_sec = ns / NS_PER_SEC > INT32_MAX
				  ? INT32_MAX
				  : (time_t)(ns / NS_PER_SEC),
		.tv_nsec = (long)(ns % NS_PER_SEC),
	};

	futex(a, FUTEX_WAIT, value, &most);
}

void tkw__unpark_one(struct tkw__a32 *a)
{
	futex(a, FUTEX_WAKE, 1, NULL);
}

void tkw__unpark_all(struct tkw__a32 *a)
{
	futex(a, FUTEX_WAKE, INT_MAX, NULL);
}

#if !defined(TKW__NO_FENCE_ALL) && defined(SYS_membarrier)
/* From <linux/membarrier.h>, which may be older than the running kernel. */
enum {
	MEMBARRIER_CMD_PRIVATE_EXPEDITED = 1 << 3,
	MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED = 1 << 4
};

static bool membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}
#define HAVE_MEMBARRIER
#endif

bool tkw__fence_all(void)
{
#ifdef HAVE_MEMBARRIER
	/* The command fails until the process has registered for it. */
	return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
	       (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
		membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
#else
	return false;
#endif
}
