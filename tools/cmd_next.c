/* SPDX-License-Identifier: MIT */
/* cmd_next.c - the command `tkw next`: shows the times of a plan. */
#include "cmd.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "tool.h"
#include "tool_options.h"
#include "tool_plan.h"

enum {
	OPT_HELP,
	OPT_JSON,
	OPT_ZONE,
	OPT_AFTER,
	OPT_PREVIOUS,
	OPT_WORDS,
	OPTIONS
};

#define LONG(option) (TOOL_OPTION_FIRST + (option))

static const struct option options[] = {
	[OPT_HELP] = { "help", no_argument, NULL, TOOL_OPTION_HELP },
	[OPT_JSON] = { "json", no_argument, NULL, LONG(OPT_JSON) },
	[OPT_ZONE] = { "zone", required_argument, NULL, LONG(OPT_ZONE) },
	[OPT_AFTER] = { "after", required_argument, NULL, LONG(OPT_AFTER) },
	[OPT_PREVIOUS] = { "previous", no_argument, NULL, LONG(OPT_PREVIOUS) },
	[OPT_WORDS] = { "words", no_argument, NULL, LONG(OPT_WORDS) },
	[OPTIONS] = { NULL, 0, NULL, 0 },
};

/* A line of the text is a line of the source. */
/* clang-format off */
static const char usage[] =
"usage: tkw next PLAN [N] [OPTION]...\n"
"\n"
"Prints PLAN in words, and its next N times (default 1).\n"
"\n"
"  --zone NAME  the time zone, like Europe/Berlin (default local)\n"
"  --after T    the times after T, like 2026-01-01T00:00Z, instead of now\n"
"  --previous   the last N times before now, or before T; the latest first\n"
"  --words      print only the words\n"
"  --json       print JSON, one object a line\n"
"  --help       print this text\n"
"\n"
"PLAN is 'every 90s', 'every 1h30m from 2026-01-01T00:00Z', @hourly, @daily,\n"
"@weekly, @monthly, @yearly, or five fields, or six with the second first:\n"
"  minute 0-59   hour 0-23   day of the month 1-31   month 1-12, jan\n"
"  day of the week 0-7, mon; Sunday is 0 and 7\n"
"A field is * or a list: 1,5 or 9-17 or */15 or 9-17/2. Days of the month can be\n"
"L, L-3, LW or 15W, and days of the week 5L, the last Friday, or fri#2. If both\n"
"day fields are restricted, either matches.\n"
"\n"
"Exit status: 0 success; 1 there is no such time; 2 bad command line.\n";
/* clang-format on */

struct line {
	const char *text;
	const char *zone;
	uint64_t count; /* 0: not given */
	int64_t base_ms;
	bool has_base;
	bool previous;
	bool words;
	bool json;
};

/* --- printing ------------------------------------------------------------ */

/* Prints the two largest units of a time, like "3 h 20 m". */
static void print_length(int64_t ms)
{
	static const struct {
		const char *name;
		int64_t ms;
	} units[] = { { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 },
		      { "s", 1000 },     { "ms", 1 },      { NULL, 1 } };
	int i = 0;

	while (units[i + 1].name && ms < units[i].ms)
		i++;
	(void)printf("%" PRId64 " %s", ms / units[i].ms, units[i].name);
	ms %= units[i].ms;
	if (units[i + 1].name && ms / units[i + 1].ms > 0)
		(void)printf(" %" PRId64 " %s", ms / units[i + 1].ms,
			     units[i + 1].name);
}

/* Plans, words and names of zones have nothing else that JSON must not have.
 */
static void print_json_text(const char *text)
{
	(void)putchar('"');
	for (; *text; text++) {
		if (*text == '\t')
			(void)fputs("\\t", stdout);
		else
			(void)putchar(*text);
	}
	(void)putchar('"');
}

static void print_plan(const struct line *l, const struct tool_plan *p)
{
	/* The longest words, of a list such as 1W,2W,3W, have 2,500 bytes. */
	char words[4096];

	if (tkw_plan_print(p->plan, words, sizeof(words)) < 0)
		words[0] = '\0';
	if (!l->json) {
		(void)printf("%s\n", words);
		return;
	}
	(void)fputs("{\"plan\":", stdout);
	print_json_text(tkw_plan_text(p->plan));
	(void)fputs(",\"zone\":", stdout);
	print_json_text(tkw_zone_name(p->zone));
	(void)fputs(",\"words\":", stdout);
	print_json_text(words);
	(void)fputs("}\n", stdout);
}

static void print_time(const struct line *l, const struct tool_plan *p,
		       int64_t at_ms)
{
	static const char *const days[] = { "Thu", "Fri", "Sat", "Sun",
					    "Mon", "Tue", "Wed" };
	const struct tkw_zone *zone = tool_plan_zone_at(p, at_ms);
	int64_t in_ms = at_ms - l->base_ms, day;
	int32_t offset_s = 0;
	char text[64];

	(void)tkw_zone_print(zone, at_ms, text, sizeof(text));
	if (l->json) {
		(void)printf("{\"time\":\"%s\",\"ms\":%" PRId64
			     ",\"in_ms\":%" PRId64 "}\n",
			     text, at_ms, in_ms);
		return;
	}
	if (zone)
		(void)tkw_zone_get_offset(zone, at_ms, &offset_s);
	day = at_ms + (int64_t)offset_s * 1000;
	day = day / 86400000 - (day % 86400000 < 0);
	(void)printf("%s %s  %s", days[(day % 7 + 7) % 7], text,
		     in_ms >= 0 ? "in " : "");
	print_length(in_ms >= 0 ? in_ms : -in_ms);
	(void)puts(in_ms >= 0 ? "" : " ago");
}

/* --- running ------------------------------------------------------------- */

static int list_times(const struct line *l, const struct tool_plan *p)
{
	int64_t at_ms = l->base_ms;

	for (uint64_t i = 0; i < l->count; i++) {
		int r = l->previous ? tkw_plan_previous(p->plan, at_ms, &at_ms)
				    : tkw_plan_next(p->plan, at_ms, &at_ms);

		if (r) {
			(void)fflush(stdout);
			r = tkw_plan_next(p->plan, INT64_MIN, &at_ms);
			tool_complain("next: the plan has no %s time%s",
				      l->previous ? "earlier" : "later",
				      r ? "; it never comes" : "");
			return TOOL_EXIT_FAILURE;
		}
		print_time(l, p, at_ms);
	}
	return TOOL_EXIT_OK;
}

static int read_option(struct line *l, int option)
{
	switch (option) {
	case OPT_JSON:
		l->json = true;
		return 0;
	case OPT_ZONE:
		l->zone = optarg;
		return 0;
	case OPT_AFTER:
		l->has_base = true;
		return tool_read_date("--after", optarg, &l->base_ms);
	case OPT_PREVIOUS:
		l->previous = true;
		return 0;
	default:
		l->words = true;
		return 0;
	}
}

static int add_word(struct line *l, const char *word)
{
	if (!l->text) {
		l->text = word;
		return 0;
	}
	if (!l->count)
		return tool_read_number("next", word, 1, 10000, &l->count);
	tool_complain("next: unexpected argument '%.60s'; a plan is one word, "
		      "in quotes",
		      word);
	return -1;
}

/* Returns 0, 1 for the help, or -1 after telling the user what is wrong. */
static int read_line(struct line *l, int argc, char **argv)
{
	static const char see[] = "tkw next --help";
	int val;

	while ((val = tool_next_word(argc, argv, options, see)) > 0) {
		if (val == TOOL_OPTION_HELP)
			return 1;
		if (val == TOOL_OPTION_WORD ? add_word(l, optarg)
					    : read_option(l, val - LONG(0)))
			return -1;
	}
	for (; val == TOOL_OPTION_END && optind < argc; optind++) {
		if (add_word(l, argv[optind]))
			return -1;
	}
	if (val == TOOL_OPTION_BAD || l->text)
		return val;
	tool_complain("next: the plan is missing; see '%s'", see);
	return -1;
}

int cmd_next(int argc, char **argv)
{
	struct line l = { .count = 0 };
	struct timespec now;
	struct tool_plan p;
	int status = read_line(&l, argc, argv);

	if (status == 1)
		(void)fputs(usage, stdout);
	if (status)
		return status == 1 ? TOOL_EXIT_OK : TOOL_EXIT_USAGE;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (!l.has_base)
		l.base_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	if (!l.count)
		l.count = 1;
	status = tool_plan_open(&p, "next", l.text, l.zone);
	if (!status) {
		print_plan(&l, &p);
		if (!l.words)
			status = list_times(&l, &p);
	}
	tool_plan_close(&p);
	return status;
}
