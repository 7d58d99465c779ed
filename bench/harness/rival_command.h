/* SPDX-License-Identifier: MIT */
/* rival_command.h - how the program of each entrant is started. */
#ifndef TKW_RIVAL_COMMAND_H
#define TKW_RIVAL_COMMAND_H

#include <limits.h>
#include <stdbool.h>

enum {
	BENCH_ARGS_MAX = 16
};

struct bench_rival_command {
	char *argv[BENCH_ARGS_MAX]; /* as for execv() */
	char path[PATH_MAX];
};

/* Which program. */
struct bench_rival_who {
	const char *entrant;
	bool queue; /* for the rows of the queue */
	bool redis; /* for those of the queue in Redis */
	/* If it is not NULL, the program is DIR/ENTRANT instead of the one that
	 * was built. */
	const char *dir;
};

/* Writes the command that starts an entrant. */
void bench_rival_command(struct bench_rival_command *c,
			 struct bench_rival_who who);

/* Returns why there is no such program, or NULL if there is one. */
const char *bench_rival_command_missing(struct bench_rival_who who);

/* Returns why the program should not be started just now, or NULL. */
const char *bench_rival_command_hindered(struct bench_rival_who who);

#endif /* TKW_RIVAL_COMMAND_H */
