/* SPDX-License-Identifier: MIT */
/*
 * own_server.h - Redis servers that a test starts and ends.
 *
 * A server has a folder of its own and a free port of the loopback. It is gone
 * when the program ends, also if a test has failed before it could end it. The
 * program is redis-server; TKW_REDIS_SERVER in the environment names another
 * one, such as valkey-server.
 *
 * Each server has the module. The test build of the module has one more
 * command, TKW.CLOCK, that sets its clock.
 */
#ifndef TKW_TESTS_OWN_SERVER_H
#define TKW_TESTS_OWN_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "resp.h"

/* The time at which tests begin that set the clock: in ms, and as TKW.CLOCK
 * has it. */
#define SERVER_START_MS INT64_C(1700000000000)
#define SERVER_START_US INT64_C(1700000000000000)

enum server_module {
	SERVER_TEST_MODULE, /* with TKW.CLOCK */
	SERVER_REAL_MODULE, /* as shipped */
	SERVER_NO_MODULE
};

struct server {
	char dir[128];
	char lines[2048]; /* of the configuration */
	enum server_module module;
	int port;
	pid_t pid; /* 0: it does not run */
	bool sentinel;
	int place; /* in the list of all servers */
};

/* Ends the program with status 77 and a reason if there is no server program.
 * Call it first in main(). Otherwise an argument names the only test to run; it
 * may have wildcards. */
void server_need(int argc, char **argv);

/* Makes the folder, starts the server and waits until it answers.
 *
 * lines  More lines of the configuration. */
void server_begin(struct server *s, enum server_module module,
		  const char *lines);
/* The same for a sentinel, which has no module. */
void server_begin_sentinel(struct server *s, const char *lines);
/* Ends the server if it runs, and removes the folder. Returns false, and
 * prints what the server has said, if the server had crashed. */
bool server_end(struct server *s);

/* Gives a server that does not run another module and other lines. */
void server_change(struct server *s, enum server_module module,
		   const char *lines);
/* Starts a server again that was stopped, in its folder and at its port. */
void server_start(struct server *s);
/* Starts it, and returns false if it ends by itself. */
bool server_try_start(struct server *s);
/* Ends it by SIGTERM and waits. It must end well. */
void server_stop(struct server *s);
/* Ends it by kill -9. */
void server_kill(struct server *s);
/* Stops it for a while (SIGSTOP), and lets it go on. */
void server_freeze(const struct server *s);
void server_thaw(const struct server *s);
/* True if it runs. */
bool server_is_alive(struct server *s);

/* Connects. */
struct resp *server_connect(const struct server *s, int version);
/* A file of the server's folder. The path is valid until the next call. */
const char *server_path(const struct server *s, const char *name);
/* True if the log has this text. */
bool server_has_said(const struct server *s, const char *text);

/* Makes a server a replica of another one, and waits until it has caught up.
 * The replica says so itself, and so does the master. */
void server_follow(const struct server *replica, const struct server *master);
/* Waits until a replica has all that its master has. */
void server_catch_up(const struct server *replica, const struct server *master);

/* The path of the module. */
const char *server_module_path(enum server_module module);

/* A number of the environment, or another one. */
uint64_t server_number(const char *name, uint64_t otherwise);
/* A seed, printed. TKW_SEED in the environment replays one. */
uint64_t server_seed(void);
/* The next number of a seed, and one below a bound. */
uint64_t server_random(uint64_t *state);
uint64_t server_below(uint64_t *state, uint64_t bound);

#endif /* TKW_TESTS_OWN_SERVER_H */
