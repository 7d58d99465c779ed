/* SPDX-License-Identifier: MIT */
/* progress.c - shows the progress; see progress.h. */
#include "progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

void bench_progress_show(const struct bench_progress *p, const char *entrant)
{
	bool tty = isatty(STDERR_FILENO);

	if (tty || entrant == NULL)
		(void)fprintf(stderr, "%s[%zu/%zu] %s: run %u of %u%s%s%s",
			      tty ? "\r\033[K" : "", p->number, p->of, p->name,
			      (unsigned)p->run + 1, (unsigned)p->runs,
			      entrant ? ": " : "", entrant ? entrant : "",
			      tty ? "" : "\n");
}

void bench_progress_end(void)
{
	if (isatty(STDERR_FILENO))
		(void)fprintf(stderr, "\r\033[K");
}
