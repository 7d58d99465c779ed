/* SPDX-License-Identifier: MIT */
/* tool_options.h - reads the options of a command. */
#ifndef TKW_TOOLS_TOOL_OPTIONS_H
#define TKW_TOOLS_TOOL_OPTIONS_H

#include <getopt.h>
#include <stdint.h>

enum {
	TOOL_OPTION_BAD = -1,
	TOOL_OPTION_END = 0,
	TOOL_OPTION_HELP = 'h', /* --help or -h */
	/* Values of a command's own options start here: no letter has them. */
	TOOL_OPTION_FIRST = 256
};

/*
 * Read the next option of a command. A command takes options only: any other
 * word is refused, and so are an unknown or abbreviated option, a missing
 * value, and a value for an option that takes none.
 *
 * argc, argv
 *         as for main(); argv[0] is the name of the command.
 * options as for getopt_long(), with `flag` NULL; --help is one of them.
 * see     the command line that prints the options, for the error message.
 * Return  the option's `val`, its value being in optarg; TOOL_OPTION_END after
 *         the last one; TOOL_OPTION_BAD: refused, and the user has been told.
 */
int tool_next_option(int argc, char **argv, const struct option *options,
		     const char *see);

/*
 * Read the value of an option as a decimal number, digits only.
 *
 * name    of the option, for the error message.
 * text    its value.
 * lo, hi  the smallest and the largest number allowed.
 * number  written on success only.
 * Return  0, or -1: not such a number, and the user has been told.
 */
int tool_read_number(const char *name, const char *text, uint64_t lo,
		     uint64_t hi, uint64_t *number);

#endif /* TKW_TOOLS_TOOL_OPTIONS_H */
