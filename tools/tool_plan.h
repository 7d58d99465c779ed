/* SPDX-License-Identifier: MIT */
/* tool_plan.h - a plan and its time zone from the command line. */
#ifndef TKW_TOOLS_TOOL_PLAN_H
#define TKW_TOOLS_TOOL_PLAN_H

#include <stdint.h>

#include <tickwheel/calendar.h>

struct tool_plan {
	struct tkw_plan *plan;
	struct tkw_zone *zone;
};

/*
 * Opens a zone and creates a plan.
 *
 * p     Receives both. Close it with tool_plan_close(), also after a failure.
 * name  The command, for error messages.
 * text  The plan.
 * zone  The name of the zone; NULL: that of the variable TZ, or of
 *       /etc/localtime, or UTC. As for libc, an empty TZ means UTC, and TZ may
 *       also name a file.
 *
 * Returns 0, or the exit status of tkw after telling the user what is wrong. If
 * the text is wrong, two more lines show where.
 */
int tool_plan_open(struct tool_plan *p, const char *name, const char *text,
		   const char *zone);
void tool_plan_close(struct tool_plan *p);

/* The zone to print a time in: that of the plan; or NULL, which is UTC, if the
 * local year is not in 1900 to 9999. */
const struct tkw_zone *tool_plan_zone_at(const struct tool_plan *p,
					 int64_t at_ms);

/* Reads a time as "every" takes it behind "from", like 2026-01-01T00:00Z.
 * Returns 0, or -1 after telling the user what is wrong. */
int tool_read_date(const char *name, const char *text, int64_t *ms);

#endif /* TKW_TOOLS_TOOL_PLAN_H */
