/* SPDX-License-Identifier: MIT */
/* queue_tally.c - counts, their names, and what is missing. */
#include "queue_tally.h"

#include <inttypes.h>
#include <stddef.h>

#define TEXT(name, text) text,
static const char *const names[QT_KINDS] = { QUEUE_TALLY_KINDS(TEXT) };

void queue_tally_merge(struct queue_tally *into, const struct queue_tally *t)
{
	int i;

	for (i = 0; i < QT_KINDS; i++)
		into->n[i] += t->n[i];
}

void queue_tally_print(const struct queue_tally *t, FILE *out)
{
	int i;

	for (i = 0; i < QT_KINDS; i++)
		fprintf(out, "  %14" PRIu64 "  %s\n", t->n[i], names[i]);
}

const char *queue_tally_missing(const struct queue_tally *t)
{
	int i;

	for (i = 0; i < QT_KINDS; i++) {
		if (t->n[i] == 0)
			return names[i];
	}
	return NULL;
}
