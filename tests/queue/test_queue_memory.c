/* SPDX-License-Identifier: MIT */
/*
 * test_queue_memory.c - the n-th allocation fails, for all n; and changes that
 * are undone.
 */
#include "queue_bed.h"

enum {
	SCRIPT = 12,
	MANY = 6
};

static const char text[] = "a payload of some length, to grow the log";

static int script_put(struct queue_bed *b, struct tkw__queue_call *call)
{
	struct tkw__queue_put p[MANY];
	uint64_t ids[MANY];
	int i;

	(void)b;
	for (i = 0; i < MANY; i++)
		p[i] = (struct tkw__queue_put){
			.when = { false, i },
			.payload = { text, sizeof(text) },
			.key = { text + i, 5 },
			.max_attempts = 2,
			.backoff_ms = (uint32_t)i,
		};
	return tkw__queue_put(b->q, call, p, MANY, ids);
}

static int script_replace(struct queue_bed *b, struct tkw__queue_call *call)
{
	struct tkw__queue_put p = { .payload = { text, 9 },
				    .key = { text, 5 },
				    .held = TKW__QUEUE_REPLACE };
	uint64_t id;

	return tkw__queue_put(b->q, call, &p, 1, &id);
}

static struct tkw__queue_taken held[MANY];

static int script_take(struct queue_bed *b, struct tkw__queue_call *call)
{
	int n = tkw__queue_take(b->q, call, MANY, 20, held);

	return n < 0 ? n : 0;
}

static int script_nack(struct queue_bed *b, struct tkw__queue_call *call)
{
	struct tkw__queue_claim c[2] = { { held[0].id, held[0].token },
					 { held[1].id, held[1].token } };
	enum tkw__queue_answer answer[2];
	struct tkw__queue_claims claims = { c, 2, answer };
	struct tkw__queue_nack how = { true, 3, { "not today", 9 } };

	return tkw__queue_nack(b->q, call, &claims, &how);
}

static int script_ack(struct queue_bed *b, struct tkw__queue_call *call)
{
	struct tkw__queue_claim c = { held[2].id, held[2].token };
	enum tkw__queue_answer answer;
	struct tkw__queue_claims claims = { &c, 1, &answer };

	return tkw__queue_ack(b->q, call, &claims);
}

static int script_extend(struct queue_bed *b, struct tkw__queue_call *call)
{
	struct tkw__queue_claim c = { held[3].id, held[3].token };
	enum tkw__queue_answer answer;
	struct tkw__queue_claims claims = { &c, 1, &answer };

	return tkw__queue_extend(b->q, call, &claims, 90);
}

static int script_advance(struct queue_bed *b, struct tkw__queue_call *call)
{
	int more =
		tkw__queue_advance(b->q, call, UINT64_MAX, TKW__QUEUE_MASTER);

	return more < 0 ? more : 0;
}

static int script_cancel(struct queue_bed *b, struct tkw__queue_call *call)
{
	struct tkw__queue_name name = { .key = { text + 5, 5 } };
	enum tkw__queue_answer answer;

	return tkw__queue_cancel(b->q, call, &name, 1, &answer);
}

static int script_revive(struct queue_bed *b, struct tkw__queue_call *call)
{
	struct tkw__queue_walk walk = { 0, 0, 0 };
	int64_t n = tkw__queue_revive_some(b->q, call, &walk, 10);

	return n < 0 ? (int)n : 0;
}

static int script_pause(struct queue_bed *b, struct tkw__queue_call *call)
{
	return tkw__queue_pause(b->q, call);
}

typedef int script_fn(struct queue_bed *b, struct tkw__queue_call *call);
static script_fn *const script[SCRIPT] = {
	script_put,    script_replace, script_take,    script_nack,
	script_ack,    script_extend,  script_advance, script_take,
	script_cancel, script_advance, script_revive,  script_pause,
};

/* Runs a command. If it fails for want of memory nothing has changed, and the
 * same command then succeeds. */
static void run_command(struct queue_bed *b, script_fn *fn)
{
	struct tkw__queue_call call = bed_call(b);
	uint64_t digest = tkw__queue_digest(b->q);
	size_t len = b->log.len;
	int err = fn(b, &call);

	if (err) {
		assert_int_equal(err, -ENOMEM);
		assert_true(tkw__queue_digest(b->q) == digest);
		assert_int_equal(b->log.len, len);
		bed_check(b);
		call = bed_call(b);
		assert_int_equal(fn(b, &call), 0);
	}
	bed_check(b);
}

/* Returns the digest at the end. */
static uint64_t run_script(struct queue_bed *b, bool commit)
{
	int i;

	b->now = BED_START;
	bed_restart(b, 2, 0);
	for (i = 0; i < SCRIPT; i++) {
		run_command(b, script[i]);
		b->now += 7;
		if (commit)
			tkw__queue_commit(b->q);
	}
	return tkw__queue_digest(b->q);
}

static void fail_each(struct queue_bed *b, bool commit)
{
	uint64_t wanted = run_script(b, commit);
	uint64_t n, used;

	for (n = 2;; n++) { /* the first one is the queue itself */
		b->allocs = 0;
		b->fail_at = n;
		assert_true(run_script(b, commit) == wanted);
		used = b->allocs;
		b->fail_at = 0;
		if (used < n)
			break;
	}
	assert_true(n > 20);
}

/* SPEC 11.10, and fault 1 of the project: no memory, nothing changed. */
static void test_queue_without_memory_changes_nothing(void **state)
{
	fail_each(*state, true);
	fail_each(*state, false);
}

static void test_queue_is_not_created_without_memory(void **state)
{
	struct queue_bed *b = *state;
	struct tkw__queue *q;

	b->allocs = 0;
	b->fail_at = 1;
	assert_int_equal(tkw__queue_create(&q, &b->cfg), -ENOMEM);
	b->fail_at = 0;
}

/* SPEC 11.21 at the heart: undo after each command of the script, and after all
 * of them, goes back exactly. */
static void test_queue_undo_goes_back_to_the_commit(void **state)
{
	struct queue_bed *b = *state;
	uint64_t start;
	int i;

	run_script(b, true);
	start = tkw__queue_digest(b->q);
	for (i = 0; i < SCRIPT; i++) {
		struct tkw__queue_call call = bed_call(b);

		script[i](b, &call);
		tkw__queue_undo(b->q);
		bed_check(b);
		assert_true(tkw__queue_digest(b->q) == start);
	}
	for (i = 0; i < SCRIPT; i++) {
		struct tkw__queue_call call = bed_call(b);

		script[i](b, &call);
		b->now += 5;
	}
	tkw__queue_undo(b->q);
	assert_true(tkw__queue_digest(b->q) == start);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST(test_queue_without_memory_changes_nothing),
		BED_TEST(test_queue_is_not_created_without_memory),
		BED_TEST(test_queue_undo_goes_back_to_the_commit),
	};

	return cmocka_run_group_tests_name("queue_memory", tests, NULL, NULL);
}
