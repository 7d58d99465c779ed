/* SPDX-License-Identifier: MIT */
/*
 * cmd_demo.c - the command `tkw demo`: its options and its help.
 *
 * There are two demos: one in real time (demo.h), and with --virtual one on a
 * virtual clock (virtual_demo.h). Both read the same table of options, so that
 * an option of the other demo gets a clear message.
 */
#include "cmd.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "demo.h"
#include "tool.h"
#include "tool_options.h"
#include "virtual_demo.h"

enum {
	SECONDS_DEFAULT = 3,
	SECONDS_MAX = 3600,
	THREADS_DEFAULT = 4,
	THREADS_MAX = 64,
	PENDING_DEFAULT = 1000000,
	PENDING_MAX = 100000000,

	COUNT_DEFAULT = 1000000,
	COUNT_MAX = 100000000,
	SEED_DEFAULT = 1,
	SLOTS_PER_MILLION = 512,
	SLOTS_MAX = 1 << 24
};

enum {
	OPT_JSON = TOOL_OPTION_FIRST,
	OPT_VIRTUAL,
	/* In real time only. */
	OPT_SECONDS,
	OPT_THREADS,
	OPT_PENDING,
	/* With --virtual only. */
	OPT_COUNT,
	OPT_SEED,
	OPT_ENGINE,
	OPT_SLOTS
};

static const struct option options[] = {
	{ "help", no_argument, NULL, TOOL_OPTION_HELP },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "virtual", no_argument, NULL, OPT_VIRTUAL },
	{ "seconds", required_argument, NULL, OPT_SECONDS },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "pending", required_argument, NULL, OPT_PENDING },
	{ "count", required_argument, NULL, OPT_COUNT },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "engine", required_argument, NULL, OPT_ENGINE },
	{ "slots", required_argument, NULL, OPT_SLOTS },
	{ NULL, 0, NULL, 0 },
};

static void usage(void)
{
	(void)fputs(
		"usage: tkw demo [OPTION]...\n"
		"       tkw demo --virtual [OPTION]...\n"
		"\n"
		"Acts like a busy server for a few seconds, in real time: "
		"four threads share\n"
		"one timer. Calls get timeouts, most of them cancelled when "
		"the answer comes;\n"
		"idle timeouts are pushed back by each packet; heartbeats "
		"re-arm themselves; a\n"
		"million far timeouts are pending all the while. Then the "
		"timer is stopped in\n"
		"the midst of it, and the ledger is shown: each timeout has "
		"fired, was cancelled\n"
		"or was handed over, just once, and none was early. The "
		"timer's own ledger is\n"
		"held against what the demo has counted by itself.\n"
		"\n"
		"options:\n"
		"  --seconds S  so long, 1 to 3600 (3)\n"
		"  --threads N  so many threads, 1 to 64 (4)\n"
		"  --pending N  so many far timeouts, 0 to 100000000 "
		"(1000000); 64 bytes each\n"
		"  --json       one line of JSON instead of figures and text\n"
		"  --virtual    the wheel alone, on a virtual clock, with a "
		"picture of it: see\n"
		"               tkw demo --virtual --help\n"
		"  --help       this text\n"
		"\n"
		"A task is late by the time from its deadline to its first "
		"instruction; the tick\n"
		"of 1 ms alone makes half a millisecond of it. The worker is "
		"the timer's thread.\n"
		"\n"
		"Only a terminal gets moving figures and colours; NO_COLOR and "
		"TERM=dumb are\n"
		"respected. Exit status: 0 balanced; 1 not balanced, or it "
		"failed; 2 bad option.\n",
		stdout);
}

static void virtual_usage(void)
{
	(void)fputs(
		"usage: tkw demo --virtual [OPTION]...\n"
		"\n"
		"Schedules a million timeouts like a server's on a timing "
		"wheel, pushes some\n"
		"back, cancels most, and runs a virtual clock until the last "
		"has fired. Shows\n"
		"how the wheel fills and empties, and ends with the ledger: "
		"each timeout has\n"
		"fired or was cancelled, just once, at its very tick and in "
		"order.\n"
		"\n"
		"Of ten timeouts seven guard a call (50 ms to 30 s), two an "
		"idle connection\n"
		"(about a minute), one a session (10 minutes to 2 hours). A "
		"tick is 1 ms.\n"
		"\n"
		"options:\n"
		"  --count N   so many timeouts, 1 to 100000000 (1000000); "
		"48 bytes each\n"
		"  --seed N    another seed is another load (1)\n"
		"  --engine E  hierarchical (the default) or hashed\n"
		"  --slots N   hashed: slots of the ring, 1 to 16777216, "
		"rounded up to a power\n"
		"              of two (512 for each million timeouts)\n"
		"  --json      one line of JSON instead of pictures and text\n"
		"  --help      this text\n"
		"\n"
		"The hashed wheel looks at an entry once per round, and with "
		"512 slots a session\n"
		"waits for thousands of rounds: a million timeouts take it a "
		"second or so more.\n"
		"More slots make it faster: try --slots 65536.\n"
		"\n"
		"Only a terminal gets a moving picture and colours; NO_COLOR "
		"and TERM=dumb are\n"
		"respected. Exit status: 0 balanced; 1 not balanced, or it "
		"failed; 2 bad option.\n",
		stdout);
}

/* Complain about an option of the other demo. Return -1. */
static int refuse(int option, const char *why)
{
	for (const struct option *o = options; o->name; o++) {
		if (o->val == option)
			tool_complain("--%s: %s", o->name, why);
	}
	return -1;
}

/* Return 0, or -1: the user has been told what is wrong. */
static int read_option(int option, struct demo_config *cfg)
{
	switch (option) {
	case OPT_JSON:
		cfg->json = true;
		return 0;
	case OPT_SECONDS:
		return tool_read_number("--seconds", optarg, 1, SECONDS_MAX,
					&cfg->seconds);
	case OPT_THREADS:
		return tool_read_number("--threads", optarg, 1, THREADS_MAX,
					&cfg->threads);
	case OPT_PENDING:
		return tool_read_number("--pending", optarg, 0, PENDING_MAX,
					&cfg->pending);
	default:
		return refuse(option, "only with --virtual");
	}
}

/* Return 0, or -1: the user has been told what is wrong. */
static int read_engine(const char *name, int *engine)
{
	if (!strcmp(name, "hierarchical")) {
		*engine = TKW_WHEEL_HIERARCHICAL;
	} else if (!strcmp(name, "hashed")) {
		*engine = TKW_WHEEL_HASHED;
	} else {
		tool_complain("--engine: '%.60s' is neither 'hierarchical' nor "
			      "'hashed'",
			      name);
		return -1;
	}
	return 0;
}

/* Return 0, or -1: the user has been told what is wrong. */
static int read_virtual_option(int option, struct virtual_config *cfg)
{
	switch (option) {
	case OPT_VIRTUAL:
		return 0;
	case OPT_JSON:
		cfg->json = true;
		return 0;
	case OPT_COUNT:
		return tool_read_number("--count", optarg, 1, COUNT_MAX,
					&cfg->count);
	case OPT_SEED:
		return tool_read_number("--seed", optarg, 0, UINT64_MAX,
					&cfg->seed);
	case OPT_ENGINE:
		return read_engine(optarg, &cfg->engine);
	case OPT_SLOTS:
		return tool_read_number("--slots", optarg, 1, SLOTS_MAX,
					&cfg->slots);
	default:
		return refuse(option, "not with --virtual");
	}
}

/* Return 0, or -1: the user has been told what is wrong. */
static int choose_slots(struct virtual_config *cfg)
{
	bool hashed = cfg->engine == TKW_WHEEL_HASHED;

	if (cfg->slots && !hashed) {
		tool_complain("--slots: only the hashed engine has a choice of "
			      "slots");
		return -1;
	}
	/* The work of a hashed wheel is entries times rounds. With more slots
	 * for more entries it grows no faster than the entries. */
	if (!cfg->slots && hashed)
		cfg->slots =
			SLOTS_PER_MILLION * (1 + (cfg->count - 1) / 1000000);
	return 0;
}

/* --virtual may stand anywhere, and decides how the other options are read. */
static bool wants_virtual(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--virtual"))
			return true;
	}
	return false;
}

static int virtual_demo(int argc, char **argv)
{
	struct virtual_config cfg = { .count = COUNT_DEFAULT,
				      .seed = SEED_DEFAULT };
	int option;

	while ((option = tool_next_option(argc, argv, options,
					  "tkw demo --virtual --help")) > 0) {
		if (option == TOOL_OPTION_HELP) {
			virtual_usage();
			return TOOL_EXIT_OK;
		}
		if (read_virtual_option(option, &cfg))
			return TOOL_EXIT_USAGE;
	}
	if (option == TOOL_OPTION_BAD || choose_slots(&cfg))
		return TOOL_EXIT_USAGE;
	return virtual_run(&cfg);
}

static int demo(int argc, char **argv)
{
	struct demo_config cfg = { .seconds = SECONDS_DEFAULT,
				   .threads = THREADS_DEFAULT,
				   .pending = PENDING_DEFAULT };
	int option;

	while ((option = tool_next_option(argc, argv, options,
					  "tkw demo --help")) > 0) {
		if (option == TOOL_OPTION_HELP) {
			usage();
			return TOOL_EXIT_OK;
		}
		if (read_option(option, &cfg))
			return TOOL_EXIT_USAGE;
	}
	return option == TOOL_OPTION_BAD ? TOOL_EXIT_USAGE : demo_run(&cfg);
}

int cmd_demo(int argc, char **argv)
{
	return wants_virtual(argc, argv) ? virtual_demo(argc, argv)
					 : demo(argc, argv);
}
