/* SPDX-License-Identifier: MIT */
/*
 * demo_view.c - the figures of the demo in real time, while it runs.
 *
 * A terminal shows a small table, redrawn ten times a second. Anywhere else a
 * line is printed each second. The figures are those of the time since the last
 * ones. No line is wider than 80 columns.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "demo.h"
#include "screen.h"
#include "tool.h"

enum {
	PACE_LIVE_MS = 100,
	PACE_STILL_MS = 1000,
	BAR_MAX = 60
};

struct demo_view {
	struct screen screen;
	bool headed; /* the heading of the lines is printed */
};

/* The figures: four per second, three in microseconds. */
enum column {
	SCHEDULED,
	CANCELLED,
	PUSHED_BACK,
	FIRED,
	P50,
	P99,
	MAX,
	COLUMNS
};

static const char *const names[COLUMNS] = {
	"scheduled", "cancelled", "pushed back", "fired", "p50", "p99", "max"
};

struct figures {
	uint64_t n[COLUMNS];
	char worker[TOOL_WORD]; /* percent of a CPU */
};

struct screen *demo_view_screen(struct demo *d)
{
	struct demo_view *v = d->view;

	return &v->screen;
}

unsigned demo_view_pace_ms(const struct demo *d)
{
	const struct demo_view *v = d->view;

	return v && !v->screen.live ? PACE_STILL_MS : PACE_LIVE_MS;
}

static uint64_t fired(const struct demo_moment *m)
{
	return demo_audit_fired(m->n);
}

static struct figures figures(const struct demo_moment *from,
			      const struct demo_moment *to)
{
	static const enum demo_count counts[] = {
		[SCHEDULED] = DEMO_ACCEPTED,
		[CANCELLED] = DEMO_CANCELLED,
		[PUSHED_BACK] = DEMO_PUSHED_BACK,
	};
	static const unsigned permille[COLUMNS] = {
		[P50] = 500, [P99] = 990, [MAX] = 1000
	};
	double seconds = (double)(to->at_ns - from->at_ns) / 1e9;
	double worker = (double)(to->worker_ns - from->worker_ns) / 1e9;
	struct figures f = { .worker = "-" };

	for (int i = SCHEDULED; i <= PUSHED_BACK; i++)
		f.n[i] = to->n[counts[i]] - from->n[counts[i]];
	f.n[FIRED] = fired(to) - fired(from);
	for (int i = SCHEDULED; i <= FIRED; i++)
		f.n[i] = seconds > 0 ? (uint64_t)((double)f.n[i] / seconds) : 0;
	for (int i = P50; i <= MAX; i++)
		f.n[i] = (demo_late_at(from, to, permille[i]) + 999) / 1000;
	/* The worker's clock is not known before the first heartbeat. */
	if (to->worker_ns > 0 && seconds > 0)
		(void)snprintf(f.worker, sizeof(f.worker), "%.1f",
			       100 * worker / seconds);
	return f;
}

/* Writes a figure as text. A lateness takes at most six columns. */
static const char *word(char buf[TOOL_WORD], const struct figures *f, int i)
{
	uint64_t us = f->n[i];

	if (i < P50 || us < 100000)
		return tool_word_count(buf, us);
	if (us < 1000000)
		(void)snprintf(buf, TOOL_WORD, "%d ms", (int)(us / 1000));
	else
		(void)snprintf(buf, TOOL_WORD, "%.0f s", (double)us / 1e6);
	return buf;
}

void demo_view_title(const struct demo *d, struct screen *s)
{
	char pending[TOOL_WORD];

	screen_put(s, SCREEN_BOLD, " tickwheel demo");
	screen_putf(s, SCREEN_PLAIN,
		    "  one timer, %d thread%s, %s far timeouts, 1 tick = 1 ms",
		    (int)d->cfg.threads, d->cfg.threads > 1 ? "s" : "",
		    tool_word_count(pending, d->cfg.pending));
	screen_end_line(s);
}

/* Draws a label and the names of the columns, and the figures in the next
 * line. */
static void put_rows(struct screen *s, const char *about,
		     const struct figures *f, int first, int last)
{
	char buf[TOOL_WORD];

	screen_putf(s, SCREEN_BOLD, " %-10s", about);
	for (int i = first; i <= last; i++)
		screen_putf(s, SCREEN_DIM, " %13s", names[i]);
	screen_end_line(s);
	screen_putf(s, SCREEN_PLAIN, "%11s", "");
	for (int i = first; i <= last; i++)
		screen_putf(s, SCREEN_CYAN, " %13s", word(buf, f, i));
	screen_end_line(s);
}

void demo_view_table(const struct demo_moment *from,
		     const struct demo_moment *to, struct screen *s)
{
	struct figures f = figures(from, to);
	char buf[TOOL_WORD];

	put_rows(s, "per second", &f, SCHEDULED, FIRED);
	put_rows(s, "late, us", &f, P50, MAX);
	screen_put(s, SCREEN_BOLD, " pending   ");
	screen_putf(s, SCREEN_CYAN, " %13s", tool_word_count(buf, to->pending));
	screen_put(s, SCREEN_DIM, "        worker");
	screen_putf(s, SCREEN_CYAN, " %13s", f.worker);
	screen_put(s, SCREEN_DIM, " % of a CPU");
	screen_end_line(s);
}

static void put_bar(struct screen *s, double seconds, unsigned permille)
{
	unsigned width = s->cols > 40 ? (unsigned)s->cols - 20 : 16;

	if (width > BAR_MAX)
		width = BAR_MAX;
	screen_putf(s, SCREEN_PLAIN, " %6.1f s  ", seconds);
	for (unsigned i = 0; i < width; i++) {
		bool done = i < width * permille / 1000;

		screen_put(s, done ? SCREEN_GREEN : SCREEN_DIM,
			   done ? s->glyphs->bar_done : s->glyphs->bar_left);
	}
	screen_putf(s, SCREEN_PLAIN, " %3u %%", permille / 10);
	screen_end_line(s);
}

static int show_live(struct demo *d, unsigned permille)
{
	struct screen *s = demo_view_screen(d);

	screen_measure(s);
	demo_view_title(d, s);
	screen_end_line(s);
	demo_view_table(&d->before, &d->last, s);
	screen_end_line(s);
	put_bar(s, (double)(d->last.at_ns - d->first.at_ns) / 1e9, permille);
	return screen_show(s);
}

/* The widths of the columns. With time, pending and CPU, a line has 80 columns.
 */
static const int widths[COLUMNS] = { 9, 9, 7, 7, 6, 6, 6 };

static void put_head(const struct demo *d, struct screen *s)
{
	demo_view_title(d, s);
	screen_end_line(s);
	screen_put(s, SCREEN_PLAIN,
		   "                  ----------- per second -----------  "
		   "---- late, us ---- worker");
	screen_end_line(s);
	screen_put(s, SCREEN_PLAIN, " time     pending");
	for (int i = 0; i < COLUMNS; i++)
		screen_putf(s, SCREEN_PLAIN, " %*s", widths[i],
			    i == PUSHED_BACK ? "pushed" : names[i]);
	screen_put(s, SCREEN_PLAIN, " CPU %");
	screen_end_line(s);
}

static int show_still(struct demo *d)
{
	struct demo_view *v = d->view;
	struct screen *s = &v->screen;
	struct figures f = figures(&d->before, &d->last);
	double seconds = (double)(d->last.at_ns - d->first.at_ns) / 1e9;
	char buf[TOOL_WORD];

	if (!v->headed)
		put_head(d, s);
	v->headed = true;
	screen_putf(s, SCREEN_PLAIN, "%5.*f %11s", seconds < 999 ? 1 : 0,
		    seconds, tool_word_count(buf, d->last.pending));
	for (int i = 0; i < COLUMNS; i++)
		screen_putf(s, SCREEN_PLAIN, " %*s", widths[i],
			    word(buf, &f, i));
	screen_putf(s, SCREEN_PLAIN, " %5s", f.worker);
	screen_end_line(s);
	return screen_print(s);
}

int demo_view_show(struct demo *d, unsigned permille)
{
	return demo_view_screen(d)->live ? show_live(d, permille)
					 : show_still(d);
}

int demo_view_fill(struct demo *d)
{
	struct screen *s = demo_view_screen(d);
	char buf[TOOL_WORD];

	if (!s->live)
		return 0;
	screen_measure(s);
	demo_view_title(d, s);
	screen_end_line(s);
	screen_putf(s, SCREEN_PLAIN, " Far timeouts scheduled so far: %s",
		    tool_word_count(buf, d->last.pending));
	screen_end_line(s);
	return screen_show(s);
}

int demo_view_init(struct demo *d)
{
	struct demo_view *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	screen_open(&v->screen);
	d->view = v;
	return 0;
}

void demo_view_fini(struct demo *d)
{
	if (!d->view)
		return;
	screen_close(demo_view_screen(d));
	free(d->view);
	d->view = NULL;
}
