/* SPDX-License-Identifier: MIT */
/* rival_command.h - how the program of each rival, and ours, is started. */
#ifndef TKW_RIVAL_COMMAND_H
#define TKW_RIVAL_COMMAND_H

#include <limits.h>

enum {
	BENCH_ARGS_MAX = 16
};

struct bench_rival_command {
	char *argv[BENCH_ARGS_MAX]; /* as execv() takes it */
	char path[PATH_MAX];
};

/* `dir`: the programs DIR/NAME instead of those that were built; or NULL. */
void bench_rival_command(struct bench_rival_command *c, const char *entrant,
			 const char *dir);

/* Why there is no such program; NULL if there is one. */
const char *bench_rival_command_missing(const char *entrant, const char *dir);

/* Why it should not be started just now; NULL if it can be. */
const char *bench_rival_command_hindered(const char *entrant, const char *dir);

#endif /* TKW_RIVAL_COMMAND_H */
