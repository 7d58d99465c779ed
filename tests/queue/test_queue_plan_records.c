/* SPDX-License-Identifier: MIT */
/*
 * test_queue_plan_records.c - SPEC 12.4: records of plans that do not fit, the
 * checker, and commands of plans without memory.
 */
#include "queue_bed.h"

#include "queue/state.h"

#define SECOND UINT64_C(1000)

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

/* --- records -------------------------------------------------------------- */

/* A record of the log, by its kind. */
static uint8_t *find_record(struct queue_bed *b, enum tkw__record_kind kind)
{
	size_t at = 0;

	while (at < b->log.len) {
		uint8_t *r = b->log.bytes + at;

		if (r[4] == kind)
			return r;
		at += (size_t)r[0] | (size_t)r[1] << 8;
	}
	fail_msg("no record of kind %d", (int)kind);
	return NULL;
}

/* Applies one record as a whole command to the queue, and undoes it. */
static int replay_alone(struct queue_bed *b, const uint8_t *r)
{
	size_t len = (size_t)r[0] | (size_t)r[1] << 8;
	uint64_t digest = tkw__queue_digest(b->q);
	uint8_t copy[512];
	size_t used;
	int err;

	assert_true(len <= sizeof(copy));
	memcpy(copy, r, len);
	copy[6] &= (uint8_t)~TKW__RECORD_MORE;
	tkw__queue_commit(b->q);
	err = tkw__queue_replay(b->q, copy, len, &used);
	tkw__queue_undo(b->q);
	assert_true(tkw__queue_digest(b->q) == digest);
	bed_check(b);
	return err;
}

/* What was applied once does not fit a second time. */
static void test_plan_records_fit_once(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__queue_log dump = { NULL, 0, 0, 0 };
	struct tkw__queue_taken t;

	bed_make_plan(b, &p);
	p.grace_ms = 7;
	bed_make_plan(b, &p);
	b->now += SECOND;
	t = take(b);
	assert_int_equal(replay_alone(b, find_record(b, TKW__RECORD_PLAN)),
			 -EBADMSG);
	assert_int_equal(replay_alone(b, find_record(b, TKW__RECORD_PLANNED)),
			 -EBADMSG);
	/* There is a fresh item. */
	assert_int_equal(replay_alone(b, find_record(b, TKW__RECORD_REPLAN)),
			 -EBADMSG);
	/* The same step once more is no harm; one back is. */
	assert_int_equal(replay_alone(b, find_record(b, TKW__RECORD_STEP)), 0);
	bed_cancel(b, bed_get_plan(b, "job").fresh_id);
	assert_int_equal(replay_alone(b, find_record(b, TKW__RECORD_STEP)),
			 -EBADMSG);
	assert_int_equal(tkw__queue_dump_plan(b->q, p.name, &dump), 0);
	assert_int_equal(replay_alone(b, dump.bytes), 0);
	assert_int_equal(tkw__queue_dump_plan(b->q, bed_text("other"), &dump),
			 -ENOENT);
	change(b, tkw__queue_pause_plan);
	assert_int_equal(replay_alone(b, dump.bytes), -EBADMSG);
	change(b, tkw__queue_unplan);
	assert_int_equal(replay_alone(b, find_record(b, TKW__RECORD_UNPLAN)),
			 -EBADMSG);
	assert_int_equal(replay_alone(b, find_record(b, TKW__RECORD_STEP)),
			 -EBADMSG);
	assert_int_equal(replay_alone(b, dump.bytes), -EBADMSG);
	tkw__queue_log_fini(b->q, &dump);
	bed_ack(b, t.id, t.token);
}

/* Changes a word of a record. */
static int replay_with(struct queue_bed *b, const uint8_t *r, int word,
		       uint64_t value)
{
	uint8_t copy[512];
	size_t len = (size_t)r[0] | (size_t)r[1] << 8;

	memcpy(copy, r, len);
	memcpy(copy + TKW__RECORD_HEADER + 8 * (size_t)word, &value,
	       sizeof(value));
	return replay_alone(b, copy);
}

static void test_plan_records_are_checked(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	uint64_t most = TKW__QUEUE_MAX_MS;
	uint8_t *replan, *step;

	bed_make_plan(b, &p);
	p.grace_ms = 7;
	bed_make_plan(b, &p);
	change(b, tkw__queue_pause_plan);
	replan = find_record(b, TKW__RECORD_REPLAN);
	step = find_record(b, TKW__RECORD_STEP);
	assert_int_equal(replay_alone(b, replan), 0);
	assert_int_equal(replay_with(b, replan, TKW__PLAN_GRACE, most + 1),
			 -EBADMSG);
	assert_int_equal(replay_with(b, replan, TKW__PLAN_POLICY, 3), -EBADMSG);
	assert_int_equal(replay_with(b, replan, TKW__PLAN_POLICY, 1 << 10),
			 -EBADMSG);
	/* All needs a number, and the others must not have one. */
	assert_int_equal(replay_with(b, replan, TKW__PLAN_POLICY, 1), -EBADMSG);
	assert_int_equal(replay_with(b, replan, TKW__PLAN_POLICY,
				     UINT64_C(101) << 32 | 1),
			 -EBADMSG);
	assert_int_equal(
		replay_with(b, replan, TKW__PLAN_POLICY, UINT64_C(1) << 32),
		-EBADMSG);
	assert_int_equal(replay_with(b, replan, TKW__PLAN_MAX_BACKOFF,
				     UINT64_C(1) << 32),
			 -EBADMSG);
	assert_int_equal(replay_with(b, step, TKW__STEP_DECIDED, most + 1),
			 -EBADMSG);
	assert_int_equal(replay_with(b, step, TKW__STEP_STATUS, 1 << 16),
			 -EBADMSG);
	assert_int_equal(replay_with(b, step, TKW__STEP_DECIDED, most), 0);
}

/* Loads a dump of the queue into a new one. */
static int load_dump(struct queue_bed *b)
{
	struct tkw__queue_log dump = { NULL, 0, 0, 0 };
	struct tkw__queue *q;
	uint64_t cursor = 0;
	size_t used;
	int err;

	assert_int_equal(tkw__queue_dump(b->q, &cursor, 100, &dump), 0);
	assert_int_equal(tkw__queue_create(&q, &b->cfg), 0);
	err = tkw__queue_load(q, dump.bytes, dump.len, &used);
	tkw__queue_log_fini(b->q, &dump);
	tkw__queue_destroy(q);
	return err;
}

/* A snapshot has lost the fresh item of a plan: nothing would ever put the next
 * one. */
static void test_plan_that_can_never_go_on_is_not_loaded(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__plan_state *s;

	bed_make_plan(b, &p);
	change(b, tkw__queue_pause_plan);
	assert_int_equal(load_dump(b), 0);
	s = b->q->plans.at[0]->state;
	s->paused = false;
	assert_int_equal(load_dump(b), -EBADMSG);
	s->error = -ENOENT;
	assert_int_equal(load_dump(b), 0);
}

/* --- the checker ---------------------------------------------------------- */

static void expect_wrong(struct queue_bed *b, const char *wrong)
{
	const char *said = tkw__queue_check(b->q);

	assert_non_null(said);
	assert_string_equal(said, wrong);
}

static void test_plan_checker_names_what_is_broken(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__plan *job, *other;
	struct tkw__item *fresh;

	bed_make_plan(b, &p);
	p.name = bed_text("other");
	bed_make_plan(b, &p);
	job = b->q->plans.at[0];
	other = b->q->plans.at[1];
	b->q->plans.at[0] = other;
	b->q->plans.at[1] = job;
	expect_wrong(b, "the plans are not in order");
	b->q->plans.at[0] = job;
	b->q->plans.at[1] = other;
	fresh = job->fresh;
	job->fresh = NULL;
	expect_wrong(b, "a plan has stopped and does not say why");
	job->running = 1;
	expect_wrong(b, "a plan has stopped and does not say why");
	job->next_on_end = true;
	expect_wrong(b, "a plan does not know its items");
	job->next_on_end = false;
	job->fresh = fresh;
	expect_wrong(b, "a plan does not know its items");
	job->running = 0;
	job->state->paused = true;
	expect_wrong(b, "a plan does not fit its fresh item");
	job->state->paused = false;
	job->state->decided_ms = BED_START + SECOND;
	expect_wrong(b, "a plan does not fit its fresh item");
	job->state->decided_ms = 0;
	fresh->attempts = 1;
	expect_wrong(b, "an item of a plan has not started, but was taken");
	fresh->attempts = 0;
	fresh->has &= (unsigned)~TKW__HAS_PLAN & 7;
	fresh->started = 1;
	assert_non_null(tkw__queue_check(b->q));
	fresh->has |= TKW__HAS_PLAN;
	fresh->started = 0;
}

/* --- no memory ------------------------------------------------------------ */

/* The life of a plan: each command makes records of several kinds. */
static int live(struct queue_bed *b, int step, struct tkw__queue_taken *t)
{
	struct tkw__queue_call call = bed_call(b);
	struct tkw__queue_claim claim = { t->id, t->token };
	enum tkw__queue_answer answer;
	struct tkw__queue_claims claims = { &claim, 1, &answer };
	struct tkw__queue_nack how = { .reason = { "no", 2 } };
	struct tkw__queue_plan p = bed_plan("job", "1000");
	struct tkw__queue_name name = { .key = bed_text("job@1700000010000") };

	p.max_attempts = 1;
	switch (step) {
	case 1:
		p.next_on_end = true;
		/* fallthrough */
	case 0:
		return tkw__queue_plan(b->q, &call, &p, NULL);
	case 2:
	case 4:
		return tkw__queue_take(b->q, &call, 1, step == 2 ? 10000 : 100,
				       t) < 0;
	case 3:
		return tkw__queue_nack(b->q, &call, &claims, &how);
	case 5:
		/* A lease is lost, and the plan goes on. */
		return tkw__queue_advance(b->q, &call, 100, TKW__QUEUE_MASTER) <
		       0;
	case 6:
		return tkw__queue_cancel(b->q, &call, &name, 1, &answer);
	case 7:
		return tkw__queue_pause_plan(b->q, &call, p.name, &answer);
	case 8:
		return tkw__queue_resume_plan(b->q, &call, p.name, &answer);
	default:
		return tkw__queue_unplan(b->q, &call, p.name, &answer);
	}
}

/* The n-th allocation fails, for all n: nothing has changed, and the next try
 * does what it must. */
static void test_plan_commands_without_memory_change_nothing(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue_taken t = { .id = 0 };
	uint32_t failed = 0;

	for (int step = 0; step < 10; step++) {
		uint64_t digest = tkw__queue_digest(b->q);
		size_t len = b->log.len;

		b->now += step < 2 ? 0 : 3 * SECOND;
		for (uint64_t n = 1;; n++) {
			int err;

			tkw__queue_commit(b->q);
			b->allocs = 0;
			b->fail_at = n;
			err = live(b, step, &t);
			b->fail_at = 0;
			bed_check(b);
			if (!err)
				break;
			failed++;
			assert_true(tkw__queue_digest(b->q) == digest);
			assert_int_equal(b->log.len, len);
		}
		if (tkw__queue_digest(b->q) == digest)
			fail_msg("step %d has changed nothing", step);
	}
	assert_int_equal(tkw__queue_count_plans(b->q), 0);
	assert_true(failed > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST(test_plan_records_fit_once),
		BED_TEST(test_plan_records_are_checked),
		BED_TEST(test_plan_that_can_never_go_on_is_not_loaded),
		BED_TEST(test_plan_checker_names_what_is_broken),
		BED_TEST(test_plan_commands_without_memory_change_nothing),
	};

	return cmocka_run_group_tests_name("queue_plan_records", tests, NULL,
					   NULL);
}
