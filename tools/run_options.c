/* SPDX-License-Identifier: MIT */
/* run_options.c - the options of `tkw after`, `tkw every` and `tkw cron`. */
#include <stdio.h>
#include <string.h>

#include "run.h"
#include "tool.h"
#include "tool_options.h"

/* The options, in the order of the table. */
enum {
	OPT_HELP,
	OPT_JSON,
	OPT_QUIET,
	OPT_JITTER,
	OPT_TIMES, /* RUN_TAKES_REPEAT from here on */
	OPT_UNTIL,
	OPT_OVERLAP,
	OPT_NOW,
	OPT_ZONE, /* RUN_TAKES_CALENDAR from here on */
	OPT_MISFIRE,
	OPT_GRACE,
	OPTIONS
};

#define LONG(option) (TOOL_OPTION_FIRST + (option))

static const struct option options[] = {
	[OPT_HELP] = { "help", no_argument, NULL, TOOL_OPTION_HELP },
	[OPT_JSON] = { "json", no_argument, NULL, LONG(OPT_JSON) },
	[OPT_QUIET] = { "quiet", no_argument, NULL, LONG(OPT_QUIET) },
	[OPT_JITTER] = { "jitter", required_argument, NULL, LONG(OPT_JITTER) },
	[OPT_TIMES] = { "times", required_argument, NULL, LONG(OPT_TIMES) },
	[OPT_UNTIL] = { "until", required_argument, NULL, LONG(OPT_UNTIL) },
	[OPT_OVERLAP] = { "overlap", required_argument, NULL,
			  LONG(OPT_OVERLAP) },
	[OPT_NOW] = { "now", no_argument, NULL, LONG(OPT_NOW) },
	[OPT_ZONE] = { "zone", required_argument, NULL, LONG(OPT_ZONE) },
	[OPT_MISFIRE] = { "misfire", required_argument, NULL,
			  LONG(OPT_MISFIRE) },
	[OPT_GRACE] = { "grace", required_argument, NULL, LONG(OPT_GRACE) },
	[OPTIONS] = { NULL, 0, NULL, 0 },
};

static bool is_taken(int option, unsigned takes)
{
	if (option >= OPT_ZONE)
		return takes & RUN_TAKES_CALENDAR;
	return option < OPT_TIMES || (takes & RUN_TAKES_REPEAT);
}

/* Reads one of two words. Returns 0 or 1, or -1 after telling the user. */
static int read_choice(const char *name, const char *first, const char *second)
{
	if (!strcmp(optarg, first))
		return 0;
	if (!strcmp(optarg, second))
		return 1;
	tool_complain("%s: '%.60s' is neither '%s' nor '%s'", name, optarg,
		      first, second);
	return -1;
}

/* The options with one of two words. */
static int read_word_option(int option, struct run_options *o)
{
	int choice;

	switch (option) {
	case OPT_UNTIL:
		choice = read_choice("--until", "success", "failure");
		o->until = choice ? RUN_UNTIL_FAILURE : RUN_UNTIL_SUCCESS;
		break;
	case OPT_OVERLAP:
		choice = read_choice("--overlap", "skip", "allow");
		o->allow = choice == 1;
		break;
	default:
		choice = read_choice("--misfire", "once", "skip");
		o->skip_missed = choice == 1;
		break;
	}
	return choice < 0 ? -1 : 0;
}

/* Returns 0, or -1 after telling the user what is wrong. */
static int read_option(int option, struct run_options *o)
{
	switch (option) {
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_QUIET:
		o->quiet = true;
		return 0;
	case OPT_NOW:
		o->now = true;
		return 0;
	case OPT_ZONE:
		o->zone = optarg;
		return 0;
	case OPT_TIMES:
		return tool_read_number("--times", optarg, 1, INT64_MAX,
					&o->times);
	case OPT_JITTER:
		return tool_read_time("--jitter", optarg, RUN_MAX_MS,
				      &o->jitter_ms);
	case OPT_GRACE:
		return tool_read_time("--grace", optarg, RUN_MAX_MS,
				      &o->grace_ms);
	default:
		return read_word_option(option, o);
	}
}

/* Returns 0, 1 for the help, or -1 after telling the user what is wrong. */
static int read_line(struct run_options *o, int argc, char **argv)
{
	char see[40];
	int val;

	(void)snprintf(see, sizeof(see), "tkw %s --help", o->name);
	while ((val = tool_next_word(argc, argv, options, see)) > 0) {
		int option = val - TOOL_OPTION_FIRST;

		if (val == TOOL_OPTION_HELP)
			return 1;
		if (val == TOOL_OPTION_WORD && o->when) {
			tool_complain("%s: '%.60s': the command goes behind "
				      "'--'; see '%s'",
				      o->name, optarg, see);
			return -1;
		}
		if (val == TOOL_OPTION_WORD) {
			o->when = optarg;
		} else if (!is_taken(option, o->takes)) {
			tool_complain("--%s: not with %s", options[option].name,
				      o->name);
			return -1;
		} else if (read_option(option, o)) {
			return -1;
		}
	}
	if (val == TOOL_OPTION_BAD)
		return -1;
	o->words = argv + optind;
	if (o->when && optind < argc)
		return 0;
	tool_complain("%s: the %s is missing; see '%s'", o->name,
		      o->when                         ? "command behind '--'"
		      : o->takes & RUN_TAKES_CALENDAR ? "plan"
						      : "time",
		      see);
	return -1;
}

int run_read(struct run_options *o, int argc, char **argv, int *status)
{
	int r = read_line(o, argc, argv);

	*status = r < 0 ? TOOL_EXIT_USAGE : TOOL_EXIT_OK;
	if (r == 1)
		(void)fputs(o->usage, stdout);
	return r == 0;
}
