/* SPDX-License-Identifier: MIT */
/*
 * test_redis_conformance.c - queue.cases and plan.cases over the commands of
 * the module, with RESP2 and RESP3. test_queue_conformance.c runs the same
 * cases over the C calls.
 *
 *   test_redis_conformance FILE...
 */
#include "redis_bed.h"

#include "cases.h"

enum {
	MOST = 128 /* ids of a list */
};

struct home {
	struct resp *c;
	int64_t now_ms;
	char queue[32];
};

static char **cases_paths;

static void begin(void *ctx, const char *queue)
{
	struct home *h = ctx;

	h->now_ms = CASES_START_MS;
	snprintf(h->queue, sizeof(h->queue), "%s", queue);
	EXPECT(h->c, "OK", "TKW.CLOCK %" PRId64, h->now_ms * 1000);
}

static void end(void *ctx)
{
	struct home *h = ctx;

	resp_ask(h->c, "DEL %s", h->queue);
}

/* Adds a command as the module knows it. */
static const char *ask(struct home *h, struct words *w)
{
	char command[64];

	snprintf(command, sizeof(command), "TKW.%s", w->word[0].at);
	free(w->word[0].at);
	w->word[0].at = strdup(h->queue);
	w->word[0].len = strlen(h->queue);
	assert_non_null(w->word[0].at);
	assert_true(words_add_first(w, command));
	resp_send_words(h->c, w);
	return resp_read(h->c);
}

/* The first word of an error, or the whole reply. */
static void add_reply(struct reply_text *t, const char *reply)
{
	if (reply[0] == '-' && (reply[1] < '0' || reply[1] > '9'))
		reply_text_add(t, "%.*s", (int)strcspn(reply + 1, " "),
			       reply + 1);
	else
		reply_text_raw(t, reply, strlen(reply));
}

/* --- lists ---------------------------------------------------------------- */

/* Reads a reply of LIST: [cursor, [{"id": n, ...}, ...]]. Adds the ids, and
 * returns the next cursor. */
static uint64_t read_ids(const char *reply, uint64_t *ids, size_t *count)
{
	uint64_t cursor;
	const char *at = reply;

	if (sscanf(reply, "[\"%" SCNu64 "\", [", &cursor) != 1)
		fail_msg("no list: %s", reply);
	while ((at = strstr(at, "\"id\"")) != NULL) {
		assert_true(*count < MOST);
		ids[(*count)++] = strtoull(at + 6, NULL, 10);
		at++;
	}
	return cursor;
}

static void list(struct home *h, const struct words *w, struct reply_text *t)
{
	uint64_t ids[MOST];
	size_t count = 0;
	uint64_t cursor = 0;

	do {
		struct words again = { .count = 0 };
		char text[32];

		for (size_t i = 0; i < w->count; i++)
			words_add(&again, w->word[i].at, w->word[i].len);
		snprintf(text, sizeof(text), "%" PRIu64, cursor);
		words_add(&again, "CURSOR", 6);
		words_add(&again, text, strlen(text));
		cursor = read_ids(ask(h, &again), ids, &count);
		words_free(&again);
	} while (cursor != 0);
	cases_add_ids(t, ids, count);
}

/* --- facts ---------------------------------------------------------------- */

/* The map of RESP3 is an array in RESP2. Adds it as a map. */
static void add_map(struct reply_text *t, const char *at)
{
	bool value = false;

	for (; *at && *at != ']' && *at != '}'; at++) {
		if (*at == ',' || *at == ':') {
			reply_text_add(t, value ? "," : ":");
			value = !value;
		} else {
			reply_text_raw(t, *at == '[' ? "{" : at, 1);
		}
	}
	reply_text_add(t, "}");
}

static void add_fact(struct reply_text *t, const char *facts, const char *name)
{
	const char *at = resp_value(facts, name);

	reply_text_add(t, "\"%s\": ", name);
	if (*at == '[' || *at == '{')
		add_map(t, at);
	else
		reply_text_raw(t, at, strspn(at, "-0123456789"));
}

static void info(struct home *h, const struct words *w, struct reply_text *t)
{
	const char *facts = resp_ask(h->c, "TKW.INFO %s", h->queue);

	/* A queue that does not exist has no facts: they are those of an empty
	 * one. */
	if (strcmp(facts, "nil") == 0)
		facts = "{\"waiting\": 0, \"ready\": 0, \"oldest_age\": 0}";
	for (size_t i = 1; i < w->count; i++) {
		reply_text_add(t, i == 1 ? "{" : ", ");
		add_fact(t, facts, w->word[i].at);
	}
	reply_text_add(t, "}");
}

/* In RESP2 the maps of COUNT and GET are arrays. */
static void add_map_reply(struct reply_text *t, const char *reply)
{
	bool quoted = false;
	bool value = false;

	if (reply[0] != '[') {
		add_reply(t, reply);
		return;
	}
	reply_text_add(t, "{");
	for (const char *at = reply + 1; at[0] && at[1]; at++) {
		if (*at == '"' && at[-1] != '\\')
			quoted = !quoted;
		if (*at == ',' && !quoted) {
			reply_text_add(t, value ? "," : ":");
			value = !value;
		} else {
			reply_text_raw(t, at, 1);
		}
	}
	reply_text_add(t, "}");
}

/* --- plans ---------------------------------------------------------------- */

/* Adds a text in quotes, or a number, or an array. */
static void add_value(struct reply_text *t, const char *at)
{
	size_t len = 1;

	if (*at == '"') {
		while (at[len] && (at[len] != '"' || at[len - 1] == '\\'))
			len++;
		len++;
	} else if (*at == '[') {
		len = strcspn(at, "]") + 1;
	} else {
		len = strspn(at, "-0123456789");
	}
	reply_text_raw(t, at, len);
}

/* The names alone. */
static void plans(struct home *h, struct reply_text *t)
{
	const char *at = resp_ask(h->c, "TKW.PLANS %s", h->queue);
	const char *more = "";

	reply_text_add(t, "[");
	while ((at = strstr(at, "\"name\"")) != NULL) {
		reply_text_add(t, "%s", more);
		at += strlen("\"name\"") + 2;
		add_value(t, at);
		more = ", ";
	}
	reply_text_add(t, "]");
}

static void plan_facts(struct home *h, const struct words *w,
		       struct reply_text *t)
{
	const char *facts =
		resp_ask(h->c, "TKW.PLANS %s NAME %s", h->queue, w->word[1].at);

	if (strcmp(facts, "[]") == 0) {
		reply_text_add(t, "nil");
		return;
	}
	for (size_t i = 2; i < w->count; i++) {
		reply_text_add(t, "%s\"%s\": ", i == 2 ? "{" : ", ",
			       w->word[i].at);
		add_value(t, resp_value(facts, w->word[i].at));
	}
	reply_text_add(t, "}");
}

static void plan_times(struct home *h, const struct words *w,
		       struct reply_text *t)
{
	const char *facts = resp_ask(h->c, "TKW.PLANS %s NAME %s TIMES %s",
				     h->queue, w->word[1].at, w->word[2].at);

	if (strcmp(facts, "[]") == 0)
		reply_text_add(t, "nil");
	else
		add_value(t, resp_value(facts, "times"));
}

static void answer(void *ctx, struct words *w, struct reply_text *t)
{
	struct home *h = ctx;
	int64_t ms = 0;

	if (words_is(w, 0, "CLOCK")) {
		assert_true(words_number(w, 1, &ms));
		h->now_ms += ms;
		resp_ask(h->c, "TKW.CLOCK %" PRId64, h->now_ms * 1000);
		reply_text_add(t, "%" PRId64, h->now_ms);
	} else if (words_is(w, 0, "RESTART")) {
		reply_text_add(t, "%s", resp_ask(h->c, "DEBUG RELOAD"));
	} else if (words_is(w, 0, "LIST") || words_is(w, 1, "LIST")) {
		list(h, w, t);
	} else if (words_is(w, 0, "INFO")) {
		info(h, w, t);
	} else if (words_is(w, 0, "COUNT") || words_is(w, 0, "GET")) {
		add_map_reply(t, ask(h, w));
	} else if (words_is(w, 0, "PLANS")) {
		plans(h, t);
	} else if (words_is(w, 0, "PLANFACTS")) {
		plan_facts(h, w, t);
	} else if (words_is(w, 0, "PLANTIMES")) {
		plan_times(h, w, t);
	} else {
		add_reply(t, ask(h, w));
	}
}

static void test_conformance(void **state)
{
	struct redis_bed *b = *state;
	struct home h = { .c = b->c };
	struct cases_home home = {
		.begin = begin, .answer = answer, .end = end, .ctx = &h
	};
	uint32_t wrong = 0;

	for (char **path = cases_paths; *path; path++) {
		struct cases_tally tally = cases_run(*path, &home);

		print_message("%u cases, %u commands, %u wrong\n", tally.cases,
			      tally.commands, tally.wrong);
		wrong += tally.wrong;
		assert_true(tally.cases > 0);
	}
	assert_int_equal(wrong, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		REDIS_TEST_BOTH(test_conformance),
	};

	if (argc < 2) {
		fprintf(stderr, "the files of the cases are missing\n");
		return 2;
	}
	cases_paths = argv + 1;
	server_need(1, argv);
	return cmocka_run_group_tests(tests, redis_bed_begin_all,
				      redis_bed_end_all);
}
