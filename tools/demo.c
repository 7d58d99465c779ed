/* SPDX-License-Identifier: MIT */
/* demo.c - `tkw demo`, in real time: reads its options and runs it. */
#include "demo.h"

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

void demo_usage(void)
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
static int read_option(struct args *a, struct demo_config *cfg)
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
static int read_options(struct args *a, struct demo_config *cfg)
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

/* Wait until all far timeouts are scheduled. Return as demo_view_show(). */
static int fill(struct demo *d)
{
	int r = 0;

	demo_audit_take(d, &d->first);
	while (!r && !atomic_load(&d->error) &&
	       atomic_load(&d->filled) < d->cfg.threads) {
		demo_sleep_until(demo_now_ns() + FILL_PACE_MS * TKW_MSEC);
		demo_audit_take(d, &d->last);
		if (d->view)
			r = demo_view_fill(d);
	}
	demo_audit_take(d, &d->first);
	return r;
}

/* Is the show over? What is late is waited for, if not for ever. */
static bool is_over(const struct demo *d)
{
	int64_t end_ns = d->first.at_ns + (int64_t)d->cfg.seconds * TKW_SEC;
	int64_t now_ns = d->last.at_ns;

	if (atomic_load(&d->error))
		return true;
	return now_ns >= end_ns && (demo_audit_seen_all(d) ||
				    now_ns >= end_ns + PATIENCE_S * TKW_SEC);
}

/* Watch the load until the time is up. Return as demo_view_show(). */
static int watch(struct demo *d)
{
	int64_t run_ns = (int64_t)d->cfg.seconds * TKW_SEC;
	int64_t next_ns = d->first.at_ns;
	int r = 0;

	d->last = d->first;
	while (!r && !is_over(d)) {
		int64_t done_ns;

		d->before = d->last;
		next_ns += demo_view_pace_ms(d) * TKW_MSEC;
		demo_sleep_until(next_ns);
		demo_audit_take(d, &d->last);
		/* It may have been stopped for a while, by Ctrl-Z. */
		if (next_ns < d->last.at_ns - TKW_SEC)
			next_ns = d->last.at_ns;
		done_ns = d->last.at_ns - d->first.at_ns;
		if (done_ns > run_ns)
			done_ns = run_ns;
		if (d->view)
			r = demo_view_show(d,
					   (unsigned)(done_ns * 1000 / run_ns));
	}
	return r;
}

static void complain(const struct demo *d, int r)
{
	if (r == -ENOMEM)
		tool_complain("demo: not enough memory for %" PRIu64
			      " timeouts",
			      d->cfg.pending);
	else
		tool_complain("demo: %s", strerror(-r));
}

/* Say how it ended. Return the exit status. */
static int report(struct demo *d)
{
	if (d->view) {
		if (demo_report(d, demo_view_screen(d)))
			return TOOL_EXIT_FAILURE;
	} else {
		demo_report_json(d);
	}
	return demo_audit_balanced(d) ? TOOL_EXIT_OK : TOOL_EXIT_FAILURE;
}

/* Return the exit status. */
static int play(struct demo *d)
{
	int r = demo_load_start(d);
	int broken = 0;

	if (r)
		tool_complain("demo: cannot start a thread: %s", strerror(-r));
	else
		broken = fill(d) || watch(d);
	demo_audit_stop(d);
	if (r || broken)
		return TOOL_EXIT_FAILURE;
	r = atomic_load(&d->error);
	if (r) {
		complain(d, r);
		return TOOL_EXIT_FAILURE;
	}
	return report(d);
}

int demo_main(struct args *a)
{
	struct demo *d = calloc(1, sizeof(*d));
	int status = TOOL_EXIT_FAILURE;
	int r;

	if (!d) {
		tool_complain("demo: %s", strerror(ENOMEM));
		return status;
	}
	d->cfg.seconds = SECONDS_DEFAULT;
	d->cfg.threads = THREADS_DEFAULT;
	d->cfg.pending = PENDING_DEFAULT;
	r = read_options(a, &d->cfg);
	if (r <= 0) {
		if (r == 0)
			demo_usage();
		free(d);
		return r == 0 ? TOOL_EXIT_OK : TOOL_EXIT_USAGE;
	}
	r = tool_fits_memory(d->cfg.pending * BYTES_EACH) ? demo_load_init(d)
							  : -ENOMEM;
	if (!r && !d->cfg.json)
		r = demo_view_init(d);
	if (r)
		complain(d, r);
	else
		status = play(d);
	demo_view_fini(d);
	demo_load_fini(d);
	free(d);
	return status;
}
