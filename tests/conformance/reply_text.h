/* SPDX-License-Identifier: MIT */
/*
 * reply_text.h - an answer as one line of text, so that answers can be compared
 * and read.
 *
 *   17            an integer
 *   "a\x00b"      a string
 *   OK            a status
 *   nil           nothing
 *   [1, "a"]      an array
 *   {"a": 1}      a map
 *   -ERR why      an error
 */
#ifndef TKW_TESTS_REPLY_TEXT_H
#define TKW_TESTS_REPLY_TEXT_H

#include <stddef.h>

/* All zero is an empty text. */
struct reply_text {
	char *at; /* with a 0 at the end; NULL if nothing was ever added */
	size_t len;
	size_t room;
};

void reply_text_clear(struct reply_text *t);
void reply_text_free(struct reply_text *t);

/* Adds text, as printf. */
void reply_text_add(struct reply_text *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds bytes as they are. */
void reply_text_raw(struct reply_text *t, const void *bytes, size_t len);
/* Adds a string in quotes. */
void reply_text_quote(struct reply_text *t, const void *bytes, size_t len);

#endif /* TKW_TESTS_REPLY_TEXT_H */
