/* SPDX-License-Identifier: MIT */
/*
 * test_redis_memory.c - what a queue uses, what happens when there is no more,
 * and how large queues are freed.
 */
#include "redis_bed.h"

#include "queue_mix.h"

#define N0 "1700000000000000"
#define N1 "1700000000000001"

enum {
	TINY = 2048, /* bytes of a queue with hardly anything in it */
	MANY = 100000,
	PLANS = 20000,
	/* Queues that are evicted: too large to be freed at once, but for the
	 * lack of memory. */
	EVICTED = 24,
	EVICTED_ITEMS = 3000,
	EVICTED_ROOM = 8 << 20, /* for about seven of them */
	SLACK = 3 << 20
};

static int64_t used(struct resp *c)
{
	return resp_info_number(c, "memory", "used_memory");
}

/* A queue with many items of 100 bytes. */
static void make_large(struct resp *c, const char *queue)
{
	EXPECT(c, "nil",
	       "EVAL \"for i = 1, %d do redis.call('TKW.PUT', KEYS[1], i, "
	       "string.rep('x', 100), 'KEY', i) end\" 1 %s",
	       MANY, queue);
}

/* --- use ------------------------------------------------------------------ */

static void test_a_tiny_queue_is_small(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, "OK", "TKW.LIMIT empty ITEMS 5");
	assert_in_range(resp_number(b->c, "MEMORY USAGE empty"), 1, TINY);
	EXPECT(b->c, N0, "TKW.PUT tiny 0 a");
	EXPECT(b->c, N1, "TKW.PUT tiny 0 b KEY k");
	assert_in_range(resp_number(b->c, "MEMORY USAGE tiny"), 1, TINY);
	EXPECT(b->c, "[[...", "TKW.TAKE tiny COUNT 2");
	EXPECT(b->c, "[1, 1]", "TKW.ACK tiny " N0 " " N0 " " N1 " " N1);
	assert_in_range(resp_fact(b->c, "tiny", "memory"), 1, TINY);
}

/* SPEC 11.32. */
static void test_memory_usage_follows_the_items(void **state)
{
	struct redis_bed *b = *state;
	int64_t before = used(b->c);
	int64_t usage;
	int64_t grown;

	make_large(b->c, "q");
	usage = resp_number(b->c, "MEMORY USAGE q");
	grown = used(b->c) - before;
	/* The server counts what its allocator rounds up to. */
	assert_in_range(usage, 100 * MANY, 2 * grown);
	assert_true(grown < 2 * usage);
	assert_in_range(resp_fact(b->c, "q", "memory"), usage / 2, usage);
	assert_int_equal(resp_fact(b->c, "q", "bytes"),
			 100 * MANY + 488895 /* of keys */);
}

/* --- no more memory ------------------------------------------------------- */

/* SPEC 11.32. */
static void test_without_memory_nothing_is_put(void **state)
{
	struct redis_bed *b = *state;
	char digest[64];

	queue_mix_fill(b->c, "q");
	EXPECT(b->c, "OK", "TKW.RESUME q");
	snprintf(digest, sizeof(digest), "%s", redis_bed_digest(b->c, "q"));
	EXPECT(b->c, "OK", "CONFIG SET maxmemory 1");
	EXPECT(b->c, "-OOM ...", "TKW.PUT q 0 a");
	EXPECT(b->c, "-OOM ...", "TKW.MPUT q 0 a 0 b");
	EXPECT(b->c, "-OOM ...", "TKW.PUT new 0 a");
	EXPECT(b->c, digest, "TKW.DIGEST q");
	EXPECT(b->c, "0", "EXISTS new");
	EXPECT(b->c, "OK", "CONFIG SET maxmemory 0");
	EXPECT(b->c, "17...", "TKW.PUT q 0 a");
}

/* What makes a queue smaller, or hands it on, goes on. */
static void test_without_memory_consumers_go_on(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, "[17...",
	       "TKW.MPUT q 0 a 0 b 0 c ATTEMPTS 1 0 d KEY d 5000 e KEY e");
	EXPECT(b->c, "OK", "CONFIG SET maxmemory 1");
	EXPECT(b->c, "[[...", "TKW.TAKE q COUNT 3");
	EXPECT(b->c, "[1]", "TKW.ACK q " N0 " " N0);
	EXPECT(b->c, "[1]", "TKW.EXTEND q 500 " N1 " " N1);
	EXPECT(b->c, "[1]",
	       "TKW.NACK q REASON why 1700000000000002 1700000000000002");
	EXPECT(b->c, "[1]", "TKW.DEAD q REVIVE 1700000000000002");
	EXPECT(b->c, "[1]", "TKW.CANCEL q KEY d");
	EXPECT(b->c, "1", "TKW.RESCHEDULE q KEY e 0");
	EXPECT(b->c, "OK", "TKW.PAUSE q");
	EXPECT(b->c, "OK", "TKW.RESUME q");
	redis_bed_pass(b, 500);
	assert_int_equal(resp_fact(b->c, "q", "ready"), 3);
	EXPECT(b->c, "[[...", "TKW.TAKE q COUNT 3");
	EXPECT(b->c, "OK", "CONFIG SET maxmemory 0");
	queue_mix_check(b->c, "q");
}

static void test_without_memory_waiters_are_served(void **state)
{
	struct redis_bed *b = *state;
	struct resp *c;

	EXPECT(b->c, N0, "TKW.PUT q 500 a");
	EXPECT(b->c, "OK", "CONFIG SET maxmemory 1");
	c = redis_bed_wait(b, 0, "TKW.TAKE q BLOCK 0");
	redis_bed_pass(b, 500);
	EXPECT_NEXT(c, "[[" N0 ", ...");
	EXPECT(b->c, "OK", "CONFIG SET maxmemory 0");
}

/* --- eviction ------------------------------------------------------------- */

/* SPEC 11.32. */
static void test_nothing_is_put_where_queues_can_be_evicted(void **state)
{
	static const char *const policies[] = { "allkeys-lru", "allkeys-lfu",
						"allkeys-random" };
	struct redis_bed *b = *state;

	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		EXPECT(b->c, "OK", "CONFIG SET maxmemory-policy %s",
		       policies[i]);
		EXPECT(b->c, "-ERR ...", "TKW.PUT q 0 b");
		EXPECT(b->c, "-ERR ...", "TKW.MPUT q 0 b 0 c");
		EXPECT(b->c, "-ERR ...", "TKW.PUT new 0 b");
		/* Consumers go on. */
		EXPECT(b->c, "[[" N0 ", ...", "TKW.TAKE q LEASE 1");
		redis_bed_pass(b, 1);
		EXPECT(b->c, "OK", "CONFIG SET maxmemory-policy noeviction");
		EXPECT(b->c, "17...", "TKW.PUT other 0 b");
	}
	assert_int_equal(resp_fact(b->c, "q", "puts"), 1);
	EXPECT(b->c, "0", "EXISTS new");
}

static void test_policies_that_keep_queues_allow_puts(void **state)
{
	static const char *const policies[] = { "volatile-lru", "volatile-lfu",
						"volatile-random",
						"volatile-ttl", "noeviction" };
	struct redis_bed *b = *state;

	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		EXPECT(b->c, "OK", "CONFIG SET maxmemory-policy %s",
		       policies[i]);
		EXPECT(b->c, "17...", "TKW.PUT q 0 b");
	}
}

static void test_who_allows_eviction_can_put(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, "OK", "CONFIG SET maxmemory-policy allkeys-lru");
	EXPECT(b->c, "OK", "CONFIG SET tickwheel.allow-eviction yes");
	EXPECT(b->c, N0, "TKW.PUT q 0 b");
	/* The server may now delete it, and does. */
	EXPECT(b->c, "OK", "CONFIG SET maxmemory 1");
	resp_ask(b->c, "TKW.PUT q 0 b");
	WAIT_UNTIL(resp_number(b->c, "EXISTS q") == 0);
	EXPECT(b->c, "OK", "CONFIG SET maxmemory 0");
	EXPECT(b->c, "OK", "CONFIG SET tickwheel.allow-eviction no");
	EXPECT(b->c, "-ERR ...", "TKW.PUT q 0 b");
	EXPECT(b->c, "OK", "CONFIG SET maxmemory-policy noeviction");
}

static void test_the_policy_counts_from_the_start(void **state)
{
	struct server s;
	struct resp *c;

	(void)state;
	server_begin(&s, SERVER_TEST_MODULE,
		     "maxmemory-policy allkeys-lru\nmaxmemory 1gb");
	c = server_connect(&s, 2);
	EXPECT(c, "-ERR ...", "TKW.PUT q 0 a");
	EXPECT(c, "OK", "CONFIG SET maxmemory-policy noeviction");
	EXPECT(c, "1...", "TKW.PUT q 0 a");
	resp_close(c);
	server_stop(&s);
	server_change(&s, SERVER_TEST_MODULE,
		      "maxmemory-policy allkeys-lru\n"
		      "tickwheel.allow-eviction yes");
	server_start(&s);
	c = server_connect(&s, 2);
	EXPECT(c, "1...", "TKW.PUT q 0 a");
	resp_close(c);
	assert_true(server_end(&s));
}

/* Makes a queue. Returns false if there is no memory now: a server that frees
 * lazily must wait for its thread. */
static bool fill_queue(struct resp *c, int number)
{
	return resp_ask(c,
			"EVAL \"for i = 1, %d do redis.call('TKW.PUT', "
			"KEYS[1], i, string.rep('x', 200)) end\" 1 e%d",
			EVICTED_ITEMS, number)[0] != '-';
}

/* Returns how many queues are left, each of which must be whole. */
static int count_queues(struct resp *c)
{
	int left = 0;

	for (int i = 0; i < EVICTED; i++) {
		char queue[16];

		snprintf(queue, sizeof(queue), "e%d", i);
		if (resp_number(c, "EXISTS %s", queue) == 0)
			continue;
		assert_int_equal(resp_fact(c, queue, "items"), EVICTED_ITEMS);
		queue_mix_check(c, queue);
		left++;
	}
	return left;
}

/* Returns how many queues are left when there is memory for seven. */
static int evict_queues(struct resp *c)
{
	int64_t before = used(c);
	int64_t evicted = resp_info_number(c, "stats", "evicted_keys");
	int left;

	EXPECT(c, "OK", "CONFIG SET maxmemory %" PRId64, before + EVICTED_ROOM);
	for (int i = 0; i < EVICTED; i++)
		WAIT_UNTIL(fill_queue(c, i));
	WAIT_UNTIL(used(c) < before + EVICTED_ROOM);
	EXPECT(c, "OK", "CONFIG SET maxmemory 0");
	left = count_queues(c);
	evicted = resp_info_number(c, "stats", "evicted_keys") - evicted;
	print_message("%" PRId64 " evicted, %d left\n", evicted, left);
	assert_true(evicted >= EVICTED / 2);
	assert_int_equal(left + evicted, EVICTED);
	EXPECT(c, "OK", "FLUSHALL");
	WAIT_UNTIL(used(c) - before < SLACK);
	return left;
}

/* SPEC 11.32: whole queues are evicted, and their memory comes back. */
static void test_whole_queues_are_evicted(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, "OK", "CONFIG SET maxmemory-policy allkeys-lru");
	EXPECT(b->c, "OK", "CONFIG SET tickwheel.allow-eviction yes");
	/* No more than is necessary. Valkey is lazy by default. */
	EXPECT(b->c, "OK", "CONFIG SET lazyfree-lazy-eviction no");
	assert_true(evict_queues(b->c) > 2);
	/* A server that frees lazily may evict up to 16 keys before it looks
	 * what came of it. */
	EXPECT(b->c, "OK", "CONFIG SET lazyfree-lazy-eviction yes");
	evict_queues(b->c);
	EXPECT(b->c, "OK", "CONFIG SET lazyfree-lazy-eviction no");
	EXPECT(b->c, "OK", "CONFIG SET tickwheel.allow-eviction no");
	EXPECT(b->c, "OK", "CONFIG SET maxmemory-policy noeviction");
}

/* --- freeing -------------------------------------------------------------- */

/* SPEC 11.32: a key is gone at once, and can be used again; its memory comes
 * back in time. */
static void test_a_large_queue_is_freed(void **state)
{
	static const char *const ways[] = {
		"DEL q",        "UNLINK q",       "FLUSHALL SYNC",
		"FLUSHALL",     "FLUSHALL ASYNC", "FLUSHDB ASYNC",
		"SET q text",   "RENAME small q", "COPY small q REPLACE",
		"PEXPIREAT q 1"
	};
	struct redis_bed *b = *state;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		int64_t before = used(b->c);

		make_large(b->c, "q");
		EXPECT(b->c, N0, "TKW.PUT small 0 a");
		assert_true(strtoll(resp_ask(b->c, "MEMORY USAGE q"), NULL,
				    10) > 100L * MANY);
		assert_int_not_equal(resp_ask(b->c, "%s", ways[i])[0], '-');
		resp_ask(b->c, "DEL q small");
		EXPECT(b->c, N0, "TKW.PUT q 0 a");
		WAIT_UNTIL(used(b->c) - before < SLACK);
		EXPECT(b->c, "[[" N0 ", ...", "TKW.TAKE q");
		EXPECT(b->c, "1", "DEL q");
	}
}

/* SPEC 11.32, 12.4: a queue that has plans and no items. */
static void test_plans_are_counted_and_freed(void **state)
{
	struct redis_bed *b = *state;
	int64_t before = used(b->c);
	int64_t full;

	EXPECT(b->c, "nil",
	       "EVAL \"for i = 1, %d do redis.call('TKW.PLAN', KEYS[1], i, "
	       "'@daily', string.rep('x', 1000)) "
	       "redis.call('TKW.PLANPAUSE', KEYS[1], i) end\" 1 q",
	       PLANS);
	assert_int_equal(resp_fact(b->c, "q", "items"), 0);
	assert_int_equal(resp_fact(b->c, "q", "plans"), PLANS);
	assert_true(resp_number(b->c, "MEMORY USAGE q") > 1000L * PLANS);
	/* The server may still free what the test before has left, so this is
	 * not compared with what was used before. */
	full = used(b->c);
	EXPECT(b->c, "1", "DEL q");
	EXPECT(b->c, N0, "TKW.PUT q 0 a");
	WAIT_UNTIL(full - used(b->c) > 1000L * PLANS);
	WAIT_UNTIL(used(b->c) - before < SLACK);
}

static void test_large_queues_are_freed_one_after_the_other(void **state)
{
	struct redis_bed *b = *state;
	int64_t before = used(b->c);

	for (int i = 0; i < 4; i++) {
		char queue[16];

		snprintf(queue, sizeof(queue), "q%d", i);
		make_large(b->c, queue);
	}
	for (int i = 0; i < 4; i++)
		EXPECT(b->c, "1", "DEL q%d", i);
	WAIT_UNTIL(used(b->c) - before < SLACK);
}

static void test_a_lazy_server_frees_large_queues(void **state)
{
	struct redis_bed *b = *state;
	int64_t before = used(b->c);

	EXPECT(b->c, "OK", "CONFIG SET lazyfree-lazy-user-del yes");
	EXPECT(b->c, "OK", "CONFIG SET lazyfree-lazy-user-flush yes");
	EXPECT(b->c, "OK", "CONFIG SET lazyfree-lazy-server-del yes");
	make_large(b->c, "q");
	EXPECT(b->c, "1", "DEL q");
	WAIT_UNTIL(used(b->c) - before < SLACK);
	make_large(b->c, "q");
	EXPECT(b->c, "OK", "FLUSHALL");
	WAIT_UNTIL(used(b->c) - before < SLACK);
	make_large(b->c, "q");
	EXPECT(b->c, "OK", "SET q text");
	WAIT_UNTIL(used(b->c) - before < SLACK);
	assert_true(resp_info_number(b->c, "memory", "lazyfreed_objects") >= 3);
	EXPECT(b->c, "OK", "CONFIG SET lazyfree-lazy-user-del no");
	EXPECT(b->c, "OK", "CONFIG SET lazyfree-lazy-user-flush no");
	EXPECT(b->c, "OK", "CONFIG SET lazyfree-lazy-server-del no");
}

static void test_a_server_ends_while_it_frees(void **state)
{
	struct server s;
	struct resp *c;

	(void)state;
	server_begin(&s, SERVER_TEST_MODULE, "");
	c = server_connect(&s, 2);
	make_large(c, "q");
	EXPECT(c, "1", "DEL q");
	resp_close(c);
	server_stop(&s);
	server_start(&s);
	assert_true(server_end(&s));
}

/* A child that saves has a copy of the memory, in which nothing is freed. */
static void test_a_server_saves_while_it_frees(void **state)
{
	struct redis_bed *b = *state;
	int64_t before = used(b->c);

	make_large(b->c, "q");
	queue_mix_fill(b->c, "rich");
	EXPECT(b->c, "1", "DEL q");
	EXPECT(b->c, "Background saving started", "BGSAVE");
	WAIT_UNTIL(resp_info_number(b->c, "persistence",
				    "rdb_bgsave_in_progress") == 0);
	assert_string_equal(
		resp_info(b->c, "persistence", "rdb_last_bgsave_status"), "ok");
	EXPECT(b->c, "OK", "DEBUG RELOAD");
	queue_mix_check(b->c, "rich");
	WAIT_UNTIL(used(b->c) - before < SLACK);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		REDIS_TEST(test_a_tiny_queue_is_small),
		REDIS_TEST(test_memory_usage_follows_the_items),
		REDIS_TEST(test_without_memory_nothing_is_put),
		REDIS_TEST(test_without_memory_consumers_go_on),
		REDIS_TEST(test_without_memory_waiters_are_served),
		REDIS_TEST(test_nothing_is_put_where_queues_can_be_evicted),
		REDIS_TEST(test_policies_that_keep_queues_allow_puts),
		REDIS_TEST(test_who_allows_eviction_can_put),
		REDIS_TEST(test_the_policy_counts_from_the_start),
		REDIS_TEST(test_whole_queues_are_evicted),
		REDIS_TEST(test_a_large_queue_is_freed),
		REDIS_TEST(test_plans_are_counted_and_freed),
		REDIS_TEST(test_large_queues_are_freed_one_after_the_other),
		REDIS_TEST(test_a_lazy_server_frees_large_queues),
		REDIS_TEST(test_a_server_ends_while_it_frees),
		REDIS_TEST(test_a_server_saves_while_it_frees),
	};

	server_need(argc, argv);
	return cmocka_run_group_tests(tests, redis_bed_begin_all,
				      redis_bed_end_all);
}
