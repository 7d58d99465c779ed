/* SPDX-License-Identifier: MIT */
/* clock.c - clock_gettime() and timerfd. */
#define _GNU_SOURCE
#include "os/clock.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
	NS_PER_SEC = 1000000000
};

static clockid_t clock_id(bool boottime)
{
	return boottime ? CLOCK_BOOTTIME : CLOCK_MONOTONIC;
}

int64_t tkw__clock_now(bool boottime)
{
	struct timespec ts;

	clock_gettime(clock_id(boottime), &ts);
	return (int64_t)ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

int64_t tkw__clock_coarse(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (int64_t)ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

int tkw__alarm_init(struct tkw__alarm *a, bool boottime)
{
	a->fd = timerfd_create(clock_id(boottime), TFD_CLOEXEC);
	return a->fd < 0 ? -errno : 0;
}

void tkw__alarm_fini(struct tkw__alarm *a)
{
	close(a->fd);
}

void tkw__alarm_set(struct tkw__alarm *a, int64_t ns, bool relative)
{
	struct itimerspec when = { .it_interval = { 0 } };
	int err;

	if (ns <= 0)
		ns = 1; /* 0 would disarm it */
	/* In more than 68 years: it may ring earlier, and time_t have 32 bits.
	 */
	if (ns != INT64_MAX && ns / NS_PER_SEC > INT32_MAX)
		when.it_value.tv_sec = INT32_MAX;
	else if (ns != INT64_MAX) {
		when.it_value.tv_sec = (time_t)(ns / NS_PER_SEC);
		when.it_value.tv_nsec = (long)(ns % NS_PER_SEC);
	}
	err = timerfd_settime(a->fd, relative ? 0 : TFD_TIMER_ABSTIME, &when,
			      NULL);
	assert(err == 0);
	(void)err;
}

void tkw__alarm_wait(struct tkw__alarm *a)
{
	uint64_t rings;

	/* A signal may end it early; the caller looks at the clock anyway. */
	(void)!read(a->fd, &rings, sizeof(rings));
}
