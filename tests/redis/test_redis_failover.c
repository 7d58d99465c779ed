/* SPDX-License-Identifier: MIT */
/*
 * test_redis_failover.c - a master is killed under load, and a replica takes
 * over.
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

/* SPEC 11.33: the replica stands still before the kill, so that writes are
 * lost for sure: else the test would show nothing. */
static void test_without_wait_the_law_holds(void **state)
{
	struct bed b;

	(void)state;
	begin(&b, 0);
	run_failovers(&b, false);
	assert_true(b.truth.lost > 0);
	end(&b);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_with_wait_nothing_is_lost),
		cmocka_unit_test(test_without_wait_the_law_holds),
	};

	server_need(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
