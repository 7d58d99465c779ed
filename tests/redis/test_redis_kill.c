/* SPDX-License-Identifier: MIT */
/*
 * test_redis_kill.c - a server with appendfsync always is killed while several
 * clients use a queue: no reply that a client got was wrong.
 *
 * TKW_REDIS_KILLS in the environment says how many kills. TKW_SEED replays the
 * choices of a run, but a kill does not come at the same moment again.
 */
#include "redis_bed.h"

#include "load_crew.h"
#include "load_truth.h"

enum {
	KILLS = 200,
	ROUNDS_PER_QUEUE = 40,
	MOST_CALLS = 150, /* before a kill */
	REWRITE_EACH = 7  /* rounds: killed in a rewrite of the AOF */
};

struct tally {
	uint64_t rounds;
	uint64_t rewrites; /* that a kill has interrupted */
	uint64_t calls;
};

static const char queue[] = "q";

/* Lets the workers work for a while, and kills the server. */
static void run_and_kill(struct server *s, struct load_share *share,
			 uint64_t *random, struct tally *t)
{
	struct load_plan plan = { .port = s->port };
	pid_t pids[LOAD_WORKERS];

	snprintf(plan.queue, sizeof(plan.queue), "%s", queue);
	load_share_reset(share);
	load_start(share, &plan, server_random(random), pids);
	load_wait(share, (uint32_t)server_below(random, MOST_CALLS));
	if (t->rounds % REWRITE_EACH == 0) {
		struct resp *c = server_connect(s, 2);

		resp_ask(c, "BGREWRITEAOF");
		t->rewrites += resp_info_number(c, "persistence",
						"aof_rewrite_in_progress") == 1;
		resp_close(c);
	}
	server_kill(s);
	load_end(share, pids);
	t->rounds++;
	t->calls += share->answered;
}

static void check_round(struct server *s, struct load_truth *truth,
			const struct load_share *share)
{
	struct resp *c;

	server_start(s);
	c = server_connect(s, 2);
	load_truth_read(truth, share);
	load_truth_check(truth, c, queue, true);
	resp_close(c);
}

static void start_again(struct server *s, struct load_truth *truth)
{
	struct resp *c = server_connect(s, 2);

	EXPECT(c, "1", "DEL %s", queue);
	resp_ask(c, "BGREWRITEAOF");
	resp_close(c);
	load_truth_clear(truth);
}

/* SPEC 11.33: with appendfsync always. */
static void test_killed_at_random_moments(void **state)
{
	uint64_t kills = server_number("TKW_REDIS_KILLS", KILLS);
	uint64_t random = server_seed();
	struct load_share *share = load_share_make();
	struct load_truth truth;
	struct tally t = { 0 };
	struct server s;

	(void)state;
	load_truth_init(&truth);
	server_begin(&s, SERVER_REAL_MODULE,
		     "appendonly yes\nappendfsync always");
	while (t.rounds < kills) {
		run_and_kill(&s, share, &random, &t);
		check_round(&s, &truth, share);
		if (t.rounds % ROUNDS_PER_QUEUE == 0)
			start_again(&s, &truth);
	}
	print_message("kills %" PRIu64 ", calls %" PRIu64 ", sure %" PRIu64
		      ", in flight %" PRIu64 ", rewrites interrupted %" PRIu64
		      ", lost %" PRIu64 "\n",
		      t.rounds, t.calls, truth.sure, truth.doubt, t.rewrites,
		      truth.lost);
	assert_true(truth.doubt > 0 || kills < 20);
	assert_true(truth.sure > 0);
	assert_true(server_end(&s));
	load_truth_fini(&truth);
	load_share_free(share);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed_at_random_moments),
	};

	server_need(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
