/* SPDX-License-Identifier: MIT */
/* queue_process.c - what the system says about a process. */
#include "queue_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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
