/* SPDX-License-Identifier: MIT */
/* random.c - getrandom(). */
#define _GNU_SOURCE
#include "os/random.h"

#include <sys/random.h>

#include "os/clock.h"

uint64_t tkw__random(void)
{
	uint64_t bits;

	if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) != sizeof(bits))
		bits = (uint64_t)tkw__clock_now(false) * 0x9e3779b97f4a7c15;
	return bits;
}
