/* SPDX-License-Identifier: MIT */
/*
 * test_redis_plan_faults.c - a server is killed around the times of a plan, and
 * starts again, or a replica takes over: each planned time is given out, as one
 * item, and is done once.
 *
 * A few consumers take the items of a plan that has a time each 20 ms, and ack
 * them. All of them are in this process, so that it knows what each was told
 * before the kill. A take or an ack whose reply did not come is in doubt.
 * Leases are short, so an item whose take was in doubt comes back.
 *
 * TKW_REDIS_KILLS and TKW_REDIS_FAILOVERS in the environment say how many
 * rounds. TKW_SEED replays the choices of a run, but a kill does not come at
 * the same moment again.
 */
#include "redis_bed.h"

#include <poll.h>

enum {
	KILLS = 40,
	FAILOVERS = 12,
	CONSUMERS = 3,
	PERIOD_MS = 20,
	LEASE_MS = 300,
	MOST_STEPS = 12, /* before a kill */
	MOST_MS = 40,    /* after them */
	MOST_TIMES = 1 << 16,
	CONFIRM_MS = 60000
};

/* What is known of a planned time. */
struct known {
	uint64_t id;          /* of its item; 0: it was not given out */
	uint64_t acked_token; /* of the ack that was confirmed */
	uint32_t takes;
	uint32_t acks;  /* that were confirmed */
	uint32_t doubt; /* acks that nobody knows of */
};

enum doing {
	TAKES,
	CONFIRMS_TAKE,
	ACKS,
	CONFIRMS_ACK
};

struct consumer {
	struct resp *c;
	enum doing doing;
	uint64_t id;
	uint64_t token;
	int64_t planned_ms;
};

struct bed {
	struct consumer consumer[CONSUMERS];
	struct known time[MOST_TIMES];
	int64_t first_ms; /* the first planned time */
	int64_t last_ms;  /* the last one that was given out */
	uint64_t random;
	bool confirms;  /* by a replica */
	uint64_t again; /* takes of an item that somebody had before */
};

static struct known *known_of(struct bed *b, int64_t planned_ms)
{
	int64_t place = (planned_ms - b->first_ms) / PERIOD_MS;

	assert_int_equal(planned_ms % PERIOD_MS, 0);
	assert_in_range(place, 0, MOST_TIMES - 1);
	return &b->time[place];
}

/* --- consumers ------------------------------------------------------------ */

static void send_take(struct consumer *k)
{
	k->doing = TAKES;
	resp_send(k->c, "TKW.TAKE q BLOCK 0 LEASE %d", LEASE_MS);
}

/* Waits for the replica, if there is one. */
static void send_confirm(struct bed *b, struct consumer *k, enum doing doing)
{
	k->doing = doing;
	resp_send(k->c, "WAIT %d %d", b->confirms, CONFIRM_MS);
}

static void read_item(struct consumer *k, const char *reply)
{
	if (sscanf(reply,
		   "[[%" SCNu64 ", \"tick\", %" SCNu64
		   ", %*u, %*u, \"p@%*u\", %" SCNd64 "]]",
		   &k->id, &k->token, &k->planned_ms) != 3)
		fail_msg("no item: %s", reply);
}

/* The take is confirmed, so the work begins here. If the confirmation is read
 * late, the lease may be over, and somebody else may have done the item
 * meanwhile. The tokens tell which take came first. */
static void begin_work(struct bed *b, struct consumer *k)
{
	struct known *t = known_of(b, k->planned_ms);

	if (t->id != 0 && t->id != k->id)
		fail_msg("two items for the time %" PRId64, k->planned_ms);
	if (t->acks > 0 && k->token > t->acked_token)
		fail_msg("the time %" PRId64 " comes again", k->planned_ms);
	b->again += t->takes > 0;
	t->id = k->id;
	t->takes++;
	if (k->planned_ms > b->last_ms)
		b->last_ms = k->planned_ms;
}

/* A consumer got a reply. `more` says whether it goes on. */
static void step(struct bed *b, struct consumer *k, const char *reply,
		 bool more)
{
	bool done = strcmp(reply, "[1]") == 0;

	switch (k->doing) {
	case TAKES:
		read_item(k, reply);
		if (more)
			send_confirm(b, k, CONFIRMS_TAKE);
		else if (!b->confirms)
			begin_work(b, k);
		return;
	case CONFIRMS_TAKE:
		assert_int_equal(strtol(reply, NULL, 10), b->confirms);
		begin_work(b, k);
		k->doing = ACKS;
		if (more)
			resp_send(k->c, "TKW.ACK q %" PRIu64 " %" PRIu64, k->id,
				  k->token);
		return;
	case ACKS:
		/* Not done: the lease has run out, and somebody else has it. */
		known_of(b, k->planned_ms)->doubt += done;
		if (done && more)
			send_confirm(b, k, CONFIRMS_ACK);
		else if (more)
			send_take(k);
		return;
	default:
		assert_int_equal(strtol(reply, NULL, 10), b->confirms);
		known_of(b, k->planned_ms)->doubt--;
		known_of(b, k->planned_ms)->acks++;
		known_of(b, k->planned_ms)->acked_token = k->token;
		if (more)
			send_take(k);
	}
}

static void connect_all(struct bed *b, const struct server *s)
{
	for (int i = 0; i < CONSUMERS; i++) {
		b->consumer[i].c = server_connect(s, 2);
		send_take(&b->consumer[i]);
	}
}

/* Makes so many steps. */
static void work(struct bed *b, uint64_t steps)
{
	while (steps > 0) {
		for (int i = 0; i < CONSUMERS && steps > 0; i++) {
			struct consumer *k = &b->consumer[i];

			if (!resp_has_reply(k->c))
				continue;
			step(b, k, resp_read(k->c), true);
			steps--;
		}
		poll(NULL, 0, 1);
	}
}

/* The server is gone. What it has said before that is read. */
static void disconnect_all(struct bed *b)
{
	for (int i = 0; i < CONSUMERS; i++) {
		struct consumer *k = &b->consumer[i];
		const char *reply = resp_try_read(k->c);

		if (reply)
			step(b, k, reply, false);
		else if (k->doing == ACKS)
			known_of(b, k->planned_ms)->doubt++;
		resp_close(k->c);
	}
}

static void begin(struct bed *b, const struct server *s, bool confirms)
{
	struct resp *c = server_connect(s, 2);

	memset(b, 0, sizeof(*b));
	b->random = server_seed();
	b->confirms = confirms;
	b->first_ms = resp_number(c,
				  "TKW.PLAN q p \"every %dms\" tick OVERLAP "
				  "allow MISFIRE all 100 GRACE 3600000",
				  PERIOD_MS);
	resp_close(c);
}

/* Up to two periods. */
static void wait_a_little(struct bed *b)
{
	poll(NULL, 0, (int)server_below(&b->random, MOST_MS));
}

/* Checks each time up to the last one. */
static void check_times(struct bed *b)
{
	int64_t times = 0;
	uint64_t doubt = 0;

	for (int64_t at = b->first_ms; at <= b->last_ms; at += PERIOD_MS) {
		const struct known *t = known_of(b, at);

		if (t->takes == 0)
			fail_msg("the time %" PRId64 " was not given out", at);
		if (t->acks > 1 || t->acks + t->doubt == 0)
			fail_msg("the time %" PRId64 " was done %u times", at,
				 t->acks);
		doubt += t->acks == 0;
		times++;
	}
	print_message("times %" PRId64 ", taken again %" PRIu64
		      ", ack in doubt %" PRIu64 "\n",
		      times, b->again, doubt);
	assert_true(times > 0);
}

/* Ends the plan, takes what is left, and checks. */
static void finish(struct bed *b, const struct server *s)
{
	struct resp *c = server_connect(s, 2);

	EXPECT(c, "1", "TKW.UNPLAN q p");
	connect_all(b, s);
	while (resp_fact(c, "q", "items") > 0)
		work(b, 1);
	/* The last acks are done, but nobody has read the replies. */
	for (int i = 0; i < CONSUMERS; i++) {
		struct consumer *k = &b->consumer[i];

		if (k->doing != TAKES)
			step(b, k, resp_read(k->c), false);
		resp_close(k->c);
	}
	resp_close(c);
	check_times(b);
}

/* --- tests ---------------------------------------------------------------- */

/* SPEC 12.4: with appendfsync always. */
static void test_each_time_comes_once_over_kills(void **state)
{
	uint64_t kills = server_number("TKW_REDIS_KILLS", KILLS);
	static struct bed b;
	struct server s;

	(void)state;
	server_begin(&s, SERVER_REAL_MODULE,
		     "appendonly yes\nappendfsync always");
	begin(&b, &s, false);
	for (uint64_t i = 0; i < kills; i++) {
		connect_all(&b, &s);
		work(&b, server_below(&b.random, MOST_STEPS));
		wait_a_little(&b);
		server_kill(&s);
		disconnect_all(&b);
		server_start(&s);
	}
	finish(&b, &s);
	assert_true(server_end(&s));
}

/* SPEC 12.4: with WAIT. The old master comes back as the replica of the new
 * one. */
static void test_each_time_comes_once_over_failovers(void **state)
{
	uint64_t rounds = server_number("TKW_REDIS_FAILOVERS", FAILOVERS);
	static struct bed b;
	struct server s[2];

	(void)state;
	server_begin(&s[0], SERVER_REAL_MODULE, "");
	server_begin(&s[1], SERVER_REAL_MODULE, "");
	begin(&b, &s[0], true);
	for (uint64_t i = 0; i < rounds; i++) {
		struct server *master = &s[i % 2];
		struct server *replica = &s[1 - i % 2];
		struct resp *c;

		server_follow(replica, master);
		connect_all(&b, master);
		work(&b, server_below(&b.random, MOST_STEPS));
		wait_a_little(&b);
		server_kill(master);
		disconnect_all(&b);
		c = server_connect(replica, 2);
		EXPECT(c, "OK", "REPLICAOF NO ONE");
		resp_close(c);
		server_start(master);
	}
	server_follow(&s[1 - rounds % 2], &s[rounds % 2]);
	finish(&b, &s[rounds % 2]);
	assert_true(server_end(&s[0]));
	assert_true(server_end(&s[1]));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_time_comes_once_over_kills),
		cmocka_unit_test(test_each_time_comes_once_over_failovers),
	};

	server_need(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
