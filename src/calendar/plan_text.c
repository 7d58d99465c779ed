/* SPDX-License-Identifier: MIT */
/* plan_text.c - makes plans from texts. */
#include "tickwheel/calendar.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calendar/plan_share.h"
#include "calendar/plan_state.h"
#include "calendar/zone_state.h"

/* --- the text ------------------------------------------------------------ */

bool tkw__scan_fail(struct tkw__scan *s, size_t position, const char *format,
		    ...)
{
	va_list args;

	s->error.position = position;
	va_start(args, format);
	/* The analyzer does not see va_start(). */
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
	(void)vsnprintf(s->error.text, sizeof(s->error.text), format, args);
	va_end(args);
	return false;
}

char tkw__scan_peek(const struct tkw__scan *s)
{
	return s->at < s->end ? s->text[s->at] : '\0';
}

bool tkw__scan_skip(struct tkw__scan *s, char c)
{
	if (s->at == s->end || s->text[s->at] != c)
		return false;
	s->at++;
	return true;
}

void tkw__scan_blanks(struct tkw__scan *s)
{
	while (tkw__scan_peek(s) == ' ' || tkw__scan_peek(s) == '\t')
		s->at++;
}

static char to_lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

bool tkw__scan_word(struct tkw__scan *s, const char *word)
{
	size_t i = 0;

	while (word[i] != 0 && s->at + i < s->end &&
	       to_lower(s->text[s->at + i]) == word[i])
		i++;
	if (word[i] != 0)
		return false;
	if (s->at + i < s->end) {
		char next = to_lower(s->text[s->at + i]);

		if (next >= 'a' && next <= 'z')
			return false;
	}
	s->at += i;
	return true;
}

bool tkw__scan_number(struct tkw__scan *s, int64_t most, int64_t *out)
{
	size_t from = s->at;
	int64_t value = 0;

	while (tkw__scan_peek(s) >= '0' && tkw__scan_peek(s) <= '9') {
		int digit = s->text[s->at++] - '0';

		if (value > (most - digit) / 10)
			value = most + 1;
		else
			value = value * 10 + digit;
	}
	*out = value;
	return s->at > from;
}

/* --- macros -------------------------------------------------------------- */

static bool read_macro(struct tkw__scan *s, struct tkw__cron *c)
{
	static const struct {
		const char *name;
		const char *text;
	} macros[] = {
		{ "@yearly", "0 0 1 1 *" },  { "@annually", "0 0 1 1 *" },
		{ "@monthly", "0 0 1 * *" }, { "@weekly", "0 0 * * 0" },
		{ "@daily", "0 0 * * *" },   { "@midnight", "0 0 * * *" },
		{ "@hourly", "0 * * * *" },
	};
	size_t from = s->at;
	size_t i;

	for (i = 0; i < sizeof(macros) / sizeof(macros[0]); i++) {
		struct tkw__scan all = {
			macros[i].text, 0, strlen(macros[i].text), { 0 }
		};

		if (!tkw__scan_word(s, macros[i].name))
			continue;
		tkw__scan_blanks(s);
		if (s->at < s->end)
			return tkw__scan_fail(s, s->at,
					      "Expected the end of the plan.");
		return tkw__cron_read(&all, c);
	}
	if (tkw__scan_word(s, "@reboot"))
		return tkw__scan_fail(s, from,
				      "Expected a time, and @reboot has none.");
	return tkw__scan_fail(s, from,
			      "Expected @yearly, @monthly, @weekly, @daily or "
			      "@hourly.");
}

/* --- create and destroy -------------------------------------------------- */

static bool read_text(struct tkw__scan *s, struct tkw_plan *p)
{
	if (s->end > TKW_PLAN_MAX_TEXT)
		return tkw__scan_fail(s, TKW_PLAN_MAX_TEXT,
				      "Expected at most %d bytes.",
				      TKW_PLAN_MAX_TEXT);
	tkw__scan_blanks(s);
	if (tkw__scan_word(s, "every"))
		return tkw__every_read(s, &p->every);
	p->is_cron = true;
	if (tkw__scan_peek(s) == '@')
		return read_macro(s, &p->cron);
	return tkw__cron_read(s, &p->cron);
}

int tkw_plan_create(struct tkw_plan **out, const char *text,
		    struct tkw_zone *zone, struct tkw_plan_error *error)
{
	struct tkw__scan s = { 0 };
	struct tkw_plan *p;

	if (out == NULL || text == NULL)
		return -EINVAL;
	s.text = text;
	while (s.end <= TKW_PLAN_MAX_TEXT && text[s.end] != 0)
		s.end++;
	p = calloc(1, sizeof(*p) + s.end + 1);
	if (p == NULL)
		return -ENOMEM;
	if (!read_text(&s, p)) {
		if (error)
			*error = s.error;
		free(p);
		return -EINVAL;
	}
	TKW__STORE(&p->refs, 1, RELAXED);
	memcpy(p->text, text, s.end);
	if (p->is_cron) {
		tkw__cron_prepare(&p->cron);
		p->zone = tkw__zone_ref(zone);
	}
	*out = p;
	return 0;
}

int tkw_plan_destroy(struct tkw_plan *p)
{
	/* ACQ_REL pairs with itself, so that the thread that frees comes after
	 * all others. */
	if (p && TKW__SUB(&p->refs, 1, ACQ_REL) == 1) {
		(void)tkw_zone_close(p->zone);
		free(p);
	}
	return 0;
}

struct tkw_plan *tkw__plan_ref(const struct tkw_plan *p)
{
	/* For users a plan never changes, so they pass it as const. */
	struct tkw_plan *shared = (struct tkw_plan *)(uintptr_t)p;

	TKW__ADD(&shared->refs, 1, RELAXED);
	return shared;
}

const struct tkw_zone *tkw__plan_zone(const struct tkw_plan *p)
{
	return p->zone;
}

bool tkw__plan_is_same(const struct tkw_plan *a, const struct tkw_plan *b)
{
	const char *zone_a = a->zone ? tkw_zone_name(a->zone) : "";
	const char *zone_b = b->zone ? tkw_zone_name(b->zone) : "";

	return strcmp(a->text, b->text) == 0 && strcmp(zone_a, zone_b) == 0;
}

const char *tkw_plan_text(const struct tkw_plan *p)
{
	return p ? p->text : NULL;
}
