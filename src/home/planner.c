/* SPDX-License-Identifier: MIT */
/* planner.c - planned times for the heart of a queue. See planner.h. */
#include "home/planner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A zone that was read. All plans of the zone share it. There are at most as
 * many as the system has zones. */
struct tkw__planner_zone {
	struct tkw__planner_zone *next;
	struct tkw_zone *zone;
};

/* --- zones ---------------------------------------------------------------- */

static int open_zone(const struct tkw__planner *p, struct tkw__queue_text name,
		     struct tkw_zone **out)
{
	char text[TKW_ZONE_MAX_NAME + 1];
	int err;

	if (name.len > TKW_ZONE_MAX_NAME || memchr(name.at, 0, name.len))
		return -ENXIO;
	memcpy(text, name.at, name.len);
	text[name.len] = 0;
	err = tkw_zone_open(out, text, p->folder);
	/* For a plan, -ENOENT means that it has no more times, and -EINVAL that
	 * its text is wrong. */
	return err == -EINVAL || err == -ENOENT ? -ENXIO : err;
}

static bool is_named(const struct tkw_zone *zone, struct tkw__queue_text name)
{
	const char *text = tkw_zone_name(zone);

	return strlen(text) == name.len && memcmp(text, name.at, name.len) == 0;
}

/* Plans of one zone often come one after the other, so the zone that was used
 * last is the first one in the list. */
static struct tkw__planner_zone *find_zone(struct tkw__planner *p,
					   struct tkw__queue_text name)
{
	struct tkw__planner_zone **at = &p->zones;
	struct tkw__planner_zone *z;

	while (*at && !is_named((*at)->zone, name))
		at = &(*at)->next;
	z = *at;
	if (z) {
		*at = z->next;
		z->next = p->zones;
		p->zones = z;
	}
	return z;
}

static int add_zone(struct tkw__planner *p, struct tkw_zone *zone)
{
	struct tkw__planner_zone *z = malloc(sizeof(*z));

	if (!z)
		return -ENOMEM;
	z->zone = zone;
	z->next = p->zones;
	p->zones = z;
	return 0;
}

/* Gets a zone, which belongs to the planner. */
static int get_zone(struct tkw__planner *p, struct tkw__queue_text name,
		    bool anew, struct tkw_zone **out)
{
	struct tkw__planner_zone *known = find_zone(p, name);
	int err;

	if (known && !anew) {
		*out = known->zone;
		return 0;
	}
	err = open_zone(p, name, out);
	if (err)
		return err;
	if (known) {
		(void)tkw_zone_close(known->zone);
		known->zone = *out;
		return 0;
	}
	err = add_zone(p, *out);
	if (err)
		(void)tkw_zone_close(*out);
	return err;
}

/* --- plans ---------------------------------------------------------------- */

/* A plan is a string for calendar.h, so it must not have a byte 0. If it has
 * one, an error in what comes before it is told first. */
static int make_plan(struct tkw__queue_text plan, struct tkw_zone *zone,
		     struct tkw_plan **out, struct tkw_plan_error *error)
{
	static const struct tkw_plan_error zero = { 0, "Expected no byte 0." };
	char text[TKW_PLAN_MAX_TEXT + 2];
	size_t len = plan.len < sizeof(text) ? plan.len : sizeof(text) - 1;
	const char *end;
	int err;

	if (len)
		memcpy(text, plan.at, len);
	text[len] = 0;
	err = tkw_plan_create(out, text, zone, error);
	if (err)
		return err;
	end = memchr(text, 0, len);
	if (!end)
		return 0;
	(void)tkw_plan_destroy(*out);
	if (error) {
		*error = zero;
		error->position = (size_t)(end - text);
	}
	return -EINVAL;
}

/* True if too many files are open. This is over soon, so it must not stop a
 * plan for good: for the heart it is as if there were no memory, and the
 * command fails. -EIO may last: then each command that meets the plan would
 * fail. */
static bool are_files_used_up(int err)
{
	return err == -EMFILE || err == -ENFILE;
}

static int compile(void **out, struct tkw__queue_text plan,
		   struct tkw__queue_text zone, bool anew, void *ctx)
{
	struct tkw_zone *z = NULL;
	struct tkw_plan *made = NULL;
	int err = 0;

	if (zone.len)
		err = get_zone(ctx, zone, anew, &z);
	if (are_files_used_up(err))
		err = -ENOMEM;
	if (!err)
		err = make_plan(plan, z, &made, NULL);
	if (!err)
		*out = made;
	return err;
}

static int next(void *compiled, uint64_t after_ms, uint64_t *out_ms)
{
	int64_t ms;
	int err;

	if (after_ms > INT64_MAX)
		return -ENOENT;
	err = tkw_plan_next(compiled, (int64_t)after_ms, &ms);
	if (!err)
		*out_ms = (uint64_t)ms;
	return err;
}

static int previous(void *compiled, uint64_t before_ms, uint64_t *out_ms)
{
	int64_t ms;
	int err;

	if (before_ms > INT64_MAX)
		before_ms = INT64_MAX;
	err = tkw_plan_previous(compiled, (int64_t)before_ms, &ms);
	if (!err && ms < 0)
		return -ENOENT; /* before 1970 */
	if (!err)
		*out_ms = (uint64_t)ms;
	return err;
}

static void free_plan(void *compiled, void *ctx)
{
	(void)ctx;
	(void)tkw_plan_destroy(compiled);
}

/* --- for the homes -------------------------------------------------------- */

void tkw__planner_init(struct tkw__planner *p, const char *folder)
{
	*p = (struct tkw__planner){
		.calendar = { compile, next, previous, free_plan, p },
		.folder = folder,
	};
}

void tkw__planner_fini(struct tkw__planner *p)
{
	while (p->zones) {
		struct tkw__planner_zone *z = p->zones;

		p->zones = z->next;
		(void)tkw_zone_close(z->zone);
		free(z);
	}
}

int tkw__planner_list(const struct tkw__planner *p,
		      const struct tkw__planner_query *query, uint64_t *out_ms,
		      struct tkw_plan_error *error)
{
	uint64_t after_ms = query->after_ms;
	struct tkw_zone *zone = NULL;
	struct tkw_plan *plan = NULL;
	int n = 0;
	int err = 0;

	if (query->zone.len)
		err = open_zone(p, query->zone, &zone);
	if (!err)
		err = make_plan(query->plan, zone, &plan, error);
	(void)tkw_zone_close(zone);
	if (err)
		return err;
	while (n < query->max && next(plan, after_ms, &out_ms[n]) == 0)
		after_ms = out_ms[n++];
	(void)tkw_plan_destroy(plan);
	return n;
}
