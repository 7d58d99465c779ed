/* SPDX-License-Identifier: MIT */
/* demo.c - runs the demo in real time, from its load to its report. */
#include "demo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "screen.h"
#include "tool.h"

enum {
	BYTES_EACH = 80, /* a timeout and the demo's own data for it */
	FILL_PACE_MS = 20,
	/* On a very busy machine, some events may not have happened when the
	 * time is up. The demo waits for them, but not longer than this. */
	PATIENCE_S = 60
};

/* Waits until all far timeouts are scheduled. Returns what demo_view_show()
 * returns. */
static int fill(struct demo *d)
{
	int r = 0;

	demo_audit_take(d, &d->first);
	while (!r && !interrupt_signal() && !atomic_load(&d->error) &&
	       atomic_load(&d->filled) < d->cfg.threads) {
		demo_sleep_until(demo_now_ns() + FILL_PACE_MS * TKW_MSEC);
		demo_audit_take(d, &d->last);
		if (d->view)
			r = demo_view_fill(d);
	}
	demo_audit_take(d, &d->first);
	return r;
}

/* Is it time to stop? */
static bool is_over(const struct demo *d)
{
	int64_t end_ns = d->first.at_ns + (int64_t)d->cfg.seconds * TKW_SEC;
	int64_t now_ns = d->last.at_ns;

	if (atomic_load(&d->error) || interrupt_signal())
		return true;
	return now_ns >= end_ns && (demo_audit_seen_all(d) ||
				    now_ns >= end_ns + PATIENCE_S * TKW_SEC);
}

/* Watches the load until the time is up. Returns what demo_view_show()
 * returns. */
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
		/* Ctrl-Z may have suspended the demo for a while. */
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

/* Prints the result. Returns the exit status. */
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

/* Returns the exit status. */
static int play(struct demo *d)
{
	int r = demo_load_start(d);
	int broken = 0;

	if (r)
		tool_complain("demo: cannot start a thread: %s", strerror(-r));
	else
		broken = fill(d) || watch(d);
	d->interrupted = interrupt_signal() != 0;
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

int demo_run(const struct demo_config *cfg)
{
	struct demo *d = calloc(1, sizeof(*d));
	int status = TOOL_EXIT_FAILURE;
	int r;

	if (!d) {
		tool_complain("demo: %s", strerror(ENOMEM));
		return status;
	}
	d->cfg = *cfg;
	r = tool_fits_memory(d->cfg.pending * BYTES_EACH) ? demo_load_init(d)
							  : -ENOMEM;
	if (!r && !d->cfg.json)
		r = demo_view_init(d);
	interrupt_catch();
	if (r)
		complain(d, r);
	else
		status = play(d);
	demo_view_fini(d);
	demo_load_fini(d);
	free(d);
	return status;
}
