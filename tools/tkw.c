/* SPDX-License-Identifier: MIT */
/*
 * tkw.c - the command line of tickwheel: finds the command and runs it.
 *
 * To add a command, write a file cmd_<name>.c, declare its function in cmd.h,
 * and add a line to the table below.
 */
#include <locale.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "interrupt.h"
#include "tickwheel.h"
#include "tool.h"

struct command {
	const char *name;
	const char *help; /* one line of at most 68 columns */
	int (*main)(int argc, char **argv);
};

static const struct command commands[] = {
	{ "demo",
	  "show a busy server's timeouts, in real time or on a virtual clock",
	  cmd_demo },
	{ "queue", "put items into a durable delay queue, and work on them",
	  cmd_queue },
	{ "after", "run a command once, after a delay", cmd_after },
	{ "every", "run a command again and again, at a fixed rate",
	  cmd_every },
	{ "cron", "run a command by a plan, like '30 2 * * 1-5'", cmd_cron },
	{ "next", "show a plan in words, and its next times", cmd_next },
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
	(void)fputs(
		"  help      print this text, or the help of a command: "
		"tkw help demo\n"
		"\n"
		"options:\n"
		"  --help     print this text\n"
		"  --version  print the version\n"
		"\n"
		"Exit status: 0 success; 1 it failed, or the result is bad; "
		"2 bad command line.\n",
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

/* words[0] is `help`. NULL ends the words, as in argv. */
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

/* getopt_long() is not needed, because only the first word matters here. */
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

	/* Set only the character set. Numbers are written as in C. */
	(void)setlocale(LC_CTYPE, "");
	status = run(argc - 1, argv + 1);
	if (tool_flush() && status == TOOL_EXIT_OK)
		status = TOOL_EXIT_FAILURE;
	/* A bad result says more than the signal. */
	if (status == TOOL_EXIT_OK)
		interrupt_finish();
	return status;
}
