/* SPDX-License-Identifier: MIT */
/* queue_process.c - what the system says about a process. */
#include "queue_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	STAT_USER = 14, /* number of the field; the next one is the system's */
	STAT_NAME = 2
};

/* Reads a file of a process. */
static void read_proc(int pid, const char *file, char *text, size_t size)
{
	char path[64];
	FILE *from;
	size_t len = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	from = fopen(path, "re");
	if (from) {
		len = fread(text, 1, size - 1, from);
		(void)fclose(from);
	}
	if (len == 0)
		rival_die("statistics of a process in /proc cannot be read");
	text[len] = '\0';
}

uint64_t queue_process_resident(int pid)
{
	char text[256];
	char *end;

	read_proc(pid, "statm", text, sizeof(text));
	(void)strtoull(text, &end, 10);
	return strtoull(end, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

int64_t queue_process_cpu_ns(int pid)
{
	char text[1024];
	char *at;
	int64_t ticks = 0;

	read_proc(pid, "stat", text, sizeof(text));
	/* The name of the program may have spaces. It ends with the last ). */
	at = strrchr(text, ')');
	for (int field = STAT_NAME; at && field < STAT_USER; field++)
		at = strchr(at + 1, ' ');
	if (at) {
		ticks = strtoll(at, &at, 10);
		ticks += strtoll(at, NULL, 10);
	}
	return ticks * RIVAL_SEC / sysconf(_SC_CLK_TCK);
}

int64_t queue_process_main_ns(int pid)
{
	char text[128];

	read_proc(pid, "schedstat", text, sizeof(text));
	return strtoll(text, NULL, 10);
}
