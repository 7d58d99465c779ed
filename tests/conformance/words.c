/* SPDX-License-Identifier: MIT */
/* words.c - see words.h. */
#include "words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "reply_text.h"

bool words_add(struct words *w, const void *bytes, size_t len)
{
	struct word *to = &w->word[w->count];

	if (w->count == WORDS_MAX)
		return false;
	to->at = malloc(len + 1);
	if (!to->at)
		abort();
	if (len > 0)
		memcpy(to->at, bytes, len);
	to->at[len] = 0;
	to->len = len;
	w->count++;
	return true;
}

bool words_add_first(struct words *w, const char *word)
{
	struct word last;

	if (!words_add(w, word, strlen(word)))
		return false;
	last = w->word[w->count - 1];
	memmove(&w->word[1], &w->word[0], (w->count - 1) * sizeof(last));
	w->word[0] = last;
	return true;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads one character of a word in quotes. Returns where the next one is; NULL
 * if the line ends. */
static const char *read_char(const char *at, char *out)
{
	*out = *at;
	if (*at != '\\')
		return *at ? at + 1 : NULL;
	at++;
	*out = *at;
	if (*at == 'n')
		*out = '\n';
	if (*at == 'r')
		*out = '\r';
	if (*at == 'x' && digit(at[1]) >= 0 && digit(at[2]) >= 0) {
		*out = (char)(digit(at[1]) * 16 + digit(at[2]));
		at += 2;
	}
	return *at ? at + 1 : NULL;
}

/* Reads a word in quotes, from behind the first quote. Returns where it ends;
 * NULL if it does not. */
static const char *read_quoted(const char *at, struct reply_text *t)
{
	unsigned long times = 1;
	size_t len;

	while (at && *at != '"') {
		char c;

		at = read_char(at, &c);
		reply_text_raw(t, &c, 1);
	}
	if (!at)
		return NULL;
	at++;
	if (*at == '*') {
		char *end;

		times = strtoul(at + 1, &end, 10);
		at = end;
	}
	len = t->len;
	for (size_t i = 0; times > 1 && i < len * (times - 1); i++) {
		char c = t->at[i];

		reply_text_raw(t, &c, 1);
	}
	return at;
}

static const char *read_word(struct words *w, const char *at)
{
	size_t len = strcspn(at, " \t\n");
	struct reply_text t = { 0 };

	if (*at != '"')
		return words_add(w, at, len) ? at + len : NULL;
	at = read_quoted(at + 1, &t);
	if (at && !words_add(w, t.at ? t.at : "", t.len))
		at = NULL;
	reply_text_free(&t);
	return at;
}

bool words_read(struct words *w, const char *line)
{
	const char *at = line;

	w->count = 0;
	for (;;) {
		at += strspn(at, " \t\n");
		if (!*at)
			return true;
		at = read_word(w, at);
		if (!at)
			return false;
	}
}

void words_free(struct words *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->word[i].at);
	w->count = 0;
}

bool words_is(const struct words *w, size_t i, const char *word)
{
	return i < w->count && w->word[i].len == strlen(word) &&
	       strcasecmp(w->word[i].at, word) == 0;
}

bool words_number(const struct words *w, size_t i, int64_t *out)
{
	char *end;
	long long n;

	if (i >= w->count || w->word[i].len == 0)
		return false;
	errno = 0;
	n = strtoll(w->word[i].at, &end, 10);
	if (errno || end != w->word[i].at + w->word[i].len)
		return false;
	*out = n;
	return true;
}
