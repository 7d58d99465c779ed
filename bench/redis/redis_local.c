/* SPDX-License-Identifier: MIT */
/*
 * redis_local.c - the server of a sample. It has the same settings for all
 * entrants, but only the server of our module loads it. The server saves
 * nothing by itself.
 *
 * CMake defines BENCH_MODULE, the file of the module, or an empty string.
 */
#include "redis_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns the program, or NULL. */
static const char *find_program(void)
{
	static const char *const places[] = { "/usr/bin/redis-server",
					      "/usr/local/bin/redis-server" };
	const char *wanted = getenv("TKW_BENCH_SERVER");

	if (wanted && *wanted)
		return access(wanted, X_OK) == 0 ? wanted : NULL;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (access(places[i], X_OK) == 0)
			return places[i];
	}
	return NULL;
}

const char *redis_server_missing(void)
{
	return find_program() ? NULL : "no redis-server";
}

const char *redis_module(void)
{
	static const char module[] = BENCH_MODULE;

	return sizeof(module) > 1 && access(module, R_OK) == 0 ? module : NULL;
}

struct settings {
	const char *dir;
	const char *module;
};

/* Runs in the child. Does not return. */
static void become_server(const char *port, const void *ctx)
{
	const struct settings *settings = ctx;
	const char *program = find_program();
	const char *argv[] = { "redis-server",
			       "--port",
			       port,
			       "--bind",
			       "127.0.0.1",
			       "--dir",
			       settings->dir,
			       "--logfile",
			       "server.log",
			       "--loglevel",
			       "warning",
			       "--daemonize",
			       "no",
			       "--save",
			       "",
			       "--appendonly",
			       "no",
			       settings->module ? "--loadmodule" : NULL,
			       settings->module,
			       NULL };

	/* execv() does not write to them; its type is older than const. */
	if (program)
		(void)execv(program, (char **)argv);
	_exit(127);
}

/* Returns false while the server reads its file. It accepts connections then,
 * but refuses commands. */
static bool answers(struct redis_link *k)
{
	const redisReply *r;
	bool ready;

	redis_add_word(k, "PING");
	redis_end(k);
	r = redis_reply_or_error(k);
	ready = r->type == REDIS_REPLY_STATUS;
	if (!ready && strncmp(r->str, "LOADING", 7) != 0)
		rival_die(r->str);
	return ready;
}

void redis_server_start(struct queue_server *s, const char *dir,
			const char *module)
{
	struct settings settings = { dir, module };
	struct redis_link *k;

	queue_server_start(s, become_server, &settings);
	k = redis_link_open(s->port);
	while (!answers(k))
		rival_sleep_until(rival_now() + RIVAL_MSEC);
	redis_link_close(k);
}

uint64_t redis_server_used(struct redis_link *k)
{
	static const char key[] = "\nused_memory:";
	uint64_t used = 0;
	const char *at;
	const redisReply *r;

	redis_add_word(k, "INFO");
	redis_add_word(k, "memory");
	redis_end(k);
	r = redis_reply(k);
	at = r->type == REDIS_REPLY_STRING ? strstr(r->str, key) : NULL;
	if (at)
		used = strtoull(at + sizeof(key) - 1, NULL, 10);
	if (used == 0)
		rival_die("the server does not say how much memory it uses");
	return used;
}
