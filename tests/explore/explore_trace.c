/* SPDX-License-Identifier: MIT */
/* explore_trace.c - what happened in a run, in order. */
#include "explore_inside.h"

#include <stdio.h>
#include <string.h>

enum {
	STEPS = 16384,
	CHOICE = 1 << 8 /* in the hash: larger than any thread */
};

struct step {
	int thread;
	const char *name;
	struct explore_spot spot;
	const void *a; /* NULL if there is no value */
	int64_t value;
};

static struct step steps[STEPS];
static size_t step_count;
static uint64_t hash;
/* What the current thread has done since another one did something. */
static struct {
	int thread;
	uint64_t steps;
	uint64_t stores;
} turn;

void explore_trace_begin(void)
{
	step_count = 0;
	hash = 0;
	turn.thread = -1;
}

static void mix(uint64_t x)
{
	hash = (hash + x + 1) * 0x9e3779b97f4a7c15;
	hash ^= hash >> 29;
}

/* Ends the turn of a thread. The next turn is that of `thread`, if it is >=
 * 0. */
static void next_turn(int thread)
{
	if (turn.thread >= 0) {
		mix((uint64_t)turn.thread);
		mix(turn.steps);
		mix(turn.stores);
	}
	turn.thread = thread;
	turn.steps = 0;
	turn.stores = 0;
}

void explore_trace_count_step(int thread)
{
	if (turn.thread != thread)
		next_turn(thread);
	turn.steps++;
}

void explore_trace_count_store(int thread)
{
	if (turn.thread != thread)
		next_turn(thread);
	turn.stores++;
}

void explore_trace_count_choice(unsigned chosen)
{
	next_turn(-1);
	mix(CHOICE + chosen);
}

bool explore_trace_has_stepped(int thread)
{
	return turn.thread == thread && turn.steps > 0;
}

uint64_t explore_trace_hash(void)
{
	next_turn(-1);
	return hash;
}

bool explore_trace_step(int thread, const char *name, struct explore_spot s)
{
	if (step_count == STEPS)
		return false;
	steps[step_count++] =
		(struct step){ .thread = thread, .name = name, .spot = s };
	return true;
}

void explore_trace_rename(const char *op)
{
	steps[step_count - 1].spot.op = op;
}

void explore_trace_value(const void *a, uint64_t value)
{
	steps[step_count - 1].a = a;
	steps[step_count - 1].value = (int64_t)value;
}

/* Several objects may have the same name in the source. Returns the number of
 * this one, in order of appearance, or 0 if the name is unique. */
static unsigned which(const struct step *s)
{
	const void *known[16];
	unsigned count = 0;
	unsigned number = 0;

	for (size_t i = 0; i < step_count && count < 16; i++) {
		unsigned k = 0;

		if (!steps[i].a ||
		    strcmp(steps[i].spot.object, s->spot.object) != 0)
			continue;
		while (k < count && known[k] != steps[i].a)
			k++;
		if (k == count)
			known[count++] = steps[i].a;
		if (steps[i].a == s->a)
			number = k + 1;
	}
	return count > 1 ? number : 0;
}

static const char *base_name(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

static void print_step(size_t i)
{
	const struct step *s = &steps[i];
	const char *object = s->spot.object;
	unsigned number = s->a && *object ? which(s) : 0;
	char text[80];
	int n;

	object += *object == '&';
	n = snprintf(text, sizeof(text), "%s %s", s->spot.op, object);
	if (number > 0)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "#%u",
			      number);
	if (s->a)
		snprintf(text + n, sizeof(text) - (size_t)n, ": %lld",
			 (long long)s->value);
	printf("%5zu  %*s%-10s %-*s %s:%d\n", i, s->thread * 2, "", s->name,
	       46 - s->thread * 2, text, base_name(s->spot.file), s->spot.line);
}

void explore_trace_print(void)
{
	for (size_t i = 0; i < step_count; i++)
		print_step(i);
}
