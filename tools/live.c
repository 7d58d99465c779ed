/* SPDX-License-Identifier: MIT */
/* live.c - `tkw demo` in real time: its options, and the order of things. */
#include "live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "screen.h"

enum {
	SECONDS_DEFAULT = 3,
	SECONDS_MAX = 3600,
	THREADS_DEFAULT = 4,
	THREADS_MAX = 64,
	PENDING_DEFAULT = 1000000,
	PENDING_MAX = 100000000,
	BYTES_EACH = 80, /* a timeout's, and a little */
	FILL_PACE_MS = 20,
	/* So long the demo waits, beyond its time, for what has not happened
	 * yet: a machine may be very busy. */
	PATIENCE_S = 60
};

void live_usage(void)
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

/* Read one option. Return as args_text(); 0: it is unknown. */
static int read_option(struct args *a, struct live_config *cfg)
{
	const struct args_option numbers[] = {
		{ "--seconds", 1, SECONDS_MAX, &cfg->seconds },
		{ "--threads", 1, THREADS_MAX, &cfg->threads },
		{ "--pending", 0, PENDING_MAX, &cfg->pending },
	};
	int r = args_flag(a, "--json");

	if (r > 0)
		cfg->json = true;
	for (size_t i = 0; i < 3 && r == 0; i++)
		r = args_number(a, &numbers[i]);
	/* Without a value it would not be read here. */
	return r ? r : args_flag(a, "--virtual");
}

/* Return 1; 0: help is wanted; -1: the user has been told what is wrong. */
static int read_options(struct args *a, struct live_config *cfg)
{
	static const char *const others[] = { "--count", "--seed", "--engine",
					      "--slots", NULL };

	while (a->left > 0) {
		int r = args_help(a);

		if (r)
			return r > 0 ? 0 : -1;
		r = read_option(a, cfg);
		if (r == 0)
			args_unknown(a, others, "only with --virtual",
				     "tkw demo --help");
		if (r <= 0)
			return -1;
	}
	return 1;
}

/* Wait until all far timeouts are scheduled. Return as live_view_show(). */
static int fill(struct live *l)
{
	int r = 0;

	live_audit_take(l, &l->first);
	while (!r && !atomic_load(&l->error) &&
	       atomic_load(&l->filled) < l->cfg.threads) {
		live_sleep_until(live_now_ns() + FILL_PACE_MS * TKW_MSEC);
		live_audit_take(l, &l->last);
		if (l->view)
			r = live_view_fill(l);
	}
	live_audit_take(l, &l->first);
	return r;
}

/* Is the show over? What is late is waited for, if not for ever. */
static bool is_over(const struct live *l)
{
	int64_t end_ns = l->first.at_ns + (int64_t)l->cfg.seconds * TKW_SEC;
	int64_t now_ns = l->last.at_ns;

	if (atomic_load(&l->error))
		return true;
	return now_ns >= end_ns && (live_audit_seen_all(l) ||
				    now_ns >= end_ns + PATIENCE_S * TKW_SEC);
}

/* Watch the load until the time is up. Return as live_view_show(). */
static int watch(struct live *l)
{
	int64_t run_ns = (int64_t)l->cfg.seconds * TKW_SEC;
	int64_t next_ns = l->first.at_ns;
	int r = 0;

	l->last = l->first;
	while (!r && !is_over(l)) {
		int64_t done_ns;

		l->before = l->last;
		next_ns += live_view_pace_ms(l) * TKW_MSEC;
		live_sleep_until(next_ns);
		live_audit_take(l, &l->last);
		/* It may have been stopped for a while, by Ctrl-Z. */
		if (next_ns < l->last.at_ns - TKW_SEC)
			next_ns = l->last.at_ns;
		done_ns = l->last.at_ns - l->first.at_ns;
		if (done_ns > run_ns)
			done_ns = run_ns;
		if (l->view)
			r = live_view_show(l,
					   (unsigned)(done_ns * 1000 / run_ns));
	}
	return r;
}

static void complain(const struct live *l, int r)
{
	if (r == -ENOMEM)
		tool_complain("demo: not enough memory for %" PRIu64
			      " timeouts",
			      l->cfg.pending);
	else
		tool_complain("demo: %s", strerror(-r));
}

/* Say how it ended. Return the exit status. */
static int report(struct live *l)
{
	if (l->view) {
		if (live_report(l, live_view_screen(l)))
			return TOOL_EXIT_FAILURE;
	} else {
		live_report_json(l);
	}
	return live_audit_balanced(l) ? TOOL_EXIT_OK : TOOL_EXIT_FAILURE;
}

/* Return the exit status. */
static int play(struct live *l)
{
	int r = live_load_start(l);
	int broken = 0;

	if (r)
		tool_complain("demo: cannot start a thread: %s", strerror(-r));
	else
		broken = fill(l) || watch(l);
	live_audit_stop(l);
	if (r || broken)
		return TOOL_EXIT_FAILURE;
	r = atomic_load(&l->error);
	if (r) {
		complain(l, r);
		return TOOL_EXIT_FAILURE;
	}
	return report(l);
}

int live_main(struct args *a)
{
	struct live *l = calloc(1, sizeof(*l));
	int status = TOOL_EXIT_FAILURE;
	int r;

	if (!l) {
		tool_complain("demo: %s", strerror(ENOMEM));
		return status;
	}
	l->cfg.seconds = SECONDS_DEFAULT;
	l->cfg.threads = THREADS_DEFAULT;
	l->cfg.pending = PENDING_DEFAULT;
	r = read_options(a, &l->cfg);
	if (r <= 0) {
		if (r == 0)
			live_usage();
		free(l);
		return r == 0 ? TOOL_EXIT_OK : TOOL_EXIT_USAGE;
	}
	r = tool_fits_memory(l->cfg.pending * BYTES_EACH) ? live_load_init(l)
							  : -ENOMEM;
	if (!r && !l->cfg.json)
		r = live_view_init(l);
	if (r)
		complain(l, r);
	else
		status = play(l);
	live_view_fini(l);
	live_load_fini(l);
	free(l);
	return status;
}
