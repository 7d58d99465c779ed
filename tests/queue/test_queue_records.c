/* SPDX-License-Identifier: MIT */
/* test_queue_records.c - the records: their bytes, replay, what is refused. */
#include "queue_bed.h"

static struct tkw__queue *other_queue(struct queue_bed *b)
{
	struct tkw__queue *q;

	assert_int_equal(tkw__queue_create(&q, &b->cfg), 0);
	return q;
}

/* Something of each kind of record. */
static void make_records(struct queue_bed *b)
{
	struct tkw__queue_put p = { .payload = { "pay", 3 },
				    .key = { "key", 3 },
				    .max_attempts = 1,
				    .backoff_ms = 5 };
	struct tkw__queue_nack how = { false, 0, { "reason", 6 } };
	struct tkw__queue_limits l = { 100, 10000, 1000 };
	struct tkw__queue_call call = bed_call(b);
	struct tkw__queue_walk walk = { 0, 0, 0 };
	uint64_t id = (uint64_t)bed_put_with(b, &p);

	p.held = TKW__QUEUE_REPLACE;
	bed_put_with(b, &p);
	bed_nack(b, id, bed_take(b, 10).token, &how);
	tkw__queue_revive_some(b->q, &call, &walk, 1);
	bed_take(b, 10);
	bed_put(b, b->now + 100);
	bed_put(b, b->now + 200);
	bed_cancel(b, bed_put(b, b->now));
	b->now += 20;
	bed_quiet(b);
	tkw__queue_limit(b->q, &call, &l);
	tkw__queue_pause(b->q, &call);
	bed_ack(b, 1, 1);
}

/* 11.31 at the heart: replay makes an equal queue, without a clock. */
static void test_queue_replay_makes_an_equal_queue(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue *q = other_queue(b);
	size_t used;

	make_records(b);
	assert_int_equal(tkw__queue_replay(q, b->log.bytes, b->log.len, &used),
			 0);
	assert_int_equal(used, b->log.len);
	assert_null(tkw__queue_check(q));
	assert_true(tkw__queue_digest(q) == tkw__queue_digest(b->q));
	tkw__queue_destroy(q);
}

/* A record of each length that is too short, or with a byte changed, is refused
 * or makes a sound queue; nothing is half done. */
static void test_queue_damaged_records_are_refused_whole(void **state)
{
	struct queue_bed *b = *state;
	uint8_t copy[4096];
	size_t i, used;

	make_records(b);
	assert_true(b->log.len < sizeof(copy));
	for (i = 0; i < b->log.len * 8; i++) {
		struct tkw__queue *q = other_queue(b);
		uint64_t digest = tkw__queue_digest(q);

		memcpy(copy, b->log.bytes, b->log.len);
		copy[i / 8] ^= (uint8_t)(1 << i % 8);
		if (tkw__queue_replay(q, copy, b->log.len, &used) != 0)
			assert_true(tkw__queue_digest(q) == digest);
		assert_null(tkw__queue_check(q));
		tkw__queue_destroy(q);
	}
}

/* SPEC 11.3: a command is applied whole or not at all, wherever it is cut. */
static void test_queue_cut_command_is_not_applied(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_put p[3] = { { .payload = { "1", 1 } },
				       { .payload = { "2", 1 } },
				       { .payload = { "3", 1 } } };
	struct tkw__queue_call call = bed_call(b);
	struct tkw__queue *q = other_queue(b);
	uint64_t empty = tkw__queue_digest(q);
	uint64_t ids[3];
	size_t cut, used;

	assert_int_equal(tkw__queue_put(b->q, &call, p, 3, ids), 0);
	for (cut = 0; cut < b->log.len; cut++) {
		assert_int_equal(tkw__queue_replay(q, b->log.bytes, cut, &used),
				 0);
		assert_int_equal(used, 0);
		assert_true(tkw__queue_digest(q) == empty);
	}
	tkw__queue_destroy(q);
}

/* The format is documented, so its bytes do not change by chance. */
static void test_queue_bytes_of_a_record(void **state)
{
	static const char wanted[] =
		"\x31\0\0\0" /* the length */
		"\1\1\0\0"   /* PUT, version 1, no flags */
		"\x00\x40\x1e\x18\x24\x0a\x06\x00" /* id */
		"\x00\x68\xe5\xcf\x8b\x01\x00\x00" /* due */
		"\2\0\0\0\7\0\0\0"                 /* attempts, back-off */
		"\x9\0\0\0\0\0\0\0"                /* largest back-off */
		"\2\0\0\0"                         /* lengths */
		"idpay";                           /* key, payload */
	struct queue_bed *b = *state;
	struct tkw__queue_put p = { .payload = { "pay", 3 },
				    .key = { "id", 2 },
				    .max_attempts = 2,
				    .backoff_ms = 7,
				    .max_backoff_ms = 9 };

	assert_int_equal(bed_put_with(b, &p), BED_START * 1000);
	assert_int_equal(b->log.len, sizeof(wanted) - 1);
	assert_memory_equal(b->log.bytes, wanted, sizeof(wanted) - 1);
}

/* SPEC 11.20 at the heart: a record of a newer version or an unknown kind is
 * refused. */
static void test_queue_unknown_records_are_refused(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue *q = other_queue(b);
	size_t used = 7;

	bed_put(b, b->now);
	b->log.bytes[5] = 2;
	assert_int_equal(tkw__queue_replay(q, b->log.bytes, b->log.len, &used),
			 -EBADMSG);
	b->log.bytes[5] = 1;
	b->log.bytes[4] = TKW__RECORD_PLAN_KINDS;
	assert_int_equal(tkw__queue_replay(q, b->log.bytes, b->log.len, &used),
			 -EBADMSG);
	assert_int_equal(used, 7);
	tkw__queue_destroy(q);
}

/* 11.31 at the heart: a replica derives what is ready, records no loss, and
 * stays equal. */
static void test_queue_replica_records_nothing(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue *q = other_queue(b);
	struct tkw__queue_stats s;
	struct tkw__queue_call call;
	size_t used;

	bed_put(b, b->now);
	bed_put(b, b->now + 10);
	bed_take(b, 10);
	assert_int_equal(tkw__queue_replay(q, b->log.bytes, b->log.len, &used),
			 0);
	b->now += 50;
	call = (struct tkw__queue_call){ b->now * 1000, NULL, false };
	assert_int_equal(tkw__queue_advance(q, &call, 100, TKW__QUEUE_REPLICA),
			 0);
	tkw__queue_get_stats(q, b->now * 1000, &s);
	assert_int_equal(s.count[TKW__QUEUE_IS_READY], 1);
	assert_int_equal(s.count[TKW__QUEUE_IS_TAKEN], 1);
	assert_true(tkw__queue_digest(q) == tkw__queue_digest(b->q));
	tkw__queue_destroy(q);
}

/* One record of an item replaces all records about it so far. */
static void test_queue_dump_of_an_item_replaces_it(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue *q = other_queue(b);
	struct tkw__queue_log log = { NULL, 0, 0, 0 };
	uint64_t id = bed_put(b, b->now);
	size_t used;

	bed_take(b, 10);
	assert_int_equal(tkw__queue_replay(q, b->log.bytes, b->log.len, &used),
			 0);
	assert_int_equal(tkw__queue_dump_item(b->q, id, &log), 0);
	assert_int_equal(tkw__queue_replay(q, log.bytes, log.len, &used), 0);
	assert_int_equal(used, log.len);
	assert_true(tkw__queue_digest(q) == tkw__queue_digest(b->q));
	assert_int_equal(tkw__queue_dump_item(b->q, 1, &log), -ENOENT);
	tkw__queue_log_fini(b->q, &log);
	tkw__queue_destroy(q);
}

/* The length of the record at some bytes. */
static size_t record_len(const uint8_t *at)
{
	return (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16;
}

/* A journal has a row for each record, also inside a command. */
static void test_queue_replay_one_by_one_makes_an_equal_queue(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue *q = other_queue(b);
	size_t at = 0;

	make_records(b);
	while (at < b->log.len) {
		const uint8_t *r = b->log.bytes + at;
		size_t len = record_len(r);

		assert_int_equal(tkw__queue_replay_one(q, r, len - 1, false),
				 -EBADMSG);
		assert_int_equal(tkw__queue_replay_one(q, r, len, false), 0);
		at += len;
	}
	assert_null(tkw__queue_check(q));
	assert_true(tkw__queue_digest(q) == tkw__queue_digest(b->q));
	tkw__queue_destroy(q);
}

/* Without the put, the other records of an item are about nothing. */
static void test_queue_replay_one_skips_unknown_items(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue *q = other_queue(b);
	uint64_t digest = tkw__queue_digest(q);
	uint64_t id = bed_put(b, b->now);
	size_t at = b->log.len;

	bed_ack(b, id, bed_take(b, 10).token);
	assert_true(at < b->log.len);
	while (at < b->log.len) {
		const uint8_t *r = b->log.bytes + at;
		size_t len = record_len(r);

		assert_int_equal(tkw__queue_replay_one(q, r, len, false),
				 -EBADMSG);
		assert_int_equal(tkw__queue_replay_one(q, r, len, true), 1);
		at += len;
	}
	assert_true(tkw__queue_digest(q) == digest);
	tkw__queue_destroy(q);
}

/* Loads records, which are a part of a log. */
static int load(struct tkw__queue *q, const struct tkw__queue_log *log,
		size_t from)
{
	size_t used = 0;
	int err = tkw__queue_load(q, log->bytes + from, log->len - from, &used);

	return err ? err : (int)(used != log->len - from);
}

/* A journal that has lost its older records: some of what is left is about
 * items that are not there, and all that is alive follows as ITEM records,
 * among others. */
static void test_queue_journal_without_its_beginning(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue *q = other_queue(b);
	struct tkw__queue_put p = { .payload = { "pay", 3 },
				    .key = { "key", 3 },
				    .held = TKW__QUEUE_REPLACE };
	uint64_t ended = bed_put(b, b->now);
	uint64_t taken = bed_put(b, b->now);
	int64_t replaced = bed_put_with(b, &p);
	size_t cut = b->log.len;

	bed_ack(b, ended, bed_take(b, 10).token);
	assert_int_equal(bed_take(b, 10).id, taken);
	assert_int_equal(bed_put_with(b, &p), replaced);
	assert_int_equal(tkw__queue_dump_item(b->q, taken, &b->log), 0);
	bed_put(b, b->now + 5);
	assert_int_equal(
		tkw__queue_dump_item(b->q, (uint64_t)replaced, &b->log), 0);
	bed_ack(b, taken, bed_get(b, taken).token);
	assert_int_equal(load(q, &b->log, cut), 0);
	assert_false(tkw__queue_is_whole(q));
	tkw__queue_destroy(q);

	q = other_queue(b);
	assert_int_equal(tkw__queue_dump_totals(b->q, &b->log), 0);
	bed_cancel(b, (uint64_t)replaced);
	assert_int_equal(load(q, &b->log, cut), 0);
	assert_true(tkw__queue_is_whole(q));
	assert_null(tkw__queue_check(q));
	assert_true(tkw__queue_digest(q) == tkw__queue_digest(b->q));
	tkw__queue_destroy(q);
}

/* Totals that do not fit the items are refused, and so is an item that is not
 * what the queue knows. */
static void test_queue_snapshot_that_does_not_fit_is_refused(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue *q = other_queue(b);
	struct tkw__queue *again = other_queue(b);
	struct tkw__queue_log log = { NULL, 0, 0, 0 };
	uint64_t id = bed_put(b, b->now);
	size_t used;

	assert_int_equal(tkw__queue_dump_totals(b->q, &log), 0);
	assert_int_equal(load(q, &log, 0), -EBADMSG);
	assert_int_equal(load(again, &b->log, 0), 0);
	assert_int_equal(tkw__queue_replay(again, log.bytes, log.len, &used),
			 -EBADMSG);
	tkw__queue_destroy(again);
	again = other_queue(b);
	assert_int_equal(
		tkw__queue_replay(again, b->log.bytes, b->log.len, &used), 0);
	assert_int_equal(tkw__queue_replay(again, log.bytes, log.len, &used),
			 0);
	bed_take(b, 10);
	tkw__queue_log_clear(&log);
	assert_int_equal(tkw__queue_dump_item(b->q, id, &log), 0);
	assert_int_equal(tkw__queue_replay(again, log.bytes, log.len, &used),
			 -EBADMSG);
	tkw__queue_log_clear(&log);
	assert_int_equal(tkw__queue_dump_totals(b->q, &log), 0);
	assert_int_equal(tkw__queue_replay(again, log.bytes, log.len, &used),
			 -EBADMSG);
	tkw__queue_log_fini(b->q, &log);
	tkw__queue_destroy(again);
	tkw__queue_destroy(q);
}

/* SPEC 11.3: what has ended does not come back if records are told twice. */
static void test_queue_records_told_twice_are_refused(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue *q = other_queue(b);
	uint64_t digest;
	size_t used;

	assert_int_equal(bed_cancel(b, bed_put(b, b->now)), TKW__QUEUE_DONE);
	assert_int_equal(tkw__queue_replay(q, b->log.bytes, b->log.len, &used),
			 0);
	digest = tkw__queue_digest(q);
	assert_int_equal(tkw__queue_replay(q, b->log.bytes, b->log.len, &used),
			 -EBADMSG);
	assert_true(tkw__queue_digest(q) == digest);
	tkw__queue_destroy(q);
}

/* A length that its kind cannot have is damage, and not the end of a log. */
static void test_queue_damaged_length_is_no_end(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue *q = other_queue(b);
	uint64_t id = bed_put(b, b->now);
	struct tkw__queue_taken t = bed_take(b, 10);
	size_t at = b->log.len;
	size_t used;

	assert_int_equal(bed_ack(b, id, t.token), TKW__QUEUE_DONE);
	b->log.bytes[at + 1] = 4;
	assert_int_equal(tkw__queue_replay(q, b->log.bytes, b->log.len, &used),
			 -EBADMSG);
	tkw__queue_destroy(q);
}

/* Items that no take could pass are refused. */
static void test_queue_item_without_attempts_left_is_refused(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_put p = { .max_attempts = 2 };
	struct tkw__queue *q = other_queue(b);
	struct tkw__queue_log log = { NULL, 0, 0, 0 };
	uint64_t id = (uint64_t)bed_put_with(b, &p);
	uint8_t *attempts;

	assert_int_equal(tkw__queue_dump_item(b->q, id, &log), 0);
	attempts = &log.bytes[16 + TKW__ITEM_STATE * 8 + 4];
	*attempts = 2;
	assert_int_equal(load(q, &log, 0), -EBADMSG);
	*attempts = 1;
	assert_int_equal(load(q, &log, 0), 0);
	tkw__queue_log_fini(b->q, &log);
	tkw__queue_destroy(q);
}

/* A batch may have records of several queues. */
static void test_queue_queues_may_share_a_log(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue *q = other_queue(b);
	struct tkw__queue_put p = { .payload = { "pay", 3 } };
	struct tkw__queue_call call = bed_call(b);
	struct tkw__queue_stats s;
	uint64_t bytes = b->bytes;
	uint64_t id;
	int i;

	for (i = 0; i < 100; i++) {
		assert_int_equal(tkw__queue_put(q, &call, &p, 1, &id), 0);
		bed_put(b, b->now);
	}
	tkw__queue_commit(q);
	tkw__queue_destroy(q);
	tkw__queue_get_stats(b->q, b->now * 1000, &s);
	assert_int_equal(s.allocated + b->log.room, b->bytes);
	assert_true(b->bytes > bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST(test_queue_replay_makes_an_equal_queue),
		BED_TEST(test_queue_replay_one_by_one_makes_an_equal_queue),
		BED_TEST(test_queue_replay_one_skips_unknown_items),
		BED_TEST(test_queue_damaged_records_are_refused_whole),
		BED_TEST(test_queue_cut_command_is_not_applied),
		BED_TEST(test_queue_bytes_of_a_record),
		BED_TEST(test_queue_unknown_records_are_refused),
		BED_TEST(test_queue_replica_records_nothing),
		BED_TEST(test_queue_dump_of_an_item_replaces_it),
		BED_TEST(test_queue_journal_without_its_beginning),
		BED_TEST(test_queue_snapshot_that_does_not_fit_is_refused),
		BED_TEST(test_queue_records_told_twice_are_refused),
		BED_TEST(test_queue_damaged_length_is_no_end),
		BED_TEST(test_queue_item_without_attempts_left_is_refused),
		BED_TEST(test_queue_queues_may_share_a_log),
	};

	return cmocka_run_group_tests_name("queue_records", tests, NULL, NULL);
}
