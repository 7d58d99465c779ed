/* SPDX-License-Identifier: MIT */
/*
 * rival_command.c - see rival_command.h. CMake says where the programs are:
 * BENCH_PEER (those in C), BENCH_GO, BENCH_JAVA and BENCH_CLASSPATH. Those that
 * were not found are empty.
 */
#include "rival_command.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A heap that need not grow, most of it for what is young, touched before, so
 * that no page fault is timed; and the collector that costs the program least.
 */
static const char *const java_flags[] = {
	"-Xms4g",
	"-Xmx4g",
	"-Xmn2500m",
	"-XX:+AlwaysPreTouch",
	"-XX:+UseParallelGC",
	"-Xlog:disable",
	"-cp",
	BENCH_CLASSPATH,
	"TimerRival",
};

enum {
	JAVA_FLAGS = sizeof(java_flags) / sizeof(java_flags[0]),
	JAVA_NEEDS_KB = 5000000 /* the heap, and what there is besides */
};
_Static_assert(JAVA_FLAGS + 3 <= BENCH_ARGS_MAX, "no room for its arguments");

static bool in_java(const char *impl)
{
	return strncmp(impl, "netty_", 6) == 0 || strcmp(impl, "stpe") == 0;
}

static bool in_go(const char *impl)
{
	return strcmp(impl, "go") == 0;
}

static const char *program(const char *impl)
{
	return in_java(impl) ? BENCH_JAVA : in_go(impl) ? BENCH_GO : BENCH_PEER;
}

void bench_peer_command(struct bench_peer_command *c, const char *impl,
			const char *dir)
{
	size_t n = 1;

	if (dir)
		(void)snprintf(c->path, sizeof(c->path), "%s/%s", dir, impl);
	else
		(void)snprintf(c->path, sizeof(c->path), "%s", program(impl));
	c->argv[0] = c->path;
	/* execv() does not write to them; its type is older than const. */
	for (size_t i = 0; dir == NULL && in_java(impl) && i < JAVA_FLAGS; i++)
		c->argv[n++] = (char *)java_flags[i];
	c->argv[n++] = (char *)impl;
	c->argv[n] = NULL;
}

const char *bench_peer_command_missing(const char *impl, const char *dir)
{
	struct bench_peer_command c;

	bench_peer_command(&c, impl, dir);
	if (c.path[0] != '\0' && access(c.path, X_OK) == 0)
		return NULL;
	if (dir)
		return "there is no program of that name";
	if (in_java(impl))
		return "no Java, or no Netty";
	if (in_go(impl))
		return "no Go";
	return "it was not built";
}

/* UINT64_MAX if the system does not say. */
static uint64_t available_kb(void)
{
	static const char key[] = "MemAvailable:";
	FILE *from = fopen("/proc/meminfo", "re");
	uint64_t kb = UINT64_MAX;
	char line[128];

	if (from == NULL)
		return kb;
	while (kb == UINT64_MAX && fgets(line, sizeof(line), from)) {
		if (strncmp(line, key, sizeof(key) - 1) == 0)
			kb = strtoull(line + sizeof(key) - 1, NULL, 10);
	}
	(void)fclose(from);
	return kb;
}

const char *bench_peer_command_hindered(const char *impl, const char *dir)
{
	if (dir == NULL && in_java(impl) && available_kb() < JAVA_NEEDS_KB)
		return "less than 5 GB of memory are free";
	return NULL;
}
