/* SPDX-License-Identifier: MIT */
/*
 * test_queue_plans.c - the calls of queue.h about plans: what they do, what
 * they refuse, and that a refused call leaves no trace. test_queue_plan_times.c
 * is about their times, and so is plan.cases.
 */
#include "plan_bed.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	MANY = 10000,
	PIECE = 4096
};

/* --- make ----------------------------------------------------------------- */

static void test_plan_keeps_one_item_for_its_next_time(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick");
	struct tkw_item_name key = { .key = "tick@1700000010000",
				     .key_len = 18 };
	struct tkw_items *items;

	assert_int_equal(plan_bed_plan(b, &p), T(1));
	assert_int_equal(tkw_queue_get(b->q, &key, &items), 0);
	assert_int_equal(items->item[0].state, TKW_ITEM_WAITING);
	assert_int_equal(items->item[0].due_ms, T(1));
	assert_int_equal(items->item[0].planned_ms, T(1));
	assert_int_equal(items->item[0].claim.id.bits,
			 plan_bed_facts(b, "tick").next_id.bits);
	assert_memory_equal(items->item[0].payload, "work", 4);
	tkw_items_free(items);
	assert_int_equal(file_bed_stats(b).plans, 1);
	assert_int_equal(file_bed_stats(b).waiting, 1);
}

static void test_plan_keeps_all_that_it_is_told(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = {
		.name = "n",
		.text = "30 2 * * *",
		.zone = "Europe/Berlin",
		.payload = "a\0b",
		.payload_len = 3,
		.grace_ms = 500,
		.misfire = TKW_MISFIRE_ALL,
		.max_missed = 7,
		.overlap = TKW_OVERLAP_ALLOW,
		.next_on_ack = 1,
		.max_attempts = 3,
		.backoff_ms = 100,
		.max_backoff_ms = 400,
	};
	struct tkw_queue_plans *plans;
	const struct tkw_queue_plan_spec *got;

	/* 02:30 in Berlin is 01:30 in UTC. */
	assert_int_equal(plan_bed_plan(b, &p), INT64_C(1700011800000));
	file_bed_reopen(b);
	assert_int_equal(tkw_queue_get_plan(b->q, "n", &plans), 0);
	got = &plans->plan[0].plan;
	assert_string_equal(got->name, "n");
	assert_string_equal(got->text, "30 2 * * *");
	assert_string_equal(got->zone, "Europe/Berlin");
	assert_int_equal(got->payload_len, 3);
	assert_memory_equal(got->payload, "a\0b", 3);
	assert_int_equal(got->grace_ms, 500);
	assert_int_equal(got->misfire, TKW_MISFIRE_ALL);
	assert_int_equal(got->max_missed, 7);
	assert_int_equal(got->overlap, TKW_OVERLAP_ALLOW);
	assert_int_equal(got->next_on_ack, 1);
	assert_int_equal(got->max_attempts, 3);
	assert_int_equal(got->backoff_ms, 100);
	assert_int_equal(got->max_backoff_ms, 400);
	assert_int_equal(plans->plan[0].next_ms, INT64_C(1700011800000));
	tkw_queue_plans_free(plans);
}

static void test_plan_defaults(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = { .name = "n", .text = "every 10s" };
	struct tkw_queue_plans *plans;

	assert_int_equal(tkw_queue_plan(b->q, &p, NULL, NULL), 0);
	assert_int_equal(tkw_queue_get_plan(b->q, "n", &plans), 0);
	assert_string_equal(plans->plan[0].plan.zone, "");
	assert_int_equal(plans->plan[0].plan.payload_len, 0);
	assert_int_equal(plans->plan[0].plan.grace_ms, 60000);
	assert_int_equal(plans->plan[0].plan.misfire, TKW_MISFIRE_ONCE);
	assert_int_equal(plans->plan[0].plan.max_missed, 0);
	tkw_queue_plans_free(plans);
	p.misfire = TKW_MISFIRE_ALL;
	p.grace_ms = -1;
	assert_int_equal(tkw_queue_plan(b->q, &p, NULL, NULL), 0);
	assert_int_equal(tkw_queue_get_plan(b->q, "n", &plans), 0);
	assert_int_equal(plans->plan[0].plan.max_missed, TKW_QUEUE_MAX_MISSED);
	assert_int_equal(plans->plan[0].plan.grace_ms, 0);
	tkw_queue_plans_free(plans);
}

/* A program may make its plans each time that it starts. */
static void test_plan_again_changes_nothing(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick");
	uint64_t rows;

	assert_int_equal(plan_bed_plan(b, &p), T(1));
	file_bed_reopen(b);
	rows = b->disk.last;
	file_bed_pass(b, 12000);
	assert_int_equal(plan_bed_plan(b, &p), T(1));
	assert_int_equal(b->disk.last, rows);
	(void)plan_bed_take(b, T(1));
}

static void test_plan_replaces_the_plan_of_its_name(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick");

	assert_int_equal(plan_bed_plan(b, &p), T(1));
	p.text = "every 30s";
	assert_int_equal(plan_bed_plan(b, &p), FILE_BED_START_MS + 10000);
	p.text = "every 1h";
	assert_int_equal(plan_bed_plan(b, &p), INT64_C(1700002800000));
	assert_int_equal(file_bed_stats(b).plans, 1);
	assert_int_equal(file_bed_stats(b).waiting, 1);
	assert_int_equal(file_bed_stats(b).all_cancels, 2);
}

/* --- refuse --------------------------------------------------------------- */

/* Makes a plan that must be refused, and checks that nothing has changed. */
static void refuse(struct file_bed *b, const struct tkw_queue_plan_spec *p,
		   int err)
{
	uint64_t rows = b->disk.last;
	struct tkw_queue_stats before = file_bed_stats(b), after;
	int64_t next_ms = 77;

	assert_int_equal(tkw_queue_plan(b->q, p, &next_ms, NULL), err);
	after = file_bed_stats(b);
	assert_int_equal(next_ms, 77);
	assert_int_equal(b->disk.last, rows);
	before.memory_bytes = after.memory_bytes;
	assert_memory_equal(&after, &before, sizeof(after));
	assert_null(tkw_queues_check(b->f));
}

static void test_plan_refuses_bad_arguments(void **state)
{
	struct file_bed *b = *state;
	const struct tkw_queue_plan_spec good = plan_bed_every_10s("tick");
	struct tkw_queue_plan_spec bad[12];
	char longest[TKW_QUEUE_MAX_PLAN_NAME + 2];

	memset(longest, 'n', sizeof(longest) - 1);
	longest[TKW_QUEUE_MAX_PLAN_NAME + 1] = 0;
	for (size_t i = 0; i < 12; i++)
		bad[i] = good;
	bad[0].name = NULL;
	bad[1].name = "";
	bad[2].name = longest;
	bad[3].text = NULL;
	bad[4].text = "";
	bad[5].payload = NULL;
	bad[6].misfire = (enum tkw_misfire)3;
	bad[7].overlap = (enum tkw_overlap)2;
	bad[8].max_missed = 1;
	bad[9].misfire = TKW_MISFIRE_ALL;
	bad[9].max_missed = TKW_QUEUE_MAX_MISSED + 1;
	bad[10].misfire = (enum tkw_misfire) - 1;
	bad[11].overlap = (enum tkw_overlap) - 1;
	for (size_t i = 0; i < 12; i++)
		refuse(b, &bad[i], -EINVAL);
	refuse(b, NULL, -EINVAL);
	assert_int_equal(tkw_queue_plan(NULL, &good, NULL, NULL), -EINVAL);
	longest[TKW_QUEUE_MAX_PLAN_NAME] = 0;
	bad[2].name = longest;
	assert_int_equal(plan_bed_plan(b, &bad[2]), T(1));
}

static void test_plan_says_what_is_wrong_with_its_text(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick");
	struct tkw_plan_error error, same;
	struct tkw_plan *made;

	p.text = "0 99 * * *";
	refuse(b, &p, -EINVAL);
	assert_int_equal(tkw_queue_plan(b->q, &p, NULL, &error), -EINVAL);
	assert_int_equal(tkw_plan_create(&made, p.text, NULL, &same), -EINVAL);
	assert_int_equal(error.position, 2);
	assert_string_equal(error.text, same.text);
	/* The text is right, but the name is not. */
	p = plan_bed_every_10s("");
	assert_int_equal(tkw_queue_plan(b->q, &p, NULL, &error), -EINVAL);
	assert_string_equal(error.text, "");
	p = plan_bed_every_10s("tick");
	memset(&error, 'x', sizeof(error));
	assert_int_equal(tkw_queue_plan(b->q, &p, NULL, &error), 0);
	assert_string_equal(error.text, "");
}

static void test_plan_that_cannot_be_is_refused(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick");
	struct tkw_queue_limits limits = { .max_payload_bytes = 3 };

	p.text = "0 0 30 2 *";
	refuse(b, &p, -ENOENT);
	p = plan_bed_every_10s("tick");
	p.zone = "Moon/Crater";
	refuse(b, &p, -ENXIO);
	p.zone = "../../etc/passwd";
	refuse(b, &p, -ENXIO);
	p.zone = NULL;
	file_bed_put(b, 5000);
	assert_int_equal(tkw_queue_limit(b->q, &limits), 0);
	refuse(b, &p, -EMSGSIZE);
	limits.max_payload_bytes = 0;
	limits.max_items = 1;
	assert_int_equal(tkw_queue_limit(b->q, &limits), 0);
	refuse(b, &p, -EAGAIN);
	limits.max_items = 0;
	limits.max_bytes = 42;
	assert_int_equal(tkw_queue_limit(b->q, &limits), 0);
	refuse(b, &p, -EAGAIN);
	limits.max_bytes = 0;
	assert_int_equal(tkw_queue_limit(b->q, &limits), 0);
	assert_int_equal(plan_bed_plan(b, &p), T(1));
}

static void test_plan_calls_refuse_bad_names(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plans *plans;
	uint64_t rows = b->disk.last;

	assert_int_equal(tkw_queue_unplan(b->q, "no"), -ENOENT);
	assert_int_equal(tkw_queue_pause_plan(b->q, "no"), -ENOENT);
	assert_int_equal(tkw_queue_resume_plan(b->q, "no"), -ENOENT);
	assert_int_equal(tkw_queue_get_plan(b->q, "no", &plans), -ENOENT);
	assert_int_equal(tkw_queue_unplan(b->q, ""), -EINVAL);
	assert_int_equal(tkw_queue_pause_plan(b->q, NULL), -EINVAL);
	assert_int_equal(tkw_queue_resume_plan(NULL, "no"), -EINVAL);
	assert_int_equal(tkw_queue_get_plan(b->q, "no", NULL), -EINVAL);
	assert_int_equal(tkw_queue_get_plan(NULL, "no", &plans), -EINVAL);
	assert_int_equal(tkw_queue_list_plans(b->q, NULL, 0, &plans), -EINVAL);
	assert_int_equal(tkw_queue_list_plans(b->q, NULL, 4097, &plans),
			 -EINVAL);
	assert_int_equal(tkw_queue_list_plans(b->q, NULL, 1, NULL), -EINVAL);
	assert_int_equal(tkw_queue_list_plans(NULL, NULL, 1, &plans), -EINVAL);
	assert_int_equal(tkw_queue_list_plans(b->q, NULL, 1, &plans), 0);
	assert_null(plans);
	tkw_queue_plans_free(NULL);
	assert_int_equal(b->disk.last, rows);
}

/* --- change --------------------------------------------------------------- */

static void test_plan_pauses_and_resumes(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick");

	assert_int_equal(plan_bed_plan(b, &p), T(1));
	assert_int_equal(tkw_queue_pause_plan(b->q, "tick"), 0);
	assert_int_equal(tkw_queue_pause_plan(b->q, "tick"), 0);
	file_bed_reopen(b);
	assert_int_equal(plan_bed_facts(b, "tick").paused, 1);
	assert_int_equal(plan_bed_facts(b, "tick").next_ms, 0);
	assert_int_equal(file_bed_stats(b).waiting, 0);
	file_bed_pass(b, 25000);
	plan_bed_take_nothing(b);
	assert_int_equal(tkw_queue_resume_plan(b->q, "tick"), 0);
	assert_int_equal(tkw_queue_resume_plan(b->q, "tick"), 0);
	file_bed_reopen(b);
	assert_int_equal(plan_bed_facts(b, "tick").paused, 0);
	assert_int_equal(plan_bed_facts(b, "tick").next_ms, T(3));
}

static void test_unplan_cancels_the_item_unless_taken(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick");
	struct tkw_queue_plans *plans;
	struct tkw_claim claim;

	assert_int_equal(plan_bed_plan(b, &p), T(1));
	file_bed_pass(b, 10000);
	claim = plan_bed_take(b, T(1));
	assert_int_equal(tkw_queue_unplan(b->q, "tick"), 0);
	assert_int_equal(tkw_queue_unplan(b->q, "tick"), -ENOENT);
	file_bed_reopen(b);
	assert_int_equal(tkw_queue_get_plan(b->q, "tick", &plans), -ENOENT);
	assert_int_equal(file_bed_stats(b).waiting, 0);
	assert_int_equal(file_bed_stats(b).taken, 1);
	assert_int_equal(file_bed_stats(b).bytes, 4 + 18);
	plan_bed_ack(b, claim);
	assert_int_equal(file_bed_stats(b).all_puts, 2);
}

/* --- many ----------------------------------------------------------------- */

/* Lists all plans in pieces. Returns how many there are. */
static int list_all(struct file_bed *b, uint32_t max)
{
	char after[TKW_QUEUE_MAX_PLAN_NAME + 1] = "";
	struct tkw_queue_plans *plans;
	int count = 0, n;

	while ((n = tkw_queue_list_plans(b->q, *after ? after : NULL, max,
					 &plans)) > 0) {
		assert_int_equal(plans->count, n);
		for (int i = 0; i < n; i++, count++) {
			const char *name = plans->plan[i].plan.name;

			assert_true(strcmp(after, name) < 0);
			snprintf(after, sizeof(after), "%s", name);
		}
		tkw_queue_plans_free(plans);
	}
	assert_int_equal(n, 0);
	assert_null(plans);
	return count;
}

static void test_plans_are_listed_in_pieces(void **state)
{
	static const char *const names[] = { "b", "a", "b@1", "B", "aa" };
	struct file_bed *b = *state;

	for (size_t i = 0; i < 5; i++) {
		struct tkw_queue_plan_spec p = plan_bed_every_10s(names[i]);

		assert_int_equal(plan_bed_plan(b, &p), T(1));
	}
	for (uint32_t max = 1; max < 7; max++)
		assert_int_equal(list_all(b, max), 5);
}

/* The desk copies a piece in one go, so its bytes are bounded. */
static void
test_plans_of_large_payloads_are_listed_in_short_pieces(void **state)
{
	enum {
		LARGE = 1 << 20
	};
	static const char *const names[] = { "a", "b", "c", "d", "e" };
	struct file_bed *b = *state;
	struct tkw_queue_plans *plans = NULL;
	char *payload = calloc(1, LARGE);

	assert_non_null(payload);
	for (size_t i = 0; i < 5; i++) {
		struct tkw_queue_plan_spec p = plan_bed_every_10s(names[i]);

		p.payload = payload;
		p.payload_len = LARGE;
		assert_int_equal(plan_bed_plan(b, &p), T(1));
	}
	free(payload);
	assert_int_equal(tkw_queue_list_plans(b->q, NULL, PIECE, &plans), 4);
	tkw_queue_plans_free(plans);
	assert_int_equal(tkw_queue_list_plans(b->q, "d", PIECE, &plans), 1);
	assert_string_equal(plans->plan[0].plan.name, "e");
	assert_int_equal(plans->plan[0].plan.payload_len, LARGE);
	tkw_queue_plans_free(plans);
}

/* All items of a planned time are taken, each of another plan. */
static void take_all(struct file_bed *b, int64_t planned_ms)
{
	struct tkw_take how = { .max_items = PIECE };
	struct tkw_claim *claims = calloc(MANY, sizeof(*claims));
	struct tkw_items *items;
	int count = 0, n;

	assert_non_null(claims);
	while ((n = tkw_queue_take(b->q, &how, &items)) > 0) {
		for (int i = 0; i < n; i++) {
			assert_int_equal(items->item[i].planned_ms, planned_ms);
			claims[count + i] = items->item[i].claim;
		}
		count += n;
		tkw_items_free(items);
	}
	assert_int_equal(count, MANY);
	assert_int_equal(tkw_queue_ack(b->q, claims, MANY, NULL), MANY);
	free(claims);
}

/* The journal is so short that it is copied forward all the time. */
static void test_plans_ten_thousand(void **state)
{
	struct file_bed *b = *state;
	uint64_t compactions = b->disk.compactions;
	char name[16];

	file_bed_close(b);
	b->home.desk.slack_bytes = 4096;
	file_bed_open(b);
	for (int i = 0; i < MANY; i++) {
		struct tkw_queue_plan_spec p = plan_bed_every_10s(name);

		snprintf(name, sizeof(name), "p%d", i);
		assert_int_equal(plan_bed_plan(b, &p), T(1));
	}
	assert_int_equal(file_bed_stats(b).plans, MANY);
	for (int i = 1; i <= 3; i++) {
		file_bed_pass(b, 10000);
		file_bed_reopen(b);
		take_all(b, T(i));
	}
	assert_true(b->disk.compactions > compactions);
	file_bed_reopen(b);
	assert_int_equal(list_all(b, PIECE), MANY);
	assert_int_equal(plan_bed_facts(b, "p77").runs, 3);
	assert_int_equal(file_bed_stats(b).waiting, MANY);
}

/* --- the disk ------------------------------------------------------------- */

/* A write fails: the take, the plan or the change has not happened. */
static void test_plan_is_undone_with_its_batch(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick");
	struct tkw_items *items;
	struct tkw_claim claim;

	b->disk.error = -ENOMEM;
	b->disk.fails = 1;
	refuse(b, &p, -ENOMEM);
	assert_int_equal(plan_bed_plan(b, &p), T(1));
	file_bed_pass(b, 10000);
	b->disk.fails = 1;
	assert_int_equal(tkw_queue_take(b->q, NULL, &items), -ENOMEM);
	assert_int_equal(plan_bed_facts(b, "tick").next_ms, T(1));
	assert_int_equal(plan_bed_facts(b, "tick").runs, 0);
	claim = plan_bed_take(b, T(1));
	b->disk.fails = 1;
	assert_int_equal(tkw_queue_unplan(b->q, "tick"), -ENOMEM);
	b->disk.fails = 1;
	assert_int_equal(tkw_queue_pause_plan(b->q, "tick"), -ENOMEM);
	assert_int_equal(plan_bed_facts(b, "tick").next_ms, T(2));
	assert_int_equal(plan_bed_facts(b, "tick").paused, 0);
	plan_bed_ack(b, claim);
	file_bed_reopen(b);
	assert_int_equal(plan_bed_facts(b, "tick").next_ms, T(2));
}

/* On a full disk, no plan can be made, but the items of plans are taken and
 * acked. */
static void test_plan_on_a_full_disk(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick"),
				   more = plan_bed_every_10s("more");

	assert_int_equal(plan_bed_plan(b, &p), T(1));
	b->disk.error = -ENOSPC;
	b->disk.fails = 1;
	refuse(b, &more, -ENOSPC);
	file_bed_pass(b, 10000);
	plan_bed_ack(b, plan_bed_take(b, T(1)));
	assert_int_equal(plan_bed_facts(b, "tick").next_ms, T(2));
	assert_int_equal(plan_bed_plan(b, &more), T(2));
}

/* A resume puts an item, with the payload of the plan. */
static void test_plan_is_not_resumed_on_a_full_disk(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick");

	assert_int_equal(plan_bed_plan(b, &p), T(1));
	b->disk.error = -ENOSPC;
	b->disk.fails = 1;
	assert_int_equal(tkw_queue_pause_plan(b->q, "tick"), 0);
	file_bed_pass(b, 10000);
	b->disk.fails = 1;
	assert_int_equal(tkw_queue_resume_plan(b->q, "tick"), -ENOSPC);
	assert_int_equal(plan_bed_facts(b, "tick").paused, 1);
	file_bed_pass(b, 10000);
	assert_int_equal(tkw_queue_resume_plan(b->q, "tick"), 0);
	assert_int_equal(plan_bed_facts(b, "tick").next_ms, T(3));
}

static void test_plan_on_a_failed_disk(void **state)
{
	struct file_bed *b = *state;
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick"),
				   more = plan_bed_every_10s("more");

	assert_int_equal(plan_bed_plan(b, &p), T(1));
	b->disk.error = -EIO;
	b->disk.fails = 1;
	refuse(b, &more, -EIO);
	assert_int_equal(tkw_queue_unplan(b->q, "tick"), -EIO);
	assert_int_equal(plan_bed_facts(b, "tick").next_ms, T(1));
	file_bed_reopen(b);
	assert_int_equal(plan_bed_plan(b, &more), T(1));
}

/* --- callbacks --------------------------------------------------------------
 */

struct callback {
	struct event called;
	int plan, unplan;
	int64_t get;
};

static void plan_in_callback(struct tkw_queue *q,
			     const struct tkw_queue_end *end, void *ctx)
{
	struct callback *c = ctx;
	struct tkw_queue_plan_spec p = plan_bed_every_10s("tick");
	struct tkw_queue_plans *plans;

	(void)end;
	c->plan = tkw_queue_plan(q, &p, NULL, NULL);
	c->unplan = tkw_queue_unplan(q, "tick");
	c->get = tkw_queue_list_plans(q, NULL, 1, &plans);
	event_happen(&c->called);
}

static void test_plan_in_a_callback_would_deadlock(void **state)
{
	struct file_bed *b = *state;
	struct callback c = { .called = EVENT_INIT };
	struct tkw_put p = { .payload = "a", .payload_len = 1 };

	assert_int_equal(tkw_queue_put_async(b->q, &p, 1, plan_in_callback, &c),
			 0);
	event_wait(&c.called, 1);
	assert_int_equal(c.plan, -EDEADLK);
	assert_int_equal(c.unplan, -EDEADLK);
	assert_int_equal(c.get, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FILE_TEST(test_plan_keeps_one_item_for_its_next_time),
		FILE_TEST(test_plan_keeps_all_that_it_is_told),
		FILE_TEST(test_plan_defaults),
		FILE_TEST(test_plan_again_changes_nothing),
		FILE_TEST(test_plan_replaces_the_plan_of_its_name),
		FILE_TEST(test_plan_refuses_bad_arguments),
		FILE_TEST(test_plan_says_what_is_wrong_with_its_text),
		FILE_TEST(test_plan_that_cannot_be_is_refused),
		FILE_TEST(test_plan_calls_refuse_bad_names),
		FILE_TEST(test_plan_pauses_and_resumes),
		FILE_TEST(test_unplan_cancels_the_item_unless_taken),
		FILE_TEST(test_plans_are_listed_in_pieces),
		FILE_TEST(
			test_plans_of_large_payloads_are_listed_in_short_pieces),
		FILE_TEST(test_plans_ten_thousand),
		FILE_TEST(test_plan_is_undone_with_its_batch),
		FILE_TEST(test_plan_on_a_full_disk),
		FILE_TEST(test_plan_is_not_resumed_on_a_full_disk),
		FILE_TEST(test_plan_on_a_failed_disk),
		FILE_TEST(test_plan_in_a_callback_would_deadlock),
	};

	return cmocka_run_group_tests_name("queue_plans", tests, NULL, NULL);
}
