/* SPDX-License-Identifier: MIT */
/* virtual_report.c - the report of the virtual demo, as text and as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "screen.h"
#include "virtual_demo.h"

const char *virtual_word_width(char buf[TOOL_WORD], uint64_t ms)
{
	static const struct {
		uint64_t ms;
		const char *unit;
	} units[] = {
		{ UINT64_C(365) * 24 * 60 * 60 * 1000, "years" },
		{ UINT64_C(24) * 60 * 60 * 1000, "days" },
		{ UINT64_C(60) * 60 * 1000, "h" },
		{ UINT64_C(1000), "s" },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (ms < units[i].ms)
			continue;
		(void)snprintf(buf, TOOL_WORD, "%.1f %s",
			       (double)ms / (double)units[i].ms, units[i].unit);
		return buf;
	}
	(void)snprintf(buf, TOOL_WORD, "%" PRIu64 " ms", ms);
	return buf;
}

const char *virtual_word_span(char buf[TOOL_WORD], uint64_t ms)
{
	uint64_t s = ms / 1000;

	if (s >= 3600)
		(void)snprintf(buf, TOOL_WORD,
			       "%" PRIu64 " h %" PRIu64 " m %" PRIu64 " s",
			       s / 3600, s / 60 % 60, s % 60);
	else if (s >= 60)
		(void)snprintf(buf, TOOL_WORD, "%" PRIu64 " m %" PRIu64 " s",
			       s / 60, s % 60);
	else
		(void)snprintf(buf, TOOL_WORD, "%.3f s", (double)ms / 1000);
	return buf;
}

static const char *engine_name(const struct virtual_demo *d)
{
	return d->shape.engine == TKW_WHEEL_HASHED ? "hashed" : "hierarchical";
}

static void json_number(const char *key, uint64_t value)
{
	(void)printf(",\"%s\":%" PRIu64, key, value);
}

void virtual_report_json(const struct virtual_demo *d)
{
	const struct virtual_ledger *l = &d->ledger;

	(void)printf("{\"command\":\"demo\",\"version\":\"%s\"", tkw_version());
	(void)printf(",\"engine\":\"%s\"", engine_name(d));
	json_number("rings", d->shape.rings);
	json_number("slots", d->shape.slots);
	json_number("seed", d->cfg.seed);
	json_number("count", d->cfg.count);
	json_number("accepted", l->accepted);
	json_number("fired", l->fired);
	json_number("cancelled", l->cancelled);
	json_number("pending", l->pending);
	json_number("extended", l->extended);
	json_number("refused", l->refused);
	json_number("wrong_calls", l->wrong);
	json_number("early", l->early);
	json_number("late", l->late);
	json_number("twice", l->twice);
	json_number("lost", l->lost);
	json_number("out_of_order", l->disorder);
	(void)printf(",\"sound\":%s", l->unsound ? "false" : "true");
	(void)printf(",\"digest\":\"%016" PRIx64 "\"", l->digest);
	json_number("virtual_ms", tkw_wheel_now_tick(d->wheel));
	json_number("schedule_ns", d->work[VIRTUAL_SCHEDULE].ns);
	json_number("extend_ns", d->work[VIRTUAL_EXTEND].ns);
	json_number("cancel_ns", d->work[VIRTUAL_CANCEL].ns);
	json_number("expire_ns", d->work[VIRTUAL_EXPIRE].ns);
	(void)printf(",\"interrupted\":%s", d->interrupted ? "true" : "false");
	(void)printf(",\"balanced\":%s}\n",
		     virtual_ledger_balanced(d) ? "true" : "false");
}

static void put_ledger(struct screen *s, const struct virtual_ledger *l)
{
	char a[TOOL_WORD];
	char b[TOOL_WORD];
	char c[TOOL_WORD];

	screen_put(s, SCREEN_BOLD, " ledger   ");
	screen_putf(s, SCREEN_PLAIN, "%s scheduled, %s pushed back",
		    tool_word_count(a, l->accepted),
		    tool_word_count(b, l->extended));
	screen_end_line(s);
	screen_putf(s, SCREEN_PLAIN,
		    "          = %s fired + %s cancelled + %s pending",
		    tool_word_count(a, l->fired),
		    tool_word_count(b, l->cancelled),
		    tool_word_count(c, l->pending));
	screen_end_line(s);
	screen_putf(s, l->refused == l->wrong ? SCREEN_PLAIN : SCREEN_RED,
		    "          %s of %s calls that are wrong on purpose were "
		    "refused",
		    tool_word_count(a, l->refused),
		    tool_word_count(b, l->wrong));
	screen_end_line(s);
}

static void put_faults(struct screen *s, const struct virtual_ledger *l)
{
	const struct {
		const char *name;
		uint64_t n;
	} faults[] = { { "early", l->early },
		       { "late", l->late },
		       { "twice", l->twice },
		       { "lost", l->lost },
		       { "out of order", l->disorder } };

	screen_put(s, SCREEN_PLAIN, "          ");
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		char n[TOOL_WORD];

		screen_putf(s, faults[i].n ? SCREEN_RED : SCREEN_PLAIN,
			    "%s%s %s", i > 0 ? ", " : "", faults[i].name,
			    tool_word_count(n, faults[i].n));
	}
	screen_end_line(s);
	if (l->unsound) {
		screen_putf(s, SCREEN_RED, "          unsound: %s", l->unsound);
		screen_end_line(s);
	}
	screen_end_line(s);
}

static void put_work(struct screen *s, const struct virtual_demo *d)
{
	static const char *const names[VIRTUAL_ACTS] = { "schedule",
							 "push back", "cancel",
							 "expire" };

	for (int i = 0; i < VIRTUAL_ACTS; i++) {
		const struct virtual_work *w = &d->work[i];
		double s_spent = (double)w->ns / 1e9;
		char n[TOOL_WORD];

		screen_put(s, SCREEN_BOLD, i ? "          " : " speed    ");
		screen_putf(s, SCREEN_PLAIN, "%-9s %11s in %7.3f s", names[i],
			    tool_word_count(n, w->calls), s_spent);
		if (w->calls > 0 && w->ns > 0)
			screen_putf(s, SCREEN_PLAIN,
				    " %7.1f million/s %7.1f ns each",
				    (double)w->calls / s_spent / 1e6,
				    (double)w->ns / (double)w->calls);
		screen_end_line(s);
	}
	if (s->live) {
		screen_put(s, SCREEN_DIM,
			   "          It is faster without the pictures: "
			   "tkw demo --virtual | cat");
		screen_end_line(s);
	}
}

int virtual_report(const struct virtual_demo *d, struct screen *s)
{
	bool balanced = virtual_ledger_balanced(d);
	uint64_t ns = 0;
	char span[TOOL_WORD];

	for (int i = 0; i < VIRTUAL_ACTS; i++)
		ns += d->work[i].ns;
	put_ledger(s, &d->ledger);
	put_faults(s, &d->ledger);
	put_work(s, d);
	screen_put(s, SCREEN_BOLD, " in all   ");
	screen_putf(s, SCREEN_PLAIN,
		    "%s of virtual time in %.2f s (seed %" PRIu64 ")",
		    virtual_word_span(span, tkw_wheel_now_tick(d->wheel)),
		    (double)ns / 1e9, d->cfg.seed);
	screen_end_line(s);
	screen_put(s, balanced ? SCREEN_GREEN : SCREEN_RED,
		   balanced ? " balanced" : " NOT BALANCED");
	screen_end_line(s);
	return screen_print(s);
}
