/* SPDX-License-Identifier: MIT */
/*
 * tool_options.c - reads the options of a command.
 *
 * getopt_long() does the work, but three of its defaults are turned off:
 *
 *   - It moves words that are not options to the end. With a leading '-' in the
 *     option string it reports each word in its place.
 *   - It accepts abbreviations. A script that uses one would break as soon as
 *     another option begins with the same letters. is_written_out() refuses
 *     them.
 *   - It prints its own messages, with any control bytes that the user typed.
 *     With ':' in the option string it is silent, and tool_complain() prints.
 */
#include "tool_options.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "tool.h"

static const struct option *find(const struct option *options, int val)
{
	for (; options->name; options++) {
		if (options->val == val)
			return options;
	}
	return NULL;
}

/* Is the word "--name", "--name=value", or the letter of the option, alone or
 * with its value behind it? */
static bool is_written_out(const char *word, const struct option *o)
{
	size_t len = strlen(o->name);

	if (word[0] != '-')
		return false;
	if (word[1] != '-')
		return word[1] == o->val &&
		       (word[2] == '\0' || o->has_arg == required_argument);
	return !strncmp(word + 2, o->name, len) &&
	       (word[2 + len] == '\0' || word[2 + len] == '=');
}

enum {
	LETTERS = 64
};

/* Writes the option string for getopt_long(): the short options. */
static void list_letters(const struct option *options, char letters[LETTERS])
{
	size_t n = 0;

	letters[n++] = '-';
	letters[n++] = ':';
	for (; options->name && n < LETTERS - 2; options++) {
		if (options->val >= TOOL_OPTION_FIRST)
			continue;
		letters[n++] = (char)options->val;
		if (options->has_arg == required_argument)
			letters[n++] = ':';
	}
	letters[n] = '\0';
}

int tool_next_word(int argc, char **argv, const struct option *options,
		   const char *see)
{
	char letters[LETTERS];
	const char *word = argv[optind];
	const struct option *o;
	bool failed;
	int val;

	list_letters(options, letters);
	val = getopt_long(argc, argv, letters, options, NULL);
	if (val == -1)
		return TOOL_OPTION_END;
	if (val == TOOL_OPTION_WORD)
		return val;
	failed = val == '?' || val == ':';
	o = find(options, failed ? optopt : val);
	if (!o || !is_written_out(word, o))
		tool_complain("unknown option '%.60s'; see '%s'", word, see);
	else if (val == '?')
		tool_complain("--%s: takes no value", o->name);
	else if (val == ':')
		tool_complain("--%s: its value is missing", o->name);
	else
		return val;
	return TOOL_OPTION_BAD;
}

int tool_next_option(int argc, char **argv, const struct option *options,
		     const char *see)
{
	const char *word = argv[optind];
	int val = tool_next_word(argc, argv, options, see);

	/* "--" is an unknown option here, because no words may follow. */
	if (val == TOOL_OPTION_END && word)
		tool_complain("unknown option '%.60s'; see '%s'", word, see);
	else if (val == TOOL_OPTION_WORD)
		tool_complain("unexpected argument '%.60s'; see '%s'", word,
			      see);
	else
		return val;
	return TOOL_OPTION_BAD;
}

static bool is_decimal(const char *text, uint64_t *number)
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

int tool_read_number(const char *name, const char *text, uint64_t lo,
		     uint64_t hi, uint64_t *number)
{
	uint64_t n;

	if (!is_decimal(text, &n) || n < lo || n > hi) {
		tool_complain("%s: '%.60s' is not a whole number from %" PRIu64
			      " to %" PRIu64,
			      name, text, lo, hi);
		return -1;
	}
	*number = n;
	return 0;
}

/* Returns the milliseconds of the unit that the text begins with, and the
 * length of its name; 0 if there is none. */
static uint64_t find_unit(const char *text, size_t *len)
{
	static const struct {
		const char *name;
		uint64_t ms;
	} units[] = {
		{ "ms", 1 },      { "s", 1000 },     { "m", 60000 },
		{ "h", 3600000 }, { "d", 86400000 }, { "w", 604800000 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		*len = strlen(units[i].name);
		if (!strncmp(text, units[i].name, *len))
			return units[i].ms;
	}
	return 0;
}

/* Adds the number and the unit at the start of the text. The unit must be
 * smaller than the one before. Returns what follows them, or NULL if they are
 * not there. A sum that is too large becomes more than any time allowed. */
static const char *add_time(const char *text, uint64_t *smallest, uint64_t *ms)
{
	uint64_t n = 0, unit;
	const char *at = text;
	size_t len;

	for (; *at >= '0' && *at <= '9'; at++) {
		if (n < (uint64_t)INT64_MAX / 20)
			n = 10 * n + (uint64_t)(*at - '0');
	}
	unit = find_unit(at, &len);
	if (at == text || unit == 0 || unit >= *smallest)
		return NULL;
	*smallest = unit;
	if (n > ((uint64_t)INT64_MAX - *ms) / unit)
		*ms = (uint64_t)INT64_MAX;
	else
		*ms += n * unit;
	return at + len;
}

int tool_read_time(const char *name, const char *text, int64_t max_ms,
		   int64_t *ms)
{
	const char *at = text;
	uint64_t sum = 0, smallest = UINT64_MAX;

	if (!strcmp(text, "0"))
		at = "";
	else if (!*text)
		at = NULL;
	while (at && *at)
		at = add_time(at, &smallest, &sum);
	if (!at) {
		tool_complain("%s: '%.60s' is not a time like 500ms, 5s, 10m, "
			      "2h or 1d",
			      name, text);
		return -1;
	}
	if (sum > (uint64_t)max_ms) {
		tool_complain("%s: '%.60s' is too long; the longest time is "
			      "%" PRId64 "d",
			      name, text, max_ms / 86400000);
		return -1;
	}
	*ms = (int64_t)sum;
	return 0;
}
