/* SPDX-License-Identifier: MIT */
/*
 * test_redis_failover.c - a master is killed under load, and a replica takes
 * over: by hand and by Sentinel.
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
	SENTINELS = 3
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
			/* From here on, it gets nothing. */
			server_freeze(replica);
			load_wait(b->share, b->share->answered + LOST_CALLS);
		}
		server_kill(master);
		if (!exact)
			server_thaw(replica);
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

/* The replica stands still before the kill, so that writes are lost for sure:
 * else the test would show nothing. */
static void test_without_wait_the_law_holds(void **state)
{
	struct bed b;

	(void)state;
	begin(&b, 0);
	run_failovers(&b, false);
	assert_true(b.truth.lost > 0);
	assert_true(b.truth.back > 0);
	end(&b);
}

/* --- Sentinel ------------------------------------------------------------- */

struct watch {
	struct server server[3]; /* the first is the master at first */
	struct server sentinel[SENTINELS];
	struct resp *ask; /* a sentinel */
};

static bool knows_all(struct resp *c)
{
	return strstr(resp_ask(c, "SENTINEL MASTER m"),
		      "\"num-slaves\", \"2\"") &&
	       strstr(resp_ask(c, "SENTINEL MASTER m"),
		      "\"num-other-sentinels\", \"2\"");
}

static void begin_watch(struct watch *w)
{
	char lines[512];

	for (int i = 0; i < 3; i++) {
		server_begin(&w->server[i], SERVER_REAL_MODULE, "");
		if (i > 0)
			server_follow(&w->server[i], &w->server[0]);
	}
	snprintf(lines, sizeof(lines),
		 "sentinel monitor m 127.0.0.1 %d 2\n"
		 "sentinel down-after-milliseconds m 500\n"
		 "sentinel failover-timeout m 10000\n",
		 w->server[0].port);
	for (int i = 0; i < SENTINELS; i++)
		server_begin_sentinel(&w->sentinel[i], lines);
	for (int i = 0; i < SENTINELS; i++) {
		struct resp *c = server_connect(&w->sentinel[i], 2);

		WAIT_UNTIL(knows_all(c));
		resp_close(c);
	}
	w->ask = server_connect(&w->sentinel[0], 2);
}

static void end_watch(struct watch *w)
{
	resp_close(w->ask);
	for (int i = 0; i < SENTINELS; i++)
		assert_true(server_end(&w->sentinel[i]));
	for (int i = 0; i < 3; i++)
		assert_true(server_end(&w->server[i]));
}

/* Returns the server that Sentinel calls the master. */
static struct server *master_of(struct watch *w)
{
	const char *reply =
		resp_ask(w->ask, "SENTINEL GET-MASTER-ADDR-BY-NAME m");
	int port = 0;

	sscanf(reply, "[\"127.0.0.1\", \"%d\"]", &port);
	for (int i = 0; i < 3; i++) {
		if (w->server[i].port == port)
			return &w->server[i];
	}
	fail_msg("no such server: %s", reply);
	return NULL;
}

/* True if INFO replication has this. When Sentinel gives a server another role,
 * it closes all connections: then nobody knows. */
static bool says(const struct server *s, const char *text)
{
	struct resp *c = resp_try_open(s->port, 2);
	bool has = c && resp_try_ask(c, "INFO replication") &&
		   strstr(resp_raw(c), text);

	resp_close(c);
	return has;
}

/* True if a server is a replica of another one, and in touch with it. */
static bool follows(const struct server *s, const struct server *master)
{
	char port[32];

	snprintf(port, sizeof(port), "master_port:%d\r", master->port);
	return says(s, "role:slave\r") && says(s, port) &&
	       says(s, "master_link_status:up\r");
}

static void test_sentinel(void **state)
{
	struct watch w;
	struct bed b;

	(void)state;
	/* Both replicas confirm, so it does not matter which one is chosen. */
	begin(&b, 2);
	begin_watch(&w);
	for (int i = 0; i < 2; i++) {
		struct server *old = master_of(&w);
		struct server *new;

		start_load(&b, old);
		load_wait(b.share,
			  50 + (uint32_t)server_below(&b.random, MOST_CALLS));
		server_kill(old);
		load_end(b.share, b.pids);
		WAIT_UNTIL(master_of(&w) != old &&
			   says(master_of(&w), "role:master\r"));
		new = master_of(&w);
		check(&b, new, true);
		/* The old one comes back, and is made a replica. */
		server_start(old);
		for (int k = 0; k < 3; k++) {
			if (&w.server[k] == new)
				continue;
			WAIT_UNTIL(follows(&w.server[k], new));
			expect_equal(&b, new, &w.server[k]);
		}
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
		cmocka_unit_test(test_sentinel),
	};

	server_need(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
