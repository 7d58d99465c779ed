/* SPDX-License-Identifier: MIT */
/* tkw.c - the command line of tickwheel: finds the command and runs it. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "cmd.h"
#include "tickwheel.h"

static void usage(void)
{
	(void)fputs("usage: tkw COMMAND [OPTION]...\n"
		    "\n"
		    "commands:\n"
		    "  demo      a busy server's timeouts in real time, or on "
		    "a virtual clock\n"
		    "  help      this text, or that of a command: "
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

/* Nothing may stand behind --help and --version. */
static int no_more(const struct args *a)
{
	if (a->left == 0)
		return 1;
	tool_complain("unexpected argument '%.60s'; see 'tkw --help'",
		      a->word[0]);
	return 0;
}

static int help(struct args *a)
{
	if (a->left > 0 && !strcmp(a->word[0], "demo")) {
		a->word++;
		a->left--;
		if (!no_more(a))
			return TOOL_EXIT_USAGE;
		cmd_demo_usage();
		return TOOL_EXIT_OK;
	}
	if (!no_more(a))
		return TOOL_EXIT_USAGE;
	usage();
	return TOOL_EXIT_OK;
}

static int version(const struct args *a)
{
	if (!no_more(a))
		return TOOL_EXIT_USAGE;
	(void)printf("tkw %s\n", tkw_version());
	return TOOL_EXIT_OK;
}

static int run(struct args *a)
{
	const char *word;

	if (a->left == 0) {
		tool_complain("a command is missing; see 'tkw --help'");
		return TOOL_EXIT_USAGE;
	}
	word = *a->word++;
	a->left--;
	if (!strcmp(word, "demo"))
		return cmd_demo(a);
	if (!strcmp(word, "help") || !strcmp(word, "--help") ||
	    !strcmp(word, "-h"))
		return help(a);
	if (!strcmp(word, "--version"))
		return version(a);
	tool_complain("unknown %s '%.60s'; see 'tkw --help'",
		      word[0] == '-' ? "option" : "command", word);
	return TOOL_EXIT_USAGE;
}

int main(int argc, char **argv)
{
	struct args a = { argv + 1, argc > 0 ? argc - 1 : 0 };
	int status;

	/* Only for the character set: numbers stay as they are in C. */
	(void)setlocale(LC_CTYPE, "");
	status = run(&a);
	if (tool_flush() && status == TOOL_EXIT_OK)
		status = TOOL_EXIT_FAILURE;
	return status;
}
