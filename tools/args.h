/* SPDX-License-Identifier: MIT */
/* args.h - reading a command line, and saying in one line what is wrong. */
#ifndef TKW_TOOLS_ARGS_H
#define TKW_TOOLS_ARGS_H

#include <stdint.h>

/* How tkw ends. */
enum {
	TKW__EXIT_OK = 0,
	TKW__EXIT_FAILURE = 1, /* it went wrong, or the result is bad */
	TKW__EXIT_USAGE = 2    /* the command line is wrong */
};

/* The words that have not been read yet. */
struct tkw__args {
	char **word;
	int left;
};

/* An option whose value is a decimal number, digits only. */
struct tkw__number {
	const char *name;
	uint64_t lo;
	uint64_t hi;
	uint64_t *value;
};

/*
 * Is the next word this option? If so it is read, with its value.
 *
 * Return  1: yes; 0: another word; -1: yes, but its value is missing or bad, or
 *         it has one and should not. Then the user has been told.
 */
int tkw__args_flag(struct tkw__args *a, const char *name);
int tkw__args_text(struct tkw__args *a, const char *name, const char **value);
int tkw__args_number(struct tkw__args *a, const struct tkw__number *option);

/* One line on standard error, whatever bytes the arguments hold. */
void tkw__complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Flush standard output.
 *
 * Return  0, or -1: this or an earlier write failed; the user has been told,
 *         once.
 */
int tkw__flush(void);

#endif /* TKW_TOOLS_ARGS_H */
