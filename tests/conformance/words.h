/* SPDX-License-Identifier: MIT */
/*
 * words.h - a command line as words.
 *
 * Words are separated by blanks. A word in quotes may have blanks in it, and
 * \xNN, \n, \r, \" and \\. A word in quotes may be repeated: "ab"*3 is ababab.
 */
#ifndef TKW_TESTS_WORDS_H
#define TKW_TESTS_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WORDS_MAX = 128
};

struct word {
	char *at; /* with a 0 at the end, which does not count */
	size_t len;
};

struct words {
	struct word word[WORDS_MAX];
	size_t count;
};

/* Reads a line. Returns false if it has too many words or a quote is left
 * open. Free the words in any case. */
bool words_read(struct words *w, const char *line);
void words_free(struct words *w);

/* Adds a word. Returns false if there are too many. */
bool words_add(struct words *w, const void *bytes, size_t len);
/* Adds a word in front. */
bool words_add_first(struct words *w, const char *word);

/* True if there is such a word and it is this one, in capitals or not. */
bool words_is(const struct words *w, size_t i, const char *word);
/* Reads the word as a decimal number of 64 bits. Returns false if it is none.
 */
bool words_number(const struct words *w, size_t i, int64_t *out);

#endif /* TKW_TESTS_WORDS_H */
