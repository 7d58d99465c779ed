/* SPDX-License-Identifier: MIT */
/* rival_line.c - reads requests and writes answers; see rival_line.h. */
#include "rival_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool rival_line_kind(const struct rival_grammar *g, char *line, char **rest,
		     int *kind)
{
	const char *word = strtok_r(line, " \t\n", rest);

	for (size_t i = 0; word && i < g->kind_count; i++) {
		if (strcmp(word, g->kinds[i].name) == 0) {
			*kind = g->kinds[i].value;
			return true;
		}
	}
	return false;
}

/* Reads "key=value". Returns true also if the key is unknown. */
static bool read_number(const struct rival_grammar *g, char *word, void *load)
{
	char *equals = strchr(word, '=');
	unsigned long long value;
	char *end;

	if (equals == NULL)
		return false;
	*equals = '\0';
	value = strtoull(equals + 1, &end, 10);
	if (end == equals + 1 || *end != '\0')
		return false;
	for (size_t i = 0; i < g->key_count; i++) {
		const struct rival_key *key = &g->keys[i];
		uint32_t number = (uint32_t)value;

		if (strcmp(word, key->name) != 0)
			continue;
		if (value < key->least || value > key->most)
			return false;
		memcpy((char *)load + key->offset, &number, sizeof(number));
	}
	return true;
}

bool rival_line_numbers(const struct rival_grammar *g, char *rest, void *load)
{
	char *word;

	while ((word = strtok_r(NULL, " \t\n", &rest)) != NULL) {
		if (!read_number(g, word, load))
			return false;
	}
	return true;
}

void rival_line_answer(const struct rival_answer *a)
{
	if (a->fail) {
		printf("fail %s\n", a->fail);
	} else if (a->skip) {
		printf("skip %s\n", a->skip);
	} else {
		for (uint32_t i = 0; i < a->figures; i++)
			printf("figure %s %.3f\n", a->figure[i].name,
			       a->figure[i].value);
		printf("done\n");
	}
	(void)fflush(stdout);
}
