/* SPDX-License-Identifier: MIT */
/*
 * test_redis_pauses.c - times at which a server must not write, although it is
 * a master: CLIENT PAUSE, FAILOVER, and a shutdown that waits for replicas.
 *
 * A server that replicates something then stops with a failed assertion. Items
 * become due and leases run out meanwhile. Clients that wait must not be served
 * before the pause is over, and must be served then.
 */
#include "redis_bed.h"

enum {
	SOON_MS = 30
};

/* A master that has items which are due soon, a client that waits, and perhaps
 * a replica. The clock is the real one. */
struct pause_bed {
	struct server master;
	struct server replica;
	struct resp *c;
	struct resp *waiter[3];
};

static void wait_for(struct pause_bed *p, int number, const char *queue)
{
	int64_t before = resp_info_number(p->c, "clients", "blocked_clients");

	p->waiter[number] = server_connect(&p->master, 2);
	resp_send(p->waiter[number], "TKW.TAKE %s BLOCK 0", queue);
	WAIT_UNTIL(resp_info_number(p->c, "clients", "blocked_clients") ==
		   before + 1);
}

/* Clients wait for an item that will be due, one whose lease will be lost, and
 * one that will be ready when it has been moved from a far place of the wheel.
 */
static void begin(struct pause_bed *p, const char *lines)
{
	*p = (struct pause_bed){ .c = NULL };
	server_begin(&p->master, SERVER_REAL_MODULE, lines);
	p->c = server_connect(&p->master, 2);
}

static void add_work(struct pause_bed *p)
{
	EXPECT(p->c, "1...", "TKW.PUT lost 0 a");
	EXPECT(p->c, "1...",
	       "EVAL \"for i = 1, 500 do redis.call('TKW.PUT', KEYS[1], "
	       "100000 + i, i) end return 1\" 1 many");
	wait_for(p, 1, "due");
	EXPECT(p->c, "1...", "TKW.PUT due %d a", SOON_MS);
	EXPECT(p->c, "[[1...", "TKW.TAKE lost LEASE %d", SOON_MS);
	wait_for(p, 0, "lost");
	wait_for(p, 2, "many");
	EXPECT(p->c, "1...", "TKW.PUT many %d a", SOON_MS);
}

static void end(struct pause_bed *p)
{
	for (int i = 0; i < 3; i++)
		resp_close(p->waiter[i]);
	resp_close(p->c);
	assert_true(server_end(&p->replica));
	assert_true(server_end(&p->master));
}

static int64_t server_ms(struct resp *c)
{
	const char *reply = resp_ask(c, "TIME");
	int64_t seconds;
	int64_t us;

	assert_int_equal(sscanf(reply, "[\"%" SCNd64 "\", \"%" SCNd64 "\"]",
				&seconds, &us),
			 2);
	return seconds * 1000 + us / 1000;
}

/* Lets the items become due. The server's clock counts. */
static void let_it_be_due(struct pause_bed *p)
{
	int64_t until = server_ms(p->c) + 4L * SOON_MS;

	WAIT_UNTIL(server_ms(p->c) > until);
}

static void expect_served(struct pause_bed *p)
{
	EXPECT_NEXT(p->waiter[0], "[[...");
	EXPECT_NEXT(p->waiter[1], "[[...");
	EXPECT_NEXT(p->waiter[2], "[[...");
}

static void expect_waiting(struct pause_bed *p)
{
	for (int i = 0; i < 3; i++)
		assert_false(resp_has_reply(p->waiter[i]));
}

/* --- CLIENT PAUSE --------------------------------------------------------- */

static void test_nobody_is_served_while_writes_are_paused(void **state)
{
	struct pause_bed p;

	(void)state;
	begin(&p, "");
	add_work(&p);
	EXPECT(p.c, "OK", "CLIENT PAUSE 1000000 WRITE");
	let_it_be_due(&p);
	expect_waiting(&p);
	EXPECT(p.c, "OK", "CLIENT UNPAUSE");
	expect_served(&p);
	end(&p);
}

static void test_nobody_is_served_while_all_is_paused(void **state)
{
	struct pause_bed p;

	(void)state;
	begin(&p, "");
	add_work(&p);
	EXPECT(p.c, "OK", "CLIENT PAUSE 200 ALL");
	expect_served(&p);
	end(&p);
}

/* The transaction that pauses may write, but not what it makes ready. */
static void test_a_transaction_that_pauses_serves_nobody(void **state)
{
	struct pause_bed p;

	(void)state;
	begin(&p, "");
	wait_for(&p, 0, "q");
	wait_for(&p, 1, "due");
	wait_for(&p, 2, "r");
	EXPECT(p.c, "OK", "MULTI");
	EXPECT(p.c, "QUEUED", "CLIENT PAUSE 1000000 WRITE");
	EXPECT(p.c, "QUEUED", "TKW.PUT q 0 a");
	EXPECT(p.c, "QUEUED", "TKW.PUT due %d a", SOON_MS);
	EXPECT(p.c, "QUEUED", "TKW.PUT r 0 a");
	EXPECT(p.c, "[OK, 1...", "EXEC");
	let_it_be_due(&p);
	expect_waiting(&p);
	EXPECT(p.c, "OK", "CLIENT UNPAUSE");
	expect_served(&p);
	end(&p);
}

/* A look at a queue records leases that are lost, so it has to wait. */
static void test_looks_that_record_wait_for_the_end_of_a_pause(void **state)
{
	struct pause_bed p;
	struct resp *look;

	(void)state;
	begin(&p, "");
	add_work(&p);
	look = server_connect(&p.master, 2);
	EXPECT(p.c, "OK", "CLIENT PAUSE 1000000 WRITE");
	let_it_be_due(&p);
	resp_send(look, "TKW.COUNT lost");
	/* It is paused like a write. */
	WAIT_UNTIL(resp_info_number(p.c, "clients", "blocked_clients") == 4);
	EXPECT(p.c, "1", "EXISTS lost");
	EXPECT(p.c, "OK", "CLIENT UNPAUSE");
	EXPECT_NEXT(look, "{\"waiting\": 0, ...");
	resp_close(look);
	end(&p);
}

/* --- FAILOVER ------------------------------------------------------------- */

static void begin_pair(struct pause_bed *p, const char *lines)
{
	begin(p, lines);
	server_begin(&p->replica, SERVER_REAL_MODULE, "");
	server_follow(&p->replica, &p->master);
}

static void expect_equal(struct pause_bed *p, const char *queue)
{
	struct resp *m = server_connect(&p->master, 2);
	struct resp *r = server_connect(&p->replica, 2);
	char digest[64];

	snprintf(digest, sizeof(digest), "%s", redis_bed_digest(m, queue));
	EXPECT(r, digest, "TKW.DIGEST %s", queue);
	resp_close(m);
	resp_close(r);
}

static void expect_state(struct pause_bed *p, const char *want)
{
	WAIT_UNTIL(
		strcmp(resp_info(p->c, "replication", "master_failover_state"),
		       want) == 0);
}

/* The replica stands still, so that the master waits for it. */
static void begin_failover(struct pause_bed *p)
{
	add_work(p);
	server_freeze(&p->replica);
	EXPECT(p->c, "OK", "SET x y");
	EXPECT(p->c, "OK", "FAILOVER TO 127.0.0.1 %d TIMEOUT 1000000",
	       p->replica.port);
	expect_state(p, "waiting-for-sync");
	let_it_be_due(p);
	expect_waiting(p);
}

static void test_nobody_is_served_during_a_failover(void **state)
{
	struct pause_bed p;
	struct resp *r;

	(void)state;
	begin_pair(&p, "");
	begin_failover(&p);
	server_thaw(&p.replica);
	for (int i = 0; i < 3; i++)
		EXPECT_NEXT(p.waiter[i], "-UNBLOCKED ...");
	/* The replica is the master now, and has all items. */
	r = server_connect(&p.replica, 2);
	WAIT_UNTIL(strcmp(resp_info(r, "replication", "role"), "master") == 0);
	EXPECT(r, "[[...", "TKW.TAKE due");
	EXPECT(r, "[[...", "TKW.TAKE lost");
	EXPECT(r, "[[...", "TKW.TAKE many");
	resp_close(r);
	server_catch_up(&p.master, &p.replica);
	expect_equal(&p, "due");
	expect_equal(&p, "lost");
	expect_equal(&p, "many");
	end(&p);
}

static void test_all_are_served_when_a_failover_is_given_up(void **state)
{
	struct pause_bed p;

	(void)state;
	begin_pair(&p, "");
	begin_failover(&p);
	EXPECT(p.c, "OK", "FAILOVER ABORT");
	expect_served(&p);
	server_thaw(&p.replica);
	server_catch_up(&p.replica, &p.master);
	expect_equal(&p, "due");
	expect_equal(&p, "lost");
	expect_equal(&p, "many");
	end(&p);
}

/* A shutdown waits for replicas that are behind, and pauses writes for it. */
static void test_nobody_is_served_during_a_shutdown(void **state)
{
	struct pause_bed p;
	struct resp *control;
	struct resp *r;

	(void)state;
	begin_pair(&p, "shutdown-timeout 1000");
	add_work(&p);
	control = server_connect(&p.master, 2);
	server_freeze(&p.replica);
	EXPECT(p.c, "OK", "SET x y");
	resp_send(control, "SHUTDOWN");
	WAIT_UNTIL(resp_info(p.c, "server", "shutdown_in_milliseconds")[0]);
	let_it_be_due(&p);
	expect_waiting(&p);
	server_thaw(&p.replica);
	assert_null(resp_try_read(control));
	resp_close(control);
	WAIT_UNTIL(!server_is_alive(&p.master));
	/* The replica got everything. */
	r = server_connect(&p.replica, 2);
	EXPECT(r, "OK", "REPLICAOF NO ONE");
	EXPECT(r, "\"y\"", "GET x");
	EXPECT(r, "[[...", "TKW.TAKE due");
	EXPECT(r, "[[...", "TKW.TAKE lost");
	EXPECT(r, "[[...", "TKW.TAKE many");
	resp_close(r);
	end(&p);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_is_served_while_writes_are_paused),
		cmocka_unit_test(test_nobody_is_served_while_all_is_paused),
		cmocka_unit_test(test_a_transaction_that_pauses_serves_nobody),
		cmocka_unit_test(
			test_looks_that_record_wait_for_the_end_of_a_pause),
		cmocka_unit_test(test_nobody_is_served_during_a_failover),
		cmocka_unit_test(
			test_all_are_served_when_a_failover_is_given_up),
		cmocka_unit_test(test_nobody_is_served_during_a_shutdown),
	};

	server_need(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
