/* SPDX-License-Identifier: MIT */
/* args.h - reading a command line, and saying in one line what is wrong. */
#ifndef TKW_TOOLS_ARGS_H
#define TKW_TOOLS_ARGS_H

#include <stdint.h>

#include "tool.h"

/* The words that have not been read yet. */
struct args {
	char **word;
	int left;
};

/* An option whose value is a decimal number, digits only. */
struct args_option {
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
int args_flag(struct args *a, const char *name);
int args_text(struct args *a, const char *name, const char **value);
int args_number(struct args *a, const struct args_option *option);
int args_help(struct args *a); /* --help or -h */

/*
 * Complain about the next word, which no option has taken.
 *
 * others  options that are known, but not here; the last is NULL.
 * why     what is to be said about one of those.
 * see     where the user can read about options.
 */
void args_unknown(const struct args *a, const char *const *others,
		  const char *why, const char *see);

#endif /* TKW_TOOLS_ARGS_H */
