/* SPDX-License-Identifier: MIT */
/*
 * queue_program.c - the program tkw_bench_queue NAME. It makes one sample for
 * each line on stdin; see timer/rival_line.h.
 *
 * Between samples it has no queue, no folder, no server, and no thread but the
 * main one. It ends when its stdin ends.
 */
#include "queue_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timer/rival_line.h"

#ifndef QUEUE_HAVE_OURS
static const char *not_built(void)
{
	return "libtickwheel-queue was not built";
}

const struct queue_entrant queue_ours = { .name = "tickwheel",
					  .missing = not_built };
#endif
#ifndef QUEUE_HAVE_SQLITE
static const char *no_sqlite(void)
{
	return "no SQLite";
}

const struct queue_entrant queue_sqlite = { .name = "sqlite_polled",
					    .missing = no_sqlite };
#endif

static const struct queue_entrant *const entrants[] = {
	&queue_ours,  &queue_beanstalkd,     &queue_sqlite,
	&queue_floor, &queue_floor_in_place, &queue_ram,
};

static const struct rival_word kinds[] = {
	{ "put", QUEUE_PUT },       { "cycle", QUEUE_CYCLE },
	{ "batch", QUEUE_BATCH },   { "lateness", QUEUE_LATENESS },
	{ "memory", QUEUE_MEMORY }, { "open", QUEUE_OPEN },
	{ "churn", QUEUE_CHURN },
};

static const struct rival_key keys[] = {
	{ "threads", offsetof(struct queue_load, threads), 1,
	  RIVAL_THREADS_MAX },
	{ "flight", offsetof(struct queue_load, flight), 1,
	  QUEUE_MOST / RIVAL_THREADS_MAX },
	{ "ms", offsetof(struct queue_load, ms), 1, 3600000 },
	{ "n", offsetof(struct queue_load, n), 1, 100000000 },
	{ "rate", offsetof(struct queue_load, rate), 1, 1000000 },
	{ "rounds", offsetof(struct queue_load, rounds), 1, QUEUE_ROUNDS_MAX },
	{ "ops", offsetof(struct queue_load, ops), 1000, UINT32_MAX },
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct rival_grammar grammar = { kinds, COUNT_OF(kinds), keys,
					      COUNT_OF(keys) };

static bool parse_line(char *line, struct queue_load *l)
{
	char *rest = NULL;
	int kind;

	*l = (struct queue_load){ .threads = 1,
				  .flight = 1,
				  .ms = 200,
				  .n = 32,
				  .rate = 10000,
				  .rounds = 1,
				  .ops = 100000 };
	if (!rival_line_kind(&grammar, line, &rest, &kind))
		return false;
	l->kind = (enum queue_kind)kind;
	if (!rival_line_numbers(&grammar, rest, l))
		return false;
	return l->kind != QUEUE_BATCH || l->n <= QUEUE_MOST;
}

static const struct queue_entrant *find_entrant(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(entrants); i++) {
		if (strcmp(entrants[i]->name, name) == 0)
			return entrants[i];
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct queue_entrant *entrant =
		argc == 2 ? find_entrant(argv[1]) : NULL;
	struct queue_load load;
	char *line = NULL;
	size_t room = 0;

	if (entrant == NULL) {
		(void)fprintf(stderr, "usage: tkw_bench_queue NAME\n");
		return 2;
	}
	queue_folder_sweep();
	while (getline(&line, &room, stdin) > 0) {
		struct rival_answer answer = { 0 };

		if (parse_line(line, &load))
			queue_run(entrant, &load, &answer);
		else
			answer.fail = "the line was not understood";
		rival_line_answer(&answer);
	}
	free(line);
	return 0;
}
