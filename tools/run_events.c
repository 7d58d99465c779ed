/* SPDX-License-Identifier: MIT */
/*
 * run_events.c - tells what `tkw after`, `tkw every` and `tkw cron` do.
 *
 * Everything goes to standard error, because standard output belongs to the
 * command. A line is one write(), so that it stays whole when the command
 * writes there too.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run.h"
#include "tool.h"
#include "tool_child.h"

__attribute__((format(printf, 1, 2))) static void put_line(const char *fmt, ...)
{
	char line[400];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/* If nobody reads them any more, the commands run all the same. */
	if (len > 0 && write(STDERR_FILENO, line, (size_t)len) < 0)
		return;
}

void run_print_time(const struct run_options *o, int64_t at_ms,
		    char buf[RUN_TIME])
{
	time_t s = (time_t)(at_ms / 1000);
	struct tm tm;
	size_t len;

	if (o->calendar) {
		o->calendar->print(o->calendar->ctx, at_ms, buf);
		return;
	}
	(void)gmtime_r(&s, &tm);
	len = strftime(buf, RUN_TIME, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(buf + len, RUN_TIME - len, ".%03dZ",
		       (int)(at_ms % 1000));
}

void run_tell_planned(const struct run_options *o, int64_t at_ms)
{
	char time[RUN_TIME];

	if (!o->json)
		return;
	run_print_time(o, at_ms, time);
	put_line("{\"event\":\"planned\",\"planned\":\"%s\","
		 "\"planned_ms\":%" PRId64 "}\n",
		 time, at_ms);
}

void run_tell_started(const struct run_options *o, const struct run_child *c,
		      int64_t late_ms)
{
	char time[RUN_TIME];

	if (!o->json)
		return;
	run_print_time(o, c->planned_ms, time);
	put_line("{\"event\":\"started\",\"run\":%" PRIu64
		 ",\"planned\":\"%s\",\"planned_ms\":%" PRId64
		 ",\"late_ms\":%" PRId64 ",\"pid\":%d}\n",
		 c->number, time, c->planned_ms, late_ms, (int)c->pid);
}

void run_tell_ended(const struct run_options *o, const struct run_child *c,
		    int wait_status, int64_t duration_ms)
{
	bool killed = WIFSIGNALED(wait_status);
	char word[40];

	if (o->json) {
		put_line("{\"event\":\"ended\",\"run\":%" PRIu64
			 ",\"pid\":%d,\"%s\":%d,\"duration_ms\":%" PRId64 "}\n",
			 c->number, (int)c->pid, killed ? "signal" : "status",
			 killed ? WTERMSIG(wait_status)
				: WEXITSTATUS(wait_status),
			 duration_ms);
	} else if (wait_status && !o->quiet && strcmp(o->name, "after") != 0) {
		tool_child_word(word, sizeof(word), wait_status);
		tool_complain("%s: run %" PRIu64 ": %s", o->name, c->number,
			      word);
	}
}

void run_tell_skipped(const struct run_options *o, int64_t at_ms,
		      uint64_t count, const char *why)
{
	char time[RUN_TIME];

	run_print_time(o, at_ms, time);
	if (o->json)
		put_line("{\"event\":\"skipped\",\"planned\":\"%s\","
			 "\"planned_ms\":%" PRId64 ",\"count\":%" PRIu64
			 ",\"why\":\"%s\"}\n",
			 time, at_ms, count, why);
	else if (!o->quiet && count > 1)
		tool_complain("%s: skipped %" PRIu64
			      " times from %s on: they were missed",
			      o->name, count, time);
	else if (!o->quiet)
		tool_complain("%s: skipped %s: %s", o->name, time,
			      strcmp(why, "overlap")
				      ? "it was missed"
				      : "the last run has not ended");
}
