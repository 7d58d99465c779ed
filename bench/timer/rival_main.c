/* SPDX-License-Identifier: MIT */
/*
 * rival_main.c - the program tkw_bench_rival NAME. It makes one sample for each
 * line on stdin.
 *
 *   request    KIND key=value ...      whole numbers; unknown keys are ignored
 *   answer     figure NAME VALUE       any number of these, then one of
 *              done | skip REASON | fail REASON
 *
 * Between samples it has no timer, and no thread but the main one. It ends when
 * its stdin ends.
 */
#include "rival.h"

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
	&entrant_tickwheel,   &entrant_mutex_wheel,    &entrant_mutex_libev,
	&entrant_mutex_libuv, &entrant_mutex_libevent, &entrant_timerfd,
	&entrant_mutex_hash,  &entrant_sharded_hash,   &entrant_tickwheel_clock,
	&entrant_libuv,       &entrant_libevent,       &entrant_libevent_common,
	&entrant_libev,
};

static const struct {
	const char *name;
	enum rival_kind kind;
} kinds[] = {
	{ "schedule", RIVAL_SCHEDULE }, { "pair", RIVAL_PAIR },
	{ "churn", RIVAL_CHURN },       { "cross_cancel", RIVAL_CROSS_CANCEL },
	{ "fire", RIVAL_FIRE },         { "lateness", RIVAL_LATENESS },
	{ "idle", RIVAL_IDLE },         { "far", RIVAL_FAR },
	{ "herd", RIVAL_HERD },         { "create", RIVAL_CREATE },
	{ "unused", RIVAL_UNUSED },     { "memory", RIVAL_MEMORY },
	{ "stop", RIVAL_STOP },         { "request", RIVAL_REQUEST },
	{ "extend", RIVAL_EXTEND },
};

static const struct {
	const char *name;
	size_t offset; /* the offset in struct rival_load */
	uint32_t least;
	uint32_t most;
} keys[] = {
	{ "threads", offsetof(struct rival_load, threads), 1,
	  RIVAL_THREADS_MAX },
	{ "ops", offsetof(struct rival_load, ops), 1, UINT32_MAX },
	{ "n", offsetof(struct rival_load, n), 1, UINT32_MAX - 1 },
	{ "window", offsetof(struct rival_load, window), 1, 1U << 24 },
	{ "at", offsetof(struct rival_load, at), 0, 1 },
	{ "ms", offsetof(struct rival_load, ms), 1, UINT32_MAX },
	{ "rounds", offsetof(struct rival_load, rounds), 1, UINT32_MAX },
	{ "loop", offsetof(struct rival_load, loop), RIVAL_LOOP_LIBUV,
	  RIVAL_LOOP_LIBEV },
	{ "same", offsetof(struct rival_load, same), 0, 1 },
	{ "tick_ns", offsetof(struct rival_load, tick_ns), 1, UINT32_MAX },
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool parse_kind(const char *word, struct rival_load *l)
{
	for (size_t i = 0; word && i < COUNT_OF(kinds); i++) {
		if (strcmp(word, kinds[i].name) == 0) {
			l->kind = kinds[i].kind;
			return true;
		}
	}
	return false;
}

/* Reads "key=value". Returns true also if the key is unknown. */
static bool parse_pair(char *word, struct rival_load *l)
{
	char *equals = strchr(word, '=');
	unsigned long long value;
	char *end;

	if (equals == NULL)
		return false;
	*equals = '\0';
	value = strtoull(equals + 1, &end, 10);
	if (end == equals + 1 || *end != '\0')
		return false;
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		uint32_t number = (uint32_t)value;

		if (strcmp(word, keys[i].name) != 0)
			continue;
		if (value < keys[i].least || value > keys[i].most)
			return false;
		memcpy((char *)l + keys[i].offset, &number, sizeof(number));
	}
	return true;
}

static bool parse_line(char *line, struct rival_load *l)
{
	char *rest = NULL;
	char *word = strtok_r(line, " \t\n", &rest);

	*l = (struct rival_load){ .threads = 1,
				  .ops = 1000000,
				  .n = 1000,
				  .window = 1000,
				  .ms = 10000,
				  .rounds = 100,
				  .loop = RIVAL_LOOP_LIBUV,
				  .tick_ns = RIVAL_MSEC };
	if (!parse_kind(word, l))
		return false;
	if (l->kind == RIVAL_FIRE)
		l->ms = 2000;
	while ((word = strtok_r(NULL, " \t\n", &rest)) != NULL) {
		if (!parse_pair(word, l))
			return false;
	}
	return true;
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

static void run(const struct entrant *entrant, char *line,
		struct rival_answer *a)
{
	struct rival_load load;

	if (!parse_line(line, &load))
		a->fail = "the line was not understood";
	else if (load.kind == RIVAL_REQUEST && entrant->run_requests)
		entrant->run_requests(&load, a);
	else if (load.kind == RIVAL_REQUEST)
		a->skip = "has no requests";
	else if (load.kind == RIVAL_EXTEND)
		run_extend(entrant, &load, a);
	else if (entrant->run == NULL)
		a->skip = entrant->missing ? entrant->missing : "has no timer";
	else
		run_timer(entrant, &load, a);
}

static void print(const struct rival_answer *a)
{
	if (a->fail) {
		printf("fail %s\n", a->fail);
	} else if (a->skip) {
		printf("skip %s\n", a->skip);
	} else {
		for (uint32_t i = 0; i < a->figures; i++)
			printf("figure %s %.3f\n", a->figure[i].name,
			       a->figure[i].value);
		printf("done\n");
	}
	(void)fflush(stdout);
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
		print(&answer);
	}
	free(line);
	return 0;
}
