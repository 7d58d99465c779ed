/* SPDX-License-Identifier: MIT */
/*
 * rival_main.c - the program tkw_bench_rival NAME. It makes one sample for each
 * line on stdin; see rival_line.h.
 *
 * Between samples it has no timer, and no thread but the main one. It ends when
 * its stdin ends.
 */
#include "rival_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef RIVAL_HAVE_LIBEV
const struct entrant entrant_mutex_libev = { .name = "mutex_libev",
					     .missing = "no libev" };
#endif
#ifndef RIVAL_HAVE_LIBUV
const struct entrant entrant_mutex_libuv = { .name = "mutex_libuv",
					     .missing = "no libuv" };
#endif
#ifndef RIVAL_HAVE_LIBEVENT
const struct entrant entrant_mutex_libevent = { .name = "mutex_libevent",
						.missing = "no libevent" };
#endif

static const struct entrant *const entrants[] = {
	&entrant_tickwheel,
	&entrant_mutex_wheel,
	&entrant_mutex_wheel_malloc,
	&entrant_mutex_libev,
	&entrant_mutex_libuv,
	&entrant_mutex_libevent,
	&entrant_timerfd,
	&entrant_mutex_hash,
	&entrant_sharded_hash,
	&entrant_mutex_lists,
	&entrant_tickwheel_clock,
	&entrant_libuv,
	&entrant_libevent,
	&entrant_libevent_common,
	&entrant_libev,
};

static const struct rival_word kinds[] = {
	{ "schedule", RIVAL_SCHEDULE },
	{ "pair", RIVAL_PAIR },
	{ "reschedule", RIVAL_RESCHEDULE },
	{ "churn", RIVAL_CHURN },
	{ "cross_cancel", RIVAL_CROSS_CANCEL },
	{ "fire", RIVAL_FIRE },
	{ "lateness", RIVAL_LATENESS },
	{ "idle", RIVAL_IDLE },
	{ "far", RIVAL_FAR },
	{ "herd", RIVAL_HERD },
	{ "create", RIVAL_CREATE },
	{ "unused", RIVAL_UNUSED },
	{ "memory", RIVAL_MEMORY },
	{ "stop", RIVAL_STOP },
	{ "request", RIVAL_REQUEST },
	{ "delayed", RIVAL_DELAYED },
	{ "expire", RIVAL_EXPIRE },
	{ "extend", RIVAL_EXTEND },
};

static const struct rival_key keys[] = {
	{ "threads", offsetof(struct rival_load, threads), 1,
	  RIVAL_THREADS_MAX },
	{ "ops", offsetof(struct rival_load, ops), 1, UINT32_MAX },
	{ "n", offsetof(struct rival_load, n), 1, UINT32_MAX - 1 },
	{ "window", offsetof(struct rival_load, window), 1, 1U << 24 },
	{ "crowd", offsetof(struct rival_load, crowd), 1, 1U << 24 },
	{ "at", offsetof(struct rival_load, at), 0, 1 },
	{ "ms", offsetof(struct rival_load, ms), 1, UINT32_MAX },
	{ "longest_ms", offsetof(struct rival_load, longest_ms), 2, 4000000 },
	{ "rounds", offsetof(struct rival_load, rounds), 1, UINT32_MAX },
	{ "loop", offsetof(struct rival_load, loop), RIVAL_LOOP_LIBUV,
	  RIVAL_LOOP_LIBEV },
	{ "same", offsetof(struct rival_load, same), 0, 1 },
	{ "tick_ns", offsetof(struct rival_load, tick_ns), 1, UINT32_MAX },
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct rival_grammar grammar = { kinds, COUNT_OF(kinds), keys,
					      COUNT_OF(keys) };

static bool parse_line(char *line, struct rival_load *l)
{
	char *rest = NULL;
	int kind;

	*l = (struct rival_load){ .threads = 1,
				  .ops = 1000000,
				  .n = 1000,
				  .window = 1000,
				  .crowd = 1,
				  .ms = 10000,
				  .longest_ms = 100,
				  .rounds = 100,
				  .loop = RIVAL_LOOP_LIBUV,
				  .tick_ns = RIVAL_MSEC };
	if (!rival_line_kind(&grammar, line, &rest, &kind))
		return false;
	l->kind = (enum rival_kind)kind;
	if (l->kind == RIVAL_FIRE)
		l->ms = 2000;
	return rival_line_numbers(&grammar, rest, l);
}

static void run_extend(const struct entrant *entrant,
		       const struct rival_load *l, struct rival_answer *a)
{
	if (entrant->run_extend == NULL)
		a->skip = entrant->missing ? entrant->missing : "is in no loop";
	else if (entrant->loop != 0 && entrant->loop != l->loop)
		a->skip = "it is another loop";
	else
		entrant->run_extend(l, a);
}

static void run_timer(const struct entrant *entrant, const struct rival_load *l,
		      struct rival_answer *a)
{
	switch (l->kind) {
	case RIVAL_CREATE:
	case RIVAL_UNUSED:
		if (entrant->run_unused)
			entrant->run_unused(l, a);
		else
			a->skip = "starts its thread at once";
		break;
	case RIVAL_STOP:
		if (entrant->run_stop)
			entrant->run_stop(l, a);
		else
			a->skip = "has no stop that returns what is pending";
		break;
	default:
		entrant->run(l, a);
	}
}

/* run is NULL if the entrant does not have this part. */
static void
run_part(void (*run)(const struct rival_load *l, struct rival_answer *a),
	 const char *lacks, const struct rival_load *l, struct rival_answer *a)
{
	if (run)
		run(l, a);
	else
		a->skip = lacks;
}

static void run(const struct entrant *entrant, char *line,
		struct rival_answer *a)
{
	struct rival_load load;

	if (!parse_line(line, &load))
		a->fail = "the line was not understood";
	else if (load.kind == RIVAL_REQUEST)
		run_part(entrant->run_requests, "has no requests", &load, a);
	else if (load.kind == RIVAL_DELAYED || load.kind == RIVAL_EXPIRE)
		run_part(entrant->run_delayed, "has no delayed operations",
			 &load, a);
	else if (load.kind == RIVAL_EXTEND)
		run_extend(entrant, &load, a);
	else if (entrant->run == NULL)
		a->skip = entrant->missing ? entrant->missing : "has no timer";
	else
		run_timer(entrant, &load, a);
}

static const struct entrant *find_entrant(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(entrants); i++) {
		if (strcmp(entrants[i]->name, name) == 0)
			return entrants[i];
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct entrant *entrant =
		argc == 2 ? find_entrant(argv[1]) : NULL;
	char *line = NULL;
	size_t room = 0;

	if (entrant == NULL) {
		(void)fprintf(stderr, "usage: tkw_bench_rival NAME\n");
		return 2;
	}
	while (getline(&line, &room, stdin) > 0) {
		struct rival_answer answer = { 0 };

		run(entrant, line, &answer);
		rival_line_answer(&answer);
	}
	free(line);
	return 0;
}
