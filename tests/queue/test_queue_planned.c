/* SPDX-License-Identifier: MIT */
/* test_queue_planned.c - SPEC 12.4: the items of a plan, from one to the next.
 */
#include "queue_bed.h"

#include <stdio.h>

#define SECOND UINT64_C(1000)

/* The planned time of the fresh item, from the start of the test; 0: none. */
static uint64_t fresh_at(struct queue_bed *b)
{
	uint64_t ms = bed_get_plan(b, "job").next_ms;

	return ms ? ms - BED_START : 0;
}

/* Takes an item, and returns when it was planned, from the start of the test.
 */
static uint64_t take_at(struct queue_bed *b, struct tkw__queue_taken *out)
{
	struct tkw__queue_taken t = bed_take(b, 10000000);

	if (out)
		*out = t;
	return t.id ? t.planned_ms - BED_START : 0;
}

static void make(struct queue_bed *b, const struct tkw__queue_plan *p)
{
	assert_true(bed_make_plan(b, p) > 0);
}

static void make_simple(struct queue_bed *b)
{
	struct tkw__queue_plan p = bed_plan("job", "1000");

	make(b, &p);
}

static int cancel_fresh(struct queue_bed *b)
{
	return bed_cancel(b, bed_get_plan(b, "job").fresh_id);
}

static void test_planned_item_waits_for_its_time(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__queue_plan_facts f;
	struct tkw__queue_facts item;

	p.max_attempts = 3;
	p.backoff_ms = 7;
	p.max_backoff_ms = 9;
	assert_int_equal(bed_make_plan(b, &p), BED_START + SECOND);
	f = bed_get_plan(b, "job");
	item = bed_get(b, f.fresh_id);
	assert_int_equal(item.planned_ms, BED_START + SECOND);
	assert_int_equal(item.due_ms, BED_START + SECOND);
	assert_int_equal(item.key.len, 17);
	assert_memory_equal(item.key.at, "job@1700000001000", 17);
	assert_memory_equal(item.payload.at, "hello", 5);
	assert_int_equal(item.max_attempts, 3);
	assert_int_equal(item.backoff_ms, 7);
	assert_int_equal(item.max_backoff_ms, 9);
	b->now = BED_START + SECOND - 1;
	assert_int_equal(bed_take(b, 10).id, 0);
}

/* The records of the take and of the next item are one command. */
static void test_planned_take_puts_the_next_one(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue *q;
	struct tkw__queue_taken t;
	size_t before, used, cut;

	make_simple(b);
	before = b->log.len;
	b->now += SECOND;
	assert_int_equal(take_at(b, &t), SECOND);
	assert_int_equal(fresh_at(b), 2 * SECOND);
	assert_int_equal(bed_get_plan(b, "job").decided_ms, BED_START + SECOND);
	assert_int_equal(bed_get_plan(b, "job").runs, 1);
	assert_int_equal(bed_get_plan(b, "job").running, 1);
	assert_int_equal(tkw__queue_create(&q, &b->cfg), 0);
	for (cut = before; cut < b->log.len; cut++) {
		assert_int_equal(tkw__queue_replay(q, b->log.bytes, cut, &used),
				 0);
		assert_int_equal(used, before);
		tkw__queue_undo(q);
	}
	tkw__queue_destroy(q);
	assert_int_equal(bed_ack(b, t.id, t.token), TKW__QUEUE_DONE);
	assert_int_equal(bed_get_plan(b, "job").running, 0);
	assert_int_equal(fresh_at(b), 2 * SECOND);
}

static void test_planned_cancel_puts_the_next_one(void **state)
{
	struct queue_bed *b = *state;

	make_simple(b);
	assert_int_equal(cancel_fresh(b), TKW__QUEUE_DONE);
	assert_int_equal(fresh_at(b), 2 * SECOND);
	assert_int_equal(bed_get_plan(b, "job").decided_ms, BED_START + SECOND);
	assert_int_equal(bed_get_plan(b, "job").runs, 0);
	b->now += SECOND;
	assert_int_equal(bed_take(b, 10).id, 0);
}

/* An item that was cancelled, and not run, leaves those behind it alone. */
static void test_planned_cancel_keeps_the_missed_ones_behind_it(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");

	p.misfire = TKW__QUEUE_MISSED_ALL;
	p.max_missed = 10;
	make(b, &p);
	b->now += 3 * SECOND + 500;
	assert_int_equal(cancel_fresh(b), TKW__QUEUE_DONE);
	assert_int_equal(take_at(b, NULL), 2 * SECOND);
	/* But not while another one is running. */
	assert_int_equal(fresh_at(b), 0);
}

/* Leases that have run out are over, whether or not a record says so yet. */
static void test_planned_cancel_knows_which_leases_have_run_out(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	uint64_t id;

	p.max_attempts = 1;
	make(b, &p);
	b->now += SECOND;
	assert_true(bed_take(b, 300).id != 0);
	b->now = BED_START + 5 * SECOND + 500;
	assert_int_equal(cancel_fresh(b), TKW__QUEUE_DONE);
	assert_int_equal(fresh_at(b), 3 * SECOND);

	/* The lease ends at 6,500, so the time before it was left out. */
	assert_true(bed_take(b, 1000).id != 0);
	id = bed_get_plan(b, "job").fresh_id;
	assert_int_equal(fresh_at(b), 6 * SECOND);
	b->now += 3 * SECOND;
	assert_int_equal(bed_cancel(b, id), TKW__QUEUE_UNKNOWN);
	assert_int_equal(bed_get_plan(b, "job").overlaps, 1);
	assert_int_equal(fresh_at(b), 7 * SECOND);
}

static void test_planned_next_on_end_waits_for_the_end(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__queue_taken t;

	p.next_on_end = true;
	p.max_attempts = 2;
	make(b, &p);
	b->now += SECOND;
	assert_int_equal(take_at(b, &t), SECOND);
	assert_int_equal(fresh_at(b), 0);
	/* A nack ends nothing. */
	assert_int_equal(bed_nack(b, t.id, t.token, NULL), TKW__QUEUE_DONE);
	assert_int_equal(fresh_at(b), 0);
	b->now += 5 * SECOND + 1;
	assert_int_equal(take_at(b, &t), SECOND);
	assert_int_equal(t.attempt, 2);
	assert_int_equal(bed_ack(b, t.id, t.token), TKW__QUEUE_DONE);
	assert_int_equal(fresh_at(b), 7 * SECOND);

	/* It dies. */
	b->now = BED_START + 7 * SECOND;
	assert_int_equal(take_at(b, &t), 7 * SECOND);
	bed_nack(b, t.id, t.token, NULL);
	assert_int_equal(take_at(b, &t), 7 * SECOND);
	bed_nack(b, t.id, t.token, NULL);
	assert_int_equal(bed_get(b, t.id).state, TKW__QUEUE_IS_DEAD);
	assert_int_equal(fresh_at(b), 8 * SECOND);
	/* What is dead was not running. */
	assert_int_equal(bed_cancel(b, t.id), TKW__QUEUE_DONE);
	assert_int_equal(fresh_at(b), 8 * SECOND);

	/* It is cancelled between two attempts. */
	b->now = BED_START + 8 * SECOND;
	assert_int_equal(take_at(b, &t), 8 * SECOND);
	bed_nack(b, t.id, t.token, NULL);
	assert_int_equal(bed_cancel(b, t.id), TKW__QUEUE_DONE);
	assert_int_equal(fresh_at(b), 9 * SECOND);
}

static void test_planned_next_on_end_goes_on_when_a_lease_is_lost(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");

	p.next_on_end = true;
	p.max_attempts = 1;
	make(b, &p);
	b->now += SECOND;
	assert_true(bed_take(b, 1500).id != 0);
	b->now += 10 * SECOND;
	bed_quiet(b);
	/* The item was running until its lease ended, at 2,500. */
	assert_int_equal(fresh_at(b), 3 * SECOND);
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_DEAD), 1);
}

/* With overlap, the times that came meanwhile are not left out. */
static void
test_planned_next_on_end_with_overlap_leaves_nothing_out(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__queue_taken t;

	p.next_on_end = true;
	p.allow_overlap = true;
	p.grace_ms = 60000;
	make(b, &p);
	b->now += 3 * SECOND + 1;
	assert_int_equal(take_at(b, &t), SECOND);
	assert_int_equal(bed_ack(b, t.id, t.token), TKW__QUEUE_DONE);
	assert_int_equal(take_at(b, &t), 2 * SECOND);
}

static void test_planned_time_is_never_changed(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_call call;
	struct tkw__queue_name name = { .key = bed_text("job@1700000001000") };
	struct tkw__queue_put put = { .payload = { "other", 5 },
				      .key = name.key,
				      .held = TKW__QUEUE_REPLACE };
	enum tkw__queue_answer answer;
	struct tkw__queue_taken t;

	make_simple(b);
	call = bed_call(b);
	assert_int_equal(
		tkw__queue_reschedule(b->q, &call, &name,
				      (struct tkw__queue_when){ false, 10 },
				      &answer),
		0);
	assert_int_equal(answer, TKW__QUEUE_DONE);
	assert_int_equal(fresh_at(b), SECOND);
	put.when.ms = 20;
	assert_true(bed_put_with(b, &put) > 0);
	assert_int_equal(fresh_at(b), SECOND);
	b->now += 20;
	assert_int_equal(take_at(b, &t), SECOND);
	assert_memory_equal(t.payload.at, "other", 5);
	/* The next one is after it, and has the payload of the plan. */
	assert_int_equal(fresh_at(b), 2 * SECOND);
	assert_memory_equal(
		bed_get(b, bed_get_plan(b, "job").fresh_id).payload.at, "hello",
		5);
	bed_nack(b, t.id, t.token,
		 &(struct tkw__queue_nack){ true, 5, { NULL, 0 } });
	assert_int_equal(bed_get(b, t.id).planned_ms, BED_START + SECOND);
	assert_true(bed_put_with(b, &put) > 0);
	assert_int_equal(bed_get(b, t.id).planned_ms, BED_START + SECOND);
	b->now += 20;
	assert_int_equal(take_at(b, &t), SECOND);
	assert_int_equal(bed_get_plan(b, "job").runs, 1);
	b->now += 20000000;
	bed_quiet(b);
	assert_int_equal(bed_get(b, t.id).planned_ms, BED_START + SECOND);
}

static void test_planned_items_are_missed_after_their_grace(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");

	p.misfire = TKW__QUEUE_MISSED_SKIP;
	make(b, &p);
	b->now += SECOND + 100;
	assert_int_equal(take_at(b, NULL), SECOND);

	p.name = bed_text("other");
	p.allow_overlap = true;
	assert_int_equal(bed_make_plan(b, &p), BED_START + 2 * SECOND);
	b->now += SECOND + 1;
	assert_int_equal(bed_take(b, 10).id, 0);
	assert_int_equal(bed_get_plan(b, "other").missed, 1);
	assert_int_equal(bed_get_plan(b, "other").next_ms,
			 BED_START + 3 * SECOND);
	assert_int_equal(bed_get_plan(b, "other").decided_ms,
			 BED_START + 2 * SECOND);
}

static void test_planned_missed_once_gives_out_the_latest(void **state)
{
	struct queue_bed *b = *state;

	make_simple(b);
	b->now += 5 * SECOND + 500;
	assert_int_equal(take_at(b, NULL), 5 * SECOND);
	assert_int_equal(bed_get_plan(b, "job").missed, 1);
	assert_int_equal(bed_get_plan(b, "job").runs, 1);
	assert_int_equal(fresh_at(b), 6 * SECOND);
}

/* A time within the grace is not missed, so it is no choice of misfire. */
static void test_planned_missed_once_and_then_what_is_in_time(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");

	p.allow_overlap = true;
	p.grace_ms = 1500;
	make(b, &p);
	b->now += 5 * SECOND + 100;
	assert_int_equal(take_at(b, NULL), 3 * SECOND);
	assert_int_equal(take_at(b, NULL), 4 * SECOND);
	assert_int_equal(take_at(b, NULL), 5 * SECOND);
	assert_int_equal(take_at(b, NULL), 0);
	assert_int_equal(bed_get_plan(b, "job").missed, 1);
	assert_int_equal(bed_get_plan(b, "job").runs, 3);
}

static void test_planned_missed_all_gives_out_the_latest_few(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__queue_taken t;

	p.misfire = TKW__QUEUE_MISSED_ALL;
	p.max_missed = 3;
	make(b, &p);
	b->now += 9 * SECOND + 500;
	assert_int_equal(take_at(b, &t), 7 * SECOND);
	/* Without overlap, the next one comes when it ends. */
	assert_int_equal(fresh_at(b), 0);
	assert_int_equal(take_at(b, NULL), 0);
	bed_ack(b, t.id, t.token);
	assert_int_equal(take_at(b, &t), 8 * SECOND);
	b->now += 2 * SECOND;
	bed_ack(b, t.id, t.token);
	assert_int_equal(take_at(b, &t), 9 * SECOND);
	bed_ack(b, t.id, t.token);
	assert_int_equal(take_at(b, &t), 10 * SECOND);
	bed_ack(b, t.id, t.token);
	assert_int_equal(take_at(b, &t), 11 * SECOND);
	bed_ack(b, t.id, t.token);
	assert_int_equal(take_at(b, &t), 0);
	assert_int_equal(fresh_at(b), 12 * SECOND);
	assert_int_equal(bed_get_plan(b, "job").missed, 1);
	assert_int_equal(bed_get_plan(b, "job").overlaps, 0);
}

static void
test_planned_missed_all_with_overlap_gives_out_all_at_once(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__queue_taken t[8];
	struct tkw__queue_call call;

	p.misfire = TKW__QUEUE_MISSED_ALL;
	p.max_missed = 3;
	p.allow_overlap = true;
	make(b, &p);
	b->now += 9 * SECOND + 500;
	call = bed_call(b);
	assert_int_equal(tkw__queue_take(b->q, &call, 8, 1000, t), 3);
	assert_int_equal(t[0].planned_ms, BED_START + 7 * SECOND);
	assert_int_equal(t[2].planned_ms, BED_START + 9 * SECOND);
	assert_int_equal(fresh_at(b), 10 * SECOND);
	assert_int_equal(bed_get_plan(b, "job").running, 3);
}

/* A user has chosen the due time of the item, so the grace begins there. */
static void test_planned_grace_begins_at_a_later_due_time(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__queue_call call = bed_call(b);
	struct tkw__queue_name name = { .id = 0 };
	enum tkw__queue_answer answer;

	p.misfire = TKW__QUEUE_MISSED_SKIP;
	make(b, &p);
	name.id = bed_get_plan(b, "job").fresh_id;
	tkw__queue_reschedule(b->q, &call, &name,
			      (struct tkw__queue_when){ false, 5 * SECOND },
			      &answer);
	b->now += 5 * SECOND + 100;
	assert_int_equal(take_at(b, NULL), SECOND);

	/* An earlier due time does not make it missed before its time. */
	name.id = bed_get_plan(b, "job").fresh_id;
	call = bed_call(b);
	tkw__queue_reschedule(b->q, &call, &name,
			      (struct tkw__queue_when){ true, 0 }, &answer);
	assert_int_equal(take_at(b, NULL), 0);
	assert_int_equal(bed_get_plan(b, "job").overlaps, 1);
}

static void test_planned_overlap_is_left_out_by_a_take(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_taken t;

	make_simple(b);
	b->now += SECOND;
	assert_int_equal(take_at(b, &t), SECOND);
	b->now += 2 * SECOND + 10;
	assert_int_equal(take_at(b, NULL), 0);
	assert_false(b->behind);
	assert_int_equal(bed_get_plan(b, "job").overlaps, 1);
	assert_int_equal(fresh_at(b), 4 * SECOND);
	assert_int_equal(bed_get_plan(b, "job").decided_ms,
			 BED_START + 2 * SECOND);
	/* It is running between two attempts, too. */
	bed_nack(b, t.id, t.token,
		 &(struct tkw__queue_nack){ true, 10000, { NULL, 0 } });
	b->now = BED_START + 4 * SECOND;
	assert_int_equal(take_at(b, NULL), 0);
	assert_int_equal(bed_get_plan(b, "job").overlaps, 2);
}

/* So it does not depend on whether anybody asked meanwhile. */
static void test_planned_overlap_is_left_out_by_the_end(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_taken t;

	make_simple(b);
	b->now += SECOND;
	assert_int_equal(take_at(b, &t), SECOND);
	b->now += 2 * SECOND + 10;
	bed_ack(b, t.id, t.token);
	assert_int_equal(bed_get_plan(b, "job").overlaps, 1);
	assert_int_equal(fresh_at(b), 4 * SECOND);
}

/* A lease ended at 2,500, and with it the last attempt. What came after this
 * was not left out, whenever the end is noticed. */
static void test_planned_overlap_ends_with_the_lease(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");

	p.max_attempts = 1;
	p.grace_ms = 600;
	make(b, &p);
	b->now += SECOND;
	assert_true(bed_take(b, 1500).id != 0);
	b->now = BED_START + 3 * SECOND + 500;
	assert_int_equal(take_at(b, NULL), 3 * SECOND);
	assert_int_equal(bed_get_plan(b, "job").overlaps, 1);
	assert_int_equal(bed_get_plan(b, "job").missed, 0);
}

static void test_planned_overlap_is_allowed(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");

	p.allow_overlap = true;
	make(b, &p);
	b->now += SECOND;
	assert_int_equal(take_at(b, NULL), SECOND);
	b->now += SECOND;
	assert_int_equal(take_at(b, NULL), 2 * SECOND);
	assert_int_equal(bed_get_plan(b, "job").running, 2);
	assert_int_equal(bed_get_plan(b, "job").overlaps, 0);
}

static void test_planned_revived_item_is_running(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__queue_call call;
	enum tkw__queue_answer answer;
	struct tkw__queue_taken t;

	p.max_attempts = 1;
	make(b, &p);
	b->now += SECOND;
	take_at(b, &t);
	bed_nack(b, t.id, t.token, NULL);
	assert_int_equal(bed_get_plan(b, "job").running, 0);
	call = bed_call(b);
	tkw__queue_revive(b->q, &call, &t.id, 1, &answer);
	assert_int_equal(answer, TKW__QUEUE_DONE);
	assert_int_equal(bed_get_plan(b, "job").running, 1);
	assert_int_equal(fresh_at(b), 2 * SECOND);
	b->now += SECOND;
	assert_int_equal(take_at(b, &t), SECOND);
	assert_int_equal(bed_get_plan(b, "job").runs, 1);
	assert_int_equal(take_at(b, NULL), 0);
	assert_int_equal(bed_get_plan(b, "job").overlaps, 1);
	bed_nack(b, t.id, t.token, NULL);
	call = bed_call(b);
	tkw__queue_purge(b->q, &call, &t.id, 1, &answer);
	assert_int_equal(answer, TKW__QUEUE_DONE);
	assert_int_equal(fresh_at(b), 3 * SECOND);
}

static void test_planned_held_keys_are_passed_over(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_put put = { .key = bed_text("job@1700000001000"),
				      .when = { false, 1000000 } };
	int64_t mine = bed_put_with(b, &put);

	assert_int_equal(bed_get(b, (uint64_t)mine).planned_ms, 0);
	make_simple(b);
	assert_int_equal(fresh_at(b), 2 * SECOND);
	put.key = bed_text("job@1700000003000");
	bed_put_with(b, &put);
	b->now += 2 * SECOND;
	assert_int_equal(take_at(b, NULL), 2 * SECOND);
	assert_int_equal(fresh_at(b), 4 * SECOND);
	/* A name may look like a key. */
	assert_int_equal(bed_make_plan(b,
				       &(struct tkw__queue_plan){
					       .name = bed_text("job@17"),
					       .plan = bed_text("1000") }),
			 BED_START + 3 * SECOND);
	b->now += 1500;
	assert_true(take_at(b, NULL) == 3 * SECOND);
	assert_int_equal(bed_get_plan(b, "job@17").runs, 1);
	assert_int_equal(bed_get_plan(b, "job").runs, 1);
}

static void hold_keys(struct queue_bed *b, uint64_t first, int count)
{
	char key[32];

	for (int i = 0; i < count; i++) {
		struct tkw__queue_put put = { .when = { false, 100000000 } };

		snprintf(key, sizeof(key), "job@%llu",
			 (unsigned long long)(first + (uint64_t)i * SECOND));
		put.key = bed_text(key);
		assert_true(bed_put_with(b, &put) > 0);
	}
}

static void test_planned_search_for_a_free_key_ends(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");

	hold_keys(b, BED_START + SECOND, TKW__QUEUE_MAX_HELD);
	assert_int_equal(bed_make_plan(b, &p),
			 BED_START + (TKW__QUEUE_MAX_HELD + 1) * SECOND);
	hold_keys(b, BED_START + (TKW__QUEUE_MAX_HELD + 2) * SECOND,
		  TKW__QUEUE_MAX_HELD + 1);
	assert_int_equal(cancel_fresh(b), TKW__QUEUE_DONE);
	assert_int_equal(bed_get_plan(b, "job").error, -EEXIST);
	assert_int_equal(fresh_at(b), 0);
	p.name = bed_text("other");
	assert_true(bed_make_plan(b, &p) > 0);
	p.name = bed_text("job");
	b->now = BED_START + (TKW__QUEUE_MAX_HELD + 1) * SECOND;
	assert_int_equal(bed_make_plan(b, &p), -EEXIST);
	b->now += SECOND;
	assert_int_equal(bed_make_plan(b, &p),
			 BED_START + (2 * TKW__QUEUE_MAX_HELD + 3) * SECOND);
}

/* What is decided stays so, also when the clock steps back. */
static void test_planned_times_come_once_when_the_clock_steps_back(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__queue_call call;
	enum tkw__queue_answer answer;
	struct tkw__queue_taken t;

	make(b, &p);
	b->now += 20 * SECOND;
	assert_int_equal(take_at(b, &t), 19 * SECOND);
	b->now = BED_START;
	bed_ack(b, t.id, t.token);
	assert_int_equal(fresh_at(b), 21 * SECOND);
	p.grace_ms = 1;
	make(b, &p);
	assert_int_equal(fresh_at(b), 20 * SECOND);
	assert_int_equal(bed_get_plan(b, "job").decided_ms,
			 BED_START + 19 * SECOND);
	call = bed_call(b);
	tkw__queue_pause_plan(b->q, &call, p.name, &answer);
	tkw__queue_resume_plan(b->q, &call, p.name, &answer);
	assert_int_equal(fresh_at(b), 20 * SECOND);
	assert_int_equal(cancel_fresh(b), TKW__QUEUE_DONE);
	assert_int_equal(fresh_at(b), 21 * SECOND);
}

static void test_planned_items_wait_in_a_paused_queue(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_call call = bed_call(b);

	make_simple(b);
	assert_int_equal(tkw__queue_pause(b->q, &call), 0);
	b->now += 3 * SECOND + 500;
	assert_int_equal(take_at(b, NULL), 0);
	assert_int_equal(fresh_at(b), SECOND);
	call = bed_call(b);
	assert_int_equal(tkw__queue_resume(b->q, &call), 0);
	assert_int_equal(take_at(b, NULL), 3 * SECOND);
}

static void test_planned_plan_that_ends_says_so(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000/0..1700000002000");

	make(b, &p);
	b->now += SECOND;
	take_at(b, NULL);
	b->now += SECOND;
	assert_int_equal(take_at(b, NULL), 0);
	assert_int_equal(bed_get_plan(b, "job").overlaps, 1);
	assert_int_equal(bed_get_plan(b, "job").error, -ENOENT);
	assert_int_equal(bed_make_plan(b, &p), -ENOENT);
	p.plan = bed_text("1000");
	assert_int_equal(bed_make_plan(b, &p), BED_START + 3 * SECOND);
	assert_int_equal(bed_get_plan(b, "job").error, 0);
}

/* The items that are there are not lost with the calendar. */
static void test_planned_item_is_given_out_without_a_calendar(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_call call;
	enum tkw__queue_answer answer;
	struct tkw__queue_taken t;

	make_simple(b);
	b->now += 5 * SECOND;
	b->calendar.error = -EBADMSG;
	assert_int_equal(take_at(b, &t), SECOND);
	assert_int_equal(bed_get_plan(b, "job").error, -EBADMSG);
	bed_ack(b, t.id, t.token);
	assert_int_equal(fresh_at(b), 0);
	call = bed_call(b);
	assert_int_equal(
		tkw__queue_resume_plan(b->q, &call, bed_text("job"), &answer),
		0);
	assert_int_equal(bed_get_plan(b, "job").error, -EBADMSG);
	b->calendar.error = 0;
	assert_int_equal(
		tkw__queue_resume_plan(b->q, &call, bed_text("job"), &answer),
		0);
	assert_int_equal(answer, TKW__QUEUE_DONE);
	assert_int_equal(bed_get_plan(b, "job").error, 0);
	assert_int_equal(fresh_at(b), 6 * SECOND);
}

/* The calendar has no memory: the command fails, and nothing has changed. */
static void test_planned_take_fails_if_the_calendar_has_no_memory(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_call call;
	struct tkw__queue_taken t;
	uint64_t digest;

	make_simple(b);
	digest = tkw__queue_digest(b->q);
	b->calendar.error = -ENOMEM;
	for (int i = 0; i < 2; i++) {
		b->now += SECOND;
		call = bed_call(b);
		assert_int_equal(tkw__queue_take(b->q, &call, 1, 10, &t),
				 -ENOMEM);
		assert_true(tkw__queue_digest(b->q) == digest);
		bed_check(b);
	}
}

/* Loads the queue anew, as if this had been its last id. */
static void use_up_ids(struct queue_bed *b, uint64_t last)
{
	struct tkw__queue_log dump = { NULL, 0, 0, 0 };
	struct tkw__queue *q;
	uint64_t cursor = 0;
	size_t used;

	assert_int_equal(tkw__queue_dump(b->q, &cursor, 100, &dump), 0);
	memcpy(dump.bytes + dump.last + 16, &last, sizeof(last));
	assert_int_equal(tkw__queue_create(&q, &b->cfg), 0);
	assert_int_equal(tkw__queue_load(q, dump.bytes, dump.len, &used), 0);
	tkw__queue_log_fini(b->q, &dump);
	tkw__queue_log_fini(b->q, &b->log);
	tkw__queue_destroy(b->q);
	b->q = q;
}

/* What ends must end, even if there is no id for the next one. */
static void test_planned_plan_stops_when_no_id_is_left(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_taken t;

	make_simple(b);
	use_up_ids(b, INT64_MAX);
	b->now += SECOND;
	assert_int_equal(take_at(b, &t), SECOND);
	assert_int_equal(bed_get_plan(b, "job").error, -EOVERFLOW);
	assert_int_equal(bed_ack(b, t.id, t.token), TKW__QUEUE_DONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST(test_planned_item_waits_for_its_time),
		BED_TEST(test_planned_take_puts_the_next_one),
		BED_TEST(test_planned_cancel_puts_the_next_one),
		BED_TEST(test_planned_cancel_keeps_the_missed_ones_behind_it),
		BED_TEST(test_planned_cancel_knows_which_leases_have_run_out),
		BED_TEST(test_planned_next_on_end_waits_for_the_end),
		BED_TEST(test_planned_next_on_end_goes_on_when_a_lease_is_lost),
		BED_TEST(
			test_planned_next_on_end_with_overlap_leaves_nothing_out),
		BED_TEST(test_planned_time_is_never_changed),
		BED_TEST(test_planned_items_are_missed_after_their_grace),
		BED_TEST(test_planned_missed_once_gives_out_the_latest),
		BED_TEST(test_planned_missed_once_and_then_what_is_in_time),
		BED_TEST(test_planned_missed_all_gives_out_the_latest_few),
		BED_TEST(
			test_planned_missed_all_with_overlap_gives_out_all_at_once),
		BED_TEST(test_planned_grace_begins_at_a_later_due_time),
		BED_TEST(test_planned_overlap_is_left_out_by_a_take),
		BED_TEST(test_planned_overlap_is_left_out_by_the_end),
		BED_TEST(test_planned_overlap_ends_with_the_lease),
		BED_TEST(test_planned_overlap_is_allowed),
		BED_TEST(test_planned_revived_item_is_running),
		BED_TEST(test_planned_held_keys_are_passed_over),
		BED_TEST(test_planned_search_for_a_free_key_ends),
		BED_TEST(
			test_planned_times_come_once_when_the_clock_steps_back),
		BED_TEST(test_planned_items_wait_in_a_paused_queue),
		BED_TEST(test_planned_plan_that_ends_says_so),
		BED_TEST(test_planned_item_is_given_out_without_a_calendar),
		BED_TEST(test_planned_take_fails_if_the_calendar_has_no_memory),
		BED_TEST(test_planned_plan_stops_when_no_id_is_left),
	};

	return cmocka_run_group_tests_name("queue_planned", tests, NULL, NULL);
}
