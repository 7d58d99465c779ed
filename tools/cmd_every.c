/* SPDX-License-Identifier: MIT */
/* cmd_every.c - the command `tkw every`: runs a command at a fixed rate. */
#include "cmd.h"

#include "run.h"
#include "tool.h"
#include "tool_options.h"

/* A line of the text is a line of the source. */
/* clang-format off */
static const char usage[] =
"usage: tkw every TIME [OPTION]... -- COMMAND [WORD]...\n"
"\n"
"Runs COMMAND every TIME, without drift. TIME is like 500ms, 5s, 10m, 2h, 1d, 1w\n"
"or 1h30m. Time in which the machine is suspended does not count.\n"
"\n"
"  --now                    run at once for the first time\n"
"  --times N                end after N runs\n"
"  --until success|failure  end when a run succeeds, or fails\n"
"  --jitter T               start each run later by a random time up to T\n"
"  --overlap skip|allow     if the last run has not ended (default skip)\n"
"  --json                   print a JSON object on standard error for each event\n"
"  --quiet                  do not tell which runs have failed or were skipped\n"
"  --help                   print this text\n"
"\n"
"The environment of COMMAND has TKW_PLANNED, TKW_PLANNED_MS and TKW_RUN. SIGHUP,\n"
"SIGINT, SIGQUIT and SIGTERM are passed on, and end tkw when COMMAND has ended. A\n"
"second one kills it. SIGUSR1, SIGUSR2 and SIGWINCH are only passed on.\n"
"\n"
"Exit status: that of the last run, or 128+n if signal n ended it or tkw; 2 bad\n"
"command line; 126 or 127 COMMAND cannot be run.\n";
/* clang-format on */

int cmd_every(int argc, char **argv)
{
	struct run_options o = { .name = "every",
				 .usage = usage,
				 .takes = RUN_TAKES_REPEAT };
	int status;

	if (!run_read(&o, argc, argv, &status))
		return status;
	if (tool_read_time("every", o.when, RUN_MAX_MS, &o.period_ms))
		return TOOL_EXIT_USAGE;
	if (o.period_ms == 0 || o.jitter_ms > o.period_ms) {
		tool_complain(
			o.period_ms
				? "--jitter: longer than the period"
				: "every: the period must be longer than 0");
		return TOOL_EXIT_USAGE;
	}
	return run_command(&o);
}
