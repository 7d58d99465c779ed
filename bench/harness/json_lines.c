/* SPDX-License-Identifier: MIT */
/*
 * json_lines.c - reads JSON lines; see json_lines.h. It reads only the form
 * that report.c writes: one object per line, whose values are strings without
 * escapes, numbers or null.
 */
#include "json_lines.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

enum {
	LINE_MAX_BYTES = 1000,
	KEEP_MOST = 1000000
};

/* A part of the line. */
struct piece {
	const char *text;
	size_t len;
};

struct member {
	struct piece key;
	struct piece value;
	bool is_string;
};

static bool is(const struct piece *p, const char *text)
{
	return strlen(text) == p->len && memcmp(p->text, text, p->len) == 0;
}

/* Reads "TEXT". Returns what follows it, or NULL. */
static const char *read_string(const char *at, struct piece *p)
{
	if (*at != '"')
		return NULL;
	p->text = at + 1;
	p->len = strcspn(p->text, "\"\\");
	return p->text[p->len] == '"' ? p->text + p->len + 1 : NULL;
}

/* Reads a number or null. The value is checked later, when it is needed. */
static const char *read_bare(const char *at, struct piece *p)
{
	p->text = at;
	p->len = strcspn(at, ",}\"");
	return p->len > 0 ? at + p->len : NULL;
}

/* Reads "KEY":VALUE. */
static const char *read_member(const char *at, struct member *m)
{
	at = read_string(at, &m->key);
	if (at == NULL || *at != ':')
		return NULL;
	at++;
	m->is_string = *at == '"';
	return m->is_string ? read_string(at, &m->value)
			    : read_bare(at, &m->value);
}

static bool set_text(char *to, size_t size, const struct member *m)
{
	if (!m->is_string || m->value.len == 0 || m->value.len >= size)
		return false;
	memcpy(to, m->value.text, m->value.len);
	to[m->value.len] = '\0';
	return true;
}

static bool set_number(double *to, const struct member *m)
{
	char *end;

	if (m->is_string || strchr("-0123456789", m->value.text[0]) == NULL)
		return false;
	*to = strtod(m->value.text, &end);
	return end == m->value.text + m->value.len && isfinite(*to);
}

/* Ignores members with other names. */
static bool set_member(struct bench_record *r, const struct member *m)
{
	if (is(&m->key, "date"))
		return set_text(r->date, sizeof(r->date), m);
	if (is(&m->key, "bench"))
		return set_text(r->bench, sizeof(r->bench), m);
	if (is(&m->key, "impl"))
		return set_text(r->entrant, sizeof(r->entrant), m);
	if (is(&m->key, "unit"))
		return set_text(r->unit, sizeof(r->unit), m);
	if (is(&m->key, "median"))
		return set_number(&r->median, m);
	if (is(&m->key, "min"))
		return set_number(&r->min, m);
	if (is(&m->key, "max"))
		return set_number(&r->max, m);
	if (is(&m->key, "runs"))
		return set_number(&r->runs, m);
	return true;
}

/* Is it a summary, or the line that says where the figures are from? */
static bool has_no_figure(const struct bench_record *r)
{
	return r->date[0] != '\0' || strcmp(r->entrant, "summary") == 0;
}

/* Are all values present and plausible? A NAN compares false. */
static bool is_whole(const struct bench_record *r)
{
	if (r->date[0] != '\0')
		return true;
	if (r->bench[0] == '\0' || r->entrant[0] == '\0')
		return false;
	if (has_no_figure(r))
		return true;
	return r->unit[0] != '\0' && r->min <= r->median &&
	       r->median <= r->max && r->runs >= 1;
}

static bool read_record(const char *line, struct bench_record *r)
{
	const char *at = line;
	struct member m;

	*r = (struct bench_record){
		.median = NAN, .min = NAN, .max = NAN, .runs = NAN
	};
	if (*at != '{')
		return false;
	do {
		at = read_member(at + 1, &m);
		if (at == NULL || !set_member(r, &m))
			return false;
	} while (*at == ',');
	return strcmp(at, "}") == 0 && is_whole(r);
}

static int compare_texts(const char *a, const char *b, int otherwise)
{
	int order = strcmp(a, b);

	return order != 0 ? order : otherwise;
}

int bench_record_order(const struct bench_record *a,
		       const struct bench_record *b)
{
	int order = strcmp(a->unit, b->unit);

	order = compare_texts(a->entrant, b->entrant, order);
	return compare_texts(a->bench, b->bench, order);
}

static int by_order(const void *a, const void *b)
{
	return bench_record_order(a, b);
}

/* Returns false if there is no memory. */
static bool append(struct bench_records *r, const struct bench_record *record)
{
	struct bench_record *list = r->list;

	/* The array is full when the count is 0, 1, 2, 4, 8 and so on. */
	if ((r->count & (r->count - 1)) == 0) {
		size_t room = r->count > 0 ? 2 * r->count : 1;

		if (room > KEEP_MOST)
			return false;
		list = realloc(list, room * sizeof(*list));
		if (list == NULL)
			return false;
		r->list = list;
	}
	list[r->count++] = *record;
	return true;
}

/* Returns what is wrong with the line, or NULL. */
static const char *take_line(struct bench_records *r, char *line)
{
	size_t len = strlen(line);
	struct bench_record record;

	if (len == 0 || line[len - 1] != '\n')
		return "the line is cut off or too long";
	line[len - 1] = '\0';
	if (!read_record(line, &record))
		return "the benchmark does not write such a line";
	if (!has_no_figure(&record) && !append(r, &record))
		return "out of memory";
	return NULL;
}

/* Refuses a file that has the same entrant twice in one bench, because it is
 * not clear which of the two counts. */
static int check_unique(const struct bench_records *r, const char *file)
{
	for (size_t i = 1; i < r->count; i++) {
		if (bench_record_order(&r->list[i - 1], &r->list[i]) == 0) {
			bench_say("%.200s: %s of %s is there twice", file,
				  r->list[i].bench, r->list[i].entrant);
			return -1;
		}
	}
	if (r->count > 0)
		return 0;
	bench_say("%.200s: line 1: the file has no row", file);
	return -1;
}

static int read_all(struct bench_records *r, FILE *from, const char *file)
{
	char line[LINE_MAX_BYTES];

	for (size_t number = 1; fgets(line, sizeof(line), from); number++) {
		const char *wrong = take_line(r, line);

		if (wrong) {
			bench_say("%.200s: line %zu: %s", file, number, wrong);
			return -1;
		}
	}
	if (ferror(from)) {
		bench_say("%.200s: cannot be read", file);
		return -1;
	}
	if (r->count > 0)
		qsort(r->list, r->count, sizeof(r->list[0]), by_order);
	return check_unique(r, file);
}

int bench_records_read(struct bench_records *r, const char *file)
{
	FILE *from = fopen(file, "r");
	int err;

	*r = (struct bench_records){ 0 };
	if (from == NULL) {
		bench_say("%.200s: cannot be opened", file);
		return -1;
	}
	err = read_all(r, from, file);
	(void)fclose(from);
	if (err != 0)
		bench_records_free(r);
	return err;
}

void bench_records_free(struct bench_records *r)
{
	free(r->list);
	*r = (struct bench_records){ 0 };
}
