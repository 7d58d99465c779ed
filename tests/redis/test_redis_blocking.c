/* SPDX-License-Identifier: MIT */
/*
 * test_redis_blocking.c - takes that wait: who is served, by what, and when.
 *
 * The server tells how many clients wait, so a test knows that a client still
 * waits, or not, without waiting itself. What happens to a key for which
 * clients wait is in test_redis_waited_key.c.
 */
#include "redis_bed.h"

#define T0 "1700000000000"
#define N0 "1700000000000000"
#define N1 "1700000000000001"
#define N2 "1700000000000002"
#define N3 "1700000000000003"

/* An item that was put and taken at the beginning. */
#define TAKEN(id, payload, token)                                              \
	"[[" id ", \"" payload "\", " token ", 1, " T0 ", nil, 0]]"

/* --- the order ------------------------------------------------------------ */

static void test_waiters_are_served_in_the_order_of_arrival(void **state)
{
	struct redis_bed *b = *state;
	struct resp *first = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	struct resp *second = redis_bed_wait(b, 1, "TKW.TAKE q BLOCK 100000");
	struct resp *third = redis_bed_wait(b, 2, "TKW.TAKE q BLOCK 0");
	struct resp *fourth = redis_bed_wait(b, 3, "TKW.TAKE q BLOCK 0");

	EXPECT(b->c, "[" N0 ", " N1 ", " N2 "]", "TKW.MPUT q 0 a 0 b 0 c");
	EXPECT_NEXT(first, TAKEN(N0, "a", N0));
	EXPECT_NEXT(second, TAKEN(N1, "b", N1));
	EXPECT_NEXT(third, TAKEN(N2, "c", N2));
	assert_int_equal(redis_bed_count_waiting(b), 1);
	EXPECT(b->c, N3, "TKW.PUT q 0 d");
	EXPECT_NEXT(fourth, TAKEN(N3, "d", N3));
	assert_int_equal(redis_bed_count_waiting(b), 0);
}

static void test_a_waiter_takes_what_is_ready_up_to_its_count(void **state)
{
	struct redis_bed *b = *state;
	struct resp *first = redis_bed_wait(b, 0, "TKW.TAKE q COUNT 2 BLOCK 0");
	struct resp *second =
		redis_bed_wait(b, 1, "TKW.TAKE q BLOCK 0 COUNT 9");

	EXPECT(b->c, "[" N0 ", " N1 ", " N2 "]", "TKW.MPUT q 0 a 0 b 0 c");
	EXPECT_NEXT(first, "[[" N0 ", \"a\", " N0 ", 1, " T0 ", nil, 0], [" N1
			   ", \"b\", " N1 ", 1, " T0 ", nil, 0]]");
	EXPECT_NEXT(second, TAKEN(N2, "c", N2));
}

/* It does not wait until it has as many as it may have. */
static void test_a_waiter_returns_at_the_first_item(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c = redis_bed_wait(b, 0, "TKW.TAKE q COUNT 100 BLOCK 0");

	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	EXPECT_NEXT(c, TAKEN(N0, "a", N0));
}

static void test_a_take_that_may_wait_takes_at_once_what_is_ready(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	EXPECT(b->c, TAKEN(N0, "a", N0), "TKW.TAKE q BLOCK 0");
	assert_int_equal(redis_bed_count_waiting(b), 0);
}

/* A paused queue has nothing for anybody, so the second one waits as well. See
 * test_nobody_overtakes_when_writes_are_accepted_again for an item that is
 * ready when the second one comes. */
static void test_those_who_wait_are_served_in_order_after_a_pause(void **state)
{
	struct redis_bed *b = *state;
	struct resp *first = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	struct resp *second = redis_bed_client(b, 1);

	EXPECT(b->c, "OK", "TKW.PAUSE q");
	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	redis_bed_wait(b, 1, "TKW.TAKE q BLOCK 0");
	EXPECT(b->c, "OK", "TKW.RESUME q");
	EXPECT_NEXT(first, TAKEN(N0, "a", N0));
	assert_int_equal(redis_bed_count_waiting(b), 1);
	EXPECT(b->c, N1, "TKW.PUT q 0 b");
	EXPECT_NEXT(second, TAKEN(N1, "b", N1));
}

static void test_commands_behind_a_take_wait_with_it(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");

	resp_send(c, "PING");
	resp_send(c, "TKW.ACK q " N0 " " N0);
	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	EXPECT_NEXT(c, TAKEN(N0, "a", N0));
	EXPECT_NEXT(c, "PONG");
	EXPECT_NEXT(c, "[1]");
}

static void test_info_counts_those_who_wait(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, N0, "TKW.PUT q 1000 a");
	redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	redis_bed_wait(b, 1, "TKW.TAKE q BLOCK 0");
	redis_bed_wait(b, 2, "TKW.TAKE other BLOCK 0");
	assert_int_equal(resp_fact(b->c, "q", "waiting_clients"), 2);
	redis_bed_drop(b, 0);
	WAIT_UNTIL(redis_bed_count_waiting(b) == 2);
	assert_int_equal(resp_fact(b->c, "q", "waiting_clients"), 1);
}

/* --- the end of a wait ---------------------------------------------------- */

static void test_a_wait_ends_after_its_time(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c = redis_bed_client(b, 0);

	EXPECT(b->c, N0, "TKW.PUT q 1000 a");
	EXPECT(c, "nil", "TKW.TAKE q BLOCK 20");
	assert_string_equal(resp_raw(c), b->version == 2 ? "*-1\r\n" : "_\r\n");
	assert_int_equal(redis_bed_count_waiting(b), 0);
	assert_int_equal(resp_fact(b->c, "q", "waiting_clients"), 0);
	/* Nobody takes the item when it is due. */
	redis_bed_pass(b, 1000);
	assert_int_equal(resp_fact(b->c, "q", "ready"), 1);
	EXPECT(c, "[[" N0 ", ...", "TKW.TAKE q BLOCK 20");
}

static void test_client_unblock_ends_a_wait(void **state)
{
	struct redis_bed *b = *state;
	struct resp *first = redis_bed_client(b, 0);
	struct resp *second = redis_bed_client(b, 1);
	int64_t id_1 = resp_number(first, "CLIENT ID");
	int64_t id_2 = resp_number(second, "CLIENT ID");
	struct resp *third;

	redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	redis_bed_wait(b, 1, "TKW.TAKE q BLOCK 0");
	third = redis_bed_wait(b, 2, "TKW.TAKE q BLOCK 0");
	EXPECT(b->c, "1", "CLIENT UNBLOCK %" PRId64, id_1);
	EXPECT_NEXT(first, "nil");
	EXPECT(b->c, "1", "CLIENT UNBLOCK %" PRId64 " ERROR", id_2);
	EXPECT_NEXT(second, "-UNBLOCKED ...");
	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	EXPECT_NEXT(third, TAKEN(N0, "a", N0));
	/* They can take again. */
	EXPECT(b->c, N1, "TKW.PUT q 0 b");
	EXPECT(first, TAKEN(N1, "b", N1), "TKW.TAKE q BLOCK 0");
}

/* SPEC 11.32. */
static void test_a_client_that_is_gone_gets_nothing(void **state)
{
	struct redis_bed *b = *state;
	struct resp *killed = redis_bed_client(b, 0);
	int64_t id = resp_number(killed, "CLIENT ID");
	struct resp *third;

	redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	redis_bed_wait(b, 1, "TKW.TAKE q BLOCK 0");
	third = redis_bed_wait(b, 2, "TKW.TAKE q BLOCK 0");
	EXPECT(b->c, "1", "CLIENT KILL ID %" PRId64, id);
	redis_bed_drop(b, 1);
	WAIT_UNTIL(redis_bed_count_waiting(b) == 1);
	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	EXPECT_NEXT(third, TAKEN(N0, "a", N0));
	assert_null(resp_try_read(killed));
	assert_int_equal(resp_fact(b->c, "q", "takes"), 1);
}

/* The put makes the key ready, and then the client dies, before it is served.
 */
static void test_a_client_killed_after_a_put_gets_nothing(void **state)
{
	struct redis_bed *b = *state;
	struct resp *killed = redis_bed_client(b, 0);
	int64_t id = resp_number(killed, "CLIENT ID");
	struct resp *second;

	redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	second = redis_bed_wait(b, 1, "TKW.TAKE q BLOCK 0");
	EXPECT(b->c, "OK", "MULTI");
	EXPECT(b->c, "QUEUED", "TKW.PUT q 0 a");
	EXPECT(b->c, "QUEUED", "CLIENT KILL ID %" PRId64, id);
	EXPECT(b->c, "[" N0 ", 1]", "EXEC");
	EXPECT_NEXT(second, TAKEN(N0, "a", N0));
	assert_null(resp_try_read(killed));
	assert_int_equal(resp_fact(b->c, "q", "takes"), 1);
}

static void test_a_client_unblocked_after_a_put_gets_nothing(void **state)
{
	struct redis_bed *b = *state;
	struct resp *first = redis_bed_client(b, 0);
	int64_t id = resp_number(first, "CLIENT ID");

	redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	EXPECT(b->c, "OK", "MULTI");
	EXPECT(b->c, "QUEUED", "TKW.PUT q 0 a");
	EXPECT(b->c, "QUEUED", "CLIENT UNBLOCK %" PRId64, id);
	EXPECT(b->c, "[" N0 ", 1]", "EXEC");
	EXPECT_NEXT(first, "nil");
	assert_int_equal(resp_fact(b->c, "q", "ready"), 1);
	assert_int_equal(resp_fact(b->c, "q", "takes"), 0);
}

/* What was given to a client that dies comes back when its lease ends. */
static void test_the_lease_brings_back_what_a_dead_client_has(void **state)
{
	struct redis_bed *b = *state;
	struct resp *second;

	redis_bed_wait(b, 0, "TKW.TAKE q LEASE 100 BLOCK 0");
	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	redis_bed_drop(b, 0);
	second = redis_bed_wait(b, 1, "TKW.TAKE q BLOCK 0");
	redis_bed_pass(b, 99);
	assert_int_equal(redis_bed_count_waiting(b), 1);
	redis_bed_pass(b, 1);
	EXPECT_NEXT(second, "[[" N0 ", \"a\", 1700000000100000, 2, "
			    "1700000000100, nil, 0]]");
}

/* --- what serves ---------------------------------------------------------- */

static void test_an_item_that_becomes_due_serves(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;

	EXPECT(b->c, N0, "TKW.PUT q 100 a");
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	redis_bed_pass(b, 99);
	assert_int_equal(redis_bed_count_waiting(b), 1);
	/* An earlier one that is put later. */
	EXPECT(b->c, "1700000000099000", "TKW.PUT q 50 b");
	redis_bed_pass(b, 1);
	EXPECT_NEXT(c, "[[" N0 ", \"a\", 1700000000100000, 1, 1700000000100, "
		       "nil, 0]]");
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	redis_bed_pass(b, 48);
	assert_int_equal(redis_bed_count_waiting(b), 1);
	redis_bed_pass(b, 1);
	EXPECT_NEXT(c, "[[1700000000099000, \"b\", 1700000000149000, 1, "
		       "1700000000149, nil, 0]]");
}

static void test_a_lease_that_is_lost_serves(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;

	EXPECT(b->c, "[" N0 ", " N1 "]",
	       "TKW.MPUT q 0 a BACKOFF 50 0 b ATTEMPTS 1");
	EXPECT(b->c, "[[...", "TKW.TAKE q COUNT 2 LEASE 100");
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	redis_bed_pass(b, 149);
	assert_int_equal(redis_bed_count_waiting(b), 1);
	redis_bed_pass(b, 1);
	EXPECT_NEXT(c, "[[" N0 ", \"a\", 1700000000150000, 2, 1700000000150, "
		       "nil, 0]]");
	/* b is dead. */
	(void)redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	redis_bed_pass(b, 1000);
	assert_int_equal(resp_fact(b->c, "q", "dead"), 1);
	assert_int_equal(redis_bed_count_waiting(b), 1);
}

enum {
	/* More than a take can record. */
	LEASES = 20000
};

/* Makes a queue with leases of 100 ms, and an item that is due in 200 ms. */
static void take_many_and_put_one(struct redis_bed *b)
{
	for (int i = 0; i < LEASES; i++)
		resp_ask(b->c, "TKW.PUT q 0 a BACKOFF 1000000");
	for (int i = 0; i < LEASES; i += 4000)
		EXPECT(b->c, "[[...", "TKW.TAKE q COUNT 4000 LEASE 100");
	resp_ask(b->c, "TKW.PUT q 200 b");
}

/* More leases have run out than a take can record. They do not come back
 * before the ready item, but nobody knows that before. */
static void test_lost_leases_before_a_ready_item(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;

	take_many_and_put_one(b);
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	redis_bed_pass(b, 300);
	assert_non_null(strstr(resp_read(c), "\"b\""));
	assert_int_equal(resp_fact(b->c, "q", "losses"), LEASES);
}

/* The same with many clients that wait. Each time that the key is signalled,
 * the server asks all of them, but only the first one makes the queue work. */
static void test_lost_leases_before_many_who_wait(void **state)
{
	struct redis_bed *b = *state;
	const char *stats;
	struct resp *c;

	take_many_and_put_one(b);
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	for (int i = 1; i < BED_CLIENTS; i++)
		redis_bed_wait(b, i, "TKW.TAKE q BLOCK 0");
	EXPECT(b->c, "OK", "CONFIG RESETSTAT");
	redis_bed_pass(b, 300);
	assert_non_null(strstr(resp_read(c), "\"b\""));
	assert_int_equal(resp_fact(b->c, "q", "losses"), LEASES);
	/* An item is given out after a call of this command. */
	stats = resp_info(b->c, "commandstats", "cmdstat_TKW.APPLY");
	assert_in_range(atoi(stats + strlen("calls=")), 1, BED_CLIENTS / 2);
}

/* A cluster that is down gives nothing to those who have waited. */
static void test_a_cluster_that_is_down_serves_nobody(void **state)
{
	struct resp *waiter;
	struct server s;
	struct resp *c;

	(void)state;
	server_begin(&s, SERVER_TEST_MODULE, "cluster-enabled yes");
	c = server_connect(&s, 2);
	waiter = server_connect(&s, 2);
	EXPECT(c, "OK", "TKW.CLOCK " N0);
	EXPECT(c, "OK", "CLUSTER ADDSLOTSRANGE 0 16383");
	WAIT_UNTIL(resp_ask(c, "TKW.PUT q 1000 a")[0] == '1');
	resp_send(waiter, "TKW.TAKE q BLOCK 0");
	WAIT_UNTIL(resp_info_number(c, "clients", "blocked_clients") == 1);
	/* A slot that q is not in. */
	EXPECT(c, "OK", "CLUSTER DELSLOTS 1");
	WAIT_UNTIL(strstr(resp_ask(c, "CLUSTER INFO"), "state:fail"));
	EXPECT(c, "OK", "TKW.CLOCK 1700000002000000");
	EXPECT_NEXT(waiter, "-CLUSTERDOWN ...");
	EXPECT(c, "OK", "CLUSTER ADDSLOTS 1");
	WAIT_UNTIL(resp_ask(c, "TKW.COUNT q")[0] != '-');
	assert_int_equal(resp_fact(c, "q", "ready"), 1);
	resp_close(waiter);
	resp_close(c);
	assert_true(server_end(&s));
}

/* A server that refuses writes gives nothing to those who have waited. */
static void test_a_server_that_refuses_writes_serves_nobody(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");

	EXPECT(b->c, N0, "TKW.PUT q 100 a");
	EXPECT(b->c, "OK", "CONFIG SET min-replicas-to-write 1");
	redis_bed_pass(b, 200);
	EXPECT(b->c, "-NOREPLICAS ...", "TKW.TAKE q");
	assert_int_equal(redis_bed_count_waiting(b), 1);
	EXPECT(b->c, "OK", "CONFIG SET min-replicas-to-write 0");
	redis_bed_pass(b, 100);
	EXPECT_NEXT(c, "[[" N0 ", \"a\", ...");
}

/* When the server accepts writes again, an item is ready, and those who have
 * waited for it are not looked at yet. */
static void test_nobody_overtakes_when_writes_are_accepted_again(void **state)
{
	struct redis_bed *b = *state;
	struct resp *first = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	struct resp *second = redis_bed_client(b, 1);

	EXPECT(b->c, N0, "TKW.PUT q 100 a");
	EXPECT(b->c, "OK", "CONFIG SET min-replicas-to-write 1");
	redis_bed_pass(b, 200);
	EXPECT(b->c, "-NOREPLICAS ...", "TKW.TAKE q");
	EXPECT(b->c, "OK", "CONFIG SET min-replicas-to-write 0");
	resp_send(second, "TKW.TAKE q BLOCK 0");
	WAIT_UNTIL(resp_has_reply(first) || resp_has_reply(second));
	assert_false(resp_has_reply(second));
	EXPECT_NEXT(first, "[[" N0 ", \"a\", ...");
	assert_int_equal(redis_bed_count_waiting(b), 1);
	EXPECT(b->c, "17...", "TKW.PUT q 0 b");
	assert_non_null(strstr(resp_read(second), "\"b\""));
}

/* Each of these makes an item ready. */
static void test_other_commands_serve(void **state)
{
	static const struct {
		const char *before; /* after a put of a KEY k, id N0 */
		const char *line;
	} ways[] = {
		{ "", "TKW.PUT q 0 a KEY k REPLACE" },
		{ "", "TKW.RESCHEDULE q KEY k 0" },
		{ "", "TKW.RESCHEDULE q " N0 " AT 5" },
		{ "TAKE", "TKW.NACK q " N0 " " N0 },
		{ "TAKE", "TKW.NACK q DELAY 0 " N0 " " N0 },
		{ "DEAD", "TKW.DEAD q REVIVE " N0 },
		{ "DEAD", "TKW.DEAD q REVIVE ALL" },
		{ "DEAD", "TKW.PUT q 0 b KEY k REPLACE" },
	};
	struct redis_bed *b = *state;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		bool taken = ways[i].before[0] != 0;
		bool dead = ways[i].before[0] == 'D';
		struct resp *c;

		EXPECT(b->c, N0, "TKW.PUT q %d a KEY k ATTEMPTS %d",
		       taken ? 0 : 5000, dead ? 1 : 2);
		if (taken)
			EXPECT(b->c, "[[...", "TKW.TAKE q");
		if (dead)
			EXPECT(b->c, "[1]", "TKW.NACK q " N0 " " N0);
		c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
		resp_ask(b->c, "%s", ways[i].line);
		EXPECT_NEXT(c, "[[" N0 ", ...");
		EXPECT(b->c, "1", "DEL q");
	}
}

/* Nor does an item that goes away before it is due. */
static void test_what_makes_nothing_ready_does_not_serve(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;

	EXPECT(b->c, "[" N0 ", " N1 ", " N2 "]",
	       "TKW.MPUT q 50 a 0 b 60 c KEY k");
	EXPECT(b->c, "[[...", "TKW.TAKE q");
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	EXPECT(b->c, "[1]", "TKW.CANCEL q " N0);
	EXPECT(b->c, "1", "TKW.RESCHEDULE q KEY k 500");
	EXPECT(b->c, "[1]", "TKW.EXTEND q 5000 " N1 " " N0);
	EXPECT(b->c, "[1]", "TKW.ACK q " N1 " " N0);
	EXPECT(b->c, N2, "TKW.PUT q 0 c KEY k KEEP");
	redis_bed_pass(b, 499);
	assert_int_equal(redis_bed_count_waiting(b), 1);
	redis_bed_pass(b, 1);
	EXPECT_NEXT(c, "[[" N2 ", ...");
}

static void test_a_paused_queue_lets_them_wait(void **state)
{
	struct redis_bed *b = *state;
	struct resp *first = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	struct resp *second = redis_bed_wait(b, 1, "TKW.TAKE q BLOCK 0");

	EXPECT(b->c, "OK", "TKW.PAUSE q");
	EXPECT(b->c, "[" N0 ", " N1 "]", "TKW.MPUT q 0 a 50 b");
	redis_bed_pass(b, 50);
	assert_int_equal(redis_bed_count_waiting(b), 2);
	EXPECT(b->c, "OK", "TKW.RESUME q");
	EXPECT_NEXT(first, "[[" N0 ", ...");
	EXPECT_NEXT(second, "[[" N1 ", ...");
}

/* --- many ----------------------------------------------------------------- */

static void test_waiters_of_several_keys_and_databases(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c[60];

	/* Three databases, and five queues in each. */
	for (int i = 0; i < 60; i++) {
		char line[64];

		c[i] = redis_bed_client(b, i);
		EXPECT(c[i], "OK", "SELECT %d", i % 3);
		snprintf(line, sizeof(line), "TKW.TAKE q%d BLOCK 0", i % 5);
		redis_bed_wait(b, i, line);
	}
	for (int i = 0; i < 60; i++) {
		EXPECT(b->c, "OK", "SELECT %d", i % 3);
		EXPECT(b->c, "17...", "TKW.PUT q%d %d item%d", i % 5,
		       100 + i / 15, i);
	}
	redis_bed_pass(b, 100);
	assert_int_equal(redis_bed_count_waiting(b), 45);
	redis_bed_pass(b, 1000);
	for (int i = 0; i < 60; i++) {
		char payload[32];

		snprintf(payload, sizeof(payload), "\"item%d\"", i);
		assert_non_null(strstr(resp_read(c[i]), payload));
	}
}

/* More leases are lost than one take may record. */
static void test_many_lost_leases_serve_in_their_order(void **state)
{
	struct redis_bed *b = *state;
	struct resp *first;
	struct resp *second;

	EXPECT(b->c, "nil",
	       "EVAL \"for i = 1, 60000 do redis.call('TKW.PUT', KEYS[1], 0, "
	       "i) end\" 1 q");
	EXPECT(b->c, "60000",
	       "EVAL \"local n = 0 while n < 60000 do n = n + "
	       "#redis.call('TKW.TAKE', KEYS[1], 'COUNT', 4000, 'LEASE', 60000 "
	       "- n) end return n\" 1 q");
	first = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	second = redis_bed_wait(b, 1, "TKW.TAKE q BLOCK 0 COUNT 2");
	redis_bed_pass(b, 3999);
	assert_int_equal(redis_bed_count_waiting(b), 2);
	redis_bed_pass(b, 100000);
	/* The last 4000 had the shortest lease. */
	assert_non_null(strstr(resp_read(first), "\"56001\", "));
	assert_non_null(strstr(resp_read(second), "\"56002\", "));
	assert_int_equal(resp_fact(b->c, "q", "takes"), 60003);
}

static void test_many_due_at_once_serve_in_their_order(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;

	EXPECT(b->c, "nil",
	       "EVAL \"for i = 1, 100000 do redis.call('TKW.PUT', KEYS[1], "
	       "50000, i) end\" 1 q");
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0 COUNT 2");
	redis_bed_pass(b, 50000);
	assert_non_null(strstr(resp_read(c), "\"1\", "));
	for (int i = 0; i < 3; i++) {
		c = redis_bed_client(b, 0);
		assert_non_null(strstr(
			resp_ask(c, "TKW.TAKE q BLOCK 0 COUNT 4000"), "[["));
	}
}

/* --- transactions and scripts --------------------------------------------- */

static void test_block_is_ignored_in_multi(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, "OK", "MULTI");
	EXPECT(b->c, "QUEUED", "TKW.TAKE q BLOCK 0");
	EXPECT(b->c, "QUEUED", "TKW.PUT q 0 a");
	EXPECT(b->c, "QUEUED", "TKW.TAKE q BLOCK 0");
	EXPECT(b->c, "QUEUED", "TKW.TAKE q BLOCK 0");
	EXPECT(b->c, "[nil, " N0 ", " TAKEN(N0, "a", N0) ", nil]", "EXEC");
}

static void test_block_is_ignored_in_scripts(void **state)
{
	struct redis_bed *b = *state;
	const char *take = "EVAL \"return redis.call('TKW.TAKE', KEYS[1], "
			   "'BLOCK', 0)\" 1 q";

	EXPECT(b->c, "nil", "%s", take);
	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	EXPECT(b->c, TAKEN(N0, "a", N0), "%s", take);
	assert_int_equal(redis_bed_count_waiting(b), 0);
}

static void test_multi_and_scripts_serve_others(void **state)
{
	struct redis_bed *b = *state;
	struct resp *first = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	struct resp *second = redis_bed_wait(b, 1, "TKW.TAKE q BLOCK 0");

	EXPECT(b->c, "OK", "MULTI");
	EXPECT(b->c, "QUEUED", "TKW.PUT q 0 a");
	EXPECT(b->c, "QUEUED", "PING");
	EXPECT(b->c, "[" N0 ", PONG]", "EXEC");
	EXPECT_NEXT(first, TAKEN(N0, "a", N0));
	EXPECT(b->c, N1,
	       "EVAL \"return redis.call('TKW.PUT', KEYS[1], 0, 'b')\" 1 q");
	EXPECT_NEXT(second, TAKEN(N1, "b", N1));
}

/* What is put and taken in one transaction is not there any more. */
static void test_what_a_transaction_takes_serves_nobody(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");

	EXPECT(b->c, "OK", "MULTI");
	EXPECT(b->c, "QUEUED", "TKW.PUT q 0 a");
	EXPECT(b->c, "QUEUED", "TKW.TAKE q");
	EXPECT(b->c, "[" N0 ", " TAKEN(N0, "a", N0) "]", "EXEC");
	assert_int_equal(redis_bed_count_waiting(b), 1);
	EXPECT(b->c, N1, "TKW.PUT q 0 b");
	EXPECT_NEXT(c, TAKEN(N1, "b", N1));
}

/* --- real time ------------------------------------------------------------ */

/* The alarm rings by itself, and never early: the token is the time. */
static void test_time_serves_by_itself(void **state)
{
	struct redis_bed *b = *state;
	struct resp *first;
	struct resp *second;

	EXPECT(b->c, "OK", "TKW.CLOCK REAL");
	first = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0 LEASE 20");
	second = redis_bed_wait(b, 1, "TKW.TAKE q BLOCK 0");
	EXPECT(b->c, "1...", "TKW.PUT q 30 a");
	for (int i = 0; i < 2; i++) {
		int64_t id;
		int64_t token;
		int64_t due;
		int attempt;
		const char *reply = resp_read(i == 0 ? first : second);

		assert_int_equal(sscanf(reply,
					"[[%" SCNd64 ", \"a\", %" SCNd64
					", %d, %" SCNd64,
					&id, &token, &attempt, &due),
				 4);
		assert_int_equal(attempt, i + 1);
		assert_true(token >= due * 1000);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		REDIS_TEST_BOTH(
			test_waiters_are_served_in_the_order_of_arrival),
		REDIS_TEST(test_a_waiter_takes_what_is_ready_up_to_its_count),
		REDIS_TEST(test_a_waiter_returns_at_the_first_item),
		REDIS_TEST(
			test_a_take_that_may_wait_takes_at_once_what_is_ready),
		REDIS_TEST(
			test_those_who_wait_are_served_in_order_after_a_pause),
		REDIS_TEST(test_commands_behind_a_take_wait_with_it),
		REDIS_TEST(test_info_counts_those_who_wait),
		REDIS_TEST_BOTH(test_a_wait_ends_after_its_time),
		REDIS_TEST_BOTH(test_client_unblock_ends_a_wait),
		REDIS_TEST(test_a_client_that_is_gone_gets_nothing),
		REDIS_TEST(test_a_client_killed_after_a_put_gets_nothing),
		REDIS_TEST(test_a_client_unblocked_after_a_put_gets_nothing),
		REDIS_TEST(test_the_lease_brings_back_what_a_dead_client_has),
		REDIS_TEST(test_an_item_that_becomes_due_serves),
		REDIS_TEST(test_a_lease_that_is_lost_serves),
		REDIS_TEST(test_lost_leases_before_a_ready_item),
		REDIS_TEST(test_lost_leases_before_many_who_wait),
		cmocka_unit_test(test_a_cluster_that_is_down_serves_nobody),
		REDIS_TEST(test_a_server_that_refuses_writes_serves_nobody),
		REDIS_TEST(
			test_nobody_overtakes_when_writes_are_accepted_again),
		REDIS_TEST(test_other_commands_serve),
		REDIS_TEST(test_what_makes_nothing_ready_does_not_serve),
		REDIS_TEST(test_a_paused_queue_lets_them_wait),
		REDIS_TEST(test_waiters_of_several_keys_and_databases),
		REDIS_TEST(test_many_lost_leases_serve_in_their_order),
		REDIS_TEST(test_many_due_at_once_serve_in_their_order),
		REDIS_TEST(test_block_is_ignored_in_multi),
		REDIS_TEST(test_block_is_ignored_in_scripts),
		REDIS_TEST(test_multi_and_scripts_serve_others),
		REDIS_TEST(test_what_a_transaction_takes_serves_nobody),
		REDIS_TEST(test_time_serves_by_itself),
	};

	server_need(argc, argv);
	return cmocka_run_group_tests(tests, redis_bed_begin_all,
				      redis_bed_end_all);
}
