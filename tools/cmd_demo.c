/* SPDX-License-Identifier: MIT */
/*
 * cmd_demo.c - the command `tkw demo`: its options and its help.
 *
 * There are two demos: one in real time (demo.h) and, with --virtual, one on a
 * virtual clock (virtual_demo.h). They share a table of options, so that an
 * option of the other demo gets a clear message.
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
	/* Only without --virtual. */
	OPT_SECONDS,
	OPT_THREADS,
	OPT_PENDING,
	/* Only with --virtual. */
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

/* A line of the text is a line of the source. */
/* clang-format off */
static const char usage[] =
"usage: tkw demo [OPTION]...\n"
"       tkw demo --virtual [OPTION]...\n"
"\n"
"Acts like a busy server for a few seconds, in real time. Four threads share\n"
"one timer. Each call gets a timeout, and most are cancelled when the answer\n"
"comes. Each packet pushes back the idle timeout of its connection. Heartbeats\n"
"re-arm themselves. A million far timeouts are pending all the time.\n"
"\n"
"Then the timer is stopped under full load, and the demo prints the ledger:\n"
"each timeout fired, was cancelled or was handed over, exactly once, and none\n"
"was early. The demo counts all this itself too, and compares.\n"
"\n"
"options:\n"
"  --seconds S  run for S seconds, 1 to 3600 (default 3)\n"
"  --threads N  use N threads, 1 to 64 (default 4)\n"
"  --pending N  schedule N far timeouts of 64 bytes each, 0 to 100000000\n"
"               (default 1000000)\n"
"  --json       print one line of JSON instead of text\n"
"  --virtual    show the wheel alone, with pictures, on a virtual clock; see\n"
"               tkw demo --virtual --help\n"
"  --help       print this text\n"
"\n"
"The lateness of a task is the time from its deadline to its start. A tick of\n"
"1 ms adds half a millisecond on average. The worker is the timer's thread.\n"
"\n"
"Ctrl-C or SIGTERM ends the demo early, with the ledger. A second one ends it\n"
"at once. The figures move and have colours only on a terminal, and not if\n"
"TERM is dumb. NO_COLOR turns off the colours.\n"
"\n"
"Exit status: 0 balanced; 1 not balanced, or it failed; 2 bad option. If a\n"
"signal ended the demo and the ledger is balanced, 130 (Ctrl-C) or 143 (SIGTERM).\n";

static const char virtual_usage[] =
"usage: tkw demo --virtual [OPTION]...\n"
"\n"
"Schedules a million timeouts like a server's on a timing wheel, pushes some\n"
"back, cancels most, and runs a virtual clock until the last one has fired. It\n"
"shows how the wheel fills and empties, and ends with the ledger: each timeout\n"
"fired or was cancelled, exactly once, at its own tick and in order.\n"
"\n"
"Of ten timeouts, seven guard a call (50 ms to 30 s), two an idle connection\n"
"(about a minute), and one a session (10 minutes to 2 hours). A tick is 1 ms.\n"
"\n"
"options:\n"
"  --count N   schedule N timeouts of 48 bytes each, 1 to 100000000\n"
"              (default 1000000)\n"
"  --seed N    the seed of the random load (default 1)\n"
"  --engine E  hierarchical (the default) or hashed\n"
"  --slots N   the number of slots of a hashed wheel, 1 to 16777216, rounded up\n"
"              to a power of two (default 512 for each million, or part of one)\n"
"  --json      print one line of JSON instead of pictures and text\n"
"  --help      print this text\n"
"\n"
"The hashed wheel looks at each entry once per round. With 512 slots a session\n"
"waits for thousands of rounds, and a million timeouts take about a second\n"
"longer. More slots make it faster: try --slots 65536.\n"
"\n"
"Ctrl-C or SIGTERM ends the demo early, with the ledger. A second one ends it\n"
"at once. The picture moves and has colours only on a terminal, and not if\n"
"TERM is dumb. NO_COLOR turns off the colours.\n"
"\n"
"Exit status: 0 balanced; 1 not balanced, or it failed; 2 bad option. If a\n"
"signal ended the demo and the ledger is balanced, 130 (Ctrl-C) or 143 (SIGTERM).\n";
/* clang-format on */

/* Complains about an option of the other demo. Returns -1. */
static int refuse(int option, const char *why)
{
	for (const struct option *o = options; o->name; o++) {
		if (o->val == option)
			tool_complain("--%s: %s", o->name, why);
	}
	return -1;
}

/* Returns 0, or -1 after telling the user what is wrong. */
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

/* Returns 0, or -1 after telling the user what is wrong. */
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

/* Returns 0, or -1 after telling the user what is wrong. */
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

/* Returns 0, or -1 after telling the user what is wrong. */
static int choose_slots(struct virtual_config *cfg)
{
	bool hashed = cfg->engine == TKW_WHEEL_HASHED;

	if (cfg->slots && !hashed) {
		tool_complain("--slots: only the hashed engine has a choice of "
			      "slots");
		return -1;
	}
	/* The work of a hashed wheel is entries times rounds. If the slots grow
	 * with the entries, the work grows only as the entries do. */
	if (!cfg->slots && hashed)
		cfg->slots =
			SLOTS_PER_MILLION * (1 + (cfg->count - 1) / 1000000);
	return 0;
}

/* --virtual may come last, but decides how the other options are read. */
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
			(void)fputs(virtual_usage, stdout);
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
			(void)fputs(usage, stdout);
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
