/* SPDX-License-Identifier: MIT */
/* clock.c - clock_gettime(). */
#define _GNU_SOURCE
#include "os/clock.h"

#include <time.h>

enum {
	NS_PER_SEC = 1000000000
};

static int64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

int64_t tkw__clock_now(bool boottime)
{
	return read_clock(boottime ? CLOCK_BOOTTIME : CLOCK_MONOTONIC);
}

int64_t tkw__clock_wall_us(void)
{
	return read_clock(CLOCK_REALTIME) / 1000;
}

int64_t tkw__clock_coarse(void)
{
	return read_clock(CLOCK_MONOTONIC_COARSE);
}
