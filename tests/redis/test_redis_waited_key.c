/* SPDX-License-Identifier: MIT */
/*
 * test_redis_waited_key.c - what happens to a key for which clients wait: it is
 * deleted, renamed, moved, restored, swapped or given another type. The clients
 * go on waiting, and are served when the key has an item that is ready, however
 * it got there.
 */
#include "redis_bed.h"

#define N0 "1700000000000000"
#define N1 "1700000000000001"

/* A client waits for q. There is another queue with an item that is ready. */
static struct resp *wait_with_other(struct redis_bed *b, const char *other)
{
	EXPECT(b->c, N0, "TKW.PUT %s 0 a", other);
	return redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
}

static void expect_waiting(struct redis_bed *b)
{
	assert_int_equal(redis_bed_count_waiting(b), 1);
	/* A look at the queue does not let it go, either. */
	redis_bed_pass(b, 0);
	assert_int_equal(redis_bed_count_waiting(b), 1);
}

/* SPEC 11.32. */
static void test_a_deleted_key_lets_them_wait(void **state)
{
	static const char *const ways[] = { "DEL q",          "UNLINK q",
					    "FLUSHDB",        "FLUSHALL",
					    "FLUSHALL ASYNC", "PEXPIREAT q 1" };
	struct redis_bed *b = *state;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct resp *c;

		EXPECT(b->c, N0, "TKW.PUT q 500 a");
		c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
		resp_ask(b->c, "%s", ways[i]);
		EXPECT(b->c, "0", "EXISTS q");
		expect_waiting(b);
		/* What was deleted does not become due. */
		redis_bed_pass(b, 500);
		expect_waiting(b);
		redis_bed_pass(b, -500);
		EXPECT(b->c, N0, "TKW.PUT q 0 b");
		EXPECT_NEXT(c, "[[" N0 ", \"b\", ...");
		EXPECT(b->c, "1", "DEL q");
	}
}

/* A key that expires while they wait. The server's own clock counts. */
static void test_an_expired_key_lets_them_wait(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;

	EXPECT(b->c, N0, "TKW.PUT q 500 a");
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	EXPECT(b->c, "1", "PEXPIRE q 20");
	WAIT_UNTIL(resp_number(b->c, "EXISTS q") == 0);
	expect_waiting(b);
	EXPECT(b->c, N0, "TKW.PUT q 0 b");
	EXPECT_NEXT(c, "[[" N0 ", \"b\", ...");
}

/* The alarm finds that the key has expired. The server deletes it, and logs
 * this, before it goes on. Nothing else deletes it: the server is told not to
 * look for such keys, and no command names it. */
static void test_a_key_that_has_expired_when_the_alarm_rings(void **state)
{
	struct resp *waiter;
	struct server s;
	struct resp *c;

	(void)state;
	server_begin(&s, SERVER_TEST_MODULE, "appendonly yes");
	c = server_connect(&s, 2);
	waiter = server_connect(&s, 2);
	EXPECT(c, "OK", "DEBUG SET-ACTIVE-EXPIRE 0");
	for (int i = 1; i <= 3; i++) {
		EXPECT(c, "1...", "TKW.PUT q 60 a");
		resp_send(waiter, "TKW.TAKE q BLOCK 0");
		WAIT_UNTIL(resp_info_number(c, "clients", "blocked_clients") ==
			   1);
		EXPECT(c, "1", "PEXPIRE q 1");
		WAIT_UNTIL(resp_info_number(c, "stats", "expired_keys") == i);
		EXPECT(c, "1...", "TKW.PUT q 0 b");
		EXPECT_NEXT(waiter, "[[1...");
		EXPECT(c, "1", "DEL q");
	}
	resp_close(waiter);
	resp_close(c);
	assert_true(server_end(&s));
}

static void test_a_key_that_is_renamed_away_lets_them_wait(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;

	EXPECT(b->c, N0, "TKW.PUT q 500 a");
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	EXPECT(b->c, "OK", "RENAME q other");
	redis_bed_pass(b, 500);
	expect_waiting(b);
	EXPECT(b->c, "OK", "RENAME other q");
	EXPECT_NEXT(c, "[[" N0 ", \"a\", ...");
}

static void test_a_key_that_is_renamed_to_theirs_serves(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c = wait_with_other(b, "other");

	EXPECT(b->c, "OK", "RENAME other q");
	EXPECT_NEXT(c, "[[" N0 ", \"a\", ...");
}

/* The queue that comes is not ready yet. */
static void test_a_key_that_is_renamed_to_theirs_serves_in_time(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;

	EXPECT(b->c, N0, "TKW.PUT other 300 a");
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	EXPECT(b->c, "OK", "RENAME other q");
	redis_bed_pass(b, 299);
	expect_waiting(b);
	redis_bed_pass(b, 1);
	EXPECT_NEXT(c, "[[" N0 ", \"a\", ...");
}

/* The same by the real clock: the alarm must be set for the queue that came. */
static void test_a_key_that_comes_sets_the_alarm(void **state)
{
	static const char *const ways[] = {
		"RENAME other q",
		"COPY other q REPLACE",
		"RENAMENX other q",
	};
	struct redis_bed *b = *state;

	EXPECT(b->c, "OK", "TKW.CLOCK REAL");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct resp *c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");

		EXPECT(b->c, "1...", "TKW.PUT other 40 a");
		resp_ask(b->c, "%s", ways[i]);
		EXPECT_NEXT(c, "[[1...");
		EXPECT(b->c, "OK", "FLUSHALL");
	}
}

static void test_a_key_that_is_copied_to_theirs_serves(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c = wait_with_other(b, "other");

	EXPECT(b->c, "1", "COPY other q");
	EXPECT_NEXT(c, "[[" N0 ", \"a\", ...");
	EXPECT(b->c, "[[" N0 ", \"a\", ...", "TKW.TAKE other");
}

static void test_a_key_that_is_moved_to_their_database_serves(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;

	EXPECT(b->c, "OK", "SELECT 1");
	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	EXPECT(b->c, "OK", "SELECT 0");
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	expect_waiting(b);
	EXPECT(b->c, "OK", "SELECT 1");
	EXPECT(b->c, "1", "MOVE q 0");
	EXPECT_NEXT(c, "[[" N0 ", \"a\", ...");
}

static void test_a_key_that_is_moved_away_lets_them_wait(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;

	EXPECT(b->c, N0, "TKW.PUT q 500 a");
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	EXPECT(b->c, "1", "MOVE q 1");
	redis_bed_pass(b, 500);
	expect_waiting(b);
	EXPECT(b->c, "1700000000500000", "TKW.PUT q 0 b");
	EXPECT_NEXT(c, "[[1700000000500000, \"b\", ...");
}

/* SPEC 11.32. */
static void test_databases_that_are_swapped_serve(void **state)
{
	struct redis_bed *b = *state;
	struct resp *there;
	struct resp *here;

	/* One waits in database 0, one in database 1. */
	here = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	there = redis_bed_client(b, 1);
	EXPECT(there, "OK", "SELECT 1");
	redis_bed_wait(b, 1, "TKW.TAKE other BLOCK 0");
	EXPECT(b->c, "OK", "SELECT 1");
	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	EXPECT(b->c, "OK", "SELECT 0");
	EXPECT(b->c, N0, "TKW.PUT other 300 b");
	EXPECT(b->c, "OK", "SWAPDB 0 1");
	EXPECT_NEXT(here, "[[" N0 ", \"a\", ...");
	redis_bed_pass(b, 299);
	assert_int_equal(redis_bed_count_waiting(b), 1);
	redis_bed_pass(b, 1);
	EXPECT_NEXT(there, "[[" N0 ", \"b\", ...");
}

/* The reply of DUMP, as a word that can be sent again. */
static char *dump(struct redis_bed *b, const char *queue)
{
	char *text = strdup(resp_ask(b->c, "DUMP %s", queue));

	assert_non_null(text);
	assert_int_equal(text[0], '"');
	return text;
}

static void test_a_key_that_is_restored_serves(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c = wait_with_other(b, "other");
	char *bytes = dump(b, "other");

	EXPECT(b->c, "OK", "RESTORE q 0 %s", bytes);
	EXPECT_NEXT(c, "[[" N0 ", \"a\", ...");
	/* Over a queue that exists. */
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	EXPECT(b->c, "OK", "RESTORE q 0 %s REPLACE", bytes);
	EXPECT_NEXT(c, "[[" N0 ", \"a\", ...");
	free(bytes);
}

static void test_a_reload_lets_them_wait_and_serves(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;

	EXPECT(b->c, N0, "TKW.PUT q 300 a");
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	EXPECT(b->c, "OK", "DEBUG RELOAD");
	expect_waiting(b);
	redis_bed_pass(b, 300);
	EXPECT_NEXT(c, "[[" N0 ", \"a\", ...");
}

/* --- another type --------------------------------------------------------- */

static void test_a_key_of_another_type_lets_them_go(void **state)
{
	static const char *const ways[] = { "SET q text", "RPUSH q a",
					    "SADD q a", "XADD q * f v",
					    "HSET q f v" };
	struct redis_bed *b = *state;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct resp *first = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
		struct resp *second =
			redis_bed_wait(b, 1, "TKW.TAKE q BLOCK 0");

		resp_ask(b->c, "%s", ways[i]);
		/* At the next look at the latest. */
		redis_bed_pass(b, 0);
		EXPECT_NEXT(first, "-WRONGTYPE ...");
		EXPECT_NEXT(second, "-WRONGTYPE ...");
		assert_int_equal(redis_bed_count_waiting(b), 0);
		EXPECT(b->c, "1", "DEL q");
	}
}

static void test_a_queue_overwritten_by_another_type_lets_them_go(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;

	EXPECT(b->c, N0, "TKW.PUT q 300 a");
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	EXPECT(b->c, "OK", "SET q text");
	redis_bed_pass(b, 300);
	EXPECT_NEXT(c, "-WRONGTYPE ...");
	EXPECT(b->c, "\"text\"", "GET q");
}

/* The same by the real clock, long before the item is due. */
static void test_a_queue_that_is_overwritten_sets_the_alarm(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;

	EXPECT(b->c, "OK", "TKW.CLOCK REAL");
	EXPECT(b->c, "1...", "TKW.PUT q 3600000 a");
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	EXPECT(b->c, "OK", "SET q text");
	EXPECT_NEXT(c, "-WRONGTYPE ...");
}

/* Nothing happens to a client that waits for something else with this key. */
static void test_clients_that_wait_for_lists_are_left_alone(void **state)
{
	struct redis_bed *b = *state;
	struct resp *list = redis_bed_wait(b, 0, "BLPOP q 0");
	struct resp *c = redis_bed_wait(b, 1, "TKW.TAKE q BLOCK 0");

	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	EXPECT_NEXT(c, "[[" N0 ", \"a\", ...");
	assert_int_equal(redis_bed_count_waiting(b), 1);
	EXPECT(b->c, "1", "DEL q");
	EXPECT(b->c, "1", "RPUSH q x");
	EXPECT_NEXT(list, "[\"q\", \"x\"]");
}

/* In one transaction, so that only the last state counts. */
static void test_only_the_end_of_a_transaction_counts(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");

	EXPECT(b->c, "OK", "MULTI");
	EXPECT(b->c, "QUEUED", "TKW.PUT q 0 a");
	EXPECT(b->c, "QUEUED", "DEL q");
	EXPECT(b->c, "QUEUED", "SET q text");
	EXPECT(b->c, "QUEUED", "DEL q");
	EXPECT(b->c, "[" N0 ", 1, OK, 1]", "EXEC");
	expect_waiting(b);
	EXPECT(b->c, "OK", "MULTI");
	EXPECT(b->c, "QUEUED", "TKW.PUT q 0 a");
	EXPECT(b->c, "QUEUED", "RENAME q other");
	EXPECT(b->c, "[" N0 ", OK]", "EXEC");
	expect_waiting(b);
	EXPECT(b->c, N0, "TKW.PUT q 0 b");
	EXPECT_NEXT(c, "[[" N0 ", \"b\", ...");
}

/* --- the server ends, or changes its role --------------------------------- */

static void test_a_server_ends_while_clients_wait(void **state)
{
	struct server s;
	struct resp *control;
	struct resp *c[2];

	(void)state;
	server_begin(&s, SERVER_TEST_MODULE, "");
	control = server_connect(&s, 2);
	for (int i = 0; i < 2; i++) {
		c[i] = server_connect(&s, 2);
		resp_send(c[i], "TKW.TAKE q%d BLOCK 0", i);
	}
	WAIT_UNTIL(resp_info_number(control, "clients", "blocked_clients") ==
		   2);
	EXPECT(control, "17...", "TKW.PUT q0 100000000 a");
	server_stop(&s);
	for (int i = 0; i < 2; i++) {
		assert_null(resp_try_read(c[i]));
		resp_close(c[i]);
	}
	resp_close(control);
	assert_true(server_end(&s));
}

static void test_a_master_that_becomes_a_replica_lets_them_go(void **state)
{
	struct redis_bed *b = *state;
	struct server s;
	struct resp *control;
	struct resp *c;

	server_begin(&s, SERVER_TEST_MODULE, "");
	control = server_connect(&s, 2);
	c = server_connect(&s, 2);
	resp_send(c, "TKW.TAKE q BLOCK 0");
	WAIT_UNTIL(resp_info_number(control, "clients", "blocked_clients") ==
		   1);
	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	server_follow(&s, b->server);
	/* The server also closes the connection. */
	EXPECT_NEXT(c, "-UNBLOCKED ...");
	EXPECT(control, "-READONLY ...", "TKW.TAKE q BLOCK 0");
	EXPECT(control, "-READONLY ...", "TKW.PUT q 0 a");
	assert_int_equal(resp_fact(control, "q", "taken"), 0);
	resp_close(control);
	resp_close(c);
	assert_true(server_end(&s));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		REDIS_TEST(test_a_deleted_key_lets_them_wait),
		REDIS_TEST(test_an_expired_key_lets_them_wait),
		cmocka_unit_test(
			test_a_key_that_has_expired_when_the_alarm_rings),
		REDIS_TEST(test_a_key_that_is_renamed_away_lets_them_wait),
		REDIS_TEST(test_a_key_that_is_renamed_to_theirs_serves),
		REDIS_TEST(test_a_key_that_is_renamed_to_theirs_serves_in_time),
		REDIS_TEST(test_a_key_that_comes_sets_the_alarm),
		REDIS_TEST(test_a_key_that_is_copied_to_theirs_serves),
		REDIS_TEST(test_a_key_that_is_moved_to_their_database_serves),
		REDIS_TEST(test_a_key_that_is_moved_away_lets_them_wait),
		REDIS_TEST(test_databases_that_are_swapped_serve),
		REDIS_TEST(test_a_key_that_is_restored_serves),
		REDIS_TEST(test_a_reload_lets_them_wait_and_serves),
		REDIS_TEST(test_a_key_of_another_type_lets_them_go),
		REDIS_TEST(
			test_a_queue_overwritten_by_another_type_lets_them_go),
		REDIS_TEST(test_a_queue_that_is_overwritten_sets_the_alarm),
		REDIS_TEST(test_clients_that_wait_for_lists_are_left_alone),
		REDIS_TEST(test_only_the_end_of_a_transaction_counts),
		REDIS_TEST(test_a_server_ends_while_clients_wait),
		REDIS_TEST(test_a_master_that_becomes_a_replica_lets_them_go),
	};

	server_need(argc, argv);
	return cmocka_run_group_tests(tests, redis_bed_begin_all,
				      redis_bed_end_all);
}
