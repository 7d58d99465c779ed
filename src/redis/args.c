/* SPDX-License-Identifier: MIT */
/* args.c - reads the arguments of a command. */
#define _POSIX_C_SOURCE 200809L
#include "redis/args.h"

#include <string.h>
#include <strings.h>

struct tkw__args tkw__args_begin(struct rm_string **argv, int argc)
{
	return (struct tkw__args){ .argv = argv, .argc = argc, .at = 2 };
}

bool tkw__args_more(const struct tkw__args *a)
{
	return !a->error && a->at < a->argc;
}

void tkw__args_refuse(struct tkw__args *a, const char *error)
{
	if (!a->error)
		a->error = error;
}

static bool is_word(const struct tkw__args *a, const char *word)
{
	size_t len;
	const char *text;

	if (!tkw__args_more(a))
		return false;
	text = tkw__rm.StringPtrLen(a->argv[a->at], &len);
	return len == strlen(word) && strncasecmp(text, word, len) == 0;
}

bool tkw__args_word(struct tkw__args *a, const char *word)
{
	if (!is_word(a, word))
		return false;
	a->at++;
	return true;
}

bool tkw__args_option(struct tkw__args *a, const char *word, int number)
{
	uint64_t bit = UINT64_C(1) << number;

	if (!tkw__args_word(a, word))
		return false;
	if (a->seen & bit)
		tkw__args_refuse(a, "ERR an option is given twice");
	a->seen |= bit;
	return true;
}

int64_t tkw__args_integer(struct tkw__args *a, int64_t min, int64_t max,
			  const char *error)
{
	long long number;

	if (a->error)
		return 0;
	if (a->at >= a->argc ||
	    tkw__rm.StringToLongLong(a->argv[a->at], &number) != RM_OK ||
	    number < min || number > max) {
		tkw__args_refuse(a, error);
		return 0;
	}
	a->at++;
	return number;
}

struct tkw__queue_text tkw__args_text(struct tkw__args *a, size_t min,
				      size_t max, const char *error)
{
	struct tkw__queue_text t = { 0 };

	if (a->error)
		return t;
	if (a->at < a->argc)
		t.at = tkw__rm.StringPtrLen(a->argv[a->at], &t.len);
	if (!t.at || t.len < min || t.len > max) {
		tkw__args_refuse(a, error);
		return (struct tkw__queue_text){ 0 };
	}
	a->at++;
	return t;
}

struct tkw__queue_when tkw__args_when(struct tkw__args *a)
{
	struct tkw__queue_when when = { 0 };

	when.absolute = tkw__args_word(a, "AT");
	when.ms = tkw__args_integer(
		a, INT64_MIN, INT64_MAX,
		when.absolute ? "ERR AT needs a UNIX time in ms"
			      : "ERR a delay in ms is expected, or AT and a "
				"UNIX time in ms");
	return when;
}

struct tkw__queue_text tkw__args_key(struct tkw__args *a)
{
	return tkw__args_text(a, 1, TKW__QUEUE_MAX_KEY,
			      "ERR KEY needs a key of 1 to 255 bytes");
}

struct tkw__queue_name tkw__args_name(struct tkw__args *a)
{
	struct tkw__queue_name name = { 0 };

	if (tkw__args_word(a, "KEY"))
		name.key = tkw__args_key(a);
	else
		name.id = (uint64_t)tkw__args_integer(
			a, 0, INT64_MAX,
			"ERR an id is expected, or KEY and a key");
	return name;
}

enum {
	ATTEMPTS = 61,
	BACKOFF,
	MAX
};

static uint32_t number32(struct tkw__args *a, const char *error)
{
	return (uint32_t)tkw__args_integer(a, 0, UINT32_MAX, error);
}

bool tkw__args_retry(struct tkw__args *a, struct tkw__args_retries *r)
{
	if (tkw__args_option(a, "ATTEMPTS", ATTEMPTS))
		r->max_attempts = number32(
			a, "ERR ATTEMPTS needs a number, 0 for no limit");
	else if (tkw__args_option(a, "BACKOFF", BACKOFF))
		r->backoff_ms = number32(a, "ERR BACKOFF needs a delay in ms");
	else if (tkw__args_option(a, "MAX", MAX))
		r->max_backoff_ms = number32(a, "ERR MAX needs a delay in ms");
	else
		return false;
	return true;
}

void tkw__args_check_retries(struct tkw__args *a)
{
	if (a->seen & UINT64_C(1) << MAX && !(a->seen & UINT64_C(1) << BACKOFF))
		tkw__args_refuse(a, "ERR MAX needs BACKOFF");
}

/* Most commands have few items, and need no allocation. */
void *tkw__args_room(struct tkw__args *a, struct rm_ctx *ctx, size_t bytes)
{
	static max_align_t room[256];
	size_t first = a->used;
	size_t need = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t);

	if (need > sizeof(room) / sizeof(room[0]) - first)
		return tkw__rm.PoolAlloc(ctx, bytes);
	a->used = first + need;
	return room + first;
}
