/* SPDX-License-Identifier: MIT */
/* rival_measure.c - runs threads that begin together, and measures what they
 * use. */
#include "rival.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void rival_die(const char *what)
{
	(void)fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
	exit(1);
}

void rival_figure(struct rival_answer *a, const char *name, double value)
{
	if (a->figures == RIVAL_FIGURES_MAX)
		rival_die("too many figures");
	a->figure[a->figures].name = name;
	a->figure[a->figures].value = value;
	a->figures++;
}

void rival_fail(struct rival_answer *a, const char *reason)
{
	if (a->fail == NULL)
		a->fail = reason;
}

struct start {
	_Atomic uint32_t arrived;
	_Atomic bool go;
};

struct member {
	const struct rival_team *team;
	struct start *start;
	pthread_t thread;
	uint32_t number;
	int64_t begin;
	int64_t end;
};

/* Spins for a short time, and then yields, because there may be fewer CPUs than
 * threads. */
static void wait_for_go(struct start *start)
{
	/* pairs with rival_team_run() */
	atomic_fetch_add_explicit(&start->arrived, 1, memory_order_release);
	/* pairs with rival_team_run() */
	for (int i = 0; !atomic_load_explicit(&start->go, memory_order_acquire);
	     i++) {
		if (i < 1000)
			rival_pause();
		else
			(void)sched_yield();
	}
}

static void *run_member(void *arg)
{
	struct member *m = arg;

	if (m->team->prepare)
		m->team->prepare(m->number, m->team->ctx);
	wait_for_go(m->start);
	m->begin = rival_now();
	m->team->timed(m->number, m->team->ctx);
	m->end = rival_now();
	return NULL;
}

void rival_team_run(const struct rival_team *team, struct rival_cost *cost)
{
	struct member members[RIVAL_THREADS_MAX + 1];
	struct start start = { 0, false };
	int64_t begin = INT64_MAX;
	int64_t end = 0;

	for (uint32_t i = 0; i < team->threads; i++) {
		members[i].team = team;
		members[i].start = &start;
		members[i].number = i;
		if (pthread_create(&members[i].thread, NULL, run_member,
				   &members[i]) != 0)
			rival_die("pthread_create failed");
	}
	/* pairs with wait_for_go() */
	while (atomic_load_explicit(&start.arrived, memory_order_acquire) <
	       team->threads)
		rival_sleep_until(rival_now() + RIVAL_MSEC / 10);
	cost->cpu_ns = -rival_cpu_ns();
	/* pairs with wait_for_go() */
	atomic_store_explicit(&start.go, true, memory_order_release);
	for (uint32_t i = 0; i < team->threads; i++) {
		(void)pthread_join(members[i].thread, NULL);
		if (members[i].begin < begin)
			begin = members[i].begin;
		if (members[i].end > end)
			end = members[i].end;
	}
	cost->wall_ns = end - begin;
	/* The work that the last call has left to the worker is part of the
	 * cost. */
	rival_sleep_until(rival_now() + 10 * RIVAL_MSEC);
	cost->cpu_ns += rival_cpu_ns();
}

int64_t rival_cpu_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * RIVAL_SEC + ts.tv_nsec;
}

void rival_sleep_until(int64_t ns)
{
	struct timespec ts = rival_timespec(ns);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) ==
	       EINTR)
		;
}

/* Returns the number that follows a word in a file of a thread. The word ""
 * stands for the start of the file. */
static uint64_t read_number(const char *tid, const char *file, const char *word)
{
	char path[64];
	char text[4096];
	const char *at;
	size_t length;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%.16s/%s", tid,
		       file);
	f = fopen(path, "r");
	if (f == NULL)
		rival_die("no statistics of a thread in /proc");
	length = fread(text, 1, sizeof(text) - 1, f);
	(void)fclose(f);
	text[length] = '\0';
	at = strstr(text, word);
	if (at == NULL)
		rival_die(
			"statistics of a thread in /proc are not as expected");
	return strtoull(at + strlen(word), NULL, 10);
}

void rival_usage_read(struct rival_usage *u)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;

	if (dir == NULL)
		rival_die("no threads in /proc");
	*u = (struct rival_usage){ 0, 0 };
	while ((entry = readdir(dir)) != NULL) {
		const char *tid = entry->d_name;

		if (tid[0] == '.' || strtol(tid, NULL, 10) == getpid())
			continue;
		u->wakeups += read_number(tid, "status",
					  "\nvoluntary_ctxt_switches:");
		u->cpu_ns += read_number(tid, "schedstat", "");
	}
	(void)closedir(dir);
}

uint64_t rival_resident(void)
{
	unsigned long pages;
	FILE *f;
	char text[64];
	char *end;

	(void)malloc_trim(0);
	f = fopen("/proc/self/statm", "r");
	if (f == NULL || fgets(text, sizeof(text), f) == NULL)
		rival_die("/proc/self/statm cannot be read");
	(void)fclose(f);
	(void)strtoul(text, &end, 10);
	pages = strtoul(end, NULL, 10);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void *rival_pages_get(size_t bytes)
{
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		rival_die("out of memory");
	memset(mem, 0, bytes);
	return mem;
}

void rival_pages_put(void *mem, size_t bytes)
{
	(void)munmap(mem, bytes);
}

static int compare(const void *a, const void *b)
{
	const int64_t *x = a;
	const int64_t *y = b;

	return (*x > *y) - (*x < *y);
}

void rival_sort(int64_t *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
}

int64_t rival_quantile(const int64_t *sorted, size_t count, double share)
{
	size_t rank = (size_t)ceil(share * (double)count);

	return sorted[rank > 0 ? rank - 1 : 0];
}
