/* SPDX-License-Identifier: MIT */
/*
 * test_redis_users.c - users with few rights, transactions, watched keys and
 * scripts.
 */
#include "redis_bed.h"

#include "queue_mix.h"

#define T0 "1700000000000"
#define N0 "1700000000000000"
#define N1 "1700000000000001"

/* --- users ---------------------------------------------------------------- */

/* A client of a user who has these rights. */
static struct resp *user(struct redis_bed *b, int number, const char *rights)
{
	struct resp *c = redis_bed_client(b, number);

	EXPECT(b->c, "OK", "ACL SETUSER u%d reset on nopass %s", number,
	       rights);
	EXPECT(c, "OK", "AUTH u%d x", number);
	return c;
}

/* SPEC 11.30: by the names of the commands. */
static void test_a_user_who_may_only_put(void **state)
{
	static const char *const others[] = {
		"TKW.MPUT q 0 a",
		"TKW.TAKE q",
		"TKW.TAKE q BLOCK 0",
		"TKW.ACK q 1 1",
		"TKW.NACK q 1 1",
		"TKW.EXTEND q 5 1 1",
		"TKW.CANCEL q 1",
		"TKW.GET q 1",
		"TKW.LIST q STATE all",
		"TKW.COUNT q",
		"TKW.INFO q",
		"TKW.DIGEST q",
		"TKW.PAUSE q",
		"TKW.RESUME q",
		"TKW.LIMIT q ITEMS 1",
		"TKW.DEAD q LIST",
		"TKW.PLAN q p @daily a",
		"TKW.UNPLAN q p",
		"TKW.PLANS q",
		"TKW.PLANPAUSE q p",
		"TKW.PLANRESUME q p",
		"TKW.APPLY q RECORDS x",
		"DEL q",
		"TKW.RESCHEDULE q 1 0",
	};
	struct redis_bed *b = *state;
	struct resp *c = user(b, 0, "~q* +tkw.put");

	EXPECT(c, N0, "TKW.PUT q 0 a");
	EXPECT(c, N0, "TKW.PUT q2 0 a");
	EXPECT(c, "-NOPERM ...", "TKW.PUT other 0 a");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		EXPECT(c, "-NOPERM ...", "%s", others[i]);
	assert_int_equal(resp_fact(b->c, "q", "items"), 1);
	EXPECT(b->c, "0", "EXISTS other");
}

/* Rights to read a key and to write it, which servers know since 7.0. */
static void test_users_who_may_only_read_or_write_a_key(void **state)
{
	struct redis_bed *b = *state;
	struct resp *writer = user(b, 0, "%W~q +@all");
	struct resp *reader = user(b, 1, "%R~q +@all");

	EXPECT(writer, N0, "TKW.PUT q 0 a");
	EXPECT(reader, "-NOPERM ...", "TKW.PUT q 0 a");
	EXPECT(writer, "-NOPERM ...", "TKW.GET q " N0);
	EXPECT(writer, "-NOPERM ...", "TKW.INFO q");
	EXPECT(writer, "-NOPERM ...", "TKW.DEAD q LIST");
	/* A take gives out data, and changes the queue. */
	EXPECT(writer, "-NOPERM ...", "TKW.TAKE q");
	EXPECT(reader, "-NOPERM ...", "TKW.TAKE q");
	EXPECT(reader, "[\"id\", " N0 ", ...", "TKW.GET q " N0);
	EXPECT(reader, "[\"waiting\", 0, ...", "TKW.COUNT q");
	EXPECT(writer, "[1]", "TKW.CANCEL q " N0);
}

static void test_a_consumer(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c =
		user(b, 0, "~q +tkw.take +tkw.ack +tkw.nack +tkw.extend");

	EXPECT(b->c, "[" N0 ", " N1 "]", "TKW.MPUT q 0 a 500 b");
	EXPECT(c, "[[" N0 ", ...", "TKW.TAKE q");
	EXPECT(c, "[1]", "TKW.ACK q " N0 " " N0);
	EXPECT(c, "-NOPERM ...", "TKW.PUT q 0 a");
	resp_send(c, "TKW.TAKE q BLOCK 0");
	WAIT_UNTIL(redis_bed_count_waiting(b) == 1);
	redis_bed_pass(b, 500);
	EXPECT_NEXT(c, "[[" N1 ", ...");
}

/* A user whose rights are taken away while it waits. */
static void test_a_user_who_is_deleted_while_waiting(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c = user(b, 0, "~q +tkw.take");

	resp_send(c, "TKW.TAKE q BLOCK 0");
	WAIT_UNTIL(redis_bed_count_waiting(b) == 1);
	EXPECT(b->c, "1", "ACL DELUSER u0");
	WAIT_UNTIL(redis_bed_count_waiting(b) == 0);
	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	assert_int_equal(resp_fact(b->c, "q", "ready"), 1);
	assert_null(resp_try_read(c));
}

/* --- transactions --------------------------------------------------------- */

/* SPEC 11.32. */
static void test_a_transaction(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, "OK", "MULTI");
	EXPECT(b->c, "QUEUED", "TKW.PUT q 0 a");
	EXPECT(b->c, "QUEUED", "TKW.TAKE q");
	EXPECT(b->c, "QUEUED", "TKW.ACK q " N0 " " N0);
	EXPECT(b->c, "QUEUED", "TKW.PUT q x a");
	EXPECT(b->c, "QUEUED", "TKW.COUNT q");
	EXPECT(b->c,
	       "[" N0 ", [[" N0 ", \"a\", " N0 ", 1, " T0
	       ", nil, 0]], [1], -ERR ...",
	       "EXEC");
	EXPECT(b->c, "OK", "MULTI");
	EXPECT(b->c, "QUEUED", "TKW.PUT q 0 a");
	EXPECT(b->c, "OK", "DISCARD");
	EXPECT(b->c, "OK", "MULTI");
	EXPECT(b->c, "QUEUED", "TKW.PUT q 0 a");
	EXPECT(b->c, "-ERR ...", "TKW.PUT q");
	EXPECT(b->c, "-EXECABORT ...", "EXEC");
	assert_int_equal(resp_fact(b->c, "q", "puts"), 1);
}

/* Runs a transaction in which nothing happens. Returns true if it ran. */
static bool runs(struct redis_bed *b)
{
	EXPECT(b->c, "OK", "MULTI");
	EXPECT(b->c, "QUEUED", "PING");
	return strcmp(resp_ask(b->c, "EXEC"), "nil") != 0;
}

static void test_a_watched_queue_that_changes(void **state)
{
	static const char *const changes[] = {
		"TKW.PUT q 0 b",
		"TKW.PUT q 0 c KEY k REPLACE",
		"TKW.TAKE q",
		("TKW.EXTEND q 50000 " N0 " " N0),
		("TKW.NACK q DELAY 0 " N0 " " N0),
		"TKW.RESCHEDULE q KEY k 5",
		"TKW.CANCEL q KEY k",
		"TKW.PAUSE q",
		"TKW.RESUME q",
		"TKW.LIMIT q ITEMS 9",
		"TKW.PLAN q p @daily a",
		"TKW.PLANPAUSE q p",
		"TKW.PLANRESUME q p",
		"TKW.UNPLAN q p",
		"DEL q",
		"TKW.PUT q 0 a",
		"RENAME q r",
		"COPY r q",
	};
	struct redis_bed *b = *state;
	struct resp *other = redis_bed_client(b, 0);

	EXPECT(b->c, "[" N0 ", " N1 "]", "TKW.MPUT q 0 a 0 b KEY k");
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		EXPECT(b->c, "OK", "WATCH q");
		if (resp_ask(other, "%s", changes[i])[0] == '-')
			fail_msg("%s is refused", changes[i]);
		if (runs(b))
			fail_msg("%s is not noticed", changes[i]);
	}
}

static void test_a_watched_queue_that_does_not_change(void **state)
{
	static const char *const looks[] = {
		("TKW.GET q " N0),
		"TKW.LIST q STATE all",
		"TKW.COUNT q",
		"TKW.INFO q",
		"TKW.DIGEST q",
		"TKW.ACK q 1 1",
		"TKW.CANCEL q 5",
		"TKW.PUT q 0 x KEY k",
		"TKW.PUT q 0 x KEY k KEEP",
		"TKW.PUT q x x",
		"TKW.RESUME q",
		"TKW.DEAD q PURGE ALL",
		"TKW.PLANS q",
		"TKW.PLANS q NAME p TIMES 5",
		"TKW.PLAN q p wrong a",
		"TKW.UNPLAN q p",
		"TKW.PUT other 0 a",
	};
	struct redis_bed *b = *state;
	struct resp *other = redis_bed_client(b, 0);

	EXPECT(b->c, "[" N0 ", " N1 "]", "TKW.MPUT q 0 a 0 b KEY k");
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		EXPECT(b->c, "OK", "WATCH q");
		resp_ask(other, "%s", looks[i]);
		if (!runs(b))
			fail_msg("%s counts as a change", looks[i]);
	}
}

/* What time brings is a change when it is recorded. */
static void test_a_watched_queue_from_which_a_waiter_takes(void **state)
{
	struct redis_bed *b = *state;
	struct resp *waiter;

	EXPECT(b->c, N0, "TKW.PUT q 100 a");
	waiter = redis_bed_wait(b, 0, "TKW.TAKE q LEASE 100 BLOCK 0");
	EXPECT(b->c, "OK", "WATCH q");
	redis_bed_pass(b, 99);
	assert_true(runs(b));
	EXPECT(b->c, "OK", "WATCH q");
	redis_bed_pass(b, 1);
	EXPECT_NEXT(waiter, "[[" N0 ", ...");
	assert_false(runs(b));
	/* A lost lease. */
	EXPECT(b->c, "OK", "WATCH q");
	redis_bed_pass(b, 100);
	EXPECT(redis_bed_client(b, 1), "[\"waiting\", 0, \"ready\", 1, ...",
	       "TKW.COUNT q");
	assert_false(runs(b));
}

/* --- scripts -------------------------------------------------------------- */

/* SPEC 11.32. */
static void test_a_script(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, N0,
	       "EVAL \"return redis.call('TKW.PUT', KEYS[1], 0, ARGV[1])\" 1 q "
	       "a");
	EXPECT(b->c, "[[" N0 ", \"a\", " N0 ", 1, " T0 ", nil, 0]]",
	       "EVAL \"return redis.call('TKW.TAKE', KEYS[1])\" 1 q");
	EXPECT(b->c, "[1]",
	       "EVAL \"local t = redis.call('TKW.TAKE', KEYS[1]) return "
	       "redis.call('TKW.ACK', KEYS[1], '" N0 "', '" N0 "')\" 1 q");
	/* Errors have their words. */
	EXPECT(b->c, "-TKWFULL ...",
	       "EVAL \"redis.call('TKW.LIMIT', KEYS[1], 'ITEMS', 1) "
	       "redis.call('TKW.PUT', KEYS[1], 0, 'a') return "
	       "redis.call('TKW.PUT', KEYS[1], 0, 'b')\" 1 q");
	EXPECT(b->c, "\"TKWFULL\"",
	       "EVAL \"local e = redis.pcall('TKW.PUT', KEYS[1], 0, 'b') "
	       "return string.match(e.err, '[A-Z]+')\" 1 q");
}

/* A script that may not write cannot make a look record something. */
static void test_a_script_that_only_reads(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	EXPECT(b->c, "[\"id\", " N0 ", ...",
	       "EVAL_RO \"return redis.call('TKW.GET', KEYS[1], '" N0
	       "')\" 1 q");
	EXPECT(b->c, "-ERR ...",
	       "EVAL_RO \"return redis.call('TKW.TAKE', KEYS[1])\" 1 q");
	EXPECT(b->c, "-ERR ...",
	       "EVAL_RO \"return redis.call('TKW.PUT', KEYS[1], 0, 'a')\" 1 q");
	EXPECT(b->c, "[[" N0 ", ...", "TKW.TAKE q");
}

static void test_a_function(void **state)
{
	struct redis_bed *b = *state;

	resp_ask(b->c, "FUNCTION FLUSH");
	EXPECT(b->c, "\"jobs\"",
	       "FUNCTION LOAD \"#!lua "
	       "name=jobs\\nredis.register_function('next'"
	       ", function(keys, args) return redis.call('TKW.TAKE', keys[1], "
	       "'BLOCK', 0) end)\"");
	EXPECT(b->c, "nil", "FCALL next 1 q");
	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	EXPECT(b->c, "[[" N0 ", ...", "FCALL next 1 q");
	EXPECT(b->c, "OK", "FUNCTION FLUSH");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		REDIS_TEST(test_a_user_who_may_only_put),
		REDIS_TEST(test_users_who_may_only_read_or_write_a_key),
		REDIS_TEST(test_a_consumer),
		REDIS_TEST(test_a_user_who_is_deleted_while_waiting),
		REDIS_TEST(test_a_transaction),
		REDIS_TEST(test_a_watched_queue_that_changes),
		REDIS_TEST(test_a_watched_queue_that_does_not_change),
		REDIS_TEST(test_a_watched_queue_from_which_a_waiter_takes),
		REDIS_TEST(test_a_script),
		REDIS_TEST(test_a_script_that_only_reads),
		REDIS_TEST(test_a_function),
	};

	server_need(argc, argv);
	return cmocka_run_group_tests(tests, redis_bed_begin_all,
				      redis_bed_end_all);
}
