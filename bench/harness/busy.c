/* SPDX-License-Identifier: MIT */
/* busy.c - how many CPUs other processes use; see busy.h. */
#include "busy.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	SLEEP_MS = 100,
	IDLE = 3, /* the fourth and fifth numbers: idle, and waiting for I/O */
	WAITING = 4,
	NUMBERS = 8 /* what follows is counted in these already */
};

/* Reads how many ticks all CPUs together were in use since the start. */
static bool read_ticks(uint64_t *ticks)
{
	FILE *from = fopen("/proc/stat", "re");
	char line[256];
	char *at = line;
	bool good;

	if (from == NULL)
		return false;
	good = fgets(line, sizeof(line), from) && strncmp(line, "cpu ", 4) == 0;
	(void)fclose(from);
	if (!good)
		return false;
	at += 4;
	*ticks = 0;
	for (int i = 0; i < NUMBERS; i++) {
		uint64_t n = strtoull(at, &at, 10);

		if (i != IDLE && i != WAITING)
			*ticks += n;
	}
	return true;
}

double bench_busy_cpus(void)
{
	const struct timespec ts = { .tv_nsec = SLEEP_MS * 1000000L };
	double second = (double)sysconf(_SC_CLK_TCK);
	uint64_t before;
	uint64_t after;

	if (!read_ticks(&before))
		return 0;
	(void)nanosleep(&ts, NULL);
	if (!read_ticks(&after) || after < before)
		return 0;
	return (double)(after - before) / (second * SLEEP_MS / 1000);
}
