/* SPDX-License-Identifier: MIT */
/*
 * vclock.c - a virtual clock by symbol interposition. If the executable defines
 * a function of libc, shared libraries call it instead of libc's own.
 */
#include "vclock.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static bool on;
static struct timespec virtual_now;

/* Returns libc's own function of this name. */
static void *real(const char *name)
{
	void *fn = dlsym(RTLD_NEXT, name);

	if (fn == NULL)
		_exit(1); /* every libc has it */
	return fn;
}

static int real_clock_gettime(clockid_t id, struct timespec *ts)
{
	static int (*fn)(clockid_t, struct timespec *);

	if (fn == NULL)
		*(void **)&fn = real("clock_gettime");
	return fn(id, ts);
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	if (!on)
		return real_clock_gettime(id, ts);
	*ts = virtual_now;
	return 0;
}

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout)
{
	static int (*fn)(int, struct epoll_event *, int, int);

	if (on)
		return 0;
	if (fn == NULL)
		*(void **)&fn = real("epoll_wait");
	return fn(fd, events, max, timeout);
}

int epoll_pwait(int fd, struct epoll_event *events, int max, int timeout,
		const sigset_t *mask)
{
	static int (*fn)(int, struct epoll_event *, int, int, const sigset_t *);

	if (on)
		return 0;
	if (fn == NULL)
		*(void **)&fn = real("epoll_pwait");
	return fn(fd, events, max, timeout, mask);
}

/* While time is virtual, this ignores a write of eight bytes: an event loop
 * wakes itself by writing to an eventfd. stdio does not call this function. */
ssize_t write(int fd, const void *data, size_t bytes)
{
	static ssize_t (*fn)(int, const void *, size_t);

	if (on && bytes == 8 && fd > STDERR_FILENO)
		return 8;
	if (fn == NULL)
		*(void **)&fn = real("write");
	return fn(fd, data, bytes);
}

/* A timer of the kernel uses real time. Without one, Asio looks at its timers
 * whenever it polls. */
int timerfd_create(int clock, int flags)
{
	static int (*fn)(int, int);

	if (on) {
		errno = ENOSYS;
		return -1;
	}
	if (fn == NULL)
		*(void **)&fn = real("timerfd_create");
	return fn(clock, flags);
}

void bench_vclock_set(uint64_t tick)
{
	virtual_now.tv_sec = (time_t)(tick / 1000);
	virtual_now.tv_nsec = (long)(tick % 1000 * 1000000 + 500000);
}

void bench_vclock_on(uint64_t tick)
{
	bench_vclock_set(tick);
	on = true;
}

void bench_vclock_off(void)
{
	on = false;
}

uint64_t bench_cpu_ns(void)
{
	struct timespec ts;

	(void)real_clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Returns the shortest of many readings: what one takes when nothing disturbs
 * it. */
static uint64_t measure_reading(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 1000; i++) {
		uint64_t start = bench_cpu_ns();
		uint64_t took = bench_cpu_ns() - start;

		if (took < least)
			least = took;
	}
	return least;
}

uint64_t bench_cpu_between(uint64_t start, uint64_t end)
{
	static uint64_t reading;

	if (reading == 0)
		reading = measure_reading();
	return end - start > reading ? end - start - reading : 0;
}
