/* SPDX-License-Identifier: MIT */
/*
 * queue_watch.c - `tkw queue FILE watch`: the queues of a file, every second.
 *
 * On a terminal it is one screen with a line for each queue. Elsewhere it is
 * one line a second with the sums of all queues, as text or as JSON.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "interrupt.h"
#include "queue_tool.h"
#include "screen.h"
#include "tool.h"

enum {
	PERIOD_MS = 1000,
	/* So many queues are watched. One screen shows fewer. */
	ROWS = 256,
	/* Lines of a screen that are no queue. */
	FRAME = 5
};

/* A queue, now and a second ago. */
struct row {
	char name[TKW_QUEUE_MAX_NAME + 1];
	struct tkw_queue_stats now;
	struct tkw_queue_stats before;
	bool has_before;
};

struct watch {
	struct queue_session *s;
	const struct queue_options *o;
	struct screen screen;
	size_t count;
	uint64_t hidden; /* queues that found no row */
	int64_t at_ms;   /* when the figures were read */
	int64_t before_ms;
	struct row row[ROWS];
};

/* --- reading ------------------------------------------------------------- */

/* Queues are never removed, so each keeps its row. */
static int read_row(struct watch *v, size_t i, const char *name)
{
	struct row *row = &v->row[i];
	int r = 0;

	(void)snprintf(row->name, sizeof(row->name), "%s", name);
	row->before = row->now;
	row->has_before = i < v->count;
	if (!v->o->queue)
		r = queue_session_choose(v->s, row->name);
	if (r >= 0)
		QUEUE_CALL(r, v->s, v->s->ops->get_stats(v->s->way, &row->now));
	return r;
}

static int read_all(struct watch *v)
{
	char name[TKW_QUEUE_MAX_NAME + 1] = "";
	size_t i = 0;
	int r;

	v->hidden = 0;
	for (;;) {
		QUEUE_CALL(r, v->s, v->s->ops->next(v->s->way, name));
		if (r <= 0)
			break;
		if (i == ROWS) {
			v->hidden++;
			continue;
		}
		r = read_row(v, i, name);
		if (r < 0)
			break;
		i++;
	}
	if (r >= 0)
		v->count = i;
	return r;
}

static int read_figures(struct watch *v)
{
	int r;

	v->before_ms = v->at_ms;
	v->at_ms = queue_steady_ms();
	if (!v->o->queue)
		return read_all(v);
	r = read_row(v, 0, v->o->queue);
	if (r >= 0)
		v->count = 1;
	return r;
}

/* Returns how many there were per second, rounded. */
static uint64_t count_rate(const struct watch *v, const struct row *row,
			   uint64_t now, uint64_t before)
{
	uint64_t ms = (uint64_t)(v->at_ms - v->before_ms);

	if (!row->has_before || ms == 0 || now < before)
		return 0;
	return ((now - before) * 1000 + ms / 2) / ms;
}

/* --- a screen ------------------------------------------------------------ */

/* Writes a number in at most 7 columns. */
static const char *word(char buf[TOOL_WORD], uint64_t n)
{
	static const struct {
		uint64_t from;
		uint64_t unit;
		char letter;
	} scales[] = {
		{ UINT64_C(10000000000000), UINT64_C(1000000000000), 'T' },
		{ UINT64_C(10000000000), 1000000000, 'G' },
		{ 10000000, 1000000, 'M' },
		{ 1000000, 1000, 'k' },
	};

	for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
		if (n >= scales[i].from) {
			(void)snprintf(buf, TOOL_WORD, "%" PRIu64 "%c",
				       n / scales[i].unit, scales[i].letter);
			return buf;
		}
	}
	(void)snprintf(buf, TOOL_WORD, "%" PRIu64, n);
	return buf;
}

static void draw_number(struct screen *s, enum screen_style style, uint64_t n)
{
	char buf[TOOL_WORD];

	screen_putf(s, n ? style : SCREEN_DIM, " %7s", word(buf, n));
}

static void draw_row(struct watch *v, const struct row *row)
{
	struct screen *s = &v->screen;
	const struct tkw_queue_stats *a = &row->before, *b = &row->now;
	char name[TKW_QUEUE_MAX_NAME + 1];
	size_t cols = 0, len = 0;

	/* 14 characters of the name. */
	while (row->name[len] && (cols < 14 || (row->name[len] & 0xC0) == 0x80))
		cols += (row->name[len++] & 0xC0) != 0x80;
	memcpy(name, row->name, len);
	name[len] = '\0';
	screen_putf(s, b->paused ? SCREEN_YELLOW : SCREEN_BOLD, " %s%*s", name,
		    (int)(14 - (cols < 14 ? cols : 14)), "");
	draw_number(s, SCREEN_PLAIN, b->waiting);
	draw_number(s, SCREEN_GREEN, b->ready);
	draw_number(s, SCREEN_CYAN, b->taken);
	draw_number(s, SCREEN_RED, b->dead);
	draw_number(s, SCREEN_PLAIN,
		    count_rate(v, row, b->all_puts, a->all_puts));
	draw_number(s, SCREEN_PLAIN,
		    count_rate(v, row, b->all_takes, a->all_takes));
	draw_number(s, SCREEN_PLAIN,
		    count_rate(v, row, b->all_acks, a->all_acks));
	draw_number(s, SCREEN_YELLOW, (uint64_t)queue_lateness_ms(b, 990));
	screen_end_line(s);
}

static void draw_title(struct watch *v)
{
	struct screen *s = &v->screen;
	time_t now = time(NULL);
	struct tm tm;
	char clock[16] = "";

	if (localtime_r(&now, &tm))
		(void)strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	screen_putf(s, SCREEN_BOLD, " tkw queue");
	screen_putf(s, SCREEN_PLAIN, "  %s", clock);
	screen_putf(s, SCREEN_DIM, "  %.100s", v->o->file);
	screen_end_line(s);
	screen_end_line(s);
	screen_putf(s, SCREEN_DIM, " %-14s %7s %7s %7s %7s %7s %7s %7s %7s",
		    "queue", "waiting", "ready", "taken", "dead", "puts/s",
		    "takes/s", "acks/s", "late ms");
	screen_end_line(s);
}

static int draw(struct watch *v)
{
	struct screen *s = &v->screen;
	size_t room, shown;

	screen_measure(s);
	room = s->rows > FRAME ? (size_t)(s->rows - FRAME) : 1;
	shown = v->count < room ? v->count : room;
	draw_title(v);
	for (size_t i = 0; i < shown; i++)
		draw_row(v, &v->row[i]);
	if (v->count + v->hidden > shown) {
		screen_putf(s, SCREEN_DIM, " and %" PRIu64 " more queues",
			    v->count + v->hidden - shown);
		screen_end_line(s);
	}
	return screen_show(s);
}

/* --- a line -------------------------------------------------------------- */

/* The sums of all queues. */
struct sums {
	uint64_t waiting, ready, taken, dead;
	uint64_t puts, takes, acks, nacks, losses;
};

static void add_up(const struct watch *v, struct sums *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (size_t i = 0; i < v->count; i++) {
		const struct tkw_queue_stats *st = &v->row[i].now;

		sum->waiting += st->waiting;
		sum->ready += st->ready;
		sum->taken += st->taken;
		sum->dead += st->dead;
		sum->puts += st->all_puts;
		sum->takes += st->all_takes;
		sum->acks += st->all_acks;
		sum->nacks += st->all_nacks;
		sum->losses += st->all_losses;
	}
}

static int print_line(const struct watch *v)
{
	static const char json[] =
		"{\"at_ms\":%" PRId64 ",\"queues\":%zu,\"waiting\":%" PRIu64
		",\"ready\":%" PRIu64 ",\"taken\":%" PRIu64 ",\"dead\":%" PRIu64
		",\"puts\":%" PRIu64 ",\"takes\":%" PRIu64 ",\"acks\":%" PRIu64
		",\"nacks\":%" PRIu64 ",\"losses\":%" PRIu64 "}\n";
	static const char text[] =
		"at_ms %" PRId64 " queues %zu waiting %" PRIu64
		" ready %" PRIu64 " taken %" PRIu64 " dead %" PRIu64
		" puts %" PRIu64 " takes %" PRIu64 " acks %" PRIu64
		" nacks %" PRIu64 " losses %" PRIu64 "\n";
	struct sums sum;

	add_up(v, &sum);
	(void)printf(v->o->json ? json : text, queue_wall_ms(), v->count,
		     sum.waiting, sum.ready, sum.taken, sum.dead, sum.puts,
		     sum.takes, sum.acks, sum.nacks, sum.losses);
	return tool_flush();
}

/* --- the loop ------------------------------------------------------------ */

/* Waits for the next second. Returns false if a signal has come. */
static bool wait_next(int64_t next_ms)
{
	int64_t left = next_ms - queue_steady_ms();

	if (left > 0 && tool_signals_wait(-1, left) == -EINTR) {
		interrupt_note(tool_signals_next());
		return false;
	}
	return true;
}

static int run(struct watch *v)
{
	int64_t next_ms = queue_steady_ms();
	uint64_t left = v->o->count ? v->o->count : UINT64_MAX;
	bool live = v->screen.live && !v->o->json;

	for (; left > 0; left--) {
		int r = read_figures(v);

		if (r < 0)
			return queue_session_fail(v->s, "watch", r);
		if (live ? draw(v) : print_line(v))
			return TOOL_EXIT_FAILURE;
		next_ms += PERIOD_MS;
		if (left == 1 || !wait_next(next_ms))
			break;
	}
	return TOOL_EXIT_OK;
}

int queue_watch(struct queue_session *s, const struct queue_options *o,
		struct queue_words *w)
{
	struct watch *v = calloc(1, sizeof(*v));
	int status;

	(void)w;
	if (!v)
		return queue_session_fail(s, "watch", -ENOMEM);
	v->s = s;
	v->o = o;
	s->insist = true;
	if (!o->json)
		screen_open(&v->screen);
	status = run(v);
	if (!o->json)
		screen_close(&v->screen);
	free(v);
	return status;
}
