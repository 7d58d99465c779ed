/* SPDX-License-Identifier: MIT */
/*
 * args.h - reads the arguments of a command, one after the other.
 *
 * The first error is kept, and all later calls do nothing. So a command reads
 * everything, and asks once at the end.
 */
#ifndef TKW_REDIS_ARGS_H
#define TKW_REDIS_ARGS_H

#include "redis/module.h"

struct tkw__args {
	struct rm_string **argv;
	int argc;
	int at;            /* the next argument */
	uint64_t seen;     /* options that were given, a bit for each */
	size_t used;       /* bytes of the room that were given away */
	const char *error; /* NULL: none so far */
};

/* Begins after the key, with argument 2. */
struct tkw__args tkw__args_begin(struct rm_string **argv, int argc);

/* True while there are arguments left and no error. */
bool tkw__args_more(const struct tkw__args *a);
/* True if the next argument is this word, in any case. It is then consumed. */
bool tkw__args_word(struct tkw__args *a, const char *word);
/* The same for an option with this number, 0 to 63. An option that was given
 * before is an error. */
bool tkw__args_option(struct tkw__args *a, const char *word, int number);
/* Reads an integer in a range. `error` is what is wrong if it is not one. */
int64_t tkw__args_integer(struct tkw__args *a, int64_t min, int64_t max,
			  const char *error);
/* Reads bytes of a length in a range. */
struct tkw__queue_text tkw__args_text(struct tkw__args *a, size_t min,
				      size_t max, const char *error);
/* Reads a delay, or AT and a time. */
struct tkw__queue_when tkw__args_when(struct tkw__args *a);
/* Reads an id, or KEY and a key. */
struct tkw__queue_name tkw__args_name(struct tkw__args *a);
/* Reads a key. */
struct tkw__queue_text tkw__args_key(struct tkw__args *a);

/* How often an item is tried. */
struct tkw__args_retries {
	uint32_t max_attempts;
	uint32_t backoff_ms;
	uint32_t max_backoff_ms;
};

/* Reads ATTEMPTS, BACKOFF or MAX, options with the numbers from 61 on. Returns
 * false if none of them comes next. check() is for the end: MAX needs BACKOFF.
 */
bool tkw__args_retry(struct tkw__args *a, struct tkw__args_retries *r);
void tkw__args_check_retries(struct tkw__args *a);

/* Notes an error, unless there is one. */
void tkw__args_refuse(struct tkw__args *a, const char *error);

/* Memory for what a command reads or answers, valid until it ends. */
void *tkw__args_room(struct tkw__args *a, struct rm_ctx *ctx, size_t bytes);

#endif /* TKW_REDIS_ARGS_H */
