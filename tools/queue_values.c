/* SPDX-License-Identifier: MIT */
/* queue_values.c - reads times, ids, claims and payloads of a command line. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue_tool.h"
#include "store/name.h"
#include "tool.h"
#include "tool_options.h"
#include "tool_plan.h"

enum {
	/* No queue takes a larger payload. */
	PAYLOAD_MAX = 1 << 29,
	READ_FIRST = 1 << 16
};

/* --- times and texts ----------------------------------------------------- */

/* Reads digits. Returns what follows them, or NULL if there are none, or if the
 * number is larger than 2^63 - 1. */
static const char *read_digits(const char *text, uint64_t *number)
{
	const char *at = text;
	uint64_t n = 0;

	for (; *at >= '0' && *at <= '9'; at++) {
		unsigned digit = (unsigned)(*at - '0');

		if (n > ((uint64_t)INT64_MAX - digit) / 10)
			return NULL;
		n = 10 * n + digit;
	}
	*number = n;
	return at == text ? NULL : at;
}

int queue_read_time(const char *name, const char *text, int64_t max_ms,
		    int64_t *ms)
{
	return tool_read_time(name, text, max_ms, ms);
}

int queue_read_text(const char *name, const char *text, size_t max)
{
	size_t len = strlen(text);

	if (len >= 1 && len <= max)
		return 0;
	tool_complain("%s: it has %zu bytes, but must have 1 to %zu", name, len,
		      max);
	return -1;
}

int queue_read_name(const char *text)
{
	if (tkw__name_is_legal(text))
		return 0;
	tool_complain("--queue: '%.60s' is not 1 to 255 bytes of UTF-8 without "
		      "control characters",
		      text);
	return -1;
}

int queue_read_state(const char *text, enum tkw_item_state *state)
{
	for (int i = 0; i < TKW_ITEM_STATES; i++) {
		if (!strcmp(text, queue_state_word((enum tkw_item_state)i))) {
			*state = (enum tkw_item_state)i;
			return 0;
		}
	}
	tool_complain("--state: '%.60s' is not waiting, ready, taken or dead",
		      text);
	return -1;
}

/* --- words --------------------------------------------------------------- */

static void *make_array(const struct queue_options *o, struct queue_words *w,
			size_t size)
{
	void *array = calloc(o->word_count + 1, size);

	w->done = calloc(o->word_count + 1, sizeof(*w->done));
	if (array && w->done)
		return array;
	tool_complain("%s", strerror(ENOMEM));
	free(array);
	return NULL;
}

static bool read_id(const char *text, struct tkw_item_id *id)
{
	const char *end = read_digits(text, &id->bits);

	return end && !*end && id->bits != 0;
}

static int refuse_id(const char *text)
{
	tool_complain("'%.60s' is not the id of an item, which is a number",
		      text);
	return -1;
}

int queue_read_claims(const struct queue_options *o, struct queue_words *w)
{
	w->claims = make_array(o, w, sizeof(*w->claims));
	if (!w->claims)
		return -1;
	for (size_t i = 0; i < o->word_count; i++) {
		struct tkw_claim *c = &w->claims[i];
		const char *at = read_digits(o->words[i], &c->id.bits);

		if (at && *at == ':')
			at = read_digits(at + 1, &c->token);
		else
			at = NULL;
		if (!at || *at || c->id.bits == 0) {
			tool_complain("'%.60s' is not a claim, which is "
				      "ID:TOKEN as take prints it",
				      o->words[i]);
			return -1;
		}
	}
	return 0;
}

int queue_read_names(const struct queue_options *o, struct queue_words *w)
{
	w->names = make_array(o, w, sizeof(*w->names));
	if (!w->names)
		return -1;
	if (o->key) {
		w->names[0].key = o->key;
		w->names[0].key_len = strlen(o->key);
	}
	for (size_t i = 0; i < o->word_count; i++) {
		if (!read_id(o->words[i], &w->names[i].id))
			return refuse_id(o->words[i]);
	}
	return 0;
}

int queue_read_ids(const struct queue_options *o, struct queue_words *w)
{
	w->ids = make_array(o, w, sizeof(*w->ids));
	if (!w->ids)
		return -1;
	for (size_t i = 0; i < o->word_count; i++) {
		if (!read_id(o->words[i], &w->ids[i]))
			return refuse_id(o->words[i]);
	}
	return 0;
}

/* --- payloads ------------------------------------------------------------ */

static int grow(struct queue_bytes *b, size_t *room)
{
	size_t more = *room ? 2 * *room : READ_FIRST;
	char *bytes = realloc(b->bytes, more);

	if (!bytes) {
		tool_complain("standard input: %s", strerror(ENOMEM));
		return -1;
	}
	b->bytes = bytes;
	*room = more;
	return 0;
}

/* Reads standard input to its end. */
static int read_stdin(struct queue_bytes *b)
{
	size_t room = 0;

	b->owned = true;
	while (!feof(stdin)) {
		if (b->len == room && grow(b, &room))
			return -1;
		b->len += fread(b->bytes + b->len, 1, room - b->len, stdin);
		if (ferror(stdin)) {
			tool_complain("standard input: %s", strerror(errno));
			return -1;
		}
		if (b->len > PAYLOAD_MAX) {
			tool_complain("standard input: longer than any payload "
				      "can be");
			return -1;
		}
	}
	return 0;
}

/* Reads a payload. *used tells if standard input was one already. */
static int read_payload(char *word, struct queue_bytes *b, bool *used)
{
	if (strcmp(word, "-") != 0) {
		b->bytes = word;
		b->len = strlen(b->bytes);
		return 0;
	}
	if (*used) {
		tool_complain("standard input can be only one of the "
			      "payloads");
		return -1;
	}
	*used = true;
	return read_stdin(b);
}

int queue_read_payloads(const struct queue_options *o, struct queue_words *w)
{
	bool used = false;

	w->payloads = make_array(o, w, sizeof(*w->payloads));
	if (!w->payloads)
		return -1;
	for (size_t i = 0; i < o->word_count; i++) {
		if (read_payload(o->words[i], &w->payloads[i], &used))
			return -1;
	}
	return 0;
}

/* --- plans --------------------------------------------------------------- */

int queue_read_misfire(const char *text, enum tkw_misfire *misfire)
{
	static const char *const words[] = {
		[TKW_MISFIRE_ONCE] = "once",
		[TKW_MISFIRE_ALL] = "all",
		[TKW_MISFIRE_SKIP] = "skip",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(text, words[i])) {
			*misfire = (enum tkw_misfire)i;
			return 0;
		}
	}
	tool_complain("--misfire: '%.60s' is not once, all or skip", text);
	return -1;
}

int queue_read_choice(const char *name, const char *text,
		      const char *const words[2], int *chosen)
{
	*chosen = !strcmp(text, words[1]);
	if (*chosen || !strcmp(text, words[0]))
		return 0;
	tool_complain("%s: '%.60s' is not %s or %s", name, text, words[0],
		      words[1]);
	return -1;
}

int queue_check_plan_names(const struct queue_options *o)
{
	for (size_t i = 0; i < o->word_count; i++) {
		if (queue_read_text("the name of a plan", o->words[i],
				    TKW_QUEUE_MAX_PLAN_NAME))
			return -1;
	}
	return 0;
}

int queue_read_plan(const struct queue_options *o, struct queue_words *w)
{
	const char *zone = o->plan.zone ? o->plan.zone : "UTC";
	struct tool_plan p;
	bool used = false;
	int status;

	w->payloads = make_array(o, w, sizeof(*w->payloads));
	if (!w->payloads || queue_read_text("the name of a plan", o->words[0],
					    TKW_QUEUE_MAX_PLAN_NAME))
		return -1;
	status = tool_plan_open(&p, "plan", o->words[1], zone);
	tool_plan_close(&p);
	if (status)
		return -1;
	return read_payload(o->words[2], &w->payloads[2], &used);
}

void queue_words_free(const struct queue_options *o, struct queue_words *w)
{
	for (size_t i = 0; w->payloads && i < o->word_count; i++) {
		if (w->payloads[i].owned)
			free(w->payloads[i].bytes);
	}
	free(w->payloads);
	free(w->claims);
	free(w->names);
	free(w->ids);
	free(w->done);
	memset(w, 0, sizeof(*w));
}
