/* SPDX-License-Identifier: MIT */
/*
 * test_redis_fuzz.c - random command lines.
 *
 * The server survives all of them, each reply is well formed (resp.c reads
 * strictly), and a call that is refused changes nothing: the digest of the
 * queue is the same. Now and then the queue is saved and loaded, and a copy of
 * it is compared.
 *
 * TKW_REDIS_FUZZ in the environment says how many lines. TKW_SEED replays a
 * run.
 */
#include "redis_bed.h"

enum {
	LINES = 20000,
	RELOAD_EACH = 2000,
	FORGET_EACH = 1500, /* the queue is deleted */
	MOST_WORDS = 14
};

static const char *const commands[] = {
	"TKW.PUT",        "TKW.PUT",    "TKW.MPUT",   "TKW.MPUT",
	"TKW.TAKE",       "TKW.TAKE",   "TKW.ACK",    "TKW.NACK",
	"TKW.EXTEND",     "TKW.CANCEL", "TKW.GET",    "TKW.LIST",
	"TKW.COUNT",      "TKW.INFO",   "TKW.DIGEST", "TKW.PAUSE",
	"TKW.RESUME",     "TKW.LIMIT",  "TKW.DEAD",   "TKW.RESCHEDULE",
	"TKW.PLAN",       "TKW.UNPLAN", "TKW.PLANS",  "TKW.PLANPAUSE",
	"TKW.PLANRESUME", "TKW.APPLY",
};

static const char *const options[] = {
	"KEY",   "REPLACE", "KEEP",    "ATTEMPTS", "BACKOFF", "MAX",
	"AT",    "COUNT",   "LEASE",   "BLOCK",    "DELAY",   "REASON",
	"STATE", "CURSOR",  "ITEMS",   "BYTES",    "PAYLOAD", "LIST",
	"ALL",   "REVIVE",  "PURGE",   "waiting",  "ready",   "taken",
	"dead",  "all",     "RECORDS", "SNAPSHOT", "key",     "at",
	"ZONE",  "MISFIRE", "GRACE",   "OVERLAP",  "NEXT",    "NAME",
	"AFTER", "TIMES",   "once",    "skip",     "allow",   "take",
	"ack",   "UTC",     "@daily",  "every 5s",
};

static const char *const numbers[] = {
	"0",
	"1",
	"2",
	"3",
	"5",
	"-1",
	"100",
	"4096",
	"4097",
	"1000",
	"4294967295",
	"4294967296",
	"9223372036854775807",
	"9223372036854775808",
	"-9223372036854775808",
	"9223372036854775",
	"00",
	"1.5",
	"1700000000000",
	"1700000000000000",
};

struct fuzz {
	struct redis_bed *b;
	uint64_t random;
	uint64_t ids[16]; /* of the last items and tokens that were seen */
	uint32_t seen;
	uint64_t refused;
	uint64_t done;
};

#define PICK(f, table)                                                         \
	(table)[server_below(&(f)->random, sizeof(table) / sizeof((table)[0]))]

/* A word of random bytes. */
static void add_noise(struct fuzz *f, struct words *w)
{
	uint8_t bytes[300];
	size_t len = server_below(&f->random, 8);

	if (server_below(&f->random, 16) == 0)
		len = server_below(&f->random, sizeof(bytes));
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)server_random(&f->random);
	words_add(w, bytes, len);
}

/* An option with something at its end. */
static void add_torn(struct fuzz *f, struct words *w)
{
	char bytes[32] = { 0 };
	const char *option = PICK(f, options);
	size_t len = strlen(option);

	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): on purpose */
	memcpy(bytes, option, len);
	bytes[len] = (char)server_below(&f->random, 3);
	words_add(w, bytes, len + server_below(&f->random, 8));
}

static void add_id(struct fuzz *f, struct words *w)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, PICK(f, f->ids));
	words_add(w, text, strlen(text));
}

static void add_word(struct fuzz *f, struct words *w)
{
	static const char *const short_words[] = { "k", "l", "m", "a" };
	const char *word;

	switch (server_below(&f->random, 12)) {
	case 0:
		add_noise(f, w);
		return;
	case 1:
		add_torn(f, w);
		return;
	case 2:
	case 3:
	case 4:
		add_id(f, w);
		return;
	case 5:
	case 6:
		word = PICK(f, short_words);
		break;
	case 7:
	case 8:
	case 9:
		word = PICK(f, numbers);
		break;
	default:
		word = PICK(f, options);
	}
	words_add(w, word, strlen(word));
}

/* Adds a number, of which most are legal. */
static void add_number(struct fuzz *f, struct words *w)
{
	const char *number = PICK(f, numbers);

	words_add(w, number, strlen(number));
}

/* Most random lines are refused, so some are made that are right but for their
 * values. */
static void add_shape(struct fuzz *f, struct words *w)
{
	static const char *const shapes[] = {
		"TKW.PUT f # a",
		"TKW.PUT f # a KEY k ATTEMPTS 2",
		"TKW.PUT f # a KEY l REPLACE BACKOFF # MAX #",
		"TKW.PUT f AT # a KEY m KEEP",
		"TKW.MPUT f # a # b KEY k ATTEMPTS 1 AT # c KEY l KEEP",
		"TKW.MPUT f 0 a 0 b 0 c ATTEMPTS 1",
		"TKW.TAKE f COUNT 3 LEASE #",
		"TKW.TAKE f",
		"TKW.ACK f @ @ @ @",
		"TKW.NACK f DELAY # @ @",
		"TKW.NACK f REASON a @ @ @ @",
		"TKW.EXTEND f # @ @",
		"TKW.CANCEL f @ @",
		"TKW.CANCEL f KEY k l",
		"TKW.RESCHEDULE f @ #",
		"TKW.RESCHEDULE f KEY k AT #",
		"TKW.LIST f STATE all COUNT 5 CURSOR @",
		"TKW.DEAD f REVIVE @",
		"TKW.DEAD f PURGE ALL",
		"TKW.LIMIT f ITEMS # BYTES # PAYLOAD #",
		"TKW.LIMIT f ITEMS 0 BYTES 0 PAYLOAD 0",
		"TKW.PLAN f k \"every 1s\" a",
		"TKW.PLAN f k @daily a ZONE Europe/Berlin GRACE # NEXT ack",
		"TKW.PLAN f l \"every 5ms\" a MISFIRE all 3 ATTEMPTS 1",
		"TKW.PLAN f l \"every 7ms\" b OVERLAP allow GRACE #",
		"TKW.PLAN f m \"every 9ms\" c MISFIRE skip GRACE #",
		"TKW.PLAN f m \"* * * * #\" b",
		"TKW.UNPLAN f k",
		"TKW.PLANPAUSE f l",
		"TKW.PLANRESUME f l",
		"TKW.PLANS f AFTER k COUNT #",
		"TKW.PLANS f NAME l TIMES #",
	};
	struct words shape = { .count = 0 };

	assert_true(words_read(&shape, PICK(f, shapes)));
	for (size_t i = 0; i < shape.count; i++) {
		if (words_is(&shape, i, "@"))
			add_id(f, w);
		else if (words_is(&shape, i, "#"))
			add_number(f, w);
		else
			words_add(w, shape.word[i].at, shape.word[i].len);
	}
	words_free(&shape);
}

static void make_line(struct fuzz *f, struct words *w)
{
	const char *command = PICK(f, commands);
	size_t count = server_below(&f->random, MOST_WORDS);

	if (server_below(&f->random, 2) == 0) {
		add_shape(f, w);
		/* And sometimes something more. */
		if (server_below(&f->random, 8) == 0)
			add_word(f, w);
		return;
	}
	words_add(w, command, strlen(command));
	if (server_below(&f->random, 40) == 0)
		words_add(w, "string", 6);
	else
		words_add(w, "f", 1);
	for (size_t i = 0; i < count; i++)
		add_word(f, w);
}

/* A take that waits would wait for us. Inside MULTI it does not. */
static bool may_wait(const struct words *w)
{
	for (size_t i = 0; i < w->count; i++) {
		if (words_is(w, i, "BLOCK"))
			return true;
	}
	return false;
}

/* Remembers numbers that look like ids or tokens. */
static void remember(struct fuzz *f, const char *reply)
{
	const char *at = reply;

	while ((at = strstr(at, "17")) != NULL) {
		uint64_t n = strtoull(at, NULL, 10);

		if (n > UINT64_C(1600000000000000))
			f->ids[f->seen++ % 16] = n;
		at += strspn(at, "0123456789");
	}
}

static void show(const struct words *w, uint64_t number, const char *reply)
{
	struct reply_text t = { 0 };

	for (size_t i = 0; i < w->count; i++) {
		reply_text_add(&t, i ? " " : "");
		reply_text_quote(&t, w->word[i].at, w->word[i].len);
	}
	print_error("line %" PRIu64 ": %s\nreply: %.200s\n", number, t.at,
		    reply);
	reply_text_free(&t);
}

/* Sends a line. Returns true if it was refused. */
static bool run_line(struct fuzz *f, const struct words *w)
{
	struct resp *c = f->b->c;
	const char *reply;

	if (may_wait(w)) {
		EXPECT(c, "OK", "MULTI");
		resp_send_words(c, w);
		resp_read(c);
		reply = resp_ask(c, "EXEC");
		reply += reply[0] == '[';
	} else {
		resp_send_words(c, w);
		reply = resp_read(c);
	}
	remember(f, reply);
	return reply[0] == '-' && (reply[1] < '0' || reply[1] > '9');
}

static void run_one(struct fuzz *f, uint64_t number)
{
	struct words w = { .count = 0 };
	char before[64];
	const char *after;
	bool refused;

	make_line(f, &w);
	snprintf(before, sizeof(before), "%s", redis_bed_digest(f->b->c, "f"));
	refused = run_line(f, &w);
	if (refused) {
		f->refused++;
		after = redis_bed_digest(f->b->c, "f");
		if (strcmp(before, after) != 0) {
			show(&w, number, "refused");
			fail_msg("a refused call has changed something");
		}
	} else {
		f->done++;
	}
	words_free(&w);
}

/* What was made is equal after a save and a load, and in a copy. */
static void reload(struct fuzz *f)
{
	struct resp *c = f->b->c;
	char before[64];

	snprintf(before, sizeof(before), "%s", redis_bed_digest(c, "f"));
	EXPECT(c, "OK", "DEBUG RELOAD");
	EXPECT(c, before, "TKW.DIGEST f");
	if (resp_number(c, "COPY f g REPLACE") == 1)
		EXPECT(c, before, "TKW.DIGEST g");
}

static void test_random_lines(void **state)
{
	struct redis_bed *b = *state;
	struct fuzz f = { .b = b, .random = server_seed() };
	uint64_t lines = server_number("TKW_REDIS_FUZZ", LINES);

	EXPECT(b->c, "OK", "SET string text");
	for (uint64_t i = 0; i < lines; i++) {
		run_one(&f, i);
		if (server_below(&f.random, 8) == 0)
			redis_bed_pass(b, (int64_t)server_below(&f.random, 50));
		if (i % RELOAD_EACH == RELOAD_EACH - 1)
			reload(&f);
		if (i % FORGET_EACH == FORGET_EACH - 1)
			resp_ask(b->c, "DEL f");
	}
	print_message("%" PRIu64 " refused, %" PRIu64 " not\n", f.refused,
		      f.done);
	/* The shapes are for this. */
	assert_true(f.refused > lines / 10);
	assert_true(f.done > lines / 10);
	EXPECT(b->c, "\"text\"", "GET string");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		REDIS_TEST_BOTH(test_random_lines),
	};

	server_need(argc, argv);
	return cmocka_run_group_tests(tests, redis_bed_begin_all,
				      redis_bed_end_all);
}
