/* SPDX-License-Identifier: MIT */
/* tool_options.h - reads the options of a command. */
#ifndef TKW_TOOLS_TOOL_OPTIONS_H
#define TKW_TOOLS_TOOL_OPTIONS_H

#include <getopt.h>
#include <stdint.h>

enum {
	TOOL_OPTION_BAD = -1,
	TOOL_OPTION_END = 0,
	TOOL_OPTION_WORD = 1,   /* a word that is not an option */
	TOOL_OPTION_HELP = 'h', /* --help or -h */
	/* The values of a command's own options start here, above all letters.
	 */
	TOOL_OPTION_FIRST = 256
};

/*
 * Reads the next option of a command. A command takes only options. Any other
 * word is refused, and so are an unknown or abbreviated option, a missing
 * value, and a value for an option that takes none.
 *
 * argc, argv  As for main(). argv[0] is the name of the command.
 * options     As for getopt_long(), with `flag` NULL. --help is one of them.
 * see         The command line that prints the help, for the error message.
 *
 * Returns the option's `val`, with its value in optarg; TOOL_OPTION_END after
 * the last option; TOOL_OPTION_BAD if it was refused and the user was told.
 */
int tool_next_option(int argc, char **argv, const struct option *options,
		     const char *see);

/*
 * The same for a command that takes words besides its options. They may come in
 * any order. "--" ends the options, and all words behind it, from argv[optind]
 * on, are the command's own.
 *
 * options  A `val` that is a letter is also a short option.
 *
 * Returns what tool_next_option() returns, or TOOL_OPTION_WORD with the word in
 * optarg.
 */
int tool_next_word(int argc, char **argv, const struct option *options,
		   const char *see);

/*
 * Reads the value of an option as a decimal number, digits only.
 *
 * name    The name of the option, for the error message.
 * text    The value.
 * lo, hi  The smallest and the largest number allowed.
 * number  Written only on success.
 *
 * Returns 0, or -1 if the value is not allowed and the user was told.
 */
int tool_read_number(const char *name, const char *text, uint64_t lo,
		     uint64_t hi, uint64_t *number);

/*
 * Reads a length of time: a number and a unit, like 500ms, 5s, 10m, 2h, 1d or
 * 1w; several of them, the largest unit first, like 1h30m; or 0.
 *
 * max_ms  The longest time allowed.
 * ms      Written only on success.
 *
 * Returns 0, or -1 if the value is not allowed and the user was told.
 */
int tool_read_time(const char *name, const char *text, int64_t max_ms,
		   int64_t *ms);

#endif /* TKW_TOOLS_TOOL_OPTIONS_H */
