/* SPDX-License-Identifier: MIT */
/*
 * raft_election.c - three nodes elect a leader, lose it, and elect another.
 *
 * This is Raft's election, without the log. Each node has two repeats. The
 * election timer has a random length, and each heartbeat pushes it back. The
 * heartbeat runs while the node is the leader. The network between the nodes is
 * a UDP socket that sends to itself. A round of a repeat runs on the timer's
 * thread, and only sends a message to its own node. main() receives all
 * messages. So only the main thread accesses nodes, and there is no lock.
 */
#define _POSIX_C_SOURCE 200809L

#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <tickwheel.h>
#include <unistd.h>

/* Several heartbeats fit into the shortest election timeout. The larger the
 * spread, the less often two nodes stand for election at the same time. */
#define HEARTBEAT_NS (20 * TKW_MSEC)
#define ELECTION_NS (100 * TKW_MSEC)
#define SPREAD_NS (100 * TKW_MSEC)

enum {
	NODES = 3,
	MAJORITY = NODES / 2 + 1,
	TERMS = 10000 /* more than can happen before alarm() ends the program */
};

enum role {
	FOLLOWER,
	CANDIDATE,
	LEADER,
	DEAD
};

enum kind {
	ELECTION_ROUND, /* these two: from the node itself */
	HEARTBEAT_ROUND,
	ASK_VOTE, /* these three: from another node */
	VOTE,
	HEARTBEAT
};

struct message {
	enum kind kind;
	int term;
	int from;
	int to;
};

struct node {
	int id;
	struct tkw_repeat *election;
	struct tkw_repeat *heartbeat;
	enum role role;
	int term; /* the fields below are of this term */
	int voted_for;
	int votes;
	int heard; /* heartbeats received */
};

static struct node nodes[NODES];
static int network;
static bool failed;

/* What the program observes. */
static bool has_leader[TERMS];
static bool two_leaders;
/* The last leader from which a follower has heard three times, and its term. */
static struct node *seen_leader;
static int seen_term;

/* A lost message does no harm, because nothing relies on a single message. */
static void tell(const struct node *n, int to, enum kind kind, int term)
{
	struct message m = { kind, term, n->id, to };

	(void)send(network, &m, sizeof(m), 0);
}

static void tell_others(const struct node *n, enum kind kind)
{
	for (int i = 0; i < NODES; i++) {
		if (i != n->id)
			tell(n, i, kind, n->term);
	}
}

/* Runs on the timer's thread. */
static void on_round(struct tkw_repeat *r, void *ctx)
{
	const struct node *n = ctx;

	tell(n, n->id, r == n->election ? ELECTION_ROUND : HEARTBEAT_ROUND, 0);
}

static void must(int err)
{
	failed |= err != 0;
}

static void enter_term(struct node *n, int term)
{
	if (n->role == LEADER) {
		must(tkw_repeat_pause(n->heartbeat));
		must(tkw_repeat_start(n->election));
	}
	n->role = FOLLOWER;
	n->term = term;
	n->voted_for = -1;
	n->heard = 0;
}

static void stand(struct node *n)
{
	enter_term(n, n->term + 1);
	n->role = CANDIDATE;
	n->voted_for = n->id;
	n->votes = 1;
	tell_others(n, ASK_VOTE);
}

static void lead(struct node *n)
{
	n->role = LEADER;
	must(tkw_repeat_pause(n->election));
	must(tkw_repeat_start_now(n->heartbeat)); /* the first beat at once */
	two_leaders |= has_leader[n->term];       /* Raft forbids this */
	has_leader[n->term] = true;
}

static void hear(struct node *n, const struct message *m)
{
	n->role = FOLLOWER; /* a candidate has lost the election */
	/* Start a new random election timeout from now. */
	must(tkw_repeat_restart(n->election));
	if (++n->heard >= 3 && m->term > seen_term) {
		seen_leader = &nodes[m->from];
		seen_term = m->term;
	}
}

static void receive(struct node *n, const struct message *m)
{
	/* The message of a round may arrive after its repeat was paused. */
	if (m->kind == ELECTION_ROUND && n->role != LEADER)
		stand(n);
	if (m->kind == HEARTBEAT_ROUND && n->role == LEADER)
		tell_others(n, HEARTBEAT);
	if (m->term > n->term)
		enter_term(n, m->term);
	if (m->term < n->term)
		return; /* out of date, or a round, which has term 0 */
	if (m->kind == ASK_VOTE && n->voted_for == -1) {
		n->voted_for = m->from;
		tell(n, m->from, VOTE, n->term);
		must(tkw_repeat_restart(n->election));
	}
	if (m->kind == VOTE && n->role == CANDIDATE && ++n->votes == MAJORITY)
		lead(n);
	if (m->kind == HEARTBEAT)
		hear(n, m);
}

static int open_node(struct node *n, int id, struct tkw_timer *t)
{
	struct tkw_repeat_config cfg = { .size = sizeof(cfg), .timer = t };

	n->id = id;
	n->voted_for = -1;
	cfg.ctx = n;
	cfg.fn = on_round;
	cfg.interval_ns = HEARTBEAT_NS;
	if (tkw_repeat_create(&n->heartbeat, &cfg) != 0)
		return -1;
	cfg.interval_ns = ELECTION_NS;
	cfg.spread_ns = SPREAD_NS;
	return tkw_repeat_create(&n->election, &cfg) != 0 ||
	       tkw_repeat_start(n->election) != 0;
}

/* Destroy waits for a running round. await_leader() ignores its message. */
static void kill_node(struct node *n)
{
	n->role = DEAD;
	tkw_repeat_destroy(n->election);
	tkw_repeat_destroy(n->heartbeat);
}

static int open_network(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct sockaddr *any = (struct sockaddr *)&addr;
	socklen_t size = sizeof(addr);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	network = socket(AF_INET, SOCK_DGRAM, 0);
	if (network < 0 || bind(network, any, size) != 0 ||
	    getsockname(network, any, &size) != 0)
		return -1;
	return connect(network, any, size);
}

/* Waits until there is another leader than before, in a later term (see
 * hear()). */
static bool await_leader(const struct node *before)
{
	struct message m;

	while (!failed && seen_leader == before) {
		if (recv(network, &m, sizeof(m), 0) == sizeof(m) &&
		    nodes[m.to].role != DEAD)
			receive(&nodes[m.to], &m);
	}
	return !failed;
}

int main(void)
{
	struct tkw_timer *t;
	struct node *first;

	alarm(300); /* the program takes less than a second */
	if (open_network() != 0 || tkw_timer_create(&t, NULL) != 0)
		return 1;
	for (int i = 0; i < NODES; i++) {
		if (open_node(&nodes[i], i, t) != 0)
			return 1;
	}
	if (!await_leader(NULL))
		return 1;
	puts("a leader was elected");
	first = seen_leader;
	kill_node(first);
	puts("it was killed");
	if (!await_leader(first))
		return 1;
	puts("another one was elected, in a later term");
	for (int i = 0; i < NODES; i++) {
		if (nodes[i].role != DEAD)
			kill_node(&nodes[i]);
	}
	printf("two leaders in one term: %s\n", two_leaders ? "seen" : "never");
	return tkw_timer_destroy(t) != 0 || close(network) != 0 || two_leaders;
}
