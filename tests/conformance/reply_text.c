/* SPDX-License-Identifier: MIT */
/* reply_text.c - see reply_text.h. */
#include "reply_text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FIRST_ROOM = 256,
	LONGEST = 1024 /* of one reply_text_add() */
};

void reply_text_clear(struct reply_text *t)
{
	t->len = 0;
	if (t->at)
		t->at[0] = 0;
}

void reply_text_free(struct reply_text *t)
{
	free(t->at);
	*t = (struct reply_text){ 0 };
}

void reply_text_raw(struct reply_text *t, const void *bytes, size_t len)
{
	if (t->len + len >= t->room) {
		t->room = 2 * (t->len + len) + FIRST_ROOM;
		t->at = realloc(t->at, t->room);
		if (!t->at)
			abort();
	}
	memcpy(t->at + t->len, bytes, len);
	t->len += len;
	t->at[t->len] = 0;
}

void reply_text_add(struct reply_text *t, const char *format, ...)
{
	char some[LONGEST];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(some, sizeof(some), format, args);
	va_end(args);
	if (len < 0 || len >= LONGEST)
		abort();
	reply_text_raw(t, some, (size_t)len);
}

void reply_text_quote(struct reply_text *t, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	reply_text_raw(t, "\"", 1);
	for (size_t i = 0; i < len; i++) {
		if (at[i] == '"' || at[i] == '\\')
			reply_text_add(t, "\\%c", at[i]);
		else if (at[i] < ' ' || at[i] > '~')
			reply_text_add(t, "\\x%02x", at[i]);
		else
			reply_text_raw(t, &at[i], 1);
	}
	reply_text_raw(t, "\"", 1);
}
