/* SPDX-License-Identifier: MIT */
/* park.c - parking by futex. */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/sync.h"

static void futex(struct tkw__a32 *a, int op, uint32_t value)
{
	/* An error is a value that has changed, a signal, or (waking) memory
	 * that its owner has freed since: the callers look again anyway. */
	(void)syscall(SYS_futex, &a->v, op | FUTEX_PRIVATE_FLAG, value, NULL,
		      NULL, 0);
}

void tkw__park(struct tkw__a32 *a, uint32_t value)
{
	futex(a, FUTEX_WAIT, value);
}

void tkw__unpark_one(struct tkw__a32 *a)
{
	futex(a, FUTEX_WAKE, 1);
}

void tkw__unpark_all(struct tkw__a32 *a)
{
	futex(a, FUTEX_WAKE, INT_MAX);
}
