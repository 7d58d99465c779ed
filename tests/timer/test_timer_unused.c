/* SPDX-License-Identifier: MIT */
/*
 * test_timer_unused.c - what a timer costs before its first use, and what its
 * first timeout adds.
 */
#include "timer_bed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tickwheel/exec.h"
#include "tickwheel/stats.h"

#define KIB ((size_t)1024)
#define YEAR_NS (INT64_C(365) * 24 * 3600 * TKW_SEC)
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static struct bed_memory memory;

static void open_with(struct timer_bed *b, struct tkw_timer_config cfg)
{
	const struct tkw_timer_hooks hooks = bed_memory_hooks(&memory);

	cfg.hooks = &hooks;
	bed_reopen(b, &cfg);
}

static void open_shards(struct timer_bed *b, int shards)
{
	open_with(b, (struct tkw_timer_config){ .shards = shards });
}

/* The memory belongs to the test, and must exist longer than the timer. */
static void close_it(struct timer_bed *b)
{
	bed_reopen(b, NULL);
	assert_int_equal(memory.live, 0);
}

/* --- create --------------------------------------------------------------- */

/* How many bytes a new timer with this config asks for. */
static size_t bytes_of(const struct tkw_timer_config *config)
{
	const struct tkw_timer_hooks hooks = bed_memory_hooks(&memory);
	struct tkw_timer_config cfg = *config;
	struct tkw_timer *t;
	size_t bytes;

	cfg.size = sizeof(cfg);
	cfg.hooks = &hooks;
	assert_int_equal(tkw_timer_create(&t, &cfg), 0);
	bytes = memory.asked;
	assert_int_equal(tkw_timer_destroy(t), 0);
	assert_int_equal(memory.asked, bytes);
	assert_int_equal(memory.live, 0);
	return bytes;
}

/* timer.h: this holds for any config. */
static void test_timer_unused_is_small(void **state)
{
	static const int shards[] = { 0, 1, 2, 64, 1000 };
	static const int drives[] = { TKW_DRIVE_THREAD, TKW_DRIVE_MANUAL,
				      TKW_DRIVE_LOOP };
	struct tkw_timer_config cfgs[5] = {
		{ .tick_ns = 1 },
		{ .exec = tkw_exec_inline(), .max_pending = 7 },
		{ .engine = TKW_WHEEL_HASHED, .slots = 1 << 20 },
	};
	size_t most = 0;
	size_t bytes;
	size_t i, k, n;

	(void)state;
	assert_int_equal(tkw_timer_preset(&cfgs[3], TKW_PRESET_JRAFT), 0);
	assert_int_equal(tkw_timer_preset(&cfgs[4], TKW_PRESET_NETTY), 0);
	for (i = 0; i < COUNT_OF(cfgs); i++) {
		for (k = 0; k < COUNT_OF(drives); k++) {
			for (n = 0; n < COUNT_OF(shards); n++) {
				cfgs[i].drive = drives[k];
				cfgs[i].shards = shards[n];
				bytes = bytes_of(&cfgs[i]);
				most = bytes > most ? bytes : most;
				assert_true(bytes < 32 * KIB);
			}
		}
	}
	cfgs[0].drive = TKW_DRIVE_THREAD;
	cfgs[0].shards = 0;
	print_message("an unused timer: %zu bytes; with 64 shards: %zu\n",
		      bytes_of(&cfgs[0]), most);
}

static char told[256];

static void note_line(const char *line, void *ctx)
{
	snprintf(told, sizeof(told), "%s", line);
	++*(unsigned *)ctx;
}

/* timer.h: a timer that needs more memory than the machine has is refused
 * before anything is allocated. The log gets the reason. */
static void test_timer_larger_than_the_machine_is_refused(void **state)
{
	static const int drives[] = { TKW_DRIVE_THREAD, TKW_DRIVE_LOOP };
	unsigned lines = 0;
	const struct tkw_timer_hooks counts = bed_memory_hooks(&memory);
	const struct tkw_timer_hooks tells = { .log = note_line,
					       .ctx = &lines };
	struct tkw_timer_config cfg = { .size = sizeof(cfg),
					.engine = TKW_WHEEL_HASHED,
					.slots = INT64_C(1) << 30,
					.shards = 64 };
	struct tkw_timer *const before = (struct tkw_timer *)state;
	struct tkw_timer *t = before;
	unsigned i;

	for (i = 0; i < COUNT_OF(drives); i++) {
		cfg.drive = drives[i];
		cfg.hooks = &counts;
		assert_int_equal(tkw_timer_create(&t, &cfg), -ENOMEM);
		assert_true(memory.asked < 32 * KIB * (i + 1));
		assert_int_equal(memory.live, 0);
		cfg.hooks = &tells;
		assert_int_equal(tkw_timer_create(&t, &cfg), -ENOMEM);
		assert_int_equal(lines, i + 1);
		assert_non_null(strstr(told, "slots"));
		assert_non_null(strstr(told, "memory"));
	}
	assert_ptr_equal(t, before);
}

/* --- all calls but schedules ---------------------------------------------- */

static void ask_about(struct timer_bed *b, struct tkw_timeout_id id)
{
	struct tkw_timeout_info info;
	char text[64];
	int results[1];

	assert_int_equal(tkw_timer_cancel(b->t, id), -ENOENT);
	assert_int_equal(tkw_timer_cancel_wait(b->t, id), -ENOENT);
	assert_int_equal(tkw_timer_cancel_batch(b->t, &id, 1, results), 0);
	assert_int_equal(results[0], -ENOENT);
	assert_int_equal(tkw_timer_reschedule(b->t, id, 0), -ENOENT);
	assert_int_equal(tkw_timer_get(b->t, id, &info), -ENOENT);
	assert_int_equal(tkw_timer_print_timeout(b->t, id, text, sizeof(text)),
			 -ENOENT);
}

/* SPEC 3.7: only a timeout makes it larger. */
static void test_timer_unused_stays_small(struct timer_bed *b)
{
	const struct tkw_task no_task = { .fn = NULL };
	static struct tkw_stats st;
	static char text[1 << 16];
	int64_t next_ns;
	size_t calls;
	uint64_t i;

	open_shards(b, 64);
	calls = memory.calls;
	assert_int_equal(tkw_timer_start(b->t), 0);
	for (i = 0; i < 300; i++)
		ask_about(b, BED_ID(i << 56 | i << 24 | i));
	assert_int_equal(tkw_timer_schedule(b->t, &no_task, 0, NULL), -EINVAL);
	assert_int_equal(tkw_timer_schedule_batch(b->t, NULL, 0, NULL), 0);
	bed_set_clock(b, BED_START_NS + YEAR_NS);
	if (bed_by_hand(b)) {
		assert_int_equal(bed_turn(b, &next_ns), 0);
		assert_true(next_ns == TKW_NEVER_NS);
	} else {
		assert_int_equal(tkw_timer_wait_idle(b->t, TKW_NEVER_NS), 0);
	}
	assert_int_equal(tkw_timer_next_turn(b->t, &next_ns), 0);
	assert_true(next_ns == TKW_NEVER_NS);
	assert_int_equal(tkw_timer_get_stats(b->t, &st), 0);
	assert_int_equal(st.ledger.accepted, 0);
	assert_int_equal(st.moved, 0);
	assert_true(tkw_timer_print(b->t, text, sizeof(text)) > 0);
	assert_non_null(strstr(text, "not used yet"));
	bed_assert_ledger(b, 0);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	bed_assert_ledger(b, 0);
	assert_int_equal(memory.calls, calls);
	close_it(b);
}
BED_TEST(test_timer_unused_stays_small)

/* --- the first timeout ---------------------------------------------------- */

/* How many bytes a schedule asks for. */
static size_t bytes_of_schedule(struct timer_bed *b, uint64_t tag)
{
	size_t before = memory.asked;

	bed_schedule(b, tag, TKW_MSEC);
	return memory.asked - before;
}

struct other {
	struct timer_bed *b;
	uint64_t tag;
	size_t bytes;
};

static void *schedule_there(void *arg)
{
	struct other *o = arg;

	o->bytes = bytes_of_schedule(o->b, o->tag);
	return NULL;
}

static size_t count_unused(struct timer_bed *b)
{
	static char text[1 << 16];
	const char *at = text;
	size_t count = 0;

	assert_true(tkw_timer_print(b->t, text, sizeof(text)) <
		    (int)sizeof(text));
	while ((at = strstr(at, "not used yet")) != NULL) {
		count++;
		at++;
	}
	return count;
}

/* It makes the wheel of its thread's shard, and of no other. */
static void test_timer_first_timeout_furnishes_one_shard(struct timer_bed *b)
{
	struct other o = { .b = b, .tag = 3 };
	size_t shards;
	size_t alone;
	pthread_t thread;

	open_shards(b, 1);
	assert_int_equal(count_unused(b), 1);
	alone = bytes_of_schedule(b, 1);
	assert_true(alone > 0);
	assert_int_equal(count_unused(b), 0);
	bed_pass(b, 2 * TKW_MSEC);
	bed_assert_fired(b, 1);
	close_it(b);
	open_shards(b, 64);
	shards = count_unused(b);
	assert_int_equal(shards, b->drive == TKW_DRIVE_MANUAL ? 1 : 64);
	assert_int_equal(bytes_of_schedule(b, 1), alone);
	assert_int_equal(count_unused(b), shards - 1);
	assert_int_equal(bytes_of_schedule(b, 2), 0);
	/* Another thread has another shard, and this is its first timeout. */
	assert_int_equal(pthread_create(&thread, NULL, schedule_there, &o), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(o.bytes, shards == 1 ? 0 : alone);
	assert_int_equal(count_unused(b), shards == 1 ? 0 : 62);
	bed_pass(b, 2 * TKW_MSEC);
	assert_int_equal(b->fired_count, 4);
	bed_assert_ledger(b, 0);
	close_it(b);
}
BED_TEST(test_timer_first_timeout_furnishes_one_shard)

/* SPEC 4.1: it fires in time, however long the timer was not used. */
static void test_timer_first_timeout_after_a_year(struct timer_bed *b)
{
	static const int engines[] = { TKW_WHEEL_HIERARCHICAL,
				       TKW_WHEEL_HASHED };
	int64_t begin_ns;
	uint64_t i;

	for (i = 0; i < 4; i++) {
		const struct tkw_timer_config cfg = { .engine =
							      engines[i / 2] };

		open_with(b, cfg);
		bed_set_clock(b, b->now_ns + YEAR_NS);
		/* With and without turns in between. */
		if (i % 2)
			bed_pass(b, 0);
		begin_ns = b->now_ns - b->now_ns % TKW_MSEC;
		bed_schedule(b, i, begin_ns + 5 * TKW_MSEC - b->now_ns);
		bed_assert_fires_at(b, i, begin_ns + 5 * TKW_MSEC);
		close_it(b);
	}
}
BED_TEST(test_timer_first_timeout_after_a_year)

/* --- no memory for it ----------------------------------------------------- */

enum {
	BATCH = 40 /* more than a block has, in the narrow build */
};

static struct tkw_batch_item items[BATCH];

static int first_by(struct timer_bed *b, int how, struct tkw_timeout_id *ids)
{
	switch (how) {
	case 0:
		return tkw_timer_schedule(b->t, &items[0].task, TKW_MSEC, ids);
	case 1:
		return tkw_timer_schedule_at(b->t, &items[0].task,
					     b->now_ns + TKW_MSEC, ids);
	default:
		return tkw_timer_schedule_batch(b->t, items, BATCH, ids);
	}
}

/* Checks that it left no trace. */
static void assert_no_trace(struct timer_bed *b, uint64_t refused)
{
	static struct tkw_stats st;
	const struct tkw_ledger none = { .accepted = 0 };

	bed_assert_ledger(b, 0);
	assert_int_equal(tkw_timer_get_stats(b->t, &st), 0);
	assert_memory_equal(&st.ledger, &none, sizeof(none));
	assert_int_equal(st.refused_memory, refused);
	assert_int_equal(st.refused_full, 0);
	assert_int_equal(b->cancelled_count, 0);
}

/* Refuses the n-th allocation, for all n, and then makes the call again.
 * Returns how many allocations there are. */
static size_t sweep(struct timer_bed *b, int how)
{
	struct tkw_timeout_id ids[BATCH];
	size_t count = how < 2 ? 1 : BATCH;
	size_t i, n;

	for (n = 1;; n++) {
		open_with(b, (struct tkw_timer_config){
				     .shards = 64,
				     .max_pending = (int64_t)count,
			     });
		assert_int_equal(tkw_timer_start(b->t), 0);
		for (i = 0; i < BATCH; i++) {
			items[i].task = bed_task(b, i);
			items[i].when_ns = TKW_MSEC;
			ids[i] = BED_ID(7);
		}
		bed_memory_refuse_at(&memory, n);
		if (first_by(b, how, ids) == 0)
			break;
		assert_int_equal(memory.refused, 1);
		for (i = 0; i < BATCH; i++)
			assert_true(ids[i].bits == 7);
		assert_no_trace(b, 1);
		/* All its places are free. */
		assert_int_equal(first_by(b, how, ids), 0);
		bed_assert_ledger(b, count);
		assert_int_equal(first_by(b, how, NULL), -EAGAIN);
		for (i = 0; i < count; i++)
			assert_int_equal(tkw_timer_cancel(b->t, ids[i]), 0);
		assert_int_equal(b->cancelled_count, count);
		b->cancelled_count = 0;
		close_it(b);
	}
	assert_int_equal(memory.refused, 0);
	for (i = 0; i < count; i++)
		assert_int_equal(tkw_timer_cancel(b->t, ids[i]), 0);
	b->cancelled_count = 0;
	close_it(b);
	return n - 1;
}

/* SPEC 3.7, fault 1: the wheel, the counters, the list of blocks, and a
 * block. */
static void test_timer_first_timeout_without_memory(struct timer_bed *b)
{
	assert_int_equal(sweep(b, 0), 4);
	assert_int_equal(sweep(b, 1), 4);
	assert_true(sweep(b, 2) >= 4);
}
BED_TEST(test_timer_first_timeout_without_memory)

/* Fault 1: a shard that got only a part of its memory gets the rest later. The
 * shards of other threads are not changed. */
static void test_timer_first_timeout_is_tried_again(struct timer_bed *b)
{
	struct other o = { .b = b, .tag = 1 };
	size_t n;
	pthread_t thread;

	open_shards(b, 64);
	bed_schedule(b, 0, TKW_MSEC);
	/* The shard of this thread has room, that of a new thread has
	 * nothing. */
	bed_memory_refuse(&memory, true);
	for (n = 1; n <= 20; n++)
		bed_schedule(b, 100 + n, 2 * TKW_MSEC);
	bed_memory_refuse(&memory, false);
	assert_int_equal(pthread_create(&thread, NULL, schedule_there, &o), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	bed_assert_ledger(b, 22);
	bed_pass(b, 3 * TKW_MSEC);
	assert_int_equal(b->fired_count, 22);
	bed_assert_ledger(b, 0);
	close_it(b);
}
BED_TEST(test_timer_first_timeout_is_tried_again)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timer_unused_is_small),
		cmocka_unit_test(test_timer_larger_than_the_machine_is_refused),
		BED_TESTS(test_timer_unused_stays_small),
		BED_TESTS(test_timer_first_timeout_furnishes_one_shard),
		BED_TESTS(test_timer_first_timeout_after_a_year),
		BED_TESTS(test_timer_first_timeout_without_memory),
		BED_TESTS(test_timer_first_timeout_is_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
