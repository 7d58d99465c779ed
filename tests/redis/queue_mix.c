/* SPDX-License-Identifier: MIT */
/* queue_mix.c - see queue_mix.h. */
/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "queue_mix.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LONGEST = 1024,
	KEYS = 20,
	PLANS = 5
};

void queue_mix_init(struct queue_mix *m, struct resp *c, const char *queue,
		    uint64_t seed)
{
	*m = (struct queue_mix){ .c = c, .random = seed };
	snprintf(m->queue, sizeof(m->queue), "%s", queue);
}

static unsigned below(struct queue_mix *m, unsigned bound)
{
	return (unsigned)server_below(&m->random, bound);
}

/* --- arguments ------------------------------------------------------------ */

/* Adds one item to a put. */
static void add_item(struct queue_mix *m, struct reply_text *t)
{
	unsigned delay = below(m, 3) == 0 ? 1000000 : below(m, 30);

	reply_text_add(t, " %u p%u", delay, below(m, 1000000));
	if (below(m, 3) == 0) {
		static const char *const held[] = { "", " REPLACE", " KEEP" };

		reply_text_add(t, " KEY k%u%s", below(m, KEYS),
			       held[below(m, 3)]);
	}
	if (below(m, 2) == 0)
		reply_text_add(t, " ATTEMPTS %u", 1 + below(m, 3));
	if (below(m, 4) == 0)
		reply_text_add(t, " BACKOFF %u MAX %u", below(m, 20),
			       below(m, 100));
}

static void add_claims(struct queue_mix *m, struct reply_text *t)
{
	unsigned count = 1 + below(m, 4);

	for (unsigned i = 0; i < count; i++) {
		unsigned k = below(m, MIX_CLAIMS);

		reply_text_add(t, " %" PRIu64 " %" PRIu64, m->id[k],
			       m->token[k]);
	}
}

static void add_ids(struct queue_mix *m, struct reply_text *t)
{
	unsigned count = 1 + below(m, 4);

	for (unsigned i = 0; i < count; i++)
		reply_text_add(t, " %" PRIu64, m->put[below(m, MIX_CLAIMS)]);
}

/* Most of the commands, by chance. */
static void make_rare(struct queue_mix *m, struct reply_text *t)
{
	const char *q = m->queue;

	switch (below(m, 8)) {
	case 0:
		reply_text_add(t, "TKW.LIMIT %s ITEMS %u", q,
			       1000 + below(m, 1000));
		break;
	case 1:
		reply_text_add(t, "TKW.PAUSE %s", q);
		break;
	case 2:
		reply_text_add(t, "TKW.DEAD %s %s ALL", q,
			       below(m, 2) ? "REVIVE" : "PURGE");
		break;
	case 3:
		reply_text_add(t, "TKW.CANCEL %s KEY k%u k%u", q,
			       below(m, KEYS), below(m, KEYS));
		break;
	case 4:
		reply_text_add(t, "TKW.RESCHEDULE %s KEY k%u %u", q,
			       below(m, KEYS), below(m, 50));
		break;
	case 5:
		reply_text_add(t, "TKW.DEAD %s REVIVE", q);
		add_ids(m, t);
		break;
	case 6:
		reply_text_add(t, "TKW.DEAD %s PURGE", q);
		add_ids(m, t);
		break;
	default:
		reply_text_add(t, "TKW.COUNT %s", q);
	}
}

static void add_plan(struct queue_mix *m, struct reply_text *t)
{
	static const char *const options[] = {
		"",
		" MISFIRE all 3 GRACE 5",
		" MISFIRE skip GRACE 10 NEXT ack",
		" OVERLAP allow ATTEMPTS 2",
		" NEXT ack ATTEMPTS 1 BACKOFF 3 MAX 20",
		" OVERLAP allow NEXT ack MISFIRE all 100",
	};

	reply_text_add(t, "TKW.PLAN %s n%u \"every %ums\" p%u%s", m->queue,
		       below(m, PLANS), 1 + below(m, 40), below(m, 1000000),
		       options[below(m, 6)]);
}

static void make_plan(struct queue_mix *m, struct reply_text *t)
{
	static const char *const changes[] = { "UNPLAN", "PLANPAUSE",
					       "PLANRESUME", "PLANRESUME" };

	if (below(m, 2) == 0)
		add_plan(m, t);
	else
		reply_text_add(t, "TKW.%s %s n%u", changes[below(m, 4)],
			       m->queue, below(m, PLANS));
}

static void make_claim(struct queue_mix *m, struct reply_text *t)
{
	switch (below(m, 4)) {
	case 0:
		reply_text_add(t, "TKW.NACK %s REASON r%u", m->queue,
			       below(m, 1000));
		if (below(m, 2) == 0)
			reply_text_add(t, " DELAY %u", below(m, 30));
		break;
	case 1:
		reply_text_add(t, "TKW.EXTEND %s %u", m->queue,
			       1 + below(m, 100));
		break;
	default:
		reply_text_add(t, "TKW.ACK %s", m->queue);
	}
	add_claims(m, t);
}

static void make_command(struct queue_mix *m, struct reply_text *t)
{
	const char *q = m->queue;

	switch (below(m, 13)) {
	case 0:
	case 1:
	case 2:
		reply_text_add(t, "TKW.PUT %s", q);
		add_item(m, t);
		break;
	case 3:
		reply_text_add(t, "TKW.MPUT %s", q);
		for (unsigned i = 0; i < 4; i++)
			add_item(m, t);
		break;
	case 4:
	case 5:
	case 6:
		reply_text_add(t, "TKW.TAKE %s COUNT %u LEASE %u", q,
			       1 + below(m, 5),
			       below(m, 2) ? 1000000 : 1 + below(m, 30));
		break;
	case 7:
	case 8:
		make_claim(m, t);
		break;
	case 9:
		reply_text_add(t, "TKW.CANCEL %s", q);
		add_ids(m, t);
		break;
	case 10:
		make_rare(m, t);
		break;
	case 11:
		make_plan(m, t);
		break;
	default:
		reply_text_add(t, "TKW.RESUME %s", q);
	}
}

/* --- replies -------------------------------------------------------------- */

/* Remembers claims ([id, "payload", token, ...) and ids. */
static void remember(struct queue_mix *m, const char *reply)
{
	uint64_t id;
	uint64_t token;

	if (isdigit((unsigned char)reply[0]))
		m->put[m->puts++ % MIX_CLAIMS] = strtoull(reply, NULL, 10);
	for (const char *at = reply; (at = strchr(at, '[')); at++) {
		if (sscanf(at, "[%" SCNu64 ", \"%*[^\"]\", %" SCNu64, &id,
			   &token) != 2)
			continue;
		m->id[m->claims % MIX_CLAIMS] = id;
		m->token[m->claims++ % MIX_CLAIMS] = token;
	}
}

/* A right command may be refused only for these reasons. */
static bool is_legal(const char *reply)
{
	if (reply[0] != '-' || isdigit((unsigned char)reply[1]))
		return true;
	return strncmp(reply, "-TKW", 4) == 0;
}

/* Scripts give errors another form. */
static bool is_legal_of_script(const char *reply)
{
	return is_legal(reply) || strstr(reply, "TKWEXISTS") ||
	       strstr(reply, "TKWTAKEN") || strstr(reply, "TKWFULL");
}

static const char *run_in_transaction(struct queue_mix *m, const char *line)
{
	if (!resp_try_ask(m->c, "MULTI") || !resp_try_ask(m->c, "%s", line) ||
	    !resp_try_ask(m->c, "TKW.TAKE %s LEASE 1000000", m->queue))
		return NULL;
	return resp_try_ask(m->c, "EXEC");
}

const char *queue_mix_step(struct queue_mix *m)
{
	struct reply_text line = { 0 };
	unsigned way = below(m, 16);
	const char *reply;

	make_command(m, &line);
	assert_true(line.len < LONGEST);
	if (way == 0)
		reply = run_in_transaction(m, line.at);
	else if (way == 1)
		reply = resp_try_ask(m->c,
				     "EVAL \"return redis.call(unpack(ARGV))\" "
				     "1 %s %s",
				     m->queue, line.at);
	else
		reply = resp_try_ask(m->c, "%s", line.at);
	m->commands++;
	if (reply && !(way == 1 ? is_legal_of_script(reply) : is_legal(reply)))
		fail_msg("%s: %s", line.at, reply);
	reply_text_free(&line);
	if (reply)
		remember(m, reply);
	return reply;
}

void queue_mix_run(struct queue_mix *m, uint32_t steps)
{
	while (steps-- > 0)
		assert_non_null(queue_mix_step(m));
}

/* --- a queue that has everything ------------------------------------------ */

/* Runs a command on the queue. It must not be refused. */
static void must(struct resp *c, const char *queue, const char *command,
		 const char *arguments)
{
	const char *reply =
		resp_ask(c, "TKW.%s %s %s", command, queue, arguments);

	if (reply[0] == '-')
		fail_msg("TKW.%s %s %s: %s", command, queue, arguments, reply);
}

static void set_clock(struct resp *c, int64_t ms)
{
	EXPECT(c, "OK", "TKW.CLOCK %" PRId64, ms * 1000);
}

/* Ids and tokens begin at SERVER_START_US. */
#define ID(n) "170000000000000" #n
#define CLAIM(n) ID(n) " " ID(n)

void queue_mix_fill(struct resp *c, const char *queue)
{
	set_clock(c, SERVER_START_MS);
	must(c, queue, "MPUT",
	     "0 dead ATTEMPTS 1 0 lost KEY lost BACKOFF 7 MAX 9 0 nacked "
	     "ATTEMPTS 5 0 extended 0 revived ATTEMPTS 1 0 acked 0 died "
	     "ATTEMPTS 1 KEY died 0 purged ATTEMPTS 1 0 taken KEY taken");
	must(c, queue, "TAKE", "COUNT 9 LEASE 500");
	must(c, queue, "NACK",
	     "REASON \"no\\x00\" " CLAIM(0) " " CLAIM(2) " " CLAIM(4) " " CLAIM(
		     7));
	must(c, queue, "EXTEND", "7000 " CLAIM(3) " " CLAIM(8));
	must(c, queue, "DEAD", "REVIVE " ID(4));
	must(c, queue, "DEAD", "PURGE " ID(7));
	must(c, queue, "ACK", CLAIM(5));
	set_clock(c, SERVER_START_MS + 500);
	must(c, queue, "COUNT", "");
	must(c, queue, "PUT", "60000 replaced KEY r");
	must(c, queue, "PUT", "70000 \"new\\xff\" KEY r REPLACE ATTEMPTS 9");
	must(c, queue, "PUT", "0 \"\" KEY \"\\x01\"");
	must(c, queue, "PUT", "80000 moved KEY m BACKOFF 5");
	must(c, queue, "RESCHEDULE", "KEY m AT 1800000000000");
	must(c, queue, "PUT", "9 cancelled KEY c");
	must(c, queue, "CANCEL", "KEY c");
	must(c, queue, "LIMIT", "ITEMS 123456 BYTES 7654321 PAYLOAD 54321");
	must(c, queue, "PAUSE", "");
}

void queue_mix_plan(struct resp *c, const char *queue)
{
	set_clock(c, SERVER_START_MS);
	must(c, queue, "PLAN", "dead \"every 1s\" d ATTEMPTS 1 NEXT ack");
	must(c, queue, "PLAN", "left-out \"every 1s\" l");
	must(c, queue, "PLAN",
	     "missed \"every 2s from 2000-01-01T00:00:01Z\" m MISFIRE skip "
	     "GRACE 5");
	must(c, queue, "PLAN", "on-ack \"every 1s\" o NEXT ack");
	must(c, queue, "PLAN",
	     "all \"* * * * * *\" \"\\x00\\xff\" ZONE America/New_York "
	     "MISFIRE all 3 GRACE 1000000 OVERLAP allow NEXT ack ATTEMPTS 5 "
	     "BACKOFF 7 MAX 9");
	must(c, queue, "PLAN", "\"\\x00\" \"every 1d\" \"\"");
	must(c, queue, "PLAN", "gone @hourly g");
	must(c, queue, "UNPLAN", "gone");
	must(c, queue, "PLAN", "paused @hourly p");
	must(c, queue, "PLANPAUSE", "paused");
	must(c, queue, "PLAN", "replaced @hourly r");
	must(c, queue, "PLAN", "replaced @daily s ZONE Europe/Berlin");
	must(c, queue, "PLAN", "cancelled @hourly c");
	must(c, queue, "CANCEL", "KEY cancelled@1700002800000");
	must(c, queue, "PLAN", "moved @hourly m");
	must(c, queue, "RESCHEDULE",
	     "KEY moved@1700002800000 AT 1800000000000");
	/* The items of the first second are taken: dead, left-out, on-ack, all
	 * and missed. */
	set_clock(c, SERVER_START_MS + 1000);
	must(c, queue, "TAKE", "COUNT 9 LEASE 1100");
	set_clock(c, SERVER_START_MS + 2100);
	must(c, queue, "TAKE", "COUNT 9 LEASE 1000000");
	/* What was missed or overlaps ends now. */
	set_clock(c, SERVER_START_MS + 3500);
	must(c, queue, "TAKE", "COUNT 9 LEASE 1000000");
}

/* A number of a reply to TKW.INFO. */
static int64_t fact(const char *info, const char *name)
{
	return strtoll(resp_value(info, name), NULL, 10);
}

/* All from one reply: the clock may not stand still. */
void queue_mix_check(struct resp *c, const char *queue)
{
	static const char *const ends[] = { "acks",    "cancels", "purges",
					    "waiting", "ready",   "taken",
					    "dead" };
	const char *info = resp_ask(c, "TKW.INFO %s", queue);
	int64_t sum = 0;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sum += fact(info, ends[i]);
	assert_int_equal(fact(info, "puts"), sum);
}
