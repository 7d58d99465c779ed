/* SPDX-License-Identifier: MIT */
/* cmd_cron.c - the command `tkw cron`: runs a command by a plan. */
#include "cmd.h"

#include <stdio.h>

#include "run.h"
#include "tool.h"
#include "tool_plan.h"

/* A line of the text is a line of the source. */
/* clang-format off */
static const char usage[] =
"usage: tkw cron PLAN [OPTION]... -- COMMAND [WORD]...\n"
"\n"
"Runs COMMAND by PLAN: '30 2 * * 1-5', @daily or 'every 90s'. See 'tkw next'.\n"
"\n"
"  --zone NAME              the time zone, like Europe/Berlin (default local)\n"
"  --now                    run also at once\n"
"  --times N                end after N runs\n"
"  --until success|failure  end when a run succeeds, or fails\n"
"  --jitter T               start each run later by a random time up to T\n"
"  --overlap skip|allow     if the last run has not ended (default skip)\n"
"  --misfire once|skip      after a stall, run the latest of the missed times\n"
"                           (default), or run it only if it is within --grace\n"
"  --grace T                how late a run may be with skip (default 1m)\n"
"  --json                   print a JSON object on standard error for each event\n"
"  --quiet                  do not tell which runs have failed or were skipped\n"
"  --help                   print this text\n"
"\n"
"COMMAND gets the variables TKW_PLANNED, TKW_PLANNED_MS, TKW_PLAN and TKW_RUN.\n"
"Signals are passed on. Exit status: that of the last run, or 128+n if signal n\n"
"ended it or tkw; 1 PLAN has no later time; 2 bad command line; 126 or 127\n"
"COMMAND cannot be run.\n";
/* clang-format on */

enum {
	SECONDS_END = 19 /* in 2026-11-19T02:30:00.000Z */
};

static int next(const void *ctx, int64_t after_ms, int64_t *out_ms)
{
	const struct tool_plan *p = ctx;

	return tkw_plan_next(p->plan, after_ms, out_ms);
}

static int previous(const void *ctx, int64_t before_ms, int64_t *out_ms)
{
	const struct tool_plan *p = ctx;

	return tkw_plan_previous(p->plan, before_ms, out_ms);
}

static void print(const void *ctx, int64_t at_ms, char buf[RUN_TIME])
{
	const struct tool_plan *p = ctx;
	char text[RUN_TIME - 4];

	(void)tkw_zone_print(tool_plan_zone_at(p, at_ms), at_ms, text,
			     sizeof(text));
	/* That has milliseconds only if they are not 0. Here they are behind
	 * the seconds of each time, so that all of them look alike. */
	(void)snprintf(buf, RUN_TIME, "%.*s%s%s", SECONDS_END, text,
		       at_ms % 1000 ? "" : ".000", text + SECONDS_END);
}

int cmd_cron(int argc, char **argv)
{
	struct run_options o = { .name = "cron",
				 .usage = usage,
				 .takes = RUN_TAKES_REPEAT | RUN_TAKES_CALENDAR,
				 .grace_ms = 60000 };
	struct tool_plan p;
	struct run_calendar calendar = {
		.next = next, .previous = previous, .print = print, .ctx = &p
	};
	int status;

	if (!run_read(&o, argc, argv, &status))
		return status;
	status = tool_plan_open(&p, "cron", o.when, o.zone);
	if (!status) {
		calendar.text = tkw_plan_text(p.plan);
		o.calendar = &calendar;
		status = run_command(&o);
	}
	tool_plan_close(&p);
	return status;
}
