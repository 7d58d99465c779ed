/* SPDX-License-Identifier: MIT */
/*
 * rival_main.c - tkw_bench_peer IMPL: one sample for each line on stdin.
 *
 *   asked      KIND key=value ...      whole numbers; unknown keys are ignored
 *   answered   figure NAME VALUE       none, or more; then one of
 *              done | skip REASON | fail REASON
 *
 * Between samples it is at rest: no timer, no thread but the main one. It ends
 * with its stdin.
 */
#include "rival.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PEER_HAVE_LIBEV
const struct peer_impl peer_impl_mutex_libev = { .name = "mutex_libev",
						 .missing = "no libev" };
#endif
#ifndef PEER_HAVE_LIBUV
const struct peer_impl peer_impl_mutex_libuv = { .name = "mutex_libuv",
						 .missing = "no libuv" };
#endif
#ifndef PEER_HAVE_LIBEVENT
const struct peer_impl peer_impl_mutex_libevent = { .name = "mutex_libevent",
						    .missing = "no libevent" };
#endif

static const struct peer_impl *const impls[] = {
	&peer_impl_tickwheel,       &peer_impl_mutex_wheel,
	&peer_impl_mutex_libev,     &peer_impl_mutex_libuv,
	&peer_impl_mutex_libevent,  &peer_impl_timerfd,
	&peer_impl_mutex_hash,      &peer_impl_sharded_hash,
	&peer_impl_tickwheel_clock, &peer_impl_libuv,
	&peer_impl_libevent,        &peer_impl_libevent_common,
	&peer_impl_libev,
};

static const struct {
	const char *name;
	enum peer_kind kind;
} kinds[] = {
	{ "schedule", PEER_SCHEDULE }, { "pair", PEER_PAIR },
	{ "churn", PEER_CHURN },       { "cross_cancel", PEER_CROSS_CANCEL },
	{ "fire", PEER_FIRE },         { "lateness", PEER_LATENESS },
	{ "idle", PEER_IDLE },         { "far", PEER_FAR },
	{ "herd", PEER_HERD },         { "memory", PEER_MEMORY },
	{ "stop", PEER_STOP },         { "request", PEER_REQUEST },
	{ "extend", PEER_EXTEND },
};

static const struct {
	const char *name;
	size_t offset; /* in struct peer_load */
	uint32_t least;
	uint32_t most;
} keys[] = {
	{ "threads", offsetof(struct peer_load, threads), 1, PEER_THREADS_MAX },
	{ "ops", offsetof(struct peer_load, ops), 1, UINT32_MAX },
	{ "n", offsetof(struct peer_load, n), 1, UINT32_MAX - 1 },
	{ "window", offsetof(struct peer_load, window), 1, 1U << 24 },
	{ "at", offsetof(struct peer_load, at), 0, 1 },
	{ "ms", offsetof(struct peer_load, ms), 1, UINT32_MAX },
	{ "rounds", offsetof(struct peer_load, rounds), 1, UINT32_MAX },
	{ "loop", offsetof(struct peer_load, loop), PEER_LOOP_LIBUV,
	  PEER_LOOP_LIBEV },
	{ "same", offsetof(struct peer_load, same), 0, 1 },
	{ "tick_ns", offsetof(struct peer_load, tick_ns), 1, UINT32_MAX },
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool parse_kind(const char *word, struct peer_load *l)
{
	for (size_t i = 0; word && i < COUNT_OF(kinds); i++) {
		if (strcmp(word, kinds[i].name) == 0) {
			l->kind = kinds[i].kind;
			return true;
		}
	}
	return false;
}

/* "key=value"; true also if the key is unknown. */
static bool parse_pair(char *word, struct peer_load *l)
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

static bool parse_line(char *line, struct peer_load *l)
{
	char *rest = NULL;
	char *word = strtok_r(line, " \t\n", &rest);

	*l = (struct peer_load){ .threads = 1,
				 .ops = 1000000,
				 .n = 1000,
				 .window = 1000,
				 .ms = 10000,
				 .rounds = 100,
				 .loop = PEER_LOOP_LIBUV,
				 .tick_ns = PEER_MSEC };
	if (!parse_kind(word, l))
		return false;
	if (l->kind == PEER_FIRE)
		l->ms = 2000;
	while ((word = strtok_r(NULL, " \t\n", &rest)) != NULL) {
		if (!parse_pair(word, l))
			return false;
	}
	return true;
}

static void run_extend(const struct peer_impl *impl, const struct peer_load *l,
		       struct peer_answer *a)
{
	if (impl->run_extend == NULL)
		a->skip = impl->missing ? impl->missing : "is in no loop";
	else if (impl->loop != 0 && impl->loop != l->loop)
		a->skip = "it is another loop";
	else
		impl->run_extend(l, a);
}

static void run(const struct peer_impl *impl, char *line, struct peer_answer *a)
{
	struct peer_load load;

	if (!parse_line(line, &load))
		a->fail = "the line was not understood";
	else if (load.kind == PEER_REQUEST && impl->run_requests)
		impl->run_requests(&load, a);
	else if (load.kind == PEER_REQUEST)
		a->skip = "has no requests";
	else if (load.kind == PEER_EXTEND)
		run_extend(impl, &load, a);
	else if (impl->run == NULL)
		a->skip = impl->missing ? impl->missing : "has no timer";
	else if (load.kind != PEER_STOP)
		impl->run(&load, a);
	else if (impl->run_stop)
		impl->run_stop(&load, a);
	else
		a->skip = "has no stop that returns what is pending";
}

static void print(const struct peer_answer *a)
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

static const struct peer_impl *find_impl(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(impls); i++) {
		if (strcmp(impls[i]->name, name) == 0)
			return impls[i];
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct peer_impl *impl = argc == 2 ? find_impl(argv[1]) : NULL;
	char *line = NULL;
	size_t room = 0;

	if (impl == NULL) {
		(void)fprintf(stderr, "usage: tkw_bench_peer IMPL\n");
		return 2;
	}
	while (getline(&line, &room, stdin) > 0) {
		struct peer_answer answer = { 0 };

		run(impl, line, &answer);
		print(&answer);
	}
	free(line);
	return 0;
}
