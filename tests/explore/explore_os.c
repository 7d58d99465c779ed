/* SPDX-License-Identifier: MIT */
/*
 * explore_os.c - replaces the parts of src/os that make system calls: clock,
 * alarms, threads, memory and so on.
 */
#include <stdio.h>

#include "explore.h"
#include "os/alarm.h"
#include "os/clock.h"
#include "os/cpus.h"
#include "os/fork.h"
#include "os/memory.h"
#include "os/random.h"
#include "os/symbol.h"
#include "os/thread.h"

enum {
	ALARMS = 4
};

/* The fd of an alarm is its index here. Index 0 is free when a run begins. */
static struct {
	bool used;
	bool wall; /* rings when the wall clock is set */
	int64_t at;
} alarms[ALARMS];

static int64_t wall_ahead_us; /* the wall clock, of the other one */

int64_t tkw__clock_now(bool boottime)
{
	(void)boottime;
	explore_point(EXPLORE_SPOT("read the clock", ""));
	return explore_now();
}

int64_t tkw__clock_wall_us(void)
{
	return tkw__clock_now(false) / 1000 + wall_ahead_us;
}

int64_t tkw__clock_coarse(void)
{
	return explore_now();
}

int tkw__alarm_init(struct tkw__alarm *a, bool boottime)
{
	*a = (struct tkw__alarm){ .boottime = boottime };
	while (alarms[a->fd].used)
		a->fd++;
	alarms[a->fd].used = true;
	alarms[a->fd].wall = false;
	alarms[a->fd].at = INT64_MAX;
	return 0;
}

int tkw__alarm_init_wall(struct tkw__alarm *a)
{
	int err = tkw__alarm_init(a, false);

	alarms[a->fd].wall = true;
	return err;
}

void explore_step_wall(int64_t ahead_us)
{
	explore_point(EXPLORE_SPOT("set the wall clock", ""));
	wall_ahead_us = ahead_us;
	for (int i = 0; i < ALARMS; i++) {
		if (alarms[i].used && alarms[i].wall)
			alarms[i].at = explore_now();
	}
}

void tkw__alarm_fini(struct tkw__alarm *a)
{
	alarms[a->fd].used = false;
}

int tkw__alarm_set(struct tkw__alarm *a, int64_t ns, bool relative)
{
	explore_point(EXPLORE_SPOT("set the alarm", ""));
	/* INT64_MAX means never, also when the time is relative. */
	alarms[a->fd].at =
		relative && ns != INT64_MAX ? explore_now() + ns : ns;
	return 0;
}

int tkw__alarm_prepare(struct tkw__alarm *a, int64_t ns, bool relative)
{
	return tkw__alarm_set(a, ns, relative);
}

void tkw__alarm_end(struct tkw__alarm *a)
{
	(void)tkw__alarm_set(a, 0, true);
}

void tkw__alarm_wait(struct tkw__alarm *a)
{
	explore_wait_until(EXPLORE_SPOT("wait for the alarm", ""),
			   &alarms[a->fd].at);
	alarms[a->fd].at = INT64_MAX; /* the alarm rings once */
}

/* Like poll(), this does not reset the alarm. */
void explore_poll(int fd)
{
	explore_wait_until(EXPLORE_SPOT("poll the alarm", ""), &alarms[fd].at);
}

void tkw__alarm_leave(struct tkw__alarm *a)
{
	(void)a;
}

void tkw__thread_load_unwinder(void)
{
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

/* There is one process, which never forks. */
static struct tkw__process process = { .epoch = { 1 } };
struct tkw__process_at tkw__process_at = { &process };

int tkw__epoch_get(uint32_t *epoch)
{
	*epoch = 1;
	return 0;
}

uint64_t tkw__random(void)
{
	return 1;
}

uint64_t tkw__memory_of_machine(void)
{
	return UINT64_MAX;
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
