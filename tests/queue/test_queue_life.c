/* SPDX-License-Identifier: MIT */
/* test_queue_life.c - states, keys, attempts, limits, and what one can see. */
#include "queue_bed.h"

static struct tkw__queue_put keyed(const char *key, enum tkw__queue_held held)
{
	return (struct tkw__queue_put){
		.payload = { "job", 3 },
		.key = { key, strlen(key) },
		.held = held,
	};
}

/* SPEC 11.1: ids are max(last + 1, now in us), and never used again. */
static void test_queue_ids_are_the_time_or_the_next_number(void **state)
{
	struct queue_bed *b = *state;
	uint64_t id = bed_put(b, b->now);

	assert_int_equal(id, b->now * 1000);
	assert_int_equal(bed_put(b, b->now), id + 1);
	b->now -= 60000;
	assert_int_equal(bed_put(b, b->now), id + 2);
	b->now += 120000;
	assert_int_equal(bed_put(b, b->now), b->now * 1000);
}

/* SPEC 11.2, 11.3: an item through all its states, and the law at each. */
static void test_queue_item_through_all_states(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_put p = { .when = { false, 10 }, .max_attempts = 1 };
	uint64_t id = (uint64_t)bed_put_with(b, &p);
	struct tkw__queue_call call;
	enum tkw__queue_answer answer;
	struct tkw__queue_taken t;

	assert_int_equal(bed_count(b, TKW__QUEUE_IS_WAITING), 1);
	b->now += 10;
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_READY), 1);
	t = bed_take(b, 100);
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_TAKEN), 1);
	assert_int_equal(bed_nack(b, id, t.token, NULL), TKW__QUEUE_DONE);
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_DEAD), 1);
	call = bed_call(b);
	assert_int_equal(tkw__queue_revive(b->q, &call, &id, 1, &answer), 0);
	assert_int_equal(answer, TKW__QUEUE_DONE);
	assert_int_equal(bed_get(b, id).attempts, 0);
	t = bed_take(b, 100);
	assert_int_equal(t.id, id);
	assert_int_equal(bed_ack(b, id, t.token), TKW__QUEUE_DONE);
	assert_int_equal(bed_ack(b, id, t.token), TKW__QUEUE_UNKNOWN);
}

/* SPEC 11.4: a put of several items is all or none. */
static void test_queue_put_of_many_is_all_or_none(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_put p[3] = { keyed("a", TKW__QUEUE_REFUSE),
				       keyed("b", TKW__QUEUE_REFUSE),
				       keyed("a", TKW__QUEUE_REFUSE) };
	struct tkw__queue_call call = bed_call(b);
	uint64_t digest = tkw__queue_digest(b->q);
	uint64_t ids[3];

	assert_int_equal(tkw__queue_put(b->q, &call, p, 3, ids), -EEXIST);
	assert_int_equal(b->log.len, 0);
	assert_true(tkw__queue_digest(b->q) == digest);
	assert_int_equal(tkw__queue_put(b->q, &call, p, 2, ids), 0);
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_READY), 2);
}

/* SPEC 11.4: a held key refuses, replaces or keeps. */
static void test_queue_held_key_refuses_replaces_or_keeps(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_put p = keyed("k", TKW__QUEUE_REFUSE);
	uint64_t id = (uint64_t)bed_put_with(b, &p);
	struct tkw__queue_taken t;
	struct tkw__queue_stats s;

	assert_int_equal(bed_put_with(b, &p), -EEXIST);
	p.held = TKW__QUEUE_KEEP;
	assert_int_equal(bed_put_with(b, &p), id);
	p.held = TKW__QUEUE_REPLACE;
	p.when.ms = 20;
	p.payload = (struct tkw__queue_text){ "longer job", 10 };
	assert_int_equal(bed_put_with(b, &p), id);
	assert_int_equal(bed_get(b, id).due_ms, b->now + 20);
	assert_int_equal(bed_get(b, id).payload.len, 10);
	b->now += 20;
	t = bed_take(b, 50);
	assert_int_equal(bed_put_with(b, &p), -EBUSY);
	b->now += 50; /* the lease ends: it is not taken any more */
	assert_int_equal(bed_put_with(b, &p), id);
	assert_int_equal(bed_get(b, id).attempts, 0);
	assert_int_equal(bed_ack(b, id, t.token), TKW__QUEUE_UNKNOWN);
	tkw__queue_get_stats(b->q, b->now * 1000, &s);
	assert_int_equal(s.totals.puts, 1);
	assert_int_equal(s.totals.replaces, 2);
}

/* SPEC 11.4: a dead item holds its key, and a replacement revives it. */
static void test_queue_replace_revives_a_dead_item(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_put p = keyed("k", TKW__QUEUE_REFUSE);
	struct tkw__queue_taken t;

	p.max_attempts = 1;
	assert_true(bed_put_with(b, &p) > 0);
	t = bed_take(b, 5);
	b->now += 5;
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_DEAD), 1);
	assert_int_equal(bed_put_with(b, &p), -EEXIST);
	p.held = TKW__QUEUE_REPLACE;
	assert_int_equal(bed_put_with(b, &p), t.id);
	assert_int_equal(bed_take(b, 5).attempt, 1);
}

/* SPEC 11.8: cancel ends what nobody holds, and leaves what somebody does. */
static void test_queue_cancel_leaves_a_taken_item(void **state)
{
	struct queue_bed *b = *state;
	uint64_t id = bed_put(b, b->now);

	bed_take(b, 10);
	assert_int_equal(bed_cancel(b, id), TKW__QUEUE_TAKEN);
	b->now += 10;
	assert_int_equal(bed_cancel(b, id), TKW__QUEUE_DONE);
	assert_int_equal(bed_cancel(b, id), TKW__QUEUE_UNKNOWN);
	assert_int_equal(bed_cancel(b, 12345), TKW__QUEUE_UNKNOWN);
}

/* SPEC 11.9: the back-off doubles up to its limit, for nacks without a delay
 * and for lost leases. */
static void test_queue_backoff_doubles_up_to_its_limit(void **state)
{
	static const uint64_t waits[] = { 100, 200, 400, 500, 500 };
	struct queue_bed *b = *state;
	struct tkw__queue_put p = { .backoff_ms = 100, .max_backoff_ms = 500 };
	uint64_t id = (uint64_t)bed_put_with(b, &p);
	struct tkw__queue_taken t;
	int i;

	for (i = 0; i < 5; i++) {
		t = bed_take(b, 10);
		assert_int_equal(t.id, id);
		if (i % 2)
			bed_nack(b, id, t.token, NULL);
		else
			b->now += 10;
		bed_quiet(b);
		assert_int_equal(bed_get(b, id).due_ms, b->now + waits[i]);
		b->now += waits[i];
	}
}

/* SPEC 11.9: used up attempts make an item dead, with the last reason. */
static void test_queue_dead_item_knows_its_last_reason(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_put p = { .max_attempts = 2 };
	struct tkw__queue_nack how = { true, 5, { "no printer", 10 } };
	uint64_t id = (uint64_t)bed_put_with(b, &p);
	struct tkw__queue_facts f;

	bed_nack(b, id, bed_take(b, 10).token, &how);
	f = bed_get(b, id);
	assert_int_equal(f.state, TKW__QUEUE_IS_WAITING);
	assert_memory_equal(f.reason.at, "no printer", 10);
	b->now += 5;
	bed_take(b, 10);
	b->now += 10;
	f = bed_get(b, id);
	assert_int_equal(f.state, TKW__QUEUE_IS_DEAD);
	assert_int_equal(f.died_ms, b->now);
	assert_memory_equal(f.reason.at, "lease lost", 10);
	bed_quiet(b);
	f = bed_get(b, id);
	assert_int_equal(f.state, TKW__QUEUE_IS_DEAD);
	assert_int_equal(f.died_ms, b->now);
	assert_memory_equal(f.reason.at, "lease lost", 10);
}

/* SPEC 11.10: each limit refuses with its error, and nothing changes. */
static void test_queue_limits_are_exact(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_limits l = { .items = 2, .bytes = 20, .payload = 11 };
	struct tkw__queue_call call = bed_call(b);
	struct tkw__queue_put p = { .payload = { "twelve bytes", 12 } };

	assert_int_equal(bed_put_with(b, &p) > 0, 1);
	assert_int_equal(tkw__queue_limit(b->q, &call, &l), 0);
	assert_int_equal(bed_put_with(b, &p), -EMSGSIZE);
	p.payload.len = 9;
	assert_int_equal(bed_put_with(b, &p), -EAGAIN);
	p.payload.len = 8;
	assert_true(bed_put_with(b, &p) > 0);
	p.payload.len = 0;
	assert_int_equal(bed_put_with(b, &p), -EAGAIN);
	bed_take(b, 10);
	assert_int_equal(bed_put_with(b, &p), -EAGAIN);
}

/* SPEC 11.1: a payload of 1 MiB by default, and a key of 255 bytes. */
static void test_queue_default_payload_is_a_mebibyte(void **state)
{
	static char text[(1 << 20) + 1];
	struct queue_bed *b = *state;
	struct tkw__queue_put p = { .payload = { text, 1 << 20 } };

	memset(text, 'x', sizeof(text));
	assert_true(bed_put_with(b, &p) > 0);
	p.payload.len++;
	assert_int_equal(bed_put_with(b, &p), -EMSGSIZE);
	p.payload.len = 1;
	p.key = (struct tkw__queue_text){ text, 255 };
	assert_true(bed_put_with(b, &p) > 0);
	p.key.len = 256;
	assert_int_equal(bed_put_with(b, &p), -EINVAL);
	p.key.len = 0;
	assert_int_equal(bed_put_with(b, &p), -EINVAL);
}

/* SPEC 11.9: the dead are listed by id, revived and purged, some at a time. */
static void test_queue_purge_some_of_the_dead(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_put p = { .max_attempts = 1 };
	struct tkw__queue_call call;
	struct tkw__queue_walk walk = { 0, 0, 0 };
	struct tkw__queue_taken t[5];
	int i;

	for (i = 0; i < 5; i++)
		bed_put_with(b, &p);
	call = bed_call(b);
	assert_int_equal(tkw__queue_take(b->q, &call, 5, 10, t), 5);
	b->now += 10;
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_DEAD), 5);
	call = bed_call(b);
	assert_int_equal(tkw__queue_purge_some(b->q, &call, &walk, 3), 3);
	assert_true(call.behind);
	assert_int_equal(tkw__queue_revive_some(b->q, &call, &walk, 3), 2);
	assert_false(call.behind);
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_READY), 2);
}

/* A walk revives what was dead when it began, each item once: neither what dies
 * again behind it, nor what was put and died since. */
static void test_queue_walk_over_the_dead_ends(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_put p = { .max_attempts = 1 };
	struct tkw__queue_walk walk = { 0, 0, 0 };
	struct tkw__queue_call call;
	struct tkw__queue_taken t;
	int pieces = 0;
	int64_t all = 0;

	for (int i = 0; i < 6; i++) {
		int64_t id = bed_put_with(b, &p);

		bed_nack(b, (uint64_t)id, bed_take(b, 10).token, NULL);
	}
	do {
		call = bed_call(b);
		all += tkw__queue_revive_some(b->q, &call, &walk, 2);
		bed_put_with(b, &p);
		while ((t = bed_take(b, 10)).id != 0)
			bed_nack(b, t.id, t.token, NULL);
		assert_true(++pieces <= 3);
	} while (call.behind);
	assert_int_equal(all, 6);
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_DEAD), 9);
}

/* Items whose leases have run out are dead, whether or not a record says so. It
 * may take several calls to make the records. */
static void test_queue_walk_finds_the_dead_without_a_record(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_put p = { .max_attempts = 1 };
	struct tkw__queue_walk walk = { 0, 0, 0 };
	struct tkw__queue_call call;
	int64_t all = 0, n;

	bed_restart(b, 1, 1);
	for (int i = 0; i < 40; i++) {
		bed_put_with(b, &p);
		bed_take(b, 10);
	}
	b->now += 10;
	for (int calls = 0; calls == 0 || call.behind; calls++) {
		call = bed_call(b);
		n = tkw__queue_purge_some(b->q, &call, &walk, 4);
		assert_true(n >= 0 && n <= 4);
		all += n;
		assert_true(calls < 400);
		bed_check(b);
	}
	assert_int_equal(all, 40);
}

/* A lease that runs out after a walk has begun does not belong to it. */
static void test_queue_walk_leaves_later_losses_alone(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_put p = { .max_attempts = 1 };
	struct tkw__queue_walk walk = { 0, 0, 0 };
	struct tkw__queue_call call;

	bed_put_with(b, &p);
	bed_take(b, 10);
	call = bed_call(b);
	assert_int_equal(tkw__queue_purge_some(b->q, &call, &walk, 4), 0);
	assert_false(call.behind);
	b->now += 10;
	call = bed_call(b);
	assert_int_equal(tkw__queue_purge_some(b->q, &call, &walk, 4), 0);
	assert_false(call.behind);
	walk = (struct tkw__queue_walk){ 0, 0, 0 };
	assert_int_equal(tkw__queue_purge_some(b->q, &call, &walk, 4), 1);
}

/* SPEC 11.11: how late items were taken. */
static void test_queue_lateness_has_a_sample_per_take(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_stats s;
	uint32_t i;

	for (i = 0; i < TKW__QUEUE_LATENESS_BUCKETS; i++) {
		uint64_t least = tkw__queue_lateness_least_ms(i);

		assert_int_equal(tkw__queue_lateness_bucket(least), i);
		if (i)
			assert_int_equal(tkw__queue_lateness_bucket(least - 1),
					 i - 1);
	}
	assert_int_equal(tkw__queue_lateness_bucket(UINT64_MAX), i - 1);
	bed_put(b, b->now);
	b->now += 1000;
	bed_take(b, 1);
	tkw__queue_get_stats(b->q, b->now * 1000, &s);
	assert_int_equal(s.lateness[tkw__queue_lateness_bucket(1000)], 1);
}

/* SPEC 11.7, 11.8: calls with bad arguments change nothing. */
static void test_queue_refuses_bad_arguments(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_call call = bed_call(b);
	struct tkw__queue_config none = { .now_us = 1 };
	struct tkw__queue_taken t;
	struct tkw__queue *q;
	uint64_t id;

	assert_int_equal(tkw__queue_create(&q, &none), -EINVAL);
	assert_int_equal(tkw__queue_create(&q, NULL), -EINVAL);
	assert_int_equal(tkw__queue_put(b->q, &call, NULL, 1, &id), -EINVAL);
	assert_int_equal(tkw__queue_take(b->q, &call, 0, 1, &t), -EINVAL);
	assert_int_equal(tkw__queue_take(b->q, &call, 4097, 1, &t), -EINVAL);
	assert_int_equal(tkw__queue_take(b->q, &call, 1, 0, &t), -EINVAL);
	assert_int_equal(tkw__queue_take(b->q, &call, 1, 1, NULL), -EINVAL);
	assert_int_equal(tkw__queue_ack(b->q, &call, NULL), -EINVAL);
	assert_int_equal(tkw__queue_cancel(b->q, &call, NULL, 1, NULL),
			 -EINVAL);
	assert_int_equal(tkw__queue_limit(b->q, &call, NULL), -EINVAL);
	assert_int_equal(b->log.len, 0);
	tkw__queue_destroy(NULL);
}

/* SPEC 11.10: no limit allows a payload of more than 512 MiB. */
static void test_queue_huge_payload_is_too_large(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_put p = { .payload = { "x", (size_t)1 << 30 } };

	assert_int_equal(bed_put_with(b, &p), -EMSGSIZE);
}

/* A clock that has gone mad must not use up the ids. */
static void test_queue_refuses_a_time_after_the_end(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_call call = { UINT64_MAX, &b->log, false };
	struct tkw__queue_config cfg = b->cfg;
	struct tkw__queue_put p = { .payload = { "x", 1 } };
	struct tkw__queue_walk walk = { 0, 0, 0 };
	struct tkw__queue_taken t;
	struct tkw__queue *q;
	uint64_t id;

	assert_int_equal(tkw__queue_put(b->q, &call, &p, 1, &id), -EINVAL);
	assert_int_equal(tkw__queue_take(b->q, &call, 1, 1, &t), -EINVAL);
	assert_int_equal(tkw__queue_advance(b->q, &call, 1, TKW__QUEUE_MASTER),
			 -EINVAL);
	assert_int_equal(tkw__queue_purge_some(b->q, &call, &walk, 1), -EINVAL);
	assert_int_equal(tkw__queue_pause(b->q, &call), -EINVAL);
	cfg.now_us = UINT64_MAX;
	assert_int_equal(tkw__queue_create(&q, &cfg), -EINVAL);
	assert_int_equal(bed_put(b, b->now), b->now * 1000);
}

static enum tkw__queue_ready ready_now(struct queue_bed *b)
{
	return tkw__queue_has_ready(b->q, b->now * 1000);
}

/* SPEC 11.21 at the heart: a shell can tell whether something can be taken. */
static void test_queue_tells_whether_something_is_ready(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_call call = bed_call(b);
	struct tkw__queue_stats s;
	int i;

	assert_int_equal(ready_now(b), TKW__QUEUE_NONE_READY);
	for (i = 0; i < 100; i++)
		bed_put(b, b->now + 10);
	assert_int_equal(ready_now(b), TKW__QUEUE_NONE_READY);
	b->now += 10;
	assert_int_equal(ready_now(b), TKW__QUEUE_MAYBE_READY);
	tkw__queue_get_stats(b->q, b->now * 1000, &s);
	assert_false(s.quiet);
	bed_quiet(b);
	assert_int_equal(ready_now(b), TKW__QUEUE_SOME_READY);
	tkw__queue_get_stats(b->q, b->now * 1000, &s);
	assert_true(s.quiet);
	assert_int_equal(tkw__queue_pause(b->q, &call), 0);
	assert_int_equal(ready_now(b), TKW__QUEUE_NONE_READY);
	assert_int_equal(tkw__queue_resume(b->q, &call), 0);
	for (i = 0; i < 100; i++)
		assert_true(bed_take(b, 5).id > 0);
	assert_int_equal(ready_now(b), TKW__QUEUE_NONE_READY);
	b->now += 5;
	assert_int_equal(ready_now(b), TKW__QUEUE_MAYBE_READY);
	bed_quiet(b);
	assert_int_equal(ready_now(b), TKW__QUEUE_SOME_READY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST(test_queue_ids_are_the_time_or_the_next_number),
		BED_TEST(test_queue_item_through_all_states),
		BED_TEST(test_queue_put_of_many_is_all_or_none),
		BED_TEST(test_queue_held_key_refuses_replaces_or_keeps),
		BED_TEST(test_queue_replace_revives_a_dead_item),
		BED_TEST(test_queue_cancel_leaves_a_taken_item),
		BED_TEST(test_queue_backoff_doubles_up_to_its_limit),
		BED_TEST(test_queue_dead_item_knows_its_last_reason),
		BED_TEST(test_queue_limits_are_exact),
		BED_TEST(test_queue_default_payload_is_a_mebibyte),
		BED_TEST(test_queue_purge_some_of_the_dead),
		BED_TEST(test_queue_walk_over_the_dead_ends),
		BED_TEST(test_queue_walk_finds_the_dead_without_a_record),
		BED_TEST(test_queue_walk_leaves_later_losses_alone),
		BED_TEST(test_queue_lateness_has_a_sample_per_take),
		BED_TEST(test_queue_refuses_bad_arguments),
		BED_TEST(test_queue_huge_payload_is_too_large),
		BED_TEST(test_queue_refuses_a_time_after_the_end),
		BED_TEST(test_queue_tells_whether_something_is_ready),
	};

	return cmocka_run_group_tests_name("queue_life", tests, NULL, NULL);
}
