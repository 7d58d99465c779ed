/* SPDX-License-Identifier: MIT */
/*
 * test_redis_plans.c - the commands for plans, and takes that wait for their
 * items. What plans do is also in queue.cases. Copies of plans are in
 * test_redis_copies.c and test_redis_replicas.c, by queue_mix.h.
 */
#include "redis_bed.h"

#include "queue_mix.h"

/* When the clock stands still, and the times of "every 10s" after that. */
#define T0 "1700000000000"
#define T1 "1700000010000"
#define T2 "1700000020000"
#define T3 "1700000030000"
/* The first plan has the first id, and its item the next one. */
#define N0 "1700000000000000"
#define N1 "1700000000000001"
#define N2 "1700000000000002"

#define PERIOD_MS INT64_C(10000)

enum {
	MANY = 10000,
	PIECE = 4096,
	MOST_QUESTIONS = 50
};

/* Counts how often a reply has a text. */
static int count_in(const char *reply, const char *text)
{
	int n = 0;

	for (; (reply = strstr(reply, text)); reply += strlen(text))
		n++;
	return n;
}

/* A number of the facts of a plan. */
static int64_t plan_fact(struct resp *c, const char *plan, const char *field)
{
	const char *facts = resp_ask(c, "TKW.PLANS q NAME %s", plan);

	return strtoll(resp_value(facts, field), NULL, 10);
}

/* How often the server has asked itself whether it accepts a write. */
static int64_t failed_questions(struct resp *c)
{
	const char *stats = resp_info(c, "commandstats", "cmdstat_TKW.APPLY");
	const char *at = strstr(stats, "failed_calls=");

	return at ? strtoll(at + strlen("failed_calls="), NULL, 10) : 0;
}

/* --- make ----------------------------------------------------------------- */

/* SPEC 12.4. */
static void test_plan_replies_with_the_next_time(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, T1, "TKW.PLAN q tick \"every 10s\" a");
	assert_string_equal(resp_raw(b->c), ":" T1 "\r\n");
	EXPECT(b->c, "tickwheel", "TYPE q");
	EXPECT(b->c, "1700000040000", "tkw.plan q cron \"* * * * *\" b");
	assert_int_equal(resp_fact(b->c, "q", "plans"), 2);
	assert_int_equal(resp_fact(b->c, "q", "waiting"), 2);
	EXPECT(b->c,
	       "{\"id\": " N1 ", \"state\": \"waiting\", \"due\": " T1
	       ", \"attempts\": 0, \"max_attempts\": 0, \"backoff\": 0, "
	       "\"max_backoff\": 0, \"token\": 0, \"expires\": 0, \"died\": 0, "
	       "\"planned\": " T1 ", \"key\": \"tick@" T1
	       "\", \"reason\": \"\", \"payload\": \"a\"}",
	       "TKW.GET q KEY tick@" T1);
}

/* SPEC 12.4: 02:30 in Berlin is 01:30 in UTC. */
static void test_plan_knows_time_zones(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, "1700015400000", "TKW.PLAN q a \"30 2 * * *\" x");
	EXPECT(b->c, "1700015400000", "TKW.PLAN q b \"30 2 * * *\" x ZONE UTC");
	EXPECT(b->c, "1700011800000",
	       "TKW.PLAN q c \"30 2 * * *\" x ZONE Europe/Berlin");
}

static void expect_all_options(struct redis_bed *b)
{
	EXPECT(b->c,
	       "[{\"name\": \"p\", \"plan\": \"every 10s\", \"zone\": "
	       "\"Europe/Berlin\", \"misfire\": \"all\", \"max_missed\": 7, "
	       "\"grace\": 500, \"overlap\": \"allow\", \"next_on\": \"ack\", "
	       "\"max_attempts\": 3, \"backoff\": 100, \"max_backoff\": 400, "
	       "\"paused\": 0, \"error\": \"\", \"next_id\": " N1
	       ", \"next\": " T1 ", \"decided\": 0"
	       ", \"running\": 0, \"runs\": 0, \"missed\": 0, \"overlaps\": 0, "
	       "\"payload\": \"a\"}]",
	       "TKW.PLANS q");
}

static void test_plan_takes_options_in_any_order(void **state)
{
	static const char *const options[] = {
		"ZONE Europe/Berlin MISFIRE all 7 GRACE 500 OVERLAP allow NEXT "
		"ack ATTEMPTS 3 BACKOFF 100 MAX 400",
		"BACKOFF 100 MAX 400 ATTEMPTS 3 NEXT ack OVERLAP allow GRACE "
		"500 MISFIRE all 7 ZONE Europe/Berlin",
		"zone Europe/Berlin misfire ALL 7 grace 500 overlap ALLOW next "
		"ACK attempts 3 backoff 100 max 400",
	};
	struct redis_bed *b = *state;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a %s", options[i]);
		expect_all_options(b);
		EXPECT(b->c, "1", "DEL q");
	}
}

/* SPEC 12.4: the defaults. */
static void test_plans_shows_the_defaults(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" \"\"");
	EXPECT(b->c,
	       "[{\"name\": \"p\", \"plan\": \"every 10s\", \"zone\": "
	       "\"UTC\", \"misfire\": \"once\", \"max_missed\": 0, "
	       "\"grace\": 60000, \"overlap\": \"skip\", \"next_on\": "
	       "\"take\", \"max_attempts\": 0, \"backoff\": 0, "
	       "\"max_backoff\": 0, \"paused\": 0, \"error\": \"\", "
	       "\"next_id\": " N1 ", \"next\": " T1 ", \"decided\": 0"
	       ", \"running\": 0, \"runs\": 0, \"missed\": 0, \"overlaps\": 0, "
	       "\"payload\": \"\"}]",
	       "TKW.PLANS q");
	assert_int_equal(resp_raw(b->c)[4], b->version == 3 ? '%' : '*');
}

/* SPEC 12.2: the byte that is wrong, counted from 0. */
static void test_a_wrong_plan_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *plan;
		const char *reply;
	} wrong[] = {
		{ "\"\"", "-TKWPLAN at byte 0: expected ..." },
		{ "soon", "-TKWPLAN at byte 0: expected ..." },
		{ "\"61 * * * *\"", "-TKWPLAN at byte 0: expected ..." },
		{ "\"* * 32 * *\"", "-TKWPLAN at byte 4: expected ..." },
		{ "\"* * * *\"", "-TKWPLAN at byte 7: expected ..." },
		{ "\"every 5x\"", "-TKWPLAN at byte 7: expected ..." },
		{ "@reboot", "-TKWPLAN at byte 0: expected ..." },
		{ "\"* * * * *\\x00\"",
		  "-TKWPLAN at byte 9: expected no byte 0" },
		{ "\" \"*256",
		  "-TKWPLAN at byte 255: expected at most 255 bytes" },
		{ "\" \"*1000",
		  "-TKWPLAN at byte 255: expected at most 255 bytes" },
		{ "\"0 0 31 feb *\"",
		  "-TKWPLAN the plan has no time after now" },
	};
	struct redis_bed *b = *state;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		EXPECT(b->c, wrong[i].reply, "TKW.PLAN q p %s a",
		       wrong[i].plan);
	EXPECT(b->c, "0", "EXISTS q");
}

static void test_a_wrong_zone_is_refused(void **state)
{
	static const char *const zones[] = {
		"Europe/Berlim", "../passwd",        "/etc/passwd",
		"europe",        "\"Europe\\x00\"",  "\"x\"*64",
		"\"UTC\\n\"",    "posixrules/nosuch"
	};
	struct redis_bed *b = *state;

	for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++)
		EXPECT(b->c, "-TKWPLAN the server has no time zone ...",
		       "TKW.PLAN q p @daily a ZONE %s", zones[i]);
	EXPECT(b->c, "-TKWPLAN the server cannot read ...",
	       "TKW.PLAN q p @daily a ZONE tzdata.zi");
	EXPECT(b->c, "0", "EXISTS q");
}

/* A call that is refused leaves the plan as it is. */
static void test_a_refused_plan_changes_nothing(void **state)
{
	struct redis_bed *b = *state;
	char digest[64];

	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a");
	EXPECT(b->c, "OK", "TKW.LIMIT q PAYLOAD 5");
	snprintf(digest, sizeof(digest), "%s", redis_bed_digest(b->c, "q"));
	EXPECT(b->c, "-TKWPLAN ...", "TKW.PLAN q p never b");
	EXPECT(b->c, "-TKWPLAN ...", "TKW.PLAN q p \"0 0 30 2 *\" b");
	EXPECT(b->c, "-TKWPLAN ...", "TKW.PLAN q p @daily b ZONE Nowhere");
	EXPECT(b->c, "-TKWFULL ...", "TKW.PLAN q p @daily \"b\"*6");
	EXPECT(b->c, digest, "TKW.DIGEST q");
}

static void test_plan_replaces_a_plan(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a");
	EXPECT(b->c, T2, "TKW.PLAN q p \"every 20s\" b");
	EXPECT(b->c, "nil", "TKW.GET q KEY p@" T1);
	assert_int_equal(resp_fact(b->c, "q", "plans"), 1);
	assert_int_equal(resp_fact(b->c, "q", "items"), 1);
	redis_bed_pass(b, 2 * PERIOD_MS);
	EXPECT(b->c,
	       "[[" N2 ", \"b\", 1700000020000000, 1, " T2 ", \"p@" T2 "\", " T2
	       "]]",
	       "TKW.TAKE q");
}

/* A plan that puts nothing now has no next time. */
static void test_plan_replies_0_if_there_is_no_item(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a");
	EXPECT(b->c, "1", "TKW.PLANPAUSE q p");
	EXPECT(b->c, "0", "TKW.PLAN q p \"every 10s\" b");
	assert_int_equal(plan_fact(b->c, "p", "paused"), 1);
	EXPECT(b->c, "1", "TKW.PLANRESUME q p");
	redis_bed_pass(b, PERIOD_MS);
	EXPECT(b->c, "[[17...", "TKW.TAKE q");
	EXPECT(b->c, "0", "TKW.PLAN q p \"every 20s\" c NEXT ack");
	assert_int_equal(plan_fact(b->c, "p", "running"), 1);
	assert_int_equal(plan_fact(b->c, "p", "next"), 0);
}

/* So each process of a fleet can make its plans when it starts. */
static void test_an_equal_plan_changes_nothing(void **state)
{
	struct redis_bed *b = *state;
	char digest[64];

	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a GRACE 5 NEXT take");
	snprintf(digest, sizeof(digest), "%s", redis_bed_digest(b->c, "q"));
	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a GRACE 5");
	EXPECT(b->c, digest, "TKW.DIGEST q");
	redis_bed_pass(b, 2 * PERIOD_MS);
	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a GRACE 5");
	EXPECT(b->c, digest, "TKW.DIGEST q");
}

/* --- change and look ------------------------------------------------------ */

static void test_unplan_pause_and_resume(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a");
	EXPECT(b->c, "1", "TKW.PLANPAUSE q p");
	assert_string_equal(resp_raw(b->c), ":1\r\n");
	assert_int_equal(plan_fact(b->c, "p", "paused"), 1);
	assert_int_equal(plan_fact(b->c, "p", "next"), 0);
	assert_int_equal(resp_fact(b->c, "q", "items"), 0);
	EXPECT(b->c, "1", "TKW.PLANPAUSE q p");
	redis_bed_pass(b, PERIOD_MS + 1);
	EXPECT(b->c, "nil", "TKW.TAKE q");
	EXPECT(b->c, "1", "tkw.planresume q p");
	assert_int_equal(plan_fact(b->c, "p", "paused"), 0);
	EXPECT(b->c, "[" T2 "]",
	       "EVAL \"return redis.call('TKW.PLANS', "
	       "KEYS[1], 'NAME', 'p', 'TIMES', 1)[1][44]\" "
	       "1 q");
	EXPECT(b->c, "1", "TKW.UNPLAN q p");
	EXPECT(b->c, "0", "TKW.UNPLAN q p");
	EXPECT(b->c, "0", "TKW.PLANPAUSE q p");
	EXPECT(b->c, "0", "TKW.PLANRESUME q p");
	EXPECT(b->c, "[]", "TKW.PLANS q");
	assert_int_equal(resp_fact(b->c, "q", "items"), 0);
	assert_int_equal(resp_fact(b->c, "q", "plans"), 0);
}

static void test_plans_of_a_queue_that_is_not_there(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, "0", "TKW.UNPLAN q p");
	EXPECT(b->c, "0", "TKW.PLANPAUSE q p");
	EXPECT(b->c, "0", "TKW.PLANRESUME q p");
	EXPECT(b->c, "[]", "TKW.PLANS q");
	EXPECT(b->c, "[]", "TKW.PLANS q NAME p TIMES 5");
	EXPECT(b->c, "0", "EXISTS q");
}

/* A name may have any bytes. They are listed in the order of bytes. */
static void test_plans_lists_by_name(void **state)
{
	static const char *const names[] = { "\"\\x00\"", "B", "a",
					     "aa",        "b", "\"\\xff\"" };
	struct redis_bed *b = *state;
	const char *after = "";

	for (size_t i = 0; i < 6; i++)
		EXPECT(b->c, T1, "TKW.PLAN q %s \"every 10s\" a",
		       names[(i * 5 + 3) % 6]);
	for (size_t i = 0; i < 6; i++) {
		char want[64];

		snprintf(want, sizeof(want), "[{\"name\": %s%s%s, ...",
			 names[i][0] == '"' ? "" : "\"", names[i],
			 names[i][0] == '"' ? "" : "\"");
		EXPECT(b->c, want, "TKW.PLANS q COUNT 1%s%s",
		       after[0] ? " AFTER " : "", after);
		after = names[i];
	}
	EXPECT(b->c, "[]", "TKW.PLANS q AFTER %s", after);
	assert_int_equal(count_in(resp_ask(b->c, "TKW.PLANS q"), "\"name\""),
			 6);
	assert_int_equal(
		count_in(resp_ask(b->c, "TKW.PLANS q AFTER a"), "\"name\""), 3);
}

/* SPEC 12.4: the next ten times. */
static void test_plans_lists_the_next_times(void **state)
{
	struct redis_bed *b = *state;
	const char *times = "EVAL \"return redis.call('TKW.PLANS', KEYS[1], "
			    "'NAME', 'p', 'TIMES', ARGV[1])[1][44]\" 1 q %d";

	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a");
	EXPECT(b->c, "[" T1 "]", times, 1);
	EXPECT(b->c, "[" T1 ", " T2 ", " T3 "]", times, 3);
	/* The item that is ready is the first. */
	redis_bed_pass(b, 2 * PERIOD_MS);
	EXPECT(b->c, "[" T1 ", " T3 "]", times, 2);
	EXPECT(b->c, "1", "TKW.PLANPAUSE q p");
	EXPECT(b->c, "[" T3 ", 1700000040000]", times, 2);
	assert_int_equal(count_in(resp_ask(b->c, times, 100), ", 17000"), 99);
	/* The calendar ends with the year 9999. */
	EXPECT(b->c, "1", "TKW.UNPLAN q p");
	EXPECT(b->c, "OK", "TKW.CLOCK 253402214400000000");
	EXPECT(b->c, "253402300740000", "TKW.PLAN q p \"59 23 31 12 *\" a");
	EXPECT(b->c, "[253402300740000]", times, 100);
}

/* A plan that cannot go on says why, and a resume tries again. */
static void test_plans_says_why_a_plan_cannot_go_on(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, "nil",
	       "EVAL \"for i = 2, 90 do redis.call('TKW.PUT', KEYS[1], "
	       "1000000, i, 'KEY', string.format('p@%%d', 1700000000000 + i * "
	       "10000)) end\" 1 q");
	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a");
	EXPECT(b->c, "[1]", "TKW.CANCEL q KEY p@" T1);
	assert_non_null(strstr(resp_ask(b->c, "TKW.PLANS q"),
			       "\"the keys of the next times are held\""));
	EXPECT(b->c, "[1]", "TKW.CANCEL q KEY p@" T2);
	EXPECT(b->c, "1", "TKW.PLANRESUME q p");
	assert_int_equal(plan_fact(b->c, "p", "next"), 1700000020000);
	/* The calendar ends with the year 9999. */
	EXPECT(b->c, "OK", "TKW.CLOCK 253402300740000000");
	EXPECT(b->c, "253402300790000",
	       "TKW.PLAN q last \"50 59 23 31 12 *\" a");
	EXPECT(b->c, "[1]", "TKW.CANCEL q KEY last@253402300790000");
	assert_non_null(strstr(resp_ask(b->c, "TKW.PLANS q NAME last"),
			       "\"the plan has no more times\""));
	assert_int_equal(plan_fact(b->c, "last", "next"), 0);
}

static void test_ten_thousand_plans(void **state)
{
	struct redis_bed *b = *state;
	char digest[64];
	char last[32] = "";
	int listed = 0;

	EXPECT(b->c, "nil",
	       "EVAL \"for i = 1, %d do redis.call('TKW.PLAN', KEYS[1], "
	       "string.format('p%%05d', i), 'every 10s', i, 'ZONE', "
	       "'Europe/Berlin') end\" 1 q",
	       MANY);
	assert_int_equal(resp_fact(b->c, "q", "plans"), MANY);
	redis_bed_pass(b, PERIOD_MS);
	for (int left = MANY; left > 0; left -= PIECE) {
		int n = left < PIECE ? left : PIECE;

		assert_int_equal(count_in(resp_ask(b->c,
						   "TKW.TAKE q COUNT %d LEASE "
						   "1000000",
						   PIECE),
					  "@" T1 "\", " T1 "]"),
				 n);
	}
	assert_int_equal(resp_fact(b->c, "q", "taken"), MANY);
	assert_int_equal(resp_fact(b->c, "q", "waiting"), MANY);
	snprintf(digest, sizeof(digest), "%s", redis_bed_digest(b->c, "q"));
	EXPECT(b->c, "OK", "DEBUG RELOAD");
	EXPECT(b->c, digest, "TKW.DIGEST q");
	queue_mix_check(b->c, "q");
	for (;;) {
		const char *reply =
			resp_ask(b->c, "TKW.PLANS q COUNT %d%s%s", PIECE,
				 last[0] ? " AFTER " : "", last);
		int n = count_in(reply, "\"next\", " T2);

		listed += n;
		if (n < PIECE)
			break;
		snprintf(last, sizeof(last), "p%05d", listed);
	}
	assert_int_equal(listed, MANY);
	assert_true(resp_number(b->c, "MEMORY USAGE q") > 100L * MANY);
	EXPECT(b->c, "1", "DEL q");
}

/* --- takes ---------------------------------------------------------------- */

/* SPEC 12.4: nothing changes it, not even another due time. */
static void test_take_gives_the_planned_time(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a");
	EXPECT(b->c, "1", "TKW.RESCHEDULE q KEY p@" T1 " 0");
	EXPECT(b->c,
	       "[[" N1 ", \"a\", " N0 ", 1, " T0 ", \"p@" T1 "\", " T1 "]]",
	       "TKW.TAKE q");
	EXPECT(b->c, "[1]", "TKW.NACK q DELAY 0 " N1 " " N0);
	EXPECT(b->c,
	       "[[" N1 ", \"a\", " N1 ", 2, " T0 ", \"p@" T1 "\", " T1 "]]",
	       "TKW.TAKE q");
}

/* An item of a plan, as a take that waits gets it. Its token is the time. */
#define GIVEN(id, at, payload)                                                 \
	"[[" id ", \"" payload "\", " at "000, 1, " at ", \"p@" at "\", " at   \
	"]]"

/* SPEC 12.4. */
static void test_a_take_waits_for_a_planned_time(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");

	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a");
	redis_bed_pass(b, PERIOD_MS - 1);
	assert_int_equal(redis_bed_count_waiting(b), 1);
	redis_bed_pass(b, 1);
	EXPECT_NEXT(c, GIVEN(N1, T1, "a"));
}

/* SPEC 12.4: the take of the first item puts the one for which the second
 * client waits. */
static void test_a_take_waits_for_what_a_take_has_put(void **state)
{
	struct redis_bed *b = *state;
	struct resp *first;
	struct resp *second;

	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a OVERLAP allow");
	first = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	second = redis_bed_wait(b, 1, "TKW.TAKE q BLOCK 0");
	redis_bed_pass(b, PERIOD_MS);
	EXPECT_NEXT(first, GIVEN(N1, T1, "a"));
	redis_bed_pass(b, PERIOD_MS - 1);
	assert_int_equal(redis_bed_count_waiting(b), 1);
	redis_bed_pass(b, 1);
	EXPECT_NEXT(second, GIVEN("1700000010000000", T2, "a"));
}

static void test_a_take_waits_for_what_a_cancel_has_put(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;

	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a");
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	EXPECT(b->c, "[1]", "TKW.CANCEL q KEY p@" T1);
	redis_bed_pass(b, PERIOD_MS);
	assert_int_equal(redis_bed_count_waiting(b), 1);
	redis_bed_pass(b, PERIOD_MS);
	EXPECT_NEXT(c, GIVEN(N2, T2, "a"));
}

static void test_a_take_waits_for_what_an_ack_puts(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;

	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a NEXT ack OVERLAP allow");
	redis_bed_pass(b, PERIOD_MS);
	EXPECT(b->c, GIVEN(N1, T1, "a"), "TKW.TAKE q LEASE 1000000");
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	redis_bed_pass(b, PERIOD_MS);
	assert_int_equal(redis_bed_count_waiting(b), 1);
	EXPECT(b->c, "[1]", "TKW.ACK q " N1 " " T1 "000");
	EXPECT_NEXT(c, GIVEN("1700000020000000", T2, "a"));
}

/* A lease that ends by itself ends the item, too: it was its last attempt. */
static void test_a_take_waits_for_what_a_death_puts(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;

	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a NEXT ack ATTEMPTS 1");
	redis_bed_pass(b, PERIOD_MS);
	EXPECT(b->c, GIVEN(N1, T1, "a"), "TKW.TAKE q LEASE 5000");
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	redis_bed_pass(b, PERIOD_MS / 2);
	WAIT_UNTIL(resp_fact(b->c, "q", "dead") == 1);
	assert_int_equal(plan_fact(b->c, "p", "next"), 1700000020000);
	assert_int_equal(redis_bed_count_waiting(b), 1);
	redis_bed_pass(b, PERIOD_MS / 2);
	EXPECT_NEXT(c, GIVEN("1700000015000000", T2, "a"));
}

/* Waits until a plan has counted something. The server asks itself a question
 * each time that it tries to serve a client, so the test notices it if the
 * server tries again and again. */
static void wait_for_count(struct redis_bed *b, const char *field)
{
	int64_t asked = 0;

	EXPECT(b->c, "OK", "CONFIG RESETSTAT");
	WAIT_UNTIL((asked = failed_questions(b->c)) > MOST_QUESTIONS ||
		   plan_fact(b->c, "p", field) == 1);
	assert_in_range(asked, 0, MOST_QUESTIONS);
}

/* The take of a client that waits ends what was missed, and gets nothing. What
 * it has decided is not lost, and the client goes on waiting. */
static void test_a_take_waits_over_a_missed_time(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;

	EXPECT(b->c, T1,
	       "TKW.PLAN q p \"every 10s\" a MISFIRE skip GRACE 1000");
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	redis_bed_pass(b, PERIOD_MS + 1001);
	wait_for_count(b, "missed");
	assert_int_equal(redis_bed_count_waiting(b), 1);
	assert_int_equal(plan_fact(b->c, "p", "next"), 1700000020000);
	queue_mix_check(b->c, "q");
	redis_bed_pass(b, PERIOD_MS - 1001);
	EXPECT_NEXT(c, GIVEN("1700000011001000", T2, "a"));
}

static void test_a_take_waits_over_an_overlap(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;

	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a");
	redis_bed_pass(b, PERIOD_MS);
	EXPECT(b->c, GIVEN(N1, T1, "a"), "TKW.TAKE q LEASE 15000");
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	redis_bed_pass(b, PERIOD_MS);
	wait_for_count(b, "overlaps");
	assert_int_equal(redis_bed_count_waiting(b), 1);
	EXPECT(b->c, "[1]", "TKW.ACK q " N1 " " T1 "000");
	redis_bed_pass(b, PERIOD_MS);
	EXPECT_NEXT(c, GIVEN("1700000020000000", T3, "a"));
}

/* The latest of the missed times is given to a client that waits. */
static void test_a_take_gets_the_latest_missed_time(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;

	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a GRACE 1000");
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	redis_bed_pass(b, 3 * PERIOD_MS + 5000);
	EXPECT_NEXT(c, "[[1700000035000000, \"a\", 1700000035000000, 1, " T3
		       ", \"p@" T3 "\", " T3 "]]");
	assert_int_equal(plan_fact(b->c, "p", "missed"), 1);
	assert_int_equal(plan_fact(b->c, "p", "runs"), 1);
}

/* 10,000 plans that were missed are ended a piece at a time. Neither a client
 * that waits nor one that asks again and again is held up for ever. */
static void test_many_missed_times_hold_nobody_up(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;
	int takes = 0;

	EXPECT(b->c, "nil",
	       "EVAL \"for i = 1, %d do redis.call('TKW.PLAN', KEYS[1], "
	       "string.format('p%%05d', i), 'every 10s', i, 'MISFIRE', "
	       "'skip', 'GRACE', 0) end\" 1 q",
	       MANY);
	redis_bed_pass(b, PERIOD_MS + 1);
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	resp_ask(b->c, "TKW.PUT q 0 one");
	assert_non_null(strstr(resp_read(c), ", \"one\", "));
	assert_int_equal(plan_fact(b->c, "p00001", "missed"), 1);
	assert_int_equal(plan_fact(b->c, "p10000", "missed"), 1);
	assert_int_equal(resp_fact(b->c, "q", "waiting"), MANY);

	redis_bed_pass(b, PERIOD_MS);
	resp_ask(b->c, "TKW.PUT q 0 two");
	while (strcmp(resp_ask(b->c, "TKW.TAKE q"), "nil") == 0)
		assert_true(++takes < MANY / 100);
	assert_int_equal(resp_fact(b->c, "q", "taken"), 2);
	assert_int_equal(plan_fact(b->c, "p10000", "missed"), 2);
	queue_mix_check(b->c, "q");
}

/* SPEC 11.23, 12.4: the clock is set while a client waits. */
static void test_plans_when_the_clock_is_set(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");

	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a");
	/* Back by an hour, and there again: the item waits for its time. */
	redis_bed_pass(b, -3600000);
	assert_int_equal(plan_fact(b->c, "p", "next"), 1700000010000);
	redis_bed_pass(b, 3600000 + PERIOD_MS - 1);
	assert_int_equal(redis_bed_count_waiting(b), 1);
	redis_bed_pass(b, 1);
	EXPECT_NEXT(c, GIVEN(N1, T1, "a"));
	EXPECT(b->c, "[1]", "TKW.ACK q " N1 " " T1 "000");
	/* Back to before the time that was taken: it does not come again. */
	redis_bed_pass(b, -2 * PERIOD_MS);
	EXPECT(b->c, T2, "TKW.PLAN q p \"every 10s\" b");
	EXPECT(b->c, "1", "TKW.PLANPAUSE q p");
	EXPECT(b->c, "1", "TKW.PLANRESUME q p");
	assert_int_equal(plan_fact(b->c, "p", "next"), 1700000020000);
	/* A day ahead: the latest time that is missed, and then the next one
	 * after now. */
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	redis_bed_pass(b, 86400000);
	EXPECT_NEXT(c, "[[1700086390000000, \"b\", 1700086390000000, 1, "
		       "1700086320000, \"p@1700086320000\", ...");
	assert_int_equal(plan_fact(b->c, "p", "runs"), 2);
	assert_int_equal(plan_fact(b->c, "p", "missed"), 1);
	assert_int_equal(plan_fact(b->c, "p", "next"), 1700086400000);
	queue_mix_check(b->c, "q");
}

/* SPEC 11.32: a client waits at a name; a queue with a plan comes there. */
static void test_plans_move_with_their_queue(void **state)
{
	static const char restore[] =
		"EVAL \"redis.call('RESTORE', KEYS[2], 0, "
		"redis.call('DUMP', KEYS[1]))\" 2 other q";
	const char *const moves[] = {
		"RENAME other q",
		"COPY other q",
		restore,
		"SWAPDB 0 1",
	};
	struct redis_bed *b = *state;

	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		int64_t next_ms = b->now_ms - b->now_ms % PERIOD_MS + PERIOD_MS;
		struct resp *c;

		EXPECT(b->c, "OK", "FLUSHALL");
		EXPECT(b->c, "OK", "SELECT %d", i == 3);
		assert_int_equal(resp_number(b->c,
					     "TKW.PLAN %s p \"every 10s\" a",
					     i == 3 ? "q" : "other"),
				 next_ms);
		EXPECT(b->c, "OK", "SELECT 0");
		c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
		resp_ask(b->c, "%s", moves[i]);
		redis_bed_pass(b, next_ms - b->now_ms - 1);
		assert_int_equal(redis_bed_count_waiting(b), 1);
		redis_bed_pass(b, 1);
		assert_non_null(strstr(resp_read(c), ", \"a\", "));
		assert_int_equal(plan_fact(b->c, "p", "runs"), 1);
		assert_int_equal(plan_fact(b->c, "p", "next"),
				 next_ms + PERIOD_MS);
		queue_mix_check(b->c, "q");
	}
}

/* --- the server ----------------------------------------------------------- */

/* SPEC 11.32. */
static void test_plans_in_transactions_and_scripts(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, "OK", "MULTI");
	EXPECT(b->c, "QUEUED", "TKW.PLAN q p \"every 10s\" a");
	EXPECT(b->c, "QUEUED", "TKW.PLANPAUSE q p");
	EXPECT(b->c, "QUEUED", "TKW.PLAN q p nonsense a");
	EXPECT(b->c, "QUEUED", "TKW.PLANRESUME q p");
	EXPECT(b->c, "[" T1 ", 1, -TKWPLAN at byte 0...", "EXEC");
	assert_int_equal(plan_fact(b->c, "p", "next"), 1700000010000);
	EXPECT(b->c, "-TKWPLAN at byte 2: expected ...",
	       "EVAL \"return redis.call('TKW.PLAN', KEYS[1], 'p', '* x', "
	       "'')\" 1 q");
	EXPECT(b->c, "1",
	       "EVAL \"return redis.call('TKW.UNPLAN', KEYS[1], 'p')\" 1 q");
	EXPECT(b->c, "OK", "WATCH q");
	EXPECT(redis_bed_client(b, 0), T1, "TKW.PLAN q p \"every 10s\" a");
	EXPECT(b->c, "OK", "MULTI");
	EXPECT(b->c, "QUEUED", "PING");
	EXPECT(b->c, "nil", "EXEC");
}

/* SPEC 11.32. */
static void test_without_memory_plans_go_on(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a");
	EXPECT(b->c, "OK", "CONFIG SET maxmemory 1");
	EXPECT(b->c, "-OOM ...", "TKW.PLAN q p \"every 10s\" b");
	EXPECT(b->c, "1", "TKW.PLANPAUSE q p");
	EXPECT(b->c, "1", "TKW.PLANRESUME q p");
	redis_bed_pass(b, PERIOD_MS);
	EXPECT(b->c, "[[" N2 ", \"a\", ...", "TKW.TAKE q");
	assert_int_equal(plan_fact(b->c, "p", "next"), 1700000020000);
	EXPECT(b->c, "1", "TKW.UNPLAN q p");
	EXPECT(b->c, "OK", "CONFIG SET maxmemory 0");
	EXPECT(b->c, "OK", "CONFIG SET maxmemory-policy allkeys-lru");
	EXPECT(b->c, "-ERR maxmemory-policy ...", "TKW.PLAN q p @daily a");
	EXPECT(b->c, "OK", "CONFIG SET maxmemory-policy noeviction");
}

/* Only a master decides, and its zones matter, so that a replica needs none. */
static void test_only_a_master_decides(void **state)
{
	struct redis_bed *b = *state;
	struct server replica;
	struct resp *r;
	char digest[64];

	EXPECT(b->c, T1, "TKW.PLAN q p \"every 10s\" a GRACE 0");
	server_begin(&replica, SERVER_TEST_MODULE, "");
	r = server_connect(&replica, 2);
	server_follow(&replica, b->server);
	EXPECT(r, "OK", "TKW.CLOCK 1800000000000000");
	EXPECT(r, "-READONLY ...", "TKW.PLAN q p @daily a");
	EXPECT(r, "[[\"name\", \"p\", ...", "TKW.PLANS q NAME p TIMES 3");
	snprintf(digest, sizeof(digest), "%s", redis_bed_digest(b->c, "q"));
	EXPECT(r, digest, "TKW.DIGEST q");
	redis_bed_pass(b, PERIOD_MS);
	EXPECT(b->c, GIVEN(N1, T1, "a"), "TKW.TAKE q");
	server_catch_up(&replica, b->server);
	snprintf(digest, sizeof(digest), "%s", redis_bed_digest(b->c, "q"));
	EXPECT(r, digest, "TKW.DIGEST q");
	EXPECT(r, "OK", "REPLICAOF NO ONE");
	EXPECT(r, "OK", "TKW.CLOCK 1700000010000000");
	EXPECT(r, "[1]", "TKW.ACK q " N1 " " T1 "000");
	EXPECT(r, "OK", "TKW.CLOCK 1700000020000000");
	EXPECT(r, GIVEN("1700000010000000", T2, "a"), "TKW.TAKE q");
	assert_int_equal(plan_fact(r, "p", "next"), 1700000030000);
	resp_close(r);
	assert_true(server_end(&replica));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		REDIS_TEST_BOTH(test_plan_replies_with_the_next_time),
		REDIS_TEST(test_plan_knows_time_zones),
		REDIS_TEST_BOTH(test_plan_takes_options_in_any_order),
		REDIS_TEST_BOTH(test_plans_shows_the_defaults),
		REDIS_TEST(test_a_wrong_plan_is_refused_with_its_place),
		REDIS_TEST(test_a_wrong_zone_is_refused),
		REDIS_TEST(test_a_refused_plan_changes_nothing),
		REDIS_TEST(test_plan_replaces_a_plan),
		REDIS_TEST(test_plan_replies_0_if_there_is_no_item),
		REDIS_TEST(test_an_equal_plan_changes_nothing),
		REDIS_TEST_BOTH(test_unplan_pause_and_resume),
		REDIS_TEST_BOTH(test_plans_of_a_queue_that_is_not_there),
		REDIS_TEST_BOTH(test_plans_lists_by_name),
		REDIS_TEST_BOTH(test_plans_lists_the_next_times),
		REDIS_TEST(test_plans_says_why_a_plan_cannot_go_on),
		REDIS_TEST(test_ten_thousand_plans),
		REDIS_TEST(test_take_gives_the_planned_time),
		REDIS_TEST(test_a_take_waits_for_a_planned_time),
		REDIS_TEST(test_a_take_waits_for_what_a_take_has_put),
		REDIS_TEST(test_a_take_waits_for_what_a_cancel_has_put),
		REDIS_TEST(test_a_take_waits_for_what_an_ack_puts),
		REDIS_TEST(test_a_take_waits_for_what_a_death_puts),
		REDIS_TEST(test_a_take_waits_over_a_missed_time),
		REDIS_TEST(test_a_take_waits_over_an_overlap),
		REDIS_TEST(test_a_take_gets_the_latest_missed_time),
		REDIS_TEST(test_many_missed_times_hold_nobody_up),
		REDIS_TEST(test_plans_when_the_clock_is_set),
		REDIS_TEST(test_plans_move_with_their_queue),
		REDIS_TEST(test_plans_in_transactions_and_scripts),
		REDIS_TEST(test_without_memory_plans_go_on),
		REDIS_TEST(test_only_a_master_decides),
	};

	server_need(argc, argv);
	return cmocka_run_group_tests(tests, redis_bed_begin_all,
				      redis_bed_end_all);
}
