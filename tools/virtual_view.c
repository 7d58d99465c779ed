/* SPDX-License-Identifier: MIT */
/*
 * virtual_view.c - shows the virtual demo while it runs.
 *
 * A terminal shows the moving wheel: the picture, two sentences about what
 * happens, the counters, the clock and a progress bar, as far as they fit.
 * Anywhere else a few still pictures are printed. No line is wider than 80
 * columns, unless the terminal is.
 */
#include "virtual_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	LOOK_AT = 1 << 20, /* how many entries to look at, at most */
	FRAME_MS = 22,
	PAUSE_MS = 300, /* a pause after an act, to read its text */
	INDENT = 4      /* indent of the text about the act */
};

static const char extend_text[] =
	"Packets come in. Idle timeouts are pushed back: only the later time "
	"is stored, and the entry moves when its old slot comes up.";
static const char cancel_text[] =
	"Answers come in. Most timeouts are cancelled. Each is taken out of "
	"its slot at once, even from the middle of the list.";

static const char *const texts[2][VIRTUAL_ACTS] = {
	[TKW_WHEEL_HIERARCHICAL] = {
		"Calls go out. Each gets a timeout, which is put into the slot "
		"of its time, without sorting. Near timeouts go into ring 0, "
		"the others into coarser rings.",
		extend_text, cancel_text,
		"Time runs, faster and faster. The hand of ring 0 fires what "
		"it comes to. After each round, the next slot of the ring "
		"above moves down.",
	},
	[TKW_WHEEL_HASHED] = {
		"Calls go out. Each gets a timeout, which is put into the slot "
		"of its time, without sorting. Far timeouts wait there for "
		"their round.",
		extend_text, cancel_text,
		"Time runs, faster and faster. The hand looks at each entry of "
		"each slot that it comes to, and fires those whose round has "
		"come.",
	},
};

static struct virtual_view *view_of(struct virtual_demo *d)
{
	return d->watcher;
}

struct screen *virtual_view_screen(struct virtual_demo *d)
{
	return &view_of(d)->screen;
}

static void draw_title(struct virtual_demo *d)
{
	struct screen *s = virtual_view_screen(d);
	bool hashed = d->shape.engine == TKW_WHEEL_HASHED;
	char count[TOOL_WORD];

	screen_put(s, SCREEN_BOLD, " tickwheel demo");
	screen_putf(s, SCREEN_PLAIN,
		    "  %s timeouts, %s timing wheel, 1 tick = 1 ms",
		    tool_word_count(count, d->cfg.count),
		    hashed ? "hashed" : "hierarchical");
	screen_end_line(s);
}

/* The text about the act, in lines of whole words. */
static void draw_act(struct virtual_demo *d)
{
	struct screen *s = virtual_view_screen(d);
	const char *text = texts[d->shape.engine][d->act];

	screen_end_line(s);
	screen_putf(s, SCREEN_YELLOW, " %d/%d", (int)d->act + 1, VIRTUAL_ACTS);
	while (*text) {
		int len = (int)strcspn(text, " ");

		if (s->col + 1 + len > s->cols - 1 && s->col > INDENT) {
			screen_end_line(s);
			screen_putf(s, SCREEN_PLAIN, "%*s", INDENT, "");
		}
		screen_putf(s, SCREEN_PLAIN, " %.*s", len, text);
		text += len;
		text += *text == ' ';
	}
	screen_end_line(s);
	screen_end_line(s);
}

/* How many lines draw_act() takes, or one more. A word that moves to the next
 * line has at most 10 letters. */
static unsigned act_lines(struct virtual_demo *d)
{
	unsigned width = (unsigned)view_of(d)->screen.cols - INDENT - 12;

	return 3 + (unsigned)strlen(texts[d->shape.engine][d->act]) / width;
}

static void draw_legend(struct virtual_demo *d)
{
	struct screen *s = virtual_view_screen(d);

	screen_putf(s, SCREEN_YELLOW, " %s", s->glyphs->hand);
	screen_put(s, SCREEN_DIM, " the hand shows the time    ");
	for (int i = 1; i <= SCREEN_LEVELS; i++)
		screen_put(s, SCREEN_CYAN, s->glyphs->level[i]);
	screen_put(s, SCREEN_DIM, " few to many entries");
	screen_end_line(s);
	screen_end_line(s);
}

static void draw_counts(struct virtual_demo *d)
{
	struct screen *s = virtual_view_screen(d);
	const struct virtual_ledger *l = &d->ledger;
	const struct {
		const char *name;
		uint64_t n;
	} counts[] = { { " waiting ", tkw_wheel_count(d->wheel) },
		       { "  fired ", l->fired },
		       { "  cancelled ", l->cancelled },
		       { "  pushed ", l->extended } };

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		char buf[TOOL_WORD];
		const char *n = tool_word_count(buf, counts[i].n);

		/* A number that is cut off would be a wrong number. */
		if (s->col + (int)(strlen(counts[i].name) + strlen(n)) >=
		    s->cols)
			break;
		screen_put(s, SCREEN_DIM, counts[i].name);
		screen_put(s, SCREEN_PLAIN, n);
	}
	screen_end_line(s);
}

static void draw_clock(struct virtual_demo *d)
{
	uint64_t ms = tkw_wheel_now_tick(d->wheel);

	screen_putf(virtual_view_screen(d), SCREEN_BOLD, " %02u:%02u:%02u.%03u",
		    (unsigned)(ms / 3600000), (unsigned)(ms / 60000 % 60),
		    (unsigned)(ms / 1000 % 60), (unsigned)(ms % 1000));
}

/* The clock and the bar, as wide as the picture. */
static void draw_bar(struct virtual_demo *d)
{
	struct screen *s = virtual_view_screen(d);
	unsigned width = s->cols > 40 ? (unsigned)s->cols - 24 : 16;
	unsigned done;

	if (width > VIRTUAL_CELLS_MAX - 19)
		width = VIRTUAL_CELLS_MAX - 19;
	done = width * d->permille / 1000;
	draw_clock(d);
	screen_put(s, SCREEN_PLAIN, "  ");
	for (unsigned i = 0; i < width; i++) {
		screen_put(s, i < done ? SCREEN_GREEN : SCREEN_DIM,
			   i < done ? s->glyphs->bar_done
				    : s->glyphs->bar_left);
	}
	screen_putf(s, SCREEN_PLAIN, " %3u %%", d->permille / 10);
	screen_end_line(s);
}

/* Sleeps until the next picture is due, so that each can be seen. */
static void pace(struct virtual_view *v, long ms)
{
	struct timespec now;

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &v->next, NULL))
		;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	now.tv_nsec += ms * 1000000;
	now.tv_sec += now.tv_nsec / 1000000000;
	now.tv_nsec %= 1000000000;
	v->next = now;
}

static int show_moving(struct virtual_demo *d, bool act_ended)
{
	struct virtual_view *v = view_of(d);
	struct screen *s = &v->screen;
	unsigned room;
	bool hands;
	bool words;

	screen_measure(s);
	/* The room besides the title, the counters and the bar. */
	room = s->rows > 4 ? (unsigned)s->rows - 4 : 0;
	hands = room >= virtual_picture_lines(d, true);
	words = hands && s->cols >= 40 &&
		room >= virtual_picture_lines(d, true) + act_lines(d) + 2;
	virtual_picture_take(d, &v->now);
	draw_title(d);
	if (words)
		draw_act(d);
	virtual_picture_draw(d, &v->now, hands, true);
	if (words)
		draw_legend(d);
	draw_counts(d);
	draw_bar(d);
	pace(v, act_ended ? PAUSE_MS : FRAME_MS);
	return screen_show(s);
}

static int show_still(struct virtual_demo *d, bool act_ended)
{
	struct virtual_view *v = view_of(d);

	if (d->act == VIRTUAL_EXPIRE) {
		if (v->half_shown || d->permille < 775)
			return 0;
		v->half_shown = true;
	} else if (!act_ended) {
		return 0;
	}
	virtual_picture_take(d, &v->now);
	if (d->act == VIRTUAL_SCHEDULE)
		draw_title(d);
	draw_act(d);
	/* Pushing back does not change the picture. */
	if (d->act != VIRTUAL_EXTEND)
		virtual_picture_draw(d, &v->now, true, true);
	if (d->act == VIRTUAL_SCHEDULE)
		draw_legend(d);
	draw_clock(d);
	draw_counts(d);
	return screen_print(&v->screen);
}

static int watch(struct virtual_demo *d, bool act_ended)
{
	struct virtual_view *v = view_of(d);
	int r = v->screen.live ? show_moving(d, act_ended)
			       : show_still(d, act_ended);

	if (act_ended && d->act == VIRTUAL_SCHEDULE)
		v->fullest = v->now;
	return r;
}

int virtual_view_init(struct virtual_demo *d)
{
	struct virtual_view *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	screen_open(&v->screen);
	v->stride = (d->cfg.count + LOOK_AT - 1) / LOOK_AT;
	v->fading = v->screen.live ? 16 : 2;
	v->rows = virtual_picture_rows(d);
	d->watcher = v;
	d->watch = watch;
	return 0;
}

void virtual_view_fini(struct virtual_demo *d)
{
	if (!d->watcher)
		return;
	screen_close(virtual_view_screen(d));
	free(d->watcher);
	d->watcher = NULL;
	d->watch = NULL;
}

int virtual_view_end(struct virtual_demo *d)
{
	struct virtual_view *v = view_of(d);

	if (v->screen.live) {
		draw_title(d);
		screen_put(&v->screen, SCREEN_PLAIN,
			   d->interrupted
				   ? " The wheel when it was interrupted:"
				   : " The wheel when all timeouts were "
				     "scheduled:");
		screen_end_line(&v->screen);
		virtual_picture_draw(d, d->interrupted ? &v->now : &v->fullest,
				     false, false);
	} else if (d->interrupted) {
		screen_put(&v->screen, SCREEN_PLAIN, " Interrupted.");
		screen_end_line(&v->screen);
	}
	screen_end_line(&v->screen);
	return screen_print(&v->screen);
}
