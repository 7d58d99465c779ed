/* SPDX-License-Identifier: MIT */
/*
 * rival_command.c - how the program of each entrant is started; see
 * rival_command.h.
 *
 * CMake defines where the programs are: BENCH_RIVAL (those in C), BENCH_QUEUE
 * (those of the queue), BENCH_REDIS (those of the queue in Redis), BENCH_GO,
 * BENCH_JAVA and BENCH_CLASSPATH. A program that was not found is an empty
 * string.
 */
#include "rival_command.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A heap that need not grow, most of it for young objects. It is touched
 * before, so that no page fault is timed. The collector is the one that costs
 * the program least. */
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
	JAVA_NEEDS_KB = 5000000 /* the heap, and the rest of the process */
};
_Static_assert(JAVA_FLAGS + 3 <= BENCH_ARGS_MAX, "no room for its arguments");

static bool in_java(const char *entrant)
{
	return strncmp(entrant, "netty_", 6) == 0 ||
	       strcmp(entrant, "stpe") == 0;
}

static bool in_go(const char *entrant)
{
	return strcmp(entrant, "go") == 0;
}

static const char *program(struct bench_rival_who who)
{
	return who.queue              ? BENCH_QUEUE
	       : who.redis            ? BENCH_REDIS
	       : in_java(who.entrant) ? BENCH_JAVA
	       : in_go(who.entrant)   ? BENCH_GO
				      : BENCH_RIVAL;
}

void bench_rival_command(struct bench_rival_command *c,
			 struct bench_rival_who who)
{
	bool java = who.dir == NULL && in_java(who.entrant);
	size_t n = 1;

	if (who.dir)
		(void)snprintf(c->path, sizeof(c->path), "%s/%s", who.dir,
			       who.entrant);
	else
		(void)snprintf(c->path, sizeof(c->path), "%s", program(who));
	c->argv[0] = c->path;
	/* execv() does not write to them; its type is older than const. */
	for (size_t i = 0; java && i < JAVA_FLAGS; i++)
		c->argv[n++] = (char *)java_flags[i];
	c->argv[n++] = (char *)who.entrant;
	c->argv[n] = NULL;
}

const char *bench_rival_command_missing(struct bench_rival_who who)
{
	struct bench_rival_command c;

	bench_rival_command(&c, who);
	if (c.path[0] != '\0' && access(c.path, X_OK) == 0)
		return NULL;
	if (who.dir)
		return "there is no program of that name";
	if (in_java(who.entrant))
		return "no Java, or no Netty";
	if (in_go(who.entrant))
		return "no Go";
	if (who.redis)
		return "no hiredis";
	return "it was not built";
}

/* Returns UINT64_MAX if the system does not say. */
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

const char *bench_rival_command_hindered(struct bench_rival_who who)
{
	if (who.dir == NULL && in_java(who.entrant) &&
	    available_kb() < JAVA_NEEDS_KB)
		return "less than 5 GB of memory are free";
	return NULL;
}
