/* SPDX-License-Identifier: MIT */
/*
 * test_timer_see.c - SPEC 5.8, 9.2 and the ledger: queries, and which time a
 * timer uses.
 */
#include "timer_bed.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define HOUR_NS (3600 * TKW_SEC)

/* --- helpers ------------------------------------------------------------ */

static void sem_take(sem_t *s)
{
	while (sem_wait(s) != 0)
		;
}

/* A task waits here until the test lets it go on. */
struct gate {
	struct timer_bed *b;
	sem_t entered;
	sem_t open;
	pthread_t thread;
};

static void stay(const struct tkw_firing *firing, void *ctx)
{
	struct gate *g = ctx;

	(void)firing;
	sem_post(&g->entered);
	sem_take(&g->open);
}

static void *turn_once(void *arg)
{
	struct gate *g = arg;

	bed_turn(g->b, NULL);
	return NULL;
}

/* Returns when the task with this delay runs, on another thread. */
static struct tkw_timeout_id enter_gate(struct gate *g, struct timer_bed *b,
					int64_t delay_ns)
{
	const struct tkw_task task = { .fn = stay, .ctx = g };
	struct tkw_timeout_id id;

	g->b = b;
	sem_init(&g->entered, 0, 0);
	sem_init(&g->open, 0, 0);
	assert_int_equal(tkw_timer_schedule(b->t, &task, delay_ns, &id), 0);
	bed_wake(b);
	if (bed_by_hand(b))
		assert_int_equal(pthread_create(&g->thread, NULL, turn_once, g),
				 0);
	sem_take(&g->entered);
	return id;
}

static void leave_gate(struct gate *g)
{
	sem_post(&g->open);
	if (bed_by_hand(g->b))
		pthread_join(g->thread, NULL);
	bed_pass(g->b, 0);
	sem_destroy(&g->entered);
	sem_destroy(&g->open);
}

/* --- 5.8: query --------------------------------------------------------- */

/* SPEC 5.8 */
static void test_timer_query_tells_of_a_pending_one(struct timer_bed *b)
{
	struct tkw_task task = bed_task(b, 1);
	struct tkw_timeout_info info;
	struct tkw_timeout_id id;

	task.slack_ns = 0;
	assert_int_equal(
		tkw_timer_schedule(b->t, &task, 5 * TKW_MSEC + 77, &id), 0);
	memset(&info, 0xff, sizeof(info));
	assert_int_equal(tkw_timer_get(b->t, id, &info), 0);
	assert_true(info.id.bits == id.bits);
	assert_int_equal(info.state, TKW_TIMEOUT_PENDING);
	assert_true(info.deadline_ns == BED_START_NS + 5 * TKW_MSEC + 77);
	assert_true(info.left_ns == 5 * TKW_MSEC + 77);
	assert_true(info.task.fn == task.fn);
	assert_ptr_equal(info.task.ctx, task.ctx);
	assert_true(info.task.on_cancel == task.on_cancel);
	assert_true(info.task.slack_ns == 0);
	bed_pass(b, 2 * TKW_MSEC);
	assert_int_equal(tkw_timer_get(b->t, id, &info), 0);
	assert_true(info.deadline_ns == BED_START_NS + 5 * TKW_MSEC + 77);
	assert_true(info.left_ns == 3 * TKW_MSEC + 77);
}
BED_TEST(test_timer_query_tells_of_a_pending_one)

/* SPEC 5.8: it is due, but its turn has not come. */
static void test_timer_query_tells_how_late_it_is(struct timer_bed *b)
{
	const struct tkw_timeout_id id = bed_schedule(b, 1, TKW_MSEC);
	const struct tkw_task past = bed_task(b, 2);
	struct tkw_timeout_info info;
	struct tkw_timeout_id late;

	bed_set_clock(b, BED_START_NS + 10 * TKW_MSEC);
	assert_int_equal(tkw_timer_get(b->t, id, &info), 0);
	assert_int_equal(info.state, TKW_TIMEOUT_PENDING);
	assert_true(info.left_ns == -9 * TKW_MSEC);
	assert_int_equal(tkw_timer_schedule_at(b->t, &past,
					       BED_START_NS - TKW_SEC, &late),
			 0);
	assert_int_equal(tkw_timer_get(b->t, late, &info), 0);
	assert_true(info.deadline_ns == BED_START_NS - TKW_SEC);
	assert_true(info.left_ns == -TKW_SEC - 10 * TKW_MSEC);
}
BED_TEST(test_timer_query_tells_how_late_it_is)

/* SPEC 5.8: asked by another thread. */
static void test_timer_query_tells_of_a_running_one(struct timer_bed *b)
{
	struct tkw_timeout_info info = { .id = 0 };
	struct gate g;
	const struct tkw_timeout_id id = enter_gate(&g, b, 0);
	int ret;

	bed_set_clock(b, BED_START_NS + 3 * TKW_MSEC);
	ret = tkw_timer_get(b->t, id, &info);
	leave_gate(&g);
	assert_int_equal(ret, 0);
	assert_true(info.id.bits == id.bits);
	assert_int_equal(info.state, TKW_TIMEOUT_RUNNING);
	assert_true(info.deadline_ns == BED_START_NS);
	assert_true(info.left_ns == -3 * TKW_MSEC);
	assert_true(info.task.fn == stay);
	assert_ptr_equal(info.task.ctx, &g);
	assert_null(info.task.on_cancel);
	assert_int_equal(tkw_timer_get(b->t, id, &info), -ENOENT);
}
BED_TEST(test_timer_query_tells_of_a_running_one)

/* SPEC 5.8, 3.2 */
static void test_timer_query_tells_of_one_that_never_comes(struct timer_bed *b)
{
	const struct tkw_timeout_id id = bed_schedule(b, 1, INT64_MAX);
	struct tkw_timeout_info info;

	assert_int_equal(tkw_timer_get(b->t, id, &info), 0);
	assert_true(info.deadline_ns == TKW_NEVER_NS);
	assert_true(info.left_ns > HOUR_NS * 24 * 36500);
}
BED_TEST(test_timer_query_tells_of_one_that_never_comes)

/* SPEC 5.8, fault 21: nothing is written. */
static void test_timer_query_refuses_what_has_ended(struct timer_bed *b)
{
	const struct tkw_timeout_id fired = bed_schedule(b, 1, TKW_MSEC);
	const struct tkw_timeout_id cancelled = bed_schedule(b, 2, TKW_MSEC);
	const struct tkw_timeout_id ids[] = {
		fired, cancelled, { 0 }, { UINT64_MAX }
	};
	struct tkw_timeout_info info;
	struct tkw_timeout_info before;
	size_t i;

	assert_int_equal(tkw_timer_cancel(b->t, cancelled), 0);
	bed_pass(b, 5 * TKW_MSEC);
	memset(&info, 0x5a, sizeof(info));
	memset(&before, 0x5a, sizeof(before));
	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		assert_int_equal(tkw_timer_get(b->t, ids[i], &info), -ENOENT);
		assert_memory_equal(&info, &before, sizeof(info));
	}
	assert_int_equal(tkw_timer_get(NULL, fired, &info), -EINVAL);
	assert_int_equal(tkw_timer_get(b->t, fired, NULL), -EINVAL);
}
BED_TEST(test_timer_query_refuses_what_has_ended)

static int64_t deadline_told(struct timer_bed *b, int64_t deadline_ns,
			     int64_t slack_ns)
{
	struct tkw_task task = bed_task(b, 1);
	struct tkw_timeout_info info;
	struct tkw_timeout_id id;

	task.slack_ns = slack_ns;
	assert_int_equal(tkw_timer_schedule_at(b->t, &task, deadline_ns, &id),
			 0);
	assert_int_equal(tkw_timer_get(b->t, id, &info), 0);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	return info.deadline_ns;
}

/* Checks deadlines in all parts of a tick, and far away. They may be off by
 * within_ns. */
static void expect_deadlines(struct timer_bed *b, int64_t tick_ns,
			     int64_t within_ns)
{
	const struct tkw_timer_config cfg = { .tick_ns = tick_ns };
	const int64_t begin_ns = BED_START_NS / tick_ns * tick_ns + tick_ns;
	int64_t slack_ns;
	int64_t told_ns;
	int64_t at_ns;
	int i;

	bed_reopen(b, &cfg);
	for (i = 0; i < 400; i++) {
		slack_ns = i % 4 ? 0 : i * TKW_SEC;
		at_ns = begin_ns + tick_ns / 97 * i + i;
		if (i % 3 == 0)
			at_ns += (INT64_MAX / 2 / tick_ns - 1) * tick_ns;
		told_ns = deadline_told(b, at_ns, slack_ns);
		assert_true(told_ns >= at_ns - within_ns);
		assert_true(told_ns <= at_ns + within_ns);
	}
}

/* SPEC 5.8: exact for ticks up to a second, with any slack. */
static void test_timer_tells_deadlines_exactly(struct timer_bed *b)
{
	expect_deadlines(b, 1, 0);
	expect_deadlines(b, TKW_USEC, 0);
	expect_deadlines(b, TKW_MSEC, 0);
	expect_deadlines(b, 100 * TKW_MSEC + 1, 0);
	expect_deadlines(b, TKW_SEC, 0);
	expect_deadlines(b, 2 * TKW_SEC, 2);
	expect_deadlines(b, HOUR_NS, HOUR_NS >> 30);
}
BED_TEST(test_timer_tells_deadlines_exactly)

/* SPEC 5.8: the last deadlines that can come. A coarse tick would round them up
 * beyond the end of time. */
static void test_timer_tells_the_last_deadlines(struct timer_bed *b)
{
	static const int64_t ticks_ns[] = { 1, TKW_MSEC, TKW_SEC,
					    INT64_C(1) << 40,
					    INT64_C(1) << 61 };
	int64_t tick_ns;
	int64_t told_ns;
	int64_t at_ns;
	size_t i;
	int k;

	for (i = 0; i < sizeof(ticks_ns) / sizeof(ticks_ns[0]); i++) {
		tick_ns = ticks_ns[i];
		bed_reopen(b, &(struct tkw_timer_config){ .tick_ns = tick_ns });
		for (k = 1; k < 100; k++) {
			at_ns = INT64_MAX - k;
			told_ns = deadline_told(b, at_ns, k % 2 * TKW_SEC);
			assert_true(told_ns >= at_ns - (tick_ns >> 30));
			assert_true(told_ns < TKW_NEVER_NS);
			assert_true(told_ns - (tick_ns >> 30) <= at_ns);
		}
		assert_true(deadline_told(b, INT64_MAX, 0) == TKW_NEVER_NS);
	}
}
BED_TEST(test_timer_tells_the_last_deadlines)

/* --- 5.8: print --------------------------------------------------------- */

static void expect_text(struct timer_bed *b, struct tkw_timeout_id id,
			const char *text)
{
	char buf[64];

	memset(buf, 'x', sizeof(buf));
	assert_int_equal(tkw_timer_print_timeout(b->t, id, buf, sizeof(buf)),
			 strlen(text));
	assert_string_equal(buf, text);
}

/* SPEC 5.8 */
static void test_timer_prints_when_it_is_due(struct timer_bed *b)
{
	static const struct {
		int64_t delay_ns;
		const char *text;
	} rows[] = {
		{ 1200 * TKW_MSEC, "due in 1.2 s" },
		{ 45 * TKW_MSEC, "due in 45 ms" },
		{ 17 * TKW_SEC, "due in 17 s" },
		{ 90 * TKW_SEC, "due in 1.5 min" },
		{ 36 * HOUR_NS, "due in 1.5 d" },
		{ 150 * TKW_USEC, "due in 150 us" },
		{ 999, "due in 999 ns" },
		{ INT64_MAX, "never due" },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_text(b, bed_schedule(b, i, rows[i].delay_ns),
			    rows[i].text);
}
BED_TEST(test_timer_prints_when_it_is_due)

/* SPEC 5.8 */
static void test_timer_prints_how_late_it_is(struct timer_bed *b)
{
	const struct tkw_timeout_id id = bed_schedule(b, 1, TKW_MSEC);

	bed_set_clock(b, BED_START_NS + 4 * TKW_MSEC);
	expect_text(b, id, "due, 3 ms late");
	bed_set_clock(b, BED_START_NS + TKW_MSEC + 2500 * TKW_MSEC);
	expect_text(b, id, "due, 2.5 s late");
}
BED_TEST(test_timer_prints_how_late_it_is)

/* SPEC 5.8 */
static void test_timer_prints_what_runs(struct timer_bed *b)
{
	char buf[64] = "";
	struct gate g;
	const struct tkw_timeout_id id = enter_gate(&g, b, 0);
	int ret;

	bed_set_clock(b, BED_START_NS + 3 * TKW_MSEC);
	ret = tkw_timer_print_timeout(b->t, id, buf, sizeof(buf));
	leave_gate(&g);
	assert_string_equal(buf, "running, 3 ms late");
	assert_int_equal(ret, strlen(buf));
}
BED_TEST(test_timer_prints_what_runs)

/* SPEC 5.8: the text is cut as by snprintf(). */
static void test_timer_print_is_cut_to_size(struct timer_bed *b)
{
	static const char whole[] = "due in 1.2 s";
	const int length = (int)strlen(whole);
	const struct tkw_timeout_id id = bed_schedule(b, 1, 1200 * TKW_MSEC);
	char buf[32];
	size_t size;

	assert_int_equal(tkw_timer_print_timeout(b->t, id, NULL, 0), length);
	for (size = 0; size < sizeof(buf); size++) {
		memset(buf, 'x', sizeof(buf));
		assert_int_equal(tkw_timer_print_timeout(b->t, id, buf, size),
				 length);
		assert_int_equal(buf[size], 'x');
		if (size == 0)
			continue;
		assert_true(memchr(buf, '\0', size) != NULL);
		assert_int_equal(strncmp(buf, whole, size - 1), 0);
		assert_int_equal(strlen(buf), size - 1 < strlen(whole)
						      ? size - 1
						      : strlen(whole));
	}
}
BED_TEST(test_timer_print_is_cut_to_size)

/* SPEC 5.8 */
static void test_timer_print_refuses(struct timer_bed *b)
{
	const struct tkw_timeout_id id = bed_schedule(b, 1, TKW_MSEC);
	char buf[8] = "before";

	assert_int_equal(tkw_timer_print_timeout(NULL, id, buf, sizeof(buf)),
			 -EINVAL);
	assert_int_equal(tkw_timer_print_timeout(b->t, id, NULL, 1), -EINVAL);
	assert_int_equal(
		tkw_timer_print_timeout(b->t, BED_NO_ID, buf, sizeof(buf)),
		-ENOENT);
	assert_int_equal(tkw_timer_cancel(b->t, id), 0);
	assert_int_equal(tkw_timer_print_timeout(b->t, id, buf, sizeof(buf)),
			 -ENOENT);
	assert_int_equal(tkw_timer_print_timeout(b->t, id, NULL, 0), -ENOENT);
	assert_string_equal(buf, "before");
}
BED_TEST(test_timer_print_refuses)

/* --- the ledger --------------------------------------------------------- */

static void expect_ledger(struct timer_bed *b, struct tkw_ledger want)
{
	struct tkw_ledger l;

	assert_int_equal(tkw_timer_get_ledger(b->t, &l), 0);
	/* The ledger includes the markers of the bed. */
	want.accepted += b->markers;
	want.fired += b->markers;
	assert_memory_equal(&l, &want, sizeof(l));
	assert_true(tkw_timer_count(b->t) == want.pending);
	assert_null(tkw_timer_check(b->t));
}

/* The law, SPEC 5.7 and 3.7, term by term. */
static void test_timer_ledger_has_each_in_one_term(struct timer_bed *b)
{
	const struct tkw_task none = { .fn = NULL };
	struct tkw_timeout_id ids[6];
	uint64_t i;

	expect_ledger(b, (struct tkw_ledger){ .accepted = 0 });
	for (i = 0; i < 6; i++)
		ids[i] = bed_schedule(b, i, (int64_t)(i + 1) * 10 * TKW_MSEC);
	expect_ledger(b, (struct tkw_ledger){ .accepted = 6, .pending = 6 });
	bed_pass(b, 25 * TKW_MSEC);
	expect_ledger(b, (struct tkw_ledger){
				 .accepted = 6, .fired = 2, .pending = 4 });
	assert_int_equal(tkw_timer_cancel(b->t, ids[0]), -ENOENT);
	assert_int_equal(tkw_timer_cancel(b->t, ids[2]), 0);
	assert_int_equal(tkw_timer_reschedule(b->t, ids[3], HOUR_NS), 0);
	assert_int_equal(tkw_timer_schedule(b->t, &none, 0, NULL), -EINVAL);
	expect_ledger(b, (struct tkw_ledger){ .accepted = 6,
					      .fired = 2,
					      .cancelled = 1,
					      .pending = 3 });
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 0);
	assert_int_equal(tkw_timer_stop(b->t, NULL, NULL), 1);
	expect_ledger(b, (struct tkw_ledger){ .accepted = 6,
					      .fired = 2,
					      .cancelled = 1,
					      .handed_over = 3 });
}
BED_TEST(test_timer_ledger_has_each_in_one_term)

/* SPEC 4.5: it counts as fired from the moment its task begins. */
static void test_timer_ledger_counts_what_runs(struct timer_bed *b)
{
	struct tkw_ledger l = { .accepted = 0 };
	const char *broken;
	struct gate g;
	int ret;

	enter_gate(&g, b, 0);
	ret = tkw_timer_get_ledger(b->t, &l);
	broken = tkw_timer_check(b->t);
	leave_gate(&g);
	assert_int_equal(ret, 0);
	assert_true(l.fired >= 1);
	assert_true(l.accepted == l.fired + l.pending);
	assert_null(broken);
}
BED_TEST(test_timer_ledger_counts_what_runs)

enum {
	BUSY = 3
};

struct busy {
	struct timer_bed *b;
	atomic_bool over;
};

static void do_nothing(const struct tkw_firing *firing, void *ctx)
{
	(void)ctx;
	(void)firing;
}

static void *keep_busy(void *arg)
{
	const struct tkw_task task = { .fn = do_nothing };
	struct busy *y = arg;
	struct tkw_timeout_id ids[16] = { 0 };
	unsigned i;

	for (i = 0; !atomic_load(&y->over); i++) {
		/* Only sixteen at a time, because the cost of a check grows
		 * with their number. */
		tkw_timer_cancel(y->b->t, ids[i % 16]);
		tkw_timer_schedule(y->b->t, &task, i % 3 ? 0 : HOUR_NS,
				   &ids[i % 16]);
		tkw_timer_reschedule(y->b->t, ids[i * 5 % 16], 0);
		if (bed_by_hand(y->b))
			bed_turn(y->b, NULL);
	}
	return NULL;
}

/* The law holds at every moment, not only when nothing happens (timer.h). */
static void test_timer_ledger_balances_at_every_moment(struct timer_bed *b)
{
	const struct tkw_timer_config cfg = { .shards = 4 };
	struct busy y = { .b = b };
	pthread_t threads[BUSY];
	struct tkw_ledger l;
	size_t i;

	bed_reopen(b, &cfg);
	for (i = 0; i < BUSY; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, keep_busy, &y), 0);
	for (i = 0; i < 500; i++) {
		assert_int_equal(tkw_timer_get_ledger(b->t, &l), 0);
		assert_true(l.accepted == l.fired + l.cancelled + l.dropped +
						  l.handed_over + l.pending);
		assert_null(tkw_timer_check(b->t));
		sched_yield();
	}
	atomic_store(&y.over, true);
	for (i = 0; i < BUSY; i++)
		pthread_join(threads[i], NULL);
}
BED_TEST(test_timer_ledger_balances_at_every_moment)

/* SPEC 3.7 */
static void test_timer_null_is_nothing(struct timer_bed *b)
{
	struct tkw_ledger l;

	assert_int_equal(tkw_timer_get_ledger(NULL, &l), -EINVAL);
	assert_int_equal(tkw_timer_get_ledger(b->t, NULL), -EINVAL);
	assert_int_equal(tkw_timer_count(NULL), 0);
	assert_int_equal(tkw_timer_now_ns(NULL), 0);
	assert_int_equal(tkw_timer_is_stopped(NULL), 0);
}
BED_TEST(test_timer_null_is_nothing)

/* --- 9.2: the clock ----------------------------------------------------- */

/* SPEC 9.1, 9.2, fault 14 */
static void test_timer_equal_readings_fire_nothing_twice(struct timer_bed *b)
{
	int i;

	bed_schedule(b, 1, 5 * TKW_MSEC);
	bed_schedule(b, 2, 6 * TKW_MSEC);
	bed_pass(b, 5 * TKW_MSEC + TKW_MSEC / 2);
	for (i = 0; i < 5; i++)
		bed_pass(b, 0);
	bed_assert_nothing_fired(b);
	bed_pass(b, TKW_MSEC / 2);
	for (i = 0; i < 5; i++)
		bed_pass(b, 0);
	bed_assert_fired(b, 1);
	assert_true(tkw_timer_now_ns(b->t) == BED_START_NS + 6 * TKW_MSEC);
}
BED_TEST(test_timer_equal_readings_fire_nothing_twice)

/* SPEC 9.2, fault 14: a reading that is earlier than the last turn counts as
 * the time of that turn. */
static void test_timer_backward_readings_are_clamped(struct timer_bed *b)
{
	const int64_t high_ns = BED_START_NS + TKW_SEC;
	struct tkw_timeout_info info;
	struct tkw_timeout_id id;

	bed_schedule(b, 1, TKW_SEC + 20 * TKW_MSEC);
	bed_schedule(b, 2, TKW_MSEC);
	bed_pass(b, TKW_SEC);
	bed_assert_fired(b, 2);
	bed_set_clock(b, BED_START_NS - 500 * TKW_SEC);
	assert_true(tkw_timer_now_ns(b->t) == high_ns);
	id = bed_schedule(b, 3, 10 * TKW_MSEC);
	assert_int_equal(tkw_timer_get(b->t, id, &info), 0);
	assert_true(info.deadline_ns == high_ns + 10 * TKW_MSEC);
	assert_true(info.left_ns == 10 * TKW_MSEC);
	bed_schedule(b, 4, 0);
	if (bed_by_hand(b))
		assert_int_equal(bed_turn(b, NULL), 1);
	else
		bed_wait_fired(b, 2);
	bed_assert_fired(b, 4);
	assert_true(b->fired[1].late_ns == 0);
	bed_set_clock(b, high_ns);
	bed_pass(b, 12 * TKW_MSEC);
	bed_assert_fired(b, 3);
	bed_pass(b, 12 * TKW_MSEC);
	bed_assert_fired(b, 1);
}
BED_TEST(test_timer_backward_readings_are_clamped)

/* SPEC 9.2, fault 14: this holds between turns, too. */
static void test_timer_now_never_goes_back(struct timer_bed *b)
{
	const int64_t high_ns = BED_START_NS + TKW_SEC;

	bed_set_clock(b, high_ns);
	assert_true(tkw_timer_now_ns(b->t) == high_ns);
	bed_set_clock(b, high_ns - 1);
	assert_true(tkw_timer_now_ns(b->t) == high_ns);
	bed_set_clock(b, 0);
	assert_true(tkw_timer_now_ns(b->t) == high_ns);
	bed_set_clock(b, high_ns + 1);
	assert_true(tkw_timer_now_ns(b->t) == high_ns + 1);
}
BED_TEST(test_timer_now_never_goes_back)

/* SPEC 9.2: the clock may begin at 0, and stay there. */
static void test_timer_clock_may_begin_at_zero(struct timer_bed *b)
{
	bed_set_clock(b, 0);
	bed_reopen(b, NULL);
	assert_true(tkw_timer_now_ns(b->t) == 0);
	bed_schedule(b, 1, 0);
	bed_schedule(b, 2, 1);
	bed_pass(b, 0);
	bed_assert_fired(b, 1);
	bed_pass(b, TKW_MSEC - 1);
	bed_assert_nothing_fired(b);
	bed_pass(b, 1);
	bed_assert_fired(b, 2);
}
BED_TEST(test_timer_clock_may_begin_at_zero)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_timer_query_tells_of_a_pending_one),
		BED_TESTS_BY_HAND(test_timer_query_tells_how_late_it_is),
		BED_TESTS(test_timer_query_tells_of_a_running_one),
		BED_TESTS(test_timer_query_tells_of_one_that_never_comes),
		BED_TESTS(test_timer_query_refuses_what_has_ended),
		BED_TESTS(test_timer_tells_deadlines_exactly),
		BED_TESTS(test_timer_tells_the_last_deadlines),
		BED_TESTS(test_timer_prints_when_it_is_due),
		BED_TESTS_BY_HAND(test_timer_prints_how_late_it_is),
		BED_TESTS(test_timer_prints_what_runs),
		BED_TESTS(test_timer_print_is_cut_to_size),
		BED_TESTS(test_timer_print_refuses),
		BED_TESTS(test_timer_ledger_has_each_in_one_term),
		BED_TESTS(test_timer_ledger_counts_what_runs),
		BED_TESTS(test_timer_ledger_balances_at_every_moment),
		BED_TESTS(test_timer_null_is_nothing),
		BED_TESTS(test_timer_equal_readings_fire_nothing_twice),
		BED_TESTS(test_timer_backward_readings_are_clamped),
		BED_TESTS(test_timer_now_never_goes_back),
		BED_TESTS(test_timer_clock_may_begin_at_zero),
	};

	return cmocka_run_group_tests_name("timer_see", tests, NULL, NULL);
}
