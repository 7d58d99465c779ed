/* SPDX-License-Identifier: MIT */
/* explore_os.c - stands in for the clock, the threads, the memory and the
 * symbols of src/os, in the world of the explorer. */
#include <stdio.h>

#include "explore.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/symbol.h"
#include "os/thread.h"

enum {
	ALARMS = 4
};

/* An alarm's fd is its place here. The first is free at the begin of a run. */
static struct {
	bool used;
	int64_t at;
} alarms[ALARMS];

int64_t tkw__clock_now(bool boottime)
{
	(void)boottime;
	explore_point(EXPLORE_SPOT("read the clock", ""));
	return explore_now();
}

int64_t tkw__clock_coarse(void)
{
	return explore_now();
}

int tkw__alarm_init(struct tkw__alarm *a, bool boottime)
{
	(void)boottime;
	a->fd = 0;
	while (alarms[a->fd].used)
		a->fd++;
	alarms[a->fd].used = true;
	alarms[a->fd].at = INT64_MAX;
	return 0;
}

void tkw__alarm_fini(struct tkw__alarm *a)
{
	alarms[a->fd].used = false;
}

void tkw__alarm_set(struct tkw__alarm *a, int64_t ns, bool relative)
{
	explore_point(EXPLORE_SPOT("set the alarm", ""));
	/* Never is never, from wherever it is counted. */
	alarms[a->fd].at =
		relative && ns != INT64_MAX ? explore_now() + ns : ns;
}

void tkw__alarm_wait(struct tkw__alarm *a)
{
	explore_wait_until(EXPLORE_SPOT("wait for the alarm", ""),
			   &alarms[a->fd].at);
	alarms[a->fd].at = INT64_MAX; /* a ring is heard once */
}

/* As poll(): it is not heard by that. */
void explore_poll(int fd)
{
	explore_wait_until(EXPLORE_SPOT("poll the alarm", ""), &alarms[fd].at);
}

int tkw__thread_create(void *(*run)(void *arg), void *arg, void **handle)
{
	*handle = (void *)(intptr_t)explore_spawn("worker", run, arg);
	return 0;
}

void tkw__thread_join(void *handle)
{
	explore_join((int)(intptr_t)handle);
}

void tkw__thread_become_worker(const char *name)
{
	(void)name;
}

void tkw__signals_block(struct tkw__signals *were)
{
	(void)were;
}

void tkw__signals_restore(const struct tkw__signals *were)
{
	(void)were;
}

int tkw__thread_no_cancel(void)
{
	return 0;
}

void tkw__thread_restore_cancel(int was)
{
	(void)was;
}

struct tkw__local *tkw__thread_local(void)
{
	return explore_local();
}

uint32_t tkw__cpus(void)
{
	return 2;
}

int tkw__forks_watch(void)
{
	return 0;
}

uint32_t tkw__forks;

uint64_t tkw__random(void)
{
	return 1;
}

void tkw__memory_use_all(void *mem, size_t bytes)
{
	(void)mem;
	(void)bytes;
}

void tkw__memory_use_soon(void *mem, size_t bytes)
{
	(void)mem;
	(void)bytes;
}

void *tkw__memory_take(size_t bytes, size_t align)
{
	return explore_alloc(bytes, align);
}

void tkw__memory_free(void *mem, size_t bytes)
{
	explore_free(mem, bytes);
}

void tkw__symbol_print(char *buf, size_t size, const void *address)
{
	snprintf(buf, size, "%p", address);
}
