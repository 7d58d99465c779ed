/* SPDX-License-Identifier: MIT */
/* thread.c - pthreads, fork, CPUs, randomness. */
#define _GNU_SOURCE
#include "os/thread.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "os/clock.h"
#include "os/sync.h"

_Static_assert(sizeof(struct tkw__signals) >= sizeof(sigset_t), "it fits");
_Static_assert(sizeof(pthread_t) <= sizeof(void *), "a handle holds a thread");

int tkw__thread_create(void *(*run)(void *arg), void *arg, void **handle)
{
	pthread_t thread;
	int err = pthread_create(&thread, NULL, run, arg);

	if (err == 0)
		*handle = (void *)(uintptr_t)thread;
	return -err;
}

void tkw__thread_join(void *handle)
{
	pthread_join((pthread_t)(uintptr_t)handle, NULL);
}

void tkw__thread_become_worker(const char *name)
{
	struct tkw__signals were;

	tkw__signals_block(&were);
	tkw__thread_no_cancel();
	pthread_setname_np(pthread_self(), name);
}

void tkw__signals_block(struct tkw__signals *were)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, (sigset_t *)were->mask);
}

void tkw__signals_restore(const struct tkw__signals *were)
{
	pthread_sigmask(SIG_SETMASK, (const sigset_t *)were->mask, NULL);
}

int tkw__thread_no_cancel(void)
{
	int was;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	return was;
}

void tkw__thread_restore_cancel(int was)
{
	pthread_setcancelstate(was, NULL);
}

struct tkw__local *tkw__thread_local(void)
{
	static struct tkw__a32 last;
	/* In the part of the storage that is there from the start, where a libc
	 * keeps room for libraries that come later: the general model would
	 * call the linker each time. */
	static _Thread_local struct tkw__local local
		__attribute__((tls_model("initial-exec")));

	if (local.number == 0)
		local.number = TKW__ADD(&last, 1, RELAXED) + 1;
	return &local;
}

/* CPUs' worth of time that one cgroup may take, rounded up; 0: any. */
static uint32_t quota_of(const char *folder)
{
	unsigned long long quota = 0;
	unsigned long long period = 0;
	char path[512];
	char line[64];
	char *end;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max", folder);
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	/* "200000 100000", or "max 100000" */
	if (fgets(line, sizeof(line), f)) {
		quota = strtoull(line, &end, 10);
		period = strtoull(end, NULL, 10);
	}
	fclose(f);
	if (quota == 0 || period == 0)
		return 0;
	return (uint32_t)((quota + period - 1) / period);
}

/* The same for the process's own cgroup and those above it. */
static uint32_t quota_in_cpus(void)
{
	char line[400];
	uint32_t least = 0;
	FILE *f = fopen("/proc/self/cgroup", "re");

	if (f == NULL)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "0::/", 4) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		for (char *end; (end = strrchr(line, '/')) != NULL;
		     *end = '\0') {
			uint32_t cpus = quota_of(line + 3);

			if (cpus != 0 && (least == 0 || cpus < least))
				least = cpus;
		}
	}
	fclose(f);
	return least;
}

uint32_t tkw__cpus(void)
{
	uint32_t limit = quota_in_cpus();
	uint32_t cpus = 1;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		cpus = (uint32_t)CPU_COUNT(&set);
	return limit != 0 && limit < cpus ? limit : cpus;
}

uint32_t tkw__forks;

static struct tkw__lock watch_lock;

static void forked(void)
{
	/* The child has one thread, and that one does not hold the lock. */
	watch_lock = (struct tkw__lock){ .state = { 0 } };
	tkw__forks++;
}

int tkw__forks_watch(void)
{
	static bool watched;
	int err = 0;

	/* Not pthread_once(): a failure may be tried again. */
	tkw__lock_take(&watch_lock);
	if (!watched)
		err = -pthread_atfork(NULL, NULL, forked);
	watched = err == 0;
	tkw__lock_drop(&watch_lock);
	return err;
}

uint64_t tkw__random(void)
{
	uint64_t bits;

	if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) != sizeof(bits))
		bits = (uint64_t)tkw__clock_now(false) * 0x9e3779b97f4a7c15;
	return bits;
}
