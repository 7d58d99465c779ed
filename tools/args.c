/* SPDX-License-Identifier: MIT */
/*
 * args.c - reading a command line, and saying in one line what is wrong.
 *
 * getopt_long() was not taken: it is no part of POSIX, takes abbreviations that
 * a later option would break, and words its complaints itself.
 */
#include "args.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* Is the next word the option, and with "=value"? */
static bool matches(const struct args *a, const char *name, const char **value)
{
	size_t len = strlen(name);

	if (a->left == 0 || strncmp(a->word[0], name, len) != 0)
		return false;
	*value = a->word[0][len] == '=' ? a->word[0] + len + 1 : NULL;
	return *value || a->word[0][len] == '\0';
}

static const char *take(struct args *a)
{
	a->left--;
	return *a->word++;
}

int args_flag(struct args *a, const char *name)
{
	const char *value;

	if (!matches(a, name, &value))
		return 0;
	if (value) {
		tool_complain("%s: takes no value", name);
		return -1;
	}
	take(a);
	return 1;
}

int args_text(struct args *a, const char *name, const char **value)
{
	const char *text;

	if (!matches(a, name, &text))
		return 0;
	take(a);
	if (!text && a->left == 0) {
		tool_complain("%s: its value is missing", name);
		return -1;
	}
	*value = text ? text : take(a);
	return 1;
}

static bool decimal(const char *text, uint64_t *number)
{
	uint64_t n = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		unsigned digit = (unsigned)(*text - '0');

		if (digit > 9 || n > (UINT64_MAX - digit) / 10)
			return false;
		n = 10 * n + digit;
	}
	*number = n;
	return true;
}

int args_number(struct args *a, const struct args_option *option)
{
	const char *text;
	uint64_t n;
	int r = args_text(a, option->name, &text);

	if (r <= 0)
		return r;
	if (!decimal(text, &n) || n < option->lo || n > option->hi) {
		tool_complain("%s: '%.60s' is not a whole number from %" PRIu64
			      " to %" PRIu64,
			      option->name, text, option->lo, option->hi);
		return -1;
	}
	*option->value = n;
	return 1;
}

int args_help(struct args *a)
{
	int r = args_flag(a, "--help");

	return r ? r : args_flag(a, "-h");
}

void args_unknown(const struct args *a, const char *const *others,
		  const char *why, const char *see)
{
	const char *value;

	for (; *others; others++) {
		if (matches(a, *others, &value)) {
			tool_complain("%s: %s", *others, why);
			return;
		}
	}
	tool_complain("%s '%.60s'; see '%s'",
		      a->word[0][0] == '-' ? "unknown option"
					   : "unexpected argument",
		      a->word[0], see);
}
