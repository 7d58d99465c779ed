/* SPDX-License-Identifier: MIT */
/* queue_calendar.c - see queue_calendar.h. */
#include "queue_calendar.h"

#include <errno.h>
#include <stdlib.h>

struct times {
	uint64_t period;
	uint64_t skip;
	uint64_t last;
};

/* Reads a number if it comes after these dots or slashes. */
static uint64_t read_number(const char **at, const char *end, char mark)
{
	uint64_t x = 0;

	while (*at < end && **at == mark)
		++*at;
	while (*at < end && **at >= '0' && **at <= '9')
		x = x * 10 + (uint64_t)(*(*at)++ - '0');
	return x;
}

static int compile(void **out, struct tkw__queue_text plan,
		   struct tkw__queue_text zone, bool anew, void *ctx)
{
	struct queue_calendar *c = ctx;
	const char *at = plan.at;
	const char *end = at + plan.len;
	struct times *t;

	(void)zone;
	c->compiles++;
	c->anew += anew;
	if (c->error)
		return c->error;
	t = malloc(sizeof(*t));
	if (!t)
		abort();
	t->period = read_number(&at, end, ' ');
	t->skip = read_number(&at, end, '/');
	t->last = read_number(&at, end, '.');
	if (at < end || t->period == 0) {
		free(t);
		return -EINVAL;
	}
	c->open++;
	*out = t;
	return 0;
}

static int next(void *compiled, uint64_t after_ms, uint64_t *out_ms)
{
	const struct times *t = compiled;
	uint64_t n = after_ms / t->period + 1;

	if (t->skip && n % t->skip == 0)
		n++;
	if (t->skip == 1 || (t->last && n * t->period > t->last))
		return -ENOENT;
	*out_ms = n * t->period;
	return 0;
}

static int previous(void *compiled, uint64_t before_ms, uint64_t *out_ms)
{
	const struct times *t = compiled;
	uint64_t n;

	if (t->last && before_ms > t->last)
		before_ms = t->last + 1;
	if (before_ms == 0 || t->skip == 1)
		return -ENOENT;
	n = (before_ms - 1) / t->period;
	if (t->skip && n % t->skip == 0) {
		if (n == 0)
			return -ENOENT;
		n--;
	}
	*out_ms = n * t->period;
	return 0;
}

static void free_times(void *compiled, void *ctx)
{
	struct queue_calendar *c = ctx;

	c->open--;
	free(compiled);
}

void queue_calendar_init(struct queue_calendar *c)
{
	*c = (struct queue_calendar){ .calls = { compile, next, previous,
						 free_times, c } };
}
