/* SPDX-License-Identifier: MIT */
/*
 * tkw.c - the command line of tickwheel: finds the command and runs it.
 *
 * A new command is a file cmd_<name>.c, declared in cmd.h, and a line in the
 * table below.
 */
#include <locale.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "tickwheel.h"
#include "tool.h"

struct command {
	const char *name;
	const char *help; /* one line, 68 columns at most */
	int (*main)(int argc, char **argv);
};

static const struct command commands[] = {
	{ "demo",
	  "a busy server's timeouts in real time, or on a virtual clock",
	  cmd_demo },
	{ NULL, NULL, NULL },
};

static void usage(void)
{
	(void)fputs("usage: tkw COMMAND [OPTION]...\n"
		    "\n"
		    "commands:\n",
		    stdout);
	for (const struct command *c = commands; c->name; c++)
		(void)printf("  %-8s  %s\n", c->name, c->help);
	(void)fputs("  help      this text, or that of a command: "
		    "tkw help demo\n"
		    "\n"
		    "options:\n"
		    "  --help     this text\n"
		    "  --version  which version this is\n"
		    "\n"
		    "exit status: 0 all is well; 1 it failed, or the result is "
		    "bad; 2 the command\nline is wrong\n",
		    stdout);
}

static const struct command *find(const char *name)
{
	const struct command *c = commands;

	while (c->name && strcmp(c->name, name) != 0)
		c++;
	return c->name ? c : NULL;
}

static int refuse(const char *what, const char *word)
{
	tool_complain("%s '%.60s'; see 'tkw --help'", what, word);
	return TOOL_EXIT_USAGE;
}

/* words[0] is `help`, and the last one is NULL, as in argv. */
static int help(char **words)
{
	static char option[] = "--help";
	const struct command *c;

	if (!words[1]) {
		usage();
		return TOOL_EXIT_OK;
	}
	c = find(words[1]);
	if (!c)
		return refuse("no help on", words[1]);
	if (words[2])
		return refuse("unexpected argument", words[2]);
	return c->main(2, (char *[]){ words[1], option, NULL });
}

static int version(char **words)
{
	if (words[1])
		return refuse("unexpected argument", words[1]);
	(void)printf("tkw %s\n", tkw_version());
	return TOOL_EXIT_OK;
}

/* No getopt_long() here: the first word decides, option or command. */
static int run(int count, char **words)
{
	const struct command *c;

	if (count <= 0) {
		tool_complain("a command is missing; see 'tkw --help'");
		return TOOL_EXIT_USAGE;
	}
	if (!strcmp(words[0], "help") || !strcmp(words[0], "--help") ||
	    !strcmp(words[0], "-h"))
		return help(words);
	if (!strcmp(words[0], "--version"))
		return version(words);
	c = find(words[0]);
	if (c)
		return c->main(count, words);
	return refuse(words[0][0] == '-' ? "unknown option" : "unknown command",
		      words[0]);
}

int main(int argc, char **argv)
{
	int status;

	/* Only for the character set: numbers stay as they are in C. */
	(void)setlocale(LC_CTYPE, "");
	status = run(argc - 1, argv + 1);
	if (tool_flush() && status == TOOL_EXIT_OK)
		status = TOOL_EXIT_FAILURE;
	return status;
}
