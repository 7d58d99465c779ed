/* SPDX-License-Identifier: MIT */
/* cases.c - see cases.h. */
#include "cases.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LONGEST = 4096
};

struct run {
	const struct cases_home *home;
	struct cases_tally tally;
	struct reply_text answer;
	const char *path;
	int line;
	char command[LONGEST]; /* which awaits its answer, or "" */
	bool inside;           /* of a case */
};

static void wrong(struct run *r, const char *what, const char *wanted)
{
	r->tally.wrong++;
	fprintf(stderr, "%s:%d: %s: %s\n", r->path, r->line, r->command, what);
	if (wanted)
		fprintf(stderr, "  wanted: %s\n  got:    %s\n", wanted,
			r->answer.at ? r->answer.at : "");
}

static void end_case(struct run *r)
{
	if (r->command[0])
		wrong(r, "has no answer", NULL);
	if (r->inside)
		r->home->end(r->home->ctx);
	r->inside = false;
	r->command[0] = 0;
}

static void begin_case(struct run *r)
{
	char queue[32];

	end_case(r);
	r->tally.cases++;
	snprintf(queue, sizeof(queue), "case:%u", r->tally.cases);
	r->home->begin(r->home->ctx, queue);
	r->inside = true;
}

static void run_command(struct run *r, const char *wanted)
{
	struct words w = { .count = 0 };

	r->tally.commands++;
	reply_text_clear(&r->answer);
	if (!words_read(&w, r->command) || w.count == 0)
		wrong(r, "is no command", NULL);
	else
		r->home->answer(r->home->ctx, &w, &r->answer);
	if (!r->answer.at || strcmp(r->answer.at, wanted) != 0)
		wrong(r, "the answer is wrong", wanted);
	words_free(&w);
	r->command[0] = 0;
}

static void read_line(struct run *r, char *line)
{
	line[strcspn(line, "\n")] = 0;
	if (line[0] == '#' || line[0] == 0)
		return;
	if (strncmp(line, "case ", 5) == 0) {
		begin_case(r);
	} else if (strncmp(line, "> ", 2) == 0) {
		if (r->command[0] || !r->inside)
			wrong(r, "has no answer, or is in no case", NULL);
		snprintf(r->command, sizeof(r->command), "%s", line + 2);
	} else if (r->command[0]) {
		run_command(r, line);
	} else {
		wrong(r, "an answer without a command", NULL);
	}
}

struct cases_tally cases_run(const char *path, const struct cases_home *home)
{
	struct run r = { .home = home, .path = path };
	char line[LONGEST];
	FILE *f = fopen(path, "r");

	if (!f) {
		perror(path);
		r.tally.wrong++;
		return r.tally;
	}
	while (fgets(line, sizeof(line), f)) {
		r.line++;
		read_line(&r, line);
	}
	end_case(&r);
	fclose(f);
	reply_text_free(&r.answer);
	return r.tally;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a;
	const uint64_t *y = b;

	return (*x > *y) - (*x < *y);
}

void cases_must(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "cases: %s\n", what);
	exit(1);
}

int64_t cases_value(const struct words *w, size_t *i)
{
	int64_t n = 0;

	cases_must(words_number(w, ++*i, &n), "a number is missing");
	return n;
}

void cases_add_ids(struct reply_text *answer, uint64_t *ids, size_t count)
{
	if (count > 0)
		qsort(ids, count, sizeof(*ids), compare);
	reply_text_add(answer, "[");
	for (size_t i = 0; i < count; i++)
		reply_text_add(answer, "%s%" PRIu64, i ? ", " : "", ids[i]);
	reply_text_add(answer, "]");
}
