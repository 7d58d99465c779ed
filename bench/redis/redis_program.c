/* SPDX-License-Identifier: MIT */
/*
 * redis_program.c - the program tkw_bench_redis NAME. It makes one sample for
 * each line on stdin; see timer/rival_line.h.
 *
 * Between samples it has no server, no folder, and no thread but the main one.
 * It ends when its stdin ends.
 */
#include "redis_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timer/rival_line.h"

static const struct redis_entrant *const entrants[] = {
	&redis_ours, &redis_lua, &redis_lua_loop, &redis_bullmq, &redis_set,
};

static const struct rival_word kinds[] = {
	{ "put", REDIS_PUT },     { "take", REDIS_TAKE },
	{ "cycle", REDIS_CYCLE }, { "hold", REDIS_HOLD },
	{ "tiny", REDIS_TINY },   { "lateness", REDIS_LATENESS },
	{ "herd", REDIS_HERD },
};

static const struct rival_key keys[] = {
	{ "n", offsetof(struct redis_load, n), 0, 100000000 },
	{ "each", offsetof(struct redis_load, each), 1, QUEUE_MOST },
	{ "call", offsetof(struct redis_load, call), 0, 1 },
	{ "way", offsetof(struct redis_load, way), 0, REDIS_SINGLE },
	{ "rate", offsetof(struct redis_load, rate), 1, 1000000 },
	{ "ms", offsetof(struct redis_load, ms), 1, 3600000 },
	{ "count", offsetof(struct redis_load, count), 1, 100000 },
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct rival_grammar grammar = { kinds, COUNT_OF(kinds), keys,
					      COUNT_OF(keys) };

static bool parse_line(char *line, struct redis_load *l)
{
	char *rest = NULL;
	int kind;

	*l = (struct redis_load){
		.n = 1000, .each = 1, .rate = 1000, .ms = 1000, .count = 100
	};
	if (!rival_line_kind(&grammar, line, &rest, &kind))
		return false;
	l->kind = (enum redis_kind)kind;
	if (!rival_line_numbers(&grammar, rest, l))
		return false;
	if (l->kind == REDIS_TINY)
		return l->n <= QUEUE_MOST;
	return l->n > 0 && (uint64_t)l->rate * l->ms / 1000 > 0;
}

static const struct redis_entrant *find_entrant(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(entrants); i++) {
		if (strcmp(entrants[i]->name, name) == 0)
			return entrants[i];
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct redis_entrant *entrant =
		argc == 2 ? find_entrant(argv[1]) : NULL;
	struct redis_load load;
	char *line = NULL;
	size_t room = 0;

	if (entrant == NULL) {
		(void)fprintf(stderr, "usage: tkw_bench_redis NAME\n");
		return 2;
	}
	queue_folder_sweep();
	while (getline(&line, &room, stdin) > 0) {
		struct rival_answer answer = { 0 };

		if (parse_line(line, &load))
			redis_run(entrant, &load, &answer);
		else
			answer.fail = "the line was not understood";
		rival_line_answer(&answer);
	}
	free(line);
	return 0;
}
