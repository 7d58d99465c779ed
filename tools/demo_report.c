/* SPDX-License-Identifier: MIT */
/* demo_report.c - the report of the demo in real time, as text and as JSON. */
#include <inttypes.h>
#include <stdio.h>

#include "demo.h"
#include "screen.h"
#include "tool.h"

static void json_number(const char *key, uint64_t value)
{
	(void)printf(",\"%s\":%" PRIu64, key, value);
}

static void json_run(const struct demo *d)
{
	const struct demo_moment *from = &d->first;
	const struct demo_moment *to = &d->last;
	int64_t worker_ns = to->worker_ns - from->worker_ns;

	json_number("threads", d->cfg.threads);
	json_number("seconds", d->cfg.seconds);
	json_number("far", demo_load_far(d));
	json_number("beats", d->beats);
	json_number("held", to->pending);
	json_number("run_ns", (uint64_t)(to->at_ns - from->at_ns));
	json_number("worker_ns", (uint64_t)worker_ns);
	json_number("late_p50_ns", demo_late_at(from, to, 500));
	json_number("late_p99_ns", demo_late_at(from, to, 990));
	json_number("late_max_ns", demo_late_at(from, to, 1000));
}

static void json_stats(const struct demo *d)
{
	struct tkw_histogram h;

	demo_late_by_timer(&d->first, &d->last, &h);
	json_number("timer_late_p50_ns",
		    (uint64_t)tkw_histogram_quantile_ns(&h, 0.5));
	json_number("timer_late_p99_ns",
		    (uint64_t)tkw_histogram_quantile_ns(&h, 0.99));
	json_number("timer_late_max_ns", (uint64_t)h.max_ns);
	json_number("turns", d->stats.turns);
	json_number("wake_ups", d->stats.wake_ups);
}

static void json_counts(const struct demo *d)
{
	const uint64_t *n = d->n;

	json_number("own_accepted", n[DEMO_ACCEPTED]);
	json_number("own_fired", demo_audit_fired(n));
	json_number("own_cancelled", n[DEMO_CANCELLED]);
	json_number("own_handed_over", n[DEMO_HANDED_OVER]);
	json_number("fired_calls", n[DEMO_FIRED_CALL]);
	json_number("fired_idle", n[DEMO_FIRED_IDLE]);
	json_number("fired_beats", n[DEMO_FIRED_BEAT]);
	json_number("fired_far", n[DEMO_FIRED_FAR]);
	json_number("pushed_back", n[DEMO_PUSHED_BACK]);
	json_number("too_late", n[DEMO_TOO_LATE]);
	json_number("closed", n[DEMO_CLOSED]);
	json_number("wrong_calls", n[DEMO_WRONG]);
	json_number("refused", n[DEMO_REFUSED]);
	json_number("failed", n[DEMO_FAILED]);
	json_number("early", n[DEMO_EARLY]);
	json_number("twice", n[DEMO_TWICE]);
	json_number("lost", d->lost);
	json_number("readings", d->readings);
	json_number("uneven", d->uneven);
}

void demo_report_json(const struct demo *d)
{
	const struct tkw_ledger *g = &d->ledger;

	(void)printf("{\"command\":\"demo\",\"version\":\"%s\"", tkw_version());
	json_run(d);
	json_number("accepted", g->accepted);
	json_number("fired", g->fired);
	json_number("cancelled", g->cancelled);
	json_number("dropped", g->dropped);
	json_number("handed_over", g->handed_over);
	json_number("pending", g->pending);
	json_counts(d);
	json_stats(d);
	(void)printf(",\"interrupted\":%s", d->interrupted ? "true" : "false");
	(void)printf(",\"sound\":%s", d->unsound ? "false" : "true");
	(void)printf(",\"balanced\":%s}\n",
		     demo_audit_balanced(d) ? "true" : "false");
}

/* Returns how many samples are below a time. A bucket is counted as a whole. */
static uint64_t late_below(const struct tkw_histogram *h, int64_t ns)
{
	uint32_t end = tkw_histogram_bucket(ns);
	uint64_t n = 0;

	if (ns == TKW_NEVER_NS)
		return h->count;
	for (uint32_t i = 0; i < end; i++)
		n += h->bucket[i];
	return n;
}

enum {
	ROWS = 6, /* of the ledger, and of the histogram beside it */
	BAR = 13  /* columns */
};

/* A row of the timer's own histogram: "  < 1 ms ########       63.21 %". */
static void put_late(struct screen *s, const struct tkw_histogram *h,
		     size_t row)
{
	static const struct {
		const char *name;
		int64_t ns;
	} rows[ROWS] = {
		{ "< 10 us", 10 * TKW_USEC },   { "< 100 us", 100 * TKW_USEC },
		{ "< 1 ms", TKW_MSEC },         { "< 10 ms", 10 * TKW_MSEC },
		{ "< 100 ms", 100 * TKW_MSEC }, { "more", TKW_NEVER_NS }
	};
	uint64_t n = late_below(h, rows[row].ns);
	double share = 0;
	unsigned length;

	if (row > 0)
		n -= late_below(h, rows[row - 1].ns);
	if (h->count > 0)
		share = (double)n / (double)h->count;
	length = (unsigned)(share * BAR + 0.5);
	screen_putf(s, SCREEN_PLAIN, "   %8s ", rows[row].name);
	for (unsigned i = 0; i < BAR; i++)
		screen_put(s, SCREEN_GREEN,
			   i < length ? s->glyphs->bar_done : " ");
	screen_putf(s, SCREEN_PLAIN, "%7.2f %%", 100 * share);
}

/* The ledger, and beside it how late the tasks were. */
static void put_ledger(struct screen *s, const struct demo *d)
{
	const struct tkw_ledger *g = &d->ledger;
	const uint64_t *n = d->n;
	const struct {
		const char *name;
		uint64_t timer;
		uint64_t own;
	} rows[ROWS] = { { "  accepted", g->accepted, n[DEMO_ACCEPTED] },
			 { "= fired", g->fired, demo_audit_fired(n) },
			 { "+ cancelled", g->cancelled, n[DEMO_CANCELLED] },
			 { "+ dropped", g->dropped, 0 },
			 { "+ handed over", g->handed_over,
			   n[DEMO_HANDED_OVER] },
			 { "+ pending", g->pending, d->lost } };
	struct tkw_histogram h;

	demo_late_by_timer(&d->first, &d->last, &h);
	screen_put(s, SCREEN_BOLD, " ledger         ");
	screen_putf(s, SCREEN_DIM, " %13s %13s", "by the timer", "by the demo");
	screen_put(s, SCREEN_BOLD, "   late");
	screen_put(s, SCREEN_DIM, ", by the timer's histogram");
	screen_end_line(s);
	for (size_t i = 0; i < ROWS; i++) {
		bool same = rows[i].timer == rows[i].own;
		char a[TOOL_WORD];
		char b[TOOL_WORD];

		screen_putf(s, same ? SCREEN_PLAIN : SCREEN_RED,
			    "  %-14s %13s %13s", rows[i].name,
			    tool_word_count(a, rows[i].timer),
			    tool_word_count(b, rows[i].own));
		put_late(s, &h, i);
		screen_end_line(s);
	}
	screen_end_line(s);
}

static void put_kinds(struct screen *s, const struct demo *d)
{
	const struct {
		const char *name;
		enum demo_count what;
	} kinds[] = { { " calls, ", DEMO_FIRED_CALL },
		      { " idle connections, ", DEMO_FIRED_IDLE },
		      { " heartbeats", DEMO_FIRED_BEAT } };
	char a[TOOL_WORD];

	screen_put(s, SCREEN_BOLD, " fired    ");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		screen_putf(s, SCREEN_PLAIN, "%s%s",
			    tool_word_count(a, d->n[kinds[i].what]),
			    kinds[i].name);
	screen_end_line(s);
}

static void put_faults(struct screen *s, const struct demo *d)
{
	const uint64_t *n = d->n;
	const struct {
		const char *name;
		uint64_t n;
	} faults[] = { { "early", n[DEMO_EARLY] },
		       { "twice", n[DEMO_TWICE] },
		       { "lost", d->lost },
		       { "failed", n[DEMO_FAILED] } };
	char a[TOOL_WORD];
	char b[TOOL_WORD];

	screen_put(s, SCREEN_BOLD, " faults   ");
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		screen_putf(s, faults[i].n ? SCREEN_RED : SCREEN_PLAIN,
			    "%s%s %s", i > 0 ? ", " : "", faults[i].name,
			    tool_word_count(a, faults[i].n));
	screen_end_line(s);
	screen_putf(
		s, n[DEMO_REFUSED] == n[DEMO_WRONG] ? SCREEN_PLAIN : SCREEN_RED,
		"          %s of %s calls that are wrong on purpose were "
		"refused",
		tool_word_count(a, n[DEMO_REFUSED]),
		tool_word_count(b, n[DEMO_WRONG]));
	screen_end_line(s);
	screen_putf(
		s, d->uneven ? SCREEN_RED : SCREEN_PLAIN,
		"          the ledger was read %s times before the stop, and "
		"%s",
		tool_word_count(a, d->readings),
		d->uneven ? "did NOT always balance" : "balanced");
	screen_end_line(s);
	if (d->unsound) {
		screen_putf(s, SCREEN_RED, "          unsound: %s", d->unsound);
		screen_end_line(s);
	}
}

int demo_report(const struct demo *d, struct screen *s)
{
	bool balanced = demo_audit_balanced(d);
	char refused[TOOL_WORD];

	/* The report replaces the last picture. */
	if (s->live) {
		demo_view_title(d, s);
		if (screen_print(s))
			return -1;
	}
	screen_end_line(s);
	screen_put(s, SCREEN_BOLD, " in all    ");
	screen_putf(s, SCREEN_PLAIN,
		    " %.1f s%s, then stopped under full load: %s calls refused",
		    (double)(d->last.at_ns - d->first.at_ns) / 1e9,
		    d->interrupted ? " (interrupted)" : "",
		    tool_word_count(refused, d->n[DEMO_CLOSED]));
	screen_end_line(s);
	demo_view_table(&d->first, &d->last, s);
	screen_end_line(s);
	put_ledger(s, d);
	put_kinds(s, d);
	put_faults(s, d);
	screen_put(s, balanced ? SCREEN_GREEN : SCREEN_RED,
		   balanced ? " balanced" : " NOT BALANCED");
	screen_end_line(s);
	return screen_print(s);
}
