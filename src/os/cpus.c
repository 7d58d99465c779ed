/* SPDX-License-Identifier: MIT */
/* cpus.c - reads sched_getaffinity() and the files of the cgroup. */
#define _GNU_SOURCE
#include "os/cpus.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/sync.h"

/* How many CPUs' worth of time one cgroup may use, rounded up. Returns 0 if
 * there is no limit. */
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

/* The smallest limit of the process's own cgroup and those above it. Returns 0
 * if there is no limit. */
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

/* Reads the quota only once per process, because reading the files takes longer
 * than everything else in creating a timer. */
static uint32_t quota_once(void)
{
	enum {
		UNKNOWN = 0,
		/* Once known, the word is this plus twice the quota. */
		KNOWN = 1
	};
	static struct tkw__a32 known;
	uint32_t quota = TKW__LOAD(&known, RELAXED);

	if (quota == UNKNOWN) {
		quota = 2 * quota_in_cpus() + KNOWN;
		TKW__STORE(&known, quota, RELAXED);
	}
	return quota / 2;
}

uint32_t tkw__cpus(void)
{
	uint32_t limit = quota_once();
	uint32_t cpus = 1;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		cpus = (uint32_t)CPU_COUNT(&set);
	return limit != 0 && limit < cpus ? limit : cpus;
}
