/* SPDX-License-Identifier: MIT */
/* virtual_demo.c - `tkw demo --virtual`: reads its options and runs it. */
#include "virtual_demo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "screen.h"

enum {
	COUNT_DEFAULT = 1000000,
	COUNT_MAX = 100000000,
	SEED_DEFAULT = 1,
	SLOTS_PER_MILLION = 512,
	SLOTS_MAX = 1 << 24
};

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

/* As args_text(). */
static int read_engine(struct args *a, int *engine)
{
	const char *name;
	int r = args_text(a, "--engine", &name);

	if (r <= 0)
		return r;
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
	return 1;
}

/* Read one option. Return as args_text(); 0: it is unknown. */
static int read_option(struct args *a, struct virtual_config *cfg)
{
	const struct args_option numbers[] = {
		{ "--count", 1, COUNT_MAX, &cfg->count },
		{ "--seed", 0, UINT64_MAX, &cfg->seed },
		{ "--slots", 1, SLOTS_MAX, &cfg->slots },
	};
	int r = read_engine(a, &cfg->engine);

	for (size_t i = 0; i < 3 && r == 0; i++)
		r = args_number(a, &numbers[i]);
	if (r)
		return r;
	r = args_flag(a, "--json");
	if (r > 0)
		cfg->json = true;
	return r ? r : args_flag(a, "--virtual");
}

/* Return 1; 0: help is wanted; -1: the user has been told what is wrong. */
static int read_options(struct args *a, struct virtual_config *cfg)
{
	static const char *const others[] = { "--seconds", "--threads",
					      "--pending", NULL };

	while (a->left > 0) {
		int r = args_help(a);

		if (r)
			return r > 0 ? 0 : -1;
		r = read_option(a, cfg);
		if (r == 0)
			args_unknown(a, others, "not with --virtual",
				     "tkw demo --virtual --help");
		if (r <= 0)
			return -1;
	}
	if (cfg->slots && cfg->engine != TKW_WHEEL_HASHED) {
		tool_complain("--slots: only the hashed engine has a choice of "
			      "slots");
		return -1;
	}
	/* The work of a hashed wheel is entries times rounds; with more slots
	 * for more entries it grows no faster than the entries. */
	if (!cfg->slots && cfg->engine == TKW_WHEEL_HASHED)
		cfg->slots =
			SLOTS_PER_MILLION * (1 + (cfg->count - 1) / 1000000);
	return 1;
}

/* Play, and say how it ended. Return the exit status. */
static int play(struct virtual_demo *d)
{
	if (virtual_load_run(d))
		return TOOL_EXIT_FAILURE;
	if (d->cfg.json) {
		virtual_report_json(d);
	} else {
		if (virtual_view_end(d) ||
		    virtual_report(d, virtual_view_screen(d)))
			return TOOL_EXIT_FAILURE;
	}
	return virtual_ledger_balanced(&d->ledger) ? TOOL_EXIT_OK
						   : TOOL_EXIT_FAILURE;
}

int virtual_main(struct args *a)
{
	struct virtual_demo d = { .cfg = { .count = COUNT_DEFAULT,
					   .seed = SEED_DEFAULT } };
	int status = TOOL_EXIT_FAILURE;
	int r = read_options(a, &d.cfg);

	if (r < 0)
		return TOOL_EXIT_USAGE;
	if (r == 0) {
		virtual_usage();
		return TOOL_EXIT_OK;
	}
	r = virtual_load_init(&d);
	if (!r && !d.cfg.json)
		r = virtual_view_init(&d);
	if (r == -ENOMEM)
		tool_complain("demo: not enough memory for %" PRIu64
			      " timeouts",
			      d.cfg.count);
	else if (r)
		tool_complain("demo: %s", strerror(-r));
	else
		status = play(&d);
	virtual_view_fini(&d);
	virtual_load_fini(&d);
	return status;
}
