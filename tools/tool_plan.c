/* SPDX-License-Identifier: MIT */
/* tool_plan.c - a plan and its time zone from the command line. */
#include "tool_plan.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

/* --- errors -------------------------------------------------------------- */

/* Tells what is wrong with a text, and shows where. Control bytes become
 * question marks, so that a byte is a column. */
static void show(const char *name, const char *text, size_t position,
		 const char *what)
{
	tool_complain("%s: %s", name, what);
	(void)fputs("  ", stderr);
	for (const char *at = text; *at; at++)
		(void)fputc(*at < ' ' || *at > '~' ? '?' : *at, stderr);
	(void)fprintf(stderr, "\n  %*s^\n", (int)position, "");
}

/* --- the zone ------------------------------------------------------------ */

/* Returns the name behind "zoneinfo/" in a path, or NULL. */
static const char *name_in(const char *path)
{
	const char *part = strstr(path, "zoneinfo/");

	return part ? part + strlen("zoneinfo/") : NULL;
}

/* Opens the zone of a file such as /etc/localtime. If the file is a link to a
 * zone of the system, the name is known. If it is a copy, only its content is.
 */
static int open_file(struct tkw_zone **zone, const char *file)
{
	char link[PATH_MAX], path[PATH_MAX];
	ssize_t len = readlink(file, link, sizeof(link) - 1);
	const char *name;
	char *slash;

	link[len > 0 ? len : 0] = '\0';
	name = name_in(link);
	if (!name)
		name = name_in(file);
	if (name)
		return tkw_zone_open(zone, name, NULL);
	(void)snprintf(path, sizeof(path), "%s", file);
	slash = strrchr(path, '/');
	*slash = '\0';
	return tkw_zone_open(zone, slash + 1, path);
}

static int open_local(struct tkw_zone **zone, const char **name)
{
	const char *tz = getenv("TZ");
	int r;

	*name = tz ? tz + (*tz == ':') : "/etc/localtime";
	if (**name == '\0')
		*name = "UTC";
	if (**name != '/')
		return tkw_zone_open(zone, *name, NULL);
	r = open_file(zone, *name);
	/* A system without a zone has UTC. */
	return r == -ENOENT && !tz ? tkw_zone_open(zone, "UTC", NULL) : r;
}

static int open_zone(struct tkw_zone **zone, const char *name,
		     const char *wanted)
{
	const char *found = wanted;
	int r = wanted ? tkw_zone_open(zone, wanted, NULL)
		       : open_local(zone, &found);

	if (!r)
		return 0;
	if (r == -EINVAL || r == -ENOENT) {
		tool_complain("%s: there is no time zone '%.60s'%s", name,
			      found, wanted ? "" : "; use --zone");
		return TOOL_EXIT_USAGE;
	}
	tool_complain("%s: the file of the time zone '%.60s': %s", name, found,
		      r == -EBADMSG       ? "it is not a time zone, or damaged"
		      : r == -EMEDIUMTYPE ? "it counts leap seconds, or is of "
					    "a newer version"
					  : strerror(-r));
	return TOOL_EXIT_FAILURE;
}

/* --- the plan ------------------------------------------------------------ */

int tool_plan_open(struct tool_plan *p, const char *name, const char *text,
		   const char *zone)
{
	struct tkw_plan_error error = { 0, "" };
	int status, r;

	p->plan = NULL;
	p->zone = NULL;
	status = open_zone(&p->zone, name, zone);
	if (status)
		return status;
	r = tkw_plan_create(&p->plan, text, p->zone, &error);
	if (!r)
		return 0;
	if (r != -EINVAL) {
		tool_complain("%s: %s", name, strerror(-r));
		return TOOL_EXIT_FAILURE;
	}
	show(name, text, error.position, error.text);
	return TOOL_EXIT_USAGE;
}

void tool_plan_close(struct tool_plan *p)
{
	(void)tkw_plan_destroy(p->plan);
	(void)tkw_zone_close(p->zone);
}

const struct tkw_zone *tool_plan_zone_at(const struct tool_plan *p,
					 int64_t at_ms)
{
	return tkw_zone_print(p->zone, at_ms, NULL, 0) < 0 ? NULL : p->zone;
}

int tool_read_date(const char *name, const char *text, int64_t *ms)
{
	/* A plan reads it. There is no time before "from". */
	static const char begin[] = "every 1ms from ";
	const size_t skip = sizeof(begin) - 1;
	char whole[TKW_PLAN_MAX_TEXT + 1];
	struct tkw_plan_error error = { skip, "Expected a time." };
	struct tkw_plan *plan;
	int r = -EINVAL;

	if (snprintf(whole, sizeof(whole), "%s%s", begin, text) <
	    (int)sizeof(whole))
		r = tkw_plan_create(&plan, whole, NULL, &error);
	if (!r) {
		r = tkw_plan_next(plan, INT64_MIN, ms);
		(void)tkw_plan_destroy(plan);
	}
	if (!r)
		return 0;
	show(name, text, error.position > skip ? error.position - skip : 0,
	     error.text);
	return -1;
}
