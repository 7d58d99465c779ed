/* SPDX-License-Identifier: MIT */
/* queue_print_plan.c - plans of a queue, as text and as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "queue_tool.h"

static const char *misfire_word(enum tkw_misfire misfire)
{
	switch (misfire) {
	case TKW_MISFIRE_ALL:
		return "all";
	case TKW_MISFIRE_SKIP:
		return "skip";
	default:
		return "once";
	}
}

static const char *overlap_word(const struct tkw_queue_plan_spec *p)
{
	return p->overlap == TKW_OVERLAP_ALLOW ? "allow" : "skip";
}

static const char *next_word(const struct tkw_queue_plan_spec *p)
{
	return p->next_on_ack ? "ack" : "take";
}

static const char *zone_word(const struct tkw_queue_plan_spec *p)
{
	return *p->zone ? p->zone : "UTC";
}

static const char *error_word(int error)
{
	switch (error) {
	case 0:
		return "";
	case -ENOENT:
		return "the plan has no more times";
	case -EEXIST:
		return "other items have the keys of the next times";
	case -EOVERFLOW:
		return "the queue has no number left for an item";
	case -EINVAL:
		/* A newer version of tickwheel has made the plan. */
		return "this version of tickwheel does not understand the plan";
	default:
		return "the time zone cannot be read";
	}
}

static void print_words(const char *text)
{
	queue_print_text(text, strlen(text));
}

void queue_print_listed_plan(const struct tkw_queue_plan_facts *f)
{
	char buf[QUEUE_TIME];

	print_words(f->plan.name);
	if (f->paused)
		(void)fputs(" paused", stdout);
	else if (f->next_ms)
		(void)printf(" %s", queue_word_time(buf, f->next_ms));
	else
		(void)fputs(f->error ? " stopped" : " running", stdout);
	(void)fputs(" '", stdout);
	print_words(f->plan.text);
	(void)fputs("' ", stdout);
	print_words(zone_word(&f->plan));
	(void)putchar(' ');
	queue_print_text(f->plan.payload, f->plan.payload_len);
	if (f->error)
		(void)printf("  # %s", error_word(f->error));
	(void)putchar('\n');
}

/* --- everything, as text ------------------------------------------------- */

static void print_line(const char *name, const char *text)
{
	(void)printf("%-13s ", name);
	print_words(text);
	(void)putchar('\n');
}

static void print_time(const char *name, int64_t ms)
{
	char buf[QUEUE_TIME];

	(void)printf("%-13s %s\n", name, ms ? queue_word_time(buf, ms) : "-");
}

static void print_number(const char *name, uint64_t n, const char *unit)
{
	(void)printf("%-13s %" PRIu64 "%s\n", name, n, unit);
}

static void print_rules(const struct tkw_queue_plan_spec *p)
{
	print_line("plan", p->text);
	print_line("zone", zone_word(p));
	print_line("misfire", misfire_word(p->misfire));
	if (p->misfire == TKW_MISFIRE_ALL)
		print_number("max missed", p->max_missed, "");
	print_number("grace", (uint64_t)p->grace_ms, " ms");
	print_line("overlap", overlap_word(p));
	print_line("next on", next_word(p));
	print_number("max attempts", p->max_attempts, "");
	print_number("back-off", p->backoff_ms, " ms");
	print_number("max back-off", p->max_backoff_ms, " ms");
}

void queue_print_plan(const struct tkw_queue_plan_facts *f,
		      const int64_t *times_ms, size_t count)
{
	print_line("name", f->plan.name);
	print_rules(&f->plan);
	print_line("paused", f->paused ? "yes" : "no");
	if (f->error)
		print_line("error", error_word(f->error));
	print_time("decided", f->decided_ms);
	print_number("running", f->running, "");
	print_number("runs", f->runs, "");
	print_number("missed", f->missed, "");
	print_number("overlaps", f->overlaps, "");
	(void)printf("%-13s ", "payload");
	queue_print_text(f->plan.payload, f->plan.payload_len);
	(void)putchar('\n');
	for (size_t i = 0; times_ms && i < count; i++)
		print_time(i ? "" : "next", times_ms[i]);
}

/* --- everything, as JSON ------------------------------------------------- */

static void print_json_settings(const struct tkw_queue_plan_spec *p)
{
	queue_print_json_bytes("name", p->name, strlen(p->name));
	(void)putchar(',');
	queue_print_json_bytes("plan", p->text, strlen(p->text));
	(void)putchar(',');
	queue_print_json_bytes("zone", zone_word(p), strlen(zone_word(p)));
	(void)printf(",\"misfire\":\"%s\",\"max_missed\":%" PRIu32
		     ",\"grace_ms\":%" PRId64 ",\"overlap\":\"%s\""
		     ",\"next_on\":\"%s\"",
		     misfire_word(p->misfire), p->max_missed, p->grace_ms,
		     overlap_word(p), next_word(p));
	(void)printf(",\"max_attempts\":%" PRIu32 ",\"backoff_ms\":%" PRIu32
		     ",\"max_backoff_ms\":%" PRIu32,
		     p->max_attempts, p->backoff_ms, p->max_backoff_ms);
}

void queue_print_json_plan(const struct tkw_queue_plan_facts *f,
			   const int64_t *times_ms, size_t count)
{
	(void)putchar('{');
	print_json_settings(&f->plan);
	(void)printf(",\"paused\":%s,\"error\":\"%s\"",
		     f->paused ? "true" : "false", error_word(f->error));
	(void)printf(",\"next_id\":%" PRIu64 ",\"next_ms\":%" PRId64
		     ",\"decided_ms\":%" PRId64,
		     f->next_id.bits, f->next_ms, f->decided_ms);
	(void)printf(",\"running\":%" PRIu64 ",\"runs\":%" PRIu64
		     ",\"missed\":%" PRIu64 ",\"overlaps\":%" PRIu64 ",",
		     f->running, f->runs, f->missed, f->overlaps);
	queue_print_json_bytes("payload", f->plan.payload, f->plan.payload_len);
	if (times_ms)
		(void)fputs(",\"times_ms\":[", stdout);
	for (size_t i = 0; times_ms && i < count; i++)
		(void)printf("%s%" PRId64, i ? "," : "", times_ms[i]);
	(void)fputs(times_ms ? "]}\n" : "}\n", stdout);
}
