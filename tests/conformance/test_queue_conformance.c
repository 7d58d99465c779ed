/* SPDX-License-Identifier: MIT */
/*
 * test_queue_conformance.c - queue.cases and plan.cases over the C calls of
 * tickwheel/queue.h, on a real file and with a clock that the cases set.
 *
 *   test_queue_conformance FILE...
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "plan_answers.h"
#include "tickwheel/queue.h"

enum {
	MOST = WORDS_MAX /* items of one command */
};

struct home {
	char dir[128];
	char path[160];
	char queue[32];
	int64_t now_ms; /* atomic, because the library has a thread */
	struct tkw_queues *f;
	struct tkw_queue *q;
};

static int64_t now_us(void *ctx)
{
	struct home *h = ctx;

	return __atomic_load_n(&h->now_ms, __ATOMIC_RELAXED) * 1000;
}

static void open_file(struct home *h)
{
	struct tkw_queues_config cfg = { .size = sizeof(cfg),
					 .durability = TKW_QUEUE_TO_SYSTEM,
					 .now_us = now_us,
					 .now_ctx = h,
					 .no_socket = 1 };

	cases_must(tkw_queues_open(&h->f, h->path, &cfg) == 0, "cannot open");
	cases_must(tkw_queue_open(&h->q, h->f, h->queue) == 0, "no queue");
}

static void begin(void *ctx, const char *queue)
{
	struct home *h = ctx;

	h->now_ms = CASES_START_MS;
	snprintf(h->queue, sizeof(h->queue), "%s", queue);
	open_file(h);
}

static void close_file(struct home *h)
{
	cases_must(!tkw_queues_check(h->f), "the file is not sound");
	cases_must(tkw_queues_close(h->f) == 0, "cannot close");
}

static void end(void *ctx)
{
	struct home *h = ctx;

	close_file(h);
	unlink(h->path);
}

/* --- answers -------------------------------------------------------------- */

static void add_error(struct reply_text *t, int64_t err)
{
	switch (err) {
	case -EEXIST:
		reply_text_add(t, "TKWEXISTS");
		break;
	case -EBUSY:
		reply_text_add(t, "TKWTAKEN");
		break;
	case -EAGAIN:
	case -EMSGSIZE:
		reply_text_add(t, "TKWFULL");
		break;
	case -EINVAL:
		reply_text_add(t, "ERR");
		break;
	default:
		reply_text_add(t, "error %" PRId64, err);
	}
}

/* An answer that is OK or an error. */
static void add_status(struct reply_text *t, int err)
{
	if (err)
		add_error(t, err);
	else
		reply_text_add(t, "OK");
}

/* One number for each item. */
static void add_answers(struct reply_text *t, int result, const int *done,
			size_t count)
{
	if (result < 0) {
		add_error(t, result);
		return;
	}
	reply_text_add(t, "[");
	for (size_t i = 0; i < count; i++) {
		int number = done[i] == -EBUSY ? -1 : done[i] > 0;

		reply_text_add(t, "%s%d", i ? ", " : "", number);
	}
	reply_text_add(t, "]");
}

static void add_key(struct reply_text *t, const struct tkw_item *it)
{
	if (it->key)
		reply_text_quote(t, it->key, it->key_len);
	else
		reply_text_add(t, "nil");
}

static void add_facts(struct reply_text *t, const struct tkw_item *it)
{
	static const char *const states[] = { "waiting", "ready", "taken",
					      "dead" };

	reply_text_add(t, "{\"id\": %" PRIu64 ", \"state\": \"%s\", ",
		       it->claim.id.bits, states[it->state]);
	reply_text_add(t, "\"due\": %" PRId64 ", \"attempts\": %" PRIu32 ", ",
		       it->due_ms, it->attempts);
	reply_text_add(t, "\"max_attempts\": %" PRIu32 ", ", it->max_attempts);
	reply_text_add(
		t, "\"backoff\": %" PRIu32 ", \"max_backoff\": %" PRIu32 ", ",
		it->backoff_ms, it->max_backoff_ms);
	reply_text_add(t, "\"token\": %" PRIu64 ", ", it->claim.token);
	reply_text_add(t, "\"expires\": %" PRId64 ", \"died\": %" PRId64 ", ",
		       it->expires_ms, it->died_ms);
	reply_text_add(t,
		       "\"planned\": %" PRId64 ", \"key\": ", it->planned_ms);
	add_key(t, it);
	reply_text_add(t, ", \"reason\": ");
	reply_text_quote(t, it->reason, strlen(it->reason));
	reply_text_add(t, ", \"payload\": ");
	reply_text_quote(t, it->payload, it->payload_len);
	reply_text_add(t, "}");
}

/* --- arguments ------------------------------------------------------------ */

/* Reads a delay, or AT and a time. i is then the last word that was read. */
static void read_when(const struct words *w, size_t *i, int64_t *delay_ms,
		      int64_t *due_ms)
{
	*delay_ms = 0;
	*due_ms = 0;
	if (words_is(w, *i, "AT"))
		*due_ms = cases_value(w, i);
	else
		cases_must(words_number(w, *i, delay_ms), "a delay is missing");
}

/* Reads an id, or KEY and a key. */
static struct tkw_item_name read_name(const struct words *w, size_t *i)
{
	struct tkw_item_name name = { .key = NULL };
	int64_t id;

	if (words_is(w, *i, "KEY")) {
		++*i;
		cases_must(*i < w->count, "a key is missing");
		name.key = w->word[*i].at;
		name.key_len = w->word[*i].len;
	} else {
		cases_must(words_number(w, *i, &id), "an id is missing");
		name.id.bits = (uint64_t)id;
	}
	return name;
}

static size_t read_claims(const struct words *w, size_t i,
			  struct tkw_claim *claims)
{
	size_t count = 0;

	for (; i + 1 < w->count; i += 2) {
		int64_t id = 0;
		int64_t token = 0;

		cases_must(words_number(w, i, &id) &&
				   words_number(w, i + 1, &token),
			   "a claim is missing");
		claims[count++] =
			(struct tkw_claim){ { (uint64_t)id }, (uint64_t)token };
	}
	return count;
}

/* --- put and take --------------------------------------------------------- */

/* Reads one option of a put. Returns false if the word is none. */
static bool read_put_option(const struct words *w, size_t *i, struct tkw_put *p)
{
	if (words_is(w, *i, "KEY")) {
		struct tkw_item_name name = read_name(w, i);

		p->key = name.key;
		p->key_len = name.key_len;
	} else if (words_is(w, *i, "REPLACE")) {
		p->held = TKW_KEY_REPLACE;
	} else if (words_is(w, *i, "KEEP")) {
		p->held = TKW_KEY_KEEP;
	} else if (words_is(w, *i, "ATTEMPTS")) {
		p->max_attempts = (uint32_t)cases_value(w, i);
	} else if (words_is(w, *i, "BACKOFF")) {
		p->backoff_ms = (uint32_t)cases_value(w, i);
	} else if (words_is(w, *i, "MAX")) {
		p->max_backoff_ms = (uint32_t)cases_value(w, i);
	} else {
		return false;
	}
	++*i;
	return true;
}

static size_t read_puts(const struct words *w, struct tkw_put *puts)
{
	size_t count = 0;
	size_t i = 1;

	while (i < w->count) {
		struct tkw_put *p = &puts[count++];

		*p = (struct tkw_put){ 0 };
		read_when(w, &i, &p->delay_ms, &p->due_ms);
		i++;
		cases_must(i < w->count, "a payload is missing");
		p->payload = w->word[i].at;
		p->payload_len = w->word[i].len;
		i++;
		while (i < w->count && read_put_option(w, &i, p))
			;
	}
	return count;
}

static void put(struct home *h, const struct words *w, struct reply_text *t)
{
	bool many = words_is(w, 0, "MPUT");
	struct tkw_put puts[MOST];
	struct tkw_item_id ids[MOST];
	size_t count = read_puts(w, puts);
	int err = tkw_queue_put(h->q, puts, count, ids);

	if (err) {
		add_error(t, err);
		return;
	}
	reply_text_add(t, many ? "[" : "");
	for (size_t i = 0; i < count; i++)
		reply_text_add(t, "%s%" PRIu64, i ? ", " : "", ids[i].bits);
	reply_text_add(t, many ? "]" : "");
}

static void take(struct home *h, const struct words *w, struct reply_text *t)
{
	struct tkw_take how = { 0 };
	struct tkw_items *items;
	int n;

	for (size_t i = 1; i < w->count; i++) {
		if (words_is(w, i, "COUNT"))
			how.max_items = (uint32_t)cases_value(w, &i);
		else if (words_is(w, i, "LEASE"))
			how.lease_ms = cases_value(w, &i);
		else
			cases_must(false,
				   "an option that a take does not have");
	}
	n = tkw_queue_take(h->q, &how, &items);
	if (n < 0)
		add_error(t, n);
	if (n == 0)
		reply_text_add(t, "nil");
	for (int i = 0; i < n; i++) {
		const struct tkw_item *it = &items->item[i];

		reply_text_add(t, "%s[%" PRIu64 ", ", i ? ", " : "[",
			       it->claim.id.bits);
		reply_text_quote(t, it->payload, it->payload_len);
		reply_text_add(t, ", %" PRIu64 ", %" PRIu32 ", %" PRId64 ", ",
			       it->claim.token, it->attempts, it->due_ms);
		add_key(t, it);
		reply_text_add(t, ", %" PRId64 "]", it->planned_ms);
	}
	if (n > 0) {
		reply_text_add(t, "]");
		tkw_items_free(items);
	}
}

/* --- claims --------------------------------------------------------------- */

static void ack(struct home *h, const struct words *w, struct reply_text *t)
{
	struct tkw_claim claims[MOST];
	int done[MOST];
	size_t count = read_claims(w, 1, claims);

	add_answers(t, tkw_queue_ack(h->q, claims, count, done), done, count);
}

static void nack(struct home *h, const struct words *w, struct reply_text *t)
{
	struct tkw_claim claims[MOST];
	struct tkw_nack how = { 0 };
	int done[MOST];
	size_t count;
	size_t i = 1;

	for (;; i++) {
		if (words_is(w, i, "DELAY")) {
			how.has_delay = 1;
			how.delay_ms = cases_value(w, &i);
		} else if (words_is(w, i, "REASON")) {
			cases_must(++i < w->count, "a reason is missing");
			how.reason = w->word[i].at;
		} else {
			break;
		}
	}
	count = read_claims(w, i, claims);
	add_answers(t, tkw_queue_nack(h->q, claims, count, &how, done), done,
		    count);
}

static void extend(struct home *h, const struct words *w, struct reply_text *t)
{
	struct tkw_claim claims[MOST];
	int done[MOST];
	size_t i = 0;
	int64_t lease_ms = cases_value(w, &i);
	size_t count = read_claims(w, 2, claims);

	add_answers(t, tkw_queue_extend(h->q, claims, count, lease_ms, done),
		    done, count);
}

/* --- items by name -------------------------------------------------------- */

static void cancel(struct home *h, const struct words *w, struct reply_text *t)
{
	bool by_key = words_is(w, 1, "KEY");
	struct tkw_item_name names[MOST];
	int done[MOST];
	size_t count = 0;

	for (size_t i = by_key ? 2 : 1; i < w->count; i++) {
		if (by_key)
			names[count++] = (struct tkw_item_name){
				.key = w->word[i].at, .key_len = w->word[i].len
			};
		else
			names[count++] = read_name(w, &i);
	}
	add_answers(t, tkw_queue_cancel(h->q, names, count, done), done, count);
}

static void reschedule(struct home *h, const struct words *w,
		       struct reply_text *t)
{
	size_t i = 1;
	struct tkw_item_name name = read_name(w, &i);
	int64_t delay_ms;
	int64_t due_ms;
	int err;

	i++;
	read_when(w, &i, &delay_ms, &due_ms);
	err = tkw_queue_reschedule(h->q, &name, delay_ms, due_ms);
	if (err == 0)
		reply_text_add(t, "1");
	else if (err == -ENOENT)
		reply_text_add(t, "0");
	else if (err == -EBUSY)
		reply_text_add(t, "-1");
	else
		add_error(t, err);
}

static void get(struct home *h, const struct words *w, struct reply_text *t)
{
	size_t i = 1;
	struct tkw_item_name name = read_name(w, &i);
	struct tkw_items *items;
	int err = tkw_queue_get(h->q, &name, &items);

	if (err == -ENOENT) {
		reply_text_add(t, "nil");
	} else if (err) {
		add_error(t, err);
	} else {
		add_facts(t, &items->item[0]);
		tkw_items_free(items);
	}
}

static void list_state(struct home *h, enum tkw_item_state state, uint32_t max,
		       struct reply_text *t)
{
	uint64_t ids[MOST];
	size_t count = 0;
	uint64_t cursor = 0;

	do {
		struct tkw_items *items;
		int n = tkw_queue_list(h->q, state, max, &cursor, &items);

		cases_must(n >= 0 && count + (size_t)n <= MOST, "a list fails");
		for (int i = 0; i < n; i++)
			ids[count++] = items->item[i].claim.id.bits;
		tkw_items_free(items);
	} while (cursor != 0);
	cases_add_ids(t, ids, count);
}

static void list(struct home *h, const struct words *w, struct reply_text *t)
{
	static const char *const states[] = { "waiting", "ready", "taken",
					      "dead", "all" };
	enum tkw_item_state state = TKW_ITEM_DEAD;
	uint32_t max = 100;

	for (size_t i = 1; i < w->count; i++) {
		if (words_is(w, i, "COUNT"))
			max = (uint32_t)cases_value(w, &i);
		for (int s = 0; s <= TKW_ITEM_STATES; s++) {
			if (words_is(w, i, states[s]))
				state = (enum tkw_item_state)s;
		}
	}
	list_state(h, state, max, t);
}

static void dead(struct home *h, const struct words *w, struct reply_text *t)
{
	bool revive = words_is(w, 1, "REVIVE");
	struct tkw_item_id ids[MOST];
	int done[MOST];
	size_t count = 0;
	int n;

	if (words_is(w, 1, "LIST")) {
		list(h, w, t);
		return;
	}
	if (words_is(w, 2, "ALL")) {
		int64_t all = revive ? tkw_queue_revive_all(h->q)
				     : tkw_queue_purge_all(h->q);

		reply_text_add(t, "[%" PRId64 ", 0]", all);
		return;
	}
	for (size_t i = 1; i + 1 < w->count; count++)
		ids[count].bits = (uint64_t)cases_value(w, &i);
	n = revive ? tkw_queue_revive(h->q, ids, count, done)
		   : tkw_queue_purge(h->q, ids, count, done);
	add_answers(t, n, done, count);
}

/* --- the queue ------------------------------------------------------------ */

static void limit(struct home *h, const struct words *w, struct reply_text *t)
{
	struct tkw_queue_stats s;

	cases_must(tkw_queue_get_stats(h->q, &s) == 0, "no stats");
	for (size_t i = 1; i < w->count; i++) {
		if (words_is(w, i, "ITEMS"))
			s.limits.max_items = (uint64_t)cases_value(w, &i);
		else if (words_is(w, i, "BYTES"))
			s.limits.max_bytes = (uint64_t)cases_value(w, &i);
		else
			s.limits.max_payload_bytes =
				(uint64_t)cases_value(w, &i);
	}
	add_status(t, tkw_queue_limit(h->q, &s.limits));
}

static void add_lateness(struct reply_text *t, const struct tkw_queue_stats *s)
{
	const char *comma = "";

	reply_text_add(t, "{");
	for (uint32_t i = 0; i < TKW_QUEUE_LATENESS_BUCKETS; i++) {
		if (s->lateness[i] == 0)
			continue;
		reply_text_add(t, "%s\"%" PRId64 "\": %" PRIu64, comma,
			       tkw_queue_lateness_ms(i), s->lateness[i]);
		comma = ", ";
	}
	reply_text_add(t, "}");
}

static void add_fact(struct reply_text *t, const struct tkw_queue_stats *s,
		     const char *name)
{
	const struct {
		const char *name;
		uint64_t value;
	} facts[] = {
		{ "waiting", s->waiting },
		{ "ready", s->ready },
		{ "taken", s->taken },
		{ "dead", s->dead },
		{ "items", s->waiting + s->ready + s->taken + s->dead },
		{ "bytes", s->bytes },
		{ "paused", (uint64_t)s->paused },
		{ "oldest_age", (uint64_t)s->oldest_age_ms },
		{ "puts", s->all_puts },
		{ "takes", s->all_takes },
		{ "acks", s->all_acks },
		{ "nacks", s->all_nacks },
		{ "losses", s->all_losses },
		{ "deaths", s->all_deaths },
		{ "revivals", s->all_revivals },
		{ "cancels", s->all_cancels },
		{ "purges", s->all_purges },
		{ "replaces", s->all_replaces },
		{ "plans", s->plans },
		{ "max_items", s->limits.max_items },
		{ "max_bytes", s->limits.max_bytes },
		{ "max_payload", s->limits.max_payload_bytes },
	};

	reply_text_quote(t, name, strlen(name));
	reply_text_add(t, ": ");
	if (strcmp(name, "lateness") == 0) {
		add_lateness(t, s);
		return;
	}
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		if (strcmp(facts[i].name, name) == 0)
			reply_text_add(t, "%" PRIu64, facts[i].value);
	}
}

static void info(struct home *h, const struct words *w, struct reply_text *t)
{
	struct tkw_queue_stats s;

	cases_must(tkw_queue_get_stats(h->q, &s) == 0, "no stats");
	for (size_t i = 1; i < w->count; i++) {
		reply_text_add(t, i == 1 ? "{" : ", ");
		add_fact(t, &s, w->word[i].at);
	}
	reply_text_add(t, "}");
}

static void count_states(struct home *h, const struct words *w,
			 struct reply_text *t)
{
	struct words four = { .count = 0 };

	(void)w;
	words_read(&four, "COUNT waiting ready taken dead");
	info(h, &four, t);
	words_free(&four);
}

static void pause_queue(struct home *h, const struct words *w,
			struct reply_text *t)
{
	(void)w;
	add_status(t, tkw_queue_pause(h->q));
}

static void resume(struct home *h, const struct words *w, struct reply_text *t)
{
	(void)w;
	add_status(t, tkw_queue_resume(h->q));
}

static void move_clock(struct home *h, const struct words *w,
		       struct reply_text *t)
{
	size_t i = 0;

	__atomic_fetch_add(&h->now_ms, cases_value(w, &i), __ATOMIC_RELAXED);
	reply_text_add(t, "%" PRId64, h->now_ms);
}

static void restart(struct home *h, const struct words *w, struct reply_text *t)
{
	(void)w;
	close_file(h);
	open_file(h);
	reply_text_add(t, "OK");
}

/* A command about plans. */
static bool answer_plan(const struct home *h, const struct words *w,
			struct reply_text *t)
{
	static const struct {
		const char *name;
		plan_command_fn *fn;
	} commands[] = {
		{ "PLAN", plan_command_plan },
		{ "UNPLAN", plan_command_unplan },
		{ "PLANPAUSE", plan_command_pause },
		{ "PLANRESUME", plan_command_resume },
		{ "PLANS", plan_command_list },
		{ "PLANFACTS", plan_command_facts },
		{ "PLANTIMES", plan_command_times },
	};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (words_is(w, 0, commands[i].name)) {
			commands[i].fn(h->q, h->now_ms, w, t);
			return true;
		}
	}
	return false;
}

static void answer(void *ctx, struct words *w, struct reply_text *t)
{
	static const struct {
		const char *name;
		void (*fn)(struct home *h, const struct words *w,
			   struct reply_text *t);
	} commands[] = {
		{ "PUT", put },          { "MPUT", put },
		{ "TAKE", take },        { "ACK", ack },
		{ "NACK", nack },        { "EXTEND", extend },
		{ "CANCEL", cancel },    { "RESCHEDULE", reschedule },
		{ "GET", get },          { "LIST", list },
		{ "DEAD", dead },        { "COUNT", count_states },
		{ "INFO", info },        { "PAUSE", pause_queue },
		{ "RESUME", resume },    { "LIMIT", limit },
		{ "CLOCK", move_clock }, { "RESTART", restart },
	};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (words_is(w, 0, commands[i].name)) {
			commands[i].fn(ctx, w, t);
			return;
		}
	}
	if (!answer_plan(ctx, w, t))
		reply_text_add(t, "no such command");
}

int main(int argc, char **argv)
{
	struct home h = { .now_ms = CASES_START_MS };
	struct cases_home home = {
		.begin = begin, .answer = answer, .end = end, .ctx = &h
	};
	const char *tmp = getenv("TMPDIR");
	uint32_t wrong = 0;

	cases_must(argc > 1, "the files of the cases are missing");
	snprintf(h.dir, sizeof(h.dir), "%s/tkw-cases-XXXXXX",
		 tmp && strlen(tmp) < 100 ? tmp : "/tmp");
	cases_must(mkdtemp(h.dir) != NULL, "no folder");
	snprintf(h.path, sizeof(h.path), "%s/f.queue", h.dir);
	for (int i = 1; i < argc; i++) {
		struct cases_tally tally = cases_run(argv[i], &home);

		printf("%u cases, %u commands, %u wrong\n", tally.cases,
		       tally.commands, tally.wrong);
		wrong += tally.wrong + (tally.cases == 0);
	}
	rmdir(h.dir);
	return wrong ? 1 : 0;
}
