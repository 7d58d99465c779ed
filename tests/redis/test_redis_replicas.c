/* SPDX-License-Identifier: MIT */
/*
 * test_redis_replicas.c - a replica is equal to its master, item by item, by
 * whatever way it got its items, and can take over.
 */
#include "redis_bed.h"

#include "queue_mix.h"

enum {
	STEPS = 2000,
	CHECK_EACH = 100
};

struct pair {
	struct server master;
	struct server replica;
	struct resp *m;
	struct resp *r;
};

static void begin(struct pair *p, const char *master, const char *replica)
{
	server_begin(&p->master, SERVER_TEST_MODULE, master);
	server_begin(&p->replica, SERVER_TEST_MODULE, replica);
	p->m = server_connect(&p->master, 2);
	p->r = server_connect(&p->replica, 2);
}

static void end(struct pair *p)
{
	resp_close(p->m);
	resp_close(p->r);
	assert_true(server_end(&p->replica));
	assert_true(server_end(&p->master));
}

static void follow(struct pair *p)
{
	server_follow(&p->replica, &p->master);
}

/* Compares a queue. A replica records nothing by itself, so nothing may change
 * between the two digests: the clock of the master must stand still, or its
 * queue must be left alone. */
static void expect_equal(struct pair *p, const char *queue)
{
	char digest[64];

	server_catch_up(&p->replica, &p->master);
	snprintf(digest, sizeof(digest), "%s", redis_bed_digest(p->m, queue));
	EXPECT(p->r, digest, "TKW.DIGEST %s", queue);
}

static void mix(struct pair *p, uint32_t steps)
{
	struct queue_mix m;

	queue_mix_init(&m, p->m, "mixed", server_seed());
	for (uint32_t i = 0; i < steps; i += CHECK_EACH) {
		queue_mix_run(&m, CHECK_EACH);
		expect_equal(p, "mixed");
	}
	queue_mix_check(p->m, "mixed");
}

/* --- ways to become a replica --------------------------------------------- */

static void check_full_sync(const char *master, const char *replica)
{
	struct pair p;

	begin(&p, master, replica);
	queue_mix_fill(p.m, "rich");
	queue_mix_plan(p.m, "planned");
	EXPECT(p.m, "OK", "SELECT 3");
	queue_mix_fill(p.m, "other");
	EXPECT(p.m, "OK", "SELECT 0");
	EXPECT(p.r, "1...", "TKW.PUT old 0 a");
	follow(&p);
	expect_equal(&p, "rich");
	expect_equal(&p, "planned");
	EXPECT(p.r, "0", "EXISTS old");
	EXPECT(p.m, "OK", "SELECT 3");
	EXPECT(p.r, "OK", "SELECT 3");
	expect_equal(&p, "other");
	EXPECT(p.m, "OK", "SELECT 0");
	EXPECT(p.r, "OK", "SELECT 0");
	EXPECT(p.m, "OK", "TKW.CLOCK REAL");
	mix(&p, 200);
	end(&p);
}

static void test_full_sync_by_a_file(void **state)
{
	(void)state;
	check_full_sync("repl-diskless-sync no", "repl-diskless-load disabled");
}

static void test_full_sync_without_a_file(void **state)
{
	(void)state;
	check_full_sync("repl-diskless-sync yes", "repl-diskless-load swapdb");
}

/* SPEC 11.31. */
static void test_each_command_is_replicated(void **state)
{
	struct pair p;

	(void)state;
	begin(&p, "", "");
	follow(&p);
	queue_mix_fill(p.m, "rich");
	expect_equal(&p, "rich");
	queue_mix_plan(p.m, "planned");
	expect_equal(&p, "planned");
	EXPECT(p.m, "OK", "TKW.CLOCK REAL");
	mix(&p, STEPS);
	EXPECT(p.m, "1", "DEL mixed");
	expect_equal(&p, "mixed");
	EXPECT(p.r, "0", "EXISTS mixed");
	end(&p);
}

/* An empty queue that a pause or a limit has created. */
static void test_an_empty_queue_is_replicated(void **state)
{
	struct pair p;

	(void)state;
	begin(&p, "", "");
	follow(&p);
	EXPECT(p.m, "OK", "TKW.PAUSE a");
	EXPECT(p.m, "OK", "TKW.LIMIT b BYTES 5");
	EXPECT(p.m, "-TKWFULL ...", "TKW.PUT b 0 123456");
	EXPECT(p.m, "-ERR ...", "TKW.PUT c 0 a NOSUCH");
	EXPECT(p.m, "nil", "TKW.TAKE d");
	expect_equal(&p, "a");
	expect_equal(&p, "b");
	EXPECT(p.r, "2", "EXISTS a b c d");
	end(&p);
}

static void test_what_waiters_take_is_replicated(void **state)
{
	static const int after_ms[] = { 0, 50, 100 };
	struct pair p;
	struct resp *c;

	(void)state;
	begin(&p, "", "");
	follow(&p);
	c = server_connect(&p.master, 2);
	EXPECT(p.m, "OK", "TKW.CLOCK 1700000000000000");
	/* Served by a put, by time, and by a lost lease. */
	for (int i = 0; i < 3; i++) {
		resp_send(c, "TKW.TAKE q LEASE 100 BLOCK 0");
		WAIT_UNTIL(resp_info_number(p.m, "clients",
					    "blocked_clients") == 1);
		if (i == 0)
			EXPECT(p.m, "17...", "TKW.PUT q 0 a ATTEMPTS 2");
		if (i == 1)
			EXPECT(p.m, "17...", "TKW.PUT q 50 b");
		EXPECT(p.m, "OK", "TKW.CLOCK 1700000000%03d000", after_ms[i]);
		EXPECT_NEXT(c, "[[17...");
		expect_equal(&p, "q");
	}
	resp_close(c);
	end(&p);
}

/* SPEC 12.4: a client waits, and its take ends an item of a plan that was
 * missed, and then one that comes while another one is running. */
static void test_what_waiters_end_is_replicated(void **state)
{
	struct pair p;
	struct resp *c;

	(void)state;
	begin(&p, "", "");
	follow(&p);
	c = server_connect(&p.master, 2);
	EXPECT(p.m, "OK", "TKW.CLOCK 1700000000000000");
	EXPECT(p.m, "1700000010000",
	       "TKW.PLAN q p \"every 10s\" a MISFIRE skip GRACE 5");
	resp_send(c, "TKW.TAKE q BLOCK 0");
	WAIT_UNTIL(resp_fact(p.m, "q", "waiting_clients") == 1);
	EXPECT(p.m, "OK", "TKW.CLOCK 1700000010006000");
	WAIT_UNTIL(resp_fact(p.m, "q", "cancels") == 1);
	expect_equal(&p, "q");
	EXPECT(p.m, "OK", "TKW.CLOCK 1700000020000000");
	EXPECT_NEXT(c, "[[17...");
	resp_send(c, "TKW.TAKE q BLOCK 0");
	WAIT_UNTIL(resp_fact(p.m, "q", "waiting_clients") == 1);
	EXPECT(p.m, "OK", "TKW.CLOCK 1700000030000000");
	WAIT_UNTIL(resp_fact(p.m, "q", "cancels") == 2);
	expect_equal(&p, "q");
	resp_close(c);
	end(&p);
}

/* A look at a queue records what was lost, and replicates it. */
static void test_looks_replicate_lost_leases(void **state)
{
	static const char *const looks[] = { "TKW.COUNT q", "TKW.INFO q",
					     "TKW.LIST q STATE dead" };
	struct pair p;

	(void)state;
	begin(&p, "", "");
	follow(&p);
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		EXPECT(p.m, "OK", "TKW.CLOCK 1700000000000000");
		EXPECT(p.m, "17...", "TKW.PUT q 0 a ATTEMPTS 1");
		EXPECT(p.m, "[[...", "TKW.TAKE q LEASE 100");
		EXPECT(p.m, "OK", "TKW.CLOCK 1700000000100000");
		resp_ask(p.m, "%s", looks[i]);
		expect_equal(&p, "q");
		EXPECT(p.r, "[\"0\", [[\"id\", 17...", "TKW.LIST q STATE dead");
		EXPECT(p.m, "1", "DEL q");
	}
	end(&p);
}

/* A replica derives what is ready, and records nothing. */
static void test_a_replica_looks_and_records_nothing(void **state)
{
	static const char *const looks[] = { "TKW.COUNT q", "TKW.INFO q",
					     "TKW.LIST q STATE all",
					     "TKW.GET q 1700000000000000",
					     "TKW.DIGEST q" };
	struct pair p;

	(void)state;
	begin(&p, "", "");
	follow(&p);
	EXPECT(p.m, "OK", "TKW.CLOCK 1700000000000000");
	EXPECT(p.m, "[17...", "TKW.MPUT q 0 a ATTEMPTS 1 50 b");
	EXPECT(p.m, "[[...", "TKW.TAKE q LEASE 100");
	expect_equal(&p, "q");
	EXPECT(p.r, "OK", "TKW.CLOCK 1700000000060000");
	EXPECT(p.r, "{\"waiting\": 0, \"ready\": 1, \"taken\": 1, \"dead\": 0}",
	       "TKW.COUNT q");
	EXPECT(p.r, "OK", "TKW.CLOCK 1700000000500000");
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++)
		assert_int_not_equal(resp_ask(p.r, "%s", looks[i])[0], '-');
	expect_equal(&p, "q");
	EXPECT(p.r, "-READONLY ...", "TKW.TAKE q");
	EXPECT(p.r, "-READONLY ...", "TKW.ACK q 1 1");
	EXPECT(p.r, "-READONLY ...", "TKW.DEAD q REVIVE ALL");
	EXPECT(p.r, "-...", "TKW.APPLY q RECORDS x");
	expect_equal(&p, "q");
	end(&p);
}

/* --- links that break ----------------------------------------------------- */

/* SPEC 11.31, 11.32. */
static void test_partial_sync(void **state)
{
	struct queue_mix m;
	struct pair p;
	int64_t full;

	(void)state;
	begin(&p, "repl-backlog-size 50mb", "");
	follow(&p);
	queue_mix_init(&m, p.m, "mixed", server_seed());
	queue_mix_run(&m, 200);
	full = resp_info_number(p.m, "stats", "sync_full");
	for (int i = 0; i < 5; i++) {
		EXPECT(p.m, "1", "CLIENT KILL TYPE replica");
		queue_mix_run(&m, 100);
		expect_equal(&p, "mixed");
	}
	assert_true(resp_info_number(p.m, "stats", "sync_partial_ok") >= 5);
	assert_int_equal(resp_info_number(p.m, "stats", "sync_full"), full);
	end(&p);
}

/* The link breaks while the replica gets its first copy, under load. */
static void test_full_sync_under_load(void **state)
{
	struct queue_mix m;
	struct pair p;

	(void)state;
	begin(&p, "rdb-key-save-delay 100000", "");
	queue_mix_init(&m, p.m, "mixed", server_seed());
	queue_mix_run(&m, 500);
	EXPECT(p.r, "OK", "REPLICAOF 127.0.0.1 %d", p.master.port);
	WAIT_UNTIL(resp_info_number(p.m, "persistence",
				    "rdb_bgsave_in_progress") == 1);
	queue_mix_run(&m, 500);
	expect_equal(&p, "mixed");
	end(&p);
}

static void test_a_replica_of_a_replica(void **state)
{
	struct server third;
	struct resp *t;
	struct pair p;
	char digest[64];

	(void)state;
	begin(&p, "", "");
	follow(&p);
	server_begin(&third, SERVER_TEST_MODULE, "");
	server_follow(&third, &p.replica);
	t = server_connect(&third, 2);
	mix(&p, 300);
	server_catch_up(&third, &p.replica);
	snprintf(digest, sizeof(digest), "%s", redis_bed_digest(p.m, "mixed"));
	EXPECT(t, digest, "TKW.DIGEST mixed");
	resp_close(t);
	assert_true(server_end(&third));
	end(&p);
}

/* The AOF of a replica has what the master has decided. */
static void test_the_aof_of_a_replica(void **state)
{
	struct pair p;
	char digest[64];

	(void)state;
	begin(&p, "", "appendonly yes\nappendfsync always");
	follow(&p);
	/* After a sync, the AOF begins anew with a rewrite. */
	WAIT_UNTIL(resp_info_number(p.r, "persistence",
				    "aof_rewrite_in_progress") == 0 &&
		   resp_info_number(p.r, "persistence",
				    "aof_rewrite_scheduled") == 0);
	mix(&p, 300);
	/* The check of the mix has counted, and so recorded leases. */
	expect_equal(&p, "mixed");
	snprintf(digest, sizeof(digest), "%s", redis_bed_digest(p.m, "mixed"));
	resp_close(p.r);
	server_kill(&p.replica);
	server_start(&p.replica);
	p.r = server_connect(&p.replica, 2);
	EXPECT(p.r, digest, "TKW.DIGEST mixed");
	end(&p);
}

/* SPEC 11.31: only a master gives out, whatever a replica is told. */
static void test_a_replica_that_accepts_writes_changes_no_queue(void **state)
{
	static const char *const lines[] = { "TKW.PUT q 0 b", "TKW.TAKE q",
					     "TKW.TAKE q BLOCK 0",
					     "TKW.CANCEL q KEY k",
					     "TKW.PAUSE q" };
	struct pair p;

	(void)state;
	begin(&p, "", "replica-read-only no");
	follow(&p);
	assert_true(resp_ask(p.m, "TKW.PUT q 0 a KEY k")[0] == '1');
	expect_equal(&p, "q");
	EXPECT(p.r, "OK", "SET other x");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		EXPECT(p.r, "-READONLY ...", "%s", lines[i]);
	expect_equal(&p, "q");
	EXPECT(p.r, "OK", "REPLICAOF NO ONE");
	EXPECT(p.r, "[1]", "TKW.CANCEL q KEY k");
	end(&p);
}

/* --- a replica takes over ------------------------------------------------- */

/* SPEC 11.33: what is taken stays taken, and numbers go on. */
static void test_a_replica_that_is_promoted_goes_on(void **state)
{
	struct pair p;

	(void)state;
	begin(&p, "", "");
	follow(&p);
	EXPECT(p.m, "OK", "TKW.CLOCK 1700000000000000");
	/* The clock of the replica is behind. */
	EXPECT(p.r, "OK", "TKW.CLOCK 1699999999000000");
	EXPECT(p.m, "[17...", "TKW.MPUT q 0 a 0 b KEY k 500 c");
	EXPECT(p.m, "[[17...", "TKW.TAKE q LEASE 1000");
	expect_equal(&p, "q");
	server_kill(&p.master);
	EXPECT(p.r, "OK", "REPLICAOF NO ONE");
	EXPECT(p.r, "-TKWEXISTS ...", "TKW.PUT q 0 x KEY k");
	EXPECT(p.r, "1700000000000003", "TKW.PUT q AT 1 d");
	EXPECT(p.r,
	       "[[1700000000000003, \"d\", 1700000000000001, 1, 1, nil, 0]]",
	       "TKW.TAKE q");
	EXPECT(p.r, "[1]", "TKW.ACK q 1700000000000000 1700000000000000");
	EXPECT(p.r, "OK", "TKW.CLOCK 1700000000500000");
	EXPECT(p.r,
	       "[[1700000000000001, \"b\", 1700000000500000, 1, 1700000000000, "
	       "\"k\", 0], [1700000000000002, \"c\", 1700000000500001, 1, "
	       "1700000000500, nil, 0]]",
	       "TKW.TAKE q COUNT 9");
	queue_mix_check(p.r, "q");
	end(&p);
}

/* Clients that wait at a new master are served by time. */
static void test_a_replica_that_is_promoted_serves_waiters(void **state)
{
	struct pair p;
	struct resp *c;

	(void)state;
	begin(&p, "", "");
	follow(&p);
	EXPECT(p.m, "1...", "TKW.PUT q 50 a");
	expect_equal(&p, "q");
	EXPECT(p.r, "OK", "REPLICAOF NO ONE");
	c = server_connect(&p.replica, 2);
	EXPECT(c, "[[1...", "TKW.TAKE q BLOCK 0");
	resp_close(c);
	end(&p);
}

/* A replica that is full takes what its master sends. (Not with
 * replica-ignore-maxmemory no: then a server refuses all that comes in a
 * transaction.) */
static void test_a_replica_without_memory_follows(void **state)
{
	struct pair p;

	(void)state;
	begin(&p, "", "maxmemory 1");
	follow(&p);
	mix(&p, 300);
	end(&p);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_sync_by_a_file),
		cmocka_unit_test(test_full_sync_without_a_file),
		cmocka_unit_test(test_each_command_is_replicated),
		cmocka_unit_test(test_an_empty_queue_is_replicated),
		cmocka_unit_test(test_what_waiters_take_is_replicated),
		cmocka_unit_test(test_what_waiters_end_is_replicated),
		cmocka_unit_test(test_looks_replicate_lost_leases),
		cmocka_unit_test(test_a_replica_looks_and_records_nothing),
		cmocka_unit_test(test_partial_sync),
		cmocka_unit_test(test_full_sync_under_load),
		cmocka_unit_test(test_a_replica_of_a_replica),
		cmocka_unit_test(test_the_aof_of_a_replica),
		cmocka_unit_test(
			test_a_replica_that_accepts_writes_changes_no_queue),
		cmocka_unit_test(test_a_replica_that_is_promoted_goes_on),
		cmocka_unit_test(
			test_a_replica_that_is_promoted_serves_waiters),
		cmocka_unit_test(test_a_replica_without_memory_follows),
	};

	server_need(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
