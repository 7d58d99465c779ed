/* SPDX-License-Identifier: MIT */
/*
 * test_queue_plan_rules.c - SPEC 12.4: plans themselves: replaced, ended,
 * paused; in a full queue; many at once. What becomes of their items is in
 * test_queue_planned.c.
 */
#include "queue_bed.h"

#include <stdio.h>

#define SECOND UINT64_C(1000)

enum {
	MANY = 10000,
	/* Steps of a take besides its budget: the item that it meets last. */
	LAST = 64
};

static uint64_t fresh_at(struct queue_bed *b)
{
	uint64_t ms = bed_get_plan(b, "job").next_ms;

	return ms ? ms - BED_START : 0;
}

static struct tkw__queue_taken take(struct queue_bed *b)
{
	return bed_take(b, 10000000);
}

typedef int change_fn(struct tkw__queue *q, struct tkw__queue_call *call,
		      struct tkw__queue_text name,
		      enum tkw__queue_answer *answer);

static int change(struct queue_bed *b, change_fn *fn)
{
	struct tkw__queue_call call = bed_call(b);
	enum tkw__queue_answer answer;

	assert_int_equal(fn(b->q, &call, bed_text("job"), &answer), 0);
	bed_check(b);
	return (int)answer;
}

static int revive(struct queue_bed *b, uint64_t id)
{
	struct tkw__queue_call call = bed_call(b);
	enum tkw__queue_answer answer;

	assert_int_equal(tkw__queue_revive(b->q, &call, &id, 1, &answer), 0);
	bed_check(b);
	return (int)answer;
}

/* --- made, replaced, ended ------------------------------------------------ */

static void test_plan_is_checked(void **state)
{
	struct queue_bed *b = *state;
	static const char text[300] = "x";
	struct tkw__queue_plan good = bed_plan("job", "1000");
	struct tkw__queue_plan p = good;

	p.name.len = 0;
	assert_int_equal(bed_make_plan(b, &p), -EINVAL);
	p.name = (struct tkw__queue_text){ text, TKW__QUEUE_MAX_PLAN_NAME + 1 };
	assert_int_equal(bed_make_plan(b, &p), -EINVAL);
	p = good;
	p.plan = (struct tkw__queue_text){ text, TKW__QUEUE_MAX_PLAN_TEXT + 1 };
	assert_int_equal(bed_make_plan(b, &p), -EINVAL);
	p = good;
	p.zone = (struct tkw__queue_text){ text, TKW__QUEUE_MAX_ZONE + 1 };
	assert_int_equal(bed_make_plan(b, &p), -EINVAL);
	p = good;
	p.max_missed = 1;
	assert_int_equal(bed_make_plan(b, &p), -EINVAL);
	p.misfire = TKW__QUEUE_MISSED_ALL;
	p.max_missed = TKW__QUEUE_MAX_MISSED + 1;
	assert_int_equal(bed_make_plan(b, &p), -EINVAL);
	p = good;
	p.grace_ms = TKW__QUEUE_MAX_MS + 1;
	assert_int_equal(bed_make_plan(b, &p), -EINVAL);
	p = good;
	p.plan = bed_text("nonsense");
	assert_int_equal(bed_make_plan(b, &p), -EINVAL);
	assert_int_equal(tkw__queue_count_plans(b->q), 0);
	assert_int_equal(b->log.len, 0);
}

static void test_plan_that_ends_leaves_running_items_alone(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__queue_taken old, t;

	bed_make_plan(b, &p);
	b->now += SECOND;
	old = take(b);
	assert_int_equal(change(b, tkw__queue_unplan), TKW__QUEUE_DONE);
	assert_int_equal(change(b, tkw__queue_unplan), TKW__QUEUE_UNKNOWN);
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_WAITING), 0);
	/* The key is still held, so this time is passed over. */
	b->now = BED_START;
	assert_int_equal(bed_make_plan(b, &p), BED_START + 2 * SECOND);
	assert_int_equal(bed_get_plan(b, "job").running, 0);
	assert_int_equal(bed_get_plan(b, "job").decided_ms, 0);
	b->now += 2 * SECOND;
	t = take(b);
	assert_int_equal(t.planned_ms, BED_START + 2 * SECOND);
	assert_int_equal(bed_ack(b, old.id, old.token), TKW__QUEUE_DONE);
	assert_int_equal(bed_get_plan(b, "job").running, 1);
	assert_int_equal(bed_ack(b, t.id, t.token), TKW__QUEUE_DONE);
}

/* Another payload for the same times: a time that is due now is not lost. */
static void test_plan_replaced_gives_a_passed_time_again(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__queue_taken t;

	bed_make_plan(b, &p);
	b->now += SECOND + 50;
	p.payload = bed_text("other");
	assert_int_equal(bed_make_plan(b, &p), BED_START + SECOND);
	t = take(b);
	assert_memory_equal(t.payload.at, "other", 5);
	/* But a time that was taken does not come again. */
	p.payload = bed_text("third");
	assert_int_equal(bed_make_plan(b, &p), BED_START + 2 * SECOND);
	/* The times of another plan begin now. */
	b->now += SECOND;
	p.plan = bed_text("500");
	assert_int_equal(bed_make_plan(b, &p), BED_START + 2 * SECOND + 500);
}

/* An equal plan changes nothing, and says when its item comes: even if there
 * is an earlier time since the clock stepped back. */
static void test_plan_equal_says_when_its_item_comes(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__queue_taken t;
	size_t len;

	p.next_on_end = true;
	p.max_attempts = 1;
	bed_make_plan(b, &p);
	b->now += SECOND;
	t = take(b);
	b->now += 4 * SECOND;
	bed_nack(b, t.id, t.token, NULL);
	assert_int_equal(fresh_at(b), 6 * SECOND);
	revive(b, t.id);
	b->now -= 3 * SECOND;
	len = b->log.len;
	assert_int_equal(bed_make_plan(b, &p), BED_START + 6 * SECOND);
	assert_int_equal(b->log.len, len);
}

/* A plan waits for an item that is running. Times of the new plan that passed
 * before it was made do not come when that item ends. */
static void test_plan_new_times_begin_when_it_is_replaced(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__queue_taken t;

	p.next_on_end = true;
	p.allow_overlap = true;
	p.grace_ms = 3600000;
	bed_make_plan(b, &p);
	b->now += SECOND;
	t = take(b);
	b->now += 10 * SECOND;
	p.plan = bed_text("300");
	assert_int_equal(bed_make_plan(b, &p), 0);
	assert_int_equal(bed_get_plan(b, "job").decided_ms, b->now);
	b->now += 2 * SECOND;
	bed_ack(b, t.id, t.token);
	assert_int_equal(fresh_at(b), 11 * SECOND + 200);
	/* Those of an old plan do, because it has not changed. */
	t = take(b);
	b->now += SECOND;
	p.payload = bed_text("other");
	assert_int_equal(bed_make_plan(b, &p), 0);
	bed_ack(b, t.id, t.token);
	assert_int_equal(fresh_at(b), 11 * SECOND + 500);
}

/* Missed times that come in turn go on, although the payload changes. */
static void test_plan_replaced_keeps_the_turn(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__queue_taken t;

	p.misfire = TKW__QUEUE_MISSED_ALL;
	p.max_missed = 3;
	bed_make_plan(b, &p);
	b->now += 5 * SECOND + 500;
	t = take(b);
	assert_int_equal(t.planned_ms, BED_START + 3 * SECOND);
	p.payload = bed_text("other");
	assert_int_equal(bed_make_plan(b, &p), 0);
	bed_ack(b, t.id, t.token);
	t = take(b);
	assert_int_equal(t.planned_ms, BED_START + 4 * SECOND);
	assert_memory_equal(t.payload.at, "other", 5);
	/* Another rule ends it. */
	p.misfire = TKW__QUEUE_MISSED_ONCE;
	p.max_missed = 0;
	assert_int_equal(bed_make_plan(b, &p), BED_START + 6 * SECOND);
	bed_ack(b, t.id, t.token);
	assert_int_equal(take(b).id, 0);
}

static void test_plan_resumed_leaves_out_what_has_passed(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__queue_taken t;

	p.next_on_end = true;
	p.allow_overlap = true;
	p.grace_ms = 3600000;
	bed_make_plan(b, &p);
	b->now += SECOND;
	t = take(b);
	assert_int_equal(change(b, tkw__queue_pause_plan), TKW__QUEUE_DONE);
	b->now += 10 * SECOND + 5;
	assert_int_equal(change(b, tkw__queue_resume_plan), TKW__QUEUE_DONE);
	assert_int_equal(fresh_at(b), 0);
	bed_ack(b, t.id, t.token);
	assert_int_equal(fresh_at(b), 12 * SECOND);
}

static void test_plan_paused_stays_paused(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__queue_taken t;

	p.max_attempts = 1;
	bed_make_plan(b, &p);
	b->now += SECOND;
	t = take(b);
	assert_int_equal(change(b, tkw__queue_pause_plan), TKW__QUEUE_DONE);
	assert_int_equal(bed_count(b, TKW__QUEUE_IS_WAITING), 0);
	bed_nack(b, t.id, t.token, NULL);
	assert_int_equal(fresh_at(b), 0);
	revive(b, t.id);
	t = take(b);
	bed_ack(b, t.id, t.token);
	p.plan = bed_text("700");
	assert_int_equal(bed_make_plan(b, &p), 0);
	assert_true(bed_get_plan(b, "job").paused);
	assert_int_equal(change(b, tkw__queue_resume_plan), TKW__QUEUE_DONE);
	assert_true(fresh_at(b) > SECOND);
	/* A resume of a plan that goes on does nothing. */
	assert_int_equal(change(b, tkw__queue_resume_plan), TKW__QUEUE_DONE);
	assert_int_equal(bed_get_plan(b, "job").runs, 1);
}

/* The rules of a zone have changed, and the plan has other times now. */
static void test_plan_equal_finds_changed_rules_and_repairs(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	uint64_t anew;

	bed_make_plan(b, &p);
	b->now += SECOND;
	b->calendar.error = -ENXIO;
	take(b);
	assert_int_equal(bed_get_plan(b, "job").error, -ENXIO);
	assert_int_equal(bed_make_plan(b, &p), -ENXIO);
	b->calendar.error = 0;
	anew = b->calendar.anew;
	assert_int_equal(bed_make_plan(b, &p), BED_START + 2 * SECOND);
	assert_int_equal(b->calendar.anew, anew + 1);
	assert_int_equal(bed_get_plan(b, "job").error, 0);
}

/* --- limits --------------------------------------------------------------- */

static void limit(struct queue_bed *b, uint64_t items, uint64_t bytes)
{
	struct tkw__queue_call call = bed_call(b);
	struct tkw__queue_limits l = { .items = items, .bytes = bytes };

	assert_int_equal(tkw__queue_limit(b->q, &call, &l), 0);
}

/* A full queue refuses new plans. It never stops one that is there. */
static void test_plan_in_a_full_queue_goes_on(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");

	limit(b, 1, 0);
	p.allow_overlap = true;
	bed_make_plan(b, &p);
	b->now += SECOND;
	assert_int_equal(take(b).planned_ms, BED_START + SECOND);
	b->now += SECOND;
	assert_int_equal(take(b).planned_ms, BED_START + 2 * SECOND);
	assert_int_equal(fresh_at(b), 3 * SECOND);
	p.payload = bed_text("other");
	assert_int_equal(bed_make_plan(b, &p), BED_START + 3 * SECOND);
	assert_int_equal(change(b, tkw__queue_pause_plan), TKW__QUEUE_DONE);
	assert_int_equal(change(b, tkw__queue_resume_plan), TKW__QUEUE_DONE);
	assert_int_equal(fresh_at(b), 3 * SECOND);
	p.name = bed_text("other");
	assert_int_equal(bed_make_plan(b, &p), -EAGAIN);
}

/* A put that replaces an item finds what the end of its lease has put, whether
 * or not a record says so yet. */
static void test_plan_replacement_counts_what_a_lost_lease_puts(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__queue_put put = { .held = TKW__QUEUE_REPLACE,
				      .payload = p.payload };
	struct tkw__queue_taken t;
	uint64_t items, bytes;
	size_t len;

	p.next_on_end = true;
	p.max_attempts = 1;
	bed_make_plan(b, &p);
	b->now += SECOND;
	t = bed_take(b, 1500);
	tkw__queue_get_size(b->q, &items, &bytes);
	limit(b, 0, bytes);
	put.key = t.key;
	assert_int_equal(bed_put_with(b, &put), -EBUSY);
	b->now += 2 * SECOND;
	len = b->log.len;
	assert_int_equal(bed_put_with(b, &put), -EAGAIN);
	assert_int_equal(b->log.len, len);
	assert_int_equal(fresh_at(b), 0);
	bed_quiet(b);
	assert_int_equal(fresh_at(b), 3 * SECOND);
	assert_int_equal(bed_put_with(b, &put), -EAGAIN);
	limit(b, 0, bytes + t.key.len + t.payload.len);
	assert_int_equal(bed_put_with(b, &put), t.id);
}

/* The limit was set later. What adds no bytes is not refused. */
static void test_plan_replaced_beyond_the_limit_of_bytes(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");

	bed_make_plan(b, &p);
	limit(b, 0, 1);
	p.grace_ms = 7;
	assert_int_equal(bed_make_plan(b, &p), BED_START + SECOND);
	p.payload = bed_text("less");
	assert_int_equal(bed_make_plan(b, &p), BED_START + SECOND);
	p.payload = bed_text("more!");
	assert_int_equal(bed_make_plan(b, &p), -EAGAIN);
	p.payload = bed_text("");
	p.name = bed_text("other");
	assert_int_equal(bed_make_plan(b, &p), -EAGAIN);
}

static void test_plan_limit_is_65536(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__queue_call call = { b->now * 1000, NULL, false };
	char name[16];
	int i;

	for (i = 0; i < TKW__QUEUE_MAX_PLANS; i++) {
		snprintf(name, sizeof(name), "%05d", i);
		p.name = bed_text(name);
		assert_int_equal(tkw__queue_plan(b->q, &call, &p, NULL), 0);
		tkw__queue_commit(b->q);
	}
	p.name = bed_text("job");
	assert_int_equal(tkw__queue_plan(b->q, &call, &p, NULL), -EAGAIN);
	p.name = bed_text("00000");
	p.grace_ms = 1;
	assert_int_equal(tkw__queue_plan(b->q, &call, &p, NULL), 0);
	assert_int_equal(tkw__queue_count_plans(b->q), TKW__QUEUE_MAX_PLANS);
}

/* --- bounds --------------------------------------------------------------- */

/* A time each second, missed for ten years. */
static void test_plan_missed_for_ten_years_takes_few_steps(void **state)
{
	struct queue_bed *b = *state;
	static const enum tkw__queue_misfire misfires[] = {
		TKW__QUEUE_MISSED_ONCE, TKW__QUEUE_MISSED_ALL,
		TKW__QUEUE_MISSED_SKIP
	};
	uint64_t end = BED_START + UINT64_C(315360000) * SECOND;

	for (int i = 0; i < 3; i++) {
		struct tkw__queue_plan p = bed_plan("job", "1000");
		struct tkw__queue_taken t;
		uint64_t steps;

		p.misfire = misfires[i];
		if (p.misfire == TKW__QUEUE_MISSED_ALL)
			p.max_missed = TKW__QUEUE_MAX_MISSED;
		b->now = BED_START;
		bed_make_plan(b, &p);
		b->now = end + 500;
		steps = tkw__queue_count_steps(b->q);
		t = take(b);
		steps = tkw__queue_count_steps(b->q) - steps;
		assert_true(steps < TKW__QUEUE_TAKE_STEPS + LAST);
		if (p.misfire == TKW__QUEUE_MISSED_ONCE)
			assert_int_equal(t.planned_ms, end);
		else if (p.misfire == TKW__QUEUE_MISSED_ALL)
			assert_int_equal(t.planned_ms, end - 99 * SECOND);
		else
			assert_int_equal(t.id, 0);
		assert_false(b->behind);
		if (t.id)
			bed_ack(b, t.id, t.token);
		change(b, tkw__queue_unplan);
		tkw__queue_commit(b->q);
	}
}

/* A cancel of a fresh item records leases that have run out, but not all of
 * them. */
static void test_plan_cancel_records_few_lost_leases(void **state)
{
	static struct tkw__queue_put puts[TKW__QUEUE_MAX_TAKE];
	static struct tkw__queue_taken out[TKW__QUEUE_MAX_TAKE];
	static uint64_t ids[TKW__QUEUE_MAX_TAKE];
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__queue_name name = { .id = 0 };
	struct tkw__queue_call call;
	enum tkw__queue_answer answer;
	uint64_t steps;

	bed_make_plan(b, &p);
	b->now += SECOND;
	call = (struct tkw__queue_call){ b->now * 1000, NULL, false };
	assert_int_equal(
		tkw__queue_put(b->q, &call, puts, TKW__QUEUE_MAX_TAKE, ids), 0);
	assert_int_equal(
		tkw__queue_take(b->q, &call, TKW__QUEUE_MAX_TAKE, 100, out),
		TKW__QUEUE_MAX_TAKE);
	assert_int_equal(bed_get_plan(b, "job").running, 1);
	tkw__queue_commit(b->q);
	b->now += 3 * SECOND;
	name.id = bed_get_plan(b, "job").fresh_id;
	call.now_us = b->now * 1000;
	steps = tkw__queue_count_steps(b->q);
	assert_int_equal(tkw__queue_cancel(b->q, &call, &name, 1, &answer), 0);
	steps = tkw__queue_count_steps(b->q) - steps;
	assert_true(steps < (uint64_t)TKW__QUEUE_TAKE_STEPS * LAST);
	assert_int_equal(answer, TKW__QUEUE_DONE);
	assert_true(call.behind);
	bed_check(b);
}

static void make_many(struct queue_bed *b, struct tkw__queue_plan *p)
{
	struct tkw__queue_call call = { b->now * 1000, NULL, false };
	char name[16];

	for (int i = 0; i < MANY; i++) {
		/* Not in the order of their names. */
		snprintf(name, sizeof(name), "n%d", i * 7919 % MANY);
		p->name = bed_text(name);
		assert_int_equal(tkw__queue_plan(b->q, &call, p, NULL), 0);
		tkw__queue_commit(b->q);
	}
}

/* Takes until nothing is left to do. Each call makes a bounded number of steps.
 * Returns how many items were given out. */
static uint32_t take_all(struct queue_bed *b, uint64_t planned_ms)
{
	struct tkw__queue_taken out[16];
	uint64_t last = 0;
	uint32_t n = 0;
	uint32_t calls = 0;
	int got;
	struct tkw__queue_call call;

	do {
		uint64_t steps = tkw__queue_count_steps(b->q);

		call = (struct tkw__queue_call){ b->now * 1000, NULL, false };
		got = tkw__queue_take(b->q, &call, 16, 60000, out);
		steps = tkw__queue_count_steps(b->q) - steps;
		/* Each item that is given out puts the next one. */
		assert_true(steps <
			    TKW__QUEUE_TAKE_STEPS + 16 * 4 + 17 * 4 * LAST);
		tkw__queue_commit(b->q);
		for (int i = 0; i < got; i++) {
			assert_int_equal(out[i].planned_ms, planned_ms);
			assert_true(out[i].id > last);
			last = out[i].id;
		}
		n += (uint32_t)got;
		assert_true(++calls < MANY);
	} while (got > 0 || call.behind);
	return n;
}

static void expect_all(struct queue_bed *b, uint64_t next_ms, uint64_t missed)
{
	char name[16];

	assert_int_equal(tkw__queue_count_plans(b->q), MANY);
	for (int i = 0; i < MANY; i++) {
		struct tkw__queue_plan_facts f;

		snprintf(name, sizeof(name), "n%d", i);
		f = bed_get_plan(b, name);
		assert_int_equal(f.next_ms, next_ms);
		assert_int_equal(f.missed, missed);
	}
}

static void test_plan_many_are_due_at_once(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");

	make_many(b, &p);
	b->now += SECOND;
	assert_int_equal(take_all(b, b->now), MANY);
	expect_all(b, b->now + SECOND, 0);
}

static void test_plan_many_are_missed_at_once(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");

	p.misfire = TKW__QUEUE_MISSED_SKIP;
	make_many(b, &p);
	b->now += 3600 * SECOND + 500;
	assert_int_equal(take_all(b, 0), 0);
	expect_all(b, b->now + 500, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST(test_plan_is_checked),
		BED_TEST(test_plan_that_ends_leaves_running_items_alone),
		BED_TEST(test_plan_replaced_gives_a_passed_time_again),
		BED_TEST(test_plan_equal_says_when_its_item_comes),
		BED_TEST(test_plan_new_times_begin_when_it_is_replaced),
		BED_TEST(test_plan_replaced_keeps_the_turn),
		BED_TEST(test_plan_resumed_leaves_out_what_has_passed),
		BED_TEST(test_plan_paused_stays_paused),
		BED_TEST(test_plan_equal_finds_changed_rules_and_repairs),
		BED_TEST(test_plan_in_a_full_queue_goes_on),
		BED_TEST(test_plan_replacement_counts_what_a_lost_lease_puts),
		BED_TEST(test_plan_replaced_beyond_the_limit_of_bytes),
		BED_TEST(test_plan_limit_is_65536),
		BED_TEST(test_plan_missed_for_ten_years_takes_few_steps),
		BED_TEST(test_plan_cancel_records_few_lost_leases),
		BED_TEST(test_plan_many_are_due_at_once),
		BED_TEST(test_plan_many_are_missed_at_once),
	};

	return cmocka_run_group_tests_name("queue_plan_rules", tests, NULL,
					   NULL);
}
