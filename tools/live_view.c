/* SPDX-License-Identifier: MIT */
/*
 * live_view.c - the figures of the demo in real time, while it runs.
 *
 * A terminal sees a small table that changes ten times a second, elsewhere a
 * line is printed each second. All is by the second, and of the time since the
 * figures before.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "live.h"
#include "screen.h"

enum {
	PACE_LIVE_MS = 100,
	PACE_STILL_MS = 1000,
	BAR_MAX = 60
};

struct live_view {
	struct screen screen;
	bool headed; /* the head of the lines is printed */
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

struct screen *live_view_screen(struct live *l)
{
	struct live_view *v = l->view;

	return &v->screen;
}

unsigned live_view_pace_ms(const struct live *l)
{
	const struct live_view *v = l->view;

	return v && !v->screen.live ? PACE_STILL_MS : PACE_LIVE_MS;
}

static uint64_t fired(const struct live_moment *m)
{
	return live_audit_fired(m->n);
}

static struct figures figures(const struct live_moment *from,
			      const struct live_moment *to)
{
	static const enum live_count counts[] = {
		[SCHEDULED] = LIVE_ACCEPTED,
		[CANCELLED] = LIVE_CANCELLED,
		[PUSHED_BACK] = LIVE_PUSHED_BACK,
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
		f.n[i] = (live_late_at(from, to, permille[i]) + 999) / 1000;
	/* Before its first heartbeat the worker's clock is not known. */
	if (to->worker_ns > 0 && seconds > 0)
		(void)snprintf(f.worker, sizeof(f.worker), "%.1f",
			       100 * worker / seconds);
	return f;
}

/* In six letters, or few more for what is per second. */
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

void live_view_title(const struct live *l, struct screen *s)
{
	char pending[TOOL_WORD];

	screen_put(s, SCREEN_BOLD, " tickwheel demo");
	screen_putf(s, SCREEN_PLAIN,
		    "  one timer, %d thread%s, %s far timeouts, 1 tick = 1 ms",
		    (int)l->cfg.threads, l->cfg.threads > 1 ? "s" : "",
		    tool_word_count(pending, l->cfg.pending));
	screen_end_line(s);
}

/* What it is about, names, and below them figures. */
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

void live_view_table(const struct live_moment *from,
		     const struct live_moment *to, struct screen *s)
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

static int show_live(struct live *l, unsigned permille)
{
	struct screen *s = live_view_screen(l);

	screen_measure(s);
	live_view_title(l, s);
	screen_end_line(s);
	live_view_table(&l->before, &l->last, s);
	screen_end_line(s);
	put_bar(s, (double)(l->last.at_ns - l->first.at_ns) / 1e9, permille);
	return screen_show(s);
}

/* The widths of the columns; with the others a line has 80 letters at most. */
static const int widths[COLUMNS] = { 9, 9, 7, 7, 6, 6, 6 };

static void put_head(const struct live *l, struct screen *s)
{
	live_view_title(l, s);
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

static int show_still(struct live *l)
{
	struct live_view *v = l->view;
	struct screen *s = &v->screen;
	struct figures f = figures(&l->before, &l->last);
	char buf[TOOL_WORD];

	if (!v->headed)
		put_head(l, s);
	v->headed = true;
	screen_putf(s, SCREEN_PLAIN, "%5.1f %11s",
		    (double)(l->last.at_ns - l->first.at_ns) / 1e9,
		    tool_word_count(buf, l->last.pending));
	for (int i = 0; i < COLUMNS; i++)
		screen_putf(s, SCREEN_PLAIN, " %*s", widths[i],
			    word(buf, &f, i));
	screen_putf(s, SCREEN_PLAIN, " %5s", f.worker);
	screen_end_line(s);
	return screen_print(s);
}

int live_view_show(struct live *l, unsigned permille)
{
	return live_view_screen(l)->live ? show_live(l, permille)
					 : show_still(l);
}

int live_view_fill(struct live *l)
{
	struct screen *s = live_view_screen(l);
	char buf[TOOL_WORD];

	if (!s->live)
		return 0;
	screen_measure(s);
	live_view_title(l, s);
	screen_end_line(s);
	screen_putf(s, SCREEN_PLAIN, " The far timeouts are scheduled: %s",
		    tool_word_count(buf, l->last.pending));
	screen_end_line(s);
	return screen_show(s);
}

int live_view_init(struct live *l)
{
	struct live_view *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	screen_open(&v->screen);
	l->view = v;
	return 0;
}

void live_view_fini(struct live *l)
{
	if (!l->view)
		return;
	screen_close(live_view_screen(l));
	free(l->view);
	l->view = NULL;
}
