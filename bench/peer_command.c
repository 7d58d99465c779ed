/* SPDX-License-Identifier: MIT */
/*
 * peer_command.c - see peer_command.h. CMake says where the programs are:
 * BENCH_PEER (those in C), BENCH_GO, BENCH_JAVA and BENCH_CLASSPATH. Those that
 * were not found are empty.
 */
#include "peer_command.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A heap that need not grow, touched before, so that no page fault is timed;
 * and the collector that costs the program least. */
static const char *const java_flags[] = {
	"-Xms4g",        "-Xmx4g", "-XX:+AlwaysPreTouch", "-XX:+UseParallelGC",
	"-Xlog:disable", "-cp",    BENCH_CLASSPATH,       "TimerPeer",
};

enum {
	JAVA_FLAGS = sizeof(java_flags) / sizeof(java_flags[0])
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
