/* SPDX-License-Identifier: MIT */
/* cmd_after.c - the command `tkw after`: runs a command once, later. */
#include "cmd.h"

#include "run.h"
#include "tool.h"
#include "tool_options.h"

/* A line of the text is a line of the source. */
/* clang-format off */
static const char usage[] =
"usage: tkw after TIME [OPTION]... -- COMMAND [WORD]...\n"
"\n"
"Waits for TIME, then runs COMMAND. TIME is like 500ms, 5s, 10m, 2h, 1d, 1w or\n"
"1h30m. Time in which the machine is suspended does not count.\n"
"\n"
"  --jitter T  wait longer by a random time up to T\n"
"  --json      print a JSON object on standard error for each event\n"
"  --quiet     accepted as by 'every' and 'cron', but changes nothing\n"
"  --help      print this text\n"
"\n"
"The environment of COMMAND has TKW_PLANNED, TKW_PLANNED_MS and TKW_RUN. Signals\n"
"are passed on to COMMAND. Before it runs, they end tkw.\n"
"\n"
"Exit status: that of COMMAND, or 128+n if signal n ended it; 2 bad command line;\n"
"126 or 127 COMMAND cannot be run. If it is not there, tkw does not wait.\n";
/* clang-format on */

int cmd_after(int argc, char **argv)
{
	struct run_options o = {
		.name = "after", .usage = usage, .times = 1, .now = true
	};
	int status;

	if (!run_read(&o, argc, argv, &status))
		return status;
	if (tool_read_time("after", o.when, RUN_MAX_MS, &o.delay_ms))
		return TOOL_EXIT_USAGE;
	return run_command(&o);
}
