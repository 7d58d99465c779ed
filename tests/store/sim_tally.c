/* SPDX-License-Identifier: MIT */
/* sim_tally.c - counts, their names, and what is missing. */
#include "sim_tally.h"

#include <inttypes.h>
#include <stddef.h>

#define TEXT(name, text) text,
static const char *const names[LT_KINDS] = { LIFE_TALLY_KINDS(TEXT) };

void life_tally_print(const struct life_tally *t, FILE *out)
{
	int i;

	for (i = 0; i < LT_KINDS; i++)
		fprintf(out, "  %12" PRIu64 "  %s\n", t->n[i], names[i]);
}

const char *life_tally_missing(const struct life_tally *t)
{
	int i;

	for (i = 0; i < LT_KINDS; i++) {
		if (t->n[i] == 0)
			return names[i];
	}
	return NULL;
}
