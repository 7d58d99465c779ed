/* SPDX-License-Identifier: MIT */
/*
 * test_redis_failover.c - a master is killed or demoted under load, and a
 * replica takes over: by hand and by Sentinel.
 *
 * With WAIT, nothing that was confirmed is lost. Without it, the last writes
 * may be, but the law holds and tokens never go back.
 *
 * TKW_REDIS_FAILOVERS in the environment says how often. TKW_SEED replays the
 * choices of a run.
 */
#include "redis_bed.h"

#include "load_crew.h"
#include "load_truth.h"

enum {
	FAILOVERS = 20,
	MOST_CALLS = 300,
	LOST_CALLS = 100, /* that the replica does not get */
	WAITERS = 8,
	SERVERS = 3, /* of a Sentinel */
	SENTINELS = 3,
	/* A server that is silent so long is down for a Sentinel. No server of
	 * a busy machine is silent for LONG_MS. */
	SHORT_MS = 2000,
	LONG_MS = 600000
};

struct bed {
	struct load_share *share;
	struct load_truth truth;
	uint64_t random;
	struct load_plan plan;
	pid_t pids[LOAD_WORKERS];
};

static void begin(struct bed *b, int replicas)
{
	*b = (struct bed){ .random = server_seed() };
	b->share = load_share_make();
	load_truth_init(&b->truth);
	b->plan.replicas = replicas;
	snprintf(b->plan.queue, sizeof(b->plan.queue), "q");
}

static void end(struct bed *b)
{
	print_message("sure %" PRIu64 ", in doubt %" PRIu64 ", lost %" PRIu64
		      ", back %" PRIu64 "\n",
		      b->truth.sure, b->truth.doubt, b->truth.lost,
		      b->truth.back);
	load_truth_fini(&b->truth);
	load_share_free(b->share);
}

static void start_load(struct bed *b, const struct server *s)
{
	b->plan.port = s->port;
	load_share_reset(b->share);
	load_start(b->share, &b->plan, server_random(&b->random), b->pids);
}

static void check(struct bed *b, const struct server *s, bool exact)
{
	struct resp *c = server_connect(s, 2);

	load_truth_read(&b->truth, b->share);
	load_truth_check(&b->truth, c, b->plan.queue, exact);
	resp_close(c);
}

static void promote(const struct server *s)
{
	struct resp *c = server_connect(s, 2);

	EXPECT(c, "OK", "REPLICAOF NO ONE");
	resp_close(c);
}

/* The digest of the queue is the same on both. */
static void expect_equal(struct bed *b, const struct server *master,
			 const struct server *replica)
{
	struct resp *m = server_connect(master, 2);
	struct resp *r = server_connect(replica, 2);
	char digest[64];

	server_catch_up(replica, master);
	snprintf(digest, sizeof(digest), "%s",
		 redis_bed_digest(m, b->plan.queue));
	EXPECT(r, digest, "TKW.DIGEST %s", b->plan.queue);
	resp_close(m);
	resp_close(r);
}

/* --- by hand -------------------------------------------------------------- */

/* Master and replica change their parts with each round: the old master comes
 * back as the replica of the new one. */
static void run_failovers(struct bed *b, bool exact)
{
	uint64_t rounds = server_number("TKW_REDIS_FAILOVERS", FAILOVERS);
	struct server s[2];

	server_begin(&s[0], SERVER_REAL_MODULE, "");
	server_begin(&s[1], SERVER_REAL_MODULE, "");
	for (uint64_t i = 0; i < rounds; i++) {
		struct server *master = &s[i % 2];
		struct server *replica = &s[1 - i % 2];

		server_follow(replica, master);
		start_load(b, master);
		load_wait(b->share,
			  (uint32_t)server_below(&b->random, MOST_CALLS));
		if (!exact) {
			/* From here on, it gets nothing. If it stood still
			 * instead, it would find in its socket later what the
			 * master has sent. */
			promote(replica);
			load_wait(b->share, b->share->answered + LOST_CALLS);
		}
		server_kill(master);
		load_end(b->share, b->pids);
		promote(replica);
		check(b, replica, exact);
		server_start(master);
	}
	server_follow(&s[1 - rounds % 2], &s[rounds % 2]);
	expect_equal(b, &s[rounds % 2], &s[1 - rounds % 2]);
	assert_true(server_end(&s[0]));
	assert_true(server_end(&s[1]));
}

/* SPEC 11.33. */
static void test_with_wait_nothing_is_lost(void **state)
{
	struct bed b;

	(void)state;
	begin(&b, 1);
	run_failovers(&b, true);
	assert_int_equal(b.truth.lost, 0);
	assert_int_equal(b.truth.back, 0);
	assert_true(b.truth.sure > 0);
	end(&b);
}

/* SPEC 11.33: the replica is cut off before the kill, so that writes are lost
 * for sure: else the test would show nothing. */
static void test_without_wait_the_law_holds(void **state)
{
	struct bed b;

	(void)state;
	begin(&b, 0);
	run_failovers(&b, false);
	assert_true(b.truth.lost > 0);
	end(&b);
}

/* --- a master that is demoted --------------------------------------------- */

/* Takes that wait for another queue at a master. */
static void begin_waiters(const struct server *s, struct resp *control,
			  struct resp **waiter)
{
	EXPECT(control, "1...", "TKW.PUT idle %d a", LOAD_LONG_MS);
	for (int i = 0; i < WAITERS; i++) {
		waiter[i] = server_connect(s, 2);
		resp_send(waiter[i], "TKW.TAKE idle BLOCK 0");
	}
	WAIT_UNTIL(resp_fact(control, "idle", "waiting_clients") == WAITERS);
}

static void end_waiters(struct resp **waiter)
{
	for (int i = 0; i < WAITERS; i++) {
		EXPECT_NEXT(waiter[i], "-UNBLOCKED ...");
		resp_close(waiter[i]);
	}
}

/* SPEC 11.31, 11.33: takes that wait are let go, and the item that they have
 * waited for is there. */
static void test_a_master_that_is_demoted_under_load(void **state)
{
	struct resp *waiter[WAITERS];
	struct server old;
	struct server new;
	struct resp *o;
	struct resp *n;
	struct bed b;

	(void)state;
	begin(&b, 1);
	server_begin(&old, SERVER_REAL_MODULE, "");
	server_begin(&new, SERVER_REAL_MODULE, "");
	server_follow(&new, &old);
	o = server_connect(&old, 2);
	begin_waiters(&old, o, waiter);
	start_load(&b, &old);
	load_wait(b.share, MOST_CALLS);
	promote(&new);
	EXPECT(o, "OK", "REPLICAOF 127.0.0.1 %d", new.port);
	load_end(b.share, b.pids);
	end_waiters(waiter);
	check(&b, &new, true);
	n = server_connect(&new, 2);
	EXPECT(n, "1", "TKW.RESCHEDULE idle %" PRId64 " 0",
	       resp_fact(n, "idle", "last_id"));
	expect_equal(&b, &new, &old);
	assert_int_equal(resp_fact(o, "idle", "ready"), 1);
	assert_int_equal(resp_fact(o, "idle", "takes"), 0);
	EXPECT(o, "-READONLY ...", "TKW.TAKE idle BLOCK 0");
	EXPECT(n, "[[1...", "TKW.TAKE idle BLOCK 0");
	resp_close(o);
	resp_close(n);
	assert_true(server_end(&old));
	assert_true(server_end(&new));
	end(&b);
}

/* --- Sentinel ------------------------------------------------------------- */

/*
 * A Sentinel has many times of its own, and a test that only waits for it is
 * slow, or depends on luck:
 *
 * - A server that is silent for a moment is down. On a busy machine, a Sentinel
 *   with half a second fails over again, and nobody follows the server any more
 *   that the test takes for the master.
 * - It asks a server for its role each 10 seconds. An old master that comes
 *   back is told to follow when a reply says that it is a master, at least four
 *   hellos (8 seconds) after the first one that said so. If the new master does
 *   not look well at that moment, this is put off to the next reply.
 * - If it has not run for 2 seconds, it does nothing for 30 seconds.
 * - It gives up a failover if it finds no good replica, and tries again after
 *   two failover-timeouts.
 * - It closes all connections of a server to which it gives another role, also
 *   those of the test, and each Sentinel may do so once more.
 *
 * So the test sets these times, and that after which a server is down: it is
 * short only while one is.
 */
struct watch {
	struct server server[SERVERS]; /* the first is the master at first */
	struct server sentinel[SENTINELS];
	struct resp *ask[SENTINELS];
};

/* How often a reply has a text. */
static int count_in(const char *reply, const char *text)
{
	int n = 0;

	while ((reply = strstr(reply, text)) != NULL) {
		reply += strlen(text);
		n++;
	}
	return n;
}

/* True if the Sentinel knows all servers and all others of its kind. */
static bool knows_all(struct resp *c)
{
	const char *facts = resp_ask(c, "SENTINEL MASTER m");

	return count_in(facts, "\"num-slaves\", \"2\"") == 1 &&
	       count_in(facts, "\"num-other-sentinels\", \"2\"") == 1;
}

static void begin_sentinel(struct watch *w, int i)
{
	char lines[256];

	snprintf(lines, sizeof(lines),
		 "sentinel monitor m 127.0.0.1 %d 2\n"
		 "sentinel down-after-milliseconds m %d\n"
		 "sentinel failover-timeout m 5000",
		 w->server[0].port, LONG_MS);
	server_begin_sentinel(&w->sentinel[i], lines);
	w->ask[i] = server_connect(&w->sentinel[i], 2);
	EXPECT(w->ask[i], "OK",
	       "SENTINEL DEBUG info-period 500 publish-period 500 "
	       "tilt-trigger %d",
	       LONG_MS);
}

static void begin_watch(struct watch *w)
{
	for (int i = 0; i < SERVERS; i++) {
		server_begin(&w->server[i], SERVER_REAL_MODULE, "");
		if (i > 0)
			server_follow(&w->server[i], &w->server[0]);
	}
	for (int i = 0; i < SENTINELS; i++)
		begin_sentinel(w, i);
	for (int i = 0; i < SENTINELS; i++)
		WAIT_UNTIL(knows_all(w->ask[i]));
}

static void end_watch(struct watch *w)
{
	for (int i = 0; i < SENTINELS; i++) {
		resp_close(w->ask[i]);
		assert_true(server_end(&w->sentinel[i]));
	}
	for (int i = 0; i < SERVERS; i++)
		assert_true(server_end(&w->server[i]));
}

static void set_down_after(struct watch *w, int ms)
{
	for (int i = 0; i < SENTINELS; i++)
		EXPECT(w->ask[i], "OK",
		       "SENTINEL SET m down-after-milliseconds %d", ms);
}

/* Returns the server that a Sentinel calls the master. */
static struct server *master_of(struct watch *w, struct resp *ask)
{
	const char *reply = resp_ask(ask, "SENTINEL GET-MASTER-ADDR-BY-NAME m");
	int port = 0;

	(void)sscanf(reply, "[\"127.0.0.1\", \"%d\"]", &port);
	for (int i = 0; i < SERVERS; i++) {
		if (w->server[i].port == port)
			return &w->server[i];
	}
	fail_msg("no such server: %s", reply);
	return NULL;
}

/* True if a Sentinel has seen that so many servers follow the master, and is at
 * rest. It then tells no server to follow another, which would also close the
 * connections of the test. */
static bool sees_followers(struct resp *ask, const struct server *master,
			   int count)
{
	const char *reply = resp_ask(ask, "SENTINEL REPLICAS m");
	char port[32];

	snprintf(port, sizeof(port), "\"master-port\", \"%d\"", master->port);
	return count_in(reply, "\"role-reported\", \"slave\"") >= count &&
	       count_in(reply, "\"master-link-status\", \"ok\"") == count &&
	       count_in(reply, port) == count &&
	       count_in(resp_ask(ask, "SENTINEL MASTER m"),
			"\"flags\", \"master\"") == 1;
}

/* True if all Sentinels have the same master, which is not `old`, and so many
 * servers follow it. */
static bool agree(struct watch *w, const struct server *old, int count)
{
	const struct server *master = master_of(w, w->ask[0]);

	for (int i = 0; i < SENTINELS; i++) {
		if (master_of(w, w->ask[i]) != master ||
		    !sees_followers(w->ask[i], master, count))
			return false;
	}
	return master != old;
}

/* The master does not come back before another one is there. */
static struct server *fail_over(struct watch *w, struct server *old)
{
	set_down_after(w, SHORT_MS);
	WAIT_UNTIL(master_of(w, w->ask[0]) != old);
	set_down_after(w, LONG_MS);
	WAIT_UNTIL(agree(w, old, SERVERS - 2));
	return master_of(w, w->ask[0]);
}

/* SPEC 11.33. */
static void test_sentinel(void **state)
{
	struct server *new;
	struct watch w;
	struct bed b;

	(void)state;
	/* Both replicas confirm, so it does not matter which one is chosen. */
	begin(&b, SERVERS - 1);
	begin_watch(&w);
	start_load(&b, &w.server[0]);
	load_wait(b.share, 50 + (uint32_t)server_below(&b.random, MOST_CALLS));
	server_kill(&w.server[0]);
	load_end(b.share, b.pids);
	new = fail_over(&w, &w.server[0]);
	check(&b, new, true);
	/* The old one comes back without data, and is made a replica. */
	server_start(&w.server[0]);
	WAIT_UNTIL(agree(&w, &w.server[0], SERVERS - 1));
	start_load(&b, new);
	load_wait(b.share, MOST_CALLS);
	load_end(b.share, b.pids);
	check(&b, new, true);
	for (int i = 0; i < SERVERS; i++) {
		if (&w.server[i] != new)
			expect_equal(&b, new, &w.server[i]);
	}
	assert_int_equal(b.truth.lost, 0);
	assert_true(b.truth.sure > 0);
	end_watch(&w);
	end(&b);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_with_wait_nothing_is_lost),
		cmocka_unit_test(test_without_wait_the_law_holds),
		cmocka_unit_test(test_a_master_that_is_demoted_under_load),
		cmocka_unit_test(test_sentinel),
	};

	server_need(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
