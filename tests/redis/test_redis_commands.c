/* SPDX-License-Identifier: MIT */
/*
 * test_redis_commands.c - each command and option of the module, with RESP2 and
 * RESP3.
 *
 * What a queue answers is also in queue.cases. Here is what only the module
 * has: the types of replies, options in any order, refusals, and queues that do
 * not exist.
 */
#include "redis_bed.h"

/* The clock stands still at the beginning, so ids and tokens are known. */
#define T0 "1700000000000"
#define N0 "1700000000000000"
#define N1 "1700000000000001"
#define N2 "1700000000000002"
#define N3 "1700000000000003"

/* --- put ------------------------------------------------------------------ */

static void test_put_replies_with_an_integer(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	assert_string_equal(resp_raw(b->c), ":" N0 "\r\n");
	EXPECT(b->c, N1, "tkw.put q 1000 b");
	EXPECT(b->c, "1", "EXISTS q");
	EXPECT(b->c, "tickwheel", "TYPE q");
}

static void expect_all_options(struct redis_bed *b)
{
	EXPECT(b->c,
	       "{\"id\": " N0 ", \"state\": \"waiting\", \"due\": "
	       "1700000000050, \"attempts\": 0, \"max_attempts\": 3, "
	       "\"backoff\": 100, \"max_backoff\": 400, \"token\": 0, "
	       "\"expires\": 0, \"died\": 0, \"planned\": 0, \"key\": \"k\", "
	       "\"reason\": \"\", "
	       "\"payload\": \"a\"}",
	       "TKW.GET q KEY k");
}

static void test_put_takes_options_in_any_order(void **state)
{
	static const char *const options[] = {
		"KEY k ATTEMPTS 3 BACKOFF 100 MAX 400",
		"ATTEMPTS 3 KEY k BACKOFF 100 MAX 400",
		"BACKOFF 100 MAX 400 ATTEMPTS 3 KEY k",
		"BACKOFF 100 ATTEMPTS 3 MAX 400 KEY k",
		"key k REPLACE attempts 3 backoff 100 max 400",
		"KEY k ATTEMPTS 3 KEEP Backoff 100 Max 400",
	};
	struct redis_bed *b = *state;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		EXPECT(b->c, N0, "TKW.PUT q 50 a %s", options[i]);
		expect_all_options(b);
		EXPECT(b->c, "1", "DEL q");
	}
	EXPECT(b->c, N0, "TKW.PUT q at 1700000000050 a %s", options[0]);
	expect_all_options(b);
}

static void test_put_takes_what_looks_like_an_option(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, N0, "TKW.PUT q 0 KEY KEY KEY");
	EXPECT(b->c, N0, "TKW.PUT AT AT 1 AT KEY REPLACE REPLACE");
	EXPECT(b->c, "[[" N0 ", \"KEY\", " N0 ", 1, " T0 ", \"KEY\", 0]]",
	       "TKW.TAKE q");
	EXPECT(b->c, "[[" N0 ", \"AT\", " N0 ", 1, 1, \"REPLACE\", 0]]",
	       "TKW.TAKE AT");
}

static void test_put_negative_times_count_as_0(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, N0, "TKW.PUT q -9223372036854775808 a");
	EXPECT(b->c, N1, "TKW.PUT q AT -5 b");
	EXPECT(b->c,
	       "[[" N1 ", \"b\", " N0 ", 1, 0, nil, 0], [" N0 ", \"a\", " N1
	       ", 1, " T0 ", nil, 0]]",
	       "TKW.TAKE q COUNT 2");
}

static void test_mput_replies_with_an_array(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, "[" N0 "]", "TKW.MPUT q 0 a");
	EXPECT(b->c, "[" N1 ", " N2 ", " N3 "]",
	       "TKW.MPUT q 0 a KEY x 1000 b AT 1700000000500 c ATTEMPTS 3");
	EXPECT(b->c,
	       "{\"waiting\": 2, \"ready\": 2, \"taken\": 0, \"dead\": 0}",
	       "TKW.COUNT q");
}

static void test_mput_puts_as_many_as_a_command_has(void **state)
{
	struct redis_bed *b = *state;
	struct reply_text line = { 0 };

	/* More than the words of words.h: so by Lua, in one command. */
	reply_text_add(&line, "EVAL \"local a = {'TKW.MPUT', KEYS[1]} ");
	reply_text_add(&line, "for i = 1, 3000 do a[#a + 1] = i "
			      "a[#a + 1] = 'p' .. i end ");
	reply_text_add(&line, "return #redis.call(unpack(a))\" 1 q");
	EXPECT(b->c, "3000", "%s", line.at);
	reply_text_free(&line);
	assert_int_equal(resp_fact(b->c, "q", "waiting"), 3000);
}

/* --- take ----------------------------------------------------------------- */

static void test_take_replies_with_arrays(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, "[" N0 ", " N1 "]", "TKW.MPUT q 0 a 0 b KEY k");
	EXPECT(b->c,
	       "[[" N0 ", \"a\", " N0 ", 1, " T0 ", nil, 0], [" N1
	       ", \"b\", " N1 ", 1, " T0 ", \"k\", 0]]",
	       "TKW.TAKE q lease 500 count 7");
	EXPECT(b->c, "nil", "TKW.TAKE q");
	assert_string_equal(resp_raw(b->c),
			    b->version == 2 ? "*-1\r\n" : "_\r\n");
}

static void test_take_options_in_any_order(void **state)
{
	static const char *const options[] = {
		"COUNT 1 LEASE 100 BLOCK 5",
		"BLOCK 5 LEASE 100 COUNT 1",
		"LEASE 100 BLOCK 5 COUNT 1",
	};
	struct redis_bed *b = *state;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		EXPECT(b->c, N0, "TKW.PUT q 0 a");
		EXPECT(b->c, "[[" N0 ", \"a\", " N0 ", 1, " T0 ", nil, 0]]",
		       "TKW.TAKE q %s", options[i]);
		EXPECT(b->c,
		       "{\"id\": " N0 ", \"state\": \"taken\", \"due\": " T0
		       ", \"attempts\": 1, \"max_attempts\": 0, \"backoff\": "
		       "0, \"max_backoff\": 0, \"token\": " N0
		       ", \"expires\": 1700000000100, ...",
		       "TKW.GET q " N0);
		EXPECT(b->c, "1", "DEL q");
	}
}

static void test_take_takes_4096(void **state)
{
	struct redis_bed *b = *state;
	const char *reply;
	size_t items = 0;

	EXPECT(b->c, "nil",
	       "EVAL \"for i = 1, 5000 do redis.call('TKW.PUT', KEYS[1], 0, i) "
	       "end\" 1 q");
	reply = resp_ask(b->c, "TKW.TAKE q COUNT 4096");
	for (const char *at = reply; (at = strstr(at, ", nil, 0]")); at++)
		items++;
	assert_int_equal(items, 4096);
	assert_int_equal(resp_fact(b->c, "q", "taken"), 4096);
	assert_int_equal(resp_fact(b->c, "q", "ready"), 5000 - 4096);
}

/* --- claims --------------------------------------------------------------- */

static void test_claims_have_an_answer_each(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, "[" N0 ", " N1 ", " N2 "]", "TKW.MPUT q 0 a 0 b 0 c");
	EXPECT(b->c, "[[...", "TKW.TAKE q COUNT 3");
	EXPECT(b->c, "[1, 0]", "TKW.EXTEND q 5000 " N0 " " N0 " " N1 " 1");
	EXPECT(b->c, "[1, 0]", "TKW.ACK q " N0 " " N0 " 5 5");
	EXPECT(b->c, "[1]", "TKW.NACK q REASON r DELAY 5 " N1 " " N1);
	EXPECT(b->c, "[1]", "TKW.NACK q delay -5 reason \"\" " N2 " " N2);
	EXPECT(b->c,
	       "{\"id\": " N1 ", \"state\": \"waiting\", \"due\": "
	       "1700000000005, \"attempts\": 1, \"max_attempts\": 0, "
	       "\"backoff\": 0, \"max_backoff\": 0, \"token\": 0, \"expires\": "
	       "0, \"died\": 0, \"planned\": 0, \"key\": nil, \"reason\": "
	       "\"r\", \"payload\": "
	       "\"b\"}",
	       "TKW.GET q " N1);
	EXPECT(b->c,
	       "{\"waiting\": 1, \"ready\": 1, \"taken\": 0, \"dead\": 0}",
	       "TKW.COUNT q");
}

static void test_a_reason_may_have_any_bytes(void **state)
{
	struct redis_bed *b = *state;
	const char *facts;

	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	EXPECT(b->c, "[[...", "TKW.TAKE q");
	EXPECT(b->c, "[1]", "TKW.NACK q REASON \"a\\x00b\" " N0 " " N0);
	facts = resp_ask(b->c, "TKW.GET q " N0);
	assert_non_null(strstr(facts, "\"a\\x00b\""));
}

/* --- looking -------------------------------------------------------------- */

/* SPEC 11.30. */
static void test_maps_are_maps_in_resp3_alone(void **state)
{
	struct redis_bed *b = *state;
	const char *kind = b->version == 3 ? "%" : "*";
	char begin[16];

	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	resp_ask(b->c, "TKW.GET q " N0);
	snprintf(begin, sizeof(begin), "%s%d\r\n", kind,
		 b->version == 3 ? 14 : 28);
	assert_memory_equal(resp_raw(b->c), begin, strlen(begin));
	resp_ask(b->c, "TKW.COUNT q");
	snprintf(begin, sizeof(begin), "%s%d\r\n", kind,
		 b->version == 3 ? 4 : 8);
	assert_memory_equal(resp_raw(b->c), begin, strlen(begin));
	resp_ask(b->c, "TKW.INFO q");
	assert_memory_equal(resp_raw(b->c), kind, 1);
	resp_ask(b->c, "TKW.LIST q STATE all");
	assert_memory_equal(resp_raw(b->c), "*2\r\n$1\r\n0\r\n*1\r\n", 15);
	assert_memory_equal(resp_raw(b->c) + 15, kind, 1);
}

static void test_info_has_all_facts(void **state)
{
	struct redis_bed *b = *state;
	const char *memory;
	char want[1024];

	EXPECT(b->c, "OK", "TKW.LIMIT q ITEMS 5 BYTES 600 PAYLOAD 70");
	EXPECT(b->c, "[" N0 ", " N1 "]", "TKW.MPUT q 0 a KEY k 0 bb");
	redis_bed_pass(b, 3);
	EXPECT(b->c, "[[...", "TKW.TAKE q");
	resp_ask(b->c, "TKW.INFO q");
	memory = strstr(resp_ask(b->c, "TKW.INFO q"), "\"memory\"");
	assert_non_null(memory);
	snprintf(want, sizeof(want),
		 "{\"waiting\": 0, \"ready\": 1, \"taken\": 1, \"dead\": 0, "
		 "\"items\": 2, \"plans\": 0, \"bytes\": 4, \"memory\": %lld, "
		 "\"paused\": 0, "
		 "\"oldest_age\": 3, \"puts\": 2, \"takes\": 1, \"acks\": 0, "
		 "\"nacks\": 0, \"losses\": 0, \"deaths\": 0, \"revivals\": 0, "
		 "\"cancels\": 0, \"purges\": 0, \"replaces\": 0, \"extends\": "
		 "0, \"reschedules\": 0, \"last_id\": " N1 ", \"last_token\": "
		 "1700000000003000, \"max_items\": 5, \"max_bytes\": 600, "
		 "\"max_payload\": 70, \"waiting_clients\": 0, \"quiet\": 1, "
		 "\"lateness\": {\"3\": 1}}",
		 strtoll(memory + 10, NULL, 10));
	EXPECT(b->c, want, "TKW.INFO q");
}

static void test_list_has_each_item_over_its_cursors(void **state)
{
	struct redis_bed *b = *state;
	char cursor[32] = "0";
	unsigned items = 0;
	unsigned calls = 0;

	EXPECT(b->c, "nil",
	       "EVAL \"for i = 1, 1000 do redis.call('TKW.PUT', KEYS[1], 0, i) "
	       "end\" 1 q");
	do {
		const char *at = resp_ask(b->c,
					  "TKW.LIST q STATE ready CURSOR %s "
					  "COUNT 10",
					  cursor);

		assert_int_equal(sscanf(at, "[\"%31[0-9]\"", cursor), 1);
		for (; (at = strstr(at, "\"id\"")); at++)
			items++;
		calls++;
	} while (strcmp(cursor, "0") != 0);
	assert_true(items >= 1000);
	assert_true(calls >= 50);
}

static void test_list_refuses_a_cursor_of_more_than_64_bits(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	EXPECT(b->c, "-ERR ...",
	       "TKW.LIST q STATE all CURSOR 18446744073709551616");
	EXPECT(b->c, "[\"0\", ...",
	       "TKW.LIST q STATE dead CURSOR 9223372036854775807");
}

static void test_dead_list_revive_and_purge(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, "[" N0 ", " N1 "]",
	       "TKW.MPUT q 0 a ATTEMPTS 1 0 b ATTEMPTS 1");
	EXPECT(b->c, "[[...", "TKW.TAKE q COUNT 2");
	EXPECT(b->c, "[1, 1]", "TKW.NACK q " N0 " " N0 " " N1 " " N1);
	EXPECT(b->c, "[\"0\", [{\"id\": " N0 ", \"state\": \"dead\", ...",
	       "TKW.DEAD q LIST");
	EXPECT(b->c, "[\"" N1 "\", [{\"id\": " N0 ", \"state\": \"dead\", ...",
	       "TKW.DEAD q list COUNT 1");
	EXPECT(b->c, "[\"0\", [{\"id\": " N1 ", \"state\": \"dead\", ...",
	       "TKW.DEAD q LIST COUNT 1 CURSOR " N1);
	EXPECT(b->c, "[1, 0]", "TKW.DEAD q REVIVE " N0 " 7");
	EXPECT(b->c, "[1]", "TKW.DEAD q purge " N1);
	EXPECT(b->c, "[0, 0]", "TKW.DEAD q REVIVE all");
}

/* A call does 4096 items, and says if there are more. */
static void test_dead_all_works_in_pieces(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, "nil",
	       "EVAL \"for i = 1, 5000 do redis.call('TKW.PUT', KEYS[1], 0, "
	       "i, 'ATTEMPTS', 1) end\" 1 q");
	resp_ask(b->c, "TKW.TAKE q COUNT 4096 LEASE 1");
	resp_ask(b->c, "TKW.TAKE q COUNT 4096 LEASE 1");
	redis_bed_pass(b, 1);
	while (strncmp(resp_ask(b->c, "TKW.DEAD q REVIVE ALL"), "[0, ", 4) == 0)
		;
	while (strcmp(resp_ask(b->c, "TKW.DEAD q REVIVE ALL"), "[0, 0]") != 0)
		;
	assert_int_equal(resp_fact(b->c, "q", "revivals"), 5000);
	assert_int_equal(resp_fact(b->c, "q", "dead"), 0);
	resp_ask(b->c, "TKW.TAKE q COUNT 4096 LEASE 1");
	resp_ask(b->c, "TKW.TAKE q COUNT 4096 LEASE 1");
	redis_bed_pass(b, 1);
	/* Counting settles what has run out. */
	WAIT_UNTIL(resp_fact(b->c, "q", "dead") == 5000);
	EXPECT(b->c, "[4096, 1]", "TKW.DEAD q PURGE ALL");
	EXPECT(b->c, "[904, 0]", "TKW.DEAD q PURGE ALL");
	EXPECT(b->c, "[0, 0]", "TKW.DEAD q PURGE ALL");
}

static void test_digest_has_16_digits(void **state)
{
	struct redis_bed *b = *state;
	const char *digest;

	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	digest = redis_bed_digest(b->c, "q");
	assert_int_equal(strlen(digest), 18);
	assert_int_equal(strspn(digest + 1, "0123456789abcdef"), 16);
}

/* --- queues that do not exist, or are something else ---------------------- */

/* SPEC 11.30. */
static void test_a_missing_queue_acts_as_an_empty_one(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, "nil", "TKW.TAKE q");
	EXPECT(b->c, "nil", "TKW.TAKE q BLOCK 1");
	EXPECT(b->c, "[0, 0]", "TKW.ACK q 1 1 2 2");
	EXPECT(b->c, "[0]", "TKW.NACK q 1 1");
	EXPECT(b->c, "[0]", "TKW.EXTEND q 5 1 1");
	EXPECT(b->c, "[0, 0]", "TKW.CANCEL q 1 2");
	EXPECT(b->c, "[0]", "TKW.CANCEL q KEY k");
	EXPECT(b->c, "0", "TKW.RESCHEDULE q KEY k 0");
	EXPECT(b->c, "nil", "TKW.GET q 1");
	EXPECT(b->c, "[\"0\", []]", "TKW.LIST q STATE all");
	EXPECT(b->c,
	       "{\"waiting\": 0, \"ready\": 0, \"taken\": 0, \"dead\": 0}",
	       "TKW.COUNT q");
	EXPECT(b->c, "nil", "TKW.INFO q");
	EXPECT(b->c, "nil", "TKW.DIGEST q");
	EXPECT(b->c, "OK", "TKW.RESUME q");
	EXPECT(b->c, "[\"0\", []]", "TKW.DEAD q LIST");
	EXPECT(b->c, "[0]", "TKW.DEAD q REVIVE 1");
	EXPECT(b->c, "[0, 0]", "TKW.DEAD q PURGE ALL");
	EXPECT(b->c, "0", "EXISTS q");
	EXPECT(b->c, "0", "DBSIZE");
}

static void test_put_pause_and_limit_create_a_queue(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, N0, "TKW.PUT a 0 x");
	EXPECT(b->c, "[" N0 "]", "TKW.MPUT b 0 x");
	EXPECT(b->c, "OK", "TKW.PAUSE c");
	EXPECT(b->c, "OK", "TKW.LIMIT d ITEMS 5");
	EXPECT(b->c, "4", "EXISTS a b c d");
	assert_int_equal(resp_fact(b->c, "c", "paused"), 1);
	assert_int_equal(resp_fact(b->c, "d", "max_items"), 5);
}

static void test_an_empty_queue_stays_until_it_is_deleted(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	EXPECT(b->c, "[1]", "TKW.CANCEL q " N0);
	EXPECT(b->c, "1", "EXISTS q");
	assert_int_equal(resp_fact(b->c, "q", "cancels"), 1);
	EXPECT(b->c, N1, "TKW.PUT q 0 a");
	EXPECT(b->c, "1", "DEL q");
	EXPECT(b->c, N0, "TKW.PUT q 0 a");
}

/* Each command, with arguments that are right. */
static const char *const right[] = {
	"TKW.PUT %s 0 a",      "TKW.MPUT %s 0 a 0 b",
	"TKW.TAKE %s",         "TKW.ACK %s 1 1",
	"TKW.NACK %s 1 1",     "TKW.EXTEND %s 5 1 1",
	"TKW.CANCEL %s 1",     "TKW.RESCHEDULE %s 1 0",
	"TKW.GET %s 1",        "TKW.LIST %s STATE all",
	"TKW.COUNT %s",        "TKW.INFO %s",
	"TKW.DIGEST %s",       "TKW.PAUSE %s",
	"TKW.RESUME %s",       "TKW.LIMIT %s ITEMS 1",
	"TKW.DEAD %s LIST",    "TKW.DEAD %s REVIVE ALL",
	"TKW.DEAD %s PURGE 1", "TKW.PLAN %s p @daily a",
	"TKW.UNPLAN %s p",     "TKW.PLANS %s",
	"TKW.PLANPAUSE %s p",  "TKW.PLANRESUME %s p",
};

enum {
	RIGHT = sizeof(right) / sizeof(right[0])
};

/* A line of a table, with the name of a queue. Valid until the next call. */
static const char *line_of(const char *line, const char *queue)
{
	static char out[1024];
	const char *name = strstr(line, "%s");

	snprintf(out, sizeof(out), "%.*s%s%s", (int)(name - line), line, queue,
		 name + 2);
	return out;
}

static void test_a_key_of_another_type_is_refused(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, "OK", "SET s text");
	EXPECT(b->c, "1", "RPUSH l a");
	EXPECT(b->c, "\"1-1\"", "XADD x 1-1 f v");
	for (size_t i = 0; i < RIGHT; i++) {
		EXPECT(b->c, "-WRONGTYPE ...", "%s", line_of(right[i], "s"));
		EXPECT(b->c, "-WRONGTYPE ...", "%s", line_of(right[i], "l"));
		EXPECT(b->c, "-WRONGTYPE ...", "%s", line_of(right[i], "x"));
	}
	EXPECT(b->c, "-WRONGTYPE ...", "TKW.TAKE s BLOCK 0");
	EXPECT(b->c, "\"text\"", "GET s");
	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	EXPECT(b->c, "-WRONGTYPE ...", "GET q");
	EXPECT(b->c, "-WRONGTYPE ...", "LPUSH q a");
}

static void test_each_command_needs_its_arguments(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	for (size_t i = 0; i < RIGHT; i++) {
		struct words w = { .count = 0 };

		assert_true(words_read(&w, right[i]));
		EXPECT(b->c, "-ERR wrong number of arguments ...", "%s",
		       w.word[0].at);
		words_free(&w);
	}
	EXPECT(b->c, "-ERR wrong number of arguments ...", "TKW.COUNT q x");
	EXPECT(b->c, "-ERR wrong number of arguments ...", "TKW.INFO q x");
	EXPECT(b->c, "-ERR wrong number of arguments ...", "TKW.DIGEST q x");
	EXPECT(b->c, "-ERR wrong number of arguments ...", "TKW.PAUSE q x");
	EXPECT(b->c, "-ERR wrong number of arguments ...", "TKW.RESUME q x");
}

/* --- refusals ------------------------------------------------------------- */

static const char *const wrong[] = {
	/* put */
	"TKW.PUT %s 0",
	"TKW.PUT %s x a",
	"TKW.PUT %s 1.5 a",
	"TKW.PUT %s 1e3 a",
	"TKW.PUT %s \"\" a",
	"TKW.PUT %s \" 1\" a",
	"TKW.PUT %s 9223372036854775808 a",
	"TKW.PUT %s AT 5",
	"TKW.PUT %s AT a a",
	"TKW.PUT %s 0 AT 5 a",
	"TKW.PUT %s \"0\\x00\" a",
	"TKW.PUT %s \"AT\\x00\" 5 a",
	"TKW.PUT %s 0 a 0 b",
	"TKW.PUT %s 0 a KEY",
	"TKW.PUT %s 0 a KEY \"\"",
	"TKW.PUT %s 0 a KEY \"k\"*256",
	"TKW.PUT %s 0 a KEY x KEY y",
	"TKW.PUT %s 0 a KEY x REPLACE KEEP",
	"TKW.PUT %s 0 a KEY x REPLACE REPLACE",
	"TKW.PUT %s 0 a KEY x KEEP KEEP",
	"TKW.PUT %s 0 a REPLACE",
	"TKW.PUT %s 0 a KEEP",
	"TKW.PUT %s 0 a ATTEMPTS",
	"TKW.PUT %s 0 a ATTEMPTS -1",
	"TKW.PUT %s 0 a ATTEMPTS x",
	"TKW.PUT %s 0 a ATTEMPTS 4294967296",
	"TKW.PUT %s 0 a ATTEMPTS 1 ATTEMPTS 1",
	"TKW.PUT %s 0 a BACKOFF",
	"TKW.PUT %s 0 a BACKOFF -1",
	"TKW.PUT %s 0 a BACKOFF x",
	"TKW.PUT %s 0 a BACKOFF 4294967296",
	"TKW.PUT %s 0 a BACKOFF 1 BACKOFF 1",
	"TKW.PUT %s 0 a BACKOFF 1 MAX",
	"TKW.PUT %s 0 a BACKOFF 1 MAX -1",
	"TKW.PUT %s 0 a BACKOFF 1 MAX 4294967296",
	"TKW.PUT %s 0 a BACKOFF 1 MAX 1 MAX 1",
	"TKW.PUT %s 0 a MAX 5",
	"TKW.PUT %s 0 a NOSUCH",
	"TKW.PUT %s 0 a NOSUCH 5",
	"TKW.PUT %s 0 a \"KEY\\x00\" k",
	"TKW.PUT %s 0 a \"\"",
	/* mput */
	"TKW.MPUT %s 0",
	"TKW.MPUT %s 0 a 0",
	"TKW.MPUT %s 0 a KEY x 0 b KEY",
	"TKW.MPUT %s 0 a KEY x KEY y 0 b",
	"TKW.MPUT %s 0 a NOSUCH 0 b",
	"TKW.MPUT %s 0 a x b",
	"TKW.MPUT %s 0 a AT 5",
	"TKW.MPUT %s 0 a ATTEMPTS x 0 b",
	"TKW.MPUT %s 0 a 0 b MAX 5",
	"TKW.MPUT %s 0 a REPLACE 0 b KEY x",
	/* take */
	"TKW.TAKE %s COUNT",
	"TKW.TAKE %s COUNT 0",
	"TKW.TAKE %s COUNT -1",
	"TKW.TAKE %s COUNT 4097",
	"TKW.TAKE %s COUNT x",
	"TKW.TAKE %s COUNT 1 COUNT 1",
	"TKW.TAKE %s LEASE",
	"TKW.TAKE %s LEASE 0",
	"TKW.TAKE %s LEASE -1",
	"TKW.TAKE %s LEASE x",
	"TKW.TAKE %s LEASE 9223372036854775807",
	"TKW.TAKE %s LEASE 1 LEASE 1",
	"TKW.TAKE %s BLOCK",
	"TKW.TAKE %s BLOCK -1",
	"TKW.TAKE %s BLOCK x",
	"TKW.TAKE %s BLOCK 1 BLOCK 1",
	"TKW.TAKE %s NOSUCH",
	"TKW.TAKE %s 5",
	/* claims */
	"TKW.ACK %s 1",
	"TKW.ACK %s 1 2 3",
	"TKW.ACK %s x 1",
	"TKW.ACK %s 1 x",
	"TKW.ACK %s -1 1",
	"TKW.ACK %s 1 1 NOSUCH 1",
	"TKW.NACK %s 1",
	"TKW.NACK %s DELAY 5",
	"TKW.NACK %s DELAY x 1 1",
	"TKW.NACK %s DELAY 1 DELAY 1 1 1",
	"TKW.NACK %s REASON r",
	"TKW.NACK %s REASON a REASON b 1 1",
	"TKW.NACK %s REASON \"r\"*256 1 1",
	"TKW.NACK %s REASON r 1",
	"TKW.NACK %s NOSUCH 1 1 1",
	"TKW.EXTEND %s 5 1",
	"TKW.EXTEND %s 0 1 1",
	"TKW.EXTEND %s -1 1 1",
	"TKW.EXTEND %s x 1 1",
	"TKW.EXTEND %s 5 1 x",
	"TKW.EXTEND %s 9223372036854775807 1 1",
	/* items by name */
	"TKW.CANCEL %s x",
	"TKW.CANCEL %s KEY",
	"TKW.CANCEL %s KEY \"\"",
	"TKW.CANCEL %s KEY \"k\"*256",
	"TKW.CANCEL %s 1 KEY k",
	"TKW.CANCEL %s 1 x",
	"TKW.RESCHEDULE %s 1",
	"TKW.RESCHEDULE %s 1 x",
	"TKW.RESCHEDULE %s x 0",
	"TKW.RESCHEDULE %s KEY k",
	"TKW.RESCHEDULE %s KEY k AT",
	"TKW.RESCHEDULE %s KEY k AT x",
	"TKW.RESCHEDULE %s 1 0 0",
	"TKW.GET %s x",
	"TKW.GET %s KEY",
	"TKW.GET %s 1 2",
	"TKW.GET %s KEY k l",
	"TKW.LIST %s waiting",
	"TKW.LIST %s STATE",
	"TKW.LIST %s STATE nosuch",
	"TKW.LIST %s STATE all CURSOR",
	"TKW.LIST %s STATE all CURSOR x",
	"TKW.LIST %s STATE all CURSOR -1",
	"TKW.LIST %s STATE all COUNT",
	"TKW.LIST %s STATE all COUNT 0",
	"TKW.LIST %s STATE all COUNT 4097",
	"TKW.LIST %s STATE all COUNT 1 COUNT 1",
	"TKW.LIST %s STATE all CURSOR 0 CURSOR 0",
	"TKW.LIST %s STATE all NOSUCH 1",
	/* the queue */
	"TKW.LIMIT %s",
	"TKW.LIMIT %s ITEMS",
	"TKW.LIMIT %s ITEMS -1",
	"TKW.LIMIT %s ITEMS x",
	"TKW.LIMIT %s ITEMS 1 ITEMS 1",
	"TKW.LIMIT %s BYTES -1",
	"TKW.LIMIT %s ITEMS 1 BYTES x",
	"TKW.LIMIT %s PAYLOAD 536870913",
	"TKW.LIMIT %s NOSUCH 1",
	"TKW.DEAD %s",
	"TKW.DEAD %s NOSUCH",
	"TKW.DEAD %s REVIVE",
	"TKW.DEAD %s REVIVE x",
	"TKW.DEAD %s REVIVE 1 ALL",
	"TKW.DEAD %s REVIVE ALL 1",
	"TKW.DEAD %s PURGE",
	"TKW.DEAD %s PURGE 1 x",
	"TKW.DEAD %s LIST COUNT 0",
	"TKW.DEAD %s LIST CURSOR x",
	"TKW.DEAD %s LIST NOSUCH",
	"TKW.DEAD %s LIST COUNT 1 COUNT 1",
	/* plans */
	"TKW.PLAN %s p @daily",
	"TKW.PLAN %s \"\" @daily a",
	"TKW.PLAN %s \"p\"*201 @daily a",
	"TKW.PLAN %s p @daily a b",
	"TKW.PLAN %s p @daily a NOSUCH",
	"TKW.PLAN %s p @daily a ZONE",
	"TKW.PLAN %s p @daily a ZONE \"\"",
	"TKW.PLAN %s p @daily a ZONE UTC ZONE UTC",
	"TKW.PLAN %s p @daily a MISFIRE",
	"TKW.PLAN %s p @daily a MISFIRE 5",
	"TKW.PLAN %s p @daily a MISFIRE all",
	"TKW.PLAN %s p @daily a MISFIRE all 0",
	"TKW.PLAN %s p @daily a MISFIRE all 101",
	"TKW.PLAN %s p @daily a MISFIRE once 5",
	"TKW.PLAN %s p @daily a MISFIRE once MISFIRE skip",
	"TKW.PLAN %s p @daily a GRACE",
	"TKW.PLAN %s p @daily a GRACE -1",
	"TKW.PLAN %s p @daily a GRACE x",
	"TKW.PLAN %s p @daily a GRACE 9223372036854776",
	"TKW.PLAN %s p @daily a OVERLAP",
	"TKW.PLAN %s p @daily a OVERLAP never",
	"TKW.PLAN %s p @daily a NEXT",
	"TKW.PLAN %s p @daily a NEXT end",
	"TKW.PLAN %s p @daily a NEXT ack NEXT ack",
	"TKW.PLAN %s p @daily a ATTEMPTS -1",
	"TKW.PLAN %s p @daily a BACKOFF x",
	"TKW.PLAN %s p @daily a MAX 5",
	"TKW.PLAN %s p @daily a KEY k",
	"TKW.UNPLAN %s p q",
	"TKW.UNPLAN %s \"\"",
	"TKW.UNPLAN %s \"p\"*201",
	"TKW.PLANPAUSE %s",
	"TKW.PLANPAUSE %s \"\"",
	"TKW.PLANRESUME %s p q",
	"TKW.PLANRESUME %s \"\"",
	"TKW.PLANS %s p",
	"TKW.PLANS %s NAME",
	"TKW.PLANS %s NAME \"\"",
	"TKW.PLANS %s AFTER \"p\"*201",
	"TKW.PLANS %s COUNT 0",
	"TKW.PLANS %s COUNT 4097",
	"TKW.PLANS %s COUNT 1 COUNT 1",
	"TKW.PLANS %s TIMES 5",
	"TKW.PLANS %s NAME p TIMES 0",
	"TKW.PLANS %s NAME p TIMES 101",
	"TKW.PLANS %s NAME p AFTER q",
	"TKW.PLANS %s NAME p COUNT 5",
	"TKW.PLANS %s AFTER p TIMES 5",
};

enum {
	WRONG = sizeof(wrong) / sizeof(wrong[0])
};

/* A queue with an item in each state. */
static void fill(struct redis_bed *b, const char *queue)
{
	EXPECT(b->c, "[" N0 ", " N1 ", " N2 ", " N3 "]",
	       "TKW.MPUT %s 0 dead ATTEMPTS 1 0 taken KEY k 0 ready 500 later",
	       queue);
	EXPECT(b->c, "[[...", "TKW.TAKE %s COUNT 2", queue);
	EXPECT(b->c, "[1]", "TKW.NACK %s REASON r " N0 " " N0, queue);
}

static void test_a_refused_call_changes_nothing(void **state)
{
	struct redis_bed *b = *state;
	char before[64];

	fill(b, "q");
	snprintf(before, sizeof(before), "%s", redis_bed_digest(b->c, "q"));
	for (size_t i = 0; i < WRONG; i++) {
		const char *reply =
			resp_ask(b->c, "%s", line_of(wrong[i], "q"));

		if (strncmp(reply, "-ERR ", 5) != 0)
			fail_msg("%s: %s", wrong[i], reply);
		if (strcmp(redis_bed_digest(b->c, "q"), before) != 0)
			fail_msg("%s has changed something", wrong[i]);
	}
}

static void test_a_refused_call_creates_no_queue(void **state)
{
	struct redis_bed *b = *state;

	for (size_t i = 0; i < WRONG; i++) {
		const char *reply =
			resp_ask(b->c, "%s", line_of(wrong[i], "q"));

		if (strncmp(reply, "-ERR ", 5) != 0)
			fail_msg("%s: %s", wrong[i], reply);
		if (resp_number(b->c, "EXISTS q") != 0)
			fail_msg("%s has created a queue", wrong[i]);
	}
	EXPECT(b->c, "-TKWFULL ...", "TKW.PUT q 0 \"x\"*1048577");
	EXPECT(b->c, "-TKWEXISTS ...", "TKW.MPUT q 0 a KEY k 0 b KEY k");
	EXPECT(b->c, "0", "EXISTS q");
}

/* Also by the reasons that depend on the queue. */
static void test_each_error_has_its_word(void **state)
{
	struct redis_bed *b = *state;
	char before[64];

	fill(b, "q");
	EXPECT(b->c, "OK", "TKW.LIMIT q ITEMS 5 BYTES 30 PAYLOAD 20");
	snprintf(before, sizeof(before), "%s", redis_bed_digest(b->c, "q"));
	EXPECT(b->c, "-TKWEXISTS ...", "TKW.PUT q 0 a KEY k");
	EXPECT(b->c, "-TKWTAKEN ...", "TKW.PUT q 0 a KEY k REPLACE");
	EXPECT(b->c, "-TKWFULL ...", "TKW.PUT q 0 \"x\"*21");
	EXPECT(b->c, "-TKWFULL ...", "TKW.PUT q 0 \"x\"*15");
	EXPECT(b->c, "-TKWFULL ...", "TKW.MPUT q 0 a 0 b");
	EXPECT(b->c, before, "TKW.DIGEST q");
}

/* --- apply ---------------------------------------------------------------- */

static void test_a_client_must_not_apply_records(void **state)
{
	struct redis_bed *b = *state;
	char before[64];

	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	snprintf(before, sizeof(before), "%s", redis_bed_digest(b->c, "q"));
	EXPECT(b->c, "-ERR ...", "TKW.APPLY q RECORDS x");
	EXPECT(b->c, "-ERR ...", "TKW.APPLY q SNAPSHOT x");
	EXPECT(b->c, "-ERR ...", "TKW.APPLY q RECORDS \"\"");
	EXPECT(b->c, "-ERR ...", "TKW.APPLY new RECORDS x");
	EXPECT(b->c, "-ERR ...", "TKW.APPLY");
	EXPECT(b->c, "-ERR ...",
	       "EVAL \"return redis.call('TKW.APPLY', KEYS[1], 'RECORDS', "
	       "'x')\" 1 q");
	EXPECT(b->c, "OK", "MULTI");
	EXPECT(b->c, "QUEUED", "TKW.APPLY q RECORDS x");
	EXPECT(b->c, "[-ERR ...", "EXEC");
	EXPECT(b->c, before, "TKW.DIGEST q");
	EXPECT(b->c, "0", "EXISTS new");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		REDIS_TEST_BOTH(test_put_replies_with_an_integer),
		REDIS_TEST_BOTH(test_put_takes_options_in_any_order),
		REDIS_TEST_BOTH(test_put_takes_what_looks_like_an_option),
		REDIS_TEST_BOTH(test_put_negative_times_count_as_0),
		REDIS_TEST_BOTH(test_mput_replies_with_an_array),
		REDIS_TEST(test_mput_puts_as_many_as_a_command_has),
		REDIS_TEST_BOTH(test_take_replies_with_arrays),
		REDIS_TEST_BOTH(test_take_options_in_any_order),
		REDIS_TEST(test_take_takes_4096),
		REDIS_TEST_BOTH(test_claims_have_an_answer_each),
		REDIS_TEST_BOTH(test_a_reason_may_have_any_bytes),
		REDIS_TEST_BOTH(test_maps_are_maps_in_resp3_alone),
		REDIS_TEST_BOTH(test_info_has_all_facts),
		REDIS_TEST_BOTH(test_list_has_each_item_over_its_cursors),
		REDIS_TEST(test_list_refuses_a_cursor_of_more_than_64_bits),
		REDIS_TEST_BOTH(test_dead_list_revive_and_purge),
		REDIS_TEST(test_dead_all_works_in_pieces),
		REDIS_TEST_BOTH(test_digest_has_16_digits),
		REDIS_TEST_BOTH(test_a_missing_queue_acts_as_an_empty_one),
		REDIS_TEST(test_put_pause_and_limit_create_a_queue),
		REDIS_TEST(test_an_empty_queue_stays_until_it_is_deleted),
		REDIS_TEST_BOTH(test_a_key_of_another_type_is_refused),
		REDIS_TEST(test_each_command_needs_its_arguments),
		REDIS_TEST_BOTH(test_a_refused_call_changes_nothing),
		REDIS_TEST(test_a_refused_call_creates_no_queue),
		REDIS_TEST_BOTH(test_each_error_has_its_word),
		REDIS_TEST_BOTH(test_a_client_must_not_apply_records),
	};

	server_need(argc, argv);
	return cmocka_run_group_tests(tests, redis_bed_begin_all,
				      redis_bed_end_all);
}
