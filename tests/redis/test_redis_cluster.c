/* SPDX-License-Identifier: MIT */
/*
 * test_redis_cluster.c - three masters, slots that move under load, and a
 * failover by hand.
 */
#include "redis_bed.h"

#include "load_crew.h"
#include "load_truth.h"
#include "queue_mix.h"

enum {
	NODES = 3,
	SLOTS = 16384,
	MOVES = 12,
	CALLS_PER_MOVE = 100,
	ALLOWED_PER_MOVE = 1000,
	ITEMS = 100,
	SOON_MS = 50,
	VOTE_MS = 5000
};

struct cluster {
	struct server node[NODES];
	struct resp *c[NODES];
	char id[NODES][64];
};

static const char lines[] = "cluster-enabled yes\n"
			    "cluster-node-timeout 30000\n"
			    "cluster-require-full-coverage no";

/* --- the cluster ---------------------------------------------------------- */

static void begin_node(struct server *s, struct resp **c, char *id)
{
	server_begin(s, SERVER_REAL_MODULE, lines);
	*c = server_connect(s, 2);
	assert_int_equal(
		sscanf(resp_ask(*c, "CLUSTER MYID"), "\"%63[0-9a-f]\"", id), 1);
}

/* Reads "name:value" of CLUSTER INFO. */
static bool info_has(struct resp *c, const char *text)
{
	resp_ask(c, "CLUSTER INFO");
	return strstr(resp_raw(c), text) != NULL;
}

static void begin(struct cluster *k)
{
	for (int i = 0; i < NODES; i++) {
		begin_node(&k->node[i], &k->c[i], k->id[i]);
		EXPECT(k->c[i], "OK", "CLUSTER SET-CONFIG-EPOCH %d", i + 1);
		EXPECT(k->c[i], "OK", "CLUSTER ADDSLOTSRANGE %d %d",
		       i * SLOTS / NODES, (i + 1) * SLOTS / NODES - 1);
	}
	for (int i = 1; i < NODES; i++)
		EXPECT(k->c[0], "OK", "CLUSTER MEET 127.0.0.1 %d",
		       k->node[i].port);
	for (int i = 0; i < NODES; i++)
		WAIT_UNTIL(info_has(k->c[i], "cluster_state:ok") &&
			   info_has(k->c[i], "cluster_slots_ok:16384") &&
			   info_has(k->c[i], "cluster_known_nodes:3"));
}

static void end(struct cluster *k)
{
	for (int i = 0; i < NODES; i++) {
		resp_close(k->c[i]);
		assert_true(server_end(&k->node[i]));
	}
}

/* The node that owns the slot of a queue, by its own word. */
static int owner_of(struct cluster *k, const char *queue)
{
	for (int i = 0; i < NODES; i++) {
		const char *reply = resp_ask(k->c[i], "TKW.COUNT %s", queue);

		if (reply[0] == '[')
			return i;
	}
	fail_msg("nobody has %s", queue);
	return -1;
}

static int64_t epoch_of(struct resp *c)
{
	const char *at;

	resp_ask(c, "CLUSTER INFO");
	at = strstr(resp_raw(c), "cluster_current_epoch:");
	assert_non_null(at);
	return strtoll(strchr(at, ':') + 1, NULL, 10);
}

/* True if all nodes have heard of the last change. If a slot moves faster than
 * that, a node may get it back by an old message. */
static bool agree(struct cluster *k)
{
	int64_t epoch = epoch_of(k->c[0]);

	for (int i = 1; i < NODES; i++) {
		if (epoch_of(k->c[i]) != epoch)
			return false;
	}
	return true;
}

/* Moves the slot of a queue to another node, as redis-cli does. */
static void move(struct cluster *k, const char *queue, int from, int to)
{
	int64_t slot = resp_number(k->c[0], "CLUSTER KEYSLOT %s", queue);
	const char *reply;

	EXPECT(k->c[to], "OK", "CLUSTER SETSLOT %" PRId64 " IMPORTING %s", slot,
	       k->id[from]);
	EXPECT(k->c[from], "OK", "CLUSTER SETSLOT %" PRId64 " MIGRATING %s",
	       slot, k->id[to]);
	reply = resp_ask(k->c[from], "MIGRATE 127.0.0.1 %d %s 0 60000",
			 k->node[to].port, queue);
	if (strcmp(reply, "OK") != 0 && strcmp(reply, "NOKEY") != 0)
		fail_msg("MIGRATE: %s", reply);
	EXPECT(k->c[to], "OK", "CLUSTER SETSLOT %" PRId64 " NODE %s", slot,
	       k->id[to]);
	WAIT_UNTIL(agree(k));
	for (int i = 0; i < NODES; i++) {
		if (i != to)
			EXPECT(k->c[i], "OK",
			       "CLUSTER SETSLOT %" PRId64 " NODE %s", slot,
			       k->id[to]);
	}
}

/* --- redirects ------------------------------------------------------------ */

/* SPEC 11.30: clusters find the key of each command. */
static void test_commands_are_redirected(void **state)
{
	static const char *const commands[] = {
		"TKW.PUT q 0 a",        "TKW.MPUT q 0 a",
		"TKW.TAKE q",           "TKW.TAKE q BLOCK 0",
		"TKW.ACK q 1 1",        "TKW.NACK q 1 1",
		"TKW.EXTEND q 1 1 1",   "TKW.CANCEL q 1",
		"TKW.RESCHEDULE q 1 0", "TKW.GET q 1",
		"TKW.LIST q STATE all", "TKW.COUNT q",
		"TKW.INFO q",           "TKW.DIGEST q",
		"TKW.PAUSE q",          "TKW.RESUME q",
		"TKW.LIMIT q ITEMS 1",  "TKW.DEAD q LIST",
	};
	struct cluster k;
	int owner;

	(void)state;
	begin(&k);
	owner = owner_of(&k, "q");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		EXPECT(k.c[(owner + 1) % NODES], "-MOVED ...", "%s",
		       commands[i]);
	EXPECT(k.c[owner], "1...", "TKW.PUT q 0 a");
	/* The part of a name in braces alone gives the slot. */
	EXPECT(k.c[owner], "1...", "TKW.PUT x{q}y 0 a");
	end(&k);
}

/* --- slots that move ------------------------------------------------------ */

/* Moves "q" to the next node, and compares. Returns that node. */
static int expect_equal_after_move(struct cluster *k, int at)
{
	int to = (at + 1) % NODES;
	char digest[64];

	snprintf(digest, sizeof(digest), "%s", redis_bed_digest(k->c[at], "q"));
	move(k, "q", at, to);
	EXPECT(k->c[to], digest, "TKW.DIGEST q");
	EXPECT(k->c[at], "-MOVED ...", "TKW.DIGEST q");
	return to;
}

/* SPEC 11.31, 11.32. */
static void test_a_queue_is_equal_after_its_slot_has_moved(void **state)
{
	struct queue_mix m;
	struct cluster k;
	int at;

	(void)state;
	begin(&k);
	at = owner_of(&k, "q");
	queue_mix_init(&m, k.c[at], "q", server_seed());
	queue_mix_run(&m, 500);
	for (int i = 0; i < 2 * NODES; i++) {
		at = expect_equal_after_move(&k, at);
		m.c = k.c[at];
		queue_mix_run(&m, 100);
		queue_mix_check(k.c[at], "q");
	}
	end(&k);
}

/* SPEC 11.32. Between the two nodes: what is not there any more is asked for at
 * the other one. */
static void test_a_slot_on_its_way(void **state)
{
	struct cluster k;
	int64_t slot;
	int from;
	int to;

	(void)state;
	begin(&k);
	from = owner_of(&k, "q");
	to = (from + 1) % NODES;
	slot = resp_number(k.c[0], "CLUSTER KEYSLOT q");
	EXPECT(k.c[from], "1...", "TKW.PUT q 0 a");
	EXPECT(k.c[to], "OK", "CLUSTER SETSLOT %" PRId64 " IMPORTING %s", slot,
	       k.id[from]);
	EXPECT(k.c[from], "OK", "CLUSTER SETSLOT %" PRId64 " MIGRATING %s",
	       slot, k.id[to]);
	/* It is still here. */
	EXPECT(k.c[from], "[[1...", "TKW.TAKE q LEASE 1000000");
	EXPECT(k.c[from], "-ASK ...", "TKW.PUT {q}2 0 a");
	EXPECT(k.c[to], "-MOVED ...", "TKW.PUT {q}2 0 a");
	EXPECT(k.c[to], "OK", "ASKING");
	EXPECT(k.c[to], "1...", "TKW.PUT {q}2 0 a");
	EXPECT(k.c[from], "OK", "MIGRATE 127.0.0.1 %d q 0 60000",
	       k.node[to].port);
	EXPECT(k.c[from], "-ASK ...", "TKW.TAKE q BLOCK 0");
	EXPECT(k.c[to], "OK", "ASKING");
	EXPECT(k.c[to], "[\"waiting\", 0, \"ready\", 0, \"taken\", 1, ...",
	       "TKW.COUNT q");
	end(&k);
}

/* Moves the slot of "q" again and again. Returns its last owner. */
static int move_often(struct cluster *k, struct load_share *share, int at,
		      uint64_t *random)
{
	for (int i = 0; i < MOVES; i++) {
		int to =
			(at + 1 + (int)server_below(random, NODES - 1)) % NODES;

		load_allow(share, ALLOWED_PER_MOVE);
		load_wait(share, share->answered + CALLS_PER_MOVE);
		move(k, "q", at, to);
		at = to;
	}
	load_allow(share, ALLOWED_PER_MOVE);
	load_wait(share, share->answered + CALLS_PER_MOVE);
	return at;
}

/* SPEC 11.32: clients are sent to the new owner, and nothing is lost. */
static void test_slots_move_under_load(void **state)
{
	struct load_plan plan = { .cluster = true };
	struct load_share *share = load_share_make();
	struct load_truth truth;
	pid_t pids[LOAD_WORKERS];
	uint64_t random = server_seed();
	struct cluster k;
	uint32_t moved;
	int at;

	(void)state;
	begin(&k);
	load_truth_init(&truth);
	snprintf(plan.queue, sizeof(plan.queue), "q");
	plan.port = k.node[0].port;
	at = owner_of(&k, "q");
	load_start(share, &plan, server_random(&random), pids);
	at = move_often(&k, share, at, &random);
	load_end(share, pids);
	moved = share->moved;
	load_truth_read(&truth, share);
	load_truth_check(&truth, k.c[at], "q", true);
	expect_equal_after_move(&k, at);
	print_message("moves %d, redirected %u, sure %" PRIu64 ", in doubt "
		      "%" PRIu64 ", lost %" PRIu64 "\n",
		      MOVES, moved, truth.sure, truth.doubt, truth.lost);
	assert_true(moved >= MOVES);
	assert_true(truth.sure >= (uint64_t)MOVES * CALLS_PER_MOVE);
	assert_int_equal(truth.lost, 0);
	load_truth_fini(&truth);
	load_share_free(share);
	end(&k);
}

/* SPEC 11.32: a client that waits for a key that goes away is told where to. */
static void test_waiters_are_redirected(void **state)
{
	struct cluster k;
	struct resp *c;
	char want[64];
	int from;
	int to;

	(void)state;
	begin(&k);
	from = owner_of(&k, "q");
	to = (from + 1) % NODES;
	c = server_connect(&k.node[from], 2);
	EXPECT(k.c[from], "1...", "TKW.PUT q 100000 a");
	resp_send(c, "TKW.TAKE q BLOCK 0");
	WAIT_UNTIL(resp_info_number(k.c[from], "clients", "blocked_clients") ==
		   1);
	move(&k, "q", from, to);
	snprintf(want, sizeof(want), "-MOVED %" PRId64 " 127.0.0.1:%d",
		 resp_number(k.c[0], "CLUSTER KEYSLOT q"), k.node[to].port);
	EXPECT_NEXT(c, want);
	resp_close(c);
	/* At the new place the time brings the item. */
	EXPECT(k.c[to], "1", "TKW.RESCHEDULE q %" PRId64 " %d",
	       resp_fact(k.c[to], "q", "last_id"), SOON_MS);
	EXPECT(k.c[to], "[[1...", "TKW.TAKE q BLOCK 0");
	end(&k);
}

/* --- failover ------------------------------------------------------------- */

/* True if a node knows that another one is a replica. */
static bool knows_as_replica(struct resp *c, const char *id)
{
	const char *line;
	const char *flag;

	resp_ask(c, "CLUSTER NODES");
	line = strstr(resp_raw(c), id);
	flag = line ? strstr(line, "slave") : NULL;
	return flag && flag < strchr(line, '\n');
}

/* Asks for a failover, unless it was asked for lately, and tells whether the
 * node is the master. A failover that is not done after five seconds is given
 * up. */
static bool takes_over(struct resp *c, int64_t *asked_ms)
{
	int64_t now = patience_now_ms();

	if (strcmp(resp_info(c, "replication", "role"), "master") == 0)
		return true;
	if (now - *asked_ms > 6000) {
		resp_ask(c, "CLUSTER FAILOVER");
		*asked_ms = now;
	}
	return false;
}

/* Adds a replica of a node. All masters vote in a failover, so all must know
 * it. One that has heard of an older epoch, or takes the replica for a master,
 * does not vote, and the next try comes after four timeouts of a node. */
static void begin_replica(struct cluster *k, int at, struct server *s,
			  struct resp **c)
{
	char id[64];

	begin_node(s, c, id);
	EXPECT(*c, "OK", "CONFIG SET cluster-node-timeout %d", VOTE_MS);
	EXPECT(*c, "OK", "CLUSTER MEET 127.0.0.1 %d", k->node[at].port);
	for (int i = 0; i < NODES; i++) {
		EXPECT(k->c[i], "OK", "CONFIG SET cluster-node-timeout %d",
		       VOTE_MS);
		WAIT_UNTIL(info_has(k->c[i], "cluster_known_nodes:4"));
	}
	WAIT_UNTIL(strcmp(resp_ask(*c, "CLUSTER REPLICATE %s", k->id[at]),
			  "OK") == 0);
	server_catch_up(s, &k->node[at]);
	for (int i = 0; i < NODES; i++)
		WAIT_UNTIL(knows_as_replica(k->c[i], id) &&
			   epoch_of(k->c[i]) == epoch_of(*c));
}

/* SPEC 11.33: CLUSTER FAILOVER pauses the master. Items become due, and a
 * client waits for another queue. */
static void test_failover_by_hand(void **state)
{
	int64_t asked_ms = INT64_MIN / 2;
	struct server replica;
	struct resp *waiter;
	struct cluster k;
	struct resp *r;
	int at;

	(void)state;
	begin(&k);
	at = owner_of(&k, "q");
	begin_replica(&k, at, &replica, &r);
	waiter = server_connect(&k.node[at], 2);
	for (int i = 0; i < ITEMS; i++)
		EXPECT(k.c[at], "1...", "TKW.PUT q %d p%d", SOON_MS + i, i);
	resp_send(waiter, "TKW.TAKE other{q} BLOCK 0");
	server_catch_up(&replica, &k.node[at]);
	WAIT_UNTIL(takes_over(r, &asked_ms));
	/* It is let go: by an error, or because the slot has moved. */
	assert_int_equal(resp_read(waiter)[0], '-');
	for (int i = 0; i < ITEMS; i++)
		EXPECT(r, "[[1...", "TKW.TAKE q BLOCK 0");
	queue_mix_check(r, "q");
	resp_close(waiter);
	resp_close(r);
	assert_true(server_end(&replica));
	end(&k);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands_are_redirected),
		cmocka_unit_test(
			test_a_queue_is_equal_after_its_slot_has_moved),
		cmocka_unit_test(test_a_slot_on_its_way),
		cmocka_unit_test(test_slots_move_under_load),
		cmocka_unit_test(test_waiters_are_redirected),
		cmocka_unit_test(test_failover_by_hand),
	};

	server_need(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
