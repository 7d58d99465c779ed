/* SPDX-License-Identifier: MIT */
/* rival_command.h - how the program of each entrant is started. */
#ifndef TKW_RIVAL_COMMAND_H
#define TKW_RIVAL_COMMAND_H

#include <limits.h>

enum {
	BENCH_ARGS_MAX = 16
};

struct bench_rival_command {
	char *argv[BENCH_ARGS_MAX]; /* as for execv() */
	char path[PATH_MAX];
};

/* Writes the command that starts an entrant. If dir is not NULL, it is the
 * program DIR/NAME instead of the one that was built. */
void bench_rival_command(struct bench_rival_command *c, const char *entrant,
			 const char *dir);

/* Returns why there is no such program, or NULL if there is one. */
const char *bench_rival_command_missing(const char *entrant, const char *dir);

/* Returns why the program should not be started just now, or NULL. */
const char *bench_rival_command_hindered(const char *entrant, const char *dir);

#endif /* TKW_RIVAL_COMMAND_H */
